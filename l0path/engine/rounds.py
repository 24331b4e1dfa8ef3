"""The rounds of search and verification of an engine, and what each of them cost."""

import time

from .protocols import Phase


class Rounds(list):
    """A row, a dict, for each finished round: `path.rounds`."""

    def run(self, phase: Phase) -> None:
        """Start a phase and run its rounds until it is finished."""
        phase.start()
        while phase.unfinished():
            self.begin()
            phase.improve()
            todo = phase.unverified()
            self.check(len(todo))
            phase.verify(todo)
            self.end(*phase.profile())

    def begin(self) -> None:
        """A round starts with its search."""
        self._started = time.perf_counter()

    def check(self, count: int) -> None:
        """The search has ended, and `count` models are verified now."""
        self._searched, self._checked = time.perf_counter(), count

    def end(self, model, members: int, verified: int, more: dict | None = None) -> None:
        """The round has ended.

        Parameters
        ----------
        model : GramModel or RowModel
            The working columns, which count reads, tables and refits.
        members : int
            Columns, or groups, whose products with all columns are at hand.
        verified : int
            Models that are verified.
        more : dict, optional
            Counts of a solver.
        """
        self.append(
            {
                "reads": model.reads,
                "working": model.width,
                "members": members,
                "tables": model.tables,
                "refits": model.refits,
                "checked": self._checked,
                "verified": verified,
                "search_seconds": self._searched - self._started,
                "verify_seconds": time.perf_counter() - self._searched,
                **(more or {}),
            }
        )
