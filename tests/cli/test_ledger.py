"""`shortlist ledger`, through real processes: tables for people, JSON for programs, one sentence for errors."""

import csv
import io
import json

import pytest

from shortlist import Ledger
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from tests.helpers.terminal import called as in_this_process
from tests.helpers.terminal import main, run


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "budget.db")


def called(capsys, monkeypatch, *arguments):
    """The command in this process: exit code, standard output, standard error."""
    monkeypatch.setattr("sys.argv", ["shortlist", "ledger", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    return end.value.code or 0, shown.out, shown.err


def test_init_show_and_verify(path, capsys, monkeypatch):
    """Shown in a real process."""
    assert called(capsys, monkeypatch, "init", path, "--epsilon", "3", "--delta", "1e-6")[0] == 0
    Ledger(path).charge(PureDP(0.5), purpose="weekly chart [red] \x1b[31m")
    shown = run("ledger", "show", path)
    assert shown.returncode == 0
    assert "weekly chart" in shown.stdout
    assert "[red]" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "epsilon 0.5 of 3 at delta 1e-6, 1 release" in " ".join(shown.stdout.split())
    assert "a charge of up to epsilon 2.5 would still be admitted" in " ".join(shown.stdout.split())
    _, checked, _ = called(capsys, monkeypatch, "verify", path)
    assert checked == f"all 1 entries follow from one another; head {Ledger(path).head}\n"


@pytest.mark.parametrize(
    ("options", "budget"),
    [
        (["--epsilon", "3"], PureDP(3.0)),
        (["--epsilon", "3", "--delta", "1e-6"], ApproxDP(3.0, 1e-6)),
        (["--rho", "0.5"], ZCDP(0.5)),
        (["--rho", "0.5", "--delta", "1e-6"], ZCDP(0.5, 1e-6)),
    ],
)
def test_init_makes_each_kind_of_budget(path, capsys, monkeypatch, options, budget):
    code, out, _ = called(capsys, monkeypatch, "init", path, *options, "--json")
    assert (code, Ledger(path).budget) == (0, budget)
    assert json.loads(out)["head"] == Ledger(path).head


def test_init_fixes_split_and_order(path, capsys, monkeypatch):
    options = ["--epsilon", "3", "--delta", "1e-6", "--split", "0.25", "--order", "12"]
    assert called(capsys, monkeypatch, "init", path, *options)[0] == 0
    terms = Ledger(path).terms
    assert (terms.split, terms.order) == (0.25, 12.0)


def test_json_has_the_whole_story(path, capsys, monkeypatch):
    ledger = Ledger(path, budget=PureDP(3.0))
    for number in range(3):
        ledger.charge(PureDP(0.5), purpose=f"release {number}")
    shown = json.loads(called(capsys, monkeypatch, "show", path, "--rows", "2", "--json")[1])
    assert shown["spent"]["epsilon"] == shown["remaining"]["epsilon"] == 1.5
    assert [entry["purpose"] for entry in shown["entries"]] == ["release 1", "release 2"]
    exported = json.loads(called(capsys, monkeypatch, "export", path, "--json")[1])
    assert len(exported["entries"]) == 3
    assert json.loads(called(capsys, monkeypatch, "verify", path, "--json")[1])["entries"] == 3


def test_export_is_csv_with_exact_numbers(path, capsys, monkeypatch):
    ledger = Ledger(path, budget=PureDP(3.0))
    ledger.charge(PureDP(0.1), purpose='a "quoted", purpose')
    (row,) = csv.DictReader(io.StringIO(called(capsys, monkeypatch, "export", path)[1]))
    assert row["purpose"] == 'a "quoted", purpose'
    assert row["epsilon"] == "0.1"
    assert row["hash"] == ledger.head
    (exact,) = csv.DictReader(io.StringIO(called(capsys, monkeypatch, "export", path, "--exact")[1]))
    assert exact["epsilon"] == "3602879701896397/36028797018963968"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "nowhere.db"], 1, "nowhere.db is not there; `shortlist ledger init` makes it\n"),
        (["show", "."], 1, "is not a file"),
        (["verify", "text"], 1, "not a ledger"),
        (["verify", "there.db", "--head", "abc"], 1, "have vanished"),
        (["init", "there.db", "--epsilon", "3"], 1, "is there already"),
        (["init", "new.db", "--epsilon", "-1"], 1, "epsilon must be"),
        (["init", "new.db", "--epsilon", "nan"], 1, "epsilon must be"),
        (["init", "new.db", "--epsilon", "1", "--split", "0.5"], 1, "split and order belong"),
        (["init", "no/folder.db", "--epsilon", "1"], 1, "cannot be opened"),
        (["init", "new.db"], 2, "give --epsilon"),
        (["init", "new.db", "--epsilon", "1", "--rho", "1"], 2, "one of them"),
        (["init", "new.db", "--epsilon", "much"], 2, "--epsilon must be a number"),
        (["show"], 2, "give LEDGER"),
    ],
)
def test_an_error_is_one_sentence_and_an_exit_code(tmp_path, capsys, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    Ledger("there.db", budget=PureDP(3.0))
    (tmp_path / "text").write_text("no ledger" * 1000)
    found, out, err = called(capsys, monkeypatch, *arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert "Traceback" not in err
    assert code == 2 or err.count("\n") == 1
    assert not (tmp_path / "new.db").exists()


def test_an_exceeded_budget_is_exit_code_3(path, capsys, monkeypatch):
    ledger = Ledger(path, budget=PureDP(0.25))

    def overspend(*_):
        ledger.charge(PureDP(0.5))

    monkeypatch.setattr("shortlist.cli.ledger.show_ledger", overspend)
    code, _, err = called(capsys, monkeypatch, "show", path)
    assert code == 3
    assert "asked epsilon 0.5; booked: epsilon 0 of 0.25, 0 releases; a charge of up to epsilon 0.25 would" in err


def test_a_ledger_without_room_is_asked_before_the_table_is_opened(path, tmp_path):
    """Whatever is wrong with the table is told to those alone who can pay for the answer."""
    Ledger(path, budget=ApproxDP(0.1, 1e-5))
    table = tmp_path / "rows.csv"
    table.write_text("person,film\n1,a\n")  # no column of the names that are asked for
    question = ("--user", "user_id", "--item", "movie", "--delta", "1e-6", "-k", "1")
    ended = in_this_process("top", table, *question, "--epsilon", "1", "--ledger", path)
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "column" not in ended.stderr


def test_a_budget_without_a_delta_says_what_it_cannot_pay_for(path, tmp_path):
    made = in_this_process("ledger", "init", path, "--epsilon", "2")
    assert "Names from the data need a delta, and this budget has none: for them add --delta 1e-6." in made.stdout
    (tmp_path / "rows.csv").write_text("who,what\n1,a\n")
    asked = ("keys", tmp_path / "rows.csv", "--user", "who", "--item", "what", "--epsilon", "0.5", "--delta", "1e-6")
    refused = in_this_process(*asked, "--ledger", path)
    assert refused.returncode == 1
    assert "this budget was made without. Make another ledger with a delta: `shortlist ledger init`" in refused.stderr
    other = in_this_process("ledger", "init", tmp_path / "other.db", "--epsilon", "2", "--delta", "1e-6")
    assert "Names from the data" not in other.stdout


def test_a_closed_ledger_is_shown_as_closed(path):
    Ledger(path, budget=PureDP(2.0)).close("over")
    shown = in_this_process("ledger", "show", path).stdout
    assert "closed for good on" in shown
    assert "admitted" not in shown


def test_entries_fit_a_narrow_terminal_with_what_each_cost(path, monkeypatch):
    ledger = Ledger(path, budget=ApproxDP(2.0, 1e-6))
    ledger.charge(
        PureDP(0.5), purpose="top 5 of films.parquet", mechanism="GuardedTopK(k=5, budget=PureDP(epsilon=0.5))"
    )
    monkeypatch.setenv("COLUMNS", "80")
    plain = in_this_process("ledger", "show", path).stdout
    assert "guarded top-5" in plain  # nothing is left out in a pipe, and nothing broken or drawn
    assert plain.isascii()
    assert not any(line.endswith(" ") for line in plain.splitlines())
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    shown = in_this_process("ledger", "show", path).stdout
    assert "cost" in shown
    assert "epsilon 0.5" in shown.split("purpose")[1]
    assert {"films.parquet", "charge"} <= set(shown.split())
    assert "guarded" not in shown
    monkeypatch.setenv("COLUMNS", "140")
    assert "guarded top-5" in in_this_process("ledger", "show", path).stdout
