"""The problem that is minimized: losses and their conjugates, penalties, groups, the data and the
problem.
"""

from . import families  # noqa: F401 (losses of these are known by name from here on)
