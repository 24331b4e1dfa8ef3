"""Methods of results whose code is in another package have its signature and pass everything on."""

import importlib
import inspect

import pytest

import l0path

PATH = {
    "inspection": ("summary", "alternatives", "refit", "score", "certify"),
    "cross_validation": ("validate",),
    "paths.criteria": ("select", "score_table"),
    "paths.comparison": ("compare",),
    "paths.storage": ("save",),
    "plots": ("plot", "plot_roc", "plot_calibration"),
    "report": ("explore",),
}
METHODS = [
    (l0path.Path, name, module, name) for module, names in PATH.items() for name in names
] + [
    (l0path.CVPath, "rescore", "cross_validation.comparing", "rescore"),
    (l0path.CVPath, "metrics", "cross_validation.comparing", "metrics"),
    (l0path.CVPath, "difference", "cross_validation.comparing", "difference"),
    (l0path.CVPath, "save", "cross_validation.storage", "save_cv"),
    (l0path.CVPath, "explore", "report", "explore_cv"),
    (l0path.CVPath, "plot", "plots", "plot_cv"),
    (l0path.CVPath, "plot_roc", "plots", "plot_cv_roc"),
    (l0path.CVPath, "plot_calibration", "plots", "plot_cv_calibration"),
    (l0path.NestedCV, "save", "cross_validation.storage", "save_nested"),
    (l0path.NestedCV, "plot_roc", "plots", "plot_nested_roc"),
    (l0path.NestedCV, "plot_calibration", "plots", "plot_nested_calibration"),
    (l0path.StabilitySelection, "plot", "plots", "plot_stability"),
    (l0path.KnockoffFilter, "plot", "plots", "plot_knockoffs"),
    (l0path.Path, "_repr_html_", "report", "path_html"),
    (l0path.CVPath, "_repr_html_", "report", "cv_html"),
    (l0path.NestedCV, "_repr_html_", "report", "nested_html"),
    (l0path.Model, "_repr_html_", "report", "model_html"),
    (l0path.Summary, "_repr_html_", "report", "summary_html"),
    (l0path.Certificate, "_repr_html_", "report", "certificate_html"),
    (l0path.StabilitySelection, "_repr_html_", "report", "stability_html"),
    (l0path.KnockoffFilter, "_repr_html_", "report", "knockoffs_html"),
]
NAMES = [f"{cls.__name__}.{name}" for cls, name, *_ in METHODS]


def defining(module):
    return importlib.import_module(f"l0path.{module}")


@pytest.mark.parametrize(("cls", "name", "module", "function"), METHODS, ids=NAMES)
def test_a_method_has_the_signature_and_the_docstring_of_its_code(cls, name, module, function):
    method, code = getattr(cls, name), getattr(defining(module), function)
    mine, theirs = inspect.signature(method), inspect.signature(code)
    assert list(mine.parameters.values())[1:] == list(theirs.parameters.values())[1:]
    assert mine.return_annotation == theirs.return_annotation
    if name != "_repr_html_":
        assert inspect.getdoc(method).split("\n")[0] == inspect.getdoc(code).split("\n")[0]


@pytest.mark.parametrize(("cls", "name", "module", "function"), METHODS, ids=NAMES)
def test_a_method_passes_every_argument_on(cls, name, module, function, monkeypatch):
    module = defining(module)
    signature = inspect.signature(getattr(module, function))

    def recorded(*positional, **named):
        bound = signature.bind(*positional, **named)
        return dict(bound.arguments)

    monkeypatch.setattr(module, function, recorded)
    first, *names = signature.parameters
    stars = [n for n in names if signature.parameters[n].kind is inspect.Parameter.VAR_KEYWORD]
    given = {n: object() for n in names if n not in stars}
    more = {"k": 3} if stars and "k" not in given else {}
    nobody = cls.__new__(cls)
    got = getattr(cls, name)(nobody, **given, **more)
    assert got == {first: nobody, **given, **({stars[0]: more} if more else {})}


def test_nothing_is_bound_from_outside():
    """Methods stand in the class or in a class of the same package that it inherits from."""
    for cls in (l0path.Path, l0path.CVPath, l0path.NestedCV, l0path.Model):
        package = cls.__module__.rpartition(".")[0]
        for base in cls.__mro__[:-1]:
            for name, value in vars(base).items():
                if inspect.isfunction(value):
                    assert value.__module__.startswith(package), name
                    assert value.__qualname__ == f"{base.__name__}.{name}"


def test_an_unknown_attribute_of_a_model_names_the_nearest_public_ones():
    data = l0path.datasets.load_hitters()
    model = l0path.fit(data.X, data.y, max_k=1).model(k=1)
    with pytest.raises(AttributeError, match="did you mean refit"):
        model.refitt  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean deviance_ratio"):
        model.deviance  # noqa: B018
    with pytest.raises(AttributeError, match=r"it has alternatives.* refit.* to_python"):
        model.xyzzy  # noqa: B018
    assert not hasattr(model, "__array_interface__")
