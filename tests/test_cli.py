"""The command line, through real processes."""

import subprocess
import sys
from pathlib import Path

SHORTLIST = Path(sys.executable).parent / "shortlist"


def run(*arguments):
    return subprocess.run([SHORTLIST, *arguments], capture_output=True, text=True, check=False)


def test_the_demo_releases_a_winner_and_a_top_ten():
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert "PureDP(epsilon=0.5) for one voter" in done.stdout
    assert "PureDP(epsilon=1.0) for one voter" in done.stdout
    assert "10 │" in done.stdout
    assert not done.stderr


def test_without_a_command_it_shows_what_there_is():
    done = run()
    assert "demo" in done.stdout + done.stderr


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"scipy", "matplotlib", "flint", "duckdb", "pandas", "polars", "cryptography", "narwhals", "typer", "rich"}
    code = "import sys, shortlist; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & heavy
