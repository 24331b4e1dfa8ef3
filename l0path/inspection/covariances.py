"""Covariances of refits: which there are, and those for unequal variances that statsmodels does not
have for generalized linear models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arguments import whole

# what statsmodels takes, and for which refits; the names of options of each
UNEQUAL = ("HC0", "HC1", "HC2", "HC3")
IN_TIME = {"maxlags", "kernel", "weights_func", "use_correction", "scaling_factor"}
OF_CLUSTERS = {"groups", "use_correction", "df_correction", "scaling_factor"}
OPTIONS = {
    "nonrobust": set(),
    "HC0": set(),
    "HC1": set(),
    "HC2": set(),
    "HC3": set(),
    "HAC": IN_TIME,
    "cluster": OF_CLUSTERS,
    "hac-panel": IN_TIME | {"groups", "time", "df_correction"},
    "hac-groupsum": IN_TIME | {"time", "df_correction"},
}
OF_SQUARED = {"cluster-crv3": OF_CLUSTERS, "cluster-jk": OF_CLUSTERS}
ALIASES = {"nw-panel": "hac-panel", "nw-groupsum": "hac-groupsum"}
NEEDED = {
    "cluster": ("groups", "labels", "one label for each row"),
    "cluster-crv3": ("groups", "labels", "one label for each row"),
    "cluster-jk": ("groups", "labels", "one label for each row"),
    "HAC": ("maxlags", "4", "how many rows back an error may depend on"),
    "hac-panel": ("maxlags", "4", "how many rows back an error may depend on"),
    "hac-groupsum": ("maxlags", "4", "how many times back an error may depend on"),
}
CHOICES = (
    "choose 'nonrobust', 'HC0' to 'HC3' (unequal variances), 'cluster' (dependent rows), or 'HAC', "
    "'hac-panel' and 'hac-groupsum' (dependence in time)"
)
FULL = 1e-10  # leverage this near to 1 is 1 but for rounding


def checked_covariance(kind: Any, kwds: dict, loss: str, *, linear: bool, squared: bool) -> str:
    """The name of a covariance as statsmodels has it; ValueError for one that it does not have for
    a refit, and for options that do not belong to it.

    linear: whether it is a linear or generalized linear model, whose rows have leverages.
    """
    if kind is None:
        kind = "nonrobust"
    if not isinstance(kind, str):
        raise TypeError(f"cov_type={kind!r} must be a name; {CHOICES}")
    options = OPTIONS | (OF_SQUARED if squared else {})
    known = {name.lower(): name for name in options}
    known |= {name: known[other] for name, other in ALIASES.items()}
    name = known.get(kind.lower())
    if name is None:
        raise ValueError(f"cov_type={kind!r} is not known for loss={loss!r}; {CHOICES}")
    if name in UNEQUAL[1:] and not linear:
        raise ValueError(
            f"cov_type={kind!r} corrects the sandwich of linear and generalized linear models, and "
            f"the refit of loss={loss!r} is none; pass cov_type='HC0', the sandwich itself"
        )
    # least squares in statsmodels says nothing of a scaling factor, and does not use it
    taken = options[name] - ({"scaling_factor"} if squared else set())
    odd = [one for one in kwds if one not in taken]
    if odd:
        takes = ", ".join(map(repr, sorted(taken))) or "none"
        raise ValueError(
            f"cov_kwds has {odd[0]!r}, which cov_type={kind!r} does not take (its options: "
            f"{takes}); leave it out, or choose another cov_type"
        )
    if name in NEEDED and NEEDED[name][0] not in kwds:
        option, example, meaning = NEEDED[name]
        raise ValueError(f"cov_type={kind!r} needs cov_kwds={{{option!r}: {example}}}, {meaning}")
    if name == "hac-groupsum" and "time" not in kwds:
        raise ValueError(f"cov_type={kind!r} needs 'time' in cov_kwds, the time of each row")
    if name == "hac-panel" and not {"groups", "time"} & set(kwds):
        raise ValueError(
            f"cov_type={kind!r} needs 'groups' or 'time' in cov_kwds: a label for each row, which "
            "are sorted by it"
        )
    if "maxlags" in kwds:
        whole(kwds["maxlags"], "cov_kwds['maxlags']", 0)
    return name


def checked_leverages(results: Any, kind: str) -> np.ndarray:
    """(n,) the leverages of the rows of a linear or generalized linear model, none of which may be
    1 for HC2 and HC3.
    """
    inner = results._results
    if "wexog" in vars(inner.model):
        A = inner.model.wexog
        h = (A * np.linalg.pinv(A).T).sum(axis=1)
    else:
        h = inner.get_hat_matrix_diag()
    full = np.flatnonzero(h > 1.0 - FULL)
    if kind != "HC1" and full.size:
        rows = ", ".join(str(inner.model.data.row_labels[i]) for i in full[:5])
        raise ValueError(
            f"cov_type={kind!r} divides by one less the leverage of each row, which is 0 for "
            f"{'row' if full.size == 1 else 'rows'} {rows}: a coefficient is known by such a row "
            "alone, as that of a level of a factor which one row has; pass cov_type='HC0' or "
            "'HC1', or merge levels"
        )
    return h


def take_unequal_variances(results: Any, kind: str) -> None:
    """Give the results of a generalized linear model with the covariance HC0 another one, of which
    statsmodels has the names alone: B S'S B with the inverse information B and the scores S of the
    rows, HC1: times n / (n - k), HC2 and HC3: S over the root of 1 - h, or over 1 - h, for the
    leverages h.

    References
    ----------
    Zeileis, Object-oriented computation of sandwich estimators, Journal of Statistical Software
    16 (2006), section 4; R's `sandwich::vcovHC` for `glm` is the same (but with the expected
    information where the link is not canonical).
    """
    inner = results._results
    h = checked_leverages(results, kind)
    S, B = inner.model.score_obs(inner.params), inner.model.hessian(inner.params)
    power = {"HC1": 0.0, "HC2": 0.5, "HC3": 1.0}[kind]
    T = np.linalg.solve(B, (S / ((1.0 - h) ** power)[:, None] if power else S).T)
    factor = inner.nobs / inner.df_resid if kind == "HC1" else 1.0
    inner.cov_type, inner.cov_params_default = kind, factor * (T @ T.T)
    inner.cov_kwds["description"] = f"Standard Errors are heteroscedasticity robust ({kind})"
