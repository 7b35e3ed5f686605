"""Who approves a clip approves its ends to the last digit: the words of a question are what an approval covers."""

import pytest

from shortlist.tables.question import Question


@pytest.mark.parametrize(("one", "other"), [(1_000_000, 1_000_001), (1, 1.0000001), (0.1, 0.10000001)])
def test_two_clips_are_two_questions_in_words(one, other):
    words = [Question.of("u", ["i"], "v", (0, end)).in_words("rows.csv") for end in (one, other)]
    assert words[0] != words[1]


def test_whole_ends_are_written_as_whole_numbers():
    words = Question.of("u", ["i"], "v", (-0.5, 50)).in_words("rows.csv")
    assert words == "rows.csv: user u, item i, value v from -0.5 to 50"
