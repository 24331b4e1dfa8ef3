"""Local search: columns or groups are added, dropped and swapped, with everything refitted."""
