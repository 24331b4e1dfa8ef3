"""Plots of what follows a selection: frequencies of `stability_selection`, statistics of `knockoff_filter`."""
def plot_stability(self): pass
def plot_knockoffs(self): pass
