"""Data files of the command line: separators, decimal commas, encodings, words for missing values,
and what is noticed about columns.
"""

import codecs
import gzip
import re
import tempfile
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
        {
            "metavar": "WORDS",
            "help": "further words for missing values, separated by commas; with a comma in front "
            "they take the place of NA, NaN, None, null and the like, and '' leaves empty cells "
            "alone as missing",
        },
    ),
)  # options of every command that reads a data file


LEAST_ROWS = 3
THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"
MOST_WORDS = 4  # more different words among numbers are not taken for missing values


def read(file, options, say):
    """A data file as a DataFrame; it is said where names in its header are not unique."""
    if not file.exists():
        raise ValueError(f"there is no file {file}")
    if file.suffix in (".parquet", ".pq"):
        return pd.read_parquet(file)
    sep = "\t" if options.sep in ("tab", "\\t") else options.sep
    if not sep or len(options.decimal) != 1 or sep == options.decimal:
        raise ValueError(
            f"--sep {sep!r} and --decimal {options.decimal!r} must be two different characters"
        )
    how = {
        "sep": sep,
        "decimal": options.decimal,
        "encoding": options.encoding or _marked_encoding(file),
        "skipinitialspace": True,
    }
    try:
        frame = pd.read_csv(file, **how, **missing_words(options))
        if not isinstance(frame.index, pd.RangeIndex):
            frame = _without_row_names(file, frame, how | missing_words(options), say)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not text in {error.encoding}: it holds the byte "
            f"{error.object[error.start]:#x}; name its encoding with --encoding, such as cp1252 or "
            "latin1"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(
            f"{file} has no header and no rows; pass a CSV with a header, or a .parquet file"
        ) from error
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        why = str(error)
        if found:
            why = f"line {found[2]} has {found[3]} cells, those before have {found[1]}"
        raise ValueError(
            f"{file} is not a readable CSV file: {why}; pass a CSV with a header, or a .parquet "
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
    _tell_repeated(file, frame, how, say)
    words = missing_words(options)
    if words.get("keep_default_na", True):
        _tell_missing_words(file, frame, how, words.get("na_values", ()), say)
    return frame


def missing_words(options):
    """The arguments of `read_csv` that say which words stand for missing values."""
    if options.na_values is None:
        return {}
    words = [word.strip() for word in options.na_values.split(",")]
    return {"na_values": words, "keep_default_na": bool(words[0])}


def _without_row_names(file, frame, how, say):
    """The table of a file whose rows have more cells than its header. pandas takes the first of
    them for row names, as R writes them, also where the others are empty, after a separator at the
    end of each row.
    """
    beyond = frame.index.nlevels
    if frame.iloc[:, -beyond:].isna().all(axis=None):
        return pd.read_csv(file, **how, index_col=False)
    say(
        f"rows have {beyond} cell{'s' * (beyond > 1)} more than the header: the first "
        f"{'is' if beyond == 1 else f'{beyond} are'} left out as row names"
    )
    return frame.reset_index(drop=True)


def _tell_missing_words(file, frame, how, given, say):
    """Say which words in columns of text were read as missing values, beside those that were given
    for it: one may be a level.
    """
    text = [
        at
        for at, dtype in enumerate(frame.dtypes)
        if not pd.api.types.is_numeric_dtype(dtype) and frame.iloc[:, at].isna().any()
    ]
    if not text:
        return
    raw = pd.read_csv(file, **how, dtype=str, keep_default_na=False)
    for at in text:
        column = frame.iloc[:, at]
        words = raw.iloc[:, at][column.isna().to_numpy()].str.strip()
        count = words[~words.isin(["", *given])].value_counts()
        if len(count) and column.map(lambda v: isinstance(v, str)).any():
            shown = " and ".join(f"{word!r} ({times} times)" for word, times in count.items())
            say(
                f"note: {column.name} has {shown}, read as missing; --na-values '' reads such "
                "words as text, and --na-values ',NA' all of them but NA"
            )


def _marked_encoding(file):
    """The encoding that the byte order mark of a CSV file names; None without one."""
    if file.is_dir():
        return None
    with gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as stream:
        try:
            start = stream.read(4)
        except OSError:  # not compressed: pandas says so
            return None
    # the mark of UTF-32 begins with that of UTF-16
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    if len(start) == 4 and 0 in start:
        guess = "utf-16-be" if start[0] == 0 else "utf-16-le"
        raise ValueError(f"{file} is not text in utf-8; pass --encoding {guess}")
    return None


def _tell_repeated(file, frame, how, say):
    """Say how columns are called whose names the header has more than once."""
    header = pd.read_csv(file, **how, header=None, nrows=1, dtype=str).iloc[0]
    if len(header) != frame.shape[1]:
        return
    for name, count in header.dropna().value_counts().items():
        if count > 1:
            called = [
                str(new) for new, old in zip(frame.columns, header, strict=True) if old == name
            ]
            say(
                f"note: the header has {name!r} {count} times; the columns are called "
                f"{some(called)}"
            )


def numbers_in(column):
    """(number of values of a text column that are numbers, the others by frequency, whether the
    numbers have decimal commas).
    """
    text = column.dropna().astype(str).str.strip()
    best = None
    for comma in (False, True):
        plain = text.where(~text.str.fullmatch(r"[+-]?\d*,\d+"), text.str.replace(",", "."))
        number = pd.to_numeric(plain if comma else text, errors="coerce").notna()
        if best is None or number.sum() > best[0]:
            best = int(number.sum()), list(text[~number].value_counts().index), comma
    return best


def as_numbers(name, column):
    """What is said of a text column most of whose values are numbers, with the options that read
    it as numbers; None for other columns.
    """
    count, others, comma = numbers_in(column)
    total = int(column.notna().sum())
    text = column.dropna().astype(str).str.strip()
    with_commas = text[text.str.contains(",")]
    if len(with_commas) and with_commas.str.fullmatch(THOUSANDS).all():
        bare = pd.to_numeric(text.str.replace(",", ""), errors="coerce").notna().sum()
        if 2 * bare > total:
            return (
                f"{bare} of {total} values of {name!r} are numbers, some with a comma, such as "
                f"{with_commas.iloc[0]}: take commas between thousands out of the file; decimal "
                "commas are read with --decimal ,"
            )
    if 2 * count <= total:
        return None
    options = ["--decimal ,"] if comma else []
    if 0 < len(others) <= MOST_WORDS:
        options.append(f"--na-values '{','.join(others)}'")
    shown = ", ".join(map(repr, others[:MOST_WORDS])) + ", ..." * (len(others) > MOST_WORDS)
    what = f"{count} of {total} values of {name!r} are numbers"
    what += " with a decimal comma" if comma else ""
    if others:
        what += f", {total - count} {'is' if total - count == 1 else 'are'} not ({shown})"
    if len(others) > MOST_WORDS:
        return f"{what}; mend the file{' and pass --decimal ,' if comma else ''}"
    return f"{what}: {' '.join(options)} reads it as numbers"


def some(names, most=12, longest=40):
    """Names for a message: the first of many, and the beginnings of long ones."""
    names = list(map(str, names))
    shown = [name if len(name) <= longest else f"{name[:longest]}..." for name in names[:most]]
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(shown) + more


def refuse_short(file, frame):
    """Refuse a table of fewer than three complete rows."""
    if len(frame) < LEAST_ROWS:
        rows = f"{len(frame)} row{'' if len(frame) == 1 else 's'}" if len(frame) else "no rows"
        raise ValueError(f"{file} has {rows}; at least {LEAST_ROWS} are needed")


def ready(frame, say):
    """The table without blanks at the ends of its text, and without empty columns that have no
    name, which separators at the ends of rows make; columns that lost some are named.
    """
    empty = [c for c in frame.columns if nameless(c) and frame[c].isna().all()]
    changed, out = [], frame.drop(columns=empty)
    for name in out.columns:
        if pd.api.types.is_object_dtype(frame[name]) or pd.api.types.is_string_dtype(frame[name]):
            bare = frame[name].map(lambda v: v.strip() if isinstance(v, str) else v)
            if not bare.equals(frame[name]):
                out[name] = bare
                changed.append(str(name))
    if changed:
        say(f"blanks at the ends of text are left out: {some(changed)}")
    return out


def nameless(column):
    """Whether the header has no name for a column."""
    return str(column).startswith("Unnamed:") or not str(column).strip()


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
        (left_out if nameless(name) and (steps == 1).all() else suspects).append(name)
    if left_out:
        say(f"row numbers are left out: {some(map(repr, left_out))}")
    if suspects:
        many = len(suspects) > 1
        say(
            f"note: {some(suspects)} {'rise' if many else 'rises'} from row to row like a row "
            f"number or an identifier, and {'stay predictors' if many else 'stays a predictor'}; "
            f"--drop {','.join(map(str, suspects[:12]))}{',...' if len(suspects) > 12 else ''} "
            f"leaves {'them' if many else 'it'} out"
        )
    return left_out


def complete_rows(frame, say):
    """The rows without missing values. It is printed how many rows are dropped, and which columns
    cost them.
    """
    out = frame.dropna().infer_objects()  # false and true with a gap are objects
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
    refuse_unwritable(there, folder)


def check_out_file(file):
    """Refuse an output file that cannot be written, before the work."""
    if file.is_dir():
        raise ValueError(f"--out {file} is a folder; name a file")
    if not file.absolute().parent.is_dir():
        raise ValueError(
            f"--out {file}: there is no folder {file.parent}; make it, or name another"
        )
    refuse_unwritable(file.absolute().parent, file)


def refuse_unwritable(folder, out):
    """Refuse a folder in which nothing can be made. It is tried: rights do not tell of file systems
    that are read-only or of the kernel's own.
    """
    try:
        tempfile.TemporaryDirectory(dir=folder, prefix=".l0path-").cleanup()
    except OSError as error:
        raise ValueError(
            f"--out {out}: {folder} cannot be written to ({error.strerror}); name another place"
        ) from error
