"""A word that is misspelt is answered with the one that was meant."""

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


def test_methods():
    with pytest.raises(ValueError, match="method='gaurded' is not known; did you mean 'guarded'"):
        sl.top_k([3, 1], 1, epsilon=1.0, method="gaurded")
    with pytest.raises(ValueError, match="method='x' is not known; write one of 'auto'"):
        sl.top_k([3, 1], 1, epsilon=1.0, method="x")


def test_declared_columns_and_those_of_a_text_file(tmp_path):
    with pytest.raises(ValueError, match="item='flim': the table has no column of that name; did you mean 'film'"):
        sl.count(ROWS, user="user_id", item="flim")
    ROWS.write_csv(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="item='Film ': the table has no column of that name; did you mean 'film'"):
        sl.count(tmp_path / "t.csv", user="user_id", item="Film ")
    with pytest.raises(ValueError, match="no column of that name; write it as the table does"):
        sl.count(tmp_path / "t.csv", user="user_id", item="flim")  # the first line may be somebody's row
