"""A line that is no command: what is wrong and what to write, in words of our own, whatever library read the line."""

import io
import json
import sys
import warnings

import pytest

from shortlist.cli.releases import list_methods
from shortlist.query import options_of
from tests.helpers.terminal import Terminal, called, main

TOP = ("top", "films.parquet", "--user", "user_id", "--item", "film")
NUMBER, WHOLE = "must be a number, for example 0.5", "must be a whole number"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("top", "films.parquet"), "give --user COLUMN, the column of users; and --item COLUMN, the column of items"),
        (("top", "--user", "user_id", "--item", "film"), "give FILE, a path or glob"),
        ((*TOP, "--epsilon", "abc"), f"--epsilon {NUMBER}"),
        ((*TOP, "--epsilon", "0,5"), f"--epsilon {NUMBER}: write decimals with a point, and thousands without a comma"),
        (("risk", "0,5"), f"EPSILON {NUMBER}: write decimals with a point"),
        ((*TOP, "--delta=1,5"), f"--delta {NUMBER}: write decimals with a point"),
        ((*TOP, "-k", "1,000"), f"-k {WHOLE}, for example 10: write decimals with a point, and thousands without"),
        ((*TOP, "-k", "five"), f"-k {WHOLE}, for example 10"),
        ((*TOP, "--epsilom", "1"), "there is no option --epsilom; did you mean --epsilon?"),
        ((*TOP, "--sep", ";"), "there is no option --sep; did you mean --separator?"),
        ((*TOP, "--colour"), "there is no option --colour\n"),
        ((*TOP, "--format", "xml"), "--format must be one of table, csv, json, parquet"),
        ((*TOP, "--ledger"), "--ledger needs a value after it"),
        ((*TOP, "more", "words"), "more words: nothing more is expected there"),
        (TOP, "give --epsilon (with --delta or without), or --rho: one of them"),
        (("tpo",), "there is no command 'tpo': write `shortlist top`"),
        (("xyz",), "there is no command 'xyz'; there are top, keys, "),
        (("--verison",), "there is no option --verison; did you mean --version?"),
        (("risk", "x"), f"EPSILON {NUMBER}"),
        (("ledger", "show"), "give LEDGER, the ledger's file, or postgresql://user@host/base?name=q4"),
        (("ledger", "show", "q4.db", "--rows", "-3"), f"--rows {WHOLE}, 0 or more"),
        (("ledger", "approve", "q4.db", "x"), f"ENTRY {WHOLE}, for example 3"),
        (("audit", "-k", "0"), f"-k {WHOLE}, 1 or more"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_write(line, said):
    done = called(*line)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"shortlist: {said}" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("see `shortlist")
    assert not any(word in done.stderr for word in ("Error", "parse", "Invalid", "argument(s)", "integer", "float"))


@pytest.mark.parametrize("line", [("top",), ("keys",), ("ledger",), ()])
def test_where_nothing_was_written_the_help_is_shown_without_types_of_python(line):
    done = called(*line)
    assert done.stderr.startswith("Usage: shortlist")
    assert not any(word in done.stdout + done.stderr for word in ("<str>", "<float>", "<int>", "TEXT]", "FLOAT", "{"))


def test_the_commands_of_a_ledger_are_described_in_whole_sentences():
    assert "..." not in called("ledger", "-h").stdout.partition("Commands")[2]


def test_json_has_letters_as_they_are_and_escapes_where_the_stream_has_none(monkeypatch, tmp_path):
    rows, told = tmp_path / "rows.csv", {}
    rows.write_text("who,what\n" + "".join(f"{n},映画\n" for n in range(500)), encoding="utf-8")
    asked = "-k 1 --user who --item what --epsilon 1 --delta 1e-6"
    for encoding in ("utf-8", "cp1252"):
        raw = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding=encoding))
        monkeypatch.setattr("sys.argv", ["shortlist", "top", str(rows), *asked.split(), "--json"])
        with pytest.raises(SystemExit):
            main()
        sys.stdout.flush()
        told[encoding] = raw.getvalue()
    assert '"items": ["映画"]' in told["utf-8"].decode()
    assert told["cp1252"].isascii()
    assert json.loads(told["cp1252"])["items"] == ["映画"]


def test_what_we_warn_of_is_said_in_words_and_what_libraries_warn_of_is_not(tmp_path, monkeypatch):
    called("example", "films", cwd=tmp_path)
    line = (*TOP, "-k", "2", "--epsilon", "1", "--delta", "0.1", "--quiet")
    monkeypatch.setattr("shortlist.cli.releases.files_at", lambda *_: warnings.warn("of a library", stacklevel=1) or [])
    assert called(*line, cwd=tmp_path).stderr == (
        "shortlist: --delta 0.1 lets one person's own item out with that chance; write a delta well below one over the "
        "number of people\n"
    )


@pytest.mark.parametrize("line", [("risk", "1"), (*TOP, "--epsilon", "1")], ids=["risk", "an error"])
def test_a_terminal_breaks_sentences_between_words_and_a_pipe_does_not(line):
    shown = Terminal(*line, columns=50).read()
    assert max(map(len, shown.splitlines())) <= 50
    whole = called(*line)
    assert shown.split() == (whole.stdout + whole.stderr).split()
    assert max(map(len, (whole.stdout + whole.stderr).splitlines())) > 100


@pytest.mark.parametrize(("columns", "least", "most"), [(80, 70, 80), (140, 90, 100)])
def test_a_help_takes_the_width_of_the_terminal_as_far_as_lines_can_be_read(monkeypatch, columns, least, most):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert least < max(map(len, called("top", "-h").stdout.splitlines())) <= most


def test_a_shell_completes_the_names_of_methods():
    assert list_methods("gua") == ["guarded", "guarded-list"]
    assert list_methods("")[0] == "auto"


@pytest.mark.parametrize(("command", "call"), [("top", "top_k"), ("keys", "keys"), ("quantile", "quantile")])
def test_every_plain_option_of_a_table_is_one_of_the_command(command, call):
    words = called(command, "-h").stdout
    plain = [
        one for one in options_of(call) if one.part == "table" and one.type in ("str | None", "int | None", "bool")
    ]
    assert [one.name for one in plain if f"--{one.name.replace('_', '-')}" not in words] == []
    assert "memory" in [one.name for one in plain]
