"""Data files of the command line: separators, decimal commas, encodings, words for missing values,
and what is noticed about columns.
"""

import os
from pathlib import Path as FilePath

import numpy as np
import pandas as pd

from ..formula.frames import counted, missing

COMMON = (
    ("--sep", {"default": ",", "help": "separator of a CSV file (default ','; 'tab' for tabs)"}),
    ("--decimal", {"default": ".", "help": "decimal point of a CSV file (default '.')"}),
    ("--encoding", {"help": "encoding of a CSV file (default utf-8; cp1252 is common in Europe)"}),
    (
        "--na-values",
        {"default": "", "help": "further words for missing values, separated by commas"},
    ),
)  # options of every command that reads a data file


def read(file, options):
    """A data file as a DataFrame."""
    if not file.exists():
        raise ValueError(f"there is no file {file}")
    if file.suffix in (".parquet", ".pq"):
        return pd.read_parquet(file)
    sep = "\t" if options.sep in ("tab", "\\t") else options.sep
    words = [word.strip() for word in options.na_values.split(",") if word.strip()]
    if not sep or len(options.decimal) != 1 or sep == options.decimal:
        raise ValueError(
            f"--sep {sep!r} and --decimal {options.decimal!r} must be two different characters"
        )
    try:
        frame = pd.read_csv(
            file,
            sep=sep,
            decimal=options.decimal,
            encoding=options.encoding,
            na_values=words or None,
            skipinitialspace=True,
        )
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not text in {options.encoding or 'utf-8'} ({error}); name its encoding "
            "with --encoding, such as cp1252 or latin1"
        ) from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(
            f"{file} is not a readable CSV file ({error}); pass a CSV with a header, or a .parquet "
            "file"
        ) from error
    if frame.shape[1] == 1:
        header = str(frame.columns[0])
        other = next((mark for mark in (";", "\t", "|", ",") if mark in header), None)
        if other:
            shown = "tab" if other == "\t" else f"'{other}'"
            raise ValueError(
                f"{file} has one column, and its header holds {shown}: pass --sep {shown}"
                + (" and, for decimal commas, --decimal ','" if other == ";" else "")
            )
    return frame


def ready(frame, say):
    """The table without blanks at the ends of its text; columns that lost some are named."""
    changed, out = [], frame.copy(deep=False)
    for name in frame.columns:
        if pd.api.types.is_object_dtype(frame[name]) or pd.api.types.is_string_dtype(frame[name]):
            bare = frame[name].map(lambda v: v.strip() if isinstance(v, str) else v)
            if not bare.equals(frame[name]):
                out[name] = bare
                changed.append(str(name))
    if changed:
        say(f"blanks at the ends of text are left out: {', '.join(changed[:6])}")
    return out


def row_numbers(frame, say, kept=()):
    """Names of unnamed columns of row numbers, which are left out; columns with a name that look
    like row numbers or identifiers are reported and kept. kept: columns with a role of their own.
    """
    left_out, suspects = [], []
    for name in frame.columns:
        column = frame[name]
        if name in kept or not pd.api.types.is_integer_dtype(column) or len(column) < 3:
            continue
        steps = np.diff(column.to_numpy(dtype=np.int64))
        if (steps <= 0).any():
            continue
        nameless = str(name).startswith("Unnamed:") or not str(name).strip()
        (left_out if nameless and (steps == 1).all() else suspects).append(name)
    if left_out:
        say(f"row numbers are left out: {', '.join(map(repr, left_out))}")
    if suspects:
        listed = ", ".join(map(str, suspects))
        say(
            f"note: {listed} rises from row to row like a row number or an identifier, and stays a "
            f"predictor; --drop {','.join(map(str, suspects))} leaves it out"
        )
    return left_out


def complete_rows(frame, say):
    """The rows without missing values. It is printed how many rows are dropped, and which columns
    cost them.
    """
    out = frame.dropna()
    if len(out) == len(frame):
        return out
    lacking = counted(missing(frame, list(frame.columns)))
    if not len(out):
        raise ValueError(
            f"every row has a missing value ({lacking} of {len(frame)}); leave out the columns "
            "that are mostly empty with --drop"
        )
    say(
        f"{len(frame) - len(out)} of {len(frame)} rows have missing values and are left out "
        f"({lacking})"
    )
    return out


def check_out(folder):
    """Refuse an output folder that cannot be made or written to, before the work; nothing is made
    yet.
    """
    there = FilePath(folder).absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        what = "is a file" if there == FilePath(folder).absolute() else f"cannot be made: {there}"
        raise ValueError(
            f"--out {folder} {what}{'' if what == 'is a file' else ' is a file'}; name a folder"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"--out {folder}: {there} cannot be written to; name another folder")
