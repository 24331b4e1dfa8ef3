"""The parts of the command line (`python -m l0path`): data files as tables, and predictions of a
saved path for new rows.
"""

from .predicting import run_predict
from .reading import COMMON, check_out, read, ready, row_numbers

__all__ = ["COMMON", "check_out", "read", "ready", "row_numbers", "run_predict"]
