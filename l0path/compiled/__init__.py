"""Compiled kernels: what each is made of (`reach`), where it is kept on disk (`cache`), and several
processes that compile (`processes`).
"""

from .cache import KernelCache
from .processes import HELPING_PROCESSES
from .reach import GENERIC_VERBS, in_package

KernelCache.on_missing.append(HELPING_PROCESSES.begin)

__all__ = ["HELPING_PROCESSES", "GENERIC_VERBS", "KernelCache", "in_package"]
