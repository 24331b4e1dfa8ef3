"""What every test run needs before anything of the package is imported: a fresh kernel cache, a
screenless plot backend, few threads.
"""

import getpass
import hashlib
import os
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]


def source_hash(package):
    """Hash of every source of the package and of the versions of Python and numba: numba's cache
    does not notice an edit in another file.
    """
    digest = hashlib.sha256(f"{sys.version} {metadata.version('numba')}".encode())
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        digest.update(
            f"\0{path.relative_to(package).as_posix()}\0{len(source)}\0".encode() + source
        )
    return digest.hexdigest()[:16]


def set_environment():
    """Set what the user has not set; must run before numba, numpy and matplotlib are imported."""
    if "numba" in sys.modules and "NUMBA_CACHE_DIR" not in os.environ:
        raise RuntimeError(
            "numba was imported before tests/conftest.py could set NUMBA_CACHE_DIR; set it by "
            "hand, or drop the plugin that imports numba"
        )
    cache = (
        Path(tempfile.gettempdir())
        / f"l0path-numba-{getpass.getuser()}-{source_hash(ROOT / 'l0path')}"
    )
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache))
    os.environ.setdefault("MPLBACKEND", "Agg")
    threads = os.environ.setdefault("OMP_NUM_THREADS", "2")
    for name in (
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ):  # these overrule OMP_NUM_THREADS, so they must agree with it
        os.environ.setdefault(name, threads)


set_environment()
settings.register_profile(
    "l0path", deadline=None, max_examples=25, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("l0path")


@pytest.fixture(scope="session")
def shared():
    """Folder of reference material beside the project, if present (`../shared`); tests that need it
    are skipped without it.
    """
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no reference material beside the project (../shared)")
    return folder
