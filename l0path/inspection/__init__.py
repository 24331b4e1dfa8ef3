"""Looking at one solution of a path: `summary`, `alternatives`, `refit`, `score`, `certify`;
methods of Path and Model, bound in `l0path/__init__`.
"""

from .certificate import Certificate, certify
from .refits import refit
from .scores import score
from .summaries import Summary, alternatives, summary

__all__ = ["Certificate", "Summary", "alternatives", "certify", "refit", "score", "summary"]
