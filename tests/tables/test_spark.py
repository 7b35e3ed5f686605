"""Spark in one process, with two worker processes, and through Spark Connect: each in a process of its own."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.support import full_size

pytestmark = [
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'shortlist[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here"),
]


@full_size
@pytest.mark.parametrize(
    "kind", ["connect", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("local", "cluster"))]
)
def test_spark_counts_alike_and_sends_the_driver_scores_and_winners_only(kind):
    if kind == "connect" and find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio: pip install 'shortlist[spark]'")
    done = subprocess.run(
        [sys.executable, "-m", "tests.tables.spark_checks", kind],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.endswith("all is well\n"), done.stderr[-3000:]
    logged = done.stdout + done.stderr
    assert not [cell for cell in ("Zebulon", r"\x5A\x65\x62", "5A6562") if cell in logged]
