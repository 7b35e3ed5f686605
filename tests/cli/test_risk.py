"""`shortlist risk`, `--version`, `-h`."""

import json

import pytest

import shortlist as sl
from tests.helpers.terminal import Terminal, called


def test_an_epsilon_is_stated_as_probabilities():
    done = called("risk", "1")
    assert done.returncode == 0
    assert "right at most 73.2% of the time" in done.stdout
    assert "A prior probability of 1% that the user is in the data becomes at most 2.7%." in done.stdout
    assert "promises little" not in done.stdout
    assert "An epsilon above 10 promises little" in called("risk", "12").stdout


def test_other_guarantees_and_json():
    told = json.loads(called("risk", "1", "--delta", "1e-6", "--json").stdout)
    assert told["guess"] == sl.risk(sl.ApproxDP(1.0, 1e-6)).guess
    assert json.loads(called("risk", "--rho", "0.1", "--json").stdout)["guess"] == sl.risk(sl.ZCDP(0.1)).guess


@pytest.mark.parametrize("words", [("1", "--rho", "1"), ("-h",)])
def test_it_says_what_it_takes(words):
    done = called("risk", *words)
    assert (done.returncode, "epsilon" in done.stdout + done.stderr) == (2 if "--rho" in words else 0, True)


def test_bad_numbers_are_refused_in_words():
    done = called("risk", "--", "-1")
    assert done.returncode == 1
    assert "EPSILON" in done.stderr


def test_the_version_and_the_exit_codes_are_told():
    assert called("--version").stdout.startswith("shortlist ")
    said = " ".join(called("-h").stdout.split())
    assert "3 if a budget has no room" in said
    assert "risk" in said
    assert "--install-completion" in said


def test_on_a_terminal_lines_end_between_words(tmp_path):
    for asked, words in ((("risk", "12"), "An epsilon above 10"), (("risk", "0"), "for example")):
        shown = Terminal(*asked, cwd=tmp_path, columns=50).read()
        assert words in " ".join(shown.split())
        assert max(map(len, shown.splitlines())) <= 50
