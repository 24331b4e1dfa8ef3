"""A design that cannot be read, and small data for every loss: what `fit` refuses before X is read,
and the table of it in docs/losses.md, which `python tests/unread.py` prints.
"""

import numpy as np
import oracles

import l0path
from l0path.problem.losses import COUPLED, EXACT, NAMES, SEVERAL, SURVIVAL
from l0path.solvers import LocalSearch

N, P = 30, 8
RESPONSES = "several responses"  # of the squared loss
COUNTS = "the same, of another loss"  # of rows
AGAINST = "the same, with a baseline"  # as the multinomial loss, which is the row before
TABLES = {RESPONSES: "squared", COUNTS: "poisson"}  # the losses of tables of responses
ASKED = {AGAINST: l0path.losses.Multinomial(baseline=0), **TABLES}
LOSSES = (*NAMES, *EXACT, *COUPLED, *SEVERAL, *ASKED)
GROUPS = [0, 0, 1, 1, 2, 2, 3, 3]
UNEVEN = {"penalty_factor": [1.0, 2.0] * (P // 2)}
# columns of the table, and the arguments of `fit` that each stands for
SERVED = {
    "weights": {"sample_weight": np.linspace(0.5, 1.5, N)},
    "class weights": {"class_weight": "balanced"},
    "offset": {"offset": np.linspace(-0.5, 0.5, N)},
    "forced features": {"always_include": [0], "exclude": [1]},
    "penalty factors": UNEVEN,
    "bounds": {"lower": -1.0, "upper": 2.0},
    "lambda1": {"lambda1": 0.01},
    "groups": {"groups": GROUPS},
    "lambda0 grid": {"lambda0": "grid"},
    "the same, uneven factors": {"lambda0": "grid", **UNEVEN},
    "`swap_size=2`": {"algorithm": LocalSearch(swap_size=2)},
    '`"cd"`': {"algorithm": "cd", "lambda0": "grid"},
    '`"exact"`': {"algorithm": "exact"},
    "lower bounds": {"certify": True},
    "lower bounds of groups": {"certify": True, "groups": GROUPS},
}


class ReadError(Exception):
    """X was read."""


class Unreadable:
    """A design of which only the shape can be had."""

    n, p = N, P

    def _read(self, *_, **__):
        raise ReadError

    correlate = columns = dot = moments = nonfinite = _read


def drawn(loss):
    """X and y of a loss: y (N,); (N, 2) for several responses, and for times and events."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, P)) + 0.4 * rng.normal(size=(N, 1))
    signal = X[:, 1] - 0.7 * X[:, 4]
    if loss in (*NAMES, *EXACT):
        return X, oracles._response("logistic" if loss in EXACT else loss, signal, rng)
    noisy = signal + 0.5 * rng.normal(size=N)
    if loss == RESPONSES:
        return X, np.column_stack([noisy, 0.5 * signal + rng.normal(size=N)])
    if loss == COUNTS:
        return X, rng.poisson(np.exp(np.column_stack([signal, 1.0 - 0.5 * signal])))
    if loss in SURVIVAL:
        return X, np.column_stack([np.exp(-noisy), rng.random(N) < 0.7])
    return X, np.digitize(noisy, [-0.5, 0.5])


def refusal(loss, **given):
    """What `fit` says before it reads X, "" where it goes on to read it."""
    name, y = ASKED.get(loss, loss), drawn(loss)[1]
    algorithm = {"algorithm": "exact"} if loss in EXACT else {}
    try:
        l0path.fit(Unreadable(), y, loss=name, **{"lambda2": 0.05, **algorithm, **given})
    except ReadError:
        return ""
    except ValueError as error:
        return str(error)
    raise AssertionError(f"fit with loss={loss!r} and {given} did not read X")


def table():
    """The lines of the table: a row for each loss."""
    head = ["| |", *(f" {name} |" for name in SERVED)]
    rows = ["".join(head), "|---" * (len(SERVED) + 1) + "|"]
    for loss in LOSSES:
        cells = ["-" if refusal(loss, **given) else "yes" for given in SERVED.values()]
        name = loss if loss in ASKED else f"`{loss}`"
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


if __name__ == "__main__":
    print("\n".join(table()))
