"""The functions that formulas know, by the names that R and Python users write."""

import functools

import numpy as np

MOST_COLUMNS = 1000  # of a spline or polynomial: a number in a file takes no more memory than that

# functions of NumPy that go element by element and are no ufuncs
ELEMENTWISE = ("clip", "round", "where")
CONSTANTS = {"pi": np.pi, "e": np.e}
CONTRASTS = ("SAS", "custom", "diff", "helmert", "poly", "sum", "treatment")
CODINGS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")  # patsy's names of contrasts

# those of NumPy that are known without "np."
PLAIN = ("exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sqrt", "abs", "round")
FACTORS = ("C", "factor")
STATEFUL = ("bs", "cc", "center", "cr", "cs", "ns", "poly", "scale", "standardize")
LEFT_SIDES = ("Surv", "several_responses")  # they make a response of several columns
TERMS = ("offset", "strata", "cluster")  # terms that are no columns
NAMES = (*PLAIN, *FACTORS, *STATEFUL, "I", "Q", "exp10")


def known(name):
    """Whether a formula may call `name`, such as "log", "np.log" or "contr.sum"."""
    start, _, end = name.partition(".")
    if start in ("np", "numpy"):
        return end in ELEMENTWISE or _ufunc(end) is not None
    if start == "contr":
        return end in CONTRASTS
    return name in (*NAMES, *LEFT_SIDES, *CODINGS) and not end


def _ufunc(name):
    """NumPy's function of numbers of this name that goes element by element; None without one."""
    found = getattr(np, name, None) if not name.startswith("_") else None
    numbers = isinstance(found, np.ufunc) and found.nout == 1 and found.nin <= 2
    return found if numbers and any(kind[0] == "d" for kind in found.types) else None


@functools.cache
def function(name):
    """The function that a formula calls by a name that is `known`."""
    from formulaic import transforms

    start, _, end = name.partition(".")
    if start == "contr":
        return getattr(transforms.ContrastsRegistry, end)
    if end and end not in ELEMENTWISE:
        return _of_numbers(_ufunc(end))
    if end or name == "round":
        return getattr(np, end or name)
    if name == "abs" or name in PLAIN:
        return _of_numbers(getattr(np, name))
    made = {
        "C": transforms.C,
        "factor": transforms.C,
        "I": lambda value: value,
        "exp10": lambda value: np.power(10.0, value),
        "ns": natural_spline,
        **dict.fromkeys(LEFT_SIDES, lambda *columns: np.column_stack(columns)),
    }
    found = made.get(name) or transforms.TRANSFORMS[name]
    return _limited(name, found) if name in STATEFUL else found


def _of_numbers(ufunc):
    """A function of NumPy, computed with floats: small whole numbers would wrap. Whole numbers of
    whole numbers stay such.
    """
    whole = any(kind == f"{'l' * ufunc.nin}->l" for kind in ufunc.types)

    def call(*values):
        if len(values) != ufunc.nin:
            raise ValueError(
                f"{ufunc.__name__} takes {ufunc.nin} argument{'s' if ufunc.nin > 1 else ''}, "
                f"got {len(values)}"
            )
        out = ufunc(*(np.asarray(value, dtype=np.float64) for value in values))
        if whole and all(np.asarray(value).dtype.kind in "bi" for value in values):
            exact = (np.abs(out) < 2.0**53) & (out == np.floor(out))
            out = out.astype(np.int64) if exact.all() else out
        return out

    return call


def _limited(name, made):
    """A transform whose number of columns is limited."""

    @functools.wraps(made)
    def call(*args, _state, **given):
        counts = [given.get("df"), given.get("degree"), *args[1:2], *args[3:4]]
        for count in counts if name not in ("center", "scale", "standardize") else ():
            if isinstance(count, (int, float)) and count > MOST_COLUMNS:
                raise ValueError(f"{name} takes df and degree up to {MOST_COLUMNS}, not {count}")
        return made(*args, _state=_state, **given)

    return call


def natural_spline(x, df=None, knots=None, intercept=False, *, _state):
    """R's ns(x, df, knots, intercept): a basis of cubic splines that are linear beyond the
    outermost knots; B-splines in the null space of their second derivatives there.

    References
    ----------
    Hastie (1992), Generalized additive models, in Statistical Models in S, section 7.2.
    """
    from scipy.interpolate import BSpline

    x, intercept = np.asarray(x, dtype=np.float64), bool(intercept)
    if not _state:
        ends = [float(x.min()), float(x.max())]
        if knots is None:
            inner = max((1 if df is None else int(df)) - 1 - intercept, 0)
            knots = np.quantile(x, np.linspace(0.0, 1.0, inner + 2)[1:-1])
        inside = sorted(float(knot) for knot in np.atleast_1d(knots))
        if ends[0] == ends[1] or (inside and not ends[0] < inside[0] <= inside[-1] < ends[1]):
            raise ValueError("ns needs knots within the range of its column, which must vary")
        _state.update(knots=inside, ends=ends)
    low, high = _state["ends"]
    steps = np.concatenate([[low] * 4, _state["knots"], [high] * 4])
    count = steps.size - 4
    keep = slice(0 if intercept else 1, None)
    every = BSpline(steps, np.eye(count), 3)
    bend = np.stack([every(end, 2) for end in (low, high)])[:, keep]
    turn = np.linalg.qr(bend.T, mode="complete")[0][:, 2:]

    def basis(at, derivative=0):
        return every(at, derivative)[:, keep]

    values = basis(np.clip(x, low, high))
    for end, outside in ((low, x < low), (high, x > high)):
        if outside.any():
            at = np.array([end])
            values[outside] += (x[outside, None] - end) * basis(at, 1)
    return {str(j + 1): column for j, column in enumerate((values @ turn).T)}
