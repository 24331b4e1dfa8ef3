"""Write survival_values.json: what scikit-survival 0.28 says of a few rows, with Python from an
environment that has it:

    python -m venv sksurv && sksurv/bin/pip install scikit-survival==0.28.0
    sksurv/bin/python tests/data/make_survival_values.py

Its inverse probabilities of censoring come from the rows that are scored. Events happen at whole
times, and rows are censored between them: where both fall together, definitions differ. It has
Breslow's baseline hazard alone, so that of Efron's ties is computed here by its definition.
"""

import json
from pathlib import Path

import numpy as np
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.metrics import (
    brier_score,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)
from sksurv.nonparametric import kaplan_meier_estimator
from sksurv.util import Surv

FILE = Path(__file__).with_name("survival_values.json")


def hazards_by_efron(risk, time, event, at):
    """The baseline hazards at the times `at`: tied events leave the rows at risk one by one, each
    of them by a share of all.
    """
    steps = [0.0] * len(at)
    for g, t in enumerate(at):
        dead, left = np.exp(risk[event & (time == t)]), np.exp(risk[time >= t]).sum()
        for j in range(len(dead)):
            steps[g] += 1.0 / (left - j / len(dead) * dead.sum())
    return np.cumsum(steps)


def main():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 4)).round(2)
    life = np.ceil(rng.exponential(8 * np.exp(-0.7 * X[:, 0] + 0.5 * X[:, 1])))
    censored = np.floor(rng.exponential(14, 90)) + 0.5
    time, event = np.minimum(life, censored), life < censored
    train, test = slice(0, 50), slice(50, 90)
    y = Surv.from_arrays(event, time)
    out = {"X": X.tolist(), "time": time.tolist(), "event": event.astype(int).tolist()}
    for ties in ("efron", "breslow"):
        model = CoxPHSurvivalAnalysis(ties=ties, tol=1e-14).fit(X[train], y[train])
        times = np.arange(2.0, 12.0)
        curves = np.array([[f(t) for t in times] for f in model.predict_survival_function(X[test])])
        risk, rows = model.predict(X[test]), y[test]
        auc, mean_auc = cumulative_dynamic_auc(rows, rows, risk, times)
        hazards = model.predict_cumulative_hazard_function(X[test][:3], return_array=True)
        if ties == "efron":
            at = model.unique_times_
            base = hazards_by_efron(model.predict(X[train]), time[train], event[train], at)
            curves = base[np.searchsorted(at, times, side="right") - 1]
            curves = np.exp(-np.exp(risk)[:, None] * curves)
            hazards = np.exp(risk[:3])[:, None] * base
        out[ties] = {
            "coef": model.coef_.tolist(),
            "risk": risk.tolist(),
            "unique_times": model.unique_times_.tolist(),
            "hazards": hazards.tolist(),
            "concordance": float(model.score(X[test], rows)),
            "uno": float(concordance_index_ipcw(rows, rows, risk)[0]),
            "times": times.tolist(),
            "auc": auc.tolist(),
            "mean_auc": float(mean_auc),
            "brier": brier_score(rows, rows, curves, times)[1].tolist(),
            "integrated_brier": float(integrated_brier_score(rows, rows, curves, times)),
        }
    at, share = kaplan_meier_estimator(event[test], time[test])
    out["kaplan_meier"] = {"time": at.tolist(), "survival": share.tolist()}
    FILE.write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
