"""The wheel of compiled kernels, from `pip wheel` to a first fit in a new environment that compiles
nothing, and the stored paths of every level. Takes many minutes and a package index.
"""

import itertools
import json
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from fresh import ROOT, environment
from numba.core.codegen import get_host_cpu_features
from test_kernel_cache import entries

from l0path.compiled import shipped

pytestmark = pytest.mark.slow
LARGEST = 40e6  # bytes of a wheel
FIRST_FIT = """
import json, sys
import numpy as np
import l0path
from numba.core.dispatcher import Dispatcher
X, noise = np.random.default_rng(0).standard_normal((2, 100, 30))
path = l0path.fit(X, X[:, 0] - X[:, 1] + noise[:, 0])
modules = [module for name, module in list(sys.modules.items()) if name.startswith("l0path.")]
kernels = {v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)}
print(json.dumps({"file": l0path.__file__, "support": path.model(k=2).support.tolist(),
                  "compiled": sum(sum(k.stats.cache_misses.values()) for k in kernels),
                  "loaded": sum(sum(k.stats.cache_hits.values()) for k in kernels)}))
"""
GOLDEN = f"""
import json, sys
sys.path.append({str(ROOT / "tests")!r})
import golden_paths
from l0path.compiled import shipped
level = shipped.chosen_level().level
found = {{name: golden_paths.result(name) for name in golden_paths.cases()}}
print(json.dumps([level and level.name, found]))
"""


def succeed(*command, **changes):
    """Standard output of a command that is run outside the checkout and without its environment."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd="/",
        env=environment(**{name: str(value) for name, value in changes.items()}),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """(Python of a new environment with l0path and the wheel of its kernels, the wheel)."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    succeed(*pip, "install", ROOT)
    assert not list((folder / "venv").rglob("*.kernel"))  # `pip install .` compiles nothing
    succeed(*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT / "companion")
    (wheel,) = folder.glob("*.whl")
    succeed(*pip, "install", wheel)
    return python, wheel


def companion_of(python):
    (folder,) = python.parents[1].glob(f"lib/*/site-packages/{shipped.COMPANION}")
    return folder


def one_level(python, folder, level):
    """A folder to import from, in which the companion has this level alone, None for no level."""
    names = {path.name for path in companion_of(python).iterdir() if path.is_dir()}
    left_out = shutil.ignore_patterns(*(names - {level}))
    shutil.copytree(companion_of(python), folder / shipped.COMPANION, ignore=left_out)
    return folder


def test_the_wheel_has_every_level_of_this_machine_and_is_small(installed):
    python, wheel = installed
    assert wheel.stat().st_size < LARGEST
    for level in shipped.supported(get_host_cpu_features()):
        # callees are stored within their callers, so that there are fewer entries than kernels
        assert len(entries(companion_of(python) / level.name)) > 50


def test_a_first_fit_with_the_wheel_compiles_nothing(installed, tmp_path):
    python, _ = installed
    before = {path: path.stat().st_mtime for path in companion_of(python).rglob("*")}
    found = json.loads(succeed(python, "-c", FIRST_FIT, HOME=tmp_path))
    assert Path(found["file"]).is_relative_to(python.parents[1])
    assert found["compiled"] == 0 and found["loaded"] > 3 and found["support"] == [0, 1]
    assert entries(tmp_path) == []
    after = {path: path.stat().st_mtime for path in companion_of(python).rglob("*")}
    assert {path: after[path] for path in before} == before


def test_the_stored_paths_agree_between_levels_and_kernels_compiled_here(installed, tmp_path):
    """Supports are equal and objectives to 1e-10: kernels of levels differ by rounding."""
    python, _ = installed
    names = [level.name for level in shipped.supported(get_host_cpu_features())]
    found = {}
    for name in (None, *names):
        folder = one_level(python, tmp_path / str(name), name)
        out = succeed(python, "-c", GOLDEN, PYTHONPATH=folder, HOME=tmp_path / f"home-{name}")
        used, found[name] = json.loads(out)
        assert used == name
    assert len(found) == 1 + len(names) > 1
    for one, other in itertools.combinations(found.values(), 2):
        for case, rows in one.items():
            assert [row[:2] for row in rows] == [row[:2] for row in other[case]], case
            objectives = [row[2] for row in rows]
            assert objectives == pytest.approx([row[2] for row in other[case]], rel=1e-10), case
