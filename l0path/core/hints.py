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
    "response_weights": "write loss=l0path.losses.Squared(response_weights=...), or another loss",
    "tol": "write algorithm=l0path.solvers.LocalSearch(tol=...)",
    **dict.fromkeys(
        ("max_iter", "maxit"), "write algorithm=l0path.solvers.LocalSearch(max_iter=...)"
    ),
    "family": 'write loss=..., such as loss="poisson"',
    "weights": "write sample_weight= (precision or importance) or freq_weight= (copies of rows)",
    "var_weights": "write sample_weight=",
    "exposure": "write offset=numpy.log(exposure)",
    "formula": 'a formula comes first: l0path.fit("y ~ a + b", data)',
    "exog": "write X=",
    "endog": "write y=",
    "lower_limits": "write lower=",
    "upper_limits": "write upper=",
    "groups_cv": "it is an argument of l0path.cv_fit",
    **dict.fromkeys(("time", "event", "status"), "survival times and events are y, in two columns"),
    **dict.fromkeys(
        ("missing", "na_action"), "a formula drops rows with missing values in its columns"
    ),
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
    "positive": "write lower=0",
    "l1_ratio": "write lambda1= for the l1 norm and lambda2= for the ridge",
    "C": "write lambda2= for the ridge and lambda1= for the l1 norm, which grow as C falls",
    "n_nonzero_coefs": "write k= for sizes, or max_k= for the largest",
    "n_features_to_select": "write k= for sizes, or max_k= for the largest",
    "epsilon": "write loss=l0path.losses.Huber(delta=...)",
    **dict.fromkeys(
        ("cv", "nfolds", "n_folds", "folds", "foldid", "n_splits", "n_fold", "k_folds"),
        "folds are the argument cv= of l0path.cv_fit",
    ),
    **dict.fromkeys(("scoring", "type_measure"), "it is the argument scoring= of l0path.cv_fit"),
    "relax": "it is an argument of l0path.cv_fit",
    "q": "write fdr= of l0path.knockoff_filter",
    "n_subsamples": "l0path.stability_selection takes it, and costs n_subsamples / 2 such fits",
}
# the same for estimators: the first remedy counts whose argument the estimator has
SIZE = ("write k=", "write max_k= for the largest size", "write k=")
SHRINKAGE = (
    "write lambda1= for the l1 norm and lambda2= for the ridge",
    "write lambda2= for the ridge",
)
OF_ESTIMATORS = {
    "alpha": SHRINKAGE,
    "alphas": SHRINKAGE,
    "l1_ratio": SHRINKAGE,
    "l1_ratios": SHRINKAGE,
    "penalty": SHRINKAGE,
    "C": (INSTEAD["C"], "write lambda2= for the ridge, which grows as C falls"),
    "Cs": SHRINKAGE,
    "n_alphas": SHRINKAGE,
    "n_nonzero_coefs": SIZE,
    "n_features_to_select": SIZE,
    "k": ("write max_k= for the largest size, and rule= for the choice",),
    "support_size": SIZE,
    "cv": ("leave it out: estimators whose names end in CV take it",),
    "scoring": ("leave it out: estimators whose names end in CV take it",),
    "verbose": ("leave it out: estimators print nothing",),
    "sample_weight": ("give it to .fit(X, y, sample_weight=...)",),
    "tol": (INSTEAD["tol"], "leave it out: the fit is exact"),
    "solver": ("write algorithm=, a name or a record of l0path.solvers",),
    "positive": (INSTEAD["positive"], "use l0path.fit(..., lower=0)"),
    **dict.fromkeys(
        ("copy_X", "precompute", "warm_start", "selection", "dual", "multi_class"),
        ("leave it out: nothing here depends on it",),
    ),
}


def _remedy(key, known, estimator):
    """What to write instead of an argument; "" where nothing is known."""
    texts = (OF_ESTIMATORS if estimator else {}).get(key, (INSTEAD.get(key, ""),))
    for text in texts:
        named = re.match(r"write (\w+)=", text)
        if text and (not estimator or named is None or named[1] in known):
            return text
    return ""


def refuse_unknown(
    name: str, given: Iterable[str], known: Iterable[str], *, estimator: bool = False
) -> None:
    """Raise TypeError for the first keyword argument that a call of this name does not take.

    estimator: whether it makes an estimator of scikit-learn.
    """
    known = list(known)
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = _remedy(key, known, estimator) or (f"did you mean {near[0]}=?" if near else "")
            raise TypeError(
                f"{name}() got an unexpected keyword argument {key!r}" + (hint and f"; {hint}")
            )


# attributes of results of other packages, and what has the same here
ATTRIBUTES = {
    "coef_": "write .coef(...)",
    "intercept_": "write .coef(...), whose first entry is the intercept",
    "params": "write .coef(...)",
    "pvalues": "write .refit(...), whose results have them",
    "tvalues": "write .refit(...), whose results have them",
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
# tables of coefficients with intervals, as others call them
ESTIMATES = ("estimates", "odds_ratio", "odds_ratios", "hazard_ratio", "hazard_ratios", "tidy")
# attributes of earlier versions of paths, cross-validations and models
MOVED = {
    "path": "a CVPath is itself a path: leave .path out",
    "index": "write .select(...) for the row of a selector",
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
# what one model answers: the methods of a Model that a path does not have, and its properties
OF_ONE_MODEL = (
    "alternatives confusion conf_int refit score summary survival to_python to_sklearn to_sql"
).split()
PARTS_OF_ONE_MODEL = (
    "deviance_ratio features gap groups intercept k lower_bound objective optimality".split()
)
ROW = (
    "slice lambda0 lambda1 lambda2 relax lambda0_low lambda0_high converged status exchanges flags "
    "chosen_by"
).split()

# natural names for what results of other kinds have, by kind
OF_KIND = {
    "ModelSet": {
        "best": "write .models[0]",
        "best_model": "write .models[0]",
        "model": "write .models[0] for the best one",
        "supports": "write [model.support for model in .models]",
        "support": "write .models[0].support, or .table for those of all models",
        "features": "write .models[0].features, or .table for those of all models",
        "coefs": "write .coef, or .average(), averaged over the models",
        "coef_": "write .coef, or .average(), averaged over the models",
        "objective": "write .models[0].objective, or .table",
        "k": "write .models[0].k, or .table for those of all models",
        "path": "write .models[0].path",
        "summary": "write .table, or .models[0].summary()",
    },
    "Certificate": {
        "best_model": "write .best[0]",
        "models": "write .best, the best models",
        "supports": "write [model.support for model in .best]",
        "optimal": "write .proven",
        "optimality": "write .proven, or .status",
        "bound": "write .lower_bound",
        "upper_bound": "write .incumbent",
        "objective": "write .incumbent",
        "time": "write .seconds",
        "table": "write .path.table",
        "details": "write .path.details",
    },
    "Summary": {
        "params": "write .table, or ask the model: .refit(...).params",
        "pvalues": "ask the model: .refit(...), whose results have them",
        "bse": "ask the model: .refit(...), whose results have them",
        "tables": "write .table",
        "to_latex": "write .table.to_latex(), or path.compare([...]).to_latex()",
        "as_latex": "write .table.to_latex(), or path.compare([...]).to_latex()",
        "features": "write list(.table.index)",
        "best": "write .table, which has best_exchange",
    },
    "Comparison": {
        "best": 'name it in the list: path.compare([3, "bic"])',
        "models": "write .columns",
        "coef": 'write .loc["coefficient"]',
        "coefficients": 'write .loc["coefficient"]',
        "params": 'write .loc["coefficient"]',
        "bse": 'write .loc["standard error"], of path.compare(..., se=True)',
        "conf_int": 'write .loc[["lower", "upper"]], of path.compare(..., ci=0.95)',
        "criteria": 'write .loc["criterion"]',
        "scores": 'write .loc["criterion"], or .loc["cross-validation"]',
        "supports": 'write .loc["coefficient"].notna()',
        "features": 'write list(.loc["coefficient"].index)',
        "table": "it is the table, a DataFrame",
    },
}
SHARES = ("rsquared", "r2", "r_squared")  # what others call the deviance ratio of least squares
SCORE_NAMES = ("aic", "aicc", "bic", "ebic", "gic", "mbic", "cp", "loglik", "df", "rss")


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
        moved |= {one: f"ask one model: .model(...).{one}" for one in PARTS_OF_ONE_MODEL}
        for one in ESTIMATES:
            moved[one] = "ask one model: .model(...).refit(...).estimates(exponentiate=...)"
        moved |= dict.fromkeys(SHARES, "ask one model: .model(...).deviance_ratio")
        moved |= dict.fromkeys(SCORE_NAMES, "write .score_table()")
        if kind == "Model":
            moved = {one: f'write .details["{one}"]' for one in ROW} | {
                "index": "write .details.name",
                "coef_": "write .coef",
                "params": "write .coef",
                "intercept_": "write .intercept",
                "cumulative_hazard": 'write .survival(X, type="cumulative_hazard")',
                "n_nonzero": MOVED["n_nonzero"],
                **dict.fromkeys(ESTIMATES, "write .refit(...).estimates(exponentiate=...)"),
                "to_latex": "write .refit(...).estimates().to_latex()",
                **dict.fromkeys(SHARES, "write .deviance_ratio"),
                **dict.fromkeys(SCORE_NAMES, "write .path.score_table()"),
            }
        elif kind not in ("Path", "CVPath"):
            moved = OF_KIND.get(kind, {})
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


def refuse_of_table(table: Any, name: str, error: AttributeError) -> NoReturn:
    """Raise AttributeError for an attribute that a table, a DataFrame of a kind of its own, does
    not have: with what has it, or the names of its columns. error: that of pandas.
    """
    if name.startswith("_"):
        raise error  # pandas and others look for such names
    kind = type(table).__name__
    columns = [str(column) for column in table.columns]
    near = difflib.get_close_matches(name, columns, n=3)
    hint = OF_KIND.get(kind, {}).get(name)
    if hint is None and name in SCORE_NAMES:
        hint = "the path has it: path.score_table()"
    if hint is None and near:
        hint = f"did you mean {' or '.join(near)}?"
    if hint is None:
        shown = [*columns[:12], *(["..."] if len(columns) > 12 else [])]
        hint = f"it is a DataFrame with the columns {', '.join(shown)}"
    raise AttributeError(f"{kind} has no attribute {name!r}; {hint}") from None


def hinted(function: Callable[P, R], more: Iterable[str] = ()) -> Callable[P, R]:
    """A decorator: keyword arguments that the function does not take are told with a remedy. It
    leaves the signature as it is, also that of the __init__ of an estimator, by which scikit-learn
    knows the parameters. more: names that it hands on.
    """
    own = inspect.signature(function).parameters.values()
    known = [*(one.name for one in own if one.kind != one.VAR_KEYWORD), *more]
    estimator = function.__name__ == "__init__"
    name = function.__qualname__.split(".")[0] if estimator else function.__name__

    @functools.wraps(function)
    def told(*args: P.args, **given: P.kwargs) -> R:
        refuse_unknown(name, given, known, estimator=estimator)
        return function(*args, **given)

    return told


def hands_on(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`hinted` for a function that hands arguments of these names on to another one."""
    return functools.partial(hinted, more=names)
