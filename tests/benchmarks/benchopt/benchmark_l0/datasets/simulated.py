"""Gaussian columns with correlation rho^|i - j|, `k` of them with coefficient 1."""

import numpy as np
from benchopt import BaseDataset
from scipy.signal import lfilter


class Dataset(BaseDataset):
    """Centered columns and response."""

    name = "simulated"
    parameters = {"n, p, k": [(200, 500, 10)], "rho": [0.5, 0.9], "snr": [5.0], "seed": [0]}

    def get_data(self):
        """X and y."""
        rng = np.random.default_rng(self.seed)
        steps = rng.standard_normal((self.n, self.p))
        steps[:, 1:] *= np.sqrt(1.0 - self.rho**2)
        X = lfilter([1.0], [1.0, -self.rho], steps, axis=1)
        signal = X[:, :: self.p // self.k][:, : self.k].sum(axis=1)
        y = signal + signal.std() / np.sqrt(self.snr) * rng.standard_normal(self.n)
        return {"X": np.asfortranarray(X - X.mean(axis=0)), "y": y - y.mean()}
