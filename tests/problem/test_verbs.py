"""The methods of losses, and the verbs that they are."""

from types import FunctionType
from typing import NamedTuple

import pytest

import l0path  # noqa: F401 (all losses)
from l0path.core import dispatch

NAMES = [verb.__name__ for verb in dispatch.VERBS if verb.__module__.startswith("l0path.")]


@pytest.mark.parametrize("kind", dispatch.KINDS, ids=lambda kind: kind.__name__)
def test_every_method_of_a_loss_is_a_verb(kind):
    """A name that is written wrongly would leave the default of the verb in its place."""
    functions = {name for name, one in vars(kind).items() if isinstance(one, FunctionType)}
    assert {name for name in functions if not name.startswith("_")} <= set(NAMES)
    assert not set(NAMES) & set(kind._fields)


def test_no_two_verbs_share_a_name():
    assert len(set(NAMES)) == len(NAMES) > 40


def test_a_verb_finds_the_methods_of_classes_before_and_after_it(monkeypatch):
    monkeypatch.setattr(dispatch, "VERBS", [])
    monkeypatch.setattr(dispatch, "KINDS", [])

    class Plain(NamedTuple):
        number: float

    class Before(NamedTuple):
        number: float

        def twice(self):
            return 2 * self.number

    class After(NamedTuple):
        number: float

        def twice(self):
            return 20 * self.number

    dispatch.with_verbs(Before)

    @dispatch.generic_in_python
    def twice(record):
        return 0

    dispatch.with_verbs(After)
    assert [twice(kind(1.0)) for kind in (Plain, Before, After)] == [0, 2.0, 20.0]
