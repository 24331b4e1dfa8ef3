"""What every other package may use and what knows nothing of statistics."""
