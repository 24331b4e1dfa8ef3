"""El0ps in its own environment: python run_el0ps.py X.npy y.npy '{"box": 1, "lambda0": 1, "gap":
1e-6, "limit": 60}', sums of losses; called by boxes.py, prints a line of JSON.
"""

import json
import sys
import time

import numpy as np
from el0ps.datafit import Leastsquares
from el0ps.penalty import Bigm
from el0ps.solver import BnbSolver


def main():
    X, y = np.asfortranarray(np.load(sys.argv[1])), np.load(sys.argv[2])
    task = json.loads(sys.argv[3])
    for limit in (1.0, task["limit"]):  # the first compiles
        began = time.process_time()
        solver = BnbSolver(relative_gap=task["gap"], time_limit=limit)
        found = solver.solve(Leastsquares(y), Bigm(task["box"]), X, task["lambda0"])
        seconds = time.process_time() - began
    # the objective of its coefficients, from which the value that it reports can differ by 1e-5
    x = np.asarray(found.x)
    loss = 0.5 * float(((y - X @ x) ** 2).sum())
    print(
        json.dumps(
            {
                "seconds": seconds,
                "objective": loss + task["lambda0"] * int(np.count_nonzero(x)),
                "status": found.status.value,
                "nodes": int(found.iter_count),
            }
        )
    )


if __name__ == "__main__":
    main()
