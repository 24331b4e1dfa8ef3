"""Algorithms of papers beside the local search: coordinate descent, projected gradients, dual
ascent, cutting planes.
"""
