"""Exchanges under the cumulative logit loss of ordered classes."""
