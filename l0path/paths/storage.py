"""Paths on disk: one NumPy zip with a JSON header, no pickle. Coefficients, names and labels come
back bit by bit; the data are not stored.
"""

from __future__ import annotations

import dataclasses
import json
from os import PathLike
from pathlib import Path as FilePath

import numpy as np

from ..designs import Derived, Levels, Numbered, Pairs
from ..formula import Formula
from ..groups import Groups
from .path import Path
from .records import Meta, Solution

VERSION = 1
ARRAYS = ("center", "scale", "forced", "factor", "lower", "upper", "excluded")
DERIVED = {
    "pairs": Pairs,
    "levels": Levels,
}  # names of features made from columns, by the first word of their arrays


def _label(x):
    """A class label as JSON with its type."""
    kind = type(x.item() if isinstance(x, np.generic) else x).__name__
    value = x.item() if isinstance(x, np.generic) else x
    if kind not in ("bool", "int", "float", "str"):
        raise TypeError(
            f"class label {x!r} of type {kind} cannot be stored; use strings, numbers or bools as "
            "labels"
        )
    return [kind, value, str(x.dtype) if isinstance(x, np.generic) else ""]


def _unlabel(x):
    kind, value, dtype = x
    plain = {"bool": bool, "int": int, "float": float, "str": str}[kind](value)
    return np.dtype(dtype).type(plain) if dtype else plain


def save(self: Path, file: str | PathLike) -> None:
    """Write the path to `file` (any name; .npz is customary). The data are left out. Reading back:
    `l0path.load(file)`.
    """
    formula = self.meta.formula
    meta = dataclasses.asdict(dataclasses.replace(self.meta, formula=None)) | {
        "formula": None if formula is None else formula.stored()
    }
    arrays = {f"meta_{name}": meta.pop(name) for name in ARRAYS}
    meta["classes"] = None if meta["classes"] is None else [_label(c) for c in meta["classes"]]
    if isinstance(self.meta.names, Numbered):
        meta["names"] = None
    elif isinstance(self.meta.names, Derived):
        names = self.meta.names
        kind = next(kind for kind, made in DERIVED.items() if isinstance(names, made))
        meta["names"] = {"base": names.base, "by_name": names.by_name} | (
            {} if kind == "pairs" else {"kind": kind}
        )
        arrays |= {f"{kind}_{name}": getattr(names, name) for name in names.stored}
    groups = self.meta.groups
    meta["groups"] = None if groups is None else [_label(label) for label in groups.labels]
    if groups is not None:
        arrays |= {
            "groups_columns": groups.columns,
            "groups_start": groups.start,
            "groups_factor": groups.factor,
            "chosen": np.concatenate([s.groups for s in self.solutions] or [np.empty(0)]).astype(
                np.int64
            ),
            "counts": np.array([s.groups.size for s in self.solutions], dtype=np.int64),
        }
    scalars = [f for f in Solution._fields if f not in ("support", "beta", "groups")]
    header = {
        "format": "l0path path",
        "version": VERSION,
        "meta": meta,
        "status": self.status,
        "notes": self.notes,
        "rounds": self.rounds.to_dict("records"),
        "text": [[s.status, s.optimality, list(s.flags)] for s in self.solutions],
    }
    numbers = [f for f in scalars if f not in ("status", "optimality", "flags")]
    arrays["numbers"] = np.array(
        [[float(getattr(s, f)) for f in numbers] for s in self.solutions]
    ).reshape(len(self.solutions), len(numbers))
    arrays["sizes"] = np.array([s.support.size for s in self.solutions], dtype=np.int64)
    arrays["support"] = np.concatenate([s.support for s in self.solutions] or [np.empty(0)]).astype(
        np.int64
    )
    arrays["beta"] = np.concatenate([s.beta for s in self.solutions] or [np.empty(0)]).astype(
        np.float64
    )
    arrays["header"] = np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)
    with open(FilePath(file), "wb") as stream:
        np.savez_compressed(stream, **arrays)


def _plain(x):
    if isinstance(x, np.generic):
        return x.item()
    raise TypeError(f"{type(x).__name__} cannot be stored")


def load(file: str | PathLike) -> Path:
    """Read a path written by `Path.save`. ValueError for a damaged file, another format or version;
    methods that need the data take X=, y=.

    Examples
    --------
    >>> import l0path, os, tempfile
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
    >>> file = os.path.join(tempfile.mkdtemp(), "path.npz"); path.save(file)
    >>> l0path.load(file).coef(k=3).equals(path.coef(k=3))
    True
    """
    file = FilePath(file)
    if not file.exists():
        raise FileNotFoundError(f"no file {file}")
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes().decode())
        kind, version = header["format"], header["version"]
    except (
        Exception
    ) as error:  # zip, zlib, NumPy and JSON each have their own ways to say that bytes are wrong
        raise ValueError(
            f"{file} is not a path file, or it is damaged ({type(error).__name__}: {error}); write "
            "it again with path.save(file)"
        ) from error
    if kind != "l0path path" or version != VERSION:
        raise ValueError(
            f"{file} holds {kind!r} of version {version}; this l0path reads version {VERSION}: fit "
            "again, or load it with the version that wrote it"
        )
    try:
        return _assemble(header, arrays)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{file} is damaged ({type(error).__name__}: {error}); write it again with "
            "path.save(file)"
        ) from error


def _assemble(header, arrays):
    meta = header["meta"]
    meta["classes"] = (
        None if meta["classes"] is None else tuple(_unlabel(c) for c in meta["classes"])
    )
    grouped = meta.get("groups") is not None
    meta["groups"] = (
        Groups(
            [_unlabel(label) for label in meta["groups"]],
            arrays["groups_columns"],
            arrays["groups_start"],
            arrays["groups_factor"],
        )
        if grouped
        else None
    )
    if meta.get("formula") is not None:
        meta["formula"] = Formula.restored(meta["formula"])
    if meta["names"] is None:
        meta["names"] = Numbered(meta["p"])
    elif isinstance(meta["names"], dict):
        kind = meta["names"].pop("kind", "pairs")
        meta["names"] = DERIVED[kind](
            **meta["names"], **{name: arrays[f"{kind}_{name}"] for name in DERIVED[kind].stored}
        )
    meta.pop("n_dropped", None)  # of files written before formulas
    meta = Meta(**meta, **{name: arrays[f"meta_{name}"] for name in ARRAYS})
    numbers = [
        f
        for f in Solution._fields
        if f not in ("support", "beta", "status", "optimality", "flags", "groups")
    ]
    support, sizes = arrays["support"], arrays["sizes"]
    if (
        (sizes < 0).any()
        or not sizes.sum() == support.size == arrays["beta"].size
        or (support.size and not 0 <= support.min() <= support.max() < meta.p == len(meta.names))
    ):
        raise ValueError("sizes, supports and coefficients do not fit together")
    ends = np.cumsum(sizes)[:-1]
    supports, betas = np.split(support, ends), np.split(arrays["beta"], ends)
    chosen = _chosen(arrays, len(meta.groups.labels)) if grouped else [None] * len(supports)
    solutions = []
    for row, support, beta, groups, (status, optimality, flags) in zip(
        arrays["numbers"], supports, betas, chosen, header["text"], strict=True
    ):
        values = dict(zip(numbers, (float(x) for x in row), strict=True))
        values["slice"], values["k"] = int(values["slice"]), int(values["k"])
        solutions.append(
            Solution(
                support=support,
                beta=beta,
                status=status,
                optimality=optimality,
                flags=tuple(flags),
                groups=groups,
                **values,
            )
        )
    return Path(meta, solutions, header["status"], header["notes"], header["rounds"])


def _chosen(arrays, count):
    """The chosen groups of each solution."""
    chosen, counts = arrays["chosen"], arrays["counts"]
    if (
        (counts < 0).any()
        or counts.sum() != chosen.size
        or (chosen.size and not 0 <= chosen.min() <= chosen.max() < count)
    ):
        raise ValueError("chosen groups do not fit together")
    return np.split(chosen, np.cumsum(counts)[:-1])
