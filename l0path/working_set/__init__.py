"""The columns at hand, their products and the restricted optima on them; no moves."""
