"""Formulas, "y ~ a + C(b) + bs(c, df=4)": from a DataFrame to the columns of X, their groups and
the response, and the same encoding of new rows.

formulaic splits formulas into terms, codes and remembers; nothing else in the package knows it, and
it is loaded when a formula is first used. Expressions in terms are read and computed by `tree`.
Path files get text and numbers only.
"""

from .encoding import Encoded, Formula, checked_env
from .expressions import column_of
from .hierarchy import Hierarchy, asked_hierarchy, marginality_notes
from .opening import notes, open_formula, opened
from .tree import Unreadable, read

__all__ = [
    "Encoded",
    "Formula",
    "Hierarchy",
    "Unreadable",
    "asked_hierarchy",
    "checked_env",
    "column_of",
    "marginality_notes",
    "notes",
    "open_formula",
    "opened",
    "read",
]
