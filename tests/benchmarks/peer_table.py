"""l0path against its peers: one table of what the other commands measured, rows that l0path loses
first.

speed.py, responses.py, survival.py, boxes.py and quality.py put their rows into
stored/peers.csv with `--store FOLDER` (a row of the same peer, data and task is replaced).

    python tests/benchmarks/peer_table.py --page

writes the tables of docs/results.md and of README.md from them: the rows that l0path loses (it is
slower, or worse at more than 3 % of the sizes), and below a fold the others. It measures nothing.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import stored
from common import arguments
from results import put

KEYS = ["peer", "data", "task"]
COLUMNS = [*KEYS, "sizes", "not_worse", "better", "seconds", "ratio", "script", "l0path"]
STORE = ("", "folder of peers.csv, into which rows go; empty: they are printed only")


def keep(folder, script, *, peer, data, task="path", known=(), ratios=(), seconds=np.nan, **shares):
    """Put a row into the store of a folder, if there is one.

    `known` has pairs (our loss, the peer's) of sizes that compare, `shares` (sizes, not_worse,
    better) are their count and shares where they are given instead; `ratios` of times, ours to the
    peer's, count by their median; `script` is the path of the command.
    """
    if not folder:
        return
    if len(known):
        ours, theirs = np.array(known).T
        worse, better = ours > theirs * (1 + 1e-9), ours < theirs * (1 - 1e-6)
        shares = {"sizes": len(known), "not_worse": 1 - worse.mean(), "better": better.mean()}
    ratio = np.median(ratios) if len(ratios) else np.nan
    row = {"peer": peer, "data": data, "task": task, "seconds": seconds, "ratio": ratio} | shares
    row |= {"script": Path(script).name, "l0path": stored.version()}
    stored.replace(Path(folder) / "peers.csv", KEYS, pd.DataFrame([row], columns=COLUMNS))


def losses_first(table):
    """The table of the page: the highest ratio of times first, rows without one at the end."""
    table = table.sort_values("ratio", ascending=False, kind="stable", na_position="last")
    out = table[[name for name in KEYS if name in table]].copy()
    for told, name, form in (
        ("time to the peer's", "ratio", "{:.2f}"),
        ("sizes", "sizes", "{:.0f}"),
        ("not worse", "not_worse", "{:.1%}"),
        ("better", "better", "{:.1%}"),
    ):
        out[told] = ["" if np.isnan(v) else form.format(v) for v in table[name]]
    return out


def lost(table):
    """Which rows l0path loses: slower, or worse at more than 3 % of the sizes."""
    return (table["ratio"] > 1) | (table["not_worse"] < 0.97)


def told(table):
    """(How many rows are lost, with which commits all were measured)."""
    timed, scripts = table["ratio"].dropna(), ", ".join(sorted(set(table["script"])))
    return (
        f"l0path is slower in {(timed > 1).sum()} of {timed.size} rows; the median of the ratios "
        f"is {timed.median():.2f}.",
        f"Measured by {scripts}. {stored.commits(table)}",
    )


def main():
    """Print the table; with --page write it."""
    args = arguments(
        __doc__.split("\n\n")[0].replace("\n", " "),
        store=(str(stored.FOLDER), "folder of peers.csv"),
        page=(False, "write the tables of docs/results.md and README.md"),
    )
    table = stored.load(Path(args.store) / "peers.csv")
    lead, origin = told(table)
    print(f"{losses_first(table).to_string(index=False)}\n{lead} {origin}")
    if args.page:
        put("peers", f"{stored.markdown(losses_first(table[lost(table)]))}\n\n{lead}")
        put("peers-other", f"{stored.markdown(losses_first(table[~lost(table)]))}\n\n{origin}")
        short = table[table["script"].isin(["speed.py", "quality.py"])].drop(columns="task")
        put("peers-readme", stored.markdown(losses_first(short)))


if __name__ == "__main__":
    main()
