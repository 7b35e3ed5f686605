"""Planted bugs, each of which a named test must notice: `make mutants` (outside of the suite)."""
