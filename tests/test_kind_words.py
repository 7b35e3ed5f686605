"""Calls that do not fit are answered in words, and errors of the function itself are its own."""

import pytest

from shortlist._runtime import kind_of_words


@kind_of_words("tea", milk="; there is none")
def tea(cups, pot="blue", *, sugar, leaves=1):
    if sugar > 9:
        raise TypeError("too sweet")
    return cups + sugar + leaves


@kind_of_words("open")
def judging(cups, **words):
    return cups, words


def test_what_fits_is_called():
    assert tea(1, sugar=2) == 4
    assert tea(cups=1, pot="red", sugar=2, leaves=0) == 3
    assert judging(1, anything=2) == (1, {"anything": 2})


@pytest.mark.parametrize(
    ("arguments", "words", "said"),
    [
        ((1,), {"sugr": 1}, r"tea knows no word 'sugr'; did you mean 'sugar'\?"),
        ((1,), {"milk": 1}, "tea knows no word 'milk'; there is none"),
        ((1,), {"zebra": 1}, r"tea knows no word 'zebra'; see help\(tea\)"),
        ((1,), {}, r"tea needs sugar: write sugar=\.\.\., for example"),
        ((), {}, r"tea needs cups and sugar: write cups=\.\.\., sugar=\.\.\., for example"),
        ((1, 2, 3), {}, "tea takes cups and pot alone without their names: write sugar=3, for example"),
        ((1, 2, "secret"), {}, r"tea takes cups and pot alone without their names: write sugar=\.\.\., for example"),
        ((1,), {"cups": 1, "sugar": 1}, "tea has cups twice, in its place and by name: write it once"),
        ((1,), {"sugar": 10}, "^too sweet$"),
    ],
)
def test_what_does_not_fit_is_said_with_what_to_write(arguments, words, said):
    with pytest.raises(TypeError, match=said) as caught:
        tea(*arguments, **words)
    assert caught.value.__context__ is None
