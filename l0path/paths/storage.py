"""Paths on disk: one NumPy zip with a JSON header, no pickle. Coefficients, names and labels come
back bit by bit; the data are not stored.
"""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from os import PathLike

import numpy as np

from ..core.archive import Archive, file_name, write_whole
from ..core.describing import described_by
from ..core.status import End
from ..designs import Derived, Levels, Numbered, Pairs
from ..formula import Formula, checked_env
from ..problem.coupled.baseline import Baseline
from ..problem.groups import Groups, Hierarchy
from ..problem.losses import OWN_LOSSES
from ..problem.solution import Solution
from .new_rows import with_baselines
from .path import Path
from .records import Meta

VERSION = 1
TEXTS = ("status", "optimality", "flags")
IN_ARRAYS = (
    "support",
    "beta",
    "groups",
    "baseline",
    "thresholds",
)  # what a solution has in arrays of their own
ARRAYS = ("center", "scale", "forced", "factor", "lower", "upper", "excluded")
DERIVED = {
    "pairs": Pairs,
    "levels": Levels,
}  # names of features made from columns, by the first word of their arrays


def _label(x):
    """The label of a class, a group or a stratum as JSON with its type."""
    kind = type(x.item() if isinstance(x, np.generic) else x).__name__
    value = x.item() if isinstance(x, np.generic) else x
    if kind not in ("bool", "int", "float", "str"):
        raise TypeError(
            f"the label {x!r} of type {kind} cannot be stored; use strings, numbers or bools as "
            "labels"
        )
    return [kind, value, str(x.dtype) if isinstance(x, np.generic) else ""]


def _labels(labels):
    """Labels as JSON with their types; None stays."""
    return None if labels is None else [_label(label) for label in labels]


def _unlabel(x):
    kind, value, dtype = x
    plain = {"bool": bool, "int": int, "float": float, "str": str}[kind](value)
    return np.dtype(dtype).type(plain) if dtype else plain


def _checked_name(path, file):
    """The name of the file; a loss whose code is the user's is refused."""
    loss = path.meta.loss
    if loss in OWN_LOSSES:
        raise ValueError(
            f"loss={loss!r} is your own, and code is never stored on disk; keep path.coef() and "
            "path.table, for example by to_csv"
        )
    return file_name(file, "path.save('path.npz')")


@described_by(Path.save)
def save(self: Path, file: str | PathLike) -> None:
    file = _checked_name(self, file)
    formula = self.meta.formula
    meta = dataclasses.asdict(dataclasses.replace(self.meta, formula=None)) | {
        "formula": None if formula is None else formula.stored()
    }
    arrays = {f"meta_{name}": meta.pop(name) for name in ARRAYS}
    several = self.meta.responses is not None
    if several:
        shape = (len(self.solutions), len(self.meta.responses))
        arrays["meta_response_weights"] = meta["response_weights"]
        arrays["intercepts"] = np.array([s.intercept for s in self.solutions]).reshape(shape)
    meta.pop("response_weights")
    meta["classes"] = _labels(meta["classes"])
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
    meta["groups"] = None if groups is None else _labels(groups.labels)
    if groups is not None and groups.hierarchy is not None:
        arrays["groups_needs"] = np.argwhere(groups.hierarchy.needs).astype(np.int64)
        meta["heredity"] = [groups.hierarchy.rule, len(arrays["groups_needs"])]
    arrays |= _group_arrays(groups, self.solutions)
    meta["strata"] = _labels(self.meta.strata)
    arrays |= _rows(meta) | _baselines(with_baselines(self))
    if self.meta.ordered and self.solutions:
        arrays["thresholds"] = np.array([s.thresholds for s in self.solutions])
    header = {
        "format": "l0path path",
        "version": VERSION,
        "meta": meta,
        "status": self.status,
        "end": str(self.end),
        "notes": self.notes,
        "rounds": self.rounds.to_dict("records"),
        "text": [[s.status, s.optimality, list(s.flags)] for s in self.solutions],
    }
    numbers = [f for f in Solution._fields if f not in (*IN_ARRAYS, *TEXTS)]
    plain = [s._replace(intercept=0.0) for s in self.solutions] if several else self.solutions
    arrays["numbers"] = np.array([[float(getattr(s, f)) for f in numbers] for s in plain]).reshape(
        len(self.solutions), len(numbers)
    )
    arrays["sizes"] = np.array([s.support.size for s in self.solutions], dtype=np.int64)
    arrays["support"] = np.concatenate([s.support for s in self.solutions] or [np.empty(0)]).astype(
        np.int64
    )
    arrays["beta"] = np.concatenate(
        [s.beta.ravel() for s in self.solutions] or [np.empty(0)]
    ).astype(np.float64)
    arrays["header"] = np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)
    write_whole(file, partial(_write, arrays))


def _write(arrays, stream):
    np.savez_compressed(stream, **arrays)


def _plain(x):
    if isinstance(x, np.generic):
        return x.item()
    raise TypeError(f"{type(x).__name__} cannot be stored")


def load(file: str | PathLike, *, env: dict | None = None) -> Path:
    """Read a path written by `Path.save`. ValueError for a damaged file, another format or version;
    methods that need the data take X=, y=. env: functions of the user's own in its formula.

    Examples
    --------
    >>> import l0path, os, tempfile
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
    >>> file = os.path.join(tempfile.mkdtemp(), "path.npz"); path.save(file)
    >>> l0path.load(file).coef(k=3).equals(path.coef(k=3))
    True
    """
    file = file_name(file, "l0path.load('path.npz')")
    if not file.exists():
        raise FileNotFoundError(f"no file {file}")
    if file.is_dir():
        raise ValueError(f"{file} is not a path file but a folder; name a file in it")
    with open(file, "rb") as stream:
        return _read(file, stream, checked_env(env))


def _read(file, stream, env):
    """The path in a file that is open."""
    try:
        stored = Archive(stream)
        header = json.loads(stored.text("header"))
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
        return _assemble(header, stored, env)
    except Exception as error:  # as above: arrays are read here, too
        raise ValueError(
            f"{file} is damaged ({type(error).__name__}: {error}); write it again with "
            "path.save(file)"
        ) from error


def _assemble(header, stored, env):
    """The path of a header, its arrays read one by one, each of the length that the rest says."""
    meta = header["meta"]
    p, m = int(meta["p"]), len(header["text"])
    for name in ("classes", "strata"):
        if meta.get(name) is not None:
            meta[name] = tuple(_unlabel(label) for label in meta[name])
    heredity = meta.pop("heredity", None)
    if meta.get("groups") is not None:
        labels = [_unlabel(label) for label in meta["groups"]]
        meta["groups"] = _groups(labels, p, stored, heredity)
    if meta.get("formula") is not None:
        meta["formula"] = Formula.restored(meta["formula"], env)
    meta["names"] = _names(meta["names"], p, stored)
    meta.pop("n_dropped", None)  # of files written before formulas
    meta["loss_numbers"] = tuple(meta.get("loss_numbers", ()))
    r = _responses(meta, stored)
    meta = _meta(meta, p, stored)
    numbers = [f for f in Solution._fields if f not in (*IN_ARRAYS, *TEXTS)]
    table = stored.array("numbers", np.float64, (m, len(numbers)))
    sizes = stored.array("sizes", np.int64, (m,))
    supports = _split(stored, "support", sizes, p)
    total = sum(part.size for part in supports)
    beta = stored.array("beta", np.float64, (total * (r or 1),))
    betas = np.split(beta.reshape(total, r) if r else beta, np.cumsum(sizes)[:-1])
    intercepts = stored.array("intercepts", np.float64, (m, r)) if r else table[:, 0]
    chosen = [None] * m
    if meta.groups is not None:
        counts = stored.array("counts", np.int64, (m,))
        chosen = _split(stored, "chosen", counts, len(meta.groups.labels))
    solutions = []
    for row, support, beta, groups, (status, optimality, flags), intercept in zip(
        table, supports, betas, chosen, header["text"], intercepts, strict=False
    ):
        values = dict(zip(numbers, (float(x) for x in row), strict=True))
        if r:
            values["intercept"] = intercept
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
    solutions = _with_stored_baselines(solutions, stored)
    if meta.ordered and m:
        thresholds = stored.array("thresholds", np.float64, (m, len(meta.classes) - 1))
        solutions = [s._replace(thresholds=t) for s, t in zip(solutions, thresholds, strict=True)]
    status = header["status"]
    end = End(header.get("end") or end_of_text(status))
    return Path(meta, solutions, status, header["notes"], header["rounds"], end=end)


def _rows(meta):
    """Arrays of numbers of rows, which leave the fields of a `Meta`; none for most losses."""
    stratum, arrays = meta.pop("stratum"), {}
    if stratum is not None:
        arrays["stratum"] = stratum.astype(np.int32)
    if isinstance(meta["log_constant"], np.ndarray):
        arrays["likelihood_rows"] = meta.pop("log_constant")
    return arrays


def _group_arrays(groups, solutions):
    """Arrays of groups, and of the chosen ones; none without."""
    if groups is None:
        return {}
    chosen = np.concatenate([s.groups for s in solutions] or [np.empty(0)])
    return {
        "groups_columns": groups.columns,
        "groups_start": groups.start,
        "groups_factor": groups.factor,
        "chosen": chosen.astype(np.int64),
        "counts": np.array([s.groups.size for s in solutions], dtype=np.int64),
    }


def _baselines(solutions):
    """Arrays of the baseline hazards of solutions, which share times and strata; none without."""
    if not solutions or solutions[0].baseline is None:
        return {}
    baselines = [s.baseline for s in solutions]
    return {
        "baseline_times": baselines[0].times,
        "baseline_block": baselines[0].block,
        "baseline_center": np.array([one.center for one in baselines]),
        "baseline_hazard": np.array([one.hazard for one in baselines]),
    }


def _with_stored_baselines(solutions, stored):
    """The solutions with the baseline hazards of a file, if it has some."""
    if "baseline_times" not in stored:
        return solutions
    times = stored.array("baseline_times", np.float64, (-1,))
    block = stored.array("baseline_block", np.int64, (-1,))
    inside = block.size > 1 and block[0] == 0 and block[-1] == times.size
    if not inside or (np.diff(block) < 0).any():
        raise ValueError("strata of the baseline hazards do not fit together")
    center = stored.array("baseline_center", np.float64, (len(solutions),))
    hazard = stored.array("baseline_hazard", np.float64, (len(solutions), times.size))
    return [
        s._replace(baseline=Baseline(times, block, float(center[i]), hazard[i]))
        for i, s in enumerate(solutions)
    ]


def _meta(meta, p, stored):
    """The `Meta` of a header, with its arrays of an entry for each of p columns."""
    kinds = {"forced": (np.int64, (-1,)), "excluded": (bool, (p,))}
    arrays = {
        name: stored.array(f"meta_{name}", *kinds.get(name, (np.float64, (p,)))) for name in ARRAYS
    }
    if "stratum" in stored:  # not in files written before, and not without strata
        stratum = stored.array("stratum", np.int32, (int(meta["n"]),)).astype(np.int64)
        _inside(stratum, len(meta.get("strata") or ()), "strata")
        arrays["stratum"] = stratum
    if "likelihood_rows" in stored:
        arrays["log_constant"] = stored.array("likelihood_rows", np.float64, (2, -1))
    meta = Meta(**meta, **arrays)
    _inside(meta.forced, p, "forced columns")
    return meta


def _responses(meta, stored):
    """Number of responses in a header, 0 for one; their names and weights go into it."""
    names = meta.get("responses")
    if names is None:
        return 0
    meta["responses"] = tuple(names)
    meta["response_weights"] = stored.array("meta_response_weights", np.float64, (len(names),))
    return len(names)


def end_of_text(status):
    """The `End` of a file written before ends were stored, from the first words of its status."""
    first = (
        (End.SEPARATED, "ended at"),
        (End.INTERRUPTED, "interrupted"),
        (End.TIME_LIMIT, "time_limit"),
        (End.STOPPED, "stopped"),
    )
    return next((end for end, words in first if words == status[: len(words)]), End.COMPLETE)


def _names(names, p, stored):
    """The p names of a header, made of arrays for derived features."""
    if names is None:
        return Numbered(p)
    if not isinstance(names, dict):
        if len(names) != p:
            raise ValueError(f"{len(names)} names of {p} columns")
        return names
    kind, base = names.pop("kind", "pairs"), len(names["base"])
    offsets = stored.array(f"{kind}_offsets", np.int64, (base + 1,))
    count = p - base if kind == "pairs" else p
    if offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 0).any():
        raise ValueError("numbers of features do not fit together")
    if kind == "pairs":
        center = stored.array("pairs_center", np.float64, (base,))
        partner = stored.array("pairs_partner", np.int32, (count,))
        _inside(partner, base, "factors of products")
        arrays = {"center": center, "partner": partner}
    else:
        arrays = {
            name: stored.array(f"{kind}_{name}", np.float64, (count,)) for name in ("low", "high")
        }
    return DERIVED[kind](**names, offsets=offsets, **arrays)


def _groups(labels, p, stored, heredity):
    """The groups of a header; heredity: (rule, number of pairs), or None."""
    start = stored.array("groups_start", np.int64, (len(labels) + 1,))
    if start[0] != 0 or (np.diff(start) < 0).any():
        raise ValueError("groups do not fit together")
    columns = stored.array("groups_columns", np.int64, (int(start[-1]),))
    _inside(columns, p, "columns of groups")
    factor, found = stored.array("groups_factor", np.float64, (len(labels),)), None
    if heredity is not None:
        pairs = stored.array("groups_needs", np.int64, (int(heredity[1]), 2))
        _inside(pairs, len(labels), "parents of groups")
        needs = np.zeros((len(labels), len(labels)), dtype=bool)
        needs[tuple(pairs.T)] = True
        found = Hierarchy(str(heredity[0]), needs)
    return Groups(labels, columns, start, factor, found)


def _split(stored, name, sizes, stop):
    """The parts, of these sizes, of an array of numbers below `stop`."""
    if (sizes < 0).any() or (sizes > stop).any():
        raise ValueError(f"sizes of {name} do not fit together")
    values = stored.array(name, np.int64, (int(sizes.sum()),))
    _inside(values, stop, name)
    return np.split(values, np.cumsum(sizes)[:-1]) if sizes.size else []


def _inside(values, stop, what):
    if values.size and not 0 <= values.min() <= values.max() < stop:
        raise ValueError(f"{what} leave the range 0 to {stop - 1}")
