"""Stored kernels: never an old one, never an error. Each case runs in a process of its own
(`fresh.py`), as a user's would, with a kernel of a few lines that calls into another file.
"""

import contextlib
import cProfile
import hashlib
import importlib
import json
import os
import pickle
import pkgutil
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from fresh import ROOT, start

import l0path
from l0path.compiled import cache, reach
from l0path.exchange import table_sweeps
from l0path.problem import losses, verbs
from l0path.working_set import linear_algebra, newton

slow = pytest.mark.slow  # a variant of a case that runs by default: each process takes seconds
NOBODY = 54321  # a user without a home and without rights
PROGRAM = """
import json, sys
import numpy as np
import l0path
from typing import NamedTuple
from l0path.problem import losses
from l0path.problem import verbs

out = np.empty(2)
def call(loss):
    verbs.of_record(verbs.value_of_each)(loss, np.array([1.0, 2.0]), np.zeros(2), out)
    return out.tolist()

class Mine(NamedTuple):
    pass

@losses.value.register(Mine)
def _(loss, y, eta):
    return 7.0 * y

loss = Mine() if sys.argv[1:] == ["mine"] else losses.Squared()
answer = call(loss)
huber = call(losses.Huber(1.0)) if sys.argv[1:] == ["two"] else None
stats = verbs.of_record(verbs.value_of_each).stats
print(json.dumps({"answer": answer, "huber": huber,
                  "compiled": sum(stats.cache_misses.values()), "file": l0path.__file__}))
"""

# another user may not be able to read this Python: what compiling imports is imported before
BECOME_NOBODY = f"""
import os
import l0path, numba, pickle
from l0path.working_set import linear_algebra
numba.njit(lambda x: x + 1.0)(1.0)
os.setgid({NOBODY})
os.setuid({NOBODY})
"""


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out), err


def run(*arguments, **changes):
    """(what the program found, its stderr)."""
    return finish(start(changes.pop("program", PROGRAM), *arguments, **changes))


def entries(folder):
    return sorted(Path(folder).rglob(f"*{cache.ENDING}"))


def copy_of_the_package(folder):
    shutil.copytree(ROOT / "l0path", folder / "l0path")
    return folder


def edit(file, old, new):
    source = file.read_text(encoding="utf-8")
    assert source.count(old) == 1
    file.write_text(source.replace(old, new), encoding="utf-8")


# -------------------- never an old kernel


def test_an_upgrade_in_which_only_a_callee_differs_gives_the_new_answer(tmp_path):
    package = copy_of_the_package(tmp_path)
    changes = {"package": package, "NUMBA_CACHE_DIR": tmp_path / "cache"}
    first, err = run(**changes)
    assert first["answer"] == [0.5, 2.0] and first["compiled"] == 1 and err == ""
    assert first["file"].startswith(str(tmp_path))
    # what the kernel does not reach: another module, and another function of the callee's file
    edit(package / "l0path" / "problem" / "conjugates.py", "NEWTON_STEPS = 60", "NEWTON_STEPS = 61")
    edit(package / "l0path" / "problem" / "losses.py", "ETA_CAP = 30.0", "ETA_CAP = 31.0")
    edit(
        package / "l0path" / "problem" / "verbs.py",
        '    """Loss of one row; NaN',
        '    """Loss of a row; NaN',
    )
    again, _ = run(**changes)
    assert again["compiled"] == 0 and again["answer"] == first["answer"]
    source = (package / "l0path" / "problem" / "losses.py").read_text(encoding="utf-8")
    start = source.index("class Squared(")
    body = source[start:].replace("0.5 *", "0.25 *", 1)
    assert body != source[start:]
    (package / "l0path" / "problem" / "losses.py").write_text(
        source[:start] + body, encoding="utf-8"
    )
    upgraded, _ = run(**changes)
    assert upgraded["answer"] == [0.25, 1.0] and upgraded["compiled"] == 1
    # another way of compiling makes every kernel anew
    lowering = package / "l0path" / "compiled" / "lowering.py"
    lowering.write_text(lowering.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    again, _ = run(**changes)
    assert again["compiled"] == 1 and again["answer"] == upgraded["answer"]


def test_kernels_for_a_loss_from_outside_are_not_stored(tmp_path):
    for _ in range(2):
        found, err = run("mine", NUMBA_CACHE_DIR=tmp_path)
        assert found["answer"] == [7.0, 14.0] and found["compiled"] == 1 and err == ""
    assert entries(tmp_path) == []


def test_every_kernel_of_the_package_has_a_stamp():
    """A kernel without one would be compiled in every process."""
    from numba.core.dispatcher import Dispatcher

    for one in pkgutil.walk_packages(l0path.__path__, "l0path."):
        if "__main__" not in one.name:
            with contextlib.suppress(ModuleNotFoundError):  # of a package that is optional
                importlib.import_module(one.name)
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("l0path.")]
    kernels = {v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)}
    stamps = {reach.stamp(kernel.py_func) for kernel in kernels}
    assert len(stamps) == len(kernels) > 100


SCALE = np.array([2.0, 3.0])


def _callee(x):
    return x * SCALE[0]


def _caller(x, scale=1.0):
    return scale * _callee(x)


def _stamp_with(monkeypatch, **changes):
    with monkeypatch.context() as patch:
        patch.setattr(reach, "PACKAGE", __name__.partition(".")[0])
        for name, value in changes.items():
            patch.setitem(globals(), name, value)
        return reach.stamp(_caller)


def test_a_stamp_tells_callees_constants_and_defaults(monkeypatch):
    before = _stamp_with(monkeypatch)
    assert _stamp_with(monkeypatch) == before

    def changed(x):
        return x / SCALE[0]

    assert _stamp_with(monkeypatch, _callee=changed) != before
    assert _stamp_with(monkeypatch, SCALE=np.array([2.0, 4.0])) != before
    assert _stamp_with(monkeypatch, SCALE=SCALE.astype(np.float32)) != before
    whole = _stamp_with(monkeypatch, SCALE=slice(None))
    assert _stamp_with(monkeypatch, SCALE=slice(1, None)) != whole != before
    monkeypatch.setattr(_caller, "__defaults__", (2.0,))
    assert _stamp_with(monkeypatch) != before
    with pytest.raises(reach.UnknownKind, match="no stamp for"):
        _stamp_with(monkeypatch, SCALE={1: 2})


def test_a_profiler_leaves_a_stamp_as_it_is():
    """numba clears flags of the code of kernels that run under a profiler."""
    before = reach.stamp(linear_algebra.cholesky.py_func)
    flags = linear_algebra.cholesky.py_func.__code__.co_flags
    with cProfile.Profile():
        linear_algebra.cholesky(np.eye(2), 2)
    assert reach.stamp(linear_algebra.cholesky.py_func) == before
    if sys.version_info < (3, 12):
        assert linear_algebra.cholesky.py_func.__code__.co_flags != flags  # as said above


def test_reordered_fields_of_a_record_make_another_kernel():
    from collections import namedtuple

    from numba import typeof

    def text(fields, module="l0path.problem"):
        record = namedtuple("Record", fields, module=module)
        return cache._signature_text((typeof(record(1.0, 2.0)),))

    assert text("a b") == text("a b") != text("b a")
    assert text("a b", module="elsewhere") is None


STAMPS = """
import importlib, pkgutil
import l0path
from l0path.compiled import reach
from l0path.exchange import trials
from l0path.working_set import refits

kernels = refits.refit_in_turn.py_func, trials.attempt.py_func
before = [reach.stamp(kernel) for kernel in kernels]
for found in pkgutil.walk_packages(l0path.__path__, "l0path."):
    if not found.name.endswith("__main__"):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:  # of a package that not everybody has
            assert not error.name.startswith("l0path")
print(before == [reach.stamp(kernel) for kernel in kernels])
"""


ONE_OF_EACH = """
import sys
import numpy as np
import l0path

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 40))
eta = X[:, :3].sum(axis=1)
signs = (eta + rng.logistic(size=150) > 0).astype(float)
classes = np.digitize(eta + rng.normal(size=150), [-1.0, 1.0])
numbers = eta + rng.normal(size=150)
for loss, y in ("squared", numbers), ("logistic", signs), ("multinomial", classes):
    l0path.fit(X, y, loss=loss, max_k=6)
    l0path.cv_fit(X, y, loss=loss, cv=3, max_k=6, lambda2=1e-3)
for name, module in list(sys.modules.items()):
    for kernel in list(vars(module).values()) if name.startswith("l0path") else ():
        if hasattr(kernel, "py_func") and len(kernel.overloads) > 1:
            print(name, kernel.py_func.__name__, *kernel.overloads, sep="\\n    ")
"""


def test_a_kernel_is_compiled_for_one_kind_of_arguments():
    """Rows of a matrix whose columns were chosen came to the trials of exchanges as they lay: these
    were compiled three times, which took as long as all other kernels of a logistic path.
    """
    program = [sys.executable, "-c", ONE_OF_EACH]
    told = subprocess.run(program, capture_output=True, text=True, cwd=ROOT)
    assert told.returncode == 0, told.stderr
    assert told.stdout == ""


def test_kernels_for_all_losses_are_stored_once():
    """Verbs of several classes were registered when these were first asked for: their first fit
    compiled the kernels of the search once more.
    """
    told = subprocess.run([sys.executable, "-c", STAMPS], capture_output=True, text=True, cwd=ROOT)
    assert told.stdout.strip() == "True", told.stderr


def test_stamps_reach_through_modules_and_verbs():
    reached, waiting = set(), [table_sweeps.make_move.py_func, newton.refit.py_func]
    while waiting:
        function = waiting.pop()
        if function not in reached:
            reached.add(function)
            waiting += reach._describe(function)[1]
    names = {f"{f.__module__}.{f.__name__}" for f in reached}
    assert {"l0path.exchange.table.add", "l0path.working_set.linear_algebra.cholesky"} <= names
    assert {"l0path.problem.verbs.value", "l0path.core.elementary.exp_minus"} <= names


# -------------------- folders that fall back, and never an error


def blocked(tmp_path):
    """A path below a regular file: nobody can make it, not even root."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "below"


ONE_BY_ONE = """
import json, sys
import numpy as np
from l0path.problem import losses, verbs

y, eta, w, out = np.array([1.0, -1.0]), np.zeros(2), np.full(2, 0.5), np.full(2, 9.0)
answers = {}
for asked in sys.argv[1:]:
    if asked == "mean":
        answers[asked] = verbs.mean_loss(losses.Logistic(), y, eta, w)
    elif asked == "mean by all":
        data = verbs.loss_data(losses.Logistic(), verbs.value_of_each)
        answers["mean"] = verbs.of_record(verbs.value_of_rows)(data, y, eta, w)
    else:
        verbs.losses(losses.Logistic(), y, eta, out)
        answers[asked] = out.tolist()
print(json.dumps(answers))
"""


def test_verbs_stored_by_different_processes_are_told_apart(tmp_path):
    """Each process counts its functions from 1, and code is found by name and number: two verbs
    of one loss with the same arguments, stored as the first of their processes, were one.
    """
    for asked in (["mean"], ["each"], ["mean", "each", "mean by all"]):
        process = start(ONE_BY_ONE, *asked, NUMBA_CACHE_DIR=tmp_path)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        found = json.loads(out)
        assert found.get("mean", np.log(2.0)) == pytest.approx(np.log(2.0)), asked
        assert found.get("each", [np.log(2.0)] * 2) == pytest.approx([np.log(2.0)] * 2), asked


def test_no_two_kernels_have_one_name():
    """Of verbs that kernels call by their address and of those that Python asks: the code of a
    kernel is found by its name.
    """
    records = [losses.Logistic(), losses.Poisson(), losses.Huber(1.0), losses.Huber(1)]
    packed = [verbs._packed(record) for record in records]
    kernels = [kernel for one in packed for kernel in one.verbs.kernels if kernel is not None]
    kernels += [verbs.of_record(one.verb) for one in verbs.BY_ADDRESS]
    kernels = list({id(kernel): kernel for kernel in kernels}.values())
    names = [f"{one.py_func.__module__}.{one.py_func.__qualname__}" for one in kernels]
    assert len(set(names)) == len(names) > 40


def test_the_users_folders_in_their_order(tmp_path):
    home = tmp_path / "home"
    run(HOME=home)
    assert [entry.parent for entry in entries(tmp_path)] == [home / ".cache" / "l0path" / "kernels"]
    run(HOME=home, XDG_CACHE_HOME=tmp_path / "xdg")
    assert len(entries(tmp_path / "xdg" / "l0path")) == 1
    found, err = run(HOME=home, NUMBA_CACHE_DIR=tmp_path / "own")
    assert len(entries(tmp_path / "own" / "l0path")) == 1 and found["compiled"] == 1 and err == ""
    assert run(HOME=home, NUMBA_CACHE_DIR=tmp_path / "own")[0]["compiled"] == 0


@pytest.mark.parametrize(
    "name", ["HOME", *(pytest.param(n, marks=slow) for n in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR"))]
)
def test_a_folder_that_cannot_be_written_gives_a_private_temporary_one(tmp_path, name):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    changes = {"HOME": tmp_path / "home", "TMPDIR": temporary, name: blocked(tmp_path)}
    found, err = run("two", **changes)
    assert found["answer"] == [0.5, 2.0] and found["compiled"] == 2
    assert err.count("could not be stored") == 1 and str(temporary) in err
    (folder,) = temporary.iterdir()
    assert len(entries(folder)) == 2 and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert run("two", **changes)[0]["compiled"] == 0


@pytest.mark.parametrize(
    "kind", ["open to others", *(pytest.param(kind, marks=slow) for kind in ("file", "link"))]
)
def test_a_temporary_folder_that_is_not_private_is_not_used(tmp_path, kind):
    """What is stored is run: a folder that another user can write to is not trusted."""
    temporary, folder = tmp_path / "temporary", f"l0path-kernels-{os.getuid()}"
    temporary.mkdir()
    if kind == "file":
        (temporary / folder).write_text("")
    elif kind == "link":
        (temporary / folder).symlink_to(tmp_path, target_is_directory=True)
    else:
        (temporary / folder).mkdir()
        (temporary / folder).chmod(0o777)
    found, err = run("two", HOME=blocked(tmp_path), TMPDIR=temporary)
    assert found["compiled"] == 2 and found["answer"] == [0.5, 2.0]
    assert err.count("every process compiles them anew") == 1
    assert entries(tmp_path) == []


def others_own(path):
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(path, NOBODY, NOBODY)


UNSAFE = {
    "a folder above": ("", lambda path: path.chmod(0o777), "others can write to"),
    "the folder": ("cache/l0path", lambda path: path.chmod(0o1777), "others can write to"),
    "another owner": ("cache", others_own, "belongs to another user"),
}


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
@pytest.mark.parametrize("kind", UNSAFE)
def test_a_folder_that_others_can_write_to_is_not_used(kind, tmp_path, monkeypatch, capsys):
    """By its owner or mode, or those of a folder that it is in, through links too."""
    above, link = tmp_path / "above", tmp_path / "link"
    (above / "cache" / "l0path").mkdir(parents=True)
    for folder in (above, above / "cache", above / "cache" / "l0path"):
        folder.chmod(0o755)
    link.symlink_to(above / "cache", target_is_directory=True)
    name, spoil, why = UNSAFE[kind]
    for spoiled in (False, True):
        if spoiled:
            spoil(above / name)
            cache._trusted.clear()
        for wanted in (above / "cache", link):
            monkeypatch.setattr(cache.config, "CACHE_DIR", str(wanted))
            assert cache._user_folder() == (None if spoiled else wanted / "l0path")
    monkeypatch.setattr(cache, "_temporary_folder", lambda make: None)
    folders = cache.Folders()
    for _ in range(2):
        folders.write(f"some{cache.ENDING}", b"")
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and why in said and entries(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
def test_a_folder_passed_over_is_told_in_each_process(tmp_path, monkeypatch, capsys):
    """Where nothing is to be stored, too: the temporary folder has every kernel."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "open"))
    monkeypatch.setattr(cache, "_temporary_folder", lambda make: tmp_path / "own")
    for _ in range(2):  # processes
        folders = cache.Folders()
        folders.write(f"some{cache.ENDING}", pickle.dumps(1))
        assert "others can write to" in capsys.readouterr().err
        folders = cache.Folders()
        for _ in range(2):
            assert folders.read(f"some{cache.ENDING}") == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "others can write to" in said
        assert str(tmp_path / "own") in said


def open_to_others(path):
    path.chmod(0o666)


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
@pytest.mark.parametrize("spoil", [others_own, open_to_others])
def test_a_file_of_others_is_not_read(spoil, tmp_path, monkeypatch):
    """It may be from a time when the folder was open; it is made anew."""
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_temporary_folder", lambda make: None)
    folders, name, mask = cache.Folders(), f"some{cache.ENDING}", os.umask(0)
    try:
        for _ in range(2):
            folders.write(name, pickle.dumps(1))
            assert folders.read(name) == 1  # whatever the mask is
            spoil(tmp_path / "l0path" / name)
            assert folders.read(name) is None
    finally:
        os.umask(mask)


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
def test_a_sticky_folder_may_hold_the_users(tmp_path, monkeypatch):
    """Others cannot replace what they do not own there."""
    (tmp_path / "above").mkdir()
    (tmp_path / "above").chmod(0o1777)
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "above" / "cache"))
    assert cache._user_folder() == tmp_path / "above" / "cache" / "l0path"


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
def test_a_folder_is_looked_at_again_until_it_is_there(tmp_path, monkeypatch):
    """Another user may make it first in a sticky folder; one that passed is asked for once."""
    (tmp_path / "above").mkdir()
    (tmp_path / "above").chmod(0o1777)
    monkeypatch.setattr(cache, "_trusted", set())
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "above" / "cache"))
    folder = tmp_path / "above" / "cache" / "l0path"
    assert cache._user_folder() == folder
    folder.mkdir(parents=True, mode=0o755)
    folder.parent.chmod(0o777)
    assert cache._user_folder() is None
    folder.parent.chmod(0o755)
    assert cache._user_folder() == folder
    looked = []
    monkeypatch.setattr(cache.Path, "stat", lambda path: looked.append(path))
    assert cache._user_folder() == folder and not looked


@pytest.fixture
def open_folder():
    """A temporary folder that every user can enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_a_user_without_home_and_rights(open_folder):
    """Read-only package, no HOME, a user that the machine does not know."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    package = copy_of_the_package(open_folder / "package")
    temporary = open_folder / "temporary"
    temporary.mkdir()
    temporary.chmod(0o1777)
    before = sorted(package.rglob("*"))
    changes = {"package": package, "program": BECOME_NOBODY + PROGRAM, "TMPDIR": temporary}
    for home in ({}, {"HOME": open_folder}):
        found, err = run(**changes, **home)
        assert found["answer"] == [0.5, 2.0] and found["compiled"] == (0 if home else 1)
        assert bool(err) != bool(home) and ("no home folder" in err or home)
        assert sorted(package.rglob("*")) == before
    changes["program"] = changes["program"].replace("Squared()", "Huber(1.0)")
    found, err = run(**changes, HOME=open_folder)
    assert found["compiled"] == 1 and "Permission denied" in err and str(temporary) in err


def test_nothing_is_written_into_the_package(tmp_path):
    package = copy_of_the_package(tmp_path / "package")
    before = sorted(package.rglob("*"))
    run(package=package, HOME=tmp_path / "home")
    assert sorted(package.rglob("*")) == before


def test_a_full_disk(tmp_path):
    """No file may grow beyond a kilobyte: every write of a kernel fails, as on a full disk."""
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n" + PROGRAM
    found, err = run("two", program=full, HOME=tmp_path, TMPDIR=tmp_path)
    assert found["answer"] == [0.5, 2.0]
    assert err.count("could not be stored") == 1 and "every process" in err
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("all_of_them", [False, pytest.param(True, marks=slow)])
def test_damaged_files_are_made_anew(tmp_path, all_of_them):
    run(NUMBA_CACHE_DIR=tmp_path)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "empty": b"",
        "truncated": whole[:middle],
        "garbage": bytes(range(256)) * 40,
        "no pickle": hashlib.sha256(b"no pickle").digest() + b"no pickle",
        "one byte": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    }
    assert cache.read(entry) is not None
    for contents in damaged.values():
        entry.write_bytes(contents)
        assert cache.read(entry) is None
    for contents in list(damaged.values()) if all_of_them else [damaged["one byte"]]:
        entry.write_bytes(contents)
        found, err = run(NUMBA_CACHE_DIR=tmp_path)
        assert found["answer"] == [0.5, 2.0] and found["compiled"] == 1 and err == ""
        assert entries(tmp_path) == [entry] and len(entry.read_bytes()) > middle
    assert run(NUMBA_CACHE_DIR=tmp_path)[0]["compiled"] == 0


def test_processes_that_compile_at_once(tmp_path):
    both = [start(PROGRAM, "two", NUMBA_CACHE_DIR=tmp_path) for _ in range(2)]
    for found, err in map(finish, both):
        assert found["answer"] == [0.5, 2.0] and err == ""
    assert run("two", NUMBA_CACHE_DIR=tmp_path)[0]["compiled"] == 0
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == entries(tmp_path)


def test_folders_stay_small(tmp_path):
    for i in range(8):
        path = tmp_path / f"kernel{i}{cache.ENDING}"
        path.write_bytes(bytes(100))
        os.utime(path, (i, i))
    (tmp_path / "left.partial").write_bytes(bytes(10))
    os.utime(tmp_path / "left.partial", (0, 0))
    (tmp_path / "other").write_bytes(bytes(5000))
    cache.clean(tmp_path, largest=800)
    assert len(entries(tmp_path)) == 8
    cache.clean(tmp_path, largest=700)
    kept = [f"kernel{i}{cache.ENDING}" for i in range(3, 8)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*kept, "other"]
    cache.clean(tmp_path / "nowhere")
