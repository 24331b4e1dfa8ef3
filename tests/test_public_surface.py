"""What users see: every public callable is annotated and names its parameters in its docstring,
every example runs, type checkers may read the package.
"""

import doctest
import inspect
import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

import l0path


def public(module):
    """(name, object) of a module's public functions and classes."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]
    return [(name, getattr(module, name)) for name in names]


@cache
def surface():
    """{dotted name: object} of all public functions and classes. Asked for within tests: the
    estimators among them import scikit-learn.
    """
    out = {}
    for name, value in public(l0path):
        if isinstance(value, ModuleType):
            out |= {f"l0path.{name}.{inner}": thing for inner, thing in public(value)}
        else:
            out[f"l0path.{name}"] = value
    return out


def members(value):
    """{name: function} of a public class: what it makes with, its public methods and properties,
    those of its own bases in the package too.
    """
    out = {}
    for name in dir(value):
        raw = inspect.getattr_static(value, name)
        function = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
        if (
            inspect.isfunction(function)
            and function.__module__.startswith("l0path")
            and (not name.startswith("_") or name in ("__init__", "__call__"))
        ):
            out[name] = function
    return out


@cache
def callables():
    """{dotted name: function} of all public functions, and of the methods of public classes."""
    out = {}
    for name, value in surface().items():
        out |= (
            {f"{name}.{inner}": function for inner, function in members(value).items()}
            if inspect.isclass(value)
            else {name: value}
        )
    return out


EXAMPLES = [
    "l0path.fit",
    "l0path.cv_fit",
    "l0path.nested_cv",
    "l0path.load",
    "l0path.one_standard_error",
    "l0path.Model",
    "l0path.CVPath.select",
    "l0path.CVPath.held_out",
    "l0path.L0Regressor",
    "l0path.L0Classifier",
    "l0path.L0RegressorCV",
    "l0path.L0ClassifierCV",
    "l0path.designs.blocks",
    "l0path.designs.convert",
    "l0path.designs.polynomial",
    "l0path.designs.additive",
    "l0path.diagnostics.support_recovery",
    "l0path.plots.data",
    *(f"l0path.simulate.{kind}" for kind in ("linear", "logistic", "poisson")),
    *(
        f"l0path.Path.{method}"
        for method in (
            "model",
            "support",
            "coef",
            "predict",
            "slice",
            "select",
            "score_table",
            "certify",
            "validate",
            "plot",
        )
    ),
    *(
        f"l0path.Model.{method}"
        for method in ("summary", "alternatives", "refit", "score", "conf_int", "survival", "plot")
    ),
]


def test_every_public_name_exists_and_is_a_thing_of_the_package():
    assert len(surface()) > 50
    for name, value in surface().items():
        assert callable(value), name
        assert value.__module__.startswith("l0path"), name
        assert inspect.getdoc(value), f"{name} has no docstring"


def test_parameters_and_results_are_annotated():
    missing = {}
    for name, function in callables().items():
        signature = inspect.signature(function)
        bare = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.annotation is parameter.empty and parameter.name != "self"
        ]
        if not name.endswith("__init__") and signature.return_annotation is signature.empty:
            bare.append("what it returns")
        if bare:
            missing[name] = bare
    assert not missing, f"annotate {missing}"


def test_docstrings_name_every_parameter():
    silent = {}
    for name, function in surface().items():
        text = inspect.getdoc(function)
        for parameter in (
            inspect.signature(function).parameters if inspect.isfunction(function) else ()
        ):
            if parameter != "self" and not re.search(rf"\b{parameter}\b", text):
                silent.setdefault(name, []).append(parameter)
    assert not silent, f"docstrings do not say what these are: {silent}"


@cache
def with_examples():
    """{name: docstring} of everything public whose docstring has an example."""
    found = {
        name: inspect.getdoc(value)
        for name, value in [*surface().items(), *callables().items()]
        if ">>>" in (inspect.getdoc(value) or "")
    }
    return {name: text for name, text in found.items() if not name.endswith("__init__")}


def test_what_people_use_most_has_an_example():
    assert not [name for name in EXAMPLES if name not in with_examples()]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Examples write their files here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def check_example(name):
    test = doctest.DocTestParser().get_doctest(with_examples()[name], {}, name, None, None)
    report = []
    failed, tried = doctest.DocTestRunner(
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    ).run(test, out=report.append)
    if "plot" in name:
        import matplotlib.pyplot as plt

        plt.close("all")
    assert tried
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, temporary):
    check_example(name)


def test_examples_of_all_other_names(temporary):
    """Each once: functions and methods may share a docstring."""
    seen = {with_examples()[name] for name in EXAMPLES}
    once = {text: name for name, text in with_examples().items() if text not in seen}
    assert once
    for name in once.values():
        check_example(name)


def test_type_checkers_may_read_the_package():
    assert (files("l0path") / "py.typed").is_file()


KNOWN = json.loads(Path(__file__).with_name("public_names.json").read_text(encoding="utf-8"))


def test_names_and_arguments_that_were_public_are_still_there():
    """Names may be added; those of 0.2.0 stay, in their order."""
    for name, arguments in KNOWN.items():
        if not name.endswith(".__init__"):
            now = list(inspect.signature(callables()[name]).parameters)
            positions = [now.index(argument) for argument in arguments]
            assert positions == sorted(positions), name
