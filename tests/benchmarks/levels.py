"""Kernels of l0path-kernels against kernels compiled for this processor, on the rows of speed.py
and of against.py: for each level that is installed a process that uses it alone, timed in turn with
one that uses none. Run by an interpreter that has l0path and l0path-kernels installed.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from against import CPU, WORDS, Checkout, compare, rows
from common import arguments
from speed import K

COMPANION = "l0path_kernels"


def companion():
    """Folder of the installed kernels, None where there is none."""
    spec = importlib.util.find_spec(COMPANION)
    return Path(spec.submodule_search_locations[0]) if spec else None


def levels():
    """Names of the levels that are installed."""
    return sorted(path.name for path in companion().glob("*-*") if path.is_dir())


def one_level(folder, level):
    """A folder to import from, in which the companion has this level alone, None for no level."""
    left_out = shutil.ignore_patterns(*({*levels()} - {level}))
    shutil.copytree(companion(), Path(folder, COMPANION), ignore=left_out, dirs_exist_ok=True)
    return folder


def main():
    """Print a table for each level."""
    options = arguments(
        "levels of instruction sets against this processor",
        pairs=(15, "pairs of timings a row"),
        only=("", "parts of names of rows, separated by |"),
        cpu=CPU,
        k=(K, "largest size of the rows of speed.py"),
        data=("", "folder with news20/, dorothea/, dexter/ for the sparse rows"),
    )
    if companion() is None:
        raise SystemExit("install l0path-kernels first: pip wheel --no-deps ./kernels")
    pairs = 2 if options.smoke else options.pairs
    words = Namespace(**{key: getattr(options, key) for key in WORDS})
    for level in levels():
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as none:
            here = Checkout(None, words, one_level(one, level))
            there = Checkout(None, words, one_level(none, None))
            print(f"# {level} / compiled here, {pairs} pairs, load {os.getloadavg()[0]:.1f}")
            print(f"{'row':34s} {'level s':>9s} {'here s':>9s} {'ratio':>7s}     low    high")
            for name in rows(words):
                compare(name, here, there, pairs)
            for process in (here, there):
                process.close()
    print(f"# load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
