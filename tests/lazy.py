"""What is imported at first use, so that collecting the tests stays quick.

`sm = lazy("statsmodels.api")` stands for `import statsmodels.api as sm`, and
`clone = lazy("sklearn.base", "clone")` for `from sklearn.base import clone`.
"""

from importlib import import_module


class Lazy:
    """A module that is imported when an attribute of it is first read."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        if name.startswith("_") or name == "pytestmark":  # pytest asks for these when it collects
            raise AttributeError(name)
        return getattr(import_module(self._module), name)


def lazy(module, name=None):
    """A module, or a function or class of one, that is imported at its first use."""
    if name is None:
        return Lazy(module)
    return lambda *args, **kwargs: getattr(import_module(module), name)(*args, **kwargs)
