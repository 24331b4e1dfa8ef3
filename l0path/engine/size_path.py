"""The one loop over the sizes of a slice: improve on the working columns, verify over all columns,
let those that would improve a size enter, repeat.

How sizes are improved and verified is a strategy (`strategies/`), whose steps are declared in
`protocols.Phase`; a strategy may begin with phases of its own.
"""

from ..core import threads
from ..core.control import Stop
from .protocols import Phase, SliceResult
from .rounds import Rounds


def run_phase(phase: Phase, rounds: Rounds) -> None:
    """Start a phase and run its rounds until it is finished."""
    phase.start()
    while phase.unfinished():
        rounds.begin()
        phase.improve()
        todo = phase.unverified()
        rounds.check(len(todo))
        phase.verify(todo)
        rounds.end(*phase.profile())


class SizePath:
    """The engine over the sizes 0..max_k of a slice.

    Parameters
    ----------
    strategy : SizeStrategy
        How sizes are improved and verified, and the best fits found.
    """

    def __init__(self, strategy):
        self.strategy, self.rounds = strategy, Rounds()

    def run(self) -> None:
        """Search until every size is verified, then compare the model of size 1 with all others.
        Fits are brought to full accuracy, also where a clock ended the search.
        """
        strategy = self.strategy
        # products on working columns are small; full-width ones use the design's own threads
        with threads.one_blas_thread():
            try:
                self._search()
            except Stop:
                strategy.refine(strategy.pool.fits)
                raise
            strategy.refine(strategy.pool.fits)
        if strategy.part.compare_single:
            strategy.compare_single()

    def _search(self):
        if self.strategy.begin():
            for phase in self.strategy.phases():
                run_phase(phase, self.rounds)

    @property
    def result(self) -> SliceResult:
        """The models solved so far; valid at any time."""
        return self.strategy.result(self.rounds)

    def next_value(self) -> float | None:
        """The objective of one more column, or group, than the last size; None for none."""
        return self.strategy.next_value()
