"""The kernels that a fit needs."""

from ...exchange.local_search import LocalSearch
from ...problem.losses import OWN_LOSSES, name_of
from ..proving.proofs import asked_by_default


def kinds_of_kernels(request):
    """The kinds of fits whose kernels other processes may compile: those of a default fit are known
    beforehand. See `warm.recipes`.
    """
    data, default = request.data, request.plan.settings == LocalSearch()
    name = name_of(data.loss)
    if not default or request.resolved or data.several or name in OWN_LOSSES:
        return ()
    kinds = [name if data.groups is None else f"{name}:groups"]
    if name == "squared" and data.groups is None and asked_by_default(request, data.design.p):
        kinds.append(f"{name}:sizes")
    return (*kinds, f"{name}:certify") if request.certify is True else tuple(kinds)
