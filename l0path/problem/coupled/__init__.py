"""Losses that couple rows: see `problem.verbs`."""
