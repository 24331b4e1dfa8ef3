"""Designs whose columns lie on the workers of a cluster."""
