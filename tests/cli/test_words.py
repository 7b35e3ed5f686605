"""What the library says to Python is said in options on the command line."""

import pickle

import pytest

import shortlist as sl
from shortlist.cli.app import in_options
from shortlist.errors import Text
from tests.helpers.terminal import called

KNOWN = {"-k", "--delta", "--value", "--clip", "--at-least", "--method", "--where", "--item", "--epsilon", "--groups"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("$k must be at least 1", "-k must be at least 1"),
        ("$where: 'weak': no column", "--where: 'weak': no column"),
        (
            '$value and $clip go together: write $value="stars", $clip=(0, 5)',
            "--value and --clip go together: write --value stars --clip 0,5",
        ),
        ("$clip=(low, high) must have low <= high", "--clip LOW,HIGH must have low <= high"),
        ("$at_least looks at the count", "--at-least looks at the count"),
        ("name one, $delta=1e-6, $method='limited-domain'", "name one, --delta 1e-6 --method limited-domain"),
        ("write $epsilon=1.0, or $k=None", "write --epsilon 1.0, or no -k"),
        ("several are $item=[...]", "several are --item COLUMN --item COLUMN"),
        ("$colour must be red; user_id is a column", "colour must be red; user_id is a column"),
        ("the value must be small", "the value must be small"),
        ("ApproxDP(epsilon=1.0, delta=1e-06) stays", "ApproxDP(epsilon=1.0, delta=1e-06) stays"),
        ("it is there$<, or Ledger(path) in Python>; see `shortlist`", "it is there; see `shortlist`"),
        ("$item='$k costs': the table has none", "--item '$k costs': the table has none"),
    ],
)
def test_what_is_an_option_is_written_as_one_and_all_else_stays(words, said):
    assert in_options(Text(words), ["keys" if "at_least" in words else "top"]) == said


def test_python_reads_the_arguments_themselves_even_after_a_pickle():
    with pytest.raises(ValueError, match="epsilon must be") as refused:
        sl.compare([3, 1, 2], 1, epsilon=[])
    error = pickle.loads(pickle.dumps(refused.value))
    assert "$" not in str(error)
    assert "for example epsilon=" in str(error)
    assert "for example --epsilon" in in_options(error.args[0], ["top"])
    assert repr(error) == f"ValueError({str(error)!r})"


TABLE = ("rows.csv", "--user", "who", "--epsilon", "1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("ledger", "init", "a.db", "--epsilon", "0"),
            "--epsilon must be a number greater than 0 and finite",
        ),
        (("quantile", *TABLE, "--value", "n", "-q", "50"), "-q must be from 0 to 1, for example -q 0.5"),
        (
            ("quantile", *TABLE, "--value", "n", "-q", "0.5", "-q", "0.2"),
            "-q must increase: write -q 0.25 -q 0.5",
        ),
        (("quantile", *TABLE, "--value", "n", "--lower", "9", "--upper", "1"), "--lower must be below --upper"),
        (("top", *TABLE, "--item", "n", "-k", "1", "--method", "gumbel-values"), "write --epsilon 1 --delta 1e-6, for"),
        (("ledger", "approve", "there.db", "9"), "ENTRY must be the number of an entry that asks for approval"),
    ],
)
def test_every_command_says_what_is_wrong_in_its_own_words(tmp_path, arguments, said):
    sl.Ledger(tmp_path / "there.db", budget=sl.PureDP(1.0))
    (tmp_path / "rows.csv").write_text("who,n\n1,2\n")
    (tmp_path / "list.txt").write_text("1\n2\n3\n")
    more = ("--candidates", "list.txt") if arguments[0] == "top" else ()
    ends = ("--lower", "0", "--upper", "9") if arguments[0] == "quantile" and "--lower" not in arguments else ()
    done = called(*arguments, *more, *ends, cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
