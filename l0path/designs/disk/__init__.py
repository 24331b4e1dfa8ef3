"""Designs that stay in their file and are read by blocks."""
