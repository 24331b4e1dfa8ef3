"""Python programs in processes of their own, each with its own environment and with no kernel in
memory: what a user's process meets.

Most of such a process's time goes into imports. So one process per test run imports numba and the
package of this checkout, compiles and loads no kernel, and makes a copy of itself (`os.fork`) for
each program. A process is started in the ordinary way where it has another copy of the package,
another processor to compile for, or on a system without `fork`.
"""

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR", "PYTHONPATH")
SERVER = """
import importlib, json, os, signal, socket, sys, tempfile, traceback
import numba
import l0path
from l0path.compiled import shipped
numba.njit(lambda x: x + 1.0)(1.0)

def become(task, files):
    for number, file in enumerate(files[:2], 1):
        os.dup2(file, number)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(task["environment"])
    numba.core.config.reload_config()
    tempfile.tempdir = None
    sys.path[:0] = task["paths"]
    importlib.invalidate_caches()
    sys.argv = ["-c", *task["arguments"]]
    code = 1
    try:
        exec(compile(task["program"], "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

assert not shipped.chosen_level.cache_info().currsize
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
asked = socket.socket(fileno=int(sys.argv[1]))
while True:
    text, files, _, _ = socket.recv_fds(asked, 1 << 20, 3)
    if not text:
        break
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        child = os.fork()
        if not child:
            become(json.loads(text), files)
        _, status = os.waitpid(child, 0)
        os.write(files[2], str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    for file in files:
        os.close(file)
"""


def environment(**changes):
    """This process's environment without a word on caches and homes, and the changes."""
    kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    return kept | {"L0PATH_QUIET": "1", "PYTHONDONTWRITEBYTECODE": "1"} | changes


@functools.cache
def server():
    """A socket to the process that makes copies of itself."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVER, str(there.fileno())],
        env=environment(PYTHONPATH=str(ROOT)),
        pass_fds=[there.fileno()],
    )
    there.close()
    atexit.register(process.wait)
    atexit.register(here.close)
    return here


class Copy:
    """A program in a copy of the server, with what the tests use of a `subprocess.Popen`."""

    def __init__(self, task):
        pipes = [os.pipe() for _ in range(3)]
        socket.send_fds(server(), [json.dumps(task).encode()], [end for _, end in pipes])
        for _, end in pipes:
            os.close(end)
        self.files = [os.fdopen(end) for end, _ in pipes]
        self.returncode = None

    def communicate(self, timeout=None):
        """(standard output, standard error) once the program has ended."""
        out, err, code = (file.read() for file in self.files)
        for file in self.files:
            file.close()
        self.returncode = int(code)
        return out, err


def start(program, *arguments, package=ROOT, **changes):
    """Start a program with these arguments and changes of the environment; `package`: the folder,
    or folders, in which it finds l0path.
    """
    changes = {name: str(value) for name, value in changes.items()}
    first, _, others = str(package).partition(os.pathsep)
    own = environment(PYTHONPATH=str(package), **changes)
    if Path(first) == ROOT and hasattr(os, "fork") and "NUMBA_CPU_NAME" not in changes:
        paths = others.split(os.pathsep) if others else []
        task = {"program": program, "arguments": arguments, "environment": own, "paths": paths}
        return Copy(task)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        env=own,
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
