"""A score that raises on both of two neighbours tells them not apart, and is no counterexample."""

import shortlist as sl

ROWS = [{"who": n, "what": n % 3} for n in range(12)]


def few(rows):
    """Of few rows it cannot say anything; of more it moves by 5 for one more person."""
    rows = list(rows)
    if len(rows) < 6:
        raise ValueError("too few rows")
    return [5.0 * len(rows)]


def test_a_counterexample_is_not_shrunk_to_a_pair_on_which_both_raise():
    found = sl.testing.check_sensitivity(few, ROWS, user="who", sensitivity=1.0)
    assert found.refuted
    sizes = len(list(found.before)), len(list(found.after))
    assert max(sizes) >= 6, sizes


def test_a_score_that_always_raises_is_refuted_by_no_pair():
    def never(rows):
        if len(list(rows)) != len(ROWS):
            raise ValueError("other rows")
        return [0.0]

    found = sl.testing.check_sensitivity(never, ROWS, user="who", sensitivity=1.0)
    assert found.refuted  # by a pair of which one is the whole table
    assert len(list(found.before)) == len(ROWS) or len(list(found.after)) == len(ROWS)
