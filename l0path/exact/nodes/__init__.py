"""What is solved at one node of a search."""
