"""Compiled kernels: what each is made of (`reach`) and where it is kept on disk (`cache`)."""

from .cache import KernelCache
from .reach import VERBS, in_package

__all__ = ["VERBS", "KernelCache", "in_package"]
