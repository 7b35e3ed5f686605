"""What the library says to Python is said in options on the command line."""

import pytest

from shortlist.cli.words import in_the_words_of

KNOWN = {"-k", "--delta", "--value", "--clip", "--at-least", "--method", "--where", "--item", "--epsilon", "--groups"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("k must be at least 1", "-k must be at least 1"),
        ("where: 'weak': no column", "--where: 'weak': no column"),
        (
            'value and clip go together: write value="stars", clip=(0, 5)',
            "--value and --clip go together: write --value stars --clip 0,5",
        ),
        ("clip=(low, high) must have low <= high", "--clip LOW,HIGH must have low <= high"),
        ("at_least looks at the count", "--at-least looks at the count"),
        ("name one, delta=1e-6, method='limited-domain'", "name one, --delta 1e-6 --method limited-domain"),
        ("write epsilon=1.0, or k=None", "write --epsilon 1.0, or no -k"),
        ("several are item=[...]", "several are --item COLUMN --item COLUMN"),
        ("value and colour go together", "value and colour go together"),
        ("colour must be red; user_id is a column", "colour must be red; user_id is a column"),
        ("the value must be small", "the value must be small"),
        ("ApproxDP(epsilon=1.0, delta=1e-06) stays", "ApproxDP(epsilon=1.0, delta=1e-06) stays"),
    ],
)
def test_what_is_an_option_is_written_as_one_and_all_else_stays(words, said):
    assert in_the_words_of(KNOWN, words) == said
    assert in_the_words_of((), words) == words
