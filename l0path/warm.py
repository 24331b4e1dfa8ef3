"""Compile and store the kernels ahead of time, visibly: tiny fits of every kind, and their kernels
compiled in several processes.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from functools import partial

import numpy as np

from .compiled import HELPING_PROCESSES, processes, shipped
from .core.progress import Bar
from .designs import Dense, blocks
from .fitting import fit
from .problem.losses import COUPLED, NAMES, SEVERAL, canonical_name, traits_named

# of a loss, beside its default fit without proofs; "sizes": the proofs of certify="auto"
PARTS = ("sizes", "cd", "CDPSI", "sparse", "sparse cd", "sparse CDPSI")
OTHERS = ("certify", "exact", "groups", "dual", "gradient", "blocks")

# responses of the kinds that losses take, from a linear predictor
EXAMPLES = {
    "real": lambda eta: eta,
    "classes": lambda eta: np.where(eta > 0, 1, -1),
    "shares": lambda eta: np.where(np.abs(eta) < 1, 0.5, eta > 0),
    "positive": lambda eta: np.exp(np.clip(eta, -2, 2)),
    "amounts": lambda eta: np.exp(np.clip(eta, -2, 2)) * (eta > -1),
    "counts": lambda eta: np.floor(np.exp(np.clip(eta, -2, 2))),
    "ordered": lambda eta: np.digitize(eta, [-1.0, 1.0]),
    "survival": lambda eta: np.column_stack([np.exp(-eta), np.arange(eta.size) % 3 > 0]),
}


def _data():
    """X (40, 6) and a linear predictor (40,)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    return X, X[:, 0] - X[:, 1] + rng.standard_normal(40)


def _response(loss, eta):
    """A response of the kind that the loss takes."""
    return EXAMPLES[traits_named(loss).response](eta)


def _of_loss(loss, part):
    """The tiny fits of one loss: its default one, one of `PARTS`, "groups" or "certify"."""
    from scipy.sparse import csc_array

    X, eta = _data()
    y = _response(loss, eta)
    design = csc_array(X) if part.startswith("sparse") else X
    algorithm = part.rpartition(" ")[2]
    if part == "groups":
        fit(X, y, loss=loss, max_k=2, lambda2=1e-3, groups=[0, 0, 1, 1, 2, 2])
    elif part == "certify":
        fit(X, y, loss=loss, max_k=3, lambda2=1e-2, certify=True).certify(k=2)
    elif algorithm == "cd":
        fit(design, y, loss=loss, max_k=3, lambda1=1e-3, lambda0="grid", algorithm="cd")
    else:
        more = {"algorithm": "CDPSI"} if algorithm == "CDPSI" else {}
        more["certify"] = "auto" if part == "sizes" else False
        fit(design, y, loss=loss, max_k=3, lambda2=1e-3, **more)


def _moments():
    """Kernels of dense designs that are larger than the tiny ones."""
    X, _ = _data()
    for large in (np.asfortranarray(X), X):
        design = Dense(large, 0)
        design.moments(np.full(40, 1 / 40), True)
        design.correlate(X[:, :2])


def _other(kind):
    """Compile kernels that belong neither to a loss nor to an algorithm: see `OTHERS`."""
    X, eta = _data()
    if kind == "blocks":
        fit(blocks(np.asfortranarray(X), memory_limit="10MB"), eta, max_k=3)
        return
    for loss in ("squared", "logistic"):
        if kind in ("groups", "certify"):
            _of_loss(loss, kind)
            continue
        names = {
            "exact": ["exact"],
            "dual": ["dual_iht", "primal_dual", "feature_generating"],
            "gradient": ["pg", "apg+", "htp"],
        }
        for name in names[kind]:
            y, lambda0 = _response(loss, eta), "grid" if name == "primal_dual" else None
            fit(X, y, loss=loss, max_k=2, lambda2=1e-2, algorithm=name, lambda0=lambda0)


def recipes(kinds: Sequence[str]):
    """One function that runs the tiny fits of these kinds, in their order.

    Parameters
    ----------
    kinds : sequence of str
        A loss (its default fit), "loss:part" with a part of `PARTS`, "groups" or "certify", one of
        `OTHERS`, or "moments".
    """
    runs = []
    for kind in kinds:
        loss, _, part = kind.partition(":")
        if kind == "moments":
            runs.append(_moments)
        elif kind in OTHERS:
            runs.append(partial(_other, kind))
        else:
            runs.append(partial(_of_loss, canonical_name(loss), part))

    def run():
        for tiny in runs:
            tiny()

    return run


def warm_up(
    losses: str | Sequence[str] = ("squared", "logistic"),
    verbose: bool = True,
    n_jobs: int | None = None,
) -> dict[str, float]:
    """Compile and store the kernels of these losses, dense and sparse; later fits load them.

    Parameters
    ----------
    losses : str or sequence of str, default ("squared", "logistic")
        Names of losses, or "all", which adds `certify`, exact search, groups, the dual and gradient
        algorithms, and designs in blocks.
    verbose : bool, default True
        Whether to report on stderr what was compiled and how long it took, and whether the kernels
        of l0path-kernels are used, where it is installed.
    n_jobs : int, optional
        The number of processes that compile at once. None means one per core and free GiB, at most
        4.

    Returns
    -------
    dict
        {loss or other kind: seconds}.

    Raises
    ------
    ValueError
        If a loss is not known.
    """
    every = isinstance(losses, str) and losses == "all"
    chosen = [losses] if isinstance(losses, str) else losses
    known = [*NAMES, *SEVERAL, *COUPLED]
    names = known if every else [canonical_name(name) for name in chosen]
    parts = {
        name: [
            name,
            *(f"{name}:{part}" for part in (PARTS if name in NAMES else ("sparse",))),
            *(["moments"] if not i else []),
        ]
        for i, name in enumerate(names)
    }
    parts |= {kind: [kind] for kind in (OTHERS if every else ())}
    kinds, seconds = [kind for part in parts.values() for kind in part], {}
    started = processes.start(kinds, processes.jobs(n_jobs) - 1)
    HELPING_PROCESSES.begun.update(  # the tiny fits start no more of them
        name + part for name in names for part in ("", ":sizes", ":groups", ":certify")
    )
    with Bar(verbose and bool(started), "l0path: compiling", unit="kind", total=len(parts)) as bar:
        for name, kinds in parts.items():
            bar.say(f"{name}, {len(started) + 1} processes")
            began = time.perf_counter()
            recipes(kinds)()
            seconds[name] = time.perf_counter() - began
            bar.update()
            if verbose and not started:
                print(f"l0path: kernels for {name} ready ({seconds[name]:.1f} s)", file=sys.stderr)
    if verbose and started:
        ready = ", ".join(f"{name} ({spent:.1f} s)" for name, spent in seconds.items())
        print(f"l0path: kernels for {ready} ready", file=sys.stderr)
    if verbose and shipped.told():
        print(f"l0path: {shipped.told()}", file=sys.stderr)
    return seconds


def compile_beside(kinds: Sequence[str]) -> None:
    """Compile a share of the kernels of these kinds, in a process beside the one that fits."""
    gc.disable()  # this process ends soon: what it leaves behind is not worth going through
    processes.compile_share(recipes(kinds))
