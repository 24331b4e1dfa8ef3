"""Losses by their definitions, for `oracles`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit


class Loss(NamedTuple):
    """value, slope and curvature (first and second derivative in eta), each f(y, eta, gamma,
    delta); largest curvature f(gamma), infinite for poisson.
    """

    value: Callable
    slope: Callable
    curvature: Callable
    largest: Callable


def _smoothed_hinge(y, eta, gamma, delta):
    gap = 1 - y * eta
    return np.where(gap <= 0, 0.0, np.where(gap > gamma, gap - gamma / 2, gap**2 / (2 * gamma)))


def _huber(y, eta, gamma, delta):
    r = np.abs(eta - y)
    return np.where(r <= delta, r**2 / 2, delta * r - delta**2 / 2)


def _amount(y, eta, p):
    """y exp((1 - p) eta), which is 0 where y is, however small eta is there."""
    return y * np.exp(np.where(np.equal(y, 0), 0.0, (1 - p) * eta))


def _in_hinge(y, eta, gamma, delta):
    return ((1 - y * eta > 0) & (1 - y * eta < gamma)) / gamma


LOSSES = {
    "squared": Loss(
        lambda y, eta, *_: (y - eta) ** 2 / 2,
        lambda y, eta, *_: eta - y,
        lambda y, eta, *_: np.ones_like(eta),
        lambda gamma: 1.0,
    ),
    "logistic": Loss(
        lambda y, eta, *_: np.logaddexp(0, -y * eta),
        lambda y, eta, *_: -y * expit(-y * eta),
        lambda y, eta, *_: expit(eta) * expit(-eta),
        lambda gamma: 0.25,
    ),
    "squared_hinge": Loss(
        lambda y, eta, *_: np.maximum(0, 1 - y * eta) ** 2,
        lambda y, eta, *_: -2 * y * np.maximum(0, 1 - y * eta),
        lambda y, eta, *_: 2.0 * (y * eta < 1),
        lambda gamma: 2.0,
    ),
    "smoothed_hinge": Loss(
        _smoothed_hinge,
        lambda y, eta, gamma, _: -y * np.clip((1 - y * eta) / gamma, 0, 1),
        _in_hinge,
        lambda gamma: 1 / gamma,
    ),
    "huber": Loss(
        _huber,
        lambda y, eta, _, delta: np.clip(eta - y, -delta, delta),
        lambda y, eta, _, delta: 1.0 * (np.abs(eta - y) < delta),
        lambda gamma: 1.0,
    ),
    "poisson": Loss(
        lambda y, eta, *_: np.exp(eta) - y * eta,
        lambda y, eta, *_: np.exp(eta) - y,
        lambda y, eta, *_: np.exp(eta),
        lambda gamma: np.inf,
    ),
}
# of these `delta` is theta, the power and the quantile, and `gamma` the width of the quantile's
FAMILIES = {
    "gamma": Loss(
        lambda y, eta, *_: y * np.exp(-eta) + eta,
        lambda y, eta, *_: 1 - y * np.exp(-eta),
        lambda y, eta, *_: y * np.exp(-eta),
        lambda gamma: np.inf,
    ),
    "negative_binomial": Loss(
        lambda y, eta, _, theta: (y + theta) * np.logaddexp(0, eta - np.log(theta)) - y * eta,
        lambda y, eta, _, theta: (y + theta) * expit(eta - np.log(theta)) - y,
        lambda y, eta, _, theta: (
            (y + theta) * expit(eta - np.log(theta)) * expit(np.log(theta) - eta)
        ),
        lambda gamma: np.inf,
    ),
    "binomial": Loss(
        lambda y, eta, *_: np.logaddexp(0, eta) - y * eta,
        lambda y, eta, *_: expit(eta) - y,
        lambda y, eta, *_: expit(eta) * expit(-eta),
        lambda gamma: 0.25,
    ),
    "tweedie": Loss(
        lambda y, eta, _, p: _amount(y, eta, p) / (p - 1) + (np.exp((2 - p) * eta) - 1) / (2 - p),
        lambda y, eta, _, p: np.exp((2 - p) * eta) - _amount(y, eta, p),
        lambda y, eta, _, p: (2 - p) * np.exp((2 - p) * eta) + (p - 1) * _amount(y, eta, p),
        lambda gamma: np.inf,
    ),
    "quantile": Loss(
        lambda y, eta, h, t: (
            (t - 0.5) * (y - eta)
            + np.where(abs(y - eta) <= h, (y - eta) ** 2 / (4 * h) + h / 4, abs(y - eta) / 2)
        ),
        lambda y, eta, h, t: 0.5 - t - np.clip((y - eta) / (2 * h), -0.5, 0.5),
        lambda y, eta, h, t: (np.abs(y - eta) < h) / (2 * h),
        lambda gamma: 0.5 / gamma,
    ),
}
EVERY = LOSSES | FAMILIES
CLASSES = ("logistic", "squared_hinge", "smoothed_hinge")
