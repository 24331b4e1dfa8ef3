"""Coordinate descent, projected gradients and dual ascent."""
