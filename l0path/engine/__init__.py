"""From checked arguments to the solutions of a path."""
