"""The examples run, in a small form."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import postgres
from tests.helpers.typed import present

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def private_labels():
    pytest.importorskip("sklearn")
    found = present(importlib.util.spec_from_file_location("private_labels", EXAMPLES / "private_labels.py"))
    module = importlib.util.module_from_spec(found)
    sys.modules["private_labels"] = module  # dataclasses look their module up by name
    present(found.loader).exec_module(module)
    yield module
    del sys.modules["private_labels"]


def test_a_student_learns_from_private_labels(private_labels):
    outcome = private_labels.run(records=4000, teachers=80, queries=120, rho=40.0)
    assert 0.2 < outcome.answered <= 1
    assert outcome.right > 0.8
    assert outcome.nothing + 0.05 < outcome.student < outcome.ensemble + 0.05
    assert outcome.epsilon == pytest.approx(86, abs=4)  # few teachers: this small form is not private, and says so


@pytest.mark.long
@pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here")
def test_three_analysts_and_a_nightly_job_share_one_budget():
    """On real servers, which the example starts itself."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "three_analysts.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "12 in all, at epsilon 0.25 each" in done.stdout
    assert "the books: 12 entries follow from one another; booked: epsilon 3 of 3" in done.stdout
