"""Looking at one solution of a path: `summary`, `alternatives`, `refit`, `score`, `certify`, which
methods of `Path` and `Model` call.
"""

from .certificate import Certificate, certify
from .refits import refit
from .scores import score
from .summaries import Summary, alternatives, summary

__all__ = ["Certificate", "Summary", "alternatives", "certify", "refit", "score", "summary"]
