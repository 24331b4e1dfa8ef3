"""Files that were changed after they were written: memory in proportion to their size, and errors
in our words, at `load`.
"""

import io
import json
import linecache
import random
import re
import subprocess
import sys
import traceback
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from recomputed import objective_of

import l0path
from l0path.core import archive

OWN = str(Path(l0path.__file__).parent)


def drawn(loss, n=50, p=4):
    """X, y and the arguments of a fit of a loss."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    eta, noise = X[:, 0] - X[:, 2], rng.standard_normal(n)
    y = {
        "squared": eta + noise,
        "logistic": eta + noise > 0,
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.7]),
        "ordinal": np.digitize(eta + noise, [-1, 1]),
        "multinomial": np.array(list("abc"))[np.digitize(eta + noise, [-1, 1])],
        "tweedie": np.maximum(scipy.stats.gamma.ppf(rng.random(n), 1) - 0.3, 0),
    }[loss]
    return X, y, {"loss": loss}


# -------------------- memory

BIG = 16 << 20


def packed(members):
    """A zip file of {name: bytes}."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return out.getvalue()


def unpacked(raw):
    with zipfile.ZipFile(io.BytesIO(raw)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def array(values):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(values), allow_pickle=False)
    return out.getvalue()


def bombs(path, cv):
    """{name: bytes}: files below 1 MB that claim 16 MB and more."""
    members, outer = unpacked(path), unpacked(cv)
    zeros = np.zeros(BIG // 8)
    inner = unpacked(outer["arrays.npz"])
    text = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
    levels = [{"name": "column1", "labels": [["int", 0, f"V{2 * BIG}"]], "ordered": None}]
    labels = {**text, "rows": {**text["rows"], "index": {"names": ["a"], "levels": levels}}}
    label = {**text, "meta": {**text["meta"], "strata": [["int", 2 * BIG, f"V{2 * BIG}"]]}}
    long_head = b"\x93NUMPY\x02\x00" + (BIG).to_bytes(4, "little") + bytes(BIG)

    def header(content):
        return array(np.frombuffer(content, dtype=np.uint8))

    return {
        "times": packed(members | {"baseline_times.npy": array(zeros)}),
        "blocks": packed(members | {"baseline_block.npy": array(zeros.astype(np.int64))}),
        "forced": packed(members | {"meta_forced.npy": array(zeros.astype(np.int64))}),
        "rows": packed(members | {"likelihood_rows.npy": array(zeros.reshape(2, -1))}),
        "spaces": packed(members | {"header.npy": header(b" " * BIG)}),
        "entries": packed(members | {"header.npy": header(b"[" + b"[]," * (BIG >> 3) + b"[]]")}),
        "depth": packed(members | {"header.npy": header(b"[" * 100_000)}),
        "label": packed(members | {"header.npy": header(json.dumps(label).encode())}),
        "head": packed(members | {"sizes.npy": long_head}),
        "X": packed(members | {"rows_X.npy": array(zeros.reshape(-1, 4))}),
        "X of bytes": packed(members | {"rows_X.npy": array(zeros.view("V32"))}),
        "starts": packed(members | {"rows_start.npy": array(zeros)}),
        "copies": packed(members | {"rows_copies.npy": array(zeros.astype(int).reshape(-1, 2))}),
        "column": packed(members | {"rows_column1.npy": array(zeros)}),
        "offset of rows": packed(members | {"rows_offset.npy": array(zeros)}),
        "labels of rows": packed(members | {"header.npy": header(json.dumps(labels).encode())}),
        "strange": packed(members | {"stranger.npy": array(zeros)}),
        "cv header": packed(outer | {"header.json": outer["header.json"] + b" " * BIG}),
        "cv strange": packed_outer(
            outer, {"arrays.npz": packed(inner | {"stranger.npy": array(zeros)})}
        ),
        "cv folds": packed_outer(
            outer, {"arrays.npz": packed(inner | {"folds.npy": array(zeros)})}
        ),
        "cv rows": packed_outer(
            outer, {"arrays.npz": packed(inner | {"rows.npy": array(zeros.astype(np.int64))})}
        ),
        "cv packed": packed(outer),
        "lying": lying(members),
    }


def packed_outer(members, changes):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as opened:
        for name, content in (members | changes).items():
            opened.writestr(name, content)
    return out.getvalue()


def lying(members):
    """A file whose list of members says 16 bytes of one that unpacks to 16 MB."""
    raw = packed({**members, "sizes.npy": bytes(BIG)})
    return raw.replace(BIG.to_bytes(4, "little"), (16).to_bytes(4, "little"))


SCRIPT = """
import sys, tracemalloc, l0path
l0path.core.archive.FREE = 1 << 22
l0path.load(sys.argv[1])
tracemalloc.start()
for file in sys.argv[2:]:
    tracemalloc.reset_peak()
    try: l0path.load(file); said = 'read'
    except ValueError as error: said = 'refused' if file in str(error) else str(error)
    print(file.rpartition('/')[2], said, tracemalloc.get_traced_memory()[1] < 12e6, sep=',')
"""


def test_memory_is_in_proportion_to_the_file(tmp_path):
    X, y, kw = drawn("cox", n=40, p=4)
    X = pd.DataFrame(X, index=[f"row {i}" for i in range(40)])
    y = pd.DataFrame(y, columns=["time", "event"], index=X.index)
    l0path.fit(X, y, max_k=1, **kw).save(tmp_path / "path", data=True)
    l0path.cv_fit(X, y, max_k=1, cv=2, **kw).save(tmp_path / "cv", data=True)
    made = bombs((tmp_path / "path").read_bytes(), (tmp_path / "cv").read_bytes())
    for name, raw in made.items():
        assert len(raw) < 1e5
        (tmp_path / name).write_bytes(raw)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *(str(tmp_path / name) for name in ("path", *made))],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(OWN).parent,
    )
    said = dict(line.split(",", 1) for line in done.stdout.split("\n")[:-1])
    harmless = ("strange", "cv strange")
    assert said == {f: f"{'read' if f in harmless else 'refused'},True" for f in made}


def test_what_packs_well_is_stored_as_it_is(tmp_path, monkeypatch):
    """Constant columns pack a thousand times: such a file is in proportion, too."""
    arrays, out = {"a": np.zeros(10**6), "header": np.zeros(10, dtype=np.uint8)}, io.BytesIO()
    archive.write_arrays(arrays, 0, out)
    assert len(out.getvalue()) > 8e6
    monkeypatch.setattr(archive, "FREE", 0)
    assert archive.Archive(out).array("a", np.float64, (10**6,)).sum() == 0
    small = io.BytesIO()
    archive.write_arrays({"a": np.arange(10**5) % 1000}, 0, small)
    assert len(small.getvalue()) < 1e5
    archive.Archive(small).array("a", np.int64, (10**5,))


# -------------------- contents


def samples():
    """(name, what can be saved, X, y)."""
    out = []
    for loss in ("squared", "cox", "multinomial", "ordinal", "tweedie", "logistic"):
        X, y, kw = drawn(loss)
        path = l0path.fit(X, y, max_k=2, lambda2=0.01, **kw)
        out += [(loss, path, X, y), (f"{loss} model", path.model(k=1), X, y)]
        if loss in ("squared", "logistic"):
            out.append((f"{loss} cv", l0path.cv_fit(X, y, max_k=1, cv=2, lambda2=0.1, **kw), X, y))
    nested = l0path.nested_cv(X, y, max_k=1, outer=2, cv=2, lambda2=0.1, loss="logistic")
    out.append(("nested", nested, X, y))
    z = X[:, 0] + X[:, 1] * X[:, 2]
    groups = l0path.fit(X, z, groups=["a", "a", "b", "c"], always_include=[0], max_k=2)
    products = l0path.fit(l0path.designs.polynomial(X), z, max_k=2, heredity="strong")
    table = pd.DataFrame(X, columns=list("abcd"))
    table = table.assign(z=z, w=np.abs(z), t=np.digitize(z, [-1, 1]).astype(str))
    formula = l0path.fit("z ~ a + c + t + offset(d)", table, sample_weight="w", max_k=2)
    sparse = l0path.fit(scipy.sparse.csc_array(X * (X > 0)), z, max_k=2, freq_weight=[1, 2] * 25)
    more = [("formula with rows", formula, table, z), ("sparse with rows", sparse, X, z)]
    more += [(f"{name} with rows", *rest) for name, *rest in out if name in WITH_ROWS]
    return [*out, *more, ("groups", groups, X, z), ("products", products, X, z)]


WITH_ROWS = ("cox", "multinomial", "ordinal", "tweedie", "logistic cv", "squared model")


@cache
def saved():
    """(name, bytes of the file, X, y)."""
    import tempfile

    out = []
    with tempfile.TemporaryDirectory() as folder:
        for name, what, X, y in samples():
            file = Path(folder) / "file"
            what.save(file, **({"data": True} if "rows" in name else {}))
            out.append((name, file.read_bytes(), X, y))
    return out


VALUES = (None, -1, 0, 1, 3, 10**15, 10**30, 1e300, float("nan"), float("inf"), 0.5, "", "a", True)
VALUES += ("x0", "cox", "squared", "ordinal", "lambda0", [], {}, ["a"], [["str", "a", ""]], "m=x")
NUMBERS = (0, 1, -1, 2, 100, 1e300, np.nan, np.inf, 0.5, 1e18)


def changed(value, rnd):
    """A value of JSON with one random change somewhere in it."""
    if isinstance(value, dict) and value and rnd.random() < 0.95:
        key = rnd.choice(list(value))
        if rnd.random() < 0.05:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: changed(value[key], rnd)}
    if isinstance(value, list) and value and rnd.random() < 0.85:
        at = rnd.randrange(len(value))
        new = [[], [value[at]] * 2, [changed(value[at], rnd)]][rnd.choice((0, 1, 2, 2, 2, 2))]
        return [*value[:at], *new, *value[at + 1 :]]
    return rnd.choice(VALUES)


def changed_array(values, rnd):
    """An array with other numbers, another length, or another dtype."""
    values = values.copy()
    way = rnd.random()
    if way < 0.7 and values.size:
        with np.errstate(invalid="ignore"):
            values.flat[rnd.randrange(values.size)] = np.array(rnd.choice(NUMBERS)).astype(
                values.dtype
            )
        return values
    if way < 0.8:
        return values[:-1]
    if way < 0.9:
        return values[::-1].copy()
    return values.astype(rnd.choice(["<f8", "<i8", "|b1"]))


def damaged(raw, rnd):
    """A file with one member changed, and checksums that are right."""
    members = unpacked(raw)
    if not members:
        return raw
    name = rnd.choice(list(members))
    if "header.npy" in members and rnd.random() < 0.5:
        name = "header.npy"
    content = members[name]
    with np.errstate(invalid="ignore"):
        if name.endswith(".npz"):
            members[name] = damaged(content, rnd)
        elif name == "header.json":
            members[name] = json.dumps(changed(json.loads(content), rnd)).encode()
        elif name == "header.npy":
            text = json.dumps(changed(json.loads(np.load(io.BytesIO(content)).tobytes()), rnd))
            members[name] = array(np.frombuffer(text.encode(), dtype=np.uint8))
        else:
            members[name] = array(changed_array(np.load(io.BytesIO(content)), rnd))
    return packed_outer(members, {})


def calls(loaded, X, y):
    """Methods of what was loaded, on the rows of the fit."""
    out = [lambda: repr(loaded), lambda: loaded._repr_html_()]
    path = loaded
    if isinstance(loaded, l0path.Model):
        path = loaded.path
        out += [lambda: (loaded.features, loaded.coef, loaded.gap), lambda: loaded.predict(X)]
    elif hasattr(loaded, "folds"):
        path = loaded
        out += [lambda: loaded.scores, lambda: loaded.model(), lambda: loaded.select("1se")]
        out += [lambda: loaded.predict(X), lambda: loaded.coef(), lambda: loaded.held_out()]
    elif hasattr(loaded, "models"):
        path = loaded.models[0].path
        out += [lambda: (loaded.mean, loaded.sd, loaded.se)]
    for i in range(len(path)):
        out += [
            lambda i=i: path.predict(X, index=i),
            lambda i=i: path.coef(index=i, standardized=True, full=True),
            lambda i=i: path.model(index=i).to_python(),
            lambda i=i: path.model(index=i).to_sql(),
            lambda i=i: path.model(index=i).to_sklearn(),
            lambda i=i: path.model(index=i).score(X, y),
            lambda i=i: path.model(index=i).survival(X),
        ]
    out += [lambda: path.details, lambda: path.coef(), lambda: path.score_table()]
    out += [lambda: path.select("bic"), lambda: path.rounds, lambda: path.names]
    if path._source.data is not None:
        out += [
            lambda: path.model(k=1).refit(),
            lambda: path.model(k=1).summary(),
            lambda: path.certify(k=1),
        ]
        out += [lambda: path.model(k=1).alternatives(), lambda: objective_of(path, k=1)]
    return [*out, lambda: path.compare([0, 1]), lambda: path._loss_record(), lambda: path.explore()]


def in_our_words(error):
    """Whether an error was raised by a line of the package."""
    return OWN in traceback.extract_tb(error.__traceback__)[-1].filename


def check_damaged(seed, count, tried, file):
    rnd, read = random.Random(seed), 0
    for _ in range(count):
        name, raw, X, y = rnd.choice(saved())
        file.write_bytes(damaged(raw, rnd))
        try:
            loaded = l0path.load(file)
        except ValueError as error:
            if type(error) is not ValueError or str(file) not in str(error):
                raise AssertionError(f"{name}, seed {seed}") from error
            continue
        read += 1
        for call in rnd.sample(calls(loaded, X, y), tried):
            try:
                call()
            except Exception as error:
                known = isinstance(error, (ValueError, LookupError, TypeError))
                if not (known and in_our_words(error)):
                    raise AssertionError(f"{name}, seed {seed}") from error
    return read


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_files_are_refused_in_our_words(tmp_path):
    assert 10 < check_damaged(0, 50, 5, tmp_path / "file") < 40


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_many_damaged_files(tmp_path):
    for seed in range(1, 9):
        check_damaged(seed, 200, 20, tmp_path / "file")


# -------------------- names, keys and texts of formulas


def renamed(value):
    """(where, a copy of a value of JSON with one key left out or renamed, one entry left out, or
    one text changed): each in turn.
    """
    if isinstance(value, dict):
        for key, inside in value.items():
            rest = {k: v for k, v in value.items() if k != key}
            yield [f"without {key}"], rest
            yield [f"renamed {key}"], rest | {f"{key}x": inside}
            for where, new in renamed(inside):
                yield [key, *where], value | {key: new}
    elif isinstance(value, list):
        for i, inside in enumerate(value):
            for where, new in renamed(inside):
                yield [i, *where], [*value[:i], new, *value[i + 1 :]]
            if i < 3:
                yield [f"without {i}"], value[:i] + value[i + 1 :]
    elif isinstance(value, str):
        yield [f"renamed {value}"], f"{value}x"
        yield [f"a for {value}"], "a"


def every_change(raw, at=()):
    """(where, bytes): `renamed` of each header of a file, those of files inside it too."""
    members = unpacked(raw)
    for name, content in members.items():
        if name == "header.json":
            changes = ((w, json.dumps(new).encode()) for w, new in renamed(json.loads(content)))
        elif name == "header.npy":
            text = json.loads(np.load(io.BytesIO(content)).tobytes())
            changes = (
                (w, array(np.frombuffer(json.dumps(new).encode(), dtype=np.uint8)))
                for w, new in renamed(text)
            )
        else:
            changes = every_change(content, (*at, name)) if name.endswith(".npz") else ()
        for where, new in changes:
            yield [*at, name, *where], packed_outer(members, {name: new})


def table_of_terms():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table = table.assign(g=rng.choice([*"uvw"], 60), s=rng.choice([*"pq"], 60), e=1)
    return table.assign(y=table.a + table.b + rng.normal(size=60), t=rng.exponential(size=60))


FORMULAS = {
    "splines": ("y ~ bs(a, df=4) + g*b + poly(c, 2) + offset(e)", {}, False),
    "more": ("center(y) ~ ns(a, df=3) + C(g):b + scale(c)", {}, True),
    "cox": ("Surv(t, e) ~ a + g*b + strata(s)", {"loss": "cox"}, True),
    "numbers": ("y ~ a + b", {}, False),
    "cv": ("y ~ center(a) + g", {"cv": 2}, False),
    "model": ("y ~ a + g", {}, True),
}


def calls_of_terms(loaded, table):
    """Methods that use the formula of what was loaded."""
    path = getattr(loaded, "path", loaded)
    few = table[["a", "b", "g", "e"]]
    return [
        lambda: path.predict(table, k=2),
        lambda: path.predict(few, k=1),
        lambda: path.model(k=2).score(table),
        lambda: path.model(k=2).refit(X=table).summary(),
        lambda: path.model(k=2).refit(rows="all"),
        lambda: path.model(k=2).summary(),
        lambda: (path.model(k=2).coef, repr(path), path._repr_html_(), path.explore()),
        lambda: path.model(k=2).to_sql(),
        lambda: path.model(k=1).to_python(),
        lambda: path.model(k=1).to_sklearn(),
        lambda: path.model(k=1).alternatives(X=table),
        lambda: path.model("bic").refit(),
    ]


def raised_by_us(error):
    """Whether a line of the package raised an error on purpose, and not a look-up in it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno)
    return OWN in last.filename and line.strip().startswith("raise")


def check_renamed(kind, share, file):
    """Every change of the file of a kind, or a share of them; (refused, read)."""
    text, options, data = FORMULAS[kind]
    table, rnd, refused, read = table_of_terms(), random.Random(kind), 0, 0
    fitted = (l0path.cv_fit if "cv" in options else l0path.fit)(text, table, max_k=2, **options)
    (fitted.model(k=2) if kind == "model" else fitted).save(file, data=data)
    for where, raw in every_change(file.read_bytes()):
        if rnd.random() > share:
            continue
        file.write_bytes(raw)
        try:
            loaded = l0path.load(file)
        except ValueError as error:
            if str(file) not in str(error) or re.search(r"\((Key|Index)Error", str(error)):
                raise AssertionError(f"{kind}: {where}") from error
            refused += 1
            continue
        read += 1
        for call in calls_of_terms(loaded, table):
            try:
                call()
            except Exception as error:
                if not raised_by_us(error):
                    raise AssertionError(f"{kind}: {where}") from error
    return refused, read


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "share", [0.04, pytest.param(1.0, marks=pytest.mark.slow)], ids=["some", "all"]
)
@pytest.mark.parametrize("kind", FORMULAS)
def test_names_that_do_not_fit_are_refused(kind, share, tmp_path):
    refused, read = check_renamed(kind, share, tmp_path / "file")
    assert refused and read


MISFITS = {
    "no levels": (lambda f: state_of(f).pop(1), "no 'levels'"),
    "no transforms": (lambda f: state_of(f).pop(0), "no 'transforms'"),
    "a factor without levels": (lambda f: state_of(f)[1][1]["dict"].pop(1), "levels"),
    "a spline without knots": (
        lambda f: part(f, "transforms", "bs(a, df=4)")["dict"].pop(),
        "learned in the fit is incomplete",
    ),
    "a polynomial without its norms": (
        lambda f: part(f, "transforms", "poly(c, 2)")["dict"].pop(),
        "makes no row",
    ),
    "a transform that learned nothing": (
        lambda f: state_of(f)[0][1]["dict"].remove(
            ["poly(c, 2)", part(f, "transforms", "poly(c, 2)")]
        ),
        r"poly\(c, 2\)",
    ),
    "a level": (
        lambda f: part(f, "levels", "g")[1]["dict"][0][1].pop(),
        "not those of the fit|level",
    ),
    "a name": (lambda f: f["names"].__setitem__(0, "x"), "not those of the fit"),
    "a term": (lambda f: f["terms"][0].__setitem__(0, "x"), "terms .* are none"),
    "columns of a term": (lambda f: f["terms"][0][1].pop(), "hold each of the"),
    "example": (lambda f: f["example"]["dict"].pop(0), "no value of the column"),
}


def state_of(formula):
    return formula["state"]["dict"]


def part(formula, of, name):
    """What the state has of one of the "transforms", or of the "levels" of one factor. The order
    of transforms, which formulaic keeps in sets, is not the same in all processes.
    """
    return dict(dict(state_of(formula))[of]["dict"])[name]


@pytest.mark.parametrize("what", MISFITS)
def test_a_formula_that_does_not_fit_is_named(what, tmp_path):
    file = tmp_path / "file"
    l0path.fit(FORMULAS["splines"][0], table_of_terms(), max_k=1).save(file)
    l0path.load(file)
    members = unpacked(file.read_bytes())
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
    change, said = MISFITS[what]
    change(header["meta"]["formula"])
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    file.write_bytes(packed(members | {"header.npy": array(text)}))
    with pytest.raises(ValueError, match=f"is damaged .*(formula.*({said})|({said}).*formula)"):
        l0path.load(file)


WRONG = {
    "k": lambda h, a: a.__setitem__((1, slice(None)), np.where(a[1] == 1, 1e300, a[1])),
    "loss": lambda h, a: h["meta"].update(loss="cox"),
    "penalty": lambda h, a: h["meta"].update(penalty="L3"),
    "grid": lambda h, a: h["meta"].update(grid="lambda0"),
    "n": lambda h, a: h["meta"].update(n=-3),
    "n of 10**30": lambda h, a: h["meta"].update(n=10**30),
    "a number as name": lambda h, a: h["meta"].update(names=[1, "b", "c", "d"]),
    "notes": lambda h, a: h.update(notes={"a": 1}),
    "flags": lambda h, a: h["text"].__setitem__(1, ["converged", "global", ["m=many"]]),
    "status": lambda h, a: h["text"].__setitem__(1, ["perfect", "global", []]),
    "NaN": lambda h, a: a.__setitem__((1, 2), np.nan),
    "rounds": lambda h, a: h.update(rounds=[{"a": [1]}]),
}


@pytest.mark.parametrize("what", WRONG)
def test_fields_are_checked(what, tmp_path):
    members = unpacked(next(raw for name, raw, *_ in saved() if name == "squared"))
    header = json.loads(np.load(io.BytesIO(members["header.npy"])).tobytes())
    numbers = np.load(io.BytesIO(members["numbers.npy"]))
    WRONG[what](header, numbers)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    file = tmp_path / "file"
    file.write_bytes(packed(members | {"header.npy": array(text), "numbers.npy": array(numbers)}))
    with pytest.raises(ValueError, match=f"{re.escape(str(file))} is damaged"):
        l0path.load(file)


def test_groups_that_need_one_another_are_refused(tmp_path):
    members = unpacked(next(raw for name, raw, *_ in saved() if name == "products"))
    needs = np.load(io.BytesIO(members["groups_needs.npy"]))
    needs[1] = needs[0][::-1]
    file = tmp_path / "file"
    file.write_bytes(packed(members | {"groups_needs.npy": array(needs)}))
    with pytest.raises(ValueError, match="groups need one another"):
        l0path.load(file)


def test_the_loss_of_a_loaded_survival_path_takes_the_data(tmp_path):
    X, y, kw = drawn("cox", n=40, p=4)
    path = l0path.fit(pd.DataFrame(X, columns=list("abcd")), y, max_k=1, **kw)
    path.save(tmp_path / "path")
    back = l0path.load(tmp_path / "path")
    with pytest.raises(ValueError, match="pass X= and y="):
        back._loss_record()
    again = back._loss_record(pd.DataFrame(X, columns=list("abcd")), y)
    np.testing.assert_array_equal(again.stop, path._loss_record().stop)


def test_a_loaded_path_with_strata_in_its_formula_takes_the_data(tmp_path):
    table = table_of_terms()
    path = l0path.fit(FORMULAS["cox"][0], table, loss="cox", max_k=1)
    path.save(tmp_path / "path")
    found = l0path.load(tmp_path / "path").model(k=1).alternatives(X=table)
    assert str(found) == str(path.model(k=1).alternatives())


def test_a_formula_of_version_0_1_has_no_code():
    """Its file does not say which columns a term has."""
    model = l0path.load(Path(__file__).parent / "data" / "path_0_1_formula.npz").model(k=2)
    with pytest.raises(ValueError, match="cannot be written out"):
        model.to_sql()
    model.path.explore()
