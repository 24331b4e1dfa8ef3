"""Working columns of several responses, or of several classes."""
