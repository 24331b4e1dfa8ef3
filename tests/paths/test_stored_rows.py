"""`save(data=True)`: a loaded path, model or cross-validation gives what the one in memory does."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from recomputed import objective_of

import l0path
from l0path.losses import Cox

N, P = 70, 5
RNG = np.random.default_rng(11)
X = RNG.standard_normal((N, P))
ETA, NOISE = X[:, 0] - X[:, 2], RNG.standard_normal(N)
TABLE = pd.DataFrame(X, columns=list("abcde"), index=[f"row {i}" for i in range(N)])
TABLE = TABLE.assign(
    site=pd.Categorical(RNG.choice(["north", "south", "east"], N)),
    sex=RNG.choice(["f", "m"], N),
    who=RNG.integers(0, 20, N),
    day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D"),
    z=ETA + NOISE,
)
TABLE.loc[TABLE.index[:3], "e"] = np.nan
CENSORED = pd.DataFrame({"time": RNG.exponential(np.exp(-ETA)), "event": RNG.random(N) < 0.7})
SPARSE = scipy.sparse.csc_array(np.where(RNG.random((N, P)) < 0.5, X, 0.0))
WEIGHTS = RNG.random(N) + 0.1
COUNTS = RNG.poisson(np.exp(ETA / 2))


@cache
def fitted(name):
    """(path, X, y) of a kind of fit."""
    ones = {"max_k": 3}
    y, kw = {
        "squared": (ETA + NOISE, {"sample_weight": WEIGHTS}),
        "single": (ETA + NOISE, {}),
        "sparse": (ETA + NOISE, {}),
        "logistic": (ETA + NOISE > 0, {"loss": "logistic", "class_weight": "balanced"}),
        "logistic weights": (ETA + NOISE > 0, {"loss": "logistic", "class_weight": {True: 2.0}}),
        "labels": (np.where(ETA + NOISE > 0, "b", "a"), {"loss": "squared_hinge", "lambda2": 0.1}),
        "poisson": (COUNTS, {"loss": "poisson", "offset": X[:, 1] / 5}),
        "frequencies": (COUNTS, {"loss": "poisson", "freq_weight": RNG.integers(0, 4, N)}),
        "binomial": (np.clip(COUNTS, 0, 9) / 10, {"loss": "binomial", "trials": np.full(N, 10.0)}),
        "tweedie": (np.maximum(ETA + NOISE, 0), {"loss": l0path.losses.Tweedie(power=1.5)}),
        "quantile": (ETA + NOISE, {"loss": l0path.losses.Quantile(0.8)}),
        "responses": (np.column_stack([ETA, ETA + NOISE, NOISE]), {"offset": 0.1 * X[:, :3]}),
        "multinomial": (np.digitize(ETA + NOISE, [-1, 1]), {"loss": "multinomial", "lambda2": 0.1}),
        "ordinal": (np.digitize(ETA + NOISE, [-1, 1]), {"loss": "ordinal"}),
        "cox": (CENSORED, {"loss": Cox(ties="breslow"), "strata": TABLE["sex"].to_numpy()}),
        "entry": (
            np.column_stack([np.zeros(N), CENSORED["time"] + 0.1, CENSORED["event"]]),
            {"loss": "cox", "freq_weight": RNG.integers(0, 3, N)},
        ),
        "groups": (ETA + NOISE, {"groups": ["u", "u", "v", "w", "w"]}),
        "products": (X[:, 0] * X[:, 1] + X[:, 2] + NOISE / 9, {}),
        "bounds": (ETA, {"lower": 0.0, "exclude": [1], "always_include": [3]}),
    }[name]
    design = {
        "sparse": SPARSE,
        "single": np.asarray(X, dtype=np.float32)[::1, ::-1],
        "products": l0path.designs.polynomial(X),
        "labels": TABLE[list("abcd")],
    }.get(name, X)
    return l0path.fit(design, y, **ones, **kw), design, y


KINDS = (
    "squared,single,sparse,logistic,logistic weights,labels,poisson,frequencies,binomial,tweedie,"
    "quantile,responses,multinomial,ordinal,cox,entry,groups,products,bounds"
).split(",")

FAST = ("single", "sparse", "logistic weights", "responses", "entry", "products")


def again(what, file):
    what.save(file, data=True)
    return l0path.load(file)


def same(a, b):
    """Whether two results, or the errors in their place, are the same."""
    if isinstance(a, (pd.DataFrame, pd.Series)):
        getattr(pd.testing, f"assert_{'frame' if a.ndim == 2 else 'series'}_equal")(a, b, rtol=1e-7)
    else:
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-7) if isinstance(a, np.ndarray) else None
        assert isinstance(a, np.ndarray) or a == b


def params(results):
    """Estimates of a refit, of several responses those of the first."""
    return next(iter(results.values())).params if isinstance(results, dict) else results.params


def asked(path):
    """What methods that need the data say of a model, an error in its place as its text."""

    def said(call):
        try:
            return call()
        except ValueError as error:
            return str(error)

    model = path.model(k=2)
    return [
        said(lambda: params(model.refit())),
        said(lambda: model.summary().table),
        said(lambda: pd.DataFrame(model.alternatives())),
        said(lambda: model.certify().status),
        said(lambda: objective_of(path, k=2)),
        said(lambda: path.score_table()),
        said(lambda: path.near_best(k=1).table),
    ]


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in KINDS]
)
def test_a_loaded_path_knows_its_rows(name, tmp_path):
    path, *_ = fitted(name)
    back = again(path, tmp_path / "path.npz")
    own, read = path._source.data, back._source.data
    for field in ("y", "weights", "offset", "counts", "trials", "copies", "forced"):
        a, b = getattr(own, field), getattr(read, field)
        assert (a is None) == (b is None), field
        assert a is None or (np.array_equal(a, b) and a.dtype == b.dtype), field
    for a, b in zip(own.loss, read.loss, strict=True):
        np.testing.assert_array_equal(a, b)
    assert type(own.design) is type(read.design) and own.class_weight == read.class_weight
    every = np.arange(own.design.p)
    np.testing.assert_array_equal(own.design.columns(every), read.design.columns(every))
    for a, b in zip(asked(path), asked(back), strict=True):
        same(a, b)


def test_a_file_without_data_has_no_rows(tmp_path):
    path, *_ = fitted("single")
    path.save(tmp_path / "small.npz")
    path.save(tmp_path / "whole.npz", data=True)
    with np.load(tmp_path / "small.npz") as stored:
        assert not any(name.startswith("rows") for name in stored.files)
        assert "rows" not in json.loads(stored["header"].tobytes())
    small, whole = l0path.load(tmp_path / "small.npz"), l0path.load(tmp_path / "whole.npz")
    with pytest.raises(ValueError, match="pass X= and y="):
        small.model(k=2).refit()
    assert whole.model(k=2).refit().nobs == N
    whole._without_data().save(tmp_path / "bare.npz")
    assert l0path.load(tmp_path / "bare.npz").coef().equals(path.coef())
    with pytest.raises(ValueError, match="data=True: the data are not kept"):
        small.save(tmp_path / "again.npz", data=True)
    with pytest.raises(TypeError, match="data="):
        path.save(tmp_path / "again.npz", data="yes")
    assert not (tmp_path / "again.npz").exists()


def test_x_that_is_not_in_memory_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", X)
    path = l0path.fit(l0path.designs.blocks(tmp_path / "X.npy"), ETA + NOISE, max_k=2)
    with pytest.raises(ValueError, match="data=True: X is a ColumnBlocks"):
        path.save(tmp_path / "path.npz", data=True)
    path.save(tmp_path / "path.npz")


@pytest.mark.parametrize("index", ["text", "range", "two", "days"])
def test_a_formula_keeps_its_table(index, tmp_path):
    table = {
        "text": TABLE,
        "range": TABLE.reset_index(drop=True),
        "two": TABLE.set_index(["who", "sex"], drop=False).rename_axis(["i", "j"]),
        "days": TABLE.set_index("day", drop=False),
    }[index]
    table = table.assign(w=np.linspace(0.5, 2, N), more=[object() for _ in range(N)])
    formula = "z ~ a + b + e + site + sex + offset(c / 9) + cluster(who)"
    path = l0path.fit(formula, table, sample_weight="w", max_k=3)
    back = again(path, tmp_path / "path.npz")
    ours = path._meta.formula.table.drop(columns="more")
    pd.testing.assert_frame_equal(back._meta.formula.table, ours, check_dtype=False)
    assert back._meta.formula.table["site"].dtype == "category"
    assert back._meta.formula.n_dropped == 3 and back._meta.formula.index.equals(
        path._meta.formula.index
    )
    options = {"rows": "all", "cov_type": "cluster", "cov_kwds": {"groups": "who"}}
    for kw in ({}, options):
        one, two = (p.model(k=2).refit(**kw) for p in (path, back))
        np.testing.assert_allclose(one.bse, two.bse, rtol=1e-10)
    assert two.nobs == N  # e is not in the model of two
    same(path.model(k=2).predict(table), back.model(k=2).predict(table))
    assert str(back.model(k=2).summary()) == str(path.model(k=2).summary())


def test_new_rows_are_told_from_those_that_chose(tmp_path):
    path = l0path.fit(TABLE[list("abcd")], TABLE["z"], max_k=3)
    back = again(path, tmp_path / "path.npz")
    part = TABLE.iloc[:40]
    texts = [
        str(one.model(k=2).refit(X=part[list("abcd")], y=part["z"]).summary())
        for one in (path, back)
    ]
    lines = [[row for row in text.split("\n") if "Time:" not in row] for text in texts]
    assert lines[0] == lines[1] and "40" in texts[0]


@pytest.mark.parametrize("loss", ["logistic", "cox"])
def test_a_loaded_cross_validation_goes_on(loss, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    y = CENSORED if loss == "cox" else ETA + NOISE > 0
    cv = l0path.cv_fit(
        TABLE[list("abcd")],
        y.set_index(TABLE.index) if loss == "cox" else y,
        loss=loss,
        max_k=2,
        cv=2,
        random_state=1,
    )
    back = again(cv, tmp_path / "cv.npz")
    same(cv.held_out(k=2, type="link"), back.held_out(k=2, type="link"))
    same(cv.metrics(), back.metrics())
    same(cv.model("1se").refit().params, back.model("1se").refit().params)
    assert back.notes == cv.notes
    if loss == "logistic":
        assert (
            back.model(k=2).plot("roc").lines[0].get_label()
            == cv.model(k=2).plot("roc").lines[0].get_label()
        )
    model = again(cv.model(k=2), tmp_path / "model.npz")
    same(model.refit().params, cv.model(k=2).refit().params)


# -------------------- files that were changed


def changed(file, out, name, change):
    """The file with one array changed."""
    with np.load(file) as stored:
        arrays = {key: stored[key] for key in stored.files}
    arrays[name] = change(arrays[name])
    np.savez_compressed(out, **arrays)
    return out


WRONG = {
    "sparse": {
        "rows_indices": lambda a: np.where(a == a[3], N, a),
        "rows_indptr": lambda a: a[::-1].copy(),
        "rows_data": lambda a: a[:-1],
        "rows_y": lambda a: a + 1e-9,
        "rows_weights": lambda a: -a,
    },
    "single": {
        "rows_X": lambda a: a.astype(np.float64)[:, :-1],
        "rows_y": lambda a: np.where(a == a[1], np.nan, a),
        "rows_weights": lambda a: 0 * a,
    },
    "cox": {
        "rows_stop": lambda a: a * np.inf,
        "rows_y": lambda a: 0 * a,
        "rows_start": lambda a: np.zeros(N + 1),
        "stratum": lambda a: a + 1,
    },
    "poisson": {"rows_y": lambda a: -a, "rows_offset": lambda a: a[:, None]},
    "multinomial": {"rows_y": lambda a: 0 * a},
    "ordinal": {"rows_y": lambda a: a + 0.5, "thresholds": lambda a: a[:, ::-1].copy()},
    "frequencies": {"rows_counts": lambda a: -a},
    "binomial": {"rows_y": lambda a: 2 - a, "rows_trials": lambda a: a[1:]},
}


@pytest.mark.parametrize(("name", "array"), [(k, a) for k in WRONG for a in WRONG[k]])
def test_rows_of_a_file_are_checked(name, array, tmp_path):
    fitted(name)[0].save(tmp_path / "path.npz", data=True)
    bad = changed(tmp_path / "path.npz", tmp_path / "bad.npz", array, WRONG[name][array])
    with pytest.raises(ValueError, match=r"bad\.npz is damaged"):
        l0path.load(bad)


HEADER = {
    "dtype": lambda rows: rows["X"].update(dtype="<f4"),
    "a dtype of objects": lambda rows: rows["X"].update(dtype="|O8"),
    "class weights": lambda rows: rows.update(class_weight=[1.0, -2.0]),
    "a range": lambda rows: rows.update(index={"range": [0, 10**12, 1]}),
    "many levels": lambda rows: rows.update(index={"names": [None] * 99, "levels": [{}] * 99}),
    "by row": lambda rows: rows["formula"]["by_row"].update(evil={"number": 1.0}),
    "no such column": lambda rows: rows["formula"]["by_row"].update(offset={"column": "evil"}),
    "labels": lambda rows: next(
        column["labels"].pop() for _, column in rows["formula"]["columns"] if "labels" in column
    ),
}


@pytest.mark.parametrize("what", HEADER)
def test_entries_of_the_header_are_checked(what, tmp_path):
    path = l0path.fit("z ~ a + site + e", TABLE, max_k=2)
    path.save(tmp_path / "path.npz", data=True)

    def change(raw):
        header = json.loads(raw.tobytes())
        HEADER[what](header["rows"])
        return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

    bad = changed(tmp_path / "path.npz", tmp_path / "bad.npz", "header", change)
    with pytest.raises(ValueError, match=r"bad\.npz is damaged"):
        l0path.load(bad)


def test_rows_that_pack_well_can_be_read(tmp_path, monkeypatch):
    """Constant columns, and labels that are all the same, stay within what their file allows."""
    monkeypatch.setattr(l0path.core.archive, "FREE", 0)
    n = 200_000
    table = pd.DataFrame({"a": np.arange(n) % 2, "b": 0.0, "t": "same"})
    table["y"] = table["a"] + np.arange(n) % 3
    path = l0path.fit("y ~ a", table, max_k=1)
    file = Path(tmp_path / "path.npz")
    path.save(file, data=True)
    assert l0path.load(file).model(k=1).refit().nobs == n
