"""The problem that is minimized: losses and their conjugates, penalties, groups, the data and the
problem.
"""

# losses of the families are known by name from here on; verbs that are registered later would change
# what kernels are stored for
from . import families, softmax  # noqa: F401
