"""Looking at one solution of a path: `summary`, `alternatives`, `refit`, `score`; methods of Path and Model, bound in `l0path/__init__`."""
from .refit import refit
from .score import score
from .summary import Summary, alternatives, summary

__all__ = ["Summary", "alternatives", "refit", "score", "summary"]
