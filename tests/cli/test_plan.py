"""`shortlist plan`."""

import json
import re

import pytest

from tests.helpers.terminal import Terminal, called

ASKED = ("plan", "--shape", "zipf:1.1", "--items", "60", "--users", "50000", "-k", "5", "--target", "0.99")


def test_plan_prints_a_ranked_table_and_draws_it(tmp_path):
    done = called(*ASKED, "--budget", "pure", "--plot", str(tmp_path / "plan.png"))
    assert done.returncode == 0, done.stderr
    assert "canonical" in done.stdout
    assert "lower bound" in done.stdout
    assert (tmp_path / "plan.png").stat().st_size > 1000


def test_plan_as_json_has_its_rows_best_first(tmp_path):
    (tmp_path / "counts.txt").write_text("90\n70\n20\n3\n1\n")
    done = called(
        "plan", "-k", "2", "--scores", str(tmp_path / "counts.txt"), "--goal", "recall", "--budget", "zcdp", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    epsilons = [row["epsilon"] for row in found["rows"]]
    assert epsilons == sorted(epsilons)
    assert found["goal"] == "recall"


def test_bad_input_is_one_sentence_and_exit_code_one(tmp_path):
    (tmp_path / "counts.txt").write_text("ninety\n")
    for wrong in (
        ("plan", "-k", "2", "--shape", "cubic"),
        ("plan", "-k", "2", "--scores", str(tmp_path / "counts.txt")),
    ):
        done = called(*wrong)
        assert done.returncode == 1, wrong
        assert done.stderr.startswith("shortlist: ")
        assert done.stderr.count("\n") == 1


def test_plan_never_takes_a_number_for_another(tmp_path):
    for text in ("1e30\n5\n3\n", "inf\n5\n3\n"):
        (tmp_path / "counts.txt").write_text(text)
        done = called("plan", "-k", "1", "--scores", str(tmp_path / "counts.txt"), "--json", "--domain", "unknown")
        assert done.returncode == 1, done.stdout  # floats, or nothing that can be a score: no counts
        assert done.stderr.count("\n") == 1
    (tmp_path / "counts.txt").write_text("1e30\n5\n3\n")
    done = called("plan", "-k", "2", "--scores", str(tmp_path / "counts.txt"), "--json", "--budget", "pure")
    assert done.returncode == 0, done.stderr
    assert 0.5 < json.loads(done.stdout)["rows"][0]["epsilon"] < 10  # 5 against 3; -2^63 would be the last


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_narrow_terminal_breaks_no_word_and_keeps_what_was_asked_for(columns):
    shown = Terminal(*ASKED, "--goal", "good", "--budget", "pure", columns=columns).read()
    table = [line for line in shown.splitlines() if "│" in line or "┃" in line]
    assert len(table) > 3
    assert max(map(len, table)) <= columns
    assert {"mechanism", "epsilon"} <= {*table[0].replace("┃", " ").split()}
    assert len({len(re.split("[│┃]", line)) for line in table}) == 1
    assert "one-shot, exponential" in shown
