"""Paths on disk: one NumPy zip with a JSON header, no pickle. Coefficients, names and labels come
back bit by bit; the data are stored where they are asked for (`stored_rows`).
"""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from os import PathLike
from typing import Any, get_type_hints

import numpy as np

from ..core.archive import (
    Archive,
    OtherFormat,
    file_name,
    json_bytes,
    read_file,
    write_arrays,
    write_whole,
)
from ..core.arguments import flag, whole
from ..core.describing import described_by
from ..core.status import End, FitStatus, Optimality
from ..designs import Derived, Levels, Numbered, Pairs
from ..formula import Formula, checked_env
from ..formula.hierarchy import MOST_UNITS
from ..problem.coupled.hazard import Baseline, ParametricHazard
from ..problem.groups import Groups, Hierarchy
from ..problem.losses import MEANINGS, OWN_LOSSES, canonical_name, make_loss, takes_several
from ..problem.problem import checksum
from ..problem.solution import EXCHANGES, Solution
from .criteria import noise_variance
from .new_rows import with_baselines
from .path import Path
from .records import Meta, Source, loss_of
from .stored_rows import rows_read, rows_written
from .stored_values import (
    check_ascending,
    check_finite,
    check_inside,
    check_kind,
    check_texts,
    labels_from,
    labels_of,
)

VERSION = 1
QUICK = 10**9  # n p^2 up to which the variance for Cp is computed where a path is written
MODEL_BYTES = 1000  # of memory that a model takes beside its arrays
# words that fields of a `Meta` may hold
WORDS = {
    "grid": ("support", "lambda0"),
    "penalty": ("L0", "L0L1", "L0L2", "L0L1L2"),
    "ties": (None, "efron", "breslow"),
}
TEXTS = ("status", "optimality", "flags")
IN_ARRAYS = (
    "support",
    "beta",
    "groups",
    "baseline",
    "thresholds",
    "relax",
)  # what a solution has in arrays of their own
ARRAYS = ("center", "scale", "forced", "factor", "lower", "upper", "excluded")
DERIVED = {
    "pairs": Pairs,
    "levels": Levels,
}  # names of features made from columns, by the first word of their arrays


def _states(text):
    """(status, optimality, flags) of a model in a file."""
    status, optimality, flags = text
    check_texts([status, optimality], "states")
    FitStatus(status), Optimality(optimality)
    check_texts(flags, "flags")
    for one in flags:
        if one.startswith(EXCHANGES) and not one[len(EXCHANGES) :].isdecimal():
            raise ValueError(f"the flag {one!r} has no number of exchanges")
    return status, optimality, tuple(flags)


def _index(value, stop, what):
    """A whole number from 0 to stop - 1 that is stored as float."""
    if not (0 <= value < stop and value == int(value)):
        raise ValueError(f"{what} leave the range 0 to {stop - 1}")
    return int(value)


@described_by(Path.save)
def save(self: Path, file: str | PathLike, *, data: bool = False) -> None:
    write_whole(file_name(file, "path.save('path.npz')"), writer(self, data))


def writer(self: Path, data: bool = False) -> partial:
    """A function of a stream that writes the file of a path, with its rows if `data`; ValueError
    for a loss whose code is the user's, and for rows that are not in memory.
    """
    if self._meta.loss in OWN_LOSSES:
        raise ValueError(
            f"loss={self._meta.loss!r} is your own, and code is never stored on disk; keep "
            "path.coef() and path.table, for example by to_csv"
        )
    formula = self._meta.formula
    meta = dataclasses.asdict(dataclasses.replace(self._meta, formula=None)) | {
        "formula": None if formula is None else formula.stored()
    }
    arrays = {f"meta_{name}": meta.pop(name) for name in ARRAYS}
    several = self._meta.responses is not None
    if several:
        shape = (len(self._solutions), len(self._meta.responses))
        arrays["meta_response_weights"] = meta["response_weights"]
        arrays["intercepts"] = np.array([s.intercept for s in self._solutions]).reshape(shape)
    meta.pop("response_weights")
    meta["classes"] = labels_of(meta["classes"])
    if isinstance(self._meta.names, Numbered):
        meta["names"] = None
    elif isinstance(self._meta.names, Derived):
        names = self._meta.names
        kind = next(kind for kind, made in DERIVED.items() if isinstance(names, made))
        meta["names"] = {"base": names.base, "by_name": names.by_name} | (
            {} if kind == "pairs" else {"kind": kind}
        )
        arrays |= {f"{kind}_{name}": getattr(names, name) for name in names.stored}
    groups = self._meta.groups
    if groups is not None:
        meta["groups"] = labels_of(groups.labels)
        arrays |= _group_arrays(groups, self._solutions)
    if self._meta.units.hierarchy is not None:
        arrays["groups_needs"] = np.argwhere(groups.hierarchy.needs).astype(np.int64)
        meta["heredity"] = [groups.hierarchy.rule, len(arrays["groups_needs"])]
    meta["strata"] = labels_of(self._meta.strata)
    arrays |= _rows(meta) | _baselines(with_baselines(self))
    if any(s.relax < 1.0 for s in self._solutions):
        arrays["relax"] = np.array([s.relax for s in self._solutions])
    if self._meta.ordered and self._solutions:
        arrays["thresholds"] = np.array([s.thresholds for s in self._solutions])
    header = {
        "format": "l0path path",
        "version": VERSION,
        "meta": meta,
        "status": self.status,
        "end": str(self._end),
        "notes": self.notes,
        "rounds": self.rounds.to_dict("records"),
        "sigma2": _noise_variance(self),
        "choice": self._choice,
        "text": [[s.status, s.optimality, list(s.flags)] for s in self._solutions],
    }
    numbers = [f for f in Solution._fields if f not in (*IN_ARRAYS, *TEXTS)]
    plain = [s._replace(intercept=0.0) for s in self._solutions] if several else self._solutions
    arrays["numbers"] = np.array([[float(getattr(s, f)) for f in numbers] for s in plain]).reshape(
        len(self._solutions), len(numbers)
    )
    arrays["sizes"] = np.array([s.support.size for s in self._solutions], dtype=np.int64)
    arrays["support"] = np.concatenate(
        [s.support for s in self._solutions] or [np.empty(0)]
    ).astype(np.int64)
    arrays["beta"] = np.concatenate(
        [s.beta.ravel() for s in self._solutions] or [np.empty(0)]
    ).astype(np.float64)
    more = MODEL_BYTES * len(self._solutions)
    if flag(data, "data"):
        header["rows"], rows, labels = rows_written(self)
        arrays, more = arrays | rows, more + labels
    text = json.dumps(header, default=_plain).encode()
    arrays["header"] = np.frombuffer(text, dtype=np.uint8)
    more += json_bytes(text)
    return partial(write_arrays, arrays, more)


def _noise_variance(path):
    """The noise variance for Cp of a path, for which the data are needed; None where there is none,
    or it is not known and takes long.
    """
    meta, source = path._meta, path._source
    known = "sigma2" in source.extra or meta.n * meta.p**2 <= QUICK
    if not (meta.traits.gaussian and known):
        return None
    value = noise_variance(path)
    return float(value) if np.isfinite(value) else None


def _plain(x):
    if isinstance(x, np.generic):
        return x.item()
    raise TypeError(f"{type(x).__name__} cannot be stored")


def load(file: str | PathLike, *, env: dict | None = None) -> Path:
    """Read a path written by `Path.save`. ValueError for a damaged file, another format or version;
    methods that need the data take X=, y= where it was saved without them. env: functions of the
    user's own in its formula.

    Examples
    --------
    >>> import l0path, os, tempfile
    >>> data = l0path.datasets.load_hitters(); path = l0path.fit(data.X, data.y, max_k=3)
    >>> file = os.path.join(tempfile.mkdtemp(), "path.npz"); path.save(file)
    >>> l0path.load(file).coef(k=3).equals(path.coef(k=3))
    True
    """
    env = checked_env(env)
    return read_file(file, lambda stored: read_path(stored, env))


def read_path(stored: Archive, env: dict) -> Path:
    """The path in an archive; env: functions that its formula may call."""
    try:
        header = stored.json("header")
    except ValueError as error:
        raise OtherFormat(f"is not a path file, or it is damaged ({error})") from None
    kind, version = header["format"], header["version"]
    if kind != "l0path path" or version != VERSION:
        raise OtherFormat(
            f"holds {kind!r} of version {version}; this l0path reads version {VERSION}: fit "
            "again, or load it with the version that wrote it"
        )
    return _assemble(header, stored, env)


def _assemble(header, stored, env):
    """The path of a header, its arrays read one by one, each of the length that the rest says."""
    meta, texts = header["meta"], header["text"]
    p, n, m = whole(meta["p"], "p", 0), whole(meta["n"], "n", 1), len(texts)
    stored.allowance.take(MODEL_BYTES * m, "the models")
    for name in ("classes", "strata"):
        if meta.get(name) is not None:
            meta[name] = labels_from(meta[name], name)
    heredity = meta.pop("heredity", None)
    if meta.get("groups") is not None:
        meta["groups"] = _groups(labels_from(meta["groups"], "groups"), p, stored, heredity)
    if meta.get("formula") is not None:
        meta["formula"] = Formula.restored(meta["formula"], env)
    meta["names"] = _names(meta["names"], p, stored)
    if meta.get("formula") is not None and meta["formula"].names != list(meta["names"]):
        raise ValueError("names of the columns are not those that its formula makes")
    meta.pop("n_dropped", None)  # of files written before formulas
    for name in ("loss_numbers", "booleans"):
        meta[name] = tuple(meta.get(name, ()))
    meta["coded"] = tuple(map(tuple, meta.get("coded", ())))
    r = _responses(meta, stored)
    meta = _meta(meta, p, n, stored)
    units = len(meta.unit_labels)
    numbers = [f for f in Solution._fields if f not in (*IN_ARRAYS, *TEXTS)]
    table = stored.array("numbers", np.float64, (m, len(numbers)))
    sizes = stored.array("sizes", np.int64, (m,))
    supports = _split(stored, "support", sizes, p)
    total = sum(part.size for part in supports)
    beta = stored.array("beta", np.float64, (total * (r or 1),))
    betas = np.split(beta.reshape(total, r) if r else beta, np.cumsum(sizes)[:-1])
    intercepts = table[:, numbers.index("intercept")]
    if r:
        intercepts = stored.array("intercepts", np.float64, (m, r))
    check_finite(beta, "coefficients")
    check_finite(intercepts, "intercepts")
    chosen = [None] * m
    if meta.groups is not None:
        counts = stored.array("counts", np.int64, (m,))
        chosen = _split(stored, "chosen", counts, units)
    solutions = []
    for row, support, beta, groups, text, intercept in zip(
        table, supports, betas, chosen, texts, intercepts, strict=bool(m)
    ):
        values = dict(zip(numbers, (float(x) for x in row), strict=True))
        if r:
            values["intercept"] = intercept
        values["slice"] = _index(values["slice"], m, "slices")
        values["k"] = _index(values["k"], units + 1, "sizes")
        if meta.grid == "lambda0" and not 0 <= values["lambda0"] < np.inf:
            raise ValueError(f"lambda0 is {values['lambda0']}")
        if not (0 <= values["lambda1"] < np.inf and 0 <= values["lambda2"] < np.inf):
            raise ValueError(f"lambda1, lambda2 are {values['lambda1']}, {values['lambda2']}")
        status, optimality, flags = _states(text)
        solutions.append(
            Solution(
                support=support,
                beta=beta,
                status=status,
                optimality=optimality,
                flags=flags,
                groups=groups,
                **values,
            )
        )
    solutions = _with_stored_baselines(solutions, meta, stored)
    if "relax" in stored:  # not in files of paths without mixtures
        relax = stored.array("relax", np.float64, (m,))
        if not ((relax >= 0) & (relax <= 1)).all():
            raise ValueError("relax leaves the range 0 to 1")
        solutions = [s._replace(relax=float(g)) for s, g in zip(solutions, relax, strict=True)]
    if meta.ordered and m:
        thresholds = stored.array("thresholds", np.float64, (m, len(meta.classes) - 1))
        check_finite(thresholds, "thresholds")
        if (np.diff(thresholds, axis=1) < 0).any():
            raise ValueError("thresholds do not ascend")
        solutions = [s._replace(thresholds=t) for s, t in zip(solutions, thresholds, strict=True)]
    status, notes, rounds = header["status"], header["notes"], header["rounds"]
    check_kind(status, str, "status")
    check_texts(notes, "notes")
    for one in rounds:
        check_kind(one, dict, "rounds")
        for name, value in one.items():
            check_kind(value, None | float | str | bool, f"rounds: {name}")
    end = End(header.get("end") or end_of_text(status))
    sigma2 = header.get("sigma2")
    check_kind(sigma2, None | float, "sigma2")
    known = {} if sigma2 is None else {"sigma2": float(sigma2)}
    rows = header.get("rows")
    data = None if rows is None else rows_read(rows, meta, stored)
    if data is not None and meta.checksum and checksum(data) != meta.checksum:
        raise ValueError("its rows are not those of the fit (checksum)")
    out = Path(meta, solutions, status, notes, rounds, Source(data, extra=known), end=end)
    return with_choice(out, header)


def with_choice(path: Path, header: dict) -> Path:
    """The path with the choice of the command line that a header names, if any."""
    choice = header.get("choice")
    check_kind(choice, None | int, "choice")
    if choice is not None:
        path._choice = _index(choice, len(path), "choices")
    return path


def _rows(meta):
    """Arrays of numbers of rows, which leave the fields of a `Meta`; none for most losses."""
    stratum, arrays = meta.pop("stratum"), {}
    if stratum is not None:
        arrays["stratum"] = stratum.astype(np.int32)
    if isinstance(meta["log_constant"], np.ndarray):
        arrays["likelihood_rows"] = meta.pop("log_constant")
    return arrays


def _group_arrays(groups, solutions):
    """Arrays of groups, and of the chosen ones."""
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
    if isinstance(baselines[0], ParametricHazard):
        shapes = np.array([one.shape for one in baselines])
        return {"baseline_times": baselines[0].times, "baseline_shape": shapes}
    return {
        "baseline_times": baselines[0].times,
        "baseline_block": baselines[0].block,
        "baseline_log_hazard": np.array([one.log_hazard for one in baselines]),
    }


def _with_stored_baselines(solutions, meta, stored):
    """The solutions with the baseline hazards of a file, if it has some."""
    if "baseline_times" not in stored or meta.traits.response != "survival":
        return solutions
    strata = 1 if meta.strata is None else len(meta.strata)
    times = stored.array("baseline_times", np.float64, (range(meta.n + 1),))
    if not meta.traits.partial:
        shapes = stored.array("baseline_shape", np.float64, (len(solutions),))
        if not ((shapes > 0) & (shapes < np.inf)).all():
            raise ValueError("shapes are not above 0")
        return [
            s._replace(baseline=ParametricHazard(0.0, float(shape), times))
            for s, shape in zip(solutions, shapes, strict=True)
        ]
    block = stored.array("baseline_block", np.int64, (strata + 1,))
    if block[0] != 0 or block[-1] != times.size or (np.diff(block) < 0).any():
        raise ValueError("strata of the baseline hazards do not fit together")
    shape = (len(solutions), times.size)
    if "baseline_log_hazard" in stored:
        logs = stored.array("baseline_log_hazard", np.float64, shape)
    else:  # files of version 0.1: hazards of rows whose predictor is a center
        center = stored.array("baseline_center", np.float64, shape[:1])
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(stored.array("baseline_hazard", np.float64, shape)) - center[:, None]
    return [
        s._replace(baseline=Baseline(times, block, log))
        for s, log in zip(solutions, logs, strict=True)
    ]


def _meta(meta, p, n, stored):
    """The `Meta` of a header, with its arrays of an entry for each of p columns."""
    kinds = {"forced": (np.int64, (range(p + 1),)), "excluded": (bool, (p,))}
    arrays = {
        name: stored.array(f"meta_{name}", *kinds.get(name, (np.float64, (p,)))) for name in ARRAYS
    }
    if "stratum" in stored:  # not in files written before, and not without strata
        stratum = stored.array("stratum", np.int32, (n,)).astype(np.int64)
        check_inside(stratum, len(meta.get("strata") or ()), "strata")
        arrays["stratum"] = stratum
    if "likelihood_rows" in stored:
        most = n * len(meta.get("responses") or (0,))
        rows = stored.array("likelihood_rows", np.float64, (2, range(most + 1)))
        check_finite(rows, "likelihood_rows")
        if (rows[1] < 0).any():
            raise ValueError("weights of rows are below 0")
        arrays["log_constant"] = rows
    meta = Meta(**meta, **arrays)
    _check_meta(meta)
    return meta


def _check_meta(meta):
    """ValueError for a `Meta` whose fields have other types than it declares, or do not fit
    together.
    """
    for name, kind in get_type_hints(Meta).items():
        if kind is not Any and name != "names":
            check_kind(getattr(meta, name), kind, name)
    for name, words in WORDS.items():
        if getattr(meta, name) not in words:
            raise ValueError(f"{name}={getattr(meta, name)!r} is none of {words}")
    if meta.loss in OWN_LOSSES or meta.loss != canonical_name(meta.loss, exact=True):
        raise ValueError(f"loss={meta.loss!r} is not one of the package")
    if not 0 < meta.rows_at_risk < np.inf:
        raise ValueError(f"copies={meta.copies} is no number of rows")
    if not 0 < meta.n_eff < np.inf:
        raise ValueError(f"n_eff={meta.n_eff} is no number of rows")
    check_finite(meta.center, "centers")
    check_finite(meta.scale, "scales")
    if (meta.scale < 0).any() or not (meta.factor >= 0).all():
        raise ValueError("scales or penalty factors are below 0")
    if not ((meta.lower <= 0) & (meta.upper >= 0)).all():
        raise ValueError("bounds do not hold 0")
    check_inside(meta.forced, meta.p, "forced features")
    if (np.diff(meta.forced) <= 0).any():
        raise ValueError("forced features are not ascending")
    for value in meta.loss_numbers:
        check_kind(value, float, "loss_numbers")
    check_texts(list(meta.booleans), "booleans")
    for row in meta.coded:
        check_texts(list(row), "coded")
        if len(row) != 3:
            raise ValueError(f"coded has {len(row)} texts in the place of 3")
    response, classes = meta.traits.response, len(meta.classes or ())
    if meta.traits.by_class:
        fitting = classes == len(meta.responses or ())
    elif meta.responses is not None:
        fitting = meta.classes is None and takes_several(meta.loss)
    elif response in ("classes", "ordered"):
        fitting = classes >= 2 if response == "ordered" else classes == 2
    else:
        fitting = meta.classes is None
    if not fitting:
        raise ValueError(f"{classes} classes do not fit loss={meta.loss!r}")
    survival = response == "survival"
    if meta.traits.partial != (meta.ties is not None) or (meta.strata is not None and not survival):
        raise ValueError(f"ties or strata do not fit loss={meta.loss!r}")
    if meta.stratum is not None and meta.strata is None:
        raise ValueError("strata do not fit together")
    if survival:
        return
    argument = meta.traits.parameter
    if argument in MEANINGS:
        make_loss(meta.loss, **{argument: meta.loss_parameter})  # which refuses other numbers
    loss = loss_of(meta)
    if response == "ordered" and loss.levels != classes:
        raise ValueError(f"{classes} classes do not fit {loss}")


def _responses(meta, stored):
    """Number of responses in a header, 0 for one; their names and weights go into it."""
    names = meta.get("responses")
    if names is None:
        return 0
    check_texts(names, "responses")
    if not names:
        raise ValueError("there is no response")
    meta["responses"] = tuple(names)
    weights = stored.array("meta_response_weights", np.float64, (len(names),))
    if not (weights > 0).all():
        raise ValueError("weights of responses are not positive")
    meta["response_weights"] = weights
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
        check_texts(names, "names")
        if len(names) != p:
            raise ValueError(f"{len(names)} names of {p} columns")
        return names
    kind, base = names.pop("kind", "pairs"), len(names["base"])
    check_texts(names["base"], "names")
    check_kind(names["by_name"], bool, "by_name")
    offsets = stored.array(f"{kind}_offsets", np.int64, (base + 1,))
    count = p - base if kind == "pairs" else p
    if offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 0).any():
        raise ValueError("numbers of features do not fit together")
    if kind == "pairs":
        center = stored.array("pairs_center", np.float64, (base,))
        partner = stored.array("pairs_partner", np.int32, (count,))
        check_inside(partner, base, "factors of products")
        arrays = {"center": center, "partner": partner}
    else:
        arrays = {
            name: stored.array(f"{kind}_{name}", np.float64, (count,)) for name in ("low", "high")
        }
    return DERIVED[kind](**names, offsets=offsets, **arrays)


def _groups(labels, p, stored, heredity):
    """The groups of a header; heredity: (rule, number of pairs), or None."""
    start = stored.array("groups_start", np.int64, (len(labels) + 1,))
    if start[0] != 0 or (np.diff(start) <= 0).any() or (np.diff(start) > p).any():
        raise ValueError("groups do not fit together")
    columns = stored.array("groups_columns", np.int64, (int(start[-1]),))
    check_inside(columns, p, "columns of groups")
    check_ascending(columns, start[1:-1], "columns of a group")
    if np.unique(columns).size != p:
        raise ValueError("some columns are in no group")
    factor, found = stored.array("groups_factor", np.float64, (len(labels),)), None
    if not (factor >= 0).all():
        raise ValueError("penalty factors of groups are below 0")
    if heredity is not None:
        found = _hierarchy(*heredity, len(labels), stored)
    return Groups(list(labels), columns, start, factor, found)


def _hierarchy(rule, count, G, stored):
    """The hierarchy of G groups: its rule, and the number of its pairs."""
    if rule not in ("strong", "weak") or G > MOST_UNITS:
        raise ValueError(f"heredity={rule!r} of {G} groups is not known")
    pairs = stored.array("groups_needs", np.int64, (whole(count, "pairs of groups", 0), 2))
    check_inside(pairs, G, "parents of groups")
    needs = np.zeros((G, G), dtype=bool)
    needs[tuple(pairs.T)] = True
    left = np.ones(G, dtype=bool)
    while left.any():
        ready = left & ~needs[:, left].any(axis=1)
        if not ready.any():
            raise ValueError("groups need one another")
        left &= ~ready
    return Hierarchy(rule, needs)


def _split(stored, name, sizes, stop):
    """The parts, of these sizes, of an array of numbers below `stop`, each ascending."""
    if (sizes < 0).any() or (sizes > stop).any():
        raise ValueError(f"sizes of {name} do not fit together")
    values = stored.array(name, np.int64, (int(sizes.sum()),))
    check_inside(values, stop, name)
    check_ascending(values, np.cumsum(sizes)[:-1], name)
    return np.split(values, np.cumsum(sizes)[:-1]) if sizes.size else []
