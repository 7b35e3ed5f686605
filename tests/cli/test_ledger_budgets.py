"""`shortlist ledger plan` and what a charge prints: budgets over time, as a person and a program read them."""

import json
import os
import re

import polars as pl
import pytest

from shortlist import ZCDP, ApproxDP, Ledger, PureDP
from tests.helpers.terminal import called
from tests.helpers.typed import of_kind


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = [(user, film) for n, film in enumerate("abcde") for user in range(900 - 150 * n)]
    pl.DataFrame(people, schema=["user_id", "film"], orient="row").write_parquet("films.parquet")
    (tmp_path / "films.txt").write_text("\n".join("abcdefgh"))
    assert called("ledger", "init", "q4.db", "--epsilon", "3", "--delta", "1e-6").returncode == 0
    return tmp_path


ASK = ("top", "films.parquet", "--user", "user_id", "--item", "film", "-k", "2", "--epsilon", "1", "--ledger", "q4.db")


def test_a_ledger_says_at_once_what_it_keeps_of_delta(home):
    shown = " ".join(called("ledger", "show", "q4.db").stdout.split())
    assert "the first charge may have all of 1e-6, later ones 5e-7; the other 5e-7 lets many" in shown
    assert called(*ASK, "--candidates", "films.txt").returncode == 0
    assert "\ndelta: 5e-7 is left of" in called("ledger", "plan", "q4.db", "--releases", "3").stdout
    shown = " ".join(called("ledger", "show", "q4.db").stdout.split())
    assert "5e-7 is left of the 5e-7 for answers that need one, as names from the data do; the other 5e-7 lets" in shown
    refused = called(*ASK, "--delta", "1e-6")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "its delta may be at most 5e-7" in refused.stderr
    assert called(*ASK, "--delta", "5e-7").returncode == 0


def test_the_delta_of_the_budget_may_be_that_of_the_first_release(home):
    done = called(*ASK, "--delta", "1e-6")
    assert done.returncode == 0, done.stderr
    balance = "booked: epsilon 1 of 3 at delta 1e-6, 1 release; a charge of up to epsilon 2 would still be admitted"
    assert f"Entry 1 of q4.db; {balance}." in done.stdout
    more = called(*ASK, "--candidates", "films.txt", "--json")
    assert json.loads(more.stdout)["extras"]["balance"].startswith("booked: epsilon 2 of 3 at delta 1e-6, 2 releases;")
    entry = Ledger("q4.db").entries()[0]
    assert (entry.source or "").startswith(f"films.parquet in {os.getcwd()}: user user_id, item film")


def test_a_plan_is_a_line_that_can_be_pasted(home):
    told = json.loads(called("ledger", "plan", "q4.db", "--releases", "13", "--json").stdout)
    share = of_kind(PureDP, Ledger("q4.db").plan(13))
    assert told["each"] == {"kind": "PureDP", "epsilon": share.epsilon, "delta": 0.0}
    assert told["options"] == f"--epsilon {share.epsilon!r}"
    said = called("ledger", "plan", "q4.db", "--releases", "13").stdout
    assert "\ndelta: " in said
    for words in ("each of 13 releases may spend epsilon 0.2307, as their epsilons add up", told["options"],
                  "whether one user is in the data is right at most", f"one that leads by {told['lead']} people",
                  "ApproxDP(epsilon=3.0, delta=1e-06)"):  # fmt: skip
        assert words in said
    many = called("ledger", "plan", "q4.db", "--releases", "104", "--delta", "1e-9").stdout
    assert "each of 104 releases may spend rho 0.001689 and delta 1e-9, as their rhos add up" in many
    fifteen = json.loads(called("ledger", "plan", "q4.db", "--releases", "15", "--json").stdout)
    assert (fifteen["options"], fifteen["each"]["epsilon"]) == ("--epsilon 0.2", 0.19999999999999998)
    assert "public candidates" not in many  # a delta is for names from the data
    assert called("ledger", "plan", "q4.db", "--releases", "0").returncode == 2
    assert called("ledger", "plan", "q4.db", "--releases", "3", "--delta", "1e-6").returncode == 1


@pytest.mark.parametrize("budget", [PureDP(3.0), ZCDP(0.5), ApproxDP(3.0, 1e-6)])
def test_no_output_has_fractions_of_many_digits(home, budget):
    ledger = Ledger("one.db", budget=budget)
    for _ in range(3):
        ledger.charge(PureDP(0.1))
    for command in (("show",), ("show", "--json"), ("export",), ("export", "--json"), ("plan", "--releases", "7")):
        out = called("ledger", command[0], "one.db", *command[1:]).stdout
        assert out
        assert not re.findall(r"\d{5,}/\d{5,}", out), command
