"""Results that add up over many runs: sums in a CSV file, a line for each combination of keys.

Means and standard errors follow from the sums and the `count` of what was added, so that a long
study can be done a part at a time. The column `l0path` names the commits a line was computed with.
"""

import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd

import l0path

FOLDER = Path(__file__).parent / "stored"


def version():
    """The last commit that changed the l0path that is imported; with "-dirty" if its files differ
    from it. Commits of pages or of stored results change nothing of what is computed.
    """

    def asked(*words):
        folder = Path(l0path.__file__).parent
        ran = subprocess.run(["git", *words, "--", "."], cwd=folder, capture_output=True, text=True)
        return ran.stdout.strip()

    return asked("log", "-1", "--format=%h") + ("-dirty" if asked("status", "--porcelain") else "")


def load(file):
    """The table of a file; None if there is none yet."""
    # some names of commits are numbers to a reader of numbers, 027486e9
    return pd.read_csv(file, dtype={"l0path": str}) if file.exists() else None


def add(file, keys, rows):
    """Add rows (columns `keys`, all others numbers) to the sums of a file."""
    new = rows.groupby(keys, as_index=False).sum()
    new.insert(len(keys), "count", rows.groupby(keys).size().to_numpy())
    new["l0path"] = version()
    old = load(file)
    both = new if old is None else pd.concat([old, new])
    totals = {name: "sum" for name in both.columns.drop([*keys, "l0path"])}
    versions = lambda texts: " ".join(dict.fromkeys(" ".join(texts).split()))  # noqa: E731
    write(both.groupby(keys, as_index=False).agg(totals | {"l0path": versions}), file)


def counted(file):
    """{number of a cell: its stored repetitions}."""
    results = load(file)
    return {} if results is None else results.groupby("number")["count"].first().to_dict()


def go_on(file, keys, cells, run, args):
    """Add to a file what is missing of cells until they have `args.repetitions`, or `args.minutes`
    are over; run(cell, repetitions) -> rows.
    """
    began = time.monotonic()
    file.parent.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        done = counted(file).get(cell.number, 0)
        if done >= args.repetitions:
            continue
        if time.monotonic() - began >= 60 * args.minutes:
            break
        add(file, keys, run(cell, range(done, args.repetitions)))
        print(f"# {(time.monotonic() - began) / 60:.1f} min: {cell.name}", flush=True)


def replace(file, keys, rows):
    """Put rows into a file in place of those with the same keys."""
    old = load(file)
    both = rows if old is None else pd.concat([old, rows])
    write(both.drop_duplicates(keys, keep="last").sort_values(keys), file)


def write(table, file):
    """Write a table, all of it or nothing."""
    part = file.with_suffix(".part")
    table.to_csv(part, index=False, float_format="%.9g", lineterminator="\n")
    part.replace(file)


def standard_error(count, total, squares):
    """The standard error of a mean from the number of values, their sum and that of squares."""
    variance = np.maximum(squares - total**2 / count, 0.0) / np.maximum(count - 1, 1)
    return np.where(count > 1, np.sqrt(variance / count), np.nan)


def repeated(table, key, unit):
    """How often each `key` was repeated."""
    counts = table.groupby(key)["count"].first().value_counts()
    return ", ".join(f"{number} with {count} {unit}" for count, number in counts.items())


def commits(table):
    """The sentence on the commits that a table was computed with."""
    return f"Commits of l0path: {', '.join(dict.fromkeys(' '.join(table['l0path']).split()))}."


def told(table, key, unit):
    """How often each `key` was repeated, and with which commits."""
    return f"{repeated(table, key, unit)}. {commits(table)}"


def markdown(table):
    """A table for a page: shares without decimals, ratios and scores with three."""
    digits = {"signal to noise": ".2f", "correlation": "g", "nonzeros": ".1f"}

    def text(name, value):
        if isinstance(value, (str, int)):
            return str(value)
        return f"{value:{'.0f' if name.endswith('%') else digits.get(name, '.3f')}}"

    lines = [f"| {' | '.join(map(str, table.columns))} |", "|" + "---|" * table.shape[1]]
    for row in table.to_dict("records"):
        lines.append(f"| {' | '.join(text(*item) for item in row.items())} |")
    return "\n".join(lines)
