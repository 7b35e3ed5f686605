"""`shortlist odds`, `--version`, `-h`."""

import json

import pytest

import shortlist as sl
from tests.helpers.terminal import Terminal, called


def test_an_epsilon_is_told_as_odds():
    done = called("odds", "1")
    assert done.returncode == 0
    assert "50% becomes at most 73.2%" in done.stdout
    assert "A suspicion of 1% becomes at most 2.7%." in done.stdout
    assert "promises little" not in done.stdout
    assert "An epsilon above 10 promises little" in called("odds", "12").stdout


def test_other_guarantees_and_json():
    told = json.loads(called("odds", "1", "--delta", "1e-6", "--json").stdout)
    assert told["right"] == sl.odds(sl.ApproxDP(1.0, 1e-6)).right
    assert json.loads(called("odds", "--rho", "0.1", "--json").stdout)["right"] == sl.odds(sl.ZCDP(0.1)).right


@pytest.mark.parametrize("words", [("1", "--rho", "1"), ("-h",)])
def test_it_says_what_it_takes(words):
    done = called("odds", *words)
    assert (done.returncode, "epsilon" in done.stdout + done.stderr) == (2 if "--rho" in words else 0, True)


def test_bad_numbers_are_refused_in_words():
    done = called("odds", "--", "-1")
    assert done.returncode == 1
    assert "EPSILON" in done.stderr


def test_the_version_and_the_exit_codes_are_told():
    assert called("--version").stdout.startswith("shortlist ")
    said = " ".join(called("-h").stdout.split())
    assert "3 if a budget has no room" in said
    assert "odds" in said
    assert "--install-completion" in said


def test_on_a_terminal_lines_end_between_words(tmp_path):
    for asked, words in ((("odds", "12"), "An epsilon above 10"), (("odds", "0"), "for example")):
        shown = Terminal(*asked, cwd=tmp_path, columns=50).read()
        assert words in " ".join(shown.split())
        assert max(map(len, shown.splitlines())) <= 50
