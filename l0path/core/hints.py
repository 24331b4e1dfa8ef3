"""Keyword arguments that a call does not take, attributes that a result does not have, and what to
write instead.
"""

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, ParamSpec, TypeVar

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
    "include": "write always_include=",
    "drop": "write exclude=",
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


# attributes of results of other packages, and what has the same here
ATTRIBUTES = {
    "coef_": "write .coef(...)",
    "intercept_": "write .coef(...), whose first entry is the intercept",
    "params": "write .coef(...)",
    "pvalues": "write .refit(...), whose results have them",
    "bse": "write .refit(...), whose results have them",
    "resid": "write .refit(...), whose results have them",
    "residuals": "write .refit(...), whose results have them as .resid",
    "fittedvalues": "write .refit(...), whose results have them",
    "best_model": "write .model(...)",
    "best_estimator_": "write .model(...)",
    "best_k": "write .model(...).k",
    "best_params_": "write .model(...)",
    "lambda_min": "write .model(...).details",
}
# attributes of earlier versions of paths, cross-validations and models
MOVED = {
    "path": "a CVPath is itself a path: leave .path out",
    "index": "write .select(...) for the row of a selector",
    "objective": "write .model(...).objective",
    "end": "write .status, which says how the path ended",
    "penalty": "it is in print(path); the values are in .details",
    "responses": "write .coef(...).columns",
    "n_dropped": "it is in .notes",
    "delta": "write .loss.delta",
    "theta": "write .loss.theta",
    "data": "the rows of the fit are those that you passed",
    "loss_record": "write .loss",
    "without_data": "write l0path.load of a file that .save(...) wrote",
    "scoring": 'write .folds.attrs["scoring"]',
    "repeated": "it is in .notes",
    "random_state": 'write .folds.attrs["random_state"]',
    "greater_is_better": 'write .folds.attrs["greater_is_better"]',
    "n_nonzero": 'write .details["n_features"]',
    "score_over_time": "write .model(...).score(X, y, times=...)",
    "cumulative_hazard": 'write .model(...).survival(X, type="cumulative_hazard")',
    "plot_roc": 'write .model(...).plot("roc", X, y)',
    "plot_calibration": 'write .model(...).plot("calibration", X, y)',
    "plot_survival": 'write .model(...).plot("survival", X, y)',
}
# what one model answers, by the methods of earlier versions of a path
OF_ONE_MODEL = ("alternatives", "confusion", "refit", "score", "summary", "survival", "conf_int")
ROW = (
    "slice lambda0 lambda1 lambda2 relax lambda0_low lambda0_high converged status exchanges flags "
    "chosen_by"
).split()


def refuse_attribute(thing: Any, name: str, part: str = "") -> NoReturn:
    """Raise AttributeError for an attribute that an object does not have, with what is near.

    part: an attribute of the object that may have it, such as the path of a cross-validation.
    """
    if name in dir(type(thing)):
        object.__getattribute__(thing, name)  # a property that failed: its own error
    kind = type(thing).__name__
    hint = ""
    if not name.startswith("_"):
        public = [known for known in dir(thing) if not known.startswith("_")]
        moved = {**MOVED, **{one: f"ask one model: .model(...).{one}(...)" for one in OF_ONE_MODEL}}
        if kind == "Model":
            moved = {one: f'write .details["{one}"]' for one in ROW} | {
                "index": "write .details.name",
                "coef_": "write .coef",
                "params": "write .coef",
                "intercept_": "write .intercept",
                "cumulative_hazard": 'write .survival(X, type="cumulative_hazard")',
                "n_nonzero": MOVED["n_nonzero"],
            }
        elif kind not in ("Path", "CVPath"):
            moved = {}
        called = re.match(r"write \.(\w+)", ATTRIBUTES.get(name, ""))
        near = difflib.get_close_matches(name, public, n=3)
        inside = getattr(type(thing.__dict__.get(part)), name, None)
        if name in moved:
            hint = f"; {moved[name]}"
        elif called and called[1] in public:
            hint = f"; {ATTRIBUTES[name]}"
        elif called and called[1] in OF_ONE_MODEL and "model" in public:
            hint = f"; ask one model: .model(...).{called[1]}(...)"
        elif inside is not None:
            hint = f"; its {part} has: .{part}.{name}"
        else:
            hint = (
                f"; did you mean {' or '.join(near)}?" if near else f"; it has {', '.join(public)}"
            )
    # without name= and obj=, with which Python would add a guess of its own
    raise AttributeError(f"{kind} has no attribute {name!r}{hint}")


def hinted(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: keyword arguments that the function does not take are told with a remedy."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def told(*args: P.args, **given: P.kwargs) -> R:
        refuse_unknown(function.__name__, given, known)
        return function(*args, **given)

    return told
