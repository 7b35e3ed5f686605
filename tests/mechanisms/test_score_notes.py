"""What a release says of its scores."""

import polars as pl
import pytest

import shortlist as sl


@pytest.mark.parametrize(("most", "said"), [(None, []), (1, ["each user counts for 1 item at most"])])
def test_a_cap_is_told_beside_values_alone(most, said):
    rows = pl.DataFrame({"who": [1, 2], "what": ["a", "b"]})
    scores = sl.count(rows, user="who", item="what", candidates=["a", "b"], most=most)
    for values in (True, False):
        release = sl.top_k(scores, 1, epsilon=1.0, values=values)
        capped = [note.partition(",")[0] for note in release.notes if note.startswith("each user counts")]
        assert capped == (said if values else [])
