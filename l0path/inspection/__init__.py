"""Looking at one model of a path: `summary`, `alternatives`, `refit`, `score`, `certify`, which
methods of `Model` and `Path` call; and tests of nested models, `anova`.
"""

from .all_models import best_by, best_subset, near_best
from .certificate import Certificate, certify
from .model_set import ModelSet
from .nested_tests import anova
from .refits import refit
from .scores import score
from .summaries import Summary, alternatives, summary

__all__ = [
    "Certificate",
    "ModelSet",
    "Summary",
    "alternatives",
    "anova",
    "best_by",
    "best_subset",
    "certify",
    "near_best",
    "refit",
    "score",
    "summary",
]
