"""No import goes up, no import cycles, nothing heavy at import: read from the sources with `ast`,
every form of import.
"""

import ast
import functools
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# lowest first; no two packages stand side by side below `fitting`
LAYERS = [
    {"compiled"},
    {"core", "errors"},
    {"simulate"},
    {"designs"},
    {"formula"},
    {"problem"},
    {"working_set"},
    {"exchange"},
    {"relaxation"},
    {"algorithms"},
    {"exact"},
    {"paths"},
    {"engine"},
    {"fitting", "losses", "solvers"},
    {"diagnostics"},
    {"cross_validation"},
    {"inspection"},
    {"inference"},
    {"plots"},
    {"report"},
    {"datasets", "estimators", "fit_costs", "warm", "command_line"},
    {"__main__"},
]
# the one module that names functions of packages above its own, for the methods of results; what it
# imports is for type checkers alone
FORWARD = "l0path.core.forward"
TOP = len(LAYERS)  # l0path/__init__ may import everything, and nothing but __main__ may import it
HEAVY = ("statsmodels", "sklearn", "matplotlib", "formulaic", "l0path.plots", "l0path.inspection")
HEAVY += ("l0path.cross_validation", "scipy.optimize", "scipy.special", "scipy.sparse")
HEAVY += ("zarr", "dask", "bed_reader")


tree_of = functools.cache(ast.parse)  # of a source, which several tests read


def package_sources(package=ROOT / "l0path"):
    """{dotted module name: (source, is a package)} of every module of the package."""
    out = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        out[".".join(parts[:-1] if is_package else parts)] = (
            path.read_text(encoding="utf-8"),
            is_package,
        )
    return out


def layer(module):
    """Number of the layer of a dotted module name, None when the table lacks it."""
    parts = module.split(".")
    return (
        TOP
        if len(parts) == 1
        else next((i for i, names in enumerate(LAYERS) if parts[1] in names), None)
    )


def absolute(module, is_package, level, name):
    """The dotted name that `from <level dots><name> import ...` means inside `module`."""
    if level == 0:
        return name or ""
    here = module.split(".") if is_package else module.split(".")[:-1]
    return ".".join(here[: len(here) - level + 1] + ([name] if name else []))


def targets(node, module, is_package, known):
    """Dotted names that an ast node imports from l0path: import, from-import (submodules told from
    attributes), import_module and __import__ of a constant.
    """
    if isinstance(node, ast.Import):
        found = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        base = absolute(module, is_package, node.level, node.module)
        found = [
            f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base
            for alias in node.names
        ]
    elif isinstance(node, ast.Call) and getattr(
        node.func, "attr", getattr(node.func, "id", "")
    ) in ("import_module", "__import__"):
        name = (
            node.args[0].value
            if node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
            else ""
        )
        level = len(name) - len(name.lstrip("."))
        found = [absolute(module, is_package, level, name.lstrip("."))]
    else:
        found = []
    return [name for name in found if name.split(".")[0] == "l0path"]


def is_type_checking(node):
    return (
        isinstance(node, ast.If)
        and getattr(node.test, "attr", getattr(node.test, "id", "")) == "TYPE_CHECKING"
    )


def imports(module, sources):
    """[(target, line, runs)] of a module: whether an import runs when the module is imported, False
    within a function, None under TYPE_CHECKING, where it never runs.
    """
    return imports_among(module, *sources[module], frozenset(sources))


@functools.cache
def imports_among(module, source, is_package, sources):
    out = []

    def visit(node, runs):
        out.extend((name, node.lineno, runs) for name in targets(node, module, is_package, sources))
        for field, value in ast.iter_fields(node):
            here = runs
            if field == "body" and is_type_checking(node):
                here = None
            elif field == "body" and isinstance(
                node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
            ):
                here = None if runs is None else False
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, here)

    visit(tree_of(source), True)
    return out


def unlisted(sources):
    return [module for module in sources if layer(module) is None]


def upward_imports(sources):
    """Every import, at any depth, of a module in a higher layer, as "module:line imports
    target".
    """
    out = []
    for module in sources:
        if layer(module) in (None, TOP):
            continue
        for target, line, runs in imports(module, sources):
            if module == FORWARD and runs is None:
                continue
            front = module == "l0path.__main__" and layer(target) == TOP
            if not front and (layer(target) is None or layer(target) > layer(module)):
                out.append(f"{module}:{line} imports {target}")
    return out


def runs_first(module, sources):
    """Modules whose code must run for `module` to import: its targets, and the packages around them
    that are not around `module` itself.
    """
    out = set()
    for target, _, runs in imports(module, sources):
        parts = target.split(".") if runs else []
        for depth in range(2, len(parts) + 1):
            name = ".".join(parts[:depth])
            if name in sources and (depth == len(parts) or not f"{module}.".startswith(f"{name}.")):
                out.add(name)
    return out


def import_cycle(sources):
    """A cycle of imports that run at import, as a list of modules, or [] if there is none; a module
    that imports itself is one.
    """
    graph, done, stack = (
        {module: sorted(runs_first(module, sources)) for module in sources},
        set(),
        [],
    )

    def walk(module):
        if module in stack:
            return [*stack[stack.index(module) :], module]
        if module in done:
            return []
        stack.append(module)
        found = next((cycle for target in graph[module] if (cycle := walk(target))), [])
        stack.pop()
        done.add(module)
        return found

    return next((cycle for module in graph if (cycle := walk(module))), [])


def loaded_by(statement):
    """Modules in sys.modules of a fresh interpreter after the statement."""
    code = f"{statement}\nimport sys; print(' '.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_every_module_is_in_the_table():
    missing = unlisted(package_sources())
    assert not missing, (
        f"add {missing} to LAYERS in tests/test_layers.py, in the lowest layer above all they "
        "import"
    )


def test_no_import_goes_up():
    assert upward_imports(package_sources()) == []


def test_no_import_cycles():
    assert import_cycle(package_sources()) == []


def test_no_module_hides_a_name_of_its_package():
    """`from .conjugates import tangents` beside a module tangents.py: what the package's name means
    would depend on what was imported before.
    """
    sources, hidden = package_sources(), []
    for module, (source, is_package) in sources.items():
        for node in ast.walk(tree_of(source)) if is_package else ():
            if isinstance(node, ast.ImportFrom):
                names = [alias.asname or alias.name for alias in node.names]
                hidden += [
                    f"{module}.{name}"
                    for name in names
                    if f"{module}.{name}" in sources and node.module not in (None, name)
                ]
    assert hidden == []


def test_import_is_light():
    assert not loaded_by("import l0path") & set(HEAVY)


# -------------------- the checker itself

MODULES = [
    "l0path.core",
    "l0path.designs.dense",
    "l0path.formula",
    "l0path.problem",
    "l0path.exchange.newton",
    "l0path.fitting",
]
MODULES += ["l0path.plots", "l0path.__main__"]
PACKAGES = ["l0path", "l0path.designs", "l0path.exchange"]


def mutant(**changes):
    """A small sound package with the named modules (dots as two underscores) given another
    source.
    """
    sources = {name: ("", False) for name in MODULES} | {name: ("", True) for name in PACKAGES}
    sources["l0path"] = ("from .fitting import fit\nfrom l0path import plots, core", True)
    sources["l0path.designs"] = ("from .dense import Dense", True)
    sources["l0path.problem"] = (
        "import numpy\nfrom .designs import dense\nfrom . import core, formula",
        False,
    )
    sources["l0path.fitting"] = (
        "import l0path.exchange.newton\ndef fit():\n    from .problem import Problem",
        False,
    )
    sources["l0path.__main__"] = ("import l0path\nfrom l0path import __version__", False)
    for key, source in changes.items():
        name = f"l0path.{key.replace('__', '.')}"
        sources[name] = (source, name in PACKAGES)
    return sources


def test_a_sound_package_passes():
    assert unlisted(mutant()) == upward_imports(mutant()) == import_cycle(mutant()) == []


@pytest.mark.parametrize(
    "source",
    [
        "import l0path.fitting",
        "import numpy, l0path.fitting as f",
        "from l0path.fitting import fit",
        "from l0path import core, fitting",
        "from .fitting import *",
        "from . import fitting",
        "def f():\n    async def g():\n        from .fitting import fit",
        "class A:\n    import l0path.fitting",
        "try:\n    pass\nexcept ImportError:\n    from l0path import fitting",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .fitting import Path",
        "import importlib\nf = lambda: importlib.import_module('l0path.fitting')",
        "from importlib import import_module\nimport_module('.fit', __package__)",
        "__import__('l0path.fitting')",
        "import l0path",
        "from l0path import anything",
        "from . import __version__",
        "import l0path.not_in_the_table",
    ],
)
def test_upward_imports_of_every_form_are_caught(source):
    assert len(upward_imports(mutant(formula=source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from ..fitting import fit",
        "from .. import fitting",
        "from ..fitting.sub import x",
        "def f():\n    from ..plots import plot",
    ],
)
def test_relative_imports_of_two_levels_are_caught(source):
    assert len(upward_imports(mutant(exchange__newton=source))) == 1
    assert len(upward_imports(mutant(designs__dense=source))) == 1
    assert (
        len(upward_imports(mutant(exchange=source))) == 1
    )  # in a package's __init__ one dot is the package itself


def test_one_module_may_import_from_above_for_type_checkers(monkeypatch):
    monkeypatch.setitem(globals(), "FORWARD", "l0path.formula")
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .plots import Axes"
    assert upward_imports(mutant(formula=typed)) == []
    late = "def f():\n    from .plots import plot\n    return plot()"
    for source in (late, "from .plots import plot", f"{typed}\nelse:\n    from .plots import Axes"):
        assert len(upward_imports(mutant(formula=source))) == 1
    assert len(upward_imports(mutant(problem=typed))) == 1  # another module


def test_functions_that_methods_of_results_call_are_named_once_and_called():
    from l0path.core import forward  # here, for counts.py reads this file without the package

    called = set()
    for source, _ in package_sources().values():
        called |= {
            node.attr
            for node in ast.walk(tree_of(source))
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "forward"
        }
    assert called == set(forward.MODULES)
    assert all(callable(getattr(forward, name)) for name in forward.MODULES)
    with pytest.raises(AttributeError, match="no attribute 'plot_nothing'"):
        _ = forward.plot_nothing


@pytest.mark.parametrize(
    "changes",
    [
        {
            "designs__dense": "from l0path.formula import Penalty",
            "formula": "from .designs import Dense",
        },
        {
            "designs__dense": "from ..formula import Penalty",
            "formula": "import l0path.designs.dense",
        },
        {"designs": "from .dense import Dense", "designs__dense": "from . import Dense"},
        {
            "designs": "import l0path.formula",
            "formula": "if True:\n    from l0path.designs.dense import Dense",
        },
        {"formula": "from .formula import Penalty"},
    ],
)
def test_cycles_are_caught(changes):
    assert import_cycle(mutant(**changes))


def test_imports_that_do_not_run_make_no_cycle():
    late = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .designs import Dense\n"
        "def f():\n    from .designs import Dense"
    )
    assert import_cycle(mutant(designs__dense="from ..formula import Penalty", formula=late)) == []
    default = "def f(dense=__import__('l0path.designs.dense')):\n    pass"
    assert import_cycle(mutant(designs__dense="from ..formula import Penalty", formula=default))


def test_unlisted_modules_are_caught():
    assert unlisted(mutant(novelty="")) == ["l0path.novelty"]


def test_heavy_imports_are_seen_in_a_fresh_interpreter():
    assert "json" in loaded_by("import json.decoder") and "json" not in loaded_by("pass")


SCRIPTS = sorted(
    file
    for folder in ("vignettes", "docs", "tests/benchmarks")
    for file in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_scripts_import_of_the_package_exists(file):
    """Vignettes and benchmarks run apart from the tests, so a name that moved is missed there."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("l0path"):
            continue
        module = importlib.import_module(node.module)
        for name in node.names:
            if not hasattr(module, name.name):
                importlib.import_module(f"{node.module}.{name.name}")
