"""Mixed-integer programs of integrality generation for HiGHS and SCIP: the hinge as variables u_i
>= 1 - y_i eta_i, u_i >= 0, the ridge as s_j >= 0 with b_j^2 <= s_j z_j.

    minimize   sum_i w_i u_i  (squared hinge: t >= sum_i w_i u_i^2)
               +  lambda1 sum_j (up_j + down_j)  +  lambda2 sum_j s_j  +  lambda0 sum_j f_j z_j
    b_j = up_j - down_j,   0 <= up_j <= upper_j z_j,   0 <= down_j <= -lower_j z_j,
    sum z <= k for a size,   0 <= z_j <= 1, binary for j in I

Source: Dedieu, Hazimeh & Mazumder (JMLR 22:135, 2021), section 4.1, with the perspective constraint
    in place of their ridge.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy

from ..problem.losses import Hinge, SquaredHinge, name_of
from ..relaxation import Dual

# SCIP's tolerance of constraints; at its own 1e-6 the quadratic ones leave 1e-4 of the objective
FEASIBLE = 1e-9


class Found(NamedTuple):
    """lower: of the program's optimum; z (p,) of its best solution, None where there is none;
    solved: it was solved to the gap asked for.
    """

    lower: float
    z: np.ndarray | None
    solved: bool


class BestSubset(NamedTuple):
    """The problem to be solved: a `relaxation.Dual`, a size or lambda0 (the other None), and
    lambda2.
    """

    dual: Dual
    size: int | None
    lambda0: float | None
    lambda2: float


class Program:
    """The program of a `BestSubset`; `solve` it for any I. solver: "highs" (hinge
    without a ridge, finite box) or "scip" (hinge or squared hinge).
    """

    def __init__(self, wanted, solver):
        dual, self.size, lambda0, lambda2 = wanted
        self.dual, self.lambda2 = dual, lambda2
        loss = dual.problem.loss
        self.J = np.flatnonzero(dual.problem.usable)
        if solver == "scip":
            scip()
        if not isinstance(loss, Hinge if solver == "highs" else Hinge | SquaredHinge):
            raise ValueError(
                f"solver={solver!r} takes the "
                f"{'hinge' if solver == 'highs' else 'hinge and the squared hinge'}, not "
                f"loss={name_of(loss)!r}; use solver='tree'"
            )
        if solver == "highs" and lambda2 > 0:
            raise ValueError(
                f"solver='highs' solves linear programs only and cannot take lambda2={lambda2:g}; "
                "use solver='tree' or 'scip'"
            )
        self.solve = self._highs if solver == "highs" else self._scip
        self.lower, self.upper = dual.lower[self.J], dual.upper[self.J]
        self.counted = dual.counted[self.J]
        self.entry_cost = np.where(
            self.counted, (lambda0 or 0.0) * dual.problem.factor[self.J], 0.0
        )

    def _spread(self, z):
        out = np.zeros(self.dual.problem.X.p)
        out[self.J] = np.where(self.counted, z, 1.0)
        return out

    def _rows(self, most, free):
        """Linear constraints of the variables up, down, z (q,), b0 (0 or 1), u (n,)."""
        from scipy.sparse import block_array, csr_array, diags_array  # slow, and rarely needed

        p, q, n = self.dual.problem, self.J.size, self.dual.problem.X.n
        YZ = csr_array(p.y[:, None] * p.X.columns(self.J))
        eye, shift = diags_array(np.ones(q)), csr_array(p.y[:, None])
        # up - upper z <= 0 for counted columns; the others have their box as bounds
        links = [
            [eye, None, -diags_array(most[0] * free), None, None],
            [None, eye, -diags_array(most[1] * free), None, None],
        ]
        A = block_array(
            [[YZ, -YZ, csr_array((n, q)), shift, diags_array(np.ones(n))], *links], format="csc"
        )
        at = np.concatenate([1.0 - p.y * p.offset, np.full(2 * q, -np.inf)])
        to = np.concatenate([np.full(n, np.inf), *np.where(self.counted, 0.0, most)])
        rows = [scipy.optimize.LinearConstraint(A, at, to)]
        if self.size is not None:
            count = np.concatenate([np.zeros(2 * q), free, np.zeros(1 + n)])
            one = csr_array(count[None, :])
            rows.append(scipy.optimize.LinearConstraint(one, -np.inf, float(self.size)))
        return rows

    def _highs(self, binary, gap, seconds):
        """Variables up, down, z (q,), b0 (0 or 1), u (n,)."""
        p, q, n = self.dual.problem, self.J.size, self.dual.problem.X.n
        free, shift = self.counted.astype(float), np.inf if p.intercept else 0.0
        most = np.maximum(self.upper, 0.0), np.maximum(-self.lower, 0.0)
        usable = np.isfinite(self.entry_cost)
        cost = np.concatenate(
            [
                np.full(2 * q, self.dual.lambda1),
                np.where(usable, self.entry_cost, 0.0),
                [0.0],
                p.weights,
            ]
        )
        ends = np.maximum(self.lower, 0.0), np.maximum(-self.upper, 0.0)
        low = np.concatenate([*ends, np.zeros(q), [-shift], np.zeros(n)])
        high = np.concatenate([*most, np.where(usable, free, 0.0), [shift], np.full(n, np.inf)])
        whole = np.zeros(cost.size)
        whole[2 * q + np.searchsorted(self.J, binary)] = 1
        options = {"mip_rel_gap": gap}
        if math.isfinite(seconds):
            options["time_limit"] = seconds
        found = scipy.optimize.milp(
            cost,
            integrality=whole,
            bounds=scipy.optimize.Bounds(low, high),
            constraints=self._rows(most, free),
            options=options,
        )
        bound = found.mip_dual_bound if whole.any() else found.fun if found.status == 0 else None
        z = None if found.x is None else self._spread(np.clip(found.x[2 * q : 3 * q], 0.0, 1.0))
        return Found(-math.inf if bound is None else float(bound), z, found.status == 0)

    def _scip(self, binary, gap, seconds):
        """The same with s_j and, for the squared hinge, t."""
        p, q, n = self.dual.problem, self.J.size, self.dual.problem.X.n
        lib = scip()
        model, Z = lib.Model(), p.X.columns(self.J)
        model.hideOutput()
        member = np.isin(self.J, binary)
        b = [
            model.addVar(lb=_bound(low), ub=_bound(high))
            for low, high in zip(self.lower, self.upper, strict=True)
        ]
        z = [
            model.addVar(
                vtype="B" if member[j] else "C",
                lb=0 if self.counted[j] else 1,
                ub=1 if np.isfinite(self.entry_cost[j]) else 0,
            )
            for j in range(q)
        ]
        u = [model.addVar(lb=0) for _ in range(n)]
        b0 = model.addVar(lb=None) if p.intercept else 0.0
        for i in range(n):
            model.addCons(
                u[i] + float(p.y[i]) * (lib.quicksum(float(Z[i, j]) * b[j] for j in range(q)) + b0)
                >= float(1.0 - p.y[i] * p.offset[i])
            )
        cost = [c * z[j] for j, c in enumerate(self.entry_cost.tolist()) if 0 < c < math.inf]
        for j in range(q):
            for sign, M in ((1.0, self.upper[j]), (-1.0, -self.lower[j])):
                if self.counted[j] and math.isfinite(M):
                    model.addCons(sign * b[j] <= float(M) * z[j])
            if self.lambda2 > 0:
                s = model.addVar(lb=0)
                model.addCons(b[j] * b[j] <= s * z[j])
                cost.append(self.lambda2 * s)
            if self.dual.lambda1 > 0:
                size = model.addVar(lb=0)
                model.addCons(size >= b[j])
                model.addCons(size >= -b[j])
                cost.append(self.dual.lambda1 * size)
        if isinstance(p.loss, Hinge):
            cost += [float(w) * v for w, v in zip(p.weights, u, strict=True)]
        else:
            t = model.addVar(lb=0)
            model.addCons(
                lib.quicksum(float(w) * v * v for w, v in zip(p.weights, u, strict=True)) <= t
            )
            cost.append(t)
        if self.size is not None:
            model.addCons(lib.quicksum(z[j] for j in np.flatnonzero(self.counted)) <= self.size)
        model.setObjective(lib.quicksum(cost))
        model.setParam("limits/gap", gap)
        model.setParam("numerics/feastol", FEASIBLE)
        if math.isfinite(seconds):
            model.setParam("limits/time", seconds)
        model.optimize()
        solved = model.getStatus() in ("optimal", "gaplimit")
        values = np.clip([model.getVal(v) for v in z], 0.0, 1.0) if model.getNSols() else None
        return Found(
            float(model.getDualbound()), None if values is None else self._spread(values), solved
        )


def _bound(value):
    """A bound in the form that SCIP takes."""
    return float(value) if math.isfinite(value) else None


def scip():
    """The module pyscipopt; ImportError, naming the extra, where it is not installed."""
    try:
        import pyscipopt
    except ImportError as error:
        raise ImportError(
            "solver='scip' needs SCIP: pip install 'l0path[mip]' (pyscipopt), or use solver='tree'"
        ) from error
    return pyscipopt
