"""Cross-validation of whole paths: every fold solves its own path, standardized, weighted and
searched on its training rows alone, and every solution is scored on the rows left out.
"""

from .nested import NestedCV, nested_cv
from .result import CVPath
from .run import cv_fit
from .storage import load
from .validation import validate

__all__ = ["CVPath", "NestedCV", "cv_fit", "load", "nested_cv", "validate"]
