"""How the sizes of a slice are searched: over groups, by k-sparse solvers, by generation."""
