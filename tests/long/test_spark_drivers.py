"""Four drivers of one Spark cluster at once, through Spark Connect, with one budget on PostgreSQL."""

import importlib.util
import shutil
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from shortlist import ApproxDP, Ledger
from tests.helpers import postgres
from tests.helpers.typed import present
from tests.tables.groups.test_grouping import rows_of

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not())),
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here"),
]


@pytest.fixture
def cluster():
    """`local-cluster[2,1,1024]`, as the example starts it."""
    found = present(importlib.util.spec_from_file_location("three_analysts", ROOT / "examples" / "three_analysts.py"))
    example = importlib.util.module_from_spec(found)
    present(found.loader).exec_module(example)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    process = example.start_cluster(port)
    yield f"sc://localhost:{port}"
    process.stdin.close()
    process.wait()


def test_four_drivers_at_once_share_one_budget(server, cluster, tmp_path):
    rows_of(1, people=400, rows=4000).write_parquet(tmp_path / "rows.parquet")
    ledger = Ledger(server.url("ledgers", "spark"), budget=ApproxDP(3.0, 1e-6), split=0.0)
    ledger.grant("anna")
    line = [sys.executable, "-m", "tests.long.spark_driver", cluster, server.url("ledgers", "spark", "anna")]
    drivers = [
        subprocess.Popen([*line, str(tmp_path / "rows.parquet"), str(n)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for n in range(4)
    ]
    said = [driver.communicate()[0].split() for driver in drivers]
    assert all(len(words) == 5 for words in said), said
    counts = Counter(word for words in said for word in words)
    entries = Counter(entry.purpose for entry in ledger.entries() if entry.kind == "charge")
    assert entries == counts - Counter({"refused": counts["refused"]})
    assert {"groups", "capped", "names", "public"} <= counts.keys()
    assert counts["refused"] >= 8, "20 questions of .25, and room for 12 at most"
    assert ledger.verify() >= 8
    assert present(ledger.spent.epsilon) <= 3.0
    print(dict(counts), ledger)
