"""Every size from the fits that a lambda0 path has met."""

from ...core.status import FitStatus
from ...exchange.local_search import LocalSearch
from ...exchange.neighborhoods.choice import neighborhood_of
from ..protocols import Slice


def filled(path, max_k):
    """A fit of every size up to max_k, on W: the best one met against the best addition to size
    k - 1 going up and the cheapest removal from k + 1 going down.

    Swaps follow where the settings have them with refit. Additions from outside W are not looked
    at: these fits are not verified.
    """
    best, polish = path.best_by_size(), path.steps.refits
    top = min(max_k, int(path.descent.selectable.sum()))
    settings = path.settings if isinstance(path.settings, LocalSearch) else LocalSearch()
    part = Slice(path.lambda1, path.lambda2, max(top, *best) + 1)
    steps = neighborhood_of(
        path.model, part, path.scale, settings, trials=False, refits=not path.exact
    )
    for up in (True, False):
        for k in range(1, top + 1) if up else range(top, 0, -1):
            near = best.get(k - 1 if up else k + 1)
            if near is None or FitStatus.SEPARATED in near.flags:
                continue
            path.clock.poll()
            new = steps.add(near, polish) if up else steps.drop(near, polish)
            if new is not None and (k not in best or new.value < best[k].value):
                best[k] = new
    return {k: best[k] for k in sorted(best) if k <= max_k}
