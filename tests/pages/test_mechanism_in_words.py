"""What a ledger recorded of a mechanism, in words."""

import pytest

import shortlist as sl
from tests.helpers.terminal import called


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ("TopKWithGaps(k=3, budget=PureDP(epsilon=1.0))", "top-3 with gaps"),
        ("OneshotTopK(budget=PureDP(epsilon=1.0))", "oneshot top-k"),
        ("MultiLabelPATE(k=2)", "multi label PATE"),
        ("k=3 by GuardedTopK(k=3) for 'a (b', \"KeySet(k=1\"; 1 per user",
         "k=3 by guarded top-3 for 'a (b', \"KeySet(k=1\"; 1 per user"),
        ("Laplace counts of Germany", "Laplace counts of Germany"),
        ("", ""),
    ],
)  # fmt: skip
def test_names_of_classes_become_words_and_other_texts_stay(recorded, said, tmp_path):
    assert said in told(tmp_path, [recorded])


def told(folder, recorded):
    """What the command shows of charges by these mechanisms."""
    with sl.Ledger(folder / "year.db", budget=sl.PureDP(9.0)) as ledger:
        for one in recorded:
            ledger.charge(sl.PureDP(0.01), mechanism=one)
    return " ".join(called("ledger", "show", folder / "year.db").stdout.split())


def test_no_mechanism_keeps_the_name_of_its_class(tmp_path):
    names = [name for name in sl.mechanisms.__all__ if name != "PATE"]
    shown = told(tmp_path, [f"{name}(k=5, budget=PureDP(epsilon=1.0))" for name in names])
    assert "top-5" in shown
    assert [name for name in names if name in shown] == []
