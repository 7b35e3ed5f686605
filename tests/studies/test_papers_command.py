"""`python -m studies.papers`, which `make reproduce` runs."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def called(*arguments):
    command = [sys.executable, "-m", "studies.papers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_it_makes_a_page_and_takes_up_what_is_there(tmp_path):
    arguments = ("--out", str(tmp_path / "report"), "--only", "gap-theta")
    first = called(*arguments)
    assert first.returncode == 0, first.stderr
    assert "gap-theta" in first.stdout
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert names == {"index.html", "gap-theta.svg", "gap-theta.parquet", "gap-theta.json"}
    before = (tmp_path / "report" / "gap-theta.json").stat().st_mtime_ns
    assert called(*arguments).returncode == 0
    assert (tmp_path / "report" / "gap-theta.json").stat().st_mtime_ns == before


def test_it_lists_experiments():
    assert "gap-thresholds" in called("--list").stdout


def test_an_unknown_experiment_is_refused_in_one_line(tmp_path):
    done = called("--out", str(tmp_path), "--only", "nothing")
    assert done.returncode == 1
    assert done.stderr.startswith("python -m studies.papers: --only nothing is not an experiment")
    assert done.stderr.count("\n") == 1
