"""Compiled kernels: what each is made of (`reach`), where it is kept on disk (`cache`), those that
are installed with the package (`shipped`), and several processes that compile (`processes`).
"""

from .cache import KernelCache
from .processes import HELPING_PROCESSES
from .reach import GENERIC_VERBS, in_package

KernelCache.on_missing.append(HELPING_PROCESSES.begin)

__all__ = ["GENERIC_VERBS", "HELPING_PROCESSES", "KernelCache", "in_package"]
