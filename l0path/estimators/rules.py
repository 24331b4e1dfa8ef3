"""`one_standard_error`: the rule of `CVPath.model("1se")` for a grid search of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arguments import whole
from ..cross_validation.splits import spread


@dataclass(frozen=True)
class OneStandardError:
    """The rule that `one_standard_error` returns: called with `cv_results_`, it gives the index of
    the candidate chosen.
    """

    param: str
    score: str = "score"
    largest: bool = False
    n_repeats: int = 1

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Index of the simplest candidate whose mean test score is within one standard error of the
        best.
        """
        names = [
            name
            for name in cv_results
            if name == f"param_{self.param}"
            or (name.startswith("param_") and name.endswith(f"__{self.param}"))
        ]
        if len(names) != 1:
            have = ", ".join(name[6:] for name in cv_results if name.startswith("param_"))
            raise ValueError(
                f"param={self.param!r} names {len(names)} of the parameters searched ({have}); "
                "give one of these names in full"
            )
        splits = [
            values
            for name, values in cv_results.items()
            if name.startswith("split") and name.endswith(f"_test_{self.score}")
        ]
        if len(splits) < 2:
            scores = ", ".join(name[10:] for name in cv_results if name.startswith("mean_test_"))
            raise ValueError(
                f"score={self.score!r} has {len(splits)} splits in cv_results (it has {scores}); "
                "one standard error needs two or more"
            )
        splits = np.array(splits, dtype=np.float64)
        if len(splits) % self.n_repeats or len(splits) < 2 * self.n_repeats:
            raise ValueError(
                f"n_repeats={self.n_repeats} does not divide the {len(splits)} splits in "
                "cv_results_ into repeats of two splits or more; give the n_repeats of the splitter"
            )
        mean = splits.mean(axis=0)
        repeats = np.arange(len(splits)) // (len(splits) // self.n_repeats)
        _, se = spread(splits.T, repeats)
        if np.isnan(mean).all():
            raise LookupError(
                "no candidate has a score in every split; look at cv_results_ for fits that failed"
            )
        best = int(np.nanargmax(mean))
        value = np.array([float(v) for v in cv_results[names[0]]]) * (-1.0 if self.largest else 1.0)
        near = np.flatnonzero(mean >= mean[best] - se[best] - 1e-12 * abs(mean[best]))
        return int(min(near, key=lambda i: (value[i], -mean[i], i)))


def one_standard_error(
    param: str, *, score: str = "score", largest: bool = False, n_repeats: int = 1
) -> OneStandardError:
    """A rule for `GridSearchCV(refit=)`: the simplest candidate within one standard error of the
    best.

    The standard error is that of the best candidate's mean test score, sd / sqrt(m), with the
    sample standard deviation sd over its m splits, as in `CVPath`. Among equally simple candidates
    the best score wins, then the first.

    Parameters
    ----------
    param : str
        The parameter that says what is simple: "k", or that of a step, "l0regressor__k". A name
        without its step will do where it is unique.
    score : str, default "score"
        The metric to look at where GridSearchCV has several scorings.
    largest : bool, default False
        Whether a larger value is simpler, as for lambda0.
    n_repeats : int, default 1
        Repeats of a repeated splitter, whose splits follow each other
        (`RepeatedKFold(n_repeats=10)`: 10). The standard error is then taken within each repeat and
        averaged, as in `CVPath`.

    Returns
    -------
    callable
        A function of `cv_results_`. It raises ValueError for a parameter that was not searched or
        fewer than two splits, and LookupError where every candidate failed in some split.

    References
    ----------
    - Breiman, Friedman, Olshen & Stone, Classification and Regression Trees, 1984, section 3.4.3.

    Examples
    --------
    >>> import numpy as np, l0path
    >>> from sklearn.model_selection import GridSearchCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 12))
    >>> y = X[:, 2] - 2 * X[:, 7] + 0.1 * rng.standard_normal(80)
    >>> rule = l0path.one_standard_error("k")
    >>> GridSearchCV(l0path.L0Regressor(), {"k": range(6)}, refit=rule).fit(X, y).best_params_
    {'k': 2}
    """
    if not isinstance(param, str):
        raise TypeError(f"param={param!r} must be the name of a parameter, such as 'k'")
    return OneStandardError(param, score, bool(largest), whole(n_repeats, "n_repeats", 1))
