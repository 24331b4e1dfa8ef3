"""The problem of a seed: columns and groups, from FIRST_OF_HIERARCHIES on hierarchies of terms, and
from FIRST_OF_COUPLED on several responses, classes and survival times; or of a kind by name, of
which every number is a seed.
"""

from functools import partial

from .coupled import coupled, rows
from .hierarchies import hierarchical
from .instances import columns_or_groups

FIRST_OF_HIERARCHIES = 20_000
FIRST_OF_COUPLED = 30_000
MAKERS = {
    "columns": columns_or_groups,
    "hierarchies": hierarchical,
    "coupled": coupled,
    "weibull": partial(coupled, loss="weibull"),
    "rows": rows,
    "baseline": partial(coupled, loss="baseline"),
}


def instance(seed, kind=""):
    """The problem of a seed, the same on every machine with the same NumPy."""
    if kind:
        return MAKERS[kind](seed)
    if seed >= FIRST_OF_COUPLED:
        return coupled(seed)
    return hierarchical(seed) if seed >= FIRST_OF_HIERARCHIES else columns_or_groups(seed)
