"""When `top_k` takes a noisy histogram: by k, the cap and the budget alone."""

from itertools import product
from math import ceil, isqrt

import polars as pl
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.execute import choose_method
from shortlist.mechanisms import NoisyHistogram
from shortlist.mechanisms.base import Request
from tests.helpers.terminal import called

ROWS = pl.DataFrame({"user": [n // 4 for n in range(400)], "item": [f"i{n % 7}" for n in range(400)]})
LISTED = [f"i{n}" for n in range(9)]


def count(**more):
    return sl.count(ROWS, user="user", item="item", candidates=LISTED, **more)


def test_a_histogram_answers_where_noise_on_every_count_is_smaller():
    flags = (False, True)
    budgets: tuple[PureDP | ApproxDP | ZCDP, ...] = (
        PureDP(1.0),
        ZCDP(0.1),
        ZCDP(0.1, 1e-6),
        ApproxDP(1.0, 1e-6),
        ApproxDP(1.0, 0.0),
    )
    for k, budget, ordered, values, gaps, public, most in product(
        (1, 2, 3, 10, 200), budgets, flags, flags, flags, flags, (1, 2, 3, 64)
    ):
        request = Request(k, budget, ordered, values, gaps, public, None, most)
        if request.has_public_list or not (values or gaps):
            price = most if values else isqrt(2 * most * most - 1) + 1 if budget == PureDP(1.0) else ceil(8 * most / 3)
            wanted = public and (ordered or values) and not gaps and k >= price
            assert (choose_method(request)[0] == "histogram") == wanted


@pytest.mark.parametrize(
    ("words", "k", "most", "taken"),
    [
        ({"values": True}, 3, 3, True),
        ({"values": True}, 2, 3, False),
        ({"ordered": True}, 5, 3, True),
        ({"ordered": True}, 4, 3, False),
        ({"ordered": True}, 8, 3, True),
        ({}, 8, 1, False),
        ({"gaps": True}, 8, 1, False),
    ],
)
def test_the_rule_is_the_one_that_is_documented(words, k, most, taken):
    release = sl.top_k(count(most=most), k, epsilon=1.0, **words)
    assert release.mechanism.startswith("noisy histogram") == taken
    if taken:
        assert f"at most {most} items" in release.why
        assert len(release.values or ()) == k


def test_a_looser_budget_takes_it_at_three_eighths():
    for most, taken in ((3, True), (4, False)):
        assert (choose_method(Request(8, ZCDP(0.1), ordered=True, most=most))[0] == "histogram") == taken


def test_it_is_taken_by_its_name_too():
    release = sl.top_k(count(most=2), 1, budget=ZCDP(0.5), method="histogram")
    assert release.mechanism.startswith("noisy histogram")
    with pytest.raises(ValueError, match="count with most=3"):
        sl.top_k(count(), 1, epsilon=1.0, method="histogram")
    assert NoisyHistogram(k=1, most=2, budget=ZCDP(0.5)).release(count(most=2)).guarantee == release.guarantee


def test_the_command_caps_and_books_before_it_reads(tmp_path):
    ROWS.write_csv(tmp_path / "rows.csv")
    (tmp_path / "items.txt").write_text("\n".join(LISTED))
    called("ledger", "init", "book.db", "--epsilon", "1", cwd=tmp_path)
    asked = ["top", "rows.csv", "--user", "user", "--item", "item", "-k", "5", "--candidates", "items.txt", "--epsilon"]
    done = called(*asked, "1", "--values", "--most", "2", "--ledger", "book.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "noisy histogram" in done.stdout or "at most 2 items" in done.stdout
    refused = called(*asked, "1", "--most", "0", cwd=tmp_path)
    assert refused.returncode != 0
    assert "most must be a whole number from 1 to 4096" in refused.stderr
