"""Helpers without statistics, which every other package may use."""
