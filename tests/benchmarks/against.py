"""This checkout against another one, row by row of the speed table: a process for each, timed in
turn (each goes first as often as the other), the median of the ratios and its limits.
"""

import json
import math
import os
import subprocess
import sys
import time
import warnings
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from common import Case, arguments, instance, smaller
from groups import grouped
from scipy.stats import binom
from speed import K, cases

ROOT = Path(__file__).resolve().parents[2]
CPU = (False, "processor time in place of the clock, for a busy machine")  # --cpu
WORDS = ("smoke", "only", "k", "data", "cpu")  # options that the processes need
LEAST = 0.25  # seconds that one timing takes at least: quick calls are made several times in it
SHORT = 1.03  # a row whose lower limit is above this falls short


def counts(seed, n, p, k):
    """(X, y): Gaussian columns, counts whose rate depends on k of them."""
    X, _ = instance(seed, "squared", n, p, k)
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(axis=1)
    y = np.random.default_rng(seed).poisson(np.exp(0.5 + 0.3 * signal / np.sqrt(k)))
    return X, y.astype(float)


def huber(l0path, delta):
    """Arguments of `fit` for a Huber threshold, as this version of the package spells them."""
    if hasattr(l0path, "losses"):
        return {"loss": l0path.losses.Huber(delta)}
    return {"loss": "huber", "delta": delta}


def small(options):
    """The smallest size of the speed table, cut for smoke runs."""
    spec = {"seed": 1, "loss": "squared", "n": 500, "p": 1000, "k": 25, "correlation": "ar1"}
    spec |= {"rho": 0.9}
    return smaller({**spec, "n": 200, "p": 200}) if options.smoke else spec


def rows(options):
    """{name: Case or (make() -> (X, y), call(l0path, X, y))}: the rows of speed.py, then others."""
    few, spec = options.smoke, small(options)
    n, p, top = (200, 300, 4) if few else (500, 1000, 20)

    def make_groups():
        X, y, labels, _ = grouped(8, 200 if few else 500, 40 if few else 200, 5, 8, 0.3)
        make_groups.labels = labels
        return X, y

    others = {
        "groups n=500 200 groups of 5": (
            make_groups,
            lambda l0path, X, y: l0path.fit(X, y, groups=make_groups.labels, max_k=top),
        ),
        "huber n=500 p=1000": (
            lambda: instance(9, "squared", n, p, 10),
            lambda l0path, X, y: l0path.fit(X, y, **huber(l0path, 1.0), max_k=top),
        ),
        "poisson n=500 p=1000": (
            lambda: counts(10, n, p, 10),
            lambda l0path, X, y: l0path.fit(X, y, loss="poisson", max_k=top),
        ),
        "certify=True n=500 p=1000": (
            lambda: instance(**spec),
            lambda l0path, X, y: l0path.fit(X, y, max_k=top, lambda2=0.05, certify=True),
        ),
        "cv_fit squared n=500 p=1000": (
            lambda: instance(**spec),
            lambda l0path, X, y: l0path.cv_fit(X, y, cv=5, max_k=top, random_state=0, n_jobs=1),
        ),
        "cv_fit logistic n=500 p=1000": (
            lambda: instance(**{**spec, "loss": "logistic", "snr": 1.0}),
            lambda l0path, X, y: l0path.cv_fit(
                X, y, loss="logistic", cv=5, max_k=top // 2, lambda2=1e-3, random_state=0, n_jobs=1
            ),
        ),
    }
    wanted = options.only.split("|")
    others = {name: row for name, row in others.items() if any(part in name for part in wanted)}
    return {**cases(options), **others}


def serve():
    """The process of one checkout: lines of JSON in, (make a row | time its call) and seconds out.

    What is printed by others goes to stderr; the answers are lines on the real standard output.
    """
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    options = SimpleNamespace(**json.loads(sys.argv[2]))
    from peers import ours

    import l0path

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)

    answer(str(Path(l0path.__file__).parent))
    table, call = rows(options), None
    clock = time.process_time if options.cpu else time.perf_counter
    for line in sys.stdin:
        order = json.loads(line)
        if "row" in order:
            call, row = None, table[order["row"]]
            if isinstance(row, Case):
                X, y = row.make()
                call = ours(X, y, row.loss, row.K)
            else:
                X, y = row[0]()

                def call(X=X, y=y, fit=row[1]):
                    return fit(l0path, X, y)

        began = clock()
        for _ in range(order.get("times", 1)):
            call()
        answer(clock() - began)


class Checkout:
    """A process that imports l0path from a folder (None: the installed one), other packages from
    `more` first.
    """

    def __init__(self, folder, options, more=None):
        places = os.pathsep.join(str(place) for place in (more, folder) if place is not None)
        environment = {**os.environ, "PYTHONPATH": places, "L0PATH_QUIET": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", json.dumps(vars(options))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.package = self._read()
        if folder is not None and Path(self.package).parent != Path(folder).resolve():
            raise SystemExit(f"{folder} has no l0path of its own: {self.package} was imported")

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {getattr(self, 'package', 'a checkout')} ended")
        return json.loads(line)

    def ask(self, **order):
        """Seconds of what was asked for."""
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def limits(ratios, level=0.9):
    """(lower, median, upper): the median of the ratios and the two-sided limits of that median by
    order statistics: the narrowest symmetric pair that covers it with probability `level` or more,
    whatever the distribution (the ends where the ratios are too few).
    """
    r, n = np.sort(ratios), len(ratios)
    below = int(binom.ppf((1 - level) / 2, n, 0.5))
    while below > 0 and binom.cdf(below, n, 0.5) > (1 - level) / 2:
        below -= 1
    return float(r[below]), float(np.median(r)), float(r[n - 1 - below])


def compare(name, here, there, pairs):
    """Time a row in turn and print its line; whether it falls short.

    Who goes first alternates, and the data is made anew at half the time in the other order: a
    checkout compared with itself was 12 % slower on 10^5 rows, on a busy machine, where it always
    went first.
    """
    seconds, both = [], (here, there)
    for half, order in enumerate((both, both[::-1])):
        for one in order:
            one.ask(row=name)  # makes the data, compiles or loads kernels
        times = max(1, math.ceil(LEAST / max(*(one.ask() for one in order), 1e-6)))
        for pair in range((pairs + half) // 2):
            order = order[::-1] if pair else order
            took = {one: one.ask(times=times) / times for one in order}
            seconds.append([took[here], took[there]])
    seconds = np.array(seconds)
    low, median, high = limits(seconds[:, 0] / seconds[:, 1])
    ours, theirs = np.median(seconds, axis=0)
    short = low > SHORT
    print(
        f"{name:34s} {ours:9.4f} {theirs:9.4f} {median:7.3f} {low:7.3f} {high:7.3f}  "
        f"{'short' if short else ''}",
        flush=True,
    )
    return short


def main():
    """Print the table; the exit status is the number of rows that fall short."""
    options = arguments(
        "whole paths against another checkout",
        against=("", "folder of the other checkout (needed)"),
        pairs=(15, "pairs of timings a row"),
        only=("", "parts of names of rows, separated by |"),
        cpu=CPU,
        k=(K, "largest size of the rows of speed.py"),
        data=("", "folder with news20/, dorothea/, dexter/ for the sparse rows"),
    )
    if not options.against:
        raise SystemExit("--against FOLDER: the checkout to compare with")
    pairs = 2 if options.smoke else options.pairs
    words = Namespace(**{key: getattr(options, key) for key in WORDS})
    here, there = Checkout(ROOT, words), Checkout(options.against, words)
    print(f"# here {here.package}, there {there.package}, {pairs} pairs; ratio = here / there")
    print(f"{'row':34s} {'here s':>9s} {'there s':>9s} {'ratio':>7s} {'low':>7s} {'high':>7s}")
    short = [name for name in rows(words) if compare(name, here, there, pairs)]
    for one in (here, there):
        one.close()
    print(f"# {len(short)} rows fall short (lower limit above {SHORT})")
    raise SystemExit(len(short))


if __name__ == "__main__":
    serve() if sys.argv[1:2] == ["--serve"] else main()
