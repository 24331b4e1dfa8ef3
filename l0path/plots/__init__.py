"""Plots of paths and of cross-validation. They draw into `ax` (or a new figure) and return it; no global style is set. The numbers behind each come from `data`."""
from .draw import plot
from .inference import plot_knockoffs, plot_stability
from .numbers import data
from .scores import plot_cv

__all__ = ["data", "plot", "plot_cv", "plot_knockoffs", "plot_stability"]
