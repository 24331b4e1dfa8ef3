"""What is said of models without a finite optimum: which columns, or levels of factors, separate
the classes (or send rates to zero, or make a likelihood monotone), and whether completely.
"""

from itertools import pairwise

import numpy as np

from ..core.arguments import some
from ..core.describing import spans
from ..core.status import FitStatus
from ..problem.recession import Untold
from ..problem.several import class_codes
from ..problem.traits import MONOTONE, ORDERED, OUTLASTS, SENT, SEPARATES
from ..working_set.limits import face_of_limit

NO_STEP = 1e-6  # a coefficient of a direction below this share of the largest is 0


def remedy(loss):
    """What is shown of separated models of a loss, and what to do, as a text."""
    some = "where it has one, " if loss.traits.recession == OUTLASTS else ""
    return (
        f"the objective is its infimum, {some}which the coefficients shown come close to; add a "
        "little shrinkage, lambda2=1e-3"
    )


def apart(fit):
    """Whether a fit is separated."""
    return FitStatus.SEPARATED in fit.flags


def complete(problem, fit):
    """Whether a separated fit predicts every class without error."""
    recession = problem.loss.traits.recession
    Z = problem.X.columns(fit.support)
    if problem.turn is not None:
        codes, eta = class_codes(problem.y), fit.b0 + Z @ (fit.b @ problem.turn)
        own = eta[np.arange(codes.size), codes]
        eta[np.arange(codes.size), codes] = -np.inf
        return bool((own > eta.max(axis=1)).all())
    eta = fit.b0 + Z @ fit.b
    if recession == ORDERED:
        inside = [eta[problem.y == c] for c in range(problem.loss.levels)]
        return all(low.max() < high.min() for low, high in pairwise(inside))
    return recession == SEPARATES and bool((problem.y * eta).min() > 0)


def separating(problem, fit, names, formula=None):
    """Names of the columns that separate at a fit, and of the levels of factors, as texts.

    A direction along which the loss falls moves a whole factor against one level where that is the
    reference level: the levels named are those whose effect along it differs from that of most of
    the rows that stay where they are.

    Parameters
    ----------
    problem : Problem
    fit : Fit
        A separated one.
    names : sequence of str
        Of all columns.
    formula : Formula, optional
        The one that made the columns.

    Returns
    -------
    list of str
        Empty where no direction is found.
    """
    J = fit.support
    Z = np.ascontiguousarray(problem.X.columns(J).T)
    box = problem.lower[J], problem.upper[J]
    level = fit.b0 if problem.turn is None else fit.b0 @ np.linalg.pinv(problem.turn)
    try:
        face = face_of_limit(problem, Z, *box, fit.b, level)
    except Untold:
        return []
    if face is None:
        return []
    width = 1 if problem.y.ndim == 1 else problem.y.shape[1] - 1
    d = face.direction[: J.size * width].reshape(J.size, width)
    level = face.direction[J.size * width :]
    level = level if problem.intercept and level.size == width else np.zeros(width)
    moved, out, said = np.abs(Z.T @ d + level).max(axis=1), [], set()
    size = np.abs(d).max(axis=1) * np.sqrt(np.mean(Z * Z, axis=1))
    moving = size > NO_STEP * size.max(initial=0.0)
    still = moved <= NO_STEP * moved.max()
    # in the units of the columns, whose dummies are 0 and 1
    scale, center = problem.X.scale[J], problem.X.center[J] if problem.centered else 0.0
    raw, d = (Z.T * scale + center).T, d / scale[:, None]
    place = {int(j): i for i, j in enumerate(J)}
    for i, j in enumerate(J.tolist()):
        if not moving[i] or i in said:
            continue
        levels, columns = _factor_of(formula, j)
        if levels and set(columns) <= set(place):
            at = [place[c] for c in columns]
            said.update(at)
            effects = np.vstack([np.zeros((len(levels) - len(at), width)), d[at]])
            rows = raw[at].T @ d[at]
            reference = len(levels) > len(at)
            rows = rows[still] if still.any() else rows
            out += _levels_apart(names[j], levels, effects, rows, reference)
        else:
            out.append(str(names[j]))
    return out


def _factor_of(formula, j):
    """(levels, columns) of the factor that has column j as a term of its own, the reference level
    first where it has no column; ((), ()) where there is none.
    """
    state = {} if formula is None else formula.levels
    for term, columns in formula.terms if state else ():
        if j in columns:
            kind, known = state.get(str(term), ("", {}))
            levels = tuple(known.get("categories", ())) if kind == "categorical" else ()
            fits = len(levels) - len(columns) in (0, 1)
            return (levels, tuple(columns)) if levels and fits else ((), ())
    return (), ()


def _levels_apart(name, levels, effects, rows, reference):
    """Texts of the levels whose effect (L, q) differs from that of most rows (n, q). reference:
    whether the first level has no column.
    """
    scale = max(float(np.abs(effects).max()), 1e-300)
    found, counts = np.unique(np.round(rows / scale, 6), axis=0, return_counts=True)
    away = np.abs(effects / scale - found[counts.argmax()]).max(axis=1) > 1e-4
    factor = str(name).split("[")[0]
    return [
        f"{factor}[{level}]" + (" (the reference level)" if reference and i == 0 else "")
        for i, level in enumerate(levels)
        if away[i]
    ]


def consequence(problem, fit, names, formula=None):
    """What the columns of a separated fit do, as a text."""
    if problem.of_each:
        return _for_responses(problem, fit, names, formula)
    recession = problem.loss.traits.recession
    if recession not in SENT and recession != MONOTONE and complete(problem, fit):
        return "separate the classes completely"
    columns = separating(problem, fit, names, formula)
    by = f" by {some(range(len(columns)), columns)}" if columns else ""
    if recession == OUTLASTS and FitStatus.NOT_CONVERGED in fit.flags:
        return f"give the times of all events without error{by}, so that their shape has no end"
    if recession in SENT:
        return f"send {SENT[recession]}{by}"
    if recession == MONOTONE:
        return f"make the likelihood monotone{by}"
    return f"separate the classes quasi-completely{by}"


def _for_responses(problem, fit, names, formula):
    """`consequence` for each of several responses whose loss has no optimum on the columns."""
    Z, told = np.ascontiguousarray(problem.X.columns(fit.support).T), {}
    box = problem.lower[fit.support], problem.upper[fit.support]
    each = zip(problem.of_each, problem.fits_of_each(fit), problem.responses, strict=True)
    for one, own, name in each:
        try:
            face = face_of_limit(one, Z, *box, own.b, own.b0)
        except Untold:
            continue
        if face is not None:
            told.setdefault(consequence(one, own, names, formula), []).append(name)
    return " and ".join(
        f"{what} ({some(range(len(which)), which)})" for what, which in told.items()
    )


def story(problem, models, names, formula=None):
    """A text on the separated models [(k, fit)] of a path, each kind once with its sizes."""
    kinds = {}
    for k, fit in models:
        kinds.setdefault(consequence(problem, fit, names, formula), []).append(k)
    units = f"{problem.units.unit}s"
    return "; ".join(
        f"at k = {spans(ks) if len(ks) > 1 else ks[0]} {units} {what}" for what, ks in kinds.items()
    )
