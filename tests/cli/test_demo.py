"""`shortlist demo` tells the whole story."""

from tests.helpers.terminal import Terminal, run


def test_the_demo_tells_the_story_and_draws_it(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for said in ("1,000,000 rows", "no contribution cap", "PureDP(epsilon=0.03) for one user", "guarded top-10",
                 "one-shot top-10", "true rank", "with probability 0.999"):  # fmt: skip
        assert said in " ".join(done.stdout.split()), said
    assert (tmp_path / "shortlist-demo.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["shortlist-demo.png"]


def test_the_demo_has_colours_on_a_terminal(tmp_path):
    terminal = Terminal("demo", cwd=tmp_path)
    assert "1 │ film" in terminal.read()
    assert b"\x1b[1m" in terminal.raw
