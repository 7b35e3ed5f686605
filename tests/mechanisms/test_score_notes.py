"""What a release says of its scores."""

import polars as pl
import pytest

import shortlist as sl
from shortlist.mechanisms.base import score_notes


@pytest.mark.parametrize(("most", "said"), [(None, []), (1, ["each user counts for 1 item at most"])])
def test_a_cap_is_told_beside_values_alone(most, said):
    rows = pl.DataFrame({"who": [1, 2], "what": ["a", "b"]})
    scores = sl.count(rows, user="who", item="what", candidates=["a", "b"], most=most)
    assert [note.partition(",")[0] for note in score_notes(scores, values=True)] == said
    assert score_notes(scores, values=False) == ()
