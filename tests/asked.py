"""Losses as `fit` takes them, from a name and numbers that stand beside it: words that oracles and
fits of a test share.
"""

from l0path.problem.losses import traits_named
from l0path.problem.specified import RECORDS

BY_NAME = {record.name: record for record in RECORDS}
FIELD = {"gamma": "width", "quantile": "level"}  # where a record says it in another word


def loss_with(loss, **numbers):
    """A loss with that of the numbers which it takes: gamma=, delta=, theta=, power=, quantile=,
    ties=, response_weights=, baseline=; its name where it takes none.
    """
    if not isinstance(loss, str) or loss not in BY_NAME:
        return loss
    own = {"cox": "ties", "squared": "response_weights", "multinomial": "baseline"}
    own = own.get(loss, traits_named(loss).parameter)
    given = {FIELD.get(name, name): numbers.get(name) for name in (own, "response_weights")}
    given = {name: value for name, value in given.items() if value is not None}
    return BY_NAME[loss](**given) if given else loss


def asked(options):
    """Arguments of `fit` from a dict in which the number of a loss stands beside its name."""
    names = ("gamma", "delta", "theta", "power", "quantile", "ties", "response_weights", "baseline")
    numbers = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    if numbers:
        rest["loss"] = loss_with(options.get("loss", "squared"), **numbers)
    return rest
