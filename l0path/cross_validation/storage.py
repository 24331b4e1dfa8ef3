"""Cross-validations and models on disk: a zip of path files (see `l0path.paths.storage`), NumPy
arrays and a JSON header, no pickle. The data are in the path file, where they are asked for.
"""

from __future__ import annotations

import json
import sys
import zipfile
from functools import partial
from io import BytesIO
from os import PathLike
from types import SimpleNamespace

import numpy as np
import pandas as pd

from ..core.archive import OtherFormat, file_name, read_file, write_arrays, write_whole
from ..core.arguments import flag
from ..core.describing import described_by
from ..core.status import End
from ..formula import checked_env
from ..paths import Model, Path
from ..paths.storage import end_of_text, read_path, with_choice, writer
from ..paths.stored_values import check_finite, check_kind, check_texts
from .nested import CHOICE, NestedCV
from .result import CVPath

FORMATS = {
    "cv": "l0path cross-validation",
    "nested": "l0path nested cross-validation",
    "model": "l0path model",
}
COLUMNS = (*CHOICE, "inner_mean", "score", "n_train", "n_test")  # of the table of a nested one
CODES = (-1.0, 0.0, 1.0)  # of classes
MOST_ROWS = range(sys.maxsize)  # of a nested cross-validation: the allowance is the bound
HEADER = "header.json"
WRITTEN = "path.npz"  # the file of the command line in its folder
EDITION = 1  # of these files


@described_by(CVPath.save)
def save_cv(self: CVPath, file: str | PathLike, *, data: bool = False) -> None:
    distinct, places = [], []
    for matched in self._fits or ():
        known = {}
        for s in matched:
            if id(s) not in known:
                known[id(s)] = len(distinct)
                distinct.append(s)
        places.append([known[id(s)] for s in matched])
    spread = np.full((2, len(self._path)), np.nan) if self._spread is None else self._spread
    arrays = {
        "folds": self.folds.to_numpy(dtype=float),
        "repeated": self._repeated.to_numpy(dtype=bool),
        "repeats": np.asarray(self._repeats, dtype=np.int64),
        "places": np.array(places, dtype=np.int64).reshape(len(places), len(self._path)),
        "spread": np.asarray(spread, dtype=float),
        **_packed(self.splits or []),
    }
    header = {
        "format": FORMATS["cv"],
        "columns": [str(c) if isinstance(c, str) else int(c) for c in self.folds.columns],
        "scoring": self._scoring,
        "greater_is_better": bool(self._greater),
        "random_state": self._seed,
        "status": self.status,
        "end": str(self._end),
        "notes": self._notes,
        "split": self.splits is not None,
        "over_rows": self._spread is not None,
        "choice": self._choice,
    }
    fits = {"fits": Path(self._meta, distinct)} if distinct else {}  # none of a validation set
    _write(file, header, arrays, {"path": self._path, **fits}, data)


@described_by(NestedCV.save)
def save_nested(self: NestedCV, file: str | PathLike) -> None:
    arrays = {
        "table": self.table.to_numpy(dtype=float),
        "held_out": np.asarray(self.held_out, dtype=float),
        "repeats": np.asarray(self.repeats, dtype=np.int64),
        "y": np.asarray(self._y, dtype=float),
        "weights": np.asarray(self._weights, dtype=float),
        **_packed(self.splits),
    }
    header = {
        "format": FORMATS["nested"],
        "columns": self.table.columns.tolist(),
        "scoring": self.scoring,
        "greater_is_better": bool(self.greater_is_better),
        "rule": self.rule if isinstance(self.rule, str) else getattr(self.rule, "__name__", "rule"),
        "random_state": self.random_state,
        "status": self.status,
        "models": [model._index for model in self.models],
    }
    paths = {f"model{f}": model.path for f, model in enumerate(self.models)}
    _write(file, header, arrays, paths)


@described_by(Model.save)
def save_model(self: Model, file: str | PathLike, *, data: bool = False) -> None:
    header, path = {"format": FORMATS["model"], "index": self._index}, self.path
    _write(file, header, {}, {"path": getattr(path, "_path", path)}, data)


def load(file: str | PathLike, *, env: dict | None = None) -> Path | CVPath | NestedCV | Model:
    """Read what `Path.save`, `CVPath.save`, `NestedCV.save` or `Model.save` wrote.

    Parameters
    ----------
    file : str or path
        The file to read, or the folder that the command line wrote.
    env : dict, optional
        Functions of your own that the formula calls, by name, as in `l0path.fit`. A file has their
        names only. None is enough for all but predictions of new rows. A formula in a file is read
        and never run: it may hold columns, numbers, arithmetic, the functions that formulas know,
        and these names.

    Returns
    -------
    Path, CVPath, NestedCV or Model
        What was saved. Without `data=True` the data are not in the file: methods that need them
        take X= and y=. After a command line with --cv it is a CVPath, else a Path, and its
        `model()` is the model that was chosen there.

    Raises
    ------
    ValueError
        If the file is damaged, or of another format or version.

    Examples
    --------
    >>> import l0path, os, tempfile
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
    >>> file = os.path.join(tempfile.mkdtemp(), "path.npz"); path.save(file)
    >>> l0path.load(file).coef(k=3).equals(path.coef(k=3))
    True
    """
    env = checked_env(env)
    written = file_name(file, "l0path.load('path.npz')") / WRITTEN
    return read_file(written if written.is_file() else file, lambda stored: _read(stored, env))


def _packed(splits):
    """Rows of all folds in two arrays, training before held-out, with their lengths."""
    parts = [np.asarray(rows, dtype=np.int64) for pair in splits for rows in pair]
    return {
        "rows": np.concatenate(parts) if parts else np.empty(0, dtype=np.int64),
        "lengths": np.array([part.size for part in parts], dtype=np.int64),
    }


def _unpacked(stored, count, n):
    """The rows (training, held-out) of `count` folds of n rows."""
    lengths = stored.array("lengths", np.int64, (2 * count,))
    if (lengths < 0).any():
        raise ValueError("rows of folds do not fit together")
    rows = stored.array("rows", np.int64, (sum(lengths.tolist()),))
    if rows.size and not 0 <= rows.min() <= rows.max() < n:
        raise ValueError(f"rows of folds leave the range 0 to {n - 1}")
    parts = np.split(rows, np.cumsum(lengths)[:-1]) if lengths.size else []
    return list(zip(parts[::2], parts[1::2], strict=True))


def _write(file, header, arrays, paths, data=False):
    """The archive in a file beside the target, which it then replaces as a whole; data: whether the
    path has its rows in it.
    """
    is_model = header["format"] == FORMATS["model"]
    target = file_name(file, "model.save('model.npz')" if is_model else "cv.save('cv.npz')")
    parts = {"arrays": partial(write_arrays, arrays, 0)}
    data = flag(data, "data")
    parts |= {name: writer(path, data and name == "path") for name, path in paths.items()}

    def write(stream):
        with zipfile.ZipFile(stream, "w") as archive:  # its members are packed already
            archive.writestr(HEADER, json.dumps(header | {"edition": EDITION}))
            for name, write_part in parts.items():
                buffer = BytesIO()
                write_part(buffer)
                archive.writestr(f"{name}.npz", buffer.getbuffer())

    write_whole(target, write)


def _read(stored, env):
    if not stored.has(HEADER):
        return read_path(stored, env)
    header = stored.json_member(HEADER)
    if header["format"] not in FORMATS.values() or header["edition"] != EDITION:
        raise OtherFormat(
            f"holds {header['format']!r} of edition {header.get('edition')}; this l0path reads "
            f"edition {EDITION}: fit again, or load it with the version that wrote it"
        )
    if header["format"] == FORMATS["nested"]:
        models = [
            _model(stored, f"model{f}.npz", index, env) for f, index in enumerate(header["models"])
        ]
        return _nested(header, stored.inner("arrays.npz"), models)
    if header["format"] == FORMATS["model"]:
        return _model(stored, "path.npz", header["index"], env)
    path = read_path(stored.inner("path.npz"), env)
    fits = read_path(stored.inner("fits.npz"), env) if header["split"] else ()
    return _cv(header, stored.inner("arrays.npz"), path, fits)


def _model(stored, member, index, env):
    path = read_path(stored.inner(member), env)
    check_kind(index, int, "index")
    if not 0 <= index < len(path):
        raise ValueError(f"there is no model {index}")
    return path.model(index=index)


def _check_scores(header):
    """ValueError for the fields of a header that scores of folds share."""
    for name, kind in {"scoring": str, "greater_is_better": bool, "status": str}.items():
        check_kind(header[name], kind, name)
    check_kind(header["random_state"], None | int, "random_state")


def _repeats(stored, count):
    repeats = stored.array("repeats", np.int64, (count,))
    if repeats.size and not 0 <= repeats.min() <= repeats.max() < count:
        raise ValueError("repeats of folds do not fit together")
    return repeats


def _cv(header, stored, path, fits):
    _check_scores(header)
    for name, kind in {"split": bool, "over_rows": bool, "columns": list}.items():
        check_kind(header[name], kind, name)
    for column in header["columns"]:
        check_kind(column, str | int, "columns")
    check_texts(header["notes"], "notes")
    count = len(header["columns"])
    if not count or len(set(header["columns"])) < count:
        raise ValueError("folds do not fit together")
    shape, splits, matched = (len(path), count), None, None
    if header["split"]:
        splits = _unpacked(stored, count, path.n)
        places = stored.array("places", np.int64, shape[::-1])
        if places.size and not 0 <= places.min() <= places.max() < len(fits):
            raise ValueError("scores, folds and models do not fit together")
        _check_same_kind(path, fits, ("p", "loss", "classes", "responses"))
        matched = [[fits._solutions[i] for i in row] for row in places]
    spread = stored.array("spread", np.float64, (2, len(path)))
    index = pd.RangeIndex(len(path))
    columns = pd.Index(header["columns"], name="fold" if header["split"] else None)
    folds = stored.array("folds", np.float64, shape)
    repeated = stored.array("repeated", bool, shape)
    cv = CVPath(
        path,
        pd.DataFrame(folds, index=index, columns=columns),
        pd.DataFrame(repeated, index=index, columns=columns),
        scoring=header["scoring"],
        greater_is_better=header["greater_is_better"],
        splits=splits,
        repeats=_repeats(stored, count),
        fits=matched,
        random_state=header["random_state"],
        status=header["status"],
        end=End(header.get("end") or end_of_text(header["status"])),
        notes=header["notes"],
        over_rows=tuple(spread) if header["over_rows"] else None,
    )
    return with_choice(cv, header)


def _check_same_kind(path, fits, names):
    """ValueError where models of folds differ from the path in one of the facts `names`."""
    one, other = path._meta, fits._meta
    for name in names:
        if getattr(one, name) != getattr(other, name):
            raise ValueError(f"models of folds have another {name} than the path")


def _nested(header, stored, models):
    _check_scores(header)
    check_kind(header["rule"], str, "rule")
    check_texts(header["columns"], "columns")
    count, columns = len(models), header["columns"]
    if not count or not set(COLUMNS) <= set(columns) or len(set(columns)) < len(columns):
        raise ValueError("scores of folds do not fit together")
    for model in models[1:]:
        _check_same_kind(models[0].path, model.path, ("loss", "classes", "responses"))
    table = pd.DataFrame(
        stored.array("table", np.float64, (count, len(columns))),
        columns=columns,
        index=pd.RangeIndex(count, name="fold"),
    )
    meta = models[0].path._meta
    columns = meta.classes if meta.ordered else meta.responses
    held_out = stored.array(
        "held_out", np.float64, (MOST_ROWS,) if columns is None else (MOST_ROWS, len(columns))
    )
    n = len(held_out)
    y = stored.array("y", np.float64, (n,) if meta.responses is None else (n, len(columns)))
    weights = stored.array("weights", np.float64, (n,))
    check_finite(y, "responses")
    check_finite(weights, "weights")
    if (weights < 0).any() or (meta.traits.response == "classes" and not np.isin(y, CODES).all()):
        raise ValueError("responses or weights of rows are none of this loss")
    whole = {name: np.int64 for name in ("k", "n_features", "n_train", "n_test")}
    return NestedCV(
        table.astype(whole),
        models,
        _unpacked(stored, count, n),
        held_out,
        metric=SimpleNamespace(
            name=header["scoring"], greater_is_better=header["greater_is_better"]
        ),
        rule=header["rule"],
        random_state=header["random_state"],
        status=header["status"],
        repeats=_repeats(stored, count),
        y=y,
        weights=weights,
    )
