"""Peak resident memory beyond X: each case in a process of its own, X made there, memory of X and of the imports subtracted."""
import subprocess
import sys

from common import arguments, peak_mb

CASES = {
    "dense F float64, 1000 x 20000": "X = np.asfortranarray(rng.standard_normal((20000, 1000)).T)",
    "dense C float64, 1000 x 20000": "X = rng.standard_normal((1000, 20000))",
    "dense C float32, 1000 x 20000": "X = rng.standard_normal((1000, 20000), dtype=np.float32)",
    "dense F float64, 1000 x 100000": "X = rng.standard_normal((100000, 1000)).T",
    "dense F float64, 100000 x 1000": "X = rng.standard_normal((1000, 100000)).T",
    "CSC, 20000 x 50000, density 0.002": "import scipy.sparse as sp; X = sp.random(20000, 50000, 0.002, format='csc', random_state=1)",
}

SCRIPT = """
import sys; sys.path.insert(0, {folder!r})
import numpy as np, l0path
from common import peak_mb
rng = np.random.default_rng(0)
warm = rng.standard_normal((60, 20)); l0path.fit(warm, warm[:, 0] - warm[:, 1] + rng.standard_normal(60), max_k=5)
{make}
size = (X.data.nbytes + X.indices.nbytes if hasattr(X, 'indptr') else X.nbytes) / 2**20
signal = np.asarray(X[:, :10].sum(axis=1)).ravel(); y = signal + signal.std() * rng.standard_normal(X.shape[0]) * 0.4
import gc; gc.collect(); before = peak_mb(reset=True)
path = l0path.fit(X, y, max_k={k})
print(size, peak_mb() - before, int(path.rounds['reads'].max()), int(path.rounds['working'].max()), path.status)
"""


def main():
    """Print X's size, peak memory beyond it, the ratio, and the reads of X (squared loss)."""
    args = arguments("memory beyond X", k=(50, "largest size"))
    print(f"{'case':36s} {'X MB':>8s} {'beyond MB':>10s} {'ratio':>7s} {'reads':>6s} {'columns held':>13s}")
    folder = __file__.rsplit("/", 1)[0]
    for name, make in CASES.items():
        done = subprocess.run([sys.executable, "-c", SCRIPT.format(folder=folder, make=make, k=args.k)], capture_output=True, text=True)
        if done.returncode:
            print(f"{name:36s} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        size, beyond, reads, working, *_ = done.stdout.split()
        print(f"{name:36s} {float(size):8.0f} {float(beyond):10.0f} {float(beyond) / float(size):7.2f} {reads:>6s} {working:>13s}")
    print(f"# this process itself: {peak_mb():.0f} MB")


if __name__ == "__main__":
    main()
