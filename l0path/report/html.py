"""Displays in a notebook: HTML for paths, cross-validations, certificates and summaries with a
small picture, never failing: the text stands in.
"""

import re
import textwrap
from functools import wraps
from html import escape
from io import StringIO

import numpy as np
import pandas as pd

from ..core.describing import gap_text
from ..cross_validation.result import CV_RULES
from ..paths.path import SHRINKAGE

HEAD = 8  # rows of the table that are shown
FEATURES = 80  # characters of a list of features
STYLE = "border-collapse:collapse;font-size:90%"
COLORS = (
    "#1F7FBF",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#808080",
)  # seen on white and on black


def _safe(render):
    """The rendering, or the text where anything goes wrong."""

    @wraps(render)
    def shown(thing):
        try:
            return render(thing)
        except Exception:  # a repr must not raise
            try:
                return f"<pre>{escape(repr(thing))}</pre>"
            except Exception:
                return f"<pre>{escape(object.__repr__(thing))}</pre>"

    return shown


def _table(frame):
    """A small HTML table of a DataFrame whose cells are text, on the left, or numbers."""
    text = [
        all(isinstance(value, str) for value in frame.iloc[:, j]) for j in range(frame.shape[1])
    ]
    cell = [f"padding:2px 8px;text-align:{'left' if left else 'right'}" for left in (False, *text)]
    head = "".join(
        f'<th scope="col" style="{style}">{escape(str(name))}</th>'
        for name, style in zip(["", *frame.columns], cell, strict=True)
    )
    rows = []
    for label, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        cells = "".join(
            f'<td style="{style}">{escape(_cell(value))}</td>'
            for value, style in zip(row, cell[1:], strict=True)
        )
        rows.append(f'<tr><th scope="row" style="{cell[0]}">{escape(str(label))}</th>{cells}</tr>')
    body = "".join(rows)
    return f'<table style="{STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value):
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)


INK = "#010203"  # stands for the color of the text around, which a dark notebook makes light


def picture(draw, alt):
    """A small SVG of what draw(ax) draws, by matplotlib, without scripts, and with nothing that
    reaches beyond itself; "" where that fails, for a repr must not.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        keys = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        with rc_context(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "l0path",
                "font.size": 8,
                "axes.linewidth": 0.6,
                "axes.spines.top": False,
                "axes.spines.right": False,
                **dict.fromkeys(keys, INK),
            }
        ):
            figure = Figure(figsize=(3.4, 2.1), layout="constrained")
            draw(figure.subplots())
            file = StringIO()
            figure.savefig(
                file,
                format="svg",
                transparent=True,
                metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
            )
        svg = file.getvalue()
        svg = re.sub(
            r"<style.*?</style>|<metadata>.*?</metadata>|<!--.*?-->",
            "",
            svg[svg.index("<svg") :],
            flags=re.DOTALL,
        )  # the style sheet would hold for the whole page
        used = set(re.findall(r"#(\w+)", svg))
        svg = re.sub(
            r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", svg
        )  # a page with several pictures would have them twice
        svg = re.sub(r"font-family:[^;\"]*", "font-family: sans-serif", svg)
        svg = re.sub(r"\n\s*", " ", svg.replace(INK, "currentColor"))
        return svg.replace(
            "<svg ",
            f'<svg role="img" aria-label="{escape(alt)}" style="max-width:100%;height:auto" ',
            1,
        )
    except Exception:
        return ""


def _lines(ax, curves, xlabel, ylabel):
    """Curves [(x, y, name)] with dots, whole numbers below."""
    from ..plots import style

    for c, (x, y, name) in enumerate(curves):
        ax.plot(
            x,
            y,
            label=name,
            color=COLORS[c % len(COLORS)],
            linewidth=1.2,
            marker="o" if len(x) <= 40 else None,
            markersize=2.5,
        )
    style.whole_ticks(ax.xaxis)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if len(curves) > 1:
        ax.legend(frameon=False, fontsize=6)


def _side_by_side(left, right):
    style = "display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start"
    return f'<div style="{style}"><div>{left}</div><div>{right}</div></div>'


def _notes(notes):
    items = "".join(f"<li>{escape(str(note))}</li>" for note in notes[:5])
    return f'<ul style="font-size:85%;margin:4px 0">{items}</ul>' if items else ""


def _curves(path, values):
    """(k, value, name) of each slice, at most seven, spread over all; no names where there is one
    slice.
    """
    slices = sorted({s.slice for s in path._solutions})
    shown = (
        [
            slices[i]
            for i in sorted(
                set(np.linspace(0, len(slices) - 1, min(len(slices), 7)).astype(int).tolist())
            )
        ]
        if slices
        else []
    )
    rows = [[i for i, s in enumerate(path._solutions) if s.slice == slice] for slice in shown]
    names = [_shrinkage(path._solutions[of[0]]) if len(rows) > 1 else None for of in rows]
    return [
        ([path._solutions[i].k for i in of], [values[i] for i in of], name)
        for of, name in zip(rows, names, strict=True)
    ]


def _shrinkage(s):
    mixed = f", relax {s.relax:.3g}" if s.relax < 1.0 else ""
    return f"λ₁ {s.lambda1:.3g}, λ₂ {s.lambda2:.3g}{mixed}"


@_safe
def path_html(path):
    """A header, the head of the table, and deviance ratio against k."""
    table = path.details
    names = [
        "k",
        "n_features",
        "slice",
        "lambda0",
        "objective",
        "deviance_ratio",
        "optimality",
        "flags",
        "features",
    ]
    drop = {"slice"} if table["slice"].nunique() < 2 else set()
    drop |= {name for name in ("lambda0",) if table[name].isna().all()} | (
        {"flags"} if not table["flags"].any() else set()
    )
    head = table[[name for name in names if name not in drop]].head(HEAD)
    head["features"] = [_short(text) for text in head.features]
    more = (
        f'<p style="font-size:85%;margin:2px 0">{len(table) - HEAD} more rows in path.table</p>'
        if len(table) > HEAD
        else ""
    )
    svg = picture(
        lambda ax: _lines(
            ax, _curves(path, table["deviance_ratio"].to_numpy()), "k", "deviance ratio"
        ),
        "deviance ratio against the size k",
    )
    return (
        f"<p><code>{escape(repr(path))}</code></p>"
        + _side_by_side(_table(head) + more, svg)
        + _notes(path.notes)
    )


@_safe
def summary_html(summary):
    """Header lines and the table of a `Summary`."""
    from ..inspection.summaries import NOTE

    lines = "<br>".join(escape(line) for line in summary.lines())
    body = _table(summary.formatted()) if len(summary.table) else "<p>intercept only</p>"
    if summary.coef is not None and len(summary.coef) and not summary.one_table:
        body = _side_by_side(body, _table(summary.coef))
    return f'<p>{lines}</p>{body}<p style="font-size:85%;max-width:60em">{escape(NOTE)}</p>'


@_safe
def cv_html(cv):
    """The choices, and the held-out score against k."""
    table = cv.scores
    chosen = {}
    for which in CV_RULES:
        try:
            chosen.setdefault(cv.select(which), []).append(which)
        except LookupError:
            continue
    rows = table.loc[
        list(chosen),
        [
            name
            for name in ("k", "n_features", *SHRINKAGE, "cv_mean", "cv_se")
            if not table[name].isna().all()
        ],
    ]
    rows.index = [" = ".join(names) for names in chosen.values()]
    svg = picture(
        lambda ax: _scores(ax, cv, table, list(chosen)),
        f"held-out {cv._scoring} against the size k",
    )
    return (
        f"<p><code>{escape(repr(cv))}</code></p>"
        + _side_by_side(_table(rows), svg)
        + _notes(getattr(cv, "notes", []))
    )


def _scores(ax, cv, table, chosen):
    """Held-out scores of the slices, bars of one standard error in that of the first choice, a ring
    around each choice.
    """
    _lines(ax, _curves(cv, table["cv_mean"].to_numpy()), "k", f"held-out {cv._scoring}")
    if chosen:
        part = table[[s.slice == cv._solutions[chosen[0]].slice for s in cv._solutions]]
        if part["cv_se"].notna().any():
            ax.errorbar(
                part["k"],
                part["cv_mean"],
                yerr=part["cv_se"].fillna(0.0),
                fmt="none",
                ecolor=COLORS[-1],
                elinewidth=0.8,
                zorder=1,
            )
        ax.plot(
            table.loc[chosen, "k"],
            table.loc[chosen, "cv_mean"],
            "o",
            color=COLORS[1],
            markerfacecolor="none",
            markersize=7,
        )


@_safe
def certificate_html(certificate):
    """The model, the verdict and numbers, the best models where several were asked for, and where
    objectives and bound lie.
    """
    c, m = certificate, certificate.model
    names, unit = c._names(c.fixed_in), f"{m.path._meta.units.unit}s"
    needed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    rows = [
        (c._score, f"{c.incumbent:.6g}"),
        *([] if c.proven else [("lower bound", f"{c.lower_bound:.6g}")]),
        ("gap", gap_text(c.gap, c.proven) if np.isfinite(c.gap) else "no bound"),
        ("deviance ratio", m.deviance_ratio),
        *([("its bound for a best model", c.deviance_ratio_bound)] if c._bounded else []),
        *([("only best model", "yes")] if c.unique else []),
        *([("in every best model", needed)] if needed and not c.unique else []),
        *([(f"{unit} in no best model", len(c.fixed_out))] if c.fixed_out.size else []),
        ("search", c.search or "none: the bound decides"),
        ("seconds", c.seconds),
    ]
    body = _pairs(rows)
    if len(c.best) > 1:
        best = pd.DataFrame(
            {
                "k": [b.k for b in c.best],
                c._score: [f"{value:.6g}" for value in c._values()],
                "deviance ratio": [b.deviance_ratio for b in c.best],
                "features": [_short(", ".join(map(str, b.groups))) for b in c.best],
            },
            index=range(1, len(c.best) + 1),
        )
        body += f"<p>the {len(best)} best</p>" + _table(best.head(HEAD))
    seen = not c.criterion and np.isfinite(c.lower_bound)
    svg = (
        picture(lambda ax: _ladder(ax, c), "objectives of the best models, and the lower bound")
        if seen and (len(c.best) > 1 or not c.proven)  # else there is nothing to see
        else ""
    )
    return _model_first(m._line(), c._verdict()) + _side_by_side(body, svg) + _notes(c._assumed)


def _model_first(line, *said):
    """The line of a model (`describing.model_line`), and below it what is said of it."""
    of, _, chosen = line.partition(": ")
    lines = "".join(f"<br/>{escape(str(one))}" for one in said)
    return f"<p><b>{escape(of)}</b>: {escape(chosen)}{lines}</p>"


def _pairs(rows):
    """A table of [(name, value)]."""
    names, values = zip(*rows, strict=True)
    return _table(pd.DataFrame({"": list(map(_cell, values))}, index=names))


def _short(text):
    return textwrap.shorten(text, FEATURES, placeholder=" …")


def _ladder(ax, c):
    """Objectives of the best models in order, and the bound that none lies below."""
    from ..plots import style

    value = [b.objective for b in c.best]
    rank = np.arange(1, len(value) + 1)
    ax.axhspan(c.lower_bound, value[0], color=COLORS[0], alpha=0.18, linewidth=0)
    ax.axhline(c.lower_bound, color=COLORS[1], linewidth=1.2, linestyle=(0, (4, 2)))
    ax.plot(rank, value, "o", color=COLORS[0], markersize=4)
    ax.annotate(
        "lower bound",
        (1.0, c.lower_bound),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
    )
    style.whole_ticks(ax.xaxis)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.set(xlim=(0.5, len(value) + 0.5), xlabel="rank", ylabel="objective")
