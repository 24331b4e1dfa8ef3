"""Records of losses, grids of penalties, and the scale of L0Learn."""

import pickle

import numpy as np
import pytest
from enumerated_cases import medium

import l0path
from l0path import losses
from l0path.problem.losses import ALIASES, NAMES

WRONG = {
    "width": (lambda: losses.SmoothedHinge(width=0), ValueError, "width=0"),
    "width text": (lambda: losses.SmoothedHinge(width="a"), TypeError, "width='a'"),
    "delta": (lambda: losses.Huber(-1), ValueError, "delta=-1"),
    "delta many": (lambda: losses.Huber([1, 2]), TypeError, r"delta=\[1, 2\]"),
    "delta nan": (lambda: losses.Huber(np.nan), ValueError, "delta=nan"),
    "level": (lambda: losses.Quantile(1.0), ValueError, "level=1.0 must be .* between 0 and 1"),
    "level None": (lambda: losses.Quantile(None), TypeError, "level=None"),
    "theta": (lambda: losses.NegativeBinomial(theta=0.0), ValueError, "theta=0.0"),
    "power": (lambda: losses.Tweedie(power=1.0), ValueError, "power=1.0"),
    "power bool": (lambda: losses.Tweedie(power=True), TypeError, "power=True"),
    "ties": (lambda: losses.Cox(ties="exact"), ValueError, "ties='exact'"),
    "ties number": (lambda: losses.Cox(ties=1), ValueError, "ties=1"),
    "weights": (lambda: losses.Squared("many"), ValueError, "response_weights='many'"),
    "n": (lambda: l0path.grid(n=0), ValueError, "n=0"),
    "n text": (lambda: l0path.grid("5"), ValueError, "n='5'"),
    "ratio": (lambda: l0path.grid(ratio=1.0), ValueError, "ratio=1.0"),
    "scale of counts": (lambda: losses.l0learn_scale([1.0, 2.0], "poisson"), ValueError, "poisson"),
    "scale of a table": (lambda: losses.l0learn_scale(np.ones((3, 2))), ValueError, r"\(3, 2\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers_are_told_where_a_record_is_made(name):
    make, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        make()


def records():
    return [getattr(losses, name) for name in losses.__all__ if name[0].isupper()]


def test_every_loss_has_a_record_and_every_record_a_loss():
    named = {record.name for record in records() if hasattr(record, "name")}
    assert named == {*NAMES, "multinomial", "ordinal", "cox", "weibull", "hinge"}
    assert not named & set(ALIASES)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "smoothed_hinge", "poisson"])
def test_a_record_with_its_defaults_is_the_name(loss):
    X, y = medium(1, loss, p=8)
    record = next(r for r in records() if getattr(r, "name", "") == loss)()
    one, two = (l0path.fit(X, y, loss=value, max_k=3, lambda2=0.01) for value in (loss, record))
    assert one.loss == two.loss and one.loss.name == loss
    np.testing.assert_array_equal(one.details.objective, two.details.objective)


def test_records_are_values():
    assert losses.Huber(2) == losses.Huber(2.0) != losses.Huber()
    assert repr(losses.Quantile(0.9)) == "Quantile(level=0.9)"
    weights = losses.Squared(response_weights=np.array([1.0, 2.0]))
    assert pickle.loads(pickle.dumps(weights)) == weights == losses.Squared([1, 2])
    with pytest.raises(AttributeError):
        weights.response_weights = None


def test_a_grid_of_lambda0_ends_at_its_ratio():
    X, y = medium(2, p=10)
    whole = l0path.fit(X, y, lambda0="grid").details.lambda0
    short = l0path.fit(X, y, lambda0=l0path.grid(ratio=0.1)).details.lambda0
    assert short.tolist() == [value for value in whole if value >= 0.1 * whole.max()]
    assert 1 < len(short) < len(whole)
    few = l0path.fit(X, y, lambda0=l0path.grid(n=3)).details.lambda0
    assert few.tolist() == whole.iloc[:3].tolist()
    by_descent = l0path.fit(X, y, lambda0=l0path.grid(ratio=0.1), algorithm="cd").details.lambda0
    assert by_descent.min() >= 0.1 * by_descent.max() > 0


def test_the_scale_of_l0learn():
    """Spec A.2: squared lambda0 = sd_y^2 L0, lambda1 = sd_y L1; classes lambda0 = L0 / n, lambda1 =
    L1 / sqrt(n); lambda2 as it is.
    """
    y = medium(3, p=10)[1]
    assert losses.l0learn_scale(y) == pytest.approx((y.var(), y.std(), 1.0), rel=1e-14)
    y = medium(3, "logistic", p=10)[1]
    for loss in ("logistic", losses.Logistic()):
        assert losses.l0learn_scale(y, loss) == pytest.approx((1 / 60, 1 / 60**0.5, 1.0))


FOUND = {
    "huber": {},
    "quantile": {"loss": losses.Quantile(0.3)},
    "smoothed hinge": {"loss": losses.SmoothedHinge(0.5)},
    "negative_binomial": {},
    "tweedie": {"loss": losses.Tweedie(1.3)},
    "cox": {"loss": losses.Cox(ties="breslow")},
    "several": {"loss": losses.Squared(response_weights=[1.0, 3.0])},
}


@pytest.mark.parametrize("kind", FOUND)
def test_the_loss_of_a_path_is_the_record_that_asks_for_it(kind, tmp_path):
    """The numbers that a fit found are in it, and a fit with it gives the same path, from a file,
    too.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    eta = X[:, 0] - X[:, 2]
    y = {
        "smoothed hinge": np.where(eta + rng.standard_normal(60) > 0, 1, -1),
        "negative_binomial": rng.negative_binomial(2, 1 / (1 + np.exp(0.3 * eta))),
        "tweedie": np.maximum(eta + rng.standard_normal(60), 0.0),
        "cox": np.column_stack([np.ceil(4 * rng.exponential(np.exp(-eta))), rng.random(60) < 0.7]),
        "several": np.column_stack([eta, X[:, 1]]) + rng.standard_normal((60, 2)),
    }.get(kind, eta + rng.standard_normal(60))
    how = {"loss": kind, **FOUND[kind], "max_k": 2, "certify": False}
    path = l0path.fit(X, y, **how)
    if FOUND[kind]:
        assert path.loss == FOUND[kind]["loss"]
    again = l0path.fit(X, y, **{**how, "loss": path.loss})
    np.testing.assert_allclose(again.details["objective"], path.details["objective"], rtol=1e-12)
    path.save(tmp_path / "path.npz")
    assert l0path.load(tmp_path / "path.npz").loss == path.loss == again.loss
