"""Ways out of poor local optima: oscillation beyond the last size, random restarts, double swaps.

For the squared loss without lambda1 and bounds, kernels make these moves
(`table_sweeps.make_move`); for every other neighborhood they are made step by step here. Sources:
strategic oscillation of Glover & Laguna (Tabu Search, 1997, chapter 4); perturbation and local
search by turns of Lourenco, Martin & Stutzle (Iterated local search, 2003).
"""

import numpy as np

from ..core.status import FitStatus
from . import table_sweeps
from .local_search import search

LEAST_UNITS = 8  # of an oscillation beyond the last size, if it may go so far
SPREAD = 0.7  # deviation of the logarithm of a member's luck when some are dropped at random


def oscillate(pool, neighborhood, poll, share=1.0):
    """Add units beyond the last size, then remove the cheapest down to one: blocks of columns that
    only pay together (collinear ones) come in whole and stay. True if any size improved.

    share: of the neighborhood's reach, how much is used, but no less than LEAST_UNITS.
    """
    fit, improved = pool.fits.get(pool.last), False
    if fit is None or pool.end:
        return False
    reach = neighborhood.reach(pool.last)
    units = min(max(int(share * reach.units), LEAST_UNITS), reach.units)
    if neighborhood.compiled:
        top = min(
            pool.last + units,
            neighborhood.model.width - pool.n_forced,
            reach.columns - pool.n_forced,
        )
        return neighborhood.make_move(pool, poll, table_sweeps.oscillation(top), 0, end=0)
    for _ in range(units):
        poll()
        new = neighborhood.add(fit, polish=False)
        if new is None or FitStatus.SEPARATED in new.flags or new.support.size > reach.columns:
            break
        fit = new
    while fit is not None and pool.size(fit) > 1:
        poll()
        fit = neighborhood.drop(fit, polish=reach.polished and pool.size(fit) <= pool.last + 1)
        improved |= fit is not None and pool.update(fit)
    return improved


def perturb(pool, neighborhood, rng, rounds, done, poll):
    """Restart from the best fit of each size: drop a few members at random, preferably small ones,
    add the best units instead, and polish. Every visited size is offered, and sweeps spread the
    improvements.

    rng : numpy Generator; rounds : how often; done : steps already taken, see `search`.
    """
    for _ in range(rounds):
        if neighborhood.compiled:
            sizes = np.arange(neighborhood.show(pool))
            counts = 2 + rng.integers(np.clip(sizes // 3, 1, 6))
            noise = np.exp(SPREAD * rng.standard_normal((sizes.size, sizes.size)))
            improved = neighborhood.make_move(pool, poll, table_sweeps.restarts(counts, noise), 2)
        else:
            improved = _restarted(pool, neighborhood, rng, poll)
        if improved:
            search(pool, neighborhood, done, poll)


def _restarted(pool, neighborhood, rng, poll):
    """One restart from each size, step by step; True if any size improved."""
    improved = False
    for k in range(2, pool.last + 1):
        fit = pool.fits.get(k)
        if fit is None or FitStatus.SEPARATED in fit.flags:
            continue
        poll()
        # chance falls on ranks, not on column numbers: renumbering columns changes nothing
        size, units = neighborhood.removable(fit)
        count = int(min(units.size, 2 + rng.integers(max(1, min(k // 3, 6)))))
        luck = np.argsort(size * np.exp(SPREAD * rng.standard_normal(size.size)), kind="stable")
        improved |= _replaced(pool, neighborhood, fit, units[luck[:count]])
    return improved


def double_swaps(pool, neighborhood, width, poll):
    """Exchanges of size two: each pair of the `width` smallest members is dropped, the best two
    units are added one after the other and polished. True if any size improved.
    """
    improved = False
    for k in range(2, pool.last + 1):
        fit = pool.fits.get(k)
        if fit is None:
            continue
        _, units = neighborhood.removable(fit)
        for i in range(min(width, units.size)):
            for j in range(i):
                poll()
                improved |= _replaced(pool, neighborhood, fit, units[[i, j]])
    return improved


def _replaced(pool, neighborhood, fit, units):
    """Drop some units of a fit and add as many of the best ones; every size on the way is offered.
    True if any improved.
    """
    fit, improved = neighborhood.without(fit, units), False
    for step in range(len(units)):
        fit = neighborhood.add(fit, polish=step == len(units) - 1)
        if fit is None:
            break
        improved |= pool.update(fit)
    return improved
