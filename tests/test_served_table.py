"""The table of docs/losses.md says what `fit` serves: each cell is asked of `fit`, which refuses
before it reads X.
"""

from pathlib import Path

import numpy as np
import pytest
from unread import AGAINST, GROUPS, LOSSES, SERVED, drawn, refusal, table

import l0path
from l0path.problem.losses import traits_named

OTHERS = ("poisson", "negative_binomial", "tweedie", "huber", "quantile", "binomial")
DOCS = Path(__file__).parents[1] / "docs"


def test_the_table_is_what_fit_refuses():
    page = (DOCS / "losses.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in page, "run python tests/unread.py, and put its lines there"


def test_the_first_table_says_which_losses_have_criteria():
    page = (DOCS / "losses.md").read_text(encoding="utf-8")
    table = page[page.index("| criteria |") : page.index("What `fit` takes")]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    said = {row[0].split("`")[1]: row[3] != "none" for row in rows}
    assert said == {name: traits_named(name).likelihood for name in said} and len(said) == 16


@pytest.mark.parametrize("loss", LOSSES)
def test_refusals_name_the_argument_or_the_loss(loss):
    name = loss if loss in ("several responses", "hinge") else repr(loss)
    name = "'multinomial'" if loss == AGAINST else name
    for given in SERVED.values():
        said = refusal(loss, **given)
        known = (name, "responses", *(f"{argument}=" for argument in given), *given)
        assert not said or any(word in said for word in known), (given, said)


@pytest.mark.parametrize(
    "loss",
    ["gamma", "logistic"] + [pytest.param(loss, marks=pytest.mark.slow) for loss in OTHERS],
)
def test_lower_bounds_of_groups_are_where_the_table_has_them(loss):
    X, y = drawn(loss)
    path = l0path.fit(X, y, loss=loss, lambda2=0.05, max_k=2, certify=True, groups=GROUPS)
    assert (path.details.lower_bound[1:] <= path.details.objective[1:]).all()


@pytest.mark.parametrize("loss", ["ordinal", "cox", "weibull"])
def test_what_the_table_serves_runs_for_coupled_losses(loss):
    X, y = drawn(loss)
    for name, given in SERVED.items():
        if refusal(loss, **given):
            continue
        path = l0path.fit(X, y, loss=loss, max_k=2, **{"lambda2": 0.05, **given})
        least = 2 if given.get("lambda0") and "penalty_factor" in given else 3  # it skips sizes
        assert len(path) >= least and np.isfinite(path.details.objective).all(), name
    with pytest.raises(ValueError, match="differs among the groups"):
        l0path.fit(X, y, loss=loss, groups=GROUPS, penalty_factor=[1, 2, 1, 2], lambda0="grid")
