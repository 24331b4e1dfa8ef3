"""How many functions X passes through from `fit` to the engine that searches.

A *stay* is a function of the package that is given X, or an object that holds it, and hands it on:
it returns such an object, or the engine is made while it runs. Constructors and methods belong to
the objects, and a function that only asks X something is none. A *climb* is a stay that calls one
of a layer above its own.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from test_layers import layer

import l0path

ROOT = Path(l0path.__file__).parent
ENGINES = ("SizeStrategy.__init__", "Lambda0Path.__init__")
MOST_CLIMBS = 2
CASES = [
    ({}, 15),
    ({"lambda0": "grid"}, 15),
    ({"groups": [0, 0, 1, 1, 2, 2, 3, 3]}, 15),
    ({"lambda0": "grid", "algorithm": "cd"}, 16),
]


def holds(value, X, depth=6):
    """Whether an object is X, or has it among its attributes, entries or those of these."""
    if isinstance(value, np.ndarray):
        return value.shape == X.shape and np.shares_memory(value, X)
    if depth == 0:
        return False
    if isinstance(value, (tuple, list)):
        inner = value
    elif isinstance(value, dict):
        inner = value.values()
    elif type(value).__module__.startswith("l0path"):
        inner = getattr(value, "__dict__", {}).values()
    else:
        return False
    return any(holds(one, X, depth - 1) for one in inner)


class Call:
    """A call of a function of the package: who called it, and whether it hands X on."""

    def __init__(self, frame, X, caller):
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount + (code.co_flags & 12).bit_count()
        module = Path(code.co_filename).relative_to(ROOT).with_suffix("").parts
        self.frame, self.caller = frame, caller
        self.stay = (".".join(("l0path", *module)), code.co_qualname)
        self.given = any(holds(frame.f_locals.get(n), X) for n in code.co_varnames[:count])
        self.hands_on = False

    def is_stay(self):
        """Whether it is a function, neither constructor nor method, that hands X on."""
        return self.given and self.hands_on and "." not in self.stay[1]


class Walk:
    """The calls of functions of the package until the engine is made."""

    def __init__(self, X):
        self.X, self.calls, self.running, self.made = X, [], [], False

    def __call__(self, frame, event, result):
        code = frame.f_code
        if self.made or not code.co_filename.startswith(f"{ROOT}{os.sep}"):
            return
        if event == "call":
            caller = self.running[-1].stay if self.running else None
            self.running.append(Call(frame, self.X, caller))
            self.calls.append(self.running[-1])
        elif event == "return":
            while (call := self.running.pop()).frame is not frame:
                pass
            call.hands_on |= holds(result, self.X)
            self.made = code.co_qualname in ENGINES
            for above in self.running if self.made else ():
                above.hands_on = True

    def stays(self):
        """(module, function) of every stay."""
        return list(dict.fromkeys(call.stay for call in self.calls if call.is_stay()))

    def climbs(self):
        """(stay, stay) of every call of a stay by one of a layer below."""
        return [
            (call.caller, call.stay)
            for call in self.calls
            if call.is_stay() and call.caller and layer(call.caller[0]) < layer(call.stay[0])
        ]


@pytest.mark.parametrize(("more", "most"), CASES)
def test_x_passes_through_few_functions_on_its_way_to_the_engine(more, most):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((30, 8)))
    walk = Walk(X)
    sys.setprofile(walk)
    try:
        l0path.fit(X, X[:, 1] + rng.standard_normal(30), max_k=3, certify=False, **more)
    finally:
        sys.setprofile(None)
    stays, names = walk.stays(), [name for _, name in walk.stays()]
    assert walk.made and [n for n in names if n in ("fit", "request", "run")] == names[:2] + ["run"]
    assert len(stays) <= most, stays
    assert len(walk.climbs()) <= MOST_CLIMBS, walk.climbs()
