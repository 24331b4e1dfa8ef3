"""Capabilities of a design beyond the verbs of `core.types.Design`, which it declares itself."""

from __future__ import annotations

from typing import NamedTuple

from ..core.types import Design

VERBS = ("n", "p", "correlate", "columns", "dot", "moments", "nonfinite")


class DesignTraits(NamedTuple):
    """Declaration of the further attributes and methods of a design: its attribute `traits`.

    A design that has no `traits` has none of them: everything can be done with the verbs alone,
    in more time or memory.

    Parameters
    ----------
    memory_limit : bool, default False
        X is read by blocks, and `memory_limit` is the bytes of X that may be held.
    gram_rows : bool, default False
        `gram_rows` is how many rows of p products may be kept, less than p.
    prefetch : bool, default False
        `foresee(R)` tells of products that the next `moments` may make in the same read.
    in_place : bool, default False
        `correlate_into(A, out, start)` writes products where it is told, without a copy.
    stored_columns : bool, default False
        `X` is an array whose columns kernels read where they lie.
    bounded_products : bool, default False
        `correlate_above` leaves out products that a bound proves to be small.
    contents : bool, default False
        `contents(J)` gives bytes that are equal where columns are, without filling the columns.
    row_subsets : bool, default False
        `take_rows(rows)` is the design of some rows; `entries` and `nbytes` are the numbers that
        a copy of X would hold and the bytes of X.
    shards : bool, default False
        The columns live in `shards` on the workers of a cluster.
    """

    memory_limit: bool = False
    gram_rows: bool = False
    prefetch: bool = False
    in_place: bool = False
    stored_columns: bool = False
    bounded_products: bool = False
    contents: bool = False
    row_subsets: bool = False
    shards: bool = False


VERBS_ALONE = DesignTraits()


def is_design(X: object) -> bool:
    """Whether X is a design, one of the package or a user's: it has every verb of the protocol."""
    return all(hasattr(X, verb) for verb in VERBS)


def traits_of(design: Design) -> DesignTraits:
    """The traits of a design; those of a user's design that says nothing are all False."""
    return getattr(design, "traits", VERBS_ALONE)
