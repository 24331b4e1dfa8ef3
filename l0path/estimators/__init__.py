"""Best-subset models as scikit-learn estimators: `L0Regressor`, `L0Classifier`, `L0Survival`
and their cross-validated forms.

Each fit solves a whole path (`l0path.fit`) and takes one model of it, which is `model_`; `path_` is
the whole. The estimators select features too: `get_support()` and `transform()` keep exactly the
columns of the model. As any path it refers to X and y in memory; pickles of estimators
leave them out. This is the only module that imports scikit-learn when it is imported, so
`l0path/__init__` loads it when one of its names is first used.
"""

from .classifiers import L0Classifier, L0ClassifierCV
from .equations import L0Equations
from .regressors import L0Regressor, L0RegressorCV
from .rules import one_standard_error
from .survival import L0Survival, L0SurvivalCV

__all__ = [
    "L0Classifier",
    "L0ClassifierCV",
    "L0Equations",
    "L0Regressor",
    "L0RegressorCV",
    "L0Survival",
    "L0SurvivalCV",
    "one_standard_error",
]
