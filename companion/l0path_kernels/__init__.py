"""Compiled kernels of l0path, which finds them by itself; there is nothing to import."""
