"""Designs whose columns are made from those of X when they are needed."""
