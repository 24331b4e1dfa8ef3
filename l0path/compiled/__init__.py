"""Compiled kernels: what each is made of (`reach`) and where it is kept on disk (`cache`)."""

from .cache import KernelCache
from .reach import GENERIC_VERBS, in_package

__all__ = ["GENERIC_VERBS", "KernelCache", "in_package"]
