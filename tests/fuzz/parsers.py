"""Atheris on parsers: `python -m tests.fuzz.parsers -max_total_time=60`."""

import sys

import atheris

with atheris.instrument_imports(include=["shortlist"]):
    from tests.fuzz.harness import fuzz_parsers

if __name__ == "__main__":
    atheris.Setup(sys.argv, fuzz_parsers)
    atheris.Fuzz()
