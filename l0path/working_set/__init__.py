"""The working columns, their products and the restricted optima on them; no exchanges."""
