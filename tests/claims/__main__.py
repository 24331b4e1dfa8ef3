"""`python -m claims SEED [END] [KIND]`: the false claims of an instance, or of a range, by cause;
KIND is one of those of seeds.py, without which the number of a seed tells it.
"""

import sys
import time
from collections import Counter

from .check import check_instance
from .seeds import MAKERS, instance


def main():
    """Print the false claims of the seeds asked for."""
    kind = sys.argv.pop() if sys.argv[-1] in MAKERS else ""
    first = int(sys.argv[1])
    seeds = range(first, int(sys.argv[2]) if len(sys.argv) > 2 else first + 1)
    checked, causes, slow = Counter(), Counter(), []
    for seed in seeds:
        began = time.perf_counter()
        report = check_instance(instance(seed, kind))
        slow.append((time.perf_counter() - began, seed))
        checked += report.checked
        causes.update({cause for cause, _ in report.false})
        if report.false:
            print(f"seed {seed}: {instance(seed, kind).describe()}", flush=True)
        for cause, text in report.false:
            print(f"    {cause}: {text}", flush=True)
    print("claims checked:", dict(checked))
    print("instances with a false claim, by kind of claim:", dict(causes))
    print("slowest:", [(f"{s:.1f} s", seed) for s, seed in sorted(slow)[-5:]])


if __name__ == "__main__":
    main()
