"""What a ledger recorded of a mechanism, in words."""

import pytest

import shortlist as sl
from shortlist.pages.summary import mechanism_in_words


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
def test_names_of_classes_become_words_and_other_texts_stay(recorded, said):
    assert mechanism_in_words(recorded) == said


def test_no_mechanism_keeps_the_name_of_its_class():
    for name in sl.mechanisms.__all__:
        assert name == "PATE" or name not in mechanism_in_words(f"{name}(k=5, budget=PureDP(epsilon=1.0))")
