"""Counts for every group in one pass: each person stays in few groups, by a rule of that person's own rows."""
