"""`shortlist top --multiline`: quoted line breaks only where they are asked for."""

from tests.helpers.terminal import called


def test_fields_over_several_lines_are_read_only_where_they_are_asked_for(tmp_path):
    rows = "".join(f'{n},"two\nlines"\n' for n in range(400)) + "1,tea\n"
    (tmp_path / "rows.csv").write_text(f"user_id,movie\n{rows}")
    asked = ("top", "rows.csv", "-k", "1", "--user", "user_id", "--item", "movie", "--epsilon", "1", "--delta", "1e-6")
    refused = called(*asked, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "write --multiline" in refused.stderr
    assert "two" not in refused.stderr
    done = called(*asked, "--multiline", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "two\\nlines" in done.stdout
