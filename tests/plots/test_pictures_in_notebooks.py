"""What notebooks show of results: HTML with small pictures."""

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
from plot_samples import plt, response

import l0path
from l0path import report

# -------------------- notebooks


def test_html_of_paths_is_well_formed(paths):
    for path in paths.values():
        html = path._repr_html_()
        ET.fromstring(f"<div>{html.replace('<br>', '<br/>')}</div>")
        assert "l0path.Path" in html and "deviance_ratio" in html and "<svg" in html


def test_html_escapes_names(X):
    path = l0path.fit(X[:, :3], response(X), feature_names=["a<b>", "c&d", "e"], max_k=2)
    assert "a<b>" not in path.model(k=2).summary()._repr_html_()


def test_html_never_fails():
    class Broken:
        table = property(lambda self: 1 / 0)

        def __repr__(self):
            return "<Broken>"

    for render in (report.path_html, report.summary_html, report.cv_html):
        assert render(Broken()) == "<pre>&lt;Broken&gt;</pre>"


def test_pictures_are_small_and_keep_to_themselves(path, paths, X):
    certificate = l0path.fit(X, response(X), lambda2=0.01, max_k=3).certify(k=2, n_best=3)
    cv = l0path.CVPath(
        path,
        pd.DataFrame({0: np.arange(17.0), 1: np.ones(17)}),
        None,
        scoring="mse",
        greater_is_better=False,
    )
    for thing in (path, paths["slices"], cv, certificate):
        html = thing._repr_html_()
        svg = ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
        assert svg.get("role") == "img" and svg.get("aria-label") and len(html) < 40_000
        assert not {"script", "style", "image"} & {node.tag.split("}")[1] for node in svg.iter()}
        assert (
            "currentColor" in html
            and report.html.INK not in html
            and "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", html)
        )
        ids = [node.get("id") for node in svg.iter() if node.get("id")]
        assert all(f"#{i}" in html for i in ids), ids
    assert "λ₂ 0.1" in paths["slices"]._repr_html_()
    assert dict(plt.rcParams)["svg.fonttype"] == plt.rcParamsDefault["svg.fonttype"]


def test_html_of_certificates(X):
    path = l0path.fit(
        X,
        response(X),
        lambda2=0.01,
        max_k=4,
        feature_names=["a<b>", *(f"x{j}" for j in range(1, 20))],
    )
    c = path.certify(k=3, n_best=4)
    html = c._repr_html_()
    assert (
        "proven optimal" in html
        and "the 4 best" in html
        and f"{c.incumbent:.4g}" in html
        and "<svg" in html
        and "a<b>" not in html
    )
    assert [
        ", ".join(m.features).replace("<", "&lt;").replace(">", "&gt;") in html for m in c.best
    ] == [True] * 4
    unbounded = replace(
        c,
        lower_bound=math.nan,
        gap=math.inf,
        proven=False,
        status="gap_not_closed",
        assumptions=["no lower bound <here>"],
    )._repr_html_()
    assert (
        "<svg" not in unbounded
        and "no lower bound &lt;here&gt;" in unbounded
        and "gap not closed" in unbounded
    )
    alone = path.certify(k=3)
    assert "<svg" not in alone._repr_html_()  # a closed gap of one model shows nothing


def test_html_of_results_holds_their_tables_and_a_picture(X):
    names = ["a<b>", *(f"x{j}" for j in range(1, 20))]
    path = l0path.fit(X, response(X), max_k=4, feature_names=names)
    some = {"feature_names": names, "random_state": 0}
    nested = l0path.nested_cv(X, response(X), outer=3, cv=3, max_k=3, **some)
    stable = l0path.stability_selection(X, response(X), k=3, n_subsamples=4, **some)
    knockoffs = l0path.knockoff_filter(X, response(X), fdr=0.5, **some)
    model = path.model(k=3)
    for thing, inside in (
        (model, f"{model.coef.iloc[1]:.4g}"),
        (nested, f"{nested.table.score[1]:.4g}"),
        (stable, str(stable.selected[0]).replace("<", "&lt;").replace(">", "&gt;")),
        (knockoffs, f"{knockoffs.statistic.max():.4g}"),
        (path.model(k=0), "(Intercept)"),
    ):
        html = thing._repr_html_()
        ET.fromstring(f"<div>{html}</div>")
        begins = "<p><b>k = " if isinstance(thing, l0path.Model) else "<p><code>&lt;l0path."
        assert html.startswith(begins) and inside in html and "a<b>" not in html
        assert ("<svg" in html) == (thing is not path._solutions and getattr(thing, "k", 1) != 0)


def test_html_without_pictures_where_matplotlib_fails(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    html = path._repr_html_()
    assert "<svg" not in html and "deviance_ratio" in html and html.startswith("<p>")


def test_html_imports_neither_statsmodels_nor_scikit_learn():
    code = (
        "import sys, numpy as np, l0path; X = np.random.default_rng(0).standard_normal((30, 3)); p "
        "= l0path.fit(X, X[:, 0]); p._repr_html_(); p[1].summary()._repr_html_(); p.explore(); "
        "assert not {'statsmodels', 'sklearn', 'matplotlib.pyplot'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
