"""The names of columns, for who asks for them: nothing but a footer, a header, or an allowed first line is read."""

import gzip
import json

import polars as pl
import pytest

import shortlist as sl
from tests.helpers.studios import QUESTION, SECRET, Running, fill


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    running = Running(tmp_path)
    yield running
    running.close()


def write(folder, name):
    rows = {"who": [SECRET, "b"], "film": ["x", "y"], "a, b": [1, 2]}
    frame = pl.DataFrame(rows)
    if name.endswith(".parquet"):
        frame.write_parquet(folder / name)
    elif name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(folder / name, separator="\t" if name.endswith(".tsv") else ",")
    return list(rows)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.tsv", "t.csv.gz"])
def test_the_names_are_told_and_no_value(studio, name):
    names = write(studio.folder, name)
    status, found = studio.ask("columns", {"table": name})
    assert status == 200, found
    assert found["columns"] == names
    assert ("no rows" if name.endswith(".parquet") else "first line of the file was read, nothing else") in found[
        "read"
    ]
    assert SECRET not in str(found)
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0
    assert not [word for word in ("film", SECRET, name) if word in "\n".join(studio.log)]


@pytest.mark.parametrize(
    "cell", ["4711", "-3.5", "1,200", "1e6", "2024-01-31", "31.1.2024", "2024-01-31 10:00", "a@b.ch"]
)
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_first_line_that_looks_like_a_row_is_not_shown(studio, cell, name):
    between = "\t" if name.endswith("tsv") else ","
    (studio.folder / name).write_text(between.join([SECRET, "x", f'"{cell}"']) + "\n")
    status, answer = studio.ask("columns", {"table": name})
    assert status == 400
    assert answer["error"].startswith("table: the first line of the file looks like a row of data, so it is not shown;")
    assert not [word for word in (SECRET, cell) if word in answer["error"]]
    (studio.folder / name).write_text(between.join(["who", "Top 10", "v2", "2nd", "x-1", "year 2024", ""]) + "\n")
    assert studio.ask("columns", {"table": name})[0] == 200


def test_only_the_header_of_a_csv_is_looked_at(studio):
    (studio.folder / "t.csv").write_bytes(b'who,film\n"never ends\n\xff\xfe\x00')
    assert studio.ask("columns", {"table": "t.csv"})[1]["columns"] == ["who", "film"]


def test_the_footer_of_parquet_is_enough(studio):
    write(studio.folder, "t.parquet")
    path = studio.folder / "t.parquet"
    raw = path.read_bytes()
    path.write_bytes(raw[:4] + bytes(40) + raw[44:])  # the first rows are gone
    assert studio.ask("columns", {"table": "t.parquet"})[1]["columns"] == ["who", "film", "a, b"]


def test_nothing_of_json_lines_is_read_unless_the_first_line_is_allowed(studio):
    (studio.folder / "t.jsonl").write_text(json.dumps({"who": SECRET, "film": "x"}) + "\n")
    for request in ({}, {"first_line": False}):
        status, answer = studio.ask("columns", {"table": "t.jsonl", **request})
        assert status == 400
        assert "allow that it is read" in answer["error"]
    status, found = studio.ask("columns", {"table": "t.jsonl", "first_line": True})
    assert (status, found["columns"]) == (200, ["who", "film"])
    assert "a row of data" in found["read"]
    assert SECRET not in str(found)
    assert studio.ask("columns", {"table": "t.jsonl", "first_line": "yes"})[0] == 400


@pytest.mark.parametrize("table", ["../rentals.csv", "films.txt", "nowhere.csv", "", None, "/etc/passwd", "year.db"])
def test_only_tables_of_the_folder_are_looked_at(studio, table):
    status, answer = studio.ask("columns", {"table": table})
    assert status == 400
    assert "table" in answer["error"]
    assert str(studio.folder) not in answer["error"]


def test_a_file_that_is_no_table_is_refused_without_its_words(studio):
    (studio.folder / "t.parquet").write_bytes(SECRET.encode() * 20)
    status, answer = studio.ask("columns", {"table": "t.parquet"})
    assert status == 400
    assert SECRET not in answer["error"]
    assert str(studio.folder) not in answer["error"]


def test_the_form_reads_columns_only_when_asked(studio):
    (studio.folder / "rentals.csv").write_bytes(b"\x00 this is no table")
    assert studio.ask("plan", QUESTION)[0] == 200


COUNTRIES = "who,film,land\n" + "".join(
    f"p{n},{film},{land}\n" for n in range(400) for film, land in (("Alien", "CH"), ("Heat", "DE"), ("Ran", "CH"))
    if (n % 4) or film == "Alien"
)  # fmt: skip


@pytest.mark.parametrize("way", ["text", "file", "none", "every"])
def test_several_columns_make_one_item(studio, way, monkeypatch, capsys):
    (studio.folder / "lands.csv").write_text(COUNTRIES)
    (studio.folder / "public.csv").write_text("film,land\nAlien,CH\nHeat,DE\nRan,FR\n")
    sl.Ledger(studio.folder / "both.db", budget=sl.ApproxDP(30.0, 1e-4))
    words = {"table": "lands.csv", "item": "film, land", "k": 1, "candidates": way, "ledger": "both.db", "epsilon": 4.0}
    words |= {"candidates_file": "public.csv", "candidates_text": 'Alien, CH\n"Heat",DE\nRan,FR'}
    words |= {"delta": 1e-6, "k": None if way == "every" else 1}
    job = studio.release(**words)
    assert job["state"] == "done", job
    assert job["items"][0] == "Alien · CH"
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    assert "item=['film', 'land']" in program
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert "Alien" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"item": "film,"}, "item: there is a comma"),
        ({"item": 'film, "x'}, "item: put quotes"),
        ({"item": "film, film"}, "item names a column twice"),
        ({"item": "film, who"}, "item: the items must be in other columns"),
        ({"item": "film, land", "candidates": "text", "candidates_text": "Alien"}, "candidates_text: write 2 words"),
        ({"item": "film, land"}, "several columns"),
        ({"item": ""}, "item: write which column holds the items"),
        ({"user": ""}, "user: write which column says who"),
        ({"candidates": "text", "candidates_text": " "}, "candidates_text: write the possible items"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_words(studio, change, said):
    status, answer = studio.ask("plan", {**QUESTION, **change})
    assert status == 400
    assert said in answer["error"]


@pytest.mark.parametrize(("separator", "name"), [(";", "t.csv"), ("|", "t.csv"), ("\t", "t.csv"), (";", "t.csv.gz")])
def test_a_header_that_is_one_name_offers_what_may_part_it(studio, separator, name):
    text = f"who{separator}film\n{SECRET}{separator}x\n".encode()
    (studio.folder / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert studio.ask("columns", {"table": name})[1]["between"] == separator
    found = studio.ask("columns", {"table": name, "separator": separator})[1]
    assert (found["columns"], found["between"]) == (["who", "film"], None)
    assert studio.ask("columns", {"table": "rentals.csv"})[1]["between"] is None
    status, answer = studio.ask("columns", {"table": name, "separator": "x"})
    assert (status, answer["error"]) == (400, "separator: choose a comma, a semicolon, a bar or a tab")


@pytest.mark.parametrize("kind", ["list", "quantile"])
def test_a_table_of_semicolons_is_released_and_repeated(studio, kind, monkeypatch, capsys):
    (studio.folder / "t.csv").write_text("who;film;age\n" + "".join(f"p{n};Alien;{n % 90}\n" for n in range(300)))
    words = {"table": "t.csv", "separator": ";", "k": 1, "columns": ["who", "film", "age"]}
    words |= {"kind": kind, "value": "age", "lower": "0", "upper": "90"}
    job = studio.release(**words)
    assert job["state"] == "done", job
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 2.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"user": "whom"}, "user: the table has no column whom; did you mean 'who'?"),
        ({"item": "title"}, "item: the table has no column title; it has who, film"),
        ({"by": "land", "groups": "CH"}, "by: the table has no column land; it has who, film"),
        (
            {"kind": "quantile", "value": "age", "lower": "0", "upper": "9"},
            "value: the table has no column age; it has",
        ),
        ({"columns": "who"}, "table: read the names of the columns again"),
    ],
)
def test_names_that_were_read_are_checked_before_consent(studio, change, said):
    asked = {**QUESTION, "columns": ["who", "film"]}
    assert studio.ask("plan", asked)[0] == 200
    status, answer = studio.ask("plan", {**asked, **change})
    assert status == 400
    assert answer["error"].startswith(said)


def test_fields_of_the_first_json_line_are_not_all_there_are(studio):
    (studio.folder / "t.jsonl").write_text('{"who": "a"}\n')
    assert studio.ask("columns", {"table": "t.jsonl", "first_line": True})[1]["all"] is False
    assert studio.ask("columns", {"table": "rentals.csv"})[1]["all"] is True


@pytest.mark.parametrize(
    ("name", "line", "separator"),
    [
        ("t.csv", f"{SECRET};x;4711", None),
        ("t.csv", f"{SECRET},x,4711", ";"),
        ("t.csv", f"{SECRET};3,5;x", None),
        ("t.csv", f"{SECRET}:x:4711", None),
        ("t.tsv", f"{SECRET},a@b.ch", None),
    ],
)
def test_a_row_that_is_cut_at_another_separator_is_not_shown_either(studio, name, line, separator):
    """One field that holds the whole row looks like no number."""
    (studio.folder / name).write_text(f"{line}\n")
    status, answer = studio.ask("columns", {"table": name, "separator": separator})
    assert status == 400
    assert answer["error"].startswith("table: the first line of the file looks like a row of data, so it is not shown;")
    assert SECRET not in answer["error"]


def test_names_with_other_separators_in_them_are_shown(studio):
    names = ["who", "share 1:2", "film; title", "a|b"]
    (studio.folder / "t.csv").write_text(",".join(names) + "\n")
    assert studio.ask("columns", {"table": "t.csv"})[1]["columns"] == names
