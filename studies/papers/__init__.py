"""Every figure and table of the five papers, ours beside theirs: `make reproduce`.

`catalogue.EXPERIMENTS` has them by name; `runner.reproduce` runs them into a folder; `store.read` gives a report the
record of each, and `store.read_parquet` its numbers.
"""

from studies.papers.experiment import Claim, Exhibit, Experiment, Finding, Line, Paper, Result, Setting

__all__ = ["Claim", "Exhibit", "Experiment", "Finding", "Line", "Paper", "Result", "Setting"]
