"""What a newcomer reads first has no words of the trade, and says what epsilon means as a probability."""

import polars as pl
import pytest

from tests.helpers.terminal import called
from tests.house.test_docs import blocks
from tests.house.test_packaging import README

STUMBLES = (
    "junk",
    "best linear",
    "rule (a)",
    "rule (b)",
    "booked as",
    "says more",
    "nobody's secret",
    "from somewhere",
)
"""What made newcomers stop."""
TABLE = ("rows.parquet", "--user", "u", "--item", "m", "--epsilon", "1", "--ledger", "q4.db")
SCREENS = {
    "a set": ("top", *TABLE, "-k", "2", "--candidates", "known.txt"),
    "values": ("top", *TABLE, "-k", "2", "--candidates", "known.txt", "--values"),
    "names from the data": ("top", *TABLE, "-k", "2", "--delta", "1e-6"),
    "keys": ("keys", *TABLE, "--delta", "1e-6"),
    "median": ("quantile", *TABLE[:3], "--value", "age", "--lower", "0", "--upper", "300", *TABLE[5:]),
}


@pytest.fixture
def home(tmp_path):
    rows = [(n % 300, ("tea", "milk", "rum", "gin")[n % 7 % 4], n % 300 % 90) for n in range(900)]
    pl.DataFrame(rows, schema=["u", "m", "age"], orient="row").write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "known.txt").write_text("tea\nmilk\nrum\ngin\nsake\n")
    assert called("ledger", "init", "q4.db", "--epsilon", "3", "--delta", "1e-5", cwd=tmp_path).returncode == 0
    return tmp_path


@pytest.mark.parametrize("screen", SCREENS)
def test_a_release_states_its_risk_and_what_is_left_in_plain_words(screen, home):
    done = called(*SCREENS[screen], cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [word for word in (*STUMBLES, "collapse") if word in done.stdout]
    assert "right at most 73.2% of the time (50% without this release), at epsilon 1.0" in done.stdout
    assert "booked: epsilon 1 of 3" in done.stdout


def test_plans_are_told_in_plain_words(home):
    plan = called("plan", "-k", "2", "--shape", "zipf:1.1", "--items", "50", "--users", "900", "--target", "0.9")
    share = called("ledger", "plan", "q4.db", "--releases", "4", cwd=home)
    assert (plan.returncode, share.returncode) == (0, 0)
    assert not [word for word in (*STUMBLES, ") (") if word in plan.stdout + share.stdout]


def test_the_readme_explains_epsilon_before_anything_else_is_asked():
    text = README.read_text()
    start = text[: text.index("## Who it is for")]
    assert not [word for word in (*STUMBLES, "collapse", "guarded", "canonical") if word in start]
    assert "50%" in start
    assert "73.2%" in start
    assert "73.2%" in blocks(README, "text")[0]
