"""The problem of a seed: columns and groups, from FIRST_OF_HIERARCHIES on hierarchies of terms."""

from .hierarchies import hierarchical
from .instances import columns_or_groups

FIRST_OF_HIERARCHIES = 20_000


def instance(seed):
    """The problem of a seed, the same on every machine with the same NumPy."""
    return hierarchical(seed) if seed >= FIRST_OF_HIERARCHIES else columns_or_groups(seed)
