"""A budget in a file that nobody can overdraw: what a charge costs, whether it fits, and the chain of entries."""
