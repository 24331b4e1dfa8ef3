"""What every test run needs before anything of the package is imported: a kernel cache of
the tests' own, a screenless plot backend, one thread.
"""

import gc
import getpass
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]


def set_environment():
    """Set what the user has not set; must run before numba, numpy and matplotlib are imported."""
    if "numba" in sys.modules and "NUMBA_CACHE_DIR" not in os.environ:
        raise RuntimeError(
            "numba was imported before tests/conftest.py could set NUMBA_CACHE_DIR; set it by "
            "hand, or drop the plugin that imports numba"
        )
    # one folder for all runs: a kernel is made anew only when something that it reaches has changed
    cache = Path(tempfile.gettempdir()) / f"l0path-numba-{getpass.getuser()}"
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache))
    os.environ.setdefault("L0PATH_COMPILE_JOBS", "1")  # xdist has taken the processors already
    os.environ.setdefault("MPLBACKEND", "Agg")
    # more threads than processors wait for each other, which took a quarter of the time of a run;
    # tests of threads ask for theirs
    threads = os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in (
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ):  # these overrule OMP_NUM_THREADS, so they must agree with it
        os.environ.setdefault(name, threads)
    # pytest rewrites the asserts of all files, which takes longer than to collect them: it stores
    # them
    sys.dont_write_bytecode = False
    # a shell that starts a command in the background lets it ignore Ctrl-C, which tests send
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


set_environment()
settings.register_profile(
    "l0path", deadline=None, max_examples=10, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("l0path")


def pytest_sessionstart():
    """Workers of a run compile each kernel once: who needs one that another is compiling waits."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from l0path.compiled.cache import KERNEL_FOLDERS

        KERNEL_FOLDERS.shared = KERNEL_FOLDERS.writable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """The second worker begins with the kernels of fits of every kind, from the end; the first one
    compiles what its tests meet. Else both would need the same kernel most of the time, and one of
    them would wait.
    """
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        from l0path.compiled.processes import compile_share
        from l0path.problem.losses import COUPLED, NAMES, SEVERAL
        from l0path.warm import recipes

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in reversed(["groups", "squared:sizes", *NAMES, *SEVERAL, *COUPLED]):
                compile_share(recipes([kind]))


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_not_searched():
    """What is left behind by collecting the tests, and by each file, is not gone through again by
    every garbage collection: cross-validations ask for some, which took most of their time.
    """
    yield
    gc.collect()
    gc.freeze()


def pytest_collection_finish():
    gc.freeze()


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def shared():
    """Folder of reference material beside the project, if present (`../shared`); tests that need it
    are skipped without it.
    """
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no reference material beside the project (../shared)")
    return folder
