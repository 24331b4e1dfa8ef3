"""Files whose texts are code: it is refused by name, or stays text; nothing of it ever runs."""

import builtins
import copy
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from formula_samples import DATA, NEW

import l0path

RUN = "__import__('builtins').__dict__.update(ran_by_a_file=1)"
TEXTS = (
    f"y ~ a + {{{RUN}}}",
    f"y ~ a + I({RUN})",
    f"y ~ . + {{{RUN}(a)}}",
    f"{{{RUN}(y)}} ~ a",
    f"y ~ a + offset({RUN})",
    f"y ~ a + np.exp({RUN})",
    f"y ~ a + bs(a, knots={RUN})",
    f"y ~ a + C(a, {RUN})",
    f"y ~ a + Q({RUN})",
    f"{{{RUN}}} + a ~ x",
    "y ~ a + eval('1')",
    "y ~ a + open('f')",
    "y ~ a + np.load('f')",
    "y ~ a + np.exp(a.__class__)",
    "y ~ a + {[v for v in a]}",
)


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """formulaic's eval is never reached, and the marker of the hostile texts never set."""
    from formulaic.utils import stateful_transforms, variables

    def refuse(*args):
        raise AssertionError("an expression is evaluated as code")

    for module in (stateful_transforms, variables):
        monkeypatch.setattr(module, "eval", refuse, raising=False)
    yield
    assert not hasattr(builtins, "ran_by_a_file")


def members(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(file, content):
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file


def path_header(data):
    """The header of a path file in bytes, and a function that packs another one."""
    stream = io.BytesIO(data)
    header = json.loads(np.load(stream)["header"].tobytes())

    def packed(changed):
        out = io.BytesIO()
        np.save(out, np.frombuffer(json.dumps(changed).encode(), dtype=np.uint8))
        held = members(io.BytesIO(data))
        whole = io.BytesIO()
        return written(whole, {**held, "header.npy": out.getvalue()}).getvalue()

    return header, packed


def places(node, at=()):
    """Where a JSON value has texts: keys and values."""
    if isinstance(node, dict):
        for key, inside in node.items():
            yield from places(inside, (*at, key))
    elif isinstance(node, list):
        for i, inside in enumerate(node):
            yield from places(inside, (*at, i))
    elif isinstance(node, str):
        yield at


def changed(node, at, text):
    out = copy.deepcopy(node)
    inside = out
    for step in at[:-1]:
        inside = inside[step]
    inside[at[-1]] = text
    return out


def use(file, rows, every=True):
    """All that reads texts of a file (every=False: what computes the formula). Errors are right;
    what counts is that nothing runs.
    """
    try:
        result = l0path.load(file)
    except ValueError as error:
        return str(error)
    path = getattr(result, "path", result)
    if hasattr(result, "models"):
        path = result.models[0].path
    calls = (
        lambda: path.predict(rows),
        lambda: path.model(index=1).score(rows),
        lambda: (repr(result), result._repr_html_()),
        lambda: path.details,
        lambda: path.coef(),
        lambda: path.model(index=1).to_python(),
        lambda: path.model(index=1).to_sql(),
    )
    for call in calls if every else calls[:2]:
        try:
            call()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, LookupError):
            continue
    return ""


KINDS = ("path", "classes", "survival", "responses", "cv", "model", "nested")


def fitted():
    """(kind, result, its rows) for `KINDS`."""
    text = "np.exp(y / 9) ~ a*c + C(b) + bs(x, df=4) + scale(`my col`) + offset(0.1 * w)"
    yield "path", l0path.fit(text, DATA, max_k=3), DATA
    sick = DATA.assign(sick=np.where(DATA.y > 0, "yes", "no"))
    path = l0path.fit("sick ~ a + C(c) + x", sick, loss="logistic", lambda2=0.01, max_k=2)
    yield "classes", path, sick
    times = DATA.assign(time=np.exp(DATA.y / 9), event=DATA.flag)
    path = l0path.fit("Surv(time, event) ~ a + x", times, loss="cox", strata="c", max_k=2)
    yield "survival", path, times
    yield "responses", l0path.fit("y + {a * x} ~ w + x", DATA, max_k=2), DATA
    cv = l0path.cv_fit("y ~ a + c + np.exp(x)", DATA, cv=2, max_k=1, random_state=1)
    yield "cv", cv, DATA
    yield "model", cv.model(k=1), DATA
    nested = l0path.nested_cv("y ~ a + np.exp(x)", DATA, outer=2, cv=2, max_k=1, random_state=1)
    yield "nested", nested, DATA


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What gives the bytes of a saved path, and its rows, by the kind of file."""
    folder, made = tmp_path_factory.mktemp("files"), fitted()
    out = {}

    def saved(kind):
        while kind not in out:
            name, result, rows = next(made)
            result.save(folder / f"{name}.npz")
            out[name] = ((folder / f"{name}.npz").read_bytes(), rows)
        return out[kind]

    return saved


def attacked(data):
    """(place, header of one member, function that packs the whole file) of all members."""
    held = members(io.BytesIO(data))
    if "header.npy" in held:
        header, packed = path_header(data)
        yield header, packed
        return

    def outer(changed):
        return written(
            io.BytesIO(), {**held, "header.json": json.dumps(changed).encode()}
        ).getvalue()

    yield json.loads(held["header.json"]), outer
    for name in held:
        if name.endswith(".npz") and name != "arrays.npz":
            header, packed = path_header(held[name])
            yield (
                header,
                lambda changed, name=name, packed=packed: written(
                    io.BytesIO(), {**held, name: packed(changed)}
                ).getvalue(),
            )


def attack(files, kinds, texts, tmp_path, only=None):
    count = 0
    for kind in kinds:
        data, rows = files(kind)
        for header, packed in attacked(data):
            for at in places(header):
                if only is not None and not only(at):
                    continue
                for text in texts:
                    file = tmp_path / "hostile.npz"
                    file.write_bytes(packed(changed(header, at, text)))
                    use(file, rows, every=only is None)
                    count += 1
    return count


def test_texts_of_a_formula_never_run(files, tmp_path):
    """Names, levels, states, terms, the formula: each of them is code in turn."""
    only = lambda at: "formula" in at  # noqa: E731
    assert attack(files, ["path"], [RUN], tmp_path, only) > 40


@pytest.mark.slow
def test_no_text_of_any_file_runs(files, tmp_path):
    assert attack(files, KINDS, [RUN], tmp_path) > 500


@pytest.mark.parametrize("text", TEXTS)
def test_formulas_in_files_are_refused_by_name(files, text, tmp_path):
    """The text of the file lists itself, or pieces of it, among the columns, too."""
    header, packed = path_header(files("path")[0])
    found = header["meta"]["formula"]
    for columns in (found["columns"], [*found["columns"], RUN, text, "eval('1')", "open('f')"]):
        other = {**found, "text": text, "columns": columns}
        file = tmp_path / "hostile.npz"
        file.write_bytes(packed({**header, "meta": {**header["meta"], "formula": other}}))
        with pytest.raises(ValueError, match=r"formula .*(no part of|unknown|column named)"):
            l0path.load(file)


def test_names_of_functions_in_files_are_those_of_env_only(tmp_path):
    """A file that names eval as the user's own function gets what env says, and no other."""
    l0path.fit("y ~ a + f(x)", DATA, env={"f": np.tanh}, max_k=1).save(tmp_path / "path.npz")
    header, packed = path_header((tmp_path / "path.npz").read_bytes())
    text = json.dumps(header).replace("f(x)", "eval(x)").replace('"env": ["f"]', '"env": ["eval"]')
    file = tmp_path / "hostile.npz"
    file.write_bytes(packed(json.loads(text)))
    path = l0path.load(file)
    with pytest.raises(ValueError, match="'eval' of your own"):
        path.predict(NEW, k=1)


def test_hostile_formulas_of_users_are_refused_as_well():
    for text in TEXTS:
        with pytest.raises(ValueError, match=r"no part of a formula|is an unknown function"):
            l0path.fit(text, DATA)
    data = pd.concat([DATA, pd.DataFrame({RUN: DATA.a})], axis=1)
    with pytest.raises(ValueError, match="no part of a formula"):
        l0path.fit(f"y ~ {{{RUN}}}", data)
    path = l0path.fit("y ~ .", data[["y", "a", RUN]])
    assert RUN in path.names and path.predict(data, k=1).notna().all()
