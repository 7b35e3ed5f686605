"""The made-up rows: the same every time, in the kind of frame that is there, and clear enough for every page."""

import ast
import hashlib
import importlib
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import shortlist as sl
from shortlist.mechanisms import GuardedTopK
from tests.helpers.terminal import called

SOURCE = Path(sl.__file__).parent / "example.py"
COLUMNS = ["user_id", "film", "country", "week", "age", "stars"]


@pytest.fixture(scope="module")
def films():
    return sl.example("films")


def test_the_rows_are_the_same_on_every_machine(films):
    """Their digest: a page that shows what comes out must stay true."""
    rows, names = films
    text = json.dumps([rows.to_dict(as_series=False), names])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "8b0db8e77313fd17"


def test_the_columns_are_what_they_are_said_to_be(films):
    rows, names = films
    assert (rows.columns, rows.height) == (COLUMNS, 40_000)
    assert (len(names), names[0], names[-1]) == (200, "film 001", "film 200")
    assert set(rows["film"]) == set(names)
    assert set(rows["user_id"]) == set(range(1, 3001))
    assert set(rows["country"]) == {"CH", "DE", "FR", "IT", "AT"}
    assert (set(rows["week"]), set(rows["stars"])) == (set(range(1, 53)), {1, 2, 3, 4, 5})
    assert rows["age"].min() >= 16
    assert rows["age"].max() <= 90


def test_one_person_has_one_age_several_rows_of_a_film_and_sometimes_two_countries(films):
    people = films[0].group_by("user_id").n_unique()
    assert set(people["age"]) == {1}
    assert 100 < (people["country"] == 2).sum() < 600
    assert people["country"].max() == 2
    assert films[0].select("user_id", "film").is_duplicated().any()


def test_a_top_five_is_clear(films):
    """The README shows one draw of the real thing: it must come out so every time."""
    scores = sl.count(films[0], user="user_id", item="film", candidates=films[1])
    assert GuardedTopK(k=5, epsilon=1.0).success_probability(scores.as_public()) > 1 - 1e-9


@pytest.mark.parametrize("there", ["polars", "pandas", "pyarrow", None])
def test_the_rows_come_in_the_kind_of_frame_that_is_installed(there, monkeypatch):
    monkeypatch.setattr(importlib.import_module("shortlist.example"), "find_spec", lambda name: name == there or None)
    rows, films = sl.example("films")
    library = type(rows).__module__.partition(".")[0].strip("_")
    assert library == (there or "duckdb")
    assert list(rows.column_names if there == "pyarrow" else rows.columns) == COLUMNS
    release = sl.top_k(sl.count(rows, user="user_id", item="film", candidates=films), k=5, epsilon=1.0)
    assert release.items == ["film 001", "film 032", "film 078", "film 109", "film 155"]


@pytest.mark.parametrize("name", ["books", "", None, 7])
def test_there_is_no_other_example(name):
    with pytest.raises(ValueError, match="write 'films'"):
        sl.example(name)


def test_the_function_is_there_also_after_the_import_of_its_module():
    code = "import shortlist.example, shortlist as sl; assert callable(sl.example)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_writes_the_rows_and_the_list(films, tmp_path):
    done = called("example", "films", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["films.parquet", "films.txt"]
    assert (tmp_path / "films.txt").read_text().splitlines() == films[1]
    with duckdb.connect(":memory:") as connection:
        found = connection.sql(f"FROM read_parquet('{tmp_path / 'films.parquet'}')")
        assert found.columns == COLUMNS
        assert found.fetchall() == films[0].rows()
    listed = called("top", "films.parquet", "--user", "user_id", "--item", "film", "-k", 5, "--candidates", "films.txt",
                 "--epsilon", 1, cwd=tmp_path)  # fmt: skip
    assert listed.stdout.splitlines()[2:7] == ["film 001", "film 032", "film 078", "film 109", "film 155"]


def test_the_command_replaces_nothing_and_says_what_it_lacks(tmp_path):
    (tmp_path / "films.txt").write_text("mine\n")
    for arguments, words in ([], "films.txt is there already"), (["--folder", "gone"], "gone is not a folder"):
        done = called("example", "films", *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert words in done.stderr
    assert called("example", "books", cwd=tmp_path).returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["films.txt"]
    assert (tmp_path / "films.txt").read_text() == "mine\n"


def test_the_secure_source_is_not_touched():
    """What is made up is no privacy: no name of the module reaches the source that protects people."""
    names = {node.id for node in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(node, ast.Name)}
    assert not names & {"SECURE", "Secure", "urandom"}


def test_only_names_for_users_are_offered():
    assert set(dir(sl)) == {
        *sl.__all__,
        "__version__",
        "mechanisms",
        "noise",
        "planning",
        "privacy",
        "tables",
        "tuning",
    }
    assert isinstance(sl.__version__, str)
    assert sl.__version__[0].isdigit()
