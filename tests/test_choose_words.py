"""A word that is misspelt is answered with the one that was meant."""

from typing import Any

import polars as pl
import pytest

import shortlist as sl

ROWS = pl.DataFrame({"user_id": [1, 2, 3], "film": ["a", "b", "a"]})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"epsilom": 1.0}, "epsilom is no word that top_k or select know; did you mean 'epsilon'"),
        ({"epsilon": 1.0, "monotne": True}, "did you mean 'monotone'"),
        ({"epsilon": 1.0, "colour": "red"}, "colour is no word that top_k or select know; see help"),
    ],
)
def test_words_of_a_question(words, said):
    for ask in (lambda: sl.top_k([3, 1], 1, **words), lambda: sl.select([3, 1], **words)):
        with pytest.raises(TypeError, match=said):
            ask()
    with pytest.raises(TypeError, match=said):
        sl.top_k(ROWS, 1, user="user_id", item="film", **words)


def test_what_is_missing_or_has_no_name_is_said_with_what_to_write():
    ask: Any = sl
    for call, said in (
        (lambda: ask.top_k([3, 1], 1, 0.5), r"top_k takes scores and k alone without their names: write epsilon=0\.5"),
        (lambda: ask.top_k([3, 1], epsilon=1.0), "top_k needs k: write k=10, for example"),
        (lambda: ask.top_k([3, 1], 1, k=1, epsilon=1.0), "top_k has k twice, in its place and by name"),
        (lambda: ask.count(ROWS), 'count needs user and item: write user="user_id", item="film", for example'),
        (lambda: ask.count(ROWS, "user_id", "film"), "count takes source alone without its name: write user="),
        (lambda: ask.select([3, 1], epsilon=1.0, k=2), r"one winner: write top_k\(\.\.\., k=\.\.\.\)"),
        (lambda: ask.Scores([3, 1], sensitivty=1), "Scores knows no word 'sensitivty'; did you mean 'sensitivity'"),
        (lambda: ask.mechanisms.CanonicalTopK(k=1, epsilom=1), "CanonicalTopK knows no word 'epsilom'; did you mean"),
        (lambda: ask.mechanisms.CanonicalTopK(1, 1.0), "CanonicalTopK takes everything by name: write"),
        (lambda: ask.top_k("films.parquet", 1, epsilon=1.0), 'name the columns too: user="user_id", item="film"'),
        (lambda: ask.top_k(ROWS, 1, epsilon=1.0), "name the columns too"),
        (lambda: ask.top_k(None, 1, epsilon=1.0), "a mapping, not None$"),
    ):
        with pytest.raises(TypeError, match=said) as caught:
            call()
        assert caught.value.__context__ is None


def test_methods():
    with pytest.raises(ValueError, match="method='gaurded' is not known; did you mean 'guarded'"):
        sl.top_k([3, 1], 1, epsilon=1.0, method="gaurded")
    with pytest.raises(ValueError, match="method='x' is not known; write one of 'auto'"):
        sl.top_k([3, 1], 1, epsilon=1.0, method="x")


def test_an_order_of_a_method_that_has_none_is_refused():
    for method in ("canonical", "guarded"):
        with pytest.raises(ValueError, match=f'method={method!r} releases a set: for its order write method="auto"'):
            sl.top_k([9, 5, 3, 1], 2, epsilon=1.0, method=method, ordered=True)
    assert sl.select([9, 5, 3], epsilon=1.0, method="canonical").index in range(3)  # one winner needs no order


def test_declared_columns_and_those_of_a_text_file(tmp_path):
    with pytest.raises(ValueError, match="item='flim': the table has no column of that name; did you mean 'film'"):
        sl.count(ROWS, user="user_id", item="flim")
    ROWS.write_csv(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="item='Film ': the table has no column of that name; did you mean 'film'"):
        sl.count(tmp_path / "t.csv", user="user_id", item="Film ")
    with pytest.raises(ValueError, match="no column of that name; did you mean 'film'"):
        sl.count(tmp_path / "t.csv", user="user_id", item="flim")  # another name is there: it is a line of names


def test_what_is_remembered_of_a_question_tells_equal_words_of_other_kinds_apart():
    """1 and True are equal, and so may budgets be that do not cost the same."""

    class Cheaper(sl.PureDP):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return hash(sl.PureDP(1.0))

    assert len(sl.top_k([3, 1], 1, epsilon=1, monotone=True)) == 1
    refused: list[tuple[Any, Any, str]] = [(True, 1, "k must"), (1.0, 1, "k must"), (1, True, "epsilon must")]
    for k, price, said in refused:
        with pytest.raises((TypeError, ValueError), match=said):
            sl.top_k([3, 1], k, epsilon=price, monotone=True)
    for epsilon in (1.0, 2.0, 1.0):
        for kind in (sl.PureDP, Cheaper):
            release = sl.top_k([3, 1], 1, budget=kind(epsilon), monotone=True)
            assert type(release.guarantee) is sl.PureDP
            assert release.guarantee.epsilon == epsilon


def test_a_number_that_changes_is_read_anew():
    class Number:
        value = 1

        def __index__(self):
            return self.value

    k: Any = Number()
    assert len(sl.top_k([3, 1, 2], k, epsilon=1.0, monotone=True)) == 1
    k.value = 2
    assert len(sl.top_k([3, 1, 2], k, epsilon=1.0, monotone=True)) == 2


def test_words_that_cannot_be_remembered_are_refused_in_words_of_ours():
    refused: list[tuple[dict[str, Any], str]] = [
        ({"ordered": []}, "ordered must be True or False"),
        ({"limit": {}}, "limit"),
        ({"k": [1]}, "k"),
    ]
    for words, said in refused:
        with pytest.raises((TypeError, ValueError), match=said):
            sl.top_k([3, 1], **{"k": 1, "epsilon": 1.0, "monotone": True, **words})


def test_a_large_delta_is_told_of_every_time():
    for _ in range(2):
        with pytest.warns(UserWarning, match="lets one person's own item out"):
            sl.top_k({"ada": 900, "bob": 3}, 1, epsilon=1.0, delta=0.01, monotone=True)
