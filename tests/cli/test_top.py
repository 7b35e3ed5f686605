"""`shortlist top`: its line as written through real processes and a real terminal, the rest in this one."""

import csv
import json
import subprocess

import polars as pl
import pytest

from shortlist import ZCDP, ApproxDP, Ledger, PureDP
from shortlist.tables.count import OpenTable
from tests.helpers.terminal import SHORTLIST, Terminal, called, run

FILMS = ["ant", "bee", "cat", "dog", "eel"]
HOSTILE = "\x1b[31mred [bold]x[/]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five films with clear winners, and a public list."""
    home = tmp_path_factory.mktemp("cli")
    users = [(user, film) for n, film in enumerate(FILMS) for user in range(1000 - 200 * n)]
    rows = pl.DataFrame(users, schema=["user_id", "movie"], orient="row")
    rows.write_parquet(home / "ratings.parquet")
    rows.write_csv(home / "ratings.csv")
    rows.with_columns(pl.lit(HOSTILE).alias("movie")).write_parquet(home / "hostile.parquet")
    rows.select("movie").unique().write_csv(home / "known.csv")
    (home / "link.csv").symlink_to(home / "ratings.csv")
    (home / "notes.txt").write_text("no table")
    (home / "catalogue.txt").write_text("\n".join([*FILMS, "fox"]))
    return home


def asked(table="ratings.parquet", *more, k=2):
    return ("top", table, "-k", str(k), "--user", "user_id", "--item", "movie", *more)


KNOWN = ("--candidates", "catalogue.txt", "--epsilon", "1")


def test_the_line_of_the_product_page_works_as_written(folder, tmp_path):
    book = tmp_path / "budget.db"
    assert called("ledger", "init", book, "--epsilon", "3", "--delta", "1e-6").returncode == 0
    done = run(*asked("ratings.parquet", *KNOWN, "--ledger", book, "--plot", tmp_path / "top.png"), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    table, _, told = done.stdout.partition("\n\n")
    assert table == "item\n----\nant\nbee"
    summary, order, line, written = told.splitlines()
    assert "No ledger" not in told
    assert written == f"drawn to {tmp_path / 'top.png'}, readable by you alone"
    assert (
        order
        == "A set, sorted by label: the order says nothing; an order is another release, and charged again: --ordered."
    )
    assert summary.startswith(
        "2 of 2 asked for. 6 candidates, declared public by the caller. Best guess whether one user is in the data: "
    )
    assert "73.2% of the time (50% without this release), at epsilon 1.0. Entry 1 of budget.db; booked" in summary
    assert line == "PureDP(epsilon=1.0) for one user (add-remove) by guarded top-2"
    assert (tmp_path / "top.png").read_bytes().startswith(b"\x89PNG")
    (entry,) = Ledger(book).entries()
    assert (entry.purpose, entry.unit) == ("top 2 of ratings.parquet", "user (add-remove)")
    assert {path.name for path in tmp_path.iterdir()} <= {"budget.db", "budget.db-wal", "budget.db-shm", "top.png"}


def test_without_a_list_of_candidates_it_takes_a_delta(folder):
    done = called(*asked("ratings.parquet", "--epsilon", "1", "--delta", "1e-6"), cwd=folder)
    assert done.returncode == 0
    assert "ant\nbee\n" in done.stdout
    assert "No ledger kept count: the next answer about these people adds its epsilon to this one" in done.stdout
    assert "delta=1e-06" in done.stdout
    refused = called(*asked("ratings.parquet", "--epsilon", "1"), cwd=folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--candidates FILE, or --delta 1e-6" in refused.stderr


@pytest.mark.parametrize("table", ["ratings.parquet", "ratings.csv", "rat*s.csv"])
def test_json_is_one_object(folder, table):
    done = called(*asked(table, *KNOWN, "--json", "--gaps"), cwd=folder)
    found = json.loads(done.stdout)
    assert found["items"] == ["ant", "bee"]
    assert found["guarantee"] == {"kind": "PureDP", "epsilon": 1.0}
    assert found["ordered"]
    assert len(found["gaps"]) == 2
    assert {"mechanism", "why", "unit"} <= set(found)


def test_lists_are_written_whole_as_csv_and_parquet(folder, tmp_path):
    for name in ("list.csv", "list.parquet"):
        done = called(*asked("ratings.parquet", *KNOWN, "--values", "--gaps", "--out", tmp_path / name), cwd=folder)
        assert done.returncode == 0, done.stderr
    with open(tmp_path / "list.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    table = pl.read_parquet(tmp_path / "list.parquet")
    assert [row["item"] for row in rows] == table["item"].to_list() == ["ant", "bee"]
    assert table.columns == ["rank", "item", "value", "margin", "gap"]
    assert table.dtypes == [pl.Int64, pl.String, pl.Float64, pl.Float64, pl.Float64]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert {path.name for path in tmp_path.iterdir()} == {"list.csv", "list.csv-metadata.json", "list.parquet"}


def test_several_columns_sums_and_order(folder, tmp_path):
    rows = pl.DataFrame({"who": range(90), "a": ["x", "y", "z"] * 30, "b": [1] * 90, "stars": [5, 3, 0] * 30})
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.select("a", "b").unique().write_csv(tmp_path / "known.csv")
    done = called("top", "rows.parquet", "-k", "2", "--user", "who", "--item", "a", "--item", "b", "--value", "stars",
               "--clip", "0,5", "--candidates", "known.csv", "--epsilon", "9", "--ordered", "--unit", "child",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()[:4]][2:] == [["1", "x", "1"], ["2", "y", "1"]]
    assert "for one child" in done.stdout


def test_a_terminal_shows_a_table_in_colour_and_a_pipe_does_not(folder):
    terminal = Terminal(*asked("ratings.parquet", *KNOWN, "--ordered"), cwd=folder)
    shown = terminal.read()
    assert terminal.process.returncode == 0
    assert "\x1b[" in terminal.raw.decode()
    assert "rank" in shown
    assert "1 │ ant" in shown
    assert "PureDP(epsilon=1.0) for one user (add-remove)" in shown
    assert "\x1b" not in called(*asked("ratings.parquet", *KNOWN, "--ordered"), cwd=folder).stdout


def test_labels_cannot_play_tricks_on_a_terminal(folder):
    asked_for = asked("hostile.parquet", "--epsilon", "9", "--delta", "1e-3", k=1)
    terminal = Terminal(*asked_for, cwd=folder)
    assert "[31mred [bold]x[/]" in terminal.read()
    assert b"\x1b[31m" not in terminal.raw
    assert "\x1b" not in called(*asked_for, cwd=folder).stdout


def test_long_work_shows_how_much_was_read_and_then_wipes_it(tmp_path):
    rows = pl.select(pl.int_range(300_000).alias("n"))
    rows.select(user_id=pl.col("n").hash(1) % 40_000, movie=pl.col("n").hash(2) % 50_000).write_csv(
        tmp_path / "rows.csv"
    )
    terminal = Terminal(*asked("rows.csv", "--epsilon", "1", "--delta", "1e-6"), cwd=tmp_path)
    assert "rows read" in terminal.read()
    assert terminal.process.returncode == 0
    assert "300000" not in terminal.shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (asked("nothing.parquet", *KNOWN), 1, "nothing.parquet is not there"),
        (asked(".", *KNOWN), 1, "is a directory"),
        (asked("notes.txt", *KNOWN), 1, "its name must end in"),
        (asked("ratings.parquet", "--candidates", "none.txt", "--epsilon", "1"), 1, "none.txt is not there"),
        (asked("ratings.parquet", "--candidates", "catalogue.txt", "--epsilon", "-1"), 1, "epsilon must be"),
        (asked("ratings.parquet", *KNOWN, k=9), 1, "-k 9 is more than the 6 candidates"),
        (asked("ratings.parquet", *KNOWN, k=0), 1, "k must be at least 1"),
        (asked("ratings.parquet", *KNOWN, "--method", "magic"), 1, "--method magic is not known"),
        (asked("ratings.parquet", *KNOWN, "--ledger", "none.db"), 1, "is not there"),
        (asked("ratings.parquet", *KNOWN, "--out", "no/where.csv"), 1, "--out needs a folder"),
        (asked("ratings.parquet", *KNOWN, "--memory", "lots"), 1, "memory must be a size"),
        (asked("ratings.parquet", *KNOWN, "--value", "movie", "--clip", "0,5"), 1, "must be a column of numbers"),
        (
            asked("ratings.parquet", *KNOWN, "--value", "movie"),
            1,
            "--value and --clip go together: write --value stars --clip 0,5",
        ),
        (("top", "ratings.parquet", "-k", "2", "--user", "movie", "--item", "nope", *KNOWN), 1, "--item nope"),
        (asked("ratings.parquet", "--candidates", "catalogue.txt"), 2, "give --epsilon"),
        (asked("ratings.parquet", *KNOWN, "--rho", "1"), 2, "one of them"),
        (asked("ratings.parquet", *KNOWN, "--out", "list.xlsx"), 2, "must end in .csv or .parquet"),
        (asked("ratings.parquet", *KNOWN, "--plot", "list.gif"), 2, "must end in .png"),
        (asked("ratings.parquet", "--epsilon", "much"), 2, "--epsilon must be a number"),
        (asked("ratings.parquet", *KNOWN, "--out", "ratings.parquet"), 2, "a file of its own"),
        (asked("rat*s.parquet", *KNOWN, "--out", "./ratings.parquet"), 2, "a file of its own"),
        (asked("ratings.csv", "--candidates", "known.csv", "--epsilon", "1", "--out", "known.csv"), 2, "of its own"),
        (asked("ratings.csv", *KNOWN, "--out", "link.csv"), 2, "of its own"),
        (asked("ratings.csv", *KNOWN, "--ledger", "book.csv", "--out", "book.csv"), 2, "of its own"),
        (asked("ratings.csv", *KNOWN, "--out", "a.csv", "--plot", "a.png", "--ledger", "a.png"), 2, "of its own"),
        (asked("http://host/ratings.csv", *KNOWN), 1, "a file on this machine"),
        (asked("ratings.parquet", *KNOWN, "--memory", "99999999999TB"), 1, "memory must be a size"),
        (("top", "ratings.parquet", "-k", "2", "--user", "user_id"), 2, "give --item COLUMN"),
    ],
)
def test_an_error_is_one_sentence_and_an_exit_code(folder, capsys, monkeypatch, arguments, code, said):
    from tests.helpers.terminal import main

    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["shortlist", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    assert (end.value.code, shown.out) == (code, "")
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert code == 2 or shown.err.count("\n") == 1


def test_an_exceeded_budget_is_exit_code_3_and_writes_nothing(folder, tmp_path):
    Ledger(tmp_path / "budget.db", budget=PureDP(0.5))
    done = run(
        *asked("ratings.parquet", *KNOWN, "--ledger", tmp_path / "budget.db", "--out", tmp_path / "list.csv"),
        cwd=folder,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "asked epsilon 1; booked: epsilon 0 of 0.5, 0 releases; a charge of up to epsilon 0.5" in done.stderr
    assert not (tmp_path / "list.csv").exists()
    assert not Ledger(tmp_path / "budget.db").entries()


def test_what_cannot_be_paid_for_is_not_read(folder, tmp_path):
    """An empty ledger must not answer questions about the rows by its errors."""
    (tmp_path / "bad.csv").write_text("user_id,movie\n1,ant\n2,bee,3\n")
    Ledger(tmp_path / "budget.db", budget=PureDP(0.5))
    refused = called(*asked(tmp_path / "bad.csv", *KNOWN, "--ledger", tmp_path / "budget.db"), cwd=folder)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "line" not in refused.stderr


def test_the_charge_is_booked_before_a_row_is_read(folder, tmp_path):
    """So an error that depends on the rows is paid for; and it does not say where they are malformed."""
    (tmp_path / "bad.csv").write_text("user_id,movie\n" + "1,ant\n" * 5000 + "2,bee,3\n")
    Ledger(tmp_path / "budget.db", budget=PureDP(2))
    read = called(*asked(tmp_path / "bad.csv", *KNOWN, "--ledger", tmp_path / "budget.db"), cwd=folder)
    assert (read.returncode, read.stdout) == (1, "")
    assert "a line has more or fewer fields" in read.stderr
    assert "500" not in read.stderr
    assert "the charge stays" in read.stderr
    (entry,) = Ledger(tmp_path / "budget.db").entries()
    assert (entry.purpose, entry.unit) == ("top 2 of bad.csv", "user (add-remove)")
    assert Ledger(tmp_path / "budget.db").spent.epsilon == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("top", "ratings.csv", "-k", "2", "--user", "nobody", "--item", "movie", *KNOWN), "--user nobody"),
        (asked("ratings.parquet", *KNOWN, k=9), "-k 9 is more than the 6 candidates"),
        (asked("ratings.parquet", *KNOWN, "--memory", "lots"), "memory must be a size"),
        (asked("ratings.parquet", *KNOWN, "--unit", ""), "unit must be a word"),
        (asked("ratings.parquet", "--candidates", "none.txt", "--epsilon", "1"), "none.txt is not there"),
        (asked("ratings.csv", "--candidates", "copy.csv", "--epsilon", "1"), "public list"),
    ],
)
def test_what_can_be_seen_without_the_rows_costs_nothing(folder, tmp_path, capsys, monkeypatch, arguments, said):
    from tests.helpers.terminal import main

    (folder / "copy.csv").write_bytes((folder / "ratings.csv").read_bytes())
    book = Ledger(tmp_path / "budget.db", budget=PureDP(2))
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["shortlist", *arguments, "--ledger", str(tmp_path / "budget.db")])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    assert (end.value.code, shown.out) == (1, "")
    assert said in shown.err
    assert "charge" not in shown.err
    assert not book.entries()


def test_a_charge_booked_first_is_the_charge_of_the_release(folder, tmp_path):
    """All candidates cost nothing, an unused rest comes back, as with `top_k`."""
    book = Ledger(tmp_path / "budget.db", budget=ZCDP(1.0))
    done = called(*asked("ratings.parquet", *KNOWN, "--ledger", tmp_path / "budget.db", k=6), cwd=folder)
    assert "nothing spent" in done.stdout
    assert book.spent.rho == 0
    rest = ("--rho", "0.5", "--delta", "1e-6", "--method", "limited-domain", "--ordered")
    unbooked = asked("ratings.parquet", *rest, "--ledger", tmp_path / "other.db", k=50)
    full = called(*unbooked, cwd=folder)
    assert full.returncode == 1  # there is no such ledger
    other = Ledger(tmp_path / "other.db", budget=ApproxDP(20.0, 1e-3))
    full = called(*unbooked, cwd=folder)
    assert full.returncode == 0, full.stderr
    assert [entry.kind for entry in other.entries()] == ["charge", "refund"]


def private_copies(home):
    rows = pl.read_csv(home / "ratings.csv")
    rows.write_csv(home / "copy.csv")
    rows.write_csv(home / "copy.tsv", separator="\t")
    rows.write_parquet(home / "copy.parquet")
    rows.write_ndjson(home / "copy.jsonl")
    rows.rename({"user_id": " User_ID"}).write_csv(home / "spelt.csv")
    (home / "hard.txt").unlink(missing_ok=True)
    (home / "hard.txt").hardlink_to(home / "ratings.csv")


@pytest.mark.parametrize(
    "private",
    [
        "ratings.csv",
        "link.csv",
        "hard.txt",
        "copy.csv",
        "copy.tsv",
        "copy.parquet",
        "copy.jsonl",
        "spelt.csv",
        "rat*.csv",
    ],
)
def test_a_table_of_people_is_no_public_list(folder, capsys, monkeypatch, private):
    from tests.helpers.terminal import main

    private_copies(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["shortlist", *asked("ratings.csv", "--candidates", private, "--epsilon", "1")])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    assert (end.value.code, shown.out) == (1, "")
    assert "public list" in shown.err


def test_any_label_and_several_columns_can_be_drawn(tmp_path):
    names = [r"$\frac{$", "a$b$c", "two\nlines", "\x07", "猫"]
    rows = pl.DataFrame({"user_id": range(500), "movie": names * 100, "year": [1, 2] * 250})
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.select("movie", "year").unique().write_parquet(tmp_path / "known.parquet")
    for more in ((), ("--item", "year")):
        drawn = asked(
            "rows.parquet", "--candidates", "known.parquet", "--epsilon", "1", "--plot", "top.png", *more, k=4
        )
        done = called(*drawn, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "top.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "top.png").unlink()


def test_a_list_that_was_paid_for_is_shown_whatever_else_fails(folder, tmp_path, capsys, monkeypatch):
    from shortlist.cli import releases as delivery
    from tests.helpers.terminal import main

    def fails(*_arguments, **_words):
        raise OSError("the disk is full")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(delivery, "write_table", fails)
    monkeypatch.setattr("sys.argv", ["shortlist", *asked("ratings.parquet", *KNOWN, "--out", str(tmp_path / "a.csv"))])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    assert end.value.code == 1
    assert "ant\nbee\n" in shown.out
    assert "what was released is released" in shown.err
    monkeypatch.setattr(delivery, "write_table", lambda *_, **__: None)
    for kind, said in ((RuntimeError("the table changed"), "the table changed"), (MemoryError(), "memory")):
        monkeypatch.setattr(OpenTable, "count", lambda *_, kind=kind, **__: (_ for _ in ()).throw(kind))
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 1
        assert said in capsys.readouterr().err


def test_a_full_disk_behind_the_screen_still_writes_the_list(folder, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([SHORTLIST, *asked("ratings.parquet", *KNOWN, "--out", str(tmp_path / "a.csv"))],
                              stdout=full, stderr=subprocess.PIPE, text=True, cwd=folder, check=False)  # fmt: skip
    assert done.returncode == 1
    assert "could not be shown" in done.stderr
    assert "ant" in (tmp_path / "a.csv").read_text()
