"""Folds that advance together: each in a thread of its own; where one needs Gram rows that nobody
has read it waits, and when all wait, one pass over X reads the rows of all.

A pass over X for a few columns costs as much as for many, because it waits for memory; folds one
after another would each make a pass in every round. As many folds run at a time as there are
threads, each on one; the passes use all of them. A pass starts only when every fold that is not
finished waits, so what it reads depends on the data, not on who was faster.
"""

import threading
from contextlib import contextmanager

import numpy as np

from ..core import threads
from ..core.control import deferred_interrupts
from ..core.warnings import recorded
from ..designs.protocol import traits_of
from ..designs.training_set import bytes_allowed
from ..engine.costs import FoldCounts, counted
from ..problem.losses import Squared

WORTH = 1 << 20  # entries of X from which passes cost more than threads
OWN_COLUMNS = 1 << 30  # bytes that working columns of folds at a time may take, however small X is


class Gather:
    """Barrier of the folds of a group: `running` encloses the life of a fold, and `bring` reads at
    once the columns that all of them ask for.
    """

    def __init__(self, members, slots):
        self.active, self.total = members, slots
        self.slots, self.changed = threading.Semaphore(slots), threading.Condition()
        self.waiting, self.passes, self.wanted = 0, 0, set()

    @contextmanager
    def running(self):
        """Inside, a fold has one of the slots, except while it waits in `bring`."""
        with self.slots:
            try:
                yield
            finally:
                with self.changed:
                    self.active -= 1
                    self.changed.notify_all()

    def bring(self, new, read):
        """Wait until the columns `new` are read, with those that the other folds want:
        read(columns) is called by one of them.
        """
        if not new:
            return
        self.slots.release()
        try:
            with self.changed:
                self.wanted.update(new)
                self.waiting += 1
                self.changed.notify_all()
                mine = self.passes
                self.changed.wait_for(lambda: self.passes != mine or self.waiting >= self.active)
                if self.passes == mine:
                    try:
                        with threads.limited(self.total):
                            read(sorted(self.wanted))
                    finally:
                        self.waiting, self.passes, self.wanted = 0, self.passes + 1, set()
                        self.changed.notify_all()
        finally:
            self.slots.acquire()


def at_once(design, number, jobs, share, members):
    """How many of the folds advance at a time in a process: as many as have their products and
    copies in half of the memory allowed, and their working columns in `OWN_COLUMNS` or the size of
    X, and keep all processes busy. share: of the rows, that a fold leaves out; members: columns
    with Gram rows.
    """
    traits = traits_of(design)
    if not traits.row_subsets or design.n * design.p < WORTH:
        return 1
    rows = 2 * max(members, 50)  # Gram rows a fold keeps, with room to grow
    each = 8 * (rows * design.p + share * design.entries)
    own = 8 * design.n * min(rows, design.p)
    if not np.isfinite(each):
        return 1
    fitting = min(
        0.5 * bytes_allowed(design, jobs) // each,
        max(OWN_COLUMNS / jobs, design.nbytes) // own,
        -(-number // jobs),
    )
    return max(1, int(fitting))


def groups_of(number, all_rows, jobs, share):
    """Numbers 0..number - 1 of the folds in groups that advance together (`at_once`)."""
    size = 1
    if all_rows is not None and all_rows.y is not None:
        size = at_once(all_rows.X.design, number, jobs, share, len(all_rows.store.at))
    parts = np.array_split(np.arange(number), -(-number // size))
    return [part.tolist() for part in parts]


def planned(request, splits, jobs):
    """`FoldCounts` of a request and its folds, before anything is read."""
    design, together = request.data.design, 1
    if isinstance(request.data.loss, Squared) and request.data.responses is None:
        share = max(test.size for _, test in splits) / design.n
        together = at_once(design, len(splits), jobs, share, counted(request).members)
    limited = request.plan.time_limit is not None
    return FoldCounts(len(splits), 1 if limited else together, jobs)


def run_together(calls, number, clock, slots):
    """Results of calls(gather)[i](), i < number, one thread each, and the warnings of each as
    [(category, text)]. Ctrl-C presses the clock, whose next poll ends them; a second one leaves at
    once.
    """
    gather = Gather(number, slots)
    results, told = [None] * number, [[] for _ in range(number)]

    def one(i, call):
        try:
            with recorded() as caught, gather.running(), threads.limited(1):
                results[i] = (call(), None)
            told[i] = [(w.category, str(w.message)) for w in caught]
        except BaseException as error:  # raised again by the caller
            results[i] = (None, error)

    with threads.one_blas_thread(), deferred_interrupts(clock):
        workers = [
            threading.Thread(target=one, args=(i, call), daemon=True, name=f"l0path fold {i}")
            for i, call in enumerate(calls(gather))
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    for _, error in results:
        if error is not None:
            raise error
    return [value for value, _ in results], told
