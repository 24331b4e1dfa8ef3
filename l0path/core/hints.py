"""Keyword arguments that a call does not take, and what to write instead."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# arguments of earlier versions and of other packages: what says the same here
INSTEAD = {
    "penalty": 'give lambda1="grid" or lambda2="grid" for a grid of values of that term',
    "n_shrink": "write lambda2=l0path.grid(n=...), or lambda1 likewise",
    "grid": 'write lambda0="grid" for a path over lambda0; without it the path is over sizes',
    "n_lambda0": "write lambda0=l0path.grid(n=...)",
    "lambda_scale": "multiply by the factors of l0path.losses.l0learn_scale(y)",
    "gamma": "write loss=l0path.losses.SmoothedHinge(width=...)",
    "delta": "write loss=l0path.losses.Huber(delta=...)",
    "theta": "write loss=l0path.losses.NegativeBinomial(theta=...)",
    "power": "write loss=l0path.losses.Tweedie(power=...)",
    "quantile": "write loss=l0path.losses.Quantile(...)",
    "tau": "write loss=l0path.losses.Quantile(...)",
    "ties": "write loss=l0path.losses.Cox(ties=...)",
    "response_weights": "write loss=l0path.losses.Squared(response_weights=...)",
    "tol": "write algorithm=l0path.solvers.LocalSearch(tol=...)",
    "max_iter": "write algorithm=l0path.solvers.LocalSearch(max_iter=...)",
    "family": 'write loss=..., such as loss="poisson"',
    "weights": "write sample_weight= (precision or importance) or freq_weight= (copies of rows)",
    "nvmax": "write max_k=",
    "nbest": "ask the path: path.near_best(k=...)",
    "alpha": "write lambda1= for the l1 norm and lambda2= for the ridge",
    "lambda_": "write lambda0=, lambda1= or lambda2=",
    "support_size": "write k= for sizes, or max_k= for the largest",
    "intercept": "write fit_intercept=",
    "normalize": "write standardize=",
    "seed": "write random_state=",
    "verbose": "write progress=True",
}


def refuse_unknown(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for the first keyword argument that a call of this name does not take."""
    known = list(known)
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = INSTEAD.get(key, f"did you mean {near[0]}=?" if near else "")
            raise TypeError(
                f"{name}() got an unexpected keyword argument {key!r}" + (hint and f"; {hint}")
            )


def hinted(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: keyword arguments that the function does not take are told with a remedy."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def told(*args: P.args, **given: P.kwargs) -> R:
        refuse_unknown(function.__name__, given, known)
        return function(*args, **given)

    return told
