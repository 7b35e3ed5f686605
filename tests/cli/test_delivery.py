"""What the commands print and refuse: formats, a quiet list, large epsilons, and words of their own."""

import csv
import io
import json
import os
import shlex
import subprocess
import sys

import duckdb
import pytest

import shortlist as sl
from shortlist.cli.app import in_options
from shortlist.errors import Text
from tests.helpers.terminal import SHORTLIST, called, main
from tests.helpers.typed import present

TOP = ("top", "films.parquet", "--user", "user_id", "--item", "film", "--candidates", "films.txt", "--epsilon", "1")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    assert called("example", "films", cwd=folder).returncode == 0
    return folder


def asked_of(statement):
    return present(duckdb.query(statement))


def test_every_format_has_the_same_list(home):
    rows = csv.DictReader(io.StringIO(called(*TOP, "-k", "3", "--format", "csv", cwd=home).stdout))
    told = {row["item"] for row in rows}
    assert told == set(json.loads(called(*TOP, "-k", "3", "--format", "json", cwd=home).stdout)["items"])
    assert told == set(json.loads(called(*TOP, "-k", "3", "--json", cwd=home).stdout)["items"])
    assert told == set(called(*TOP, "-k", "3", "--quiet", cwd=home).stdout.split("\n")) - {""}
    sent = subprocess.run(
        [str(SHORTLIST), *TOP, "-k", "3", "--format", "parquet"], capture_output=True, check=True, cwd=home
    )
    (home / "sent.parquet").write_bytes(sent.stdout)
    assert told == {row[0] for row in asked_of(f"FROM '{home / 'sent.parquet'}'").fetchall()}


def test_a_file_keeps_margins_and_a_note(home):
    assert called(*TOP, "-k", "3", "--values", "--out", "top.parquet", "--quiet", cwd=home).returncode == 0
    file = home / "top.parquet"
    assert asked_of(f"FROM '{file}'").columns == ["rank", "item", "value", "margin"]
    note = asked_of(f"SELECT decode(value) FROM parquet_kv_metadata('{file}') WHERE decode(key) = 'shortlist'")
    assert "3 of 3 asked for." in note.fetchall()[0][0]


def test_what_a_csv_file_means_stands_beside_it_and_the_file_is_for_every_reader(home):
    done = called(*TOP, "-k", "3", "--values", "--out", "top.csv", cwd=home)
    assert "written to top.csv, readable by you alone; what it means to top.csv-metadata.json" in done.stdout
    rows = list(csv.DictReader(io.StringIO((home / "top.csv").read_text())))
    assert [list(row) for row in rows] == [["rank", "item", "value", "margin"]] * 3
    beside = json.loads((home / "top.csv-metadata.json").read_text())
    assert (beside["url"], "3 of 3 asked for." in beside["dc:description"]) == ("top.csv", True)
    assert [one["titles"] for one in beside["tableSchema"]["columns"]] == list(rows[0])
    assert (home / "top.csv-metadata.json").stat().st_mode & 0o077 == 0
    (home / "kept.csv-metadata.json").mkdir()
    done = called(*TOP, "-k", "3", "--out", "kept.csv", cwd=home)
    assert (done.returncode, done.stdout, (home / "kept.csv").exists()) == (1, "", False)


def test_two_formats_are_refused(home):
    done = called(*TOP, "-k", "3", "--json", "--format", "csv", cwd=home)
    assert (done.returncode, "not both" in done.stderr) == (2, True)


def test_a_large_epsilon_is_refused_unless_it_is_meant(home):
    asked = [*TOP[:-1], "31", "-k", "3"]
    for words in (asked, ["keys", *TOP[1:6], "--epsilon", "31", "--delta", "1e-6"]):
        done = called(*words, cwd=home)
        assert (done.returncode, done.stdout) == (1, "")
        assert "promises nobody anything" in done.stderr
        assert called(*words, "--yes-really", cwd=home).returncode == 0
    assert "promises little" in called(*asked[:-3], "11", "-k", "3", cwd=home).stdout


def test_k_may_be_left_out_where_there_is_a_delta(home):
    assert " came out." in called(*TOP, "--delta", "1e-6", cwd=home).stdout
    done = called(*TOP, cwd=home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no -k: the data choose how many, and that needs a delta: write --delta 1e-6, or -k 5" in done.stderr


def test_the_ledger_of_the_file_of_defaults_is_said(home, tmp_path):
    assert called("ledger", "init", "q4.db", "--epsilon", "3", cwd=tmp_path).returncode == 0
    (tmp_path / "shortlist.toml").write_text('ledger = "q4.db"\n')
    asked = [str(home / word) if word.startswith("films.") else word for word in TOP]
    done = called(*asked, "-k", "3", cwd=tmp_path)
    assert "q4.db pays, as shortlist.toml says" in done.stderr
    assert "pays" not in called(*asked, "-k", "3", "--ledger", "q4.db", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("$method='gaps' releases no values", "--method gaps releases no values"),
        ("write $delta=1e-6, or $values=True", "write --delta 1e-6, or --values"),
        ("give $candidates= first", "give --candidates first"),
        ("$groups_per_user=2 is too many", "--groups-per-user 2 is too many"),
        ("$colour=3 stays", "colour=3 stays"),
        (f"{sl.ApproxDP(1.0, 1e-6)} stays, $epsilon=2", f"{sl.ApproxDP(1.0, 1e-6)} stays, --epsilon 2"),
    ],
)
def test_python_words_become_options(words, said):
    text = Text(words)
    assert in_options(text, ["top"]) == said
    assert in_options(text, ["ledger"]) == in_options(text, []) == text


def test_clips_and_separators_are_read_as_they_are_written(home, tmp_path):
    text = "user_id;film;stars\n" + "".join(f"{n};film {n % 3};4\n" for n in range(3000))
    (tmp_path / "rows.csv").write_text(text)
    (tmp_path / "list.txt").write_text("film 0\nfilm 1\nfilm 2\n")
    asked = ["top", "rows.csv", "-k", "1", "--user", "user_id", "--item", "film", "--candidates", "list.txt"]
    asked += ["--epsilon", "1"]
    done = called(*asked, cwd=tmp_path)
    assert (done.returncode, "no column of that name" in done.stderr) == (1, True)
    assert called(*asked, "--separator", ";", cwd=tmp_path).returncode == 0
    summed = called(*asked, "--separator", ";", "--value", "stars", "--clip", "0,5", cwd=tmp_path)
    assert summed.returncode == 0, summed.stderr
    for clip in ("0", "0,x", "0,1,2"):
        assert called(*asked, "--value", "stars", "--clip", clip, cwd=tmp_path).returncode == 2
    (tmp_path / "rows.csv").write_text(text.replace(";", "\t"))
    assert called(*asked, "--separator", "tab", cwd=tmp_path).returncode == 0


def test_parquet_is_not_sent_to_a_terminal(monkeypatch, capsys):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Screen())
    monkeypatch.setattr("sys.argv", ["shortlist", "top", "x.csv", "-k", "1", "--user", "u", "--item", "i",
                                     "--epsilon", "1", "--delta", "1e-6", "--format", "parquet"])  # fmt: skip
    with pytest.raises(SystemExit):
        main()
    assert "parquet is no text" in capsys.readouterr().err


def test_what_was_written_is_said_and_who_may_read_it(tmp_path):
    (tmp_path / "rows.csv").write_text("who,what\n1,a\n2,a\n2,b\n")
    (tmp_path / "known.txt").write_text("a\nb\nc\n")
    asked = ["top", "rows.csv", "-k", "2", "--user", "who", "--item", "what", "--candidates", "known.txt"]
    asked += ["--epsilon", "1", "--out", "l.csv"]
    beside = "what it means to l.csv-metadata.json"
    assert called(*asked, cwd=tmp_path).stdout.endswith(f"\nwritten to l.csv, readable by you alone; {beside}\n")
    again = called(*asked, "--json", cwd=tmp_path)
    assert again.stderr == f"written to l.csv, in place of what was there, readable by you alone; {beside}\n"
    assert again.stdout.count("\n") == 1
    assert called(*asked, "--quiet", cwd=tmp_path).stdout.count("\n") == 2


def test_words_for_python_become_those_of_the_command_line():
    said = in_options(
        Text("give $groups=[...] or $candidates=[...]; write $separator=';' or $separator='\\t'"), ["top"]
    )
    assert said == "give --groups CH,DE,FR or --candidates FILE; write --separator ';' or --separator tab"


@pytest.mark.parametrize(
    ("written", "meant"),
    [(("median",), "shortlist quantile"), (("ledger", "balance", "b.db"), "shortlist ledger show"), (("tpo",), "top")],
)
def test_a_command_that_is_not_there_leads_to_one_that_is(written, meant):
    done = called(*written)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{meant}`" in done.stderr
    assert "write `" not in called("zzz").stderr


def test_help_shows_commands_that_can_be_copied():
    shown = called("-h").stdout.splitlines()
    assert "    shortlist example films" in shown
    assert shown[shown.index("    shortlist example films") + 1].endswith("\\")
    for name in ("top", "keys", "quantile"):
        assert "list[" not in called(name, "-h").stdout


@pytest.mark.parametrize("module", ["matplotlib", "matplotlib.pyplot"])
def test_a_picture_that_cannot_be_drawn_is_refused_before_a_charge(home, tmp_path, monkeypatch, module):
    """Matplotlib may be missing; or it is there and does not load."""
    monkeypatch.setitem(sys.modules, module, None)
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.PureDP(3.0))
    done = called(*TOP, "-k", "3", "--plot", tmp_path / "top.png", "--ledger", tmp_path / "l.db", cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--plot needs matplotlib" in done.stderr
    assert "pip install 'shortlist[plot]'" in done.stderr
    assert ledger.entries() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize(("option", "name"), [("--out", "a.csv"), ("--plot", "a.png"), ("--report", "a.html")])
def test_a_link_that_another_user_planted_is_refused_before_a_charge(home, tmp_path, option, name):
    shared, own = tmp_path / "shared", tmp_path / name
    shared.mkdir()
    shared.chmod(0o1777)
    own.write_text("mine")
    (shared / name).symlink_to(own)
    os.lchown(shared / name, 54321, 54321)
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.PureDP(3.0))
    done = called(*TOP, "-k", "3", option, shared / name, "--ledger", tmp_path / "l.db", cwd=home)
    assert (done.returncode, done.stdout, own.read_text()) == (1, "", "mine")
    assert "that another user made in" in done.stderr
    assert ledger.entries() == []


def paid(home, tmp_path, script, *more):
    """(the process of a shell's line, the entries of its ledger)."""
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.PureDP(90.0))
    command = shlex.join([str(SHORTLIST), *TOP, "-k", "3", "--ledger", str(tmp_path / "l.db"), *map(str, more)])
    done = subprocess.run(
        ["bash", "-c", script.format(command=command)], capture_output=True, text=True, cwd=home, check=False
    )
    return done, ledger.entries()


@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
@pytest.mark.parametrize("way", ["closed", "unread"])
def test_a_list_that_nobody_would_see_is_not_paid(home, tmp_path, way, form):
    unread = "set -o pipefail; (sleep 0.3; exec {command}) | true"
    script = "exec {command} >&-" if way == "closed" else unread
    done, entries = paid(home, tmp_path, script, "--format", form)
    assert (done.returncode, done.stdout, entries) == (1, "", [])
    said = "standard output is closed" if way == "closed" else "nobody reads the standard output"
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("option", ["--out list.csv", "--report list.html"])
def test_a_list_that_goes_to_a_file_needs_no_output(home, tmp_path, option):
    name, path = option.split()
    done, entries = paid(home, tmp_path, "exec {command} >&-", name, tmp_path / path)
    assert (done.returncode, done.stdout, done.stderr, len(entries)) == (0, "", "", 1)
    assert (tmp_path / path).stat().st_size > 20


@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
def test_a_pipe_that_closes_after_the_charge_is_told(home, tmp_path, form):
    """The reader leaves when the charge is on the disk."""
    wait = "while not book.entries(): time.sleep(0.001)"
    entered = f"import time, shortlist as sl\nbook = sl.Ledger({str(tmp_path / 'l.db')!r})\n{wait}"
    reader = f"{shlex.quote(sys.executable)} -c {shlex.quote(entered)}"
    (home / "big.txt").write_text("\n".join(f"film {n:05} {'x' * 40}" for n in range(30_000)) + "\n")
    script = f"set -o pipefail; {{command}} | {reader}"
    more = ("--candidates", "big.txt", "-k", "20000", "--epsilon", "50", "--yes-really")
    done, entries = paid(home, tmp_path, script, "--format", form, *more)
    assert (done.returncode, len(entries)) == (1, 1)
    assert "nobody reads it any more" in done.stderr
    assert "charged" in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_a_parquet_file_whose_name_is_not_utf8_is_refused_before_a_charge(home, tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.PureDP(3.0))
    more = ("--ledger", tmp_path / "l.db", "--out")
    done = called(*TOP, "-k", "3", *more, tmp_path / "caf\udce9.parquet", cwd=home)
    assert (done.returncode, done.stdout, ledger.entries()) == (1, "", [])
    assert "is not UTF-8 text, so rename it" in done.stderr
    done = called(*TOP, "-k", "3", *more, tmp_path / "caf\udce9.csv", cwd=home)
    assert (done.returncode, len(ledger.entries())) == (0, 1)
