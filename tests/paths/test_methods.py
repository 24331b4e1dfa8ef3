"""Methods of results whose code is elsewhere have its signature and pass everything on."""

import importlib
import inspect
import pickle
import re
from functools import cache

import pytest

import l0path
from l0path.core import forward
from l0path.core.hints import OF_KIND

OF_MODEL = ("summary", "alternatives", "refit", "score")
METHODS = [
    *((l0path.Model, name, name) for name in OF_MODEL),
    (l0path.Path, "certify", "certify"),
    (l0path.Path, "near_best", "near_best"),
    (l0path.Path, "validate", "validate"),
    (l0path.Path, "score_table", "score_table"),
    (l0path.Path, "compare", "compare"),
    (l0path.Path, "save", "save"),
    (l0path.Path, "plot", "plot"),
    (l0path.Path, "explore", "explore"),
    (l0path.CVPath, "rescore", "rescore"),
    (l0path.CVPath, "metrics", "metrics"),
    (l0path.CVPath, "difference", "difference"),
    (l0path.CVPath, "compare", "compare_cv"),
    (l0path.CVPath, "save", "save_cv"),
    (l0path.CVPath, "plot_roc", "plot_cv_roc"),
    (l0path.CVPath, "plot_calibration", "plot_cv_calibration"),
    (l0path.NestedCV, "save", "save_nested"),
    (l0path.NestedCV, "plot_roc", "plot_nested_roc"),
    (l0path.NestedCV, "plot_calibration", "plot_nested_calibration"),
    (l0path.StabilitySelection, "plot", "plot_stability"),
    (l0path.KnockoffFilter, "plot", "plot_knockoffs"),
    (l0path.Path, "_repr_html_", "path_html"),
    (l0path.CVPath, "_repr_html_", "cv_html"),
    (l0path.NestedCV, "_repr_html_", "nested_html"),
    (l0path.Model, "_repr_html_", "model_html"),
    (l0path.Summary, "_repr_html_", "summary_html"),
    (l0path.Certificate, "_repr_html_", "certificate_html"),
    (l0path.StabilitySelection, "_repr_html_", "stability_html"),
    (l0path.KnockoffFilter, "_repr_html_", "knockoffs_html"),
]
NAMES = [f"{cls.__name__}.{name}" for cls, name, *_ in METHODS]


def defining(function):
    return importlib.import_module(f"l0path.{forward.MODULES[function]}")


@pytest.mark.parametrize(("cls", "name", "function"), METHODS, ids=NAMES)
def test_a_method_has_the_signature_of_its_code(cls, name, function):
    method, code = getattr(cls, name), getattr(defining(function), function)
    mine, theirs = inspect.signature(method), inspect.signature(code)
    assert list(mine.parameters.values())[1:] == list(theirs.parameters.values())[1:]
    assert mine.return_annotation == theirs.return_annotation


@pytest.mark.parametrize(("cls", "name", "function"), METHODS, ids=NAMES)
def test_a_method_passes_every_argument_on(cls, name, function, monkeypatch):
    module = defining(function)
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


def test_methods_stand_in_one_class_body():
    for cls in (l0path.Path, l0path.CVPath, l0path.NestedCV, l0path.Model):
        bases = (l0path.Path,) if cls is l0path.CVPath else ()
        assert cls.__mro__ == (cls, *bases, object)
        for name, value in vars(cls).items():
            if inspect.isfunction(value):
                assert (value.__module__, value.__qualname__) == (
                    cls.__module__,
                    f"{cls.__name__}.{name}",
                )


def test_the_surface_is_small():
    data = l0path.datasets.load_hitters()
    cv = l0path.cv_fit(data.X, data.y, cv=3, max_k=2, random_state=0)
    path = l0path.fit(data.X, data.y, max_k=2)

    def public(thing):
        return {name for name in dir(thing) if not name.startswith("_")}

    assert len(public(path)) <= 24
    assert len(public(path[1])) <= 28
    assert len(public(cv) - public(path)) <= 10


@pytest.mark.parametrize("name", ["refit", "summary", "index", "theta", "plot_roc", "end"])
def test_methods_of_earlier_versions_say_where_they_are(name):
    data = l0path.datasets.load_hitters()
    path = l0path.fit(data.X, data.y, max_k=1)
    with pytest.raises(AttributeError, match=r"Path has no attribute .*; (write|ask) "):
        getattr(path, name)
    with pytest.raises(AttributeError, match=r"Model has no attribute 'lambda2'; write .details"):
        path[1].lambda2  # noqa: B018


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


@pytest.mark.parametrize(
    ("name", "written"),
    [("coef_", "coef"), ("params", "coef"), ("intercept_", "intercept")]
    + [(name, "refit(...)") for name in ("pvalues", "bse", "resid", "residuals")],
)
def test_names_of_other_packages_lead_to_what_a_model_has(name, written):
    data = l0path.datasets.load_hitters()
    model = l0path.fit(data.X, data.y, max_k=1).model(k=1)
    with pytest.raises(AttributeError) as error:
        getattr(model, name)
    assert re.search(r"write \.([^,; ]+)", str(error.value))[1] == written
    found = getattr(model, written.removesuffix("(...)"))
    assert callable(found) == written.endswith("(...)")


def test_all_models_of_a_cross_validated_path_are_asked_for_by_name():
    data = l0path.datasets.load_hitters()
    cv = l0path.cv_fit(data.X, data.y, cv=3, max_k=3, random_state=0, lambda2=0)
    path = l0path.fit(data.X, data.y, max_k=3)
    assert cv.coef("all").equals(path.coef()) and path.coef("all").equals(path.coef())
    assert cv.predict(data.X, "all").equals(path.predict(data.X))
    assert cv.coef().equals(cv.model("min").coef)
    with pytest.raises(TypeError, match="'all' goes with no selector; leave out k"):
        cv.coef("all", k=2)


def test_a_size_in_brackets_is_the_model_of_that_size():
    data = l0path.datasets.load_hitters()
    path = l0path.fit(data.X, data.y, k=[0, 2, 4])
    assert path[4].features == path.model(k=4).features and [m.k for m in path] == [0, 2, 4]
    with pytest.raises(LookupError, match="k=3 is not on the path"):
        path[3]
    for wrong in (slice(1, 3), "bic", 2.0, True):
        with pytest.raises(TypeError, match="must be a whole number"):
            path[wrong]


def test_arguments_that_do_not_go_with_a_rule_are_named():
    data = l0path.datasets.load_hitters()
    path = l0path.fit(data.X, data.y, max_k=3)
    with pytest.raises(TypeError, match=r"^rows= is for a choice by a criterion, such as model"):
        path.select(2, rows=[1])
    with pytest.raises(TypeError, match=r"^sigma2= is for a choice by a criterion"):
        path.model(k=2, sigma2=1.0)
    for call in (path.model, path.select, l0path.cv_fit(data.X, data.y, cv=2, max_k=2).model):
        with pytest.raises(TypeError, match=r"^crit= is not known; name the model by a criterion"):
            call(crit="bic")
    with pytest.raises(TypeError, match="gamma"):
        path.select("bic", gamma=1.0)


def test_tables_that_papers_have_are_found_under_other_names():
    data = l0path.datasets.load_hitters()
    path = l0path.fit(data.X, data.y, max_k=1)
    for name in ("odds_ratios", "estimates", "tidy"):
        with pytest.raises(AttributeError, match=r"refit\(\.\.\.\)\.estimates\("):
            getattr(path, name)
        with pytest.raises(AttributeError, match=r"write \.refit\(\.\.\.\)\.estimates\("):
            getattr(path.model(1), name)


@cache
def results():
    """{kind: one result of it}."""
    data = l0path.datasets.load_hitters()
    path = l0path.fit(data.X.iloc[:, :6], data.y)
    return {
        "Path": path,
        "Model": path.model(k=2),
        "ModelSet": path.near_best(k=2, within=0.5),
        "Certificate": path.certify(k=2),
        "Summary": path.model(k=2).summary(),
        "Comparison": path.compare([1, 2]),
        "Table": path.table,
    }


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("ModelSet", "supports", r"write \[model.support for model in .models\]"),
        ("ModelSet", "best", r"write .models\[0\]"),
        ("ModelSet", "tabel", "did you mean table"),
        ("ModelSet", "xyz", "it has .*average.*models.*table"),
        ("Certificate", "plot", r"its model has: \.model\.plot"),
        ("Certificate", "supports", r"in \.best"),
        ("Certificate", "optimal", r"write \.proven"),
        ("Summary", "pvalues", r"refit\("),
        ("Path", "bic", r"score_table\(\)"),
        ("Model", "aic", r"\.path\.score_table\(\)"),
        ("Model", "rsquared", r"\.deviance_ratio"),
        ("Model", "tvalues", r"\.refit\("),
        ("Summary", "xyz", "it has coef.*table"),
        ("Comparison", "supports", r"write \.loc"),
        ("Comparison", "xyz", "with the columns k = 1, k = 2"),
        ("Table", "bic", r"path.score_table\(\)"),
        ("Table", "objectiv", "did you mean objective"),
        ("Table", "supports", "with the columns k, n_features, objective"),
    ],
)
def test_an_unknown_attribute_of_a_result_says_what_there_is(kind, name, hint):
    with pytest.raises(AttributeError, match=f"{kind} has no attribute '{name}'; .*{hint}"):
        getattr(results()[kind], name)


def test_what_is_written_instead_exists():
    for kind, names in OF_KIND.items():
        thing = results()[kind]
        for name, remedy in names.items():
            assert not hasattr(thing, name), (kind, name)
            for inner in re.findall(r"(?:^write |or |in )\.(\w+)", remedy):
                assert hasattr(thing, inner), (kind, name, inner)
    for kind, thing in results().items():
        again = pickle.loads(pickle.dumps(thing))
        assert type(again).__name__ == kind or kind == "Table"  # a DataFrame
