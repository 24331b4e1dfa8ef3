"""The parts of the command line (`python -m l0path`): its arguments, data files as tables, and
predictions of a saved path for new rows.
"""

from .options import parser
from .predicting import run_predict
from .reading import check_out, read, ready, row_numbers

__all__ = ["check_out", "parser", "read", "ready", "row_numbers", "run_predict"]
