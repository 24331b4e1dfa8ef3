"""Refits name the coefficients that have no finite estimate."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import survival
from separated_samples import KINDS, indicated

import l0path


def rows(seed=0, n=80):
    """A factor whose third level separates, and two numbers that do not."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 2)), columns=["a", "b"])
    frame["kind"] = rng.choice(["x", "y", "z"], n)
    last = (frame["kind"] == "z").to_numpy()
    eta = frame["a"].to_numpy()
    frame["sick"] = np.where(last | (eta + rng.logistic(size=n) > 0), "yes", "no")
    frame["count"] = np.where(last, 0, rng.poisson(np.exp(0.5 * eta)))
    frame["grade"] = np.where(last, 3, 1 + (eta + rng.logistic(size=n) > -1) + (
        eta + rng.logistic(size=n) > 1))  # fmt: skip
    frame["class"] = np.where(last, "w", rng.choice(["u", "v", "w"], n))
    times = survival.draw(rng, n, eta=0.5 * eta)
    frame["time"], frame["died"] = times.stop, np.where(last, 0.0, times.event)
    return frame


CASES = {
    "logistic": ("sick", "separate the classes"),
    "poisson": ("count", "send the rates of some rows to zero"),
    "negative_binomial": ("count", "send the rates of some rows to zero"),
    "ordinal": ("grade", "separate the classes"),
    "cox": ("Surv(time, died)", "make the partial likelihood monotone"),
}


@pytest.mark.parametrize("loss", CASES)
@pytest.mark.parametrize("robust", [False, True])
def test_infinite_coefficients_are_named(loss, robust):
    left, does = CASES[loss]
    path = l0path.fit(
        f"{left} ~ a + kind", rows(), loss=loss, k=[2], lambda2=1e-3, always_include=["a", "kind"]
    )
    options = {"cov_type": "robust" if loss == "cox" else "HC0"} if robust else {}
    with pytest.warns(l0path.errors.SeparationWarning) as caught:
        results = path.model(index=len(path) - 1).refit(**options)
    said = [str(w.message) for w in caught]
    assert len(said) == 1 and f"the features {does}, so the coefficient of kind[T.z] is" in said[0]
    assert "coefficient of kind[T.z] is infinite" in results.selection
    assert "infinite" in str(results.summary()).replace("\n", " ")


def test_coefficients_that_are_finite_are_not_named():
    frame = rows()
    frame = frame[frame["kind"] != "z"]
    for loss, (left, _) in CASES.items():
        path = l0path.fit(f"{left} ~ a + b + kind", frame, loss=loss, max_k=3)
        assert "infinite" not in path.model(k=3).refit().selection  # and no warning


def test_classes_that_separate_are_named():
    path = l0path.fit("`class` ~ a + kind", rows(), loss="multinomial", lambda2=1e-3, max_k=2)
    path = l0path.fit(
        "`class` ~ a + kind",
        rows(),
        loss="multinomial",
        lambda2=1e-3,
        always_include=["a", "kind"],
    )
    with pytest.raises(ValueError, match=r"did not converge.*coefficients? of .*kind\[T.z\]"):
        path.model(index=len(path) - 1).refit()


def chosen(frame, loss, left, options):
    """The refit of a model of a and kind."""
    path = l0path.fit(
        f"{left} ~ a + kind", frame, loss=loss, k=[2], lambda2=1e-3, always_include=["a", "kind"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return path.model(index=len(path) - 1).refit(**options)


LEFT = {loss: left for loss, (left, _) in CASES.items()} | {
    "multinomial": "`class`",
    "binomial": "share",
    "tweedie": "count",
}


@pytest.mark.parametrize("first", [False, True], ids=["level", "reference level"])
@pytest.mark.parametrize("robust", [False, True], ids=["plain", "robust"])
@pytest.mark.parametrize("loss", LEFT)
def test_what_is_estimable_is_that_of_the_rows_that_are_left(loss, robust, first):
    frame = rows(n=120)
    frame["share"] = np.where(
        frame.kind == "z", 0.0, np.random.default_rng(3).integers(0, 5, 120) / 4
    )
    if first:
        frame["kind"] = frame["kind"].replace({"z": "-"})
    rest = frame[~frame["kind"].isin(["z", "-"])]
    rest = rest.assign(kind=rest["kind"].astype(str))
    options = {"cov_type": "robust" if loss == "cox" else "HC0"} if robust else {}
    made = l0path.losses.Tweedie(power=1.5) if loss == "tweedie" else loss
    want = chosen(rest, made, LEFT[loss], options)
    if loss == "multinomial":  # Newton steps say that there is no optimum
        options |= {"method": "bfgs", "gtol": 1e-4}
    found = chosen(frame, made, LEFT[loss], options)
    assert not getattr(want, "infinite", ()) and found.infinite
    numbers = ["a"] if first else ["a", "kind[T.y]"]
    tolerance = 1e-4 if loss in ("ordinal", "multinomial", "negative_binomial") else 1e-6
    for of in ("params", "bse", "pvalues"):
        ours, theirs = (pd.DataFrame(getattr(one, of)).loc[numbers] for one in (found, want))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    ends, of_rest = found.conf_int(), want.conf_int()
    if loss != "multinomial":
        np.testing.assert_allclose(ends.loc[numbers], of_rest.loc[numbers], rtol=tolerance)
        level = "kind[T.x]" if first else "kind[T.z]"
        assert np.isnan(found.bse[level]) and ends.loc[level].tolist() == [-np.inf, np.inf]
        assert np.isfinite(found.params).all() and np.isinf(found.estimates().iloc[:, 0][level])
        assert " inf " in str(found.summary()) or "-inf " in str(found.summary())
    if first and loss not in ("multinomial", "cox"):  # which have no tests by contrasts
        names = list(found.params.index)
        contrast = np.eye(len(names))[names.index("kind[T.y]")]
        assert np.isnan(found.t_test(contrast).sd).all()
        contrast -= np.eye(len(names))[names.index("kind[T.x]")]
        tested = found.t_test(contrast)
        assert np.squeeze(tested.effect) == pytest.approx(want.params["kind[T.y]"], rel=tolerance)
        assert np.squeeze(tested.sd) == pytest.approx(want.bse["kind[T.y]"], rel=tolerance)


def empty_reference():
    """(path of a factor whose reference level has y = 0 only, the same of the other rows)."""
    frame = rows(n=120)
    frame["y"] = (frame["sick"] == "yes") & (frame["kind"] != "z")
    frame["kind"] = frame["kind"].replace({"z": "-"})
    options = {"loss": "logistic", "k": [2], "always_include": ["a", "kind"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", l0path.errors.SeparationWarning)
        path = l0path.fit("y ~ a + kind", frame, **options)
    return path, l0path.fit("y ~ a + kind", frame[frame["kind"] != "-"], **options), frame


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
def test_an_empty_reference_level_leaves_what_glm_finds_on_the_other_rows():
    path, rest, frame = empty_reference()
    found = path.model(index=0).refit()
    # R's summary(glm(y ~ a + kind, binomial, frame[frame$kind != "-", ]))
    assert found.estimates(p_values=False)["estimate"].round(4).to_dict() == {
        "(Intercept)": -np.inf,
        "a": 1.4009,
        "kind[T.x]": np.inf,
        "kind[T.y]": np.inf,
    }
    tested = found.t_test([0.0, 0.0, -1.0, 1.0])
    assert np.squeeze(tested.effect) == pytest.approx(0.4126005763, rel=1e-7)
    assert np.squeeze(tested.sd) == pytest.approx(0.5277544815, rel=1e-7)
    assert found.bse["a"] == pytest.approx(0.3636526091, rel=1e-7)
    np.testing.assert_allclose(found.predict(frame), path.model(index=0).predict(frame), atol=1e-9)
    again = pickle.loads(pickle.dumps(found))
    assert np.squeeze(again.t_test([0.0, 0.0, -1.0, 1.0]).sd) == np.squeeze(tested.sd)
    pd.testing.assert_frame_equal(again.conf_int(), found.conf_int())
    of_classes = (np.arange(120) % 20)[(frame["kind"] != "-").to_numpy()]
    for kind, all_rows, others in (
        ("HC3", None, None),
        ("cluster", {"groups": np.arange(120) % 20}, {"groups": of_classes}),
    ):
        robust = path.model(index=0).refit(cov_type=kind, cov_kwds=all_rows)
        want = rest.model(index=0).refit(cov_type=kind, cov_kwds=others)
        assert robust.cov_type == kind
        assert robust.bse["a"] == pytest.approx(want.bse["a"], rel=1e-6)
    alone = l0path.fit("y ~ a", frame, loss="logistic").model(k=1).refit(cov_type="HC0")
    both = path.model(index=0).refit(cov_type="HC0")
    with pytest.raises(ValueError, match="no finite covariance"):
        l0path.anova(alone, both)


@pytest.mark.filterwarnings("ignore::l0path.errors.SeparationWarning")
def test_tables_of_models_show_what_is_infinite():
    path, rest, frame = empty_reference()
    table = path.compare([{"index": 0}], se=True, ci=0.95).iloc[:, 0]
    want = rest.compare([{"index": 0}], se=True, ci=0.95).iloc[:, 0]
    for part in ("coefficient", "standard error", "lower", "upper"):
        assert table[part, "a"] == pytest.approx(want[part, "a"], rel=1e-6)
    level = [table[part, "kind[T.x]"] for part in ("coefficient", "lower", "upper")]
    assert level == [np.inf, -np.inf, np.inf] and np.isnan(table["standard error", "kind[T.x]"])
    scaled = path.compare([{"index": 0}], se=True, standardized=True).iloc[:, 0]
    scale = scaled["coefficient", "a"] / table["coefficient", "a"]
    assert scaled["standard error", "a"] == pytest.approx(scale * want["standard error", "a"])
    assert np.isinf(scaled["coefficient", "kind[T.x]"])
    assert np.isnan(scaled["coefficient", "(Intercept)"])
    path.model(index=0).plot(X=frame)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_next_to_no_weight_separates_in_refits_too(kind):
    (X, y), w = indicated(kind), np.linspace(0.5, 1.5, 40)
    fixed = {"negative_binomial": l0path.losses.NegativeBinomial(theta=2.0)}
    given = {"loss": fixed.get(kind, kind), "max_k": 0, "lambda2": 1e-3}
    w[0] = 1e-12
    shrunk = l0path.fit(X, y, sample_weight=w, always_include=[0, 1, 2], **given).model(index=0)
    if kind == "multinomial":
        with pytest.raises(ValueError, match="the coefficient of x2 is infinite"):
            shrunk.refit(rows="all")
        return
    with pytest.warns(l0path.errors.SeparationWarning, match="the coefficient of x2 is infinite"):
        found = shrunk.refit(rows="all")
    w[0] = 0.0
    rest = l0path.fit(X, y, sample_weight=w, always_include=[0, 1], **given)
    want = rest.model(index=0).refit(rows="all")
    for name in ("x0", "x1"):
        assert found.params[name] == pytest.approx(want.params[name], rel=1e-5)
        assert found.bse[name] == pytest.approx(want.bse[name], rel=1e-4)


def test_a_monotone_column_of_large_numbers_is_not_called_constant():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.repeat([0.0, 1000.0], 20), "z": rng.standard_normal(40)})
    y = pd.DataFrame({"time": rng.exponential(size=40) + np.repeat([10.0, 0.0], 20), "event": True})
    tables = [X, X.assign(x=X["x"] / 1000.0)]
    with pytest.warns(l0path.errors.SeparationWarning):
        large, small = (l0path.fit(table, y, loss="cox").model(k=2).refit() for table in tables)
    assert large.infinite == small.infinite == ["x"]
    np.testing.assert_allclose(large.bse, small.bse)
    np.testing.assert_allclose(large.params["z"], small.params["z"])
