"""The `memory_limit` of designs that are read by blocks."""

import re

import numpy as np

UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
LEAST = 10**7  # bytes: the smallest budget, 10 MB


def bytes_of(limit):
    """Bytes from a number or a text with a unit."""
    match = (
        re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", limit.lower())
        if isinstance(limit, str)
        else None
    )
    if isinstance(limit, (int, float, np.integer, np.floating)) and not isinstance(limit, bool):
        size = float(limit)
    elif match and match[2] in UNITS and match[1].count(".") < 2 and match[1] != ".":
        size = float(match[1]) * UNITS[match[2]]
    else:
        raise ValueError(
            f"memory_limit={limit!r} must be a number of bytes, or a text such as '500MB' or '2GiB'"
        )
    if not LEAST <= size < np.inf:
        raise ValueError(f"memory_limit={limit!r} must be at least 10 MB")
    return int(size)
