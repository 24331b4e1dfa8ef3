"""Kernels of the companion distribution: which level is chosen, that they come before the cache,
that nothing is written to them, and that what does not fit is compiled.
"""

import json
import os
import shutil

import numpy as np
import pytest
from numba import typeof
from numba.core.codegen import get_host_cpu_features
from numba.core.registry import cpu_target
from test_kernel_cache import PROGRAM, ROOT, copy_of_the_package, edit, entries, run, slow

from l0path.compiled import cache, shipped
from l0path.problem import losses, verbs

V3, V4 = (next(level for level in shipped.LEVELS if level.name == f"x86-64-v{i}") for i in (3, 4))
HOST = get_host_cpu_features()
WARM = "import l0path; l0path.warm_up([], n_jobs=1); print(0)"


def write_made_for(folder, **changes):
    (folder / shipped.MADE_FOR).write_text(json.dumps(shipped.versions() | changes))


# -------------------- which level


def levels(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir()
    write_made_for(tmp_path)
    return tmp_path


@pytest.mark.parametrize("spare", ["", ",+avx512vnni,-sse4a"])
def test_the_highest_level_that_is_shipped_and_that_the_processor_has(tmp_path, spare):
    both = levels(tmp_path, "x86-64-v3", "x86-64-v4")
    for level in (V3, V4):
        choice = shipped.choose(both, level.features + spare)
        assert choice == (level, both / level.name, "")
    missing = V4.features.replace("+avx512bw", "-avx512bw")
    assert shipped.choose(both, missing).level is V3
    (both / "x86-64-v4").rmdir()
    assert shipped.choose(both, V4.features).level is V3


@pytest.mark.parametrize("features", ["", "+neon", V3.features.replace("+fma", "-fma")])
def test_no_level_for_a_processor_that_lacks_a_part_of_it(tmp_path, features):
    level, folder, why = shipped.choose(levels(tmp_path, "x86-64-v3"), features)
    assert level is None and folder is None and "no level" in why


def test_levels_contain_each_other_and_are_llvms(tmp_path):
    assert set(V3.features.split(",")) < set(V4.features.split(","))
    known = {feature[1:] for feature in HOST.split(",")}
    if "avx2" in known:  # an x86 processor, of which LLVM names all parts, there or not
        assert {feature[1:] for feature in V4.features.split(",")} <= known


@pytest.mark.parametrize("what", ["l0path", "numba", "llvmlite", "Python"])
def test_other_versions_are_not_used(tmp_path, what):
    folder = levels(tmp_path, "x86-64-v3")
    assert shipped.choose(folder, V3.features).level is V3
    write_made_for(folder, **{what: "0.1"})
    level, _, why = shipped.choose(folder, V3.features)
    assert level is None and f"made for {what} 0.1, and this is" in why


@pytest.mark.parametrize("text", [None, "", "{", "[1]", "\xff"])
def test_a_companion_that_cannot_be_read_is_not_used(tmp_path, text):
    folder = levels(tmp_path, "x86-64-v3")
    (folder / shipped.MADE_FOR).unlink()
    if text is not None:
        (folder / shipped.MADE_FOR).write_bytes(text.encode("latin-1"))
    level, _, why = shipped.choose(folder, V3.features)
    assert level is None and "cannot be read" in why


# -------------------- a companion of one kernel


@pytest.fixture(scope="module")
def one_kernel(tmp_path_factory):
    """A folder to import from, with a companion that holds one kernel."""
    level = shipped.supported(HOST)[0]
    site, made = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("made")
    names = {"NUMBA_CPU_NAME": level.processor, "NUMBA_CPU_FEATURES": level.features}
    found, _ = run(NUMBA_CACHE_DIR=made, **names)
    assert found["compiled"] == 1
    folder = site / shipped.COMPANION
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('the companion was imported')\n")
    shutil.copytree(made / "l0path", folder / level.name)
    write_made_for(folder)
    for path in folder.rglob("*"):
        os.utime(path, (0, 0))
    return site


@pytest.fixture
def companion(one_kernel, tmp_path):
    """A copy of that folder, times included, that a test may damage."""
    return shutil.copytree(one_kernel, tmp_path / "site")


def run_with(companion, *arguments, package=ROOT, **changes):
    return run(*arguments, package=f"{package}{os.pathsep}{companion}", **changes)


def state(folder):
    """{file: (contents, time of the last change)}."""
    return {path: (path.read_bytes(), path.stat().st_mtime) for path in folder.rglob("*.*")}


def test_shipped_kernels_come_first_and_nothing_is_written(companion, tmp_path):
    before, own = state(companion), tmp_path / "own"
    found, err = run_with(companion, NUMBA_CACHE_DIR=own)
    assert found == {**found, "answer": [0.5, 2.0], "compiled": 0} and err == ""
    assert not own.exists()
    found, _ = run(NUMBA_CACHE_DIR=own)  # without the companion
    (entry,) = entries(own)
    assert found["compiled"] == 1
    entry.write_bytes(b"")  # who asks the cache first finds a damaged file and compiles
    assert run_with(companion, NUMBA_CACHE_DIR=own)[0]["compiled"] == 0
    assert entry.read_bytes() == b"" and state(companion) == before


def test_what_is_not_shipped_is_compiled_once_and_kept_in_the_users_folder(companion, tmp_path):
    before = state(companion)
    for compiled in (1, 0):
        found, err = run_with(companion, "two", NUMBA_CACHE_DIR=tmp_path / "own")
        assert found["answer"] == found["huber"][:1] + [2.0] and found["huber"] == [0.5, 1.5]
        assert found["compiled"] == compiled and err == ""
    (entry,) = entries(tmp_path / "own")
    assert entry.name not in {path.name for path in before}
    assert state(companion) == before


def test_a_damaged_file_is_compiled_and_left_as_it_is(companion, tmp_path):
    (file,) = entries(companion)
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"no pickle"):
        file.write_bytes(damaged)
        assert cache.read(file) is None
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    before = state(companion)
    for compiled in (1, 0):
        found, err = run_with(companion, NUMBA_CACHE_DIR=tmp_path / "own")
        assert found["answer"] == [0.5, 2.0] and found["compiled"] == compiled and err == ""
    assert state(companion) == before and len(entries(tmp_path / "own")) == 1


@pytest.mark.parametrize(
    "case",
    ["source", *(pytest.param(c, marks=slow) for c in ("numba", "processor", "another module"))],
)
def test_what_does_not_fit_is_compiled(companion, tmp_path, case):
    folder, changes, answer = companion / shipped.COMPANION, {}, [0.5, 2.0]
    if case == "numba":
        write_made_for(folder, numba="0.1")
    elif case == "source":
        changes["package"] = copy_of_the_package(tmp_path / "package")
        source = changes["package"] / "l0path" / "problem" / "losses.py"
        text = source.read_text(encoding="utf-8")
        start = text.index("class Squared(")
        edit(source, text[start:], text[start:].replace("0.5 *", "0.25 *", 1))
        answer = [0.25, 1.0]
    elif case == "processor":
        changes |= {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": "+sse4.2"}
        if "+sse4.2" not in HOST:
            changes |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    else:
        shutil.rmtree(folder)
        folder.with_suffix(".py").write_text("raise SystemExit('imported')\n")
    found, err = run_with(companion, NUMBA_CACHE_DIR=tmp_path / "own", **changes)
    assert found["answer"] == answer and found["compiled"] == 1 and err == ""
    assert len(entries(tmp_path / "own")) == 1


def test_warm_up_says_whether_the_companion_is_used(companion, tmp_path):
    level = shipped.supported(HOST)[0]
    said = [run_with(companion, program=WARM, NUMBA_CACHE_DIR=tmp_path)[1]]
    write_made_for(companion / shipped.COMPANION, numba="0.1")
    said.append(run_with(companion, program=WARM, NUMBA_CACHE_DIR=tmp_path)[1])
    said.append(run(program=WARM, NUMBA_CACHE_DIR=tmp_path)[1])
    assert f"kernels of l0path-kernels ({level.name}) are used" in said[0]
    assert "not used: it was made for numba 0.1, and this is" in said[1]
    assert "l0path-kernels" not in said[2]


def test_processes_beside_leave_shipped_kernels_out(companion, tmp_path):
    kinds = "(numba.typeof(losses.Squared()), *3 * [numba.typeof(out)])"
    kind = f"verbs.of_record(verbs.value_of_each)._cache.entry({kinds})"
    program = PROGRAM.replace("import json", "import numba, json")
    program = program.replace("print(", f"entry = {kind}\nprint(").replace(
        '"file"', '"entry": entry, "file"'
    )
    program = program.replace("= call(loss)", "= [0.5, 2.0]")
    assert run(program=program, NUMBA_CACHE_DIR=tmp_path)[0]["entry"].endswith(cache.ENDING)
    assert run_with(companion, program=program, NUMBA_CACHE_DIR=tmp_path)[0]["entry"] is None


# -------------------- errors of ours are not hidden


@pytest.mark.parametrize("error", [NameError, AttributeError])
def test_an_error_of_the_package_is_not_taken_for_a_damaged_file(monkeypatch, error):
    def fail(*_):
        raise error("a slip")

    kinds = (typeof(losses.Squared()), *3 * [typeof(np.ones(2))])
    monkeypatch.setattr(cache, "_signature_text", fail)
    asked = cache.KernelCache(verbs.of_record(verbs.value_of_each))
    with pytest.raises(error, match="a slip"):
        asked.load_overload(kinds, cpu_target.target_context)
    compiled = type("Compiled", (), {"lifted": (), "codegen": cpu_target.target_context.codegen()})
    compiled.library = type("Library", (), {"has_dynamic_globals": False})
    with pytest.raises(error, match="a slip"):
        asked.save_overload(kinds, compiled)


def test_a_numba_that_does_not_tell_its_target_stores_nothing():
    assert cache._target(object()) is None
    assert cache.KernelCache(verbs.of_record(verbs.value_of_each))._name((), None) is None
