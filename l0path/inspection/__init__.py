"""Looking at one solution of a path: `summary`, `alternatives`, `refit`, `score`, `certify`, which
methods of `Path` and `Model` call; and tests of nested models, `anova`.
"""

from .all_models import best_by, best_subset, near_best
from .certificate import Certificate, certify
from .model_set import ModelSet
from .nested_tests import anova
from .refits import refit
from .scores import score, score_over_time
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
    "score_over_time",
    "summary",
]
