"""Whole paths of best-subset models."""
