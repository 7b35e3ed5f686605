"""Who approves a clip approves its ends to the last digit: the words of a question are what an approval covers."""

import polars as pl
import pytest

import shortlist as sl


def sums_in_words(clip):
    rows = pl.DataFrame({"u": [1], "i": ["tea"], "v": [2.0]})
    scores = sl.count(rows, user="u", item="i", candidates=["tea"], value="v", clip=clip)
    return scores._source


@pytest.mark.parametrize(("one", "other"), [(1_000_000, 1_000_001), (1, 1.0000001), (0.1, 0.10000001)])
def test_two_clips_are_two_questions_in_words(one, other):
    words = [sums_in_words((0, end)) for end in (one, other)]
    assert words[0] != words[1]


def test_whole_ends_are_written_as_whole_numbers():
    assert sums_in_words((-0.5, 50)) == "a polars table: user u, item i, value v from -0.5 to 50"
