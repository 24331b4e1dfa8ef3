"""Tables that the command line reads."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.standard_normal((80, 5)), columns=list("abcde"))
    X["color"] = rng.choice(["red", "green", "blue"], 80)
    X["y"] = 2 * X.a - X.c + (X.color == "red") + 0.1 * rng.standard_normal(80)
    X["sick"] = np.where(X.a + 0.5 * rng.standard_normal(80) > 0, "yes", "no")
    file = tmp_path / "table.csv"
    X.to_csv(file, index=False)
    return file
