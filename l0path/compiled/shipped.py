"""Kernels of the companion distribution `l0path-kernels`: compiled for a level of instruction sets
in place of one processor, a folder for each level. They are read and never written.

A process uses one level: the highest that is shipped and that its processor has. A kernel that is
missing there is compiled for the processor at hand; no other level is asked for it.
"""

import functools
import importlib.util
import json
import platform
import sys
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
from numba.core import config
from numba.core.codegen import get_host_cpu_features

from .reach import PACKAGE

COMPANION = "l0path_kernels"
MADE_FOR = "made_for.json"  # in the companion: the versions that its kernels fit


class Level(NamedTuple):
    """A level of instruction sets: the name of its folder, the processor that LLVM compiles for,
    and the instruction sets (LLVM's names) that a processor must have.
    """

    name: str
    processor: str
    features: str

    def target(self, triple):
        """numba's `codegen().magic_tuple()` in the process that compiles this level."""
        return triple, self.processor, self.features


_V2 = "+cmov,+cx16,+cx8,+fxsr,+mmx,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"
# lowest first; as the psABI of x86-64 defines them, and what every 64-bit ARM processor has
LEVELS = (
    Level("x86-64-v3", "x86-64-v3", _V3),
    Level("x86-64-v4", "x86-64-v4", _V4),
    Level("arm64", "generic", "+neon"),
)


class Choice(NamedTuple):
    """The level that a process uses, None for none, its folder, and why there is none ("" where
    the companion is not installed).
    """

    level: Level | None
    folder: Path | None
    why: str


NOTHING_SHIPPED = Choice(None, None, "")


def versions():
    """{what: version} of all that kernels are made by; a kernel fits no other."""
    return {
        "l0path": getattr(sys.modules.get(PACKAGE), "__version__", ""),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "Python": f"{platform.python_implementation()} "
        f"{sys.version_info[0]}.{sys.version_info[1]}{getattr(sys, 'abiflags', '')}",
    }


def supported(features):
    """Levels whose instruction sets are all among `features`, LLVM's text for a processor."""
    there = set(features.split(","))
    return [level for level in LEVELS if there.issuperset(level.features.split(","))]


@functools.cache
def chosen_level():
    """The level that this process uses: Choice. The companion is found without importing it."""
    folder = _installed()
    if folder is None:
        return NOTHING_SHIPPED
    # who names a processor wants its kernels; the process that builds the companion does
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return Choice(None, None, "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES is set")
    return choose(folder, get_host_cpu_features())


def choose(folder, features):
    """The level of the companion in a folder for a processor with these features: Choice. Nothing
    is raised where the companion is damaged.
    """
    try:
        made_for = json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        made_for = None
    if not isinstance(made_for, dict):
        return Choice(None, None, f"{folder / MADE_FOR} cannot be read")
    for what, version in versions().items():
        if made_for.get(what) != version:
            why = f"it was made for {what} {made_for.get(what)}, and this is {version}"
            return Choice(None, None, why)
    for level in reversed(supported(features)):
        if (folder / level.name).is_dir():
            return Choice(level, folder / level.name, "")
    return Choice(None, None, "it has no level that this processor supports")


def told():
    """One sentence on the companion, "" where it is not installed."""
    level, _, why = chosen_level()
    if level is not None:
        return f"kernels of l0path-kernels ({level.name}) are used"
    return f"l0path-kernels is not used: {why}" if why else ""


def _installed():
    """Folder of the companion, None where it is not installed."""
    try:
        spec = importlib.util.find_spec(COMPANION)
    except (ImportError, ValueError):  # something else of this name was imported
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None
