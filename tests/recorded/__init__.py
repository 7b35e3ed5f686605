"""Exact laws and seeded releases as they were before the code moved to its present rooms, to compare with."""
