"""Strategies that search the sizes of a slice: over groups, by k-sparse solvers, by generation of
columns.
"""
