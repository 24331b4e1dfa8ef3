"""Paths of designs that stay in their file: reads of the file, peak resident memory of a process of
its own, and time against streaming the file once through np.memmap.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import arguments, fix_threads

SIZES = {"memmap float32": (500, 2_000_000, 20), "bed": (2000, 500_000, 10)}
SIGNAL = 20  # columns with a coefficient


def make_map(folder, n, p):
    """A column-major float32 file of Gaussian columns, and y."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float32, shape=(n, p), fortran_order=True
    )
    width = 20_000
    for left in range(0, p, width):
        X[:, left : left + width] = rng.standard_normal(
            (min(width, p - left), n), dtype=np.float32
        ).T
    X.flush()
    true = np.linspace(0, p - 1, SIGNAL).astype(int)
    signal = X[:, true].astype(float).sum(axis=1)
    np.save(folder / "y.npy", signal + rng.standard_normal(n) * signal.std() / np.sqrt(5))
    return "X.npy"


def make_bed(folder, n, p):
    """A PLINK file of genotypes with allele frequencies from 0.05 to 0.5 and one missing in a
    thousand, and y. Codes: 3 none, 2 one, 0 two copies, 1 missing.
    """
    rng = np.random.default_rng(0)
    true, signal = set(np.linspace(0, p - 1, SIGNAL).astype(int).tolist()), np.zeros(n)
    shifts = np.array([0, 2, 4, 6], dtype=np.uint8)
    with open(folder / "X.bed", "wb") as out:
        out.write(b"\x6c\x1b\x01")
        for left in range(0, p, 2000):
            width = min(2000, p - left)
            often = rng.uniform(0.05, 0.5, (width, 1))
            copies = (rng.random((width, n), dtype=np.float32) < often).astype(np.uint8) + (
                rng.random((width, n), dtype=np.float32) < often
            )
            for j in true & set(range(left, left + width)):
                signal += (copies[j - left] - copies[j - left].mean()) / copies[j - left].std()
            codes = np.array([3, 2, 0], dtype=np.uint8)[copies]
            codes[rng.random((width, n), dtype=np.float32) < 1e-3] = 1
            padded = np.zeros((width, -(-n // 4) * 4), dtype=np.uint8)
            padded[:, :n] = codes
            out.write(
                np.bitwise_or.reduce(padded.reshape(width, -1, 4) << shifts, axis=2).tobytes()
            )
    (folder / "X.fam").write_text("".join(f"0\ti{i}\t0\t0\t0\t-9\n" for i in range(n)))
    (folder / "X.bim").write_text("".join(f"1\ts{j}\t0\t{j}\tA\tG\n" for j in range(p)))
    np.save(folder / "y.npy", signal + rng.standard_normal(n) * signal.std() / np.sqrt(5))
    return "X.bed"


def stream(file):
    """(seconds, processor time) to sum a file once through np.memmap, in pieces of 64 MB."""
    started, cpu = time.perf_counter(), time.process_time()
    X = (
        np.load(file, mmap_mode="r")
        if file.suffix == ".npy"
        else np.memmap(file, dtype=np.uint8, mode="r", offset=3)[None]
    )
    step = max(1, (1 << 26) // (X.shape[0] * X.itemsize))
    sum(float(X[:, left : left + step].sum()) for left in range(0, X.shape[1], step))
    return time.perf_counter() - started, time.process_time() - cpu


def peak():
    """Most resident memory of this process so far, in MB (VmHWM; ru_maxrss would count the parent's
    from before exec).
    """
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def child(folder, name, K, limit):
    """One path in a process of its own, after a small one that compiles."""
    import l0path

    folder = Path(folder)
    small = np.asfortranarray(
        np.random.default_rng(1).standard_normal((60, 5000)), dtype=np.float32
    )
    small[:, 0] = np.round(small[:, 0])
    np.save(folder / "small.npy", small)
    l0path.fit(
        l0path.designs.blocks(folder / "small.npy"), small[:, 3] + np.arange(60) % 7, max_k=4
    )
    before, out = peak(), {}
    y = np.load(folder / "y.npy")
    started, cpu = time.perf_counter(), time.process_time()
    design = l0path.designs.blocks(folder / name, memory_limit=limit)
    path = l0path.fit(design, y, max_k=K)
    out |= {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - cpu,
        "peak": peak(),
        "before": before,
        "passes": design.passes,
        "reads": int(path.rounds["reads"].max()),
        "members": int(path.rounds["members"].max()),
        "working": int(path.rounds["working"].max()),
        "status": path.status,
        "search": float(path.rounds["search_seconds"].sum()),
        "verify": float(path.rounds["verify_seconds"].sum()),
        "verified": int((path.details.optimality != "unverified").sum()),
        "supports": [path.support(k=k).tolist() for k in range(len(path))],
    }
    if name.endswith(".bed"):
        out["per_second"] = rate(design)
    print(json.dumps(out))


def rate(design):
    """Genotypes multiplied by one right-hand side in a second: the median of five."""
    r, times = np.random.default_rng(2).standard_normal(design.n), []
    for _ in range(6):
        started = time.perf_counter()
        design.correlate(r)
        times.append(time.perf_counter() - started)
    return design.entries / float(np.median(times[1:]))


def in_memory(folder, name, n, p, K):
    """Whether a copy with an eighth of the columns, in memory as float64, has the same supports as
    its file.
    """
    import l0path

    X, y = np.load(folder / name, mmap_mode="r")[:, : p // 8], np.load(folder / "y.npy")
    np.save(folder / "part.npy", np.asfortranarray(X))
    out = l0path.fit(l0path.designs.blocks(folder / "part.npy", memory_limit="100MB"), y, max_k=K)
    held = l0path.fit(np.asfortranarray(X, dtype=np.float64), y, max_k=K)
    return all(np.array_equal(out.support(k=k), held.support(k=k)) for k in range(K + 1)), float(
        np.abs(out.details.objective - held.details.objective).max()
    )


def show(case, sizes, size, memory_limit, got):
    """Print the lines of a case. sizes: (n, p, K); size: bytes of the file."""
    n, p, K = sizes
    once = got["stream"]
    print(
        f"{case}: n = {n}, p = {p}, {size / 1e9:.2f} GB, K = {K}, memory_limit "
        f"{memory_limit}; {got['status']}, {got['verified']} sizes verified"
    )
    print(
        f"  reads of the file {got['passes']:.2f} (counted by the engine: {got['reads']}), "
        f"peak {got['peak']:.0f} MB ({got['before']:.0f} MB before the fit), |W| "
        f"{got['working']}, "
        f"Gram rows {got['members']}"
    )
    print(
        f"  {got['seconds']:.1f} s ({got['cpu']:.1f} s of processor time); one sum of the "
        f"file by np.memmap {once:.2f} s; "
        f"time / (reads x that) = {got['seconds'] / (got['passes'] * once):.2f}, "
        f"of processor time {got['cpu'] / (got['passes'] * got['stream_cpu']):.2f}; search "
        f"{got['search']:.1f} s, checks {got['verify']:.1f} s"
    )


def main():
    """Print a block for each source."""
    if sys.argv[1:2] == ["--child"]:
        folder, name, K, limit, threads = json.loads(sys.argv[2])
        fix_threads(threads)
        child(folder, name, K, limit)
        return
    args = arguments(
        "paths of designs that stay in their file",
        only=("", "parts of names of cases, separated by |"),
        folder=("", "where the files go for the time of the run; 5 GB are needed"),
        memory_limit=("1GB", "budget of the design"),
    )
    for case, (n, p, K) in SIZES.items():
        if args.only and not any(part in case for part in args.only.split("|")):
            continue
        p = p // 100 if args.smoke else p
        with tempfile.TemporaryDirectory(dir=args.folder or None) as folder:
            name = (make_bed if case == "bed" else make_map)(Path(folder), n, p)
            size, call = (
                os.path.getsize(Path(folder) / name),
                [
                    sys.executable,
                    __file__,
                    "--child",
                    json.dumps([folder, name, K, args.memory_limit, args.threads]),
                ],
            )
            stream(Path(folder) / name)
            rounds = []
            for _ in range(args.repeats):  # in turn: a sum before each path
                once, processor = stream(Path(folder) / name)
                rounds.append(
                    {
                        "stream": once,
                        "stream_cpu": processor,
                        **json.loads(
                            subprocess.run(
                                call, check=True, capture_output=True, text=True
                            ).stdout.splitlines()[-1]
                        ),
                    }
                )
            got = sorted(rounds, key=lambda r: r["seconds"] / (r["passes"] * r["stream"]))[
                (len(rounds) - 1) // 2
            ]
            show(case, (n, p, K), size, args.memory_limit, got)
            if "per_second" in got:
                print(f"  X'r: {got['per_second'] / 1e9:.2f} x 10^9 genotypes a second")
            else:
                same, worst = in_memory(Path(folder), name, n, p, K)
                print(
                    f"  a copy of {p // 8} columns in memory has the same supports: {same}; "
                    f"largest difference of an objective {worst:.1e}"
                )


if __name__ == "__main__":
    main()
