"""`shortlist.toml`: defaults for columns and the ledger, and never for what is spent."""

import pytest

from tests.helpers.terminal import called


def written(folder, text):
    (folder / "shortlist.toml").write_text(text)
    return str(folder)


def test_its_words_stand_where_options_are_left_out(tmp_path):
    assert called("example", "films", cwd=tmp_path).returncode == 0
    assert called("ledger", "init", "q4.db", "--epsilon", "3", cwd=tmp_path).returncode == 0
    written(tmp_path, 'user = "user_id"\nitem = "film"\nunit = "viewer"\nledger = "q4.db"\n')
    asked = ("top", "films.parquet", "-k", "3", "--candidates", "films.txt", "--epsilon", "1")
    done = called(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "whether one viewer is in the data: " in done.stdout
    assert "Entry 1 of" in done.stdout
    assert "whether one child is in the data: " in called(*asked, "--unit", "child", cwd=tmp_path).stdout


def test_without_a_file_nothing_is_taken_for_granted(tmp_path):
    assert called("top", "x.csv", "-k", "1", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epsilon = 1", "must not say epsilon"),
        ("delta = 1e-6", "must not say delta"),
        ("rho = 0.1", "must not say rho"),
        ("yes-really = true", "must not say yes-really"),
        ("allow-large = true", "must not say allow-large"),
        ("colour = 'red'", "does not know colour; it may say user, item"),
        ("user = 3", "user must be text"),
        ("item = [1]", "item must be text or a list of texts"),
        ("user = ", "it must be TOML"),
        ("user = '\xff'", None),
    ],
)
def test_what_may_not_stand_there_is_named(tmp_path, text, said):
    (tmp_path / "shortlist.toml").write_bytes(text.encode("latin-1"))
    done = called("top", "x.csv", "-k", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert (said or "TOML") in done.stderr


def test_several_columns_make_an_item(tmp_path):
    (tmp_path / "rows.csv").write_text("who,artist,title\n" + "".join(f"{n},nina,sun\n" for n in range(500)))
    written(tmp_path, 'user = "who"\nitem = ["artist", "title"]')
    done = called("top", "rows.csv", "-k", "1", "--epsilon", "1", "--delta", "1e-6", "--json", cwd=tmp_path)
    assert '"item_columns": ["artist", "title"]' in done.stdout, done.stderr


def test_a_file_that_is_none_is_told_in_words(tmp_path):
    path = tmp_path / "shortlist.toml"
    path.write_text(f"user = {'[' * 5000}{']' * 5000}\n")
    assert "must be TOML" in called("top", "x.csv", "-k", "1", cwd=tmp_path).stderr
    path.unlink()
    path.mkdir()
    assert "must be TOML" in called("top", "x.csv", "-k", "1", cwd=tmp_path).stderr
