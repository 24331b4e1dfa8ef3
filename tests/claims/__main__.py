"""`python -m claims SEED [END]`: the false claims of an instance, or of a range, by cause."""

import sys
import time
from collections import Counter

from .check import check
from .seeds import instance


def main():
    """Print the false claims of the seeds asked for."""
    first = int(sys.argv[1])
    seeds = range(first, int(sys.argv[2]) if len(sys.argv) > 2 else first + 1)
    checked, causes, slow = Counter(), Counter(), []
    for seed in seeds:
        began = time.perf_counter()
        report = check(seed)
        slow.append((time.perf_counter() - began, seed))
        checked += report.checked
        causes.update({cause for cause, _ in report.false})
        if report.false:
            print(f"seed {seed}: {instance(seed).describe()}", flush=True)
        for cause, text in report.false:
            print(f"    {cause}: {text}", flush=True)
    print("claims checked:", dict(checked))
    print("instances with a false claim, by kind of claim:", dict(causes))
    print("slowest:", [(f"{s:.1f} s", seed) for s, seed in sorted(slow)[-5:]])


if __name__ == "__main__":
    main()
