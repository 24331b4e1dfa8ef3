"""What a notebook shows: HTML for paths, summaries and cross-validations, quick, without matplotlib, and never failing: the text stands in."""
from functools import wraps
from html import escape

import numpy as np

HEAD = 8  # rows of the table that are shown
STYLE = "border-collapse:collapse;font-size:90%"
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


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
    """A small HTML table of a DataFrame whose cells are text or numbers."""
    cell = "padding:2px 8px;text-align:right"
    head = "".join(f'<th style="{cell}">{escape(str(name))}</th>' for name in ["", *frame.columns])
    rows = []
    for label, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        cells = "".join(f'<td style="{cell}">{escape(_cell(value))}</td>' for value in row)
        rows.append(f'<tr><th style="{cell}">{escape(str(label))}</th>{cells}</tr>')
    return f'<table style="{STYLE}"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _cell(value):
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def picture(curves, xlabel, ylabel, width=320, height=170):
    """An SVG of a few curves, [(x, y)], axes from 0 or the least value, ticks at the ends."""
    curves = [(np.asarray(x, float), np.asarray(y, float)) for x, y in curves]
    curves = [(x[np.isfinite(y)], y[np.isfinite(y)]) for x, y in curves]
    curves = [(x, y) for x, y in curves if x.size]
    if not curves:
        return ""
    xs, ys = np.concatenate([x for x, _ in curves]), np.concatenate([y for _, y in curves])
    x0, x1, y0, y1 = xs.min(), xs.max(), ys.min(), ys.max()
    left, right, top, bottom = 46, 8, 8, 34
    across, down = width - left - right, height - top - bottom

    def px(v):
        return left + across * (v - x0) / (x1 - x0) if x1 > x0 else left + across / 2

    def py(v):
        return top + down * (y1 - v) / (y1 - y0) if y1 > y0 else top + down / 2

    parts = [f'<line x1="{left}" y1="{top + down}" x2="{left + across}" y2="{top + down}" stroke="#6b6b6b" stroke-width="0.8"/>',
             f'<line x1="{left}" y1="{top}" x2="{left}" y2="{top + down}" stroke="#6b6b6b" stroke-width="0.8"/>']
    for c, (x, y) in enumerate(curves):
        points = " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in zip(x, y, strict=True))
        color = COLORS[c % len(COLORS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        if x.size <= 40:
            parts += [f'<circle cx="{px(a):.1f}" cy="{py(b):.1f}" r="2" fill="{color}"/>' for a, b in zip(x, y, strict=True)]
    text = 'font-family="sans-serif" font-size="11" fill="#444"'
    parts += [f'<text x="{px(v):.1f}" y="{top + down + 14}" text-anchor="{anchor}" {text}>{v:.4g}</text>' for v, anchor in ([(x0, "start"), (x1, "end")] if x1 > x0 else [(x0, "middle")])]
    parts += [f'<text x="{left - 4}" y="{py(v) + 4:.1f}" text-anchor="end" {text}>{v:.3g}</text>' for v in sorted({y0, y1})]
    parts.append(f'<text x="{left + across / 2}" y="{height - 6}" text-anchor="middle" {text}>{escape(xlabel)}</text>')
    middle = top + down / 2
    parts.append(f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})" {text}>{escape(ylabel)}</text>')
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg>'


def _side_by_side(left, right):
    return f'<div style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start"><div>{left}</div><div>{right}</div></div>'


def _notes(notes):
    items = "".join(f"<li>{escape(str(note))}</li>" for note in notes[:5])
    return f'<ul style="font-size:85%;margin:4px 0">{items}</ul>' if items else ""


def _curves(path, values):
    """(k, value) of each slice, at most seven, spread over all."""
    slices = sorted({s.slice for s in path.solutions})
    shown = [slices[i] for i in sorted(set(np.linspace(0, len(slices) - 1, min(len(slices), 7)).astype(int).tolist()))] if slices else []
    rows = {slice: [i for i, s in enumerate(path.solutions) if s.slice == slice] for slice in shown}
    return [([path.solutions[i].k for i in of], [values[i] for i in of]) for of in rows.values()]


@_safe
def path_html(path):
    """A header, the head of the table, and deviance ratio against k."""
    table = path.table
    names = ["k", "n_nonzero", "slice", "lambda0", "objective", "deviance_ratio", "optimality", "flags"]
    drop = {"slice"} if table["slice"].nunique() < 2 else set()
    drop |= {name for name in ("lambda0",) if table[name].isna().all()} | ({"flags"} if not table["flags"].any() else set())
    head = table[[name for name in names if name not in drop]].head(HEAD)
    more = f'<p style="font-size:85%;margin:2px 0">{len(table) - HEAD} more rows in path.table</p>' if len(table) > HEAD else ""
    svg = picture(_curves(path, table["deviance_ratio"].to_numpy()), "k", "deviance ratio")
    return f"<p><code>{escape(repr(path))}</code></p>" + _side_by_side(_table(head) + more, svg) + _notes(path.notes)


@_safe
def summary_html(summary):
    """Header lines and the table of a `Summary`."""
    from .inspection.summaries import NOTE

    lines = "<br>".join(escape(line) for line in summary.lines())
    body = _table(summary.formatted()) if len(summary.table) else "<p>intercept only</p>"
    if summary.coef is not None and len(summary.coef):
        body = _side_by_side(body, _table(summary.coef))
    return f'<p>{lines}</p>{body}<p style="font-size:85%;max-width:60em">{escape(NOTE)}</p>'


@_safe
def cv_html(cv):
    """The choices, and the held-out score against k."""
    table = cv.table
    chosen = {}
    for which in ("min", "1se"):
        try:
            chosen.setdefault(cv.index(which) if callable(cv.index) else cv.model(which).index, []).append(which)
        except LookupError:
            continue
    rows = table.loc[list(chosen), [name for name in ("k", "n_nonzero", "lambda0", "lambda1", "lambda2", "cv_mean", "cv_se") if not table[name].isna().all()]]
    rows.index = [" = ".join(names) for names in chosen.values()]
    svg = picture(_curves(cv.path, table["cv_mean"].to_numpy()), "k", f"held-out {cv.scoring}")
    return f"<p><code>{escape(repr(cv))}</code></p>" + _side_by_side(_table(rows), svg) + _notes(getattr(cv, "notes", []))
