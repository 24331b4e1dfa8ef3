"""Searches that compute every model where these are few, and columns that depend on others."""
