"""Atheris on scores: `python -m tests.fuzz.scores -max_total_time=60`."""

import sys

import atheris

with atheris.instrument_imports(include=["shortlist"]):
    from tests.fuzz.harness import fuzz_scores

if __name__ == "__main__":
    atheris.Setup(sys.argv, fuzz_scores)
    atheris.Fuzz()
