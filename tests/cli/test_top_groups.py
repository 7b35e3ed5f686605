"""`shortlist top --by`: a list for every group, booked once and before a row is read."""

import json

import polars as pl
import pytest

import shortlist as sl
from shortlist import Ledger, PureDP
from tests.helpers.terminal import called

FILMS = ["ant", "bee", "cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("cli")
    rows = [
        (f"{country}{user}", film, country, 38 + user % 5)
        for country in ("CH", "DE", "FR")
        for n, film in enumerate(FILMS)
        for user in range(600 - 200 * n)
    ]
    table = pl.DataFrame(rows, schema=["user_id", "film", "country", "week"], orient="row")
    table.write_parquet(home / "films.parquet")
    table.write_csv(home / "films.csv")
    (home / "films.txt").write_text("\n".join([*FILMS, "dog"]))
    return home


def asked(*more, table="films.parquet"):
    return ("top", table, "-k", "2", "--user", "user_id", "--item", "film", *more)


GROUPS = ("--by", "country", "--groups", "CH,DE", "--candidates", "films.txt", "--epsilon", "1")


@pytest.mark.parametrize("table", ["films.parquet", "films.csv"])
def test_a_list_for_every_group(folder, table):
    done = called(*asked(*GROUPS, "--where", "week >= 40", "--groups-per-user", "1", table=table), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["country", "item"]
    assert [line.split() for line in lines[2:6]] == [["CH", "ant"], ["CH", "bee"], ["DE", "ant"], ["DE", "bee"]]
    assert "PureDP(epsilon=1.0) for one user (add-remove) in all groups, who is in 1 group at most" in done.stdout


def test_groups_are_booked_once_and_before_a_row_is_read(folder, tmp_path):
    book = tmp_path / "budget.db"
    Ledger(book, budget=PureDP(1.5))
    done = called(*asked(*GROUPS, "--ledger", str(book), "--json"), cwd=folder)
    assert done.returncode == 0
    lists = sl.GroupedRelease.from_json(done.stdout)
    assert list(lists) == ["CH", "DE"]
    assert json.loads(done.stdout)["receipt"]["entry"] == 1
    assert len(Ledger(book).entries()) == 1
    refused = called(*asked(*GROUPS, "--ledger", str(book)), cwd=folder)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert len(Ledger(book).entries()) == 1


def test_groups_from_the_data_and_files(folder, tmp_path):
    out, page, plot = tmp_path / "lists.csv", tmp_path / "lists.html", tmp_path / "lists.png"
    cost = ("--by", "country", "--epsilon", "2", "--delta", "1e-6")
    more = ("--out", str(out), "--report", str(page), "--plot", str(plot))
    done = called(*asked(*cost, *more), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_text().splitlines()[:2] == ["country,item", "CH,ant"]
    assert "<!doctype html>" in page.read_text().lower()
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--by", "country", "--candidates", "films.txt", "--epsilon", "1"), "do not go with public candidates"),
        (("--groups", "CH", "--candidates", "films.txt", "--epsilon", "1"), "go with by"),
        ((*GROUPS, "--where", "length(film) > 3"), "calls no functions"),
        ((*GROUPS, "--groups-per-user", "3"), "more than the 2 groups"),
    ],
)
def test_what_is_no_question_about_groups_is_refused_in_a_sentence(folder, more, words):
    done = called(*asked(*more), cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


def test_without_room_in_the_ledger_not_even_the_header_is_looked_at(folder):
    Ledger(folder / "small.db", budget=PureDP(0.5))
    words = ["nowhere" if word == "country" else word for word in GROUPS]
    done = called(*asked(*words, "--ledger", "small.db"), cwd=folder)
    assert done.returncode == 3
    assert "nowhere" not in done.stderr
