"""Looking at one solution of a path: `summary`, `alternatives`, `refit`, `score`; methods of Path and Model, bound in `l0path/__init__`."""
from .refits import refit
from .scores import score
from .summaries import Summary, alternatives, summary

__all__ = ["Summary", "alternatives", "refit", "score", "summary"]
