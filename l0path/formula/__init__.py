"""Formulas, "y ~ a + C(b) + bs(c, df=4)": from a DataFrame to the columns of X, their groups and
the response, and the same encoding of new rows.

formulaic parses, codes and remembers; nothing else in the package knows it, and it is loaded when a
formula is first used. Path files get text and numbers only.
"""

from .encoding import Encoded, Formula
from .hierarchy import Hierarchy, asked_hierarchy
from .marginality import marginality_notes
from .opening import NAMED, notes, open_formula, opened

__all__ = [
    "NAMED",
    "Encoded",
    "Formula",
    "Hierarchy",
    "asked_hierarchy",
    "marginality_notes",
    "notes",
    "open_formula",
    "opened",
]
