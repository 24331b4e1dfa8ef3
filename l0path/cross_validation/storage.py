"""Cross-validations and models on disk: a zip of path files (see `l0path.paths.storage`), NumPy
arrays and a JSON header, no pickle. The data are left out, as from a path file.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from os import PathLike
from pathlib import Path as FilePath
from types import SimpleNamespace

import numpy as np
import pandas as pd

from ..core.archive import file_name, write_whole
from ..core.describing import described_by
from ..core.status import End
from ..paths import Model, Path
from ..paths import load as load_path
from ..paths.storage import end_of_text
from .nested import NestedCV
from .result import CVPath

FORMATS = {
    "cv": "l0path cross-validation",
    "nested": "l0path nested cross-validation",
    "model": "l0path model",
}
EDITION = 1  # of these files


@described_by(CVPath.save)
def save_cv(self: CVPath, file: str | PathLike) -> None:
    distinct, places = [], []
    for matched in self._fits or ():
        known = {}
        for s in matched:
            if id(s) not in known:
                known[id(s)] = len(distinct)
                distinct.append(s)
        places.append([known[id(s)] for s in matched])
    spread = np.full((2, len(self.path)), np.nan) if self._spread is None else self._spread
    arrays = {
        "folds": self.folds.to_numpy(dtype=float),
        "repeated": self.repeated.to_numpy(dtype=bool),
        "repeats": np.asarray(self.repeats, dtype=np.int64),
        "places": np.array(places, dtype=np.int64).reshape(len(places), len(self.path)),
        "spread": np.asarray(spread, dtype=float),
        **_packed(self.splits or []),
    }
    header = {
        "format": FORMATS["cv"],
        "columns": [str(c) if isinstance(c, str) else int(c) for c in self.folds.columns],
        "scoring": self.scoring,
        "greater_is_better": bool(self.greater_is_better),
        "random_state": self.random_state,
        "status": self.status,
        "end": str(self.end),
        "notes": self._notes,
        "split": self.splits is not None,
        "over_rows": self._spread is not None,
    }
    fits = {"fits": Path(self.path.meta, distinct)} if distinct else {}  # none of a validation set
    _write(file, header, arrays, {"path": self.path, **fits})


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
        "which": self.which
        if isinstance(self.which, str)
        else getattr(self.which, "__name__", "rule"),
        "random_state": self.random_state,
        "status": self.status,
        "models": [model.index for model in self.models],
    }
    paths = {f"model{f}": model.path for f, model in enumerate(self.models)}
    _write(file, header, arrays, paths)


@described_by(Model.save)
def save_model(self: Model, file: str | PathLike) -> None:
    _write(file, {"format": FORMATS["model"], "index": self.index}, {}, {"path": self.path})


def load(file: str | PathLike, *, env: dict | None = None) -> Path | CVPath | NestedCV | Model:
    """Read what `Path.save`, `CVPath.save`, `NestedCV.save` or `Model.save` wrote.

    Parameters
    ----------
    file : str or path
        The file to read.
    env : dict, optional
        Functions of your own that the formula calls, by name, as in `l0path.fit`. A file has their
        names only. None is enough for all but predictions of new rows. A formula in a file is read
        and never run: it may hold columns, numbers, arithmetic, the functions that formulas know,
        and these names.

    Returns
    -------
    Path, CVPath, NestedCV or Model
        What was saved. The data are not in the file: methods that need them take X= and y=.

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
    name = file_name(file, "l0path.load('path.npz')")
    try:
        opened = zipfile.ZipFile(name) if name.is_file() else None
    except Exception:  # zipfile has several ways to say that bytes are wrong
        opened = None
    if opened is None:  # a file that is not there, or damaged: the reason is told by
        return load_path(file, env=env)
    with opened as archive:
        if "header.json" not in archive.namelist():
            return load_path(file, env=env)
        try:
            return _read(archive, env)
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            OSError,
            EOFError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(
                f"{file} is damaged, or of another version ({type(error).__name__}: {error}); "
                "write it again with save"
            ) from error


def _packed(splits):
    """Rows of all folds in two arrays, training before held-out, with their lengths."""
    parts = [np.asarray(rows, dtype=np.int64) for pair in splits for rows in pair]
    return {
        "rows": np.concatenate(parts) if parts else np.empty(0, dtype=np.int64),
        "lengths": np.array([part.size for part in parts], dtype=np.int64),
    }


def _unpacked(arrays):
    lengths = arrays["lengths"]
    if (lengths < 0).any() or lengths.sum() != arrays["rows"].size or lengths.size % 2:
        raise ValueError("rows of folds do not fit together")
    parts = np.split(arrays["rows"], np.cumsum(lengths)[:-1]) if lengths.size else []
    return list(zip(parts[::2], parts[1::2], strict=True))


def _write(file, header, arrays, paths):
    """The archive in a file beside the target, which it then replaces as a whole."""
    is_model = header["format"] == FORMATS["model"]
    target = file_name(file, "model.save('model.npz')" if is_model else "cv.save('cv.npz')")
    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(FilePath(folder) / "arrays.npz", **arrays)
        for name, path in paths.items():
            path.save(FilePath(folder) / f"{name}.npz")

        def write(stream):
            with zipfile.ZipFile(stream, "w") as archive:
                archive.writestr("header.json", json.dumps(header | {"edition": EDITION}))
                for name in ["arrays", *paths]:
                    archive.write(FilePath(folder) / f"{name}.npz", f"{name}.npz")

        write_whole(target, write)


def _read(archive, env):
    header = json.loads(archive.read("header.json"))
    if header["format"] not in FORMATS.values() or header["edition"] != EDITION:
        raise ValueError(f"it holds {header['format']!r} of edition {header.get('edition')}")
    with tempfile.TemporaryDirectory() as folder:

        def part(name):
            return archive.extract(f"{name}.npz", folder)

        def path(name):
            return load_path(part(name), env=env)

        with np.load(part("arrays"), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if header["format"] == FORMATS["nested"]:
            models = [path(f"model{f}").model(index=i) for f, i in enumerate(header["models"])]
            return _nested(header, arrays, models)
        if header["format"] == FORMATS["model"]:
            return path("path").model(index=header["index"])
        fits = path("fits") if header["split"] else ()
        return _cv(header, arrays, path("path"), fits)


def _cv(header, arrays, path, fits):
    folds, places = arrays["folds"], arrays["places"]
    shape = (len(path), len(header["columns"]))
    splits = _unpacked(arrays) if header["split"] else None
    fitting = folds.shape == arrays["repeated"].shape == shape and (
        splits is None or (len(splits) == shape[1] and places.shape == shape[::-1])
    )
    if not fitting or (places.size and not 0 <= places.min() <= places.max() < len(fits)):
        raise ValueError("scores, folds and models do not fit together")
    index = path.table.index
    columns = pd.Index(header["columns"], name="fold" if header["split"] else None)
    return CVPath(
        path,
        pd.DataFrame(folds, index=index, columns=columns),
        pd.DataFrame(arrays["repeated"], index=index, columns=columns),
        scoring=header["scoring"],
        greater_is_better=header["greater_is_better"],
        splits=splits,
        repeats=arrays["repeats"],
        fits=[[fits.solutions[i] for i in row] for row in places] if splits else None,
        random_state=header["random_state"],
        status=header["status"],
        end=End(header.get("end") or end_of_text(header["status"])),
        notes=header["notes"],
        over_rows=tuple(arrays["spread"]) if header["over_rows"] else None,
    )


def _nested(header, arrays, models):
    splits = _unpacked(arrays)
    sizes = {len(models), len(splits), len(arrays["table"]), arrays["repeats"].size}
    rows = {len(arrays[name]) for name in ("held_out", "y", "weights")}
    if len(sizes) != 1 or len(rows) != 1:
        raise ValueError("scores, folds and models do not fit together")
    table = pd.DataFrame(
        arrays["table"],
        columns=header["columns"],
        index=pd.RangeIndex(len(models), name="fold"),
    )
    whole = {name: np.int64 for name in ("k", "n_nonzero", "n_train", "n_test")}
    return NestedCV(
        table.astype(whole),
        models,
        splits,
        arrays["held_out"],
        metric=SimpleNamespace(
            name=header["scoring"], greater_is_better=header["greater_is_better"]
        ),
        which=header["which"],
        random_state=header["random_state"],
        status=header["status"],
        repeats=arrays["repeats"],
        y=arrays["y"],
        weights=arrays["weights"],
    )
