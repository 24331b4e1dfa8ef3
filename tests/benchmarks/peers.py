"""The contestants: l0path and the packages it is compared with, each called in one place and in one
way.

A peer's `path(X, y, loss, K, threads)` returns a call without arguments that fits its whole path;
what has to be prepared once (centering y, a grid) is done before, what the peer does to X (copies,
changes of order) is its own time and memory. `supports(result, ...)` gives {k: [support, ...]} of
what a path visited. X is dense in Fortran order or CSC, y real or -1 and 1.
"""

import importlib
import importlib.metadata
import importlib.util
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import l0path

SHRINKAGE = 1e-6  # lambda2 of our paths, the same as the ridge of common.objective


class Peer(NamedTuple):
    """package: its import name; losses and sparse: what it takes."""

    package: str
    losses: tuple
    sparse: bool
    path: Callable
    supports: Callable


def by_size(columns, sizes):
    """{k: [support, ...]} for k in sizes, different supports only, of coefficient vectors (dense,
    length p).
    """
    seen = {}
    for coef in columns:
        support = np.flatnonzero(coef)
        if support.size in sizes:
            seen.setdefault(support.size, {})[support.tobytes()] = support
    return {k: list(those.values()) for k, those in sorted(seen.items())}


# -------------------- l0path itself


def ours(X, y, loss, K, algorithm="swap", **settings):
    """Call of our path with algorithm "swap", "cd", "CDPSI" or an effort ("fast", "default",
    "high").
    """
    chosen = (
        l0path.solvers.LocalSearch(effort=algorithm)
        if algorithm in ("fast", "default", "high")
        else algorithm
    )
    return lambda: l0path.fit(
        X, y, loss=loss, max_k=K, lambda2=SHRINKAGE, algorithm=chosen, **settings
    )


def our_supports(path):
    """{k: [support]} of a path, the solution of least loss + shrinkage of each size."""
    best = {}
    for s in path._solutions:
        if s.k and (s.k not in best or s.loss + s.shrinkage < best[s.k].loss + best[s.k].shrinkage):
            best[s.k] = s
    return {k: [best[k].support] for k in sorted(best)}


def profile(path):
    """(reads of X, most working columns, share of sizes verified over all columns) of our path."""
    held = path.rounds["working"].max() if "working" in path.rounds else float("nan")
    return (
        int(path.rounds["reads"].max()),
        held,
        float((path.details.optimality != "unverified").mean()),
    )


# -------------------- the peers


def abess_model(y, loss):
    """(class, response) of abess: classes are 0 and 1 there."""
    import abess

    return (
        (abess.LinearRegression, y)
        if loss == "squared"
        else (abess.LogisticRegression, (y > 0).astype(int))
    )


def abess_path(X, y, loss, K, threads):
    """Every size 0..K in one call. Its threads run over folds, so one is all a path can use; X is
    copied and scaled inside.
    """
    model, target = abess_model(y, loss)
    return lambda: model(support_size=range(K + 1), thread=1).fit(X, target)


def abess_supports(result, X, y, loss, sizes):
    """A path keeps only the model of the best criterion; the support of each size is fitted on its
    own, a fit for each.
    """
    model, target = abess_model(y, loss)
    return by_size(
        (np.ravel(model(support_size=k, thread=1).fit(X, target).coef_) for k in sizes), sizes
    )


def l1_grid(X, y):
    """100 values of the l1 penalty from the largest useful one (columns as given) down to 1/100 of
    it, for mean squared error / 2; y is centered.
    """
    return (np.abs(X.T @ y).max() / len(y) * np.geomspace(1, 1e-2, 100)).astype(X.dtype)


def celer_path(X, y, loss, K, threads):
    """Lasso path over `l1_grid`, y centered."""
    from celer import celer_path as path

    centered = (y - y.mean()).astype(X.dtype)
    alphas = l1_grid(X, centered)
    return lambda: path(X, centered, pb="lasso", alphas=alphas)


def skglm_path(X, y, loss, K, threads):
    """MCP path (gamma 3) over `l1_grid`, y centered."""
    from skglm.estimators import MCPRegression

    centered = (y - y.mean()).astype(X.dtype)
    alphas = l1_grid(X, centered)
    return lambda: MCPRegression(fit_intercept=False).path(X, centered, alphas)


def adelie_path(X, y, loss, K, threads):
    """Lasso path of 100 values with adelie's own grid and stopping rule."""
    import adelie

    model = (
        adelie.glm.gaussian(y) if loss == "squared" else adelie.glm.binomial((y > 0).astype(float))
    )
    return lambda: adelie.grpnet(X, model, progress_bar=False, n_threads=threads)


def sklearn_path(X, y, loss, K, threads):
    """Lasso path over `l1_grid`, y centered; for classes, where it has no path, l1-penalized
    liblinear for 100 values of C, from the least useful to 100 times it, until more than K columns
    are in.
    """
    from sklearn.linear_model import LogisticRegression, lasso_path
    from sklearn.svm import LinearSVC, l1_min_c

    if loss == "squared":
        centered = y - y.mean()
        alphas = l1_grid(X, centered)
        return lambda: lasso_path(X, centered, alphas=alphas)
    least = l1_min_c(X, y, loss="log" if loss == "logistic" else "squared_hinge")

    def path():
        coefs = []
        for C in least * np.geomspace(1.001, 100, 100):
            model = (
                LogisticRegression(l1_ratio=1, C=C, solver="liblinear")
                if loss == "logistic"
                else LinearSVC(penalty="l1", loss="squared_hinge", dual=False, C=C)
            )
            coefs.append(np.ravel(model.fit(X, y).coef_))
            if np.count_nonzero(coefs[-1]) > K:
                break
        return coefs

    return path


PEERS = {
    "abess": Peer("abess", ("squared", "logistic"), True, abess_path, abess_supports),
    "celer lasso": Peer(
        "celer",
        ("squared",),
        True,
        celer_path,
        lambda result, X, y, loss, sizes: by_size(result[1].T, sizes),
    ),
    "skglm MCP": Peer(
        "skglm",
        ("squared",),
        True,
        skglm_path,
        lambda result, X, y, loss, sizes: by_size(result[1].T, sizes),
    ),
    "adelie lasso": Peer(
        "adelie",
        ("squared", "logistic"),
        False,
        adelie_path,
        lambda result, X, y, loss, sizes: by_size(
            (row.toarray().ravel() for row in result.betas), sizes
        ),
    ),
    "sklearn l1": Peer(
        "sklearn",
        ("squared", "logistic", "squared_hinge"),
        True,
        sklearn_path,
        lambda result, X, y, loss, sizes: by_size(
            result[1].T if isinstance(result, tuple) else result, sizes
        ),
    ),
}


def installed(peer):
    """Whether a peer's package can be imported (a folder left behind by an uninstalled package does
    not count).
    """
    found = importlib.util.find_spec(PEERS[peer].package)
    return found is not None and found.origin is not None


def chosen(names):
    """Peers of a `--peers` option ("all", "none" or names separated by commas) that are installed;
    prints which are used and which are left out.
    """
    wanted = (
        list(PEERS)
        if names == "all"
        else []
        if names in ("", "none")
        else [name.strip() for name in names.split(",")]
    )
    unknown = [name for name in wanted if name not in PEERS]
    if unknown:
        raise SystemExit(
            f"--peers {names!r}: {unknown} not known; choose all, none or some of "
            f"{', '.join(PEERS)}"
        )
    here = [name for name in wanted if installed(name)]
    for name in wanted:
        package = "scikit-learn" if PEERS[name].package == "sklearn" else PEERS[name].package
        print(
            f"# {name}: {package} {importlib.metadata.version(package)}"
            if name in here
            else f"# {name}: {package} is not installed in this environment and left out"
        )
    return here


def contestants(X, y, loss, K, names, threads):
    """{name: call}: l0path first, then those of the peers that take this loss and this kind of
    X.
    """
    calls = {"l0path": ours(X, y, loss, K)}
    for name in names:
        peer = PEERS[name]
        if loss in peer.losses and (peer.sparse or isinstance(X, np.ndarray)):
            calls[name] = peer.path(X, y, loss, K, threads)
    return calls


def supports(name, result, X, y, loss, sizes):
    """{k: [support, ...]} for k in sizes of a contestant's result."""
    if name.startswith("l0path"):
        return {k: those for k, those in our_supports(result).items() if k in sizes}
    return PEERS[name].supports(result, X, y, loss, sizes)


def fingerprint(X):
    """A checksum of the numbers in X, to see whether a contestant changed them."""
    return zlib.crc32(X.data if hasattr(X, "indptr") else X if X.flags.c_contiguous else X.T)
