"""Random bytes through the fuzzing harnesses, on every commit and without atheris."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.harness import fuzz_parsers, fuzz_scores


@pytest.mark.parametrize("fuzz", [fuzz_scores, fuzz_parsers])
def test_whatever_comes_is_accepted_or_refused_in_words(fuzz):
    @settings(max_examples=300)
    @given(st.binary(max_size=120))
    def feed(data):
        fuzz(data)

    feed()
