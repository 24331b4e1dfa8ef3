"""Quality against time of l0path and other packages, as the page docs/measurements.md shows it: the
figure docs/assets/results.png, and the table of the page, between its two marks.
"""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import (
    INSTANCES,
    agreement,
    arguments,
    fix_threads,
    instance,
    measured,
    objectives,
    reference,
)
from peers import PEERS, by_size, installed, our_supports, ours

import l0path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / name for name in ("docs/results.md", "docs/measurements.md", "README.md")]
ASSETS = ROOT / "docs" / "assets"
STORED = ("L0Learn_CD", "L0Learn_CDPSI")  # peers with stored objectives
LIMITS = (0.1, 0.5)  # seconds that El0ps has for each value of lambda0
VALUES = 10  # of lambda0, of El0ps
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


class Contestant(NamedTuple):
    """A package at a setting: `fit()` is timed, `supports(result)` gives {k: [support, ...]}."""

    package: str
    setting: str
    fit: Callable
    supports: Callable


def cases(smoke):
    """{name: (X, y, largest size)}: two simulated instances, and two real ones."""
    out = {}
    for name in ("sq_ar9", "sq_const"):
        spec = {**INSTANCES[name], "n": 200, "p": 400, "k": 10}
        spec = {**spec, "n": 100, "p": 100, "k": 5} if smoke else spec
        X, y = instance(**spec)[:2]
        out[f"{name}, {spec['n']} x {spec['p']}"] = X, y, 5 if smoke else 12
    data = l0path.datasets.load_diabetes()
    X = np.asarray(data.X, dtype=float)
    pairs = [X[:, i] * X[:, j] for i in range(X.shape[1]) for j in range(i, X.shape[1])]
    X = np.column_stack([X, *pairs])
    X = X[:, np.unique(np.round(standard(X), 9), axis=1, return_index=True)[1]]
    out[f"diabetes with squares and products, {len(X)} x {X.shape[1]}"] = X, data.y, 12
    data = l0path.datasets.load_tecator()
    X = np.asarray(data.X, dtype=float)
    out[f"tecator (spectra), {len(X)} x {X.shape[1]}"] = X, np.asarray(data.y, dtype=float), 8
    return {
        name: (np.asfortranarray(standard(X)), np.ravel(y), K) for name, (X, y, K) in out.items()
    }


def standard(X):
    """Columns with mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def contestants(X, y, K):
    """The contestants that are installed."""
    out = [
        Contestant("l0path", effort, ours(X, y, "squared", K, effort, certify=False), our_supports)
        for effort in ("fast", "default", "high")
    ]
    sizes = range(1, K + 1)
    for name in ("abess", "skglm MCP", "sklearn l1"):
        if installed(name):
            peer = PEERS[name]
            found = lambda result, peer=peer: peer.supports(result, X, y, "squared", sizes)  # noqa: E731
            out.append(Contestant(name, "", peer.path(X, y, "squared", K, 1), found))
        else:
            print(f"# {name} is not installed and left out")
    try:
        out += el0ps(X, y, K)
    except ImportError:
        print("# El0ps is not installed and left out")
    return out


def el0ps(X, y, K):
    """El0ps on a grid of lambda0, with a limit of seconds for each value, and in a box of 1.5 times
    the largest coefficient of our models, without which its bounds are weak. A first fit compiles.
    """
    from el0ps.datafit import Leastsquares
    from el0ps.path import Path as Grid
    from el0ps.penalty import BigmL2norm
    from el0ps.solver import BnbSolver

    centered = y - y.mean()
    models = l0path.fit(X, y, max_k=K, certify=False)._solutions[1:]
    box = 1.5 * max(float(np.abs(s.beta).max()) for s in models)
    top = float(((X.T @ centered) ** 2 / (2.0 * (X * X).sum(axis=0))).max())

    def fit(limit):
        grid = Grid(
            lmbds=list(top * np.geomspace(1.0, 1e-3, VALUES)),
            lmbd_normalized=False,
            max_nnz=K,
            stop_if_not_optimal=False,
            verbose=False,
        )
        penalty = BigmL2norm(box, 1e-3 * len(y))
        found = grid.fit(BnbSolver(time_limit=limit), Leastsquares(centered), penalty, X)
        return by_size((one.x for one in found.values()), range(1, K + 1))

    fit(LIMITS[0])
    return [
        Contestant("El0ps", f"{limit:g} s a value", lambda limit=limit: fit(limit), dict)
        for limit in LIMITS
    ]


def rows_of(X, y, K, repeats):
    """[(package, setting, seconds, mean excess in %, number of sizes)] of an instance."""
    found = []
    for one in contestants(X, y, K):
        try:
            result = one.fit()  # once untimed: it may compile
            seconds = [measured(one.fit)[0] for _ in range(repeats)]
            values = objectives(X, y, "squared", one.supports(result))
        except Exception as error:
            print(f"# {one.package} failed and is left out: {type(error).__name__}: {error}")
            continue
        values = {k: v for k, v in values.items() if 1 <= k <= K}
        found.append((one, float(np.median(seconds)), values))
        print(f"# {one.package} {one.setting}: {seconds[-1]:.3g} s", flush=True)
    best = {}
    for _, _, values in found:
        for k, value in values.items():
            best[k] = min(value, best.get(k, np.inf))
    out = []
    for one, seconds, values in found:
        over = [100.0 * (v / best[k] - 1.0) for k, v in values.items()]
        excess = float(np.mean(over)) if over else np.nan
        out.append((one.package, one.setting, seconds, excess, len(values)))
    return out


def figure(table, file):
    """A panel for each instance: the mean excess over time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    down = -(-len(table) // 2)
    fig, axes = plt.subplots(down, 2, figsize=(8.4, 3.1 * down + 0.4), layout="constrained")
    names = list(dict.fromkeys(row[0] for rows in table.values() for row in rows))
    color = dict(zip(names, cycle(COLORS), strict=False))
    for ax, (case, rows) in zip(np.ravel(axes), table.items(), strict=False):
        for name in names:
            points = sorted((s, e) for n, _, s, e, _ in rows if n == name and np.isfinite(e))
            if points:
                at, over = np.array(points).T
                ax.plot(at, over, "o-", color=color[name], label=name)
        ax.set(xscale="log", title=case, xlabel="seconds")
        ax.set_yscale("symlog", linthresh=0.01)
        most = max(excess for *_, excess, _ in rows if np.isfinite(excess))
        ax.set_ylim(-0.002, max(0.1, 3.0 * most))
        ax.margins(x=0.08)
        ax.title.set_fontsize(10)
        ax.spines[["top", "right"]].set_visible(False)
    fig.supylabel("objective above the best found, %", fontsize=10)
    handles = {}
    for ax in np.ravel(axes):
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    fig.legend(
        handles.values(), handles, loc="outside lower center", ncols=len(handles), frameon=False
    )
    fig.savefig(file, dpi=110)


def text_of(table):
    """The table in Markdown."""
    lines = [
        "| data | package | seconds | objective above the best, % | sizes |",
        "|---|---|---|---|---|",
    ]
    for case, rows in table.items():
        for name, setting, seconds, excess, sizes in rows:
            which = f"{name} ({setting})" if setting else name
            lines.append(f"| {case} | {which} | {seconds:.3g} | {excess:.3g} | {sizes} |")
    return "\n".join(lines)


def against_l0learn(folder, K=25):
    """Table in Markdown: our objectives of sizes 1 to K against those that L0Learn reached."""
    lines = [
        "| data | L0Learn | sizes | l0path lower | equal | higher | L0Learn above, mean % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, stored in reference(folder).items():
        spec = INSTANCES[name]
        X, y = instance(**spec)[:2]
        path = ours(X, y, spec["loss"], K, "default", certify=False)()
        own = objectives(X, y, spec["loss"], our_supports(path))
        for peer in STORED:
            found = agreement(own, {k: v for k, v in stored[peer].items() if 1 <= k <= K})
            lower = round(found.better * found.cells)
            higher = len(found.worse_at)
            counts = f"{found.cells} | {lower} | {found.cells - lower - higher} | {higher}"
            above = 100.0 * np.expm1(-found.mean_log)
            case = f"{name}, {spec['n']} x {spec['p']}"
            lines.append(f"| {case} | {peer.removeprefix('L0Learn_')} | {counts} | {above:.3g} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def put(mark, made):
    """Write Markdown between the two marks of that name, into the page that has them."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    (page,) = [page for page, text in texts.items() if begin in text]
    before, rest = texts[page].split(begin)
    after = rest.split(end)[1]
    page.write_text(f"{before}{begin}\n\n{made}\n\n{end}{after}", encoding="utf-8")


def main():
    """Write figure and table; with --smoke print the table only. With --reference the table
    against L0Learn is written, and nothing else.
    """
    args = arguments(
        __doc__,
        remark=("", "a sentence below the table"),
        reference=("", "folder of NAME.json with objectives of L0Learn"),
    )
    fix_threads(args.threads)
    if args.reference:
        put("l0learn", against_l0learn(args.reference))
        return
    table = {}
    for case, (X, y, K) in cases(args.smoke).items():
        table[case] = rows_of(X, y, K, 1 if args.smoke else args.repeats)
        print(text_of({case: table[case]}), flush=True)
    if args.smoke:
        return
    figure(table, ASSETS / "results.png")
    put("results", "\n\n".join(part for part in (text_of(table), args.remark) if part))


if __name__ == "__main__":
    main()
