"""`python -m l0path predict PATH FILE`: predictions of a saved path for the rows of a data file."""

import json

import numpy as np
import pandas as pd

from ..cross_validation import load
from ..formula.frames import counted, missing
from ..paths import Path
from .reading import as_numbers, check_out_file, read, ready, some

BESIDE = "model.json"  # beside the path file: the model that was chosen, levels, the offset


def remember(folder, path, index, levels, **columns):
    """Write what a path file does not hold, the columns of the offset and of strata; and for other
    programs which model was chosen and how text was coded.
    """
    facts = {
        "index": int(index),
        "k": int(path._solutions[index].k),
        "levels": {str(name): [str(level) for level in known] for name, known in levels.items()},
        **columns,
    }
    (folder / BESIDE).write_text(json.dumps(facts, indent=1), encoding="utf-8")


def run_predict(options, say=print):
    """Predict, write and say; the table of predictions."""
    check_out_file(options.out)
    path = load(options.path)
    if not isinstance(path, Path):
        raise ValueError(
            f"{options.path} holds a {type(path).__name__}; pass the file of a path, or the folder "
            "that fit wrote"
        )
    folder = options.path if options.path.is_dir() else options.path.parent
    beside = folder / BESIDE
    facts = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    index = _index(path, options)
    if options.na_values is None:
        options.na_values = facts.get("na_values")
    frame = ready(read(options.file, options, say), say)
    times, name, strata = _times(path, options), options.offset or facts.get("offset"), None
    beside = [name] if name else []
    if times and path._meta.strata is not None:
        strata = facts.get("strata")
        beside.append(strata)
    needed = _needed(path, index, beside)
    usable = _usable(frame, needed)
    rows = frame[usable].infer_objects()  # false and true with a gap are objects
    _refuse_text(path, rows[[c for c in needed if c != strata]])
    if not usable.all():
        lacking = counted(missing(frame, needed))
        say(
            f"{(~usable).sum()} of {len(frame)} rows lack a value and get no prediction ({lacking})"
        )
    offset = None if name is None else rows[name].to_numpy(dtype=float)
    out = pd.DataFrame(index=pd.RangeIndex(len(frame), name="row"))
    if usable.any():
        value = np.asarray(path.predict(rows, index=index, offset=offset))
        names = ["prediction"]
        if path._meta.responses is not None or path._meta.ordered:
            what = "prediction" if path.classes is None else "probability"
            names = [f"{what} of {label}" for label in path._meta.response_index]
        out[names] = np.nan
        out.loc[usable, names] = value.reshape(len(value), -1)
        if path.classes is not None:
            labels = path.predict(rows, index=index, offset=offset, type="class")
            out["class"] = pd.Series(np.asarray(labels, dtype=object), index=out.index[usable])
        if times:
            by_row = {
                "offset": offset,
                "strata": None if strata is None else rows[strata],
            }
            curves = path.model(index=index).survival(rows, times=times, **by_row)
            for t in times:
                out[f"survival at {t:g}"] = pd.Series(curves[t].to_numpy(), out.index[usable])
    if path._meta.traits.response == "survival":
        out = out.rename(columns={"prediction": "linear predictor"})
    if path.classes is not None and "prediction" in out and path._meta.traits.link:
        out = out.rename(columns={"prediction": f"probability of {path.classes[1]}"})
    out.to_csv(options.out)
    say(f"k = {path._solutions[index].k}: {usable.sum()} predictions written to {options.out}")
    return out


def _times(path, options):
    """The times of --times."""
    texts = [text.strip() for text in options.times.split(",") if text.strip()]
    if texts and path._meta.traits.response != "survival":
        raise ValueError(f"--times is for survival times; this path has loss {path._meta.loss}")
    try:
        return [float(text) for text in texts]
    except ValueError:
        raise ValueError(f"--times {options.times} must be numbers, separated by commas") from None


def _index(path, options):
    """The model asked for, or the one that `fit` chose."""
    if options.k is not None:
        return path.select(k=options.k)
    if options.rule is not None:
        return path.select(options.rule)
    if path._choice is None:
        raise ValueError(f"{options.path} does not say which model was chosen; pass --k or --rule")
    return path._choice


def _needed(path, index, beside):
    """Columns of the file that the model uses, and those beside it."""
    if path._meta.formula is not None:
        used = path._meta.formula.needed(path._solutions[index].support)
    else:
        coded = {name: column for name, column, _ in path._meta.coded}
        used = [coded.get(name, name) for name in path.model(index=index).features]
    return list(dict.fromkeys([*used, *beside]))


def _refuse_text(path, frame):
    """Refuse text in the columns of numbers that the model uses, and say how to read it as such."""
    if path._meta.formula is not None:  # which says for itself what it cannot read
        return
    text = {column for _, column, _ in path._meta.coded}
    for name, column in frame.items():
        if len(frame) and name not in text and not pd.api.types.is_numeric_dtype(column):
            said = as_numbers(name, column) or "the file has other values there"
            raise ValueError(f"the model needs numbers in the column {name!r}: {said}")


def _usable(frame, needed):
    """(n,) the rows that have a value in all of these columns."""
    absent = [name for name in needed if name not in frame.columns]
    if absent:
        raise ValueError(
            f"the file lacks {len(absent)} of the columns that the model uses: {some(absent)}"
        )
    return ~frame[needed].isna().any(axis=1).to_numpy()
