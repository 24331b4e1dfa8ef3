"""The problem of a seed: columns and groups, from FIRST_OF_HIERARCHIES on hierarchies of terms, and
from FIRST_OF_COUPLED on several responses, classes and survival times.
"""

from .coupled import coupled
from .hierarchies import hierarchical
from .instances import columns_or_groups

FIRST_OF_HIERARCHIES = 20_000
FIRST_OF_COUPLED = 30_000


def instance(seed):
    """The problem of a seed, the same on every machine with the same NumPy."""
    if seed >= FIRST_OF_COUPLED:
        return coupled(seed)
    return hierarchical(seed) if seed >= FIRST_OF_HIERARCHIES else columns_or_groups(seed)
