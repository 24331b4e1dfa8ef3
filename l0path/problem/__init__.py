"""The problem that is minimized: losses and their conjugates, penalties, groups, the data and the
problem.
"""

# From here on the losses of the families are known by name, and all verbs are registered: what is
# stored of a kernel is found again only where the same verbs are.
from . import families, response_sum, softmax  # noqa: F401
