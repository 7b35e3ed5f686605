"""Groups and a ledger: what is booked for all lists together, and what the entry says of them."""

from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist import ApproxDP, Ledger, PureDP
from shortlist.privacy import ApprovalNeeded
from shortlist.testing import seeded
from tests.helpers.terminal import called

BUDGET = ApproxDP(1.0, 1e-6)
ROWS = pl.DataFrame(
    {
        "who": list(range(60)),
        "what": ["tea", "milk", "tea", "water", "juice"] * 12,
        "where": ["CH", "DE", "CH"] * 20,
    }
)
ITEMS = ["tea", "milk", "water", "juice"]


@pytest.fixture
def scores():
    return counted(["CH", "DE"])


def counted(groups):
    return sl.count(ROWS, user="who", item="what", by="where", groups=groups, candidates=ITEMS)


def only(ledger):
    (entry,) = ledger.entries()
    return entry


def test_groups_at_the_whole_budget_are_admitted_and_told_as_they_were_booked(tmp_path, scores):
    ledger = Ledger(tmp_path / "year.db", budget=BUDGET)
    asked: dict[str, Any] = {"budget": BUDGET, "method": "oneshot-gumbel", "ordered": True}
    without = sl.top_k(scores, 2, **asked)
    assert without.charge != BUDGET  # a finer statement, which needs a share of delta that this ledger does not have
    release = sl.top_k(scores, 2, ledger=ledger, rng=seeded(1), **asked)
    assert release.charge == release.guarantee == BUDGET
    assert only(ledger).guarantee == repr(BUDGET)


def test_the_finer_statement_of_groups_comes_first(tmp_path, scores):
    ledger = Ledger(tmp_path / "year.db", budget=ApproxDP(3.0, 1e-6))
    release = sl.top_k(scores, 2, budget=BUDGET, method="oneshot-gumbel", ordered=True, ledger=ledger, rng=seeded(1))
    assert release.charge != BUDGET
    assert only(ledger).guarantee == repr(release.charge)


def test_the_command_books_groups_at_the_whole_budget(tmp_path):
    ROWS.write_csv(tmp_path / "rows.csv")
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    Ledger(tmp_path / "year.db", budget=BUDGET)
    words = ["top", str(tmp_path / "rows.csv"), "--user", "who", "--item", "what", "--by", "where", "--groups", "CH,DE"]
    words += ["-k", "2", "--candidates", str(tmp_path / "items.txt"), "--epsilon", "1", "--delta", "1e-6"]
    words += ["--method", "oneshot-gumbel", "--ordered", "--ledger", str(tmp_path / "year.db")]
    result = called(*words)
    assert result.returncode == 0, result.stderr
    assert only(Ledger(tmp_path / "year.db")).guarantee == repr(BUDGET)


def test_an_entry_tells_k_of_every_group(tmp_path, scores):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(3.0))
    sl.top_k(scores, {"CH": 1, "DE": 3}, epsilon=1.0, ledger=ledger)
    words = only(ledger).mechanism
    first, second, rest = words.split("; ")
    assert first.startswith("k=1 by ")
    assert first.endswith("for 'CH'")
    assert second.startswith("k=3 by ")
    assert second.endswith("for 'DE'")
    assert rest == "1 per user"


@pytest.mark.parametrize("other", [{"CH": 3, "DE": 1}, {"CH": 1, "DE": 2}, 1])
def test_lists_of_other_lengths_are_not_approved_with_it(tmp_path, scores, other):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(3.0), approval=True)
    for k in ({"CH": 1, "DE": 3}, other, {"CH": 1, "DE": 3}):
        with pytest.raises(ApprovalNeeded) as waits:
            sl.top_k(scores, k, epsilon=1.0, ledger=ledger)
    assert waits.value.request == 1
    assert [entry.kind for entry in ledger.entries()] == ["request"] * 2


def test_other_groups_are_not_approved_with_it(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(3.0), approval=True)
    for groups in (["CH", "DE"], ["CH", "FR"]):
        with pytest.raises(ApprovalNeeded):
            sl.top_k(counted(groups), 2, epsilon=1.0, ledger=ledger)
    assert len(ledger.entries()) == 2


def test_many_groups_are_told_by_a_hash_of_their_words(tmp_path):
    ledger, lists = Ledger(tmp_path / "year.db", budget=PureDP(3.0), approval=True), [[9, 5, 1]] * 4_000
    sizes = dict.fromkeys(range(len(lists)), 1)
    for k in (sizes, sizes | {0: 2}, sizes | {1: 2}):
        with pytest.raises(ApprovalNeeded):
            sl.top_k(lists, k, parallel=True, epsilon=1.0, monotone=True, ledger=ledger)
    told = [entry.mechanism for entry in ledger.entries()]
    assert len(set(told)) == 3
    assert all(len(one) < 1_000 and "for 4000 groups" in one for one in told)


@pytest.mark.parametrize("many", [2, 300])
def test_an_approval_covers_how_far_one_person_moves_each_of_several_lists(tmp_path, many):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(3.0), approval=True)
    for last in (1, 9, 8):
        lists = [sl.Scores([9, 1], sensitivity=1)] * (many - 1) + [sl.Scores([5, 3], sensitivity=last)]
        with pytest.raises(ApprovalNeeded):
            sl.top_k(lists, 1, parallel=True, epsilon=1.0, ledger=ledger)
    alike, *told = [entry.source for entry in ledger.entries()]
    assert alike == "numbers in memory, sensitivity 1; as a set"
    assert len({alike, *told}) == 3


def test_groups_from_the_data_have_no_names_in_an_entry(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=BUDGET)
    scores = sl.count(ROWS, user="who", item="what", by="where")
    sl.top_k(scores, 2, budget=BUDGET, ledger=ledger)
    assert "for every group in the data" in only(ledger).mechanism
    assert "CH" not in only(ledger).mechanism


def test_whoever_approves_sees_k_and_the_groups(tmp_path, scores):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(3.0), approval=True)
    with pytest.raises(ApprovalNeeded):
        sl.top_k(scores, {"CH": 1, "DE": 3}, epsilon=1.0, ledger=ledger)
    shown = called("ledger", "show", str(tmp_path / "year.db")).stdout
    waits = "".join(shown.split("entry 1 asks for approval of epsilon 1")[1].split())
    for words in ("k=1byNoisyMax(", ")for'CH';k=3byGuardedTopK(", ")for'DE';1peruser", "itemwhat,bywhere"):
        assert words in waits, "however narrow the terminal"


def test_lists_that_can_be_read_once_are_noted_as_they_were_drawn_from(tmp_path):
    """What was approved, and is booked, is a hash of these lists, not of what is left of them."""
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(9.0))
    asked: dict[str, Any] = {"user": "who", "item": "what", "by": "where", "groups": ["CH", "DE"], "ledger": ledger}
    for lists in ({"CH": iter(ITEMS), "DE": iter(ITEMS)}, {"CH": ITEMS, "DE": ITEMS}):
        sl.top_k(ROWS, 1, **asked, candidates=lists, epsilon=1.0)
    one, other = ledger.entries()
    assert one.source == other.source
