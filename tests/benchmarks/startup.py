"""Start-up: import time against `import numba, pandas, scipy.linalg`, the first squared dense fit
of a fresh process without and with stored kernels, with the kernels of l0path-kernels where they
are installed, and, with L0PATH_BASE=CHECKOUT (another commit), the first fits of several kinds with
no stored kernels and `warm_up` as ratios to that commit, in turn. `--only companion` builds the
wheel of the kernels, installs it with this checkout in a new environment, and measures there.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from common import arguments
from levels import companion, one_level

PAIRS = 15  # of imports: at least as many
BASE = "import time; t = time.perf_counter(); import numba, pandas, scipy.linalg; print(time.perf_counter() - t)"
IMPORT = "import time; t = time.perf_counter(); import l0path; print(time.perf_counter() - t)"
FIRST = """
import numpy as np, l0path, time
rng = np.random.default_rng(0); X = rng.standard_normal((200, 300)); y = X[:, :5].sum(axis=1) + rng.standard_normal(200)
t = time.perf_counter(); l0path.fit(X, y); print(time.perf_counter() - t)
"""
KINDS = """
import numpy as np, l0path, time
rng = np.random.default_rng(0); X = rng.standard_normal((200, 300)); y = X[:, :5].sum(axis=1) + rng.standard_normal(200)
def clock(call):
    t = time.perf_counter(); call(); print(time.perf_counter() - t)
clock(lambda: l0path.fit(X, y))
clock(lambda: l0path.fit(X, np.where(y > 0, 1, -1), loss="logistic", max_k=5, lambda2=1e-3))
path = l0path.fit(X, y, max_k=4, lambda2=1e-2)
clock(lambda: path.certify(k=2, time_limit=5))
clock(lambda: l0path.fit(X, y, max_k=3, groups=np.repeat(np.arange(150), 2)))
"""
NAMES = ("first squared fit", "first logistic fit after it", "first certify", "first groups")
WARM = "import time, l0path; t = time.perf_counter(); l0path.warm_up(%s, verbose=False); print(time.perf_counter() - t)"
LOSSES = ("squared", "logistic")  # those that warm_up of version 0.1 is compared for
ROOT = Path(__file__).resolve().parents[2]
COUNT = """
import numpy as np, sys, l0path
rng = np.random.default_rng(0); X = rng.standard_normal((200, 300)); y = X[:, :5].sum(axis=1) + rng.standard_normal(200)
l0path.fit(X, y)
from numba.core.dispatcher import Dispatcher
kernels = {id(v): v for m in list(sys.modules.values()) if m and m.__name__.startswith('l0path') for v in vars(m).values() if isinstance(v, Dispatcher)}
used = {v.py_func.__name__: len(v.signatures) for v in kernels.values() if v.signatures}
compiled = sum(sum(v.stats.cache_misses.values()) for v in kernels.values())
print(f'{sum(used.values())}, of which {compiled} are compiled now', '(', ' '.join(f'{k}:{n}' for k, n in sorted(used.items())), ')')
"""


def run(code, cache, **changes):
    """Standard output of a fresh process with its own kernel cache folder. Python stores bytecode,
    as it does for users, even where the caller's environment says that it should not.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "L0PATH_QUIET": "1", **changes}
    if environment.pop("PYTHONDONTWRITEBYTECODE", None):
        bytecode = os.path.join(tempfile.gettempdir(), "l0path-bytecode")
        environment.setdefault("PYTHONPYCACHEPREFIX", bytecode)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()


def against(base, repeats):
    """Seconds of first fits with no stored kernels, and ratios to the checkout `base`, in turn."""
    here = os.environ.get("PYTHONPATH", "")
    contestants = {
        "base": {"PYTHONPATH": base},
        "one process": {"PYTHONPATH": here, "L0PATH_COMPILE_JOBS": "1"},
        "several": {"PYTHONPATH": here},
    }
    seconds = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, changes in contestants.items():
            with tempfile.TemporaryDirectory() as cache:
                seconds[name].append([float(line) for line in run(KINDS, cache, **changes).split()])
    for i, kind in enumerate(NAMES):
        middle = {
            name: sorted(row[i] for row in rows)[repeats // 2] for name, rows in seconds.items()
        }
        print(
            f"{kind:32s}",
            *(f"{name} {s:6.2f} s {s / middle['base']:5.2f} x" for name, s in middle.items()),
        )


def warm_up(base, repeats):
    """Seconds of `warm_up` with no stored kernels, and ratios to the checkout `base`, in turn."""
    here, seconds = os.environ.get("PYTHONPATH", ""), {"base": [], "here": [], "all": []}
    for _ in range(repeats):
        for name, path, what in (
            ("base", base, LOSSES),
            ("here", here, LOSSES),
            ("all", here, "all"),
        ):
            with tempfile.TemporaryDirectory() as cache:
                seconds[name].append(float(run(WARM % repr(what), cache, PYTHONPATH=path)))
    before, now, every = map(middle, seconds.values())
    print(
        f"warm_up of {len(LOSSES)} losses                base {before:6.2f} s here {now:6.2f} s {now / before:5.2f} x"
    )
    print(f'warm_up("all")                    {every:6.2f} s')


def with_companion(repeats):
    """Print the time of a first fit in a new environment with this checkout and its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder, "bin", "python"))
        plain = {**os.environ, "PYTHONPATH": ""}
        for command in (
            ["install", str(ROOT)],
            ["wheel", "--no-deps", "--wheel-dir", folder, str(ROOT / "companion")],
            ["install", "--no-index", "--no-deps", "--find-links", folder, "l0path-kernels"],
        ):
            pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *command]
            subprocess.run(pip, check=True, env=plain, cwd=folder)
        again = [python, __file__, "--only", "shipped", "--repeats", str(repeats)]
        subprocess.run(again, check=True, env=plain, cwd=folder)


def middle(values):
    return sorted(values)[len(values) // 2]


def imports(cache, pairs):
    """Print the time of an import as a ratio to that of the packages it needs, in turn."""
    for code in (BASE, IMPORT):
        run(code, cache)  # stores bytecode
    found = [(float(run(BASE, cache)), float(run(IMPORT, cache))) for _ in range(pairs)]
    print(
        f"import l0path                     {middle([b for _, b in found]):6.2f} s, "
        f"{middle([b / a for a, b in found]):.2f} x import numba, pandas, scipy.linalg "
        f"({pairs} pairs)"
    )


def shipped(repeats):
    """Print the time of a first fit with l0path-kernels and an empty cache, and that of the whole
    process with its imports.
    """
    fits, whole = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            began = time.perf_counter()
            fits.append(float(run(FIRST, cache)))
            whole.append(time.perf_counter() - began)
            compiled = run(COUNT, cache).partition("(")[0]
    size = sum(path.stat().st_size for path in companion().rglob("*"))
    print(
        f"first fit with l0path-kernels     {middle(fits):6.2f} s, process {middle(whole):.2f} s; "
        f"kernels {compiled.strip()}; {size / 1e6:.1f} MB installed"
    )


def main():
    """Print the medians."""
    args = arguments("start-up", only=("", "companion, warm_up, or shipped: that part alone"))
    print(f"# load {os.getloadavg()[0]:.1f}", flush=True)
    base = os.environ.get("L0PATH_BASE")
    alone = {
        "companion": with_companion,
        "shipped": shipped,
        "warm_up": lambda repeats: warm_up(base, repeats),
    }
    if args.only:
        alone[args.only](args.repeats)
        return
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as none:
        imports(cache, args.repeats if args.smoke else max(PAIRS, args.repeats))
        if companion() is not None:
            shipped(args.repeats)
            # what follows is measured without it
            paths = [one_level(none, None), os.environ.get("PYTHONPATH", "")]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        cold = float(run(FIRST, cache))
        warm = middle([float(run(FIRST, cache)) for _ in range(args.repeats)])
        print(f"first fit, no kernel cache        {cold:6.2f} s")
        print(f"first fit, kernels cached         {warm:6.2f} s")
        if base:
            against(base, args.repeats)
            warm_up(base, args.repeats)
        print(f"kernel specializations used by a default squared fit: {run(COUNT, cache)}")
    print(f"# load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
