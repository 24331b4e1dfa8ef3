"""The best least squares models of all sizes, by one search."""
