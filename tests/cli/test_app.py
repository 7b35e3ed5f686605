"""The command line, through real processes."""

import subprocess
import sys

from tests.helpers.terminal import run


def test_without_a_command_it_shows_what_there_is():
    done = run()
    assert "demo" in done.stdout + done.stderr


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"scipy", "matplotlib", "flint", "duckdb", "pandas", "polars", "cryptography", "narwhals", "typer", "rich"}
    code = "import sys, shortlist; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & heavy
