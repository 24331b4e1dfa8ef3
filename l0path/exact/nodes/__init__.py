"""Relaxations and bounds at one node of a search."""
