"""Compiled kernels: what each is made of (`reach`), where it is kept on disk (`cache`), those that
are installed with the package (`shipped`), several processes that compile (`processes`), calls by
address (`addresses`), views (`views`), and no garbage collection meanwhile (`collection`).
"""

from .addresses import address_of, call_at, verb_at
from .cache import KernelCache
from .collection import collection_put_off
from .processes import HELPING_PROCESSES
from .reach import GENERIC_VERBS, in_package, records
from .views import indices_at, numbers_at, part

KernelCache.on_missing.append(HELPING_PROCESSES.begin)

__all__ = [
    "GENERIC_VERBS",
    "HELPING_PROCESSES",
    "KernelCache",
    "address_of",
    "call_at",
    "collection_put_off",
    "in_package",
    "indices_at",
    "numbers_at",
    "part",
    "records",
    "verb_at",
]
