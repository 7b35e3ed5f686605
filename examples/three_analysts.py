"""Three analysts, one cluster, one budget: real servers, started here, and a budget that nobody overdraws.

    python examples/three_analysts.py

It starts a PostgreSQL server (by an ordinary user) for the ledger and a copy of the rows, and a Spark cluster of two
worker processes behind Spark Connect. Anna and a nightly job ask the cluster, Ben asks the database through Ibis, Carla
asks a file on the command line. All four at once, four times each, which is more than the one ledger has room for. Then
the owner reads the books and closes them. Needs `shortlist[postgres,ibis,spark]`, PostgreSQL and Java.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import shortlist as sl

BUDGET, EACH, TIMES = 3.0, 0.25, 4
FRUIT = ["apple", "banana", "cherry", "elder", "fig", "grape", "lemon", "mango", "nectarine", "orange"]
MASTER = "local-cluster[2,1,1024]"
ASK: dict[str, Any] = {"user": "who", "item": "fruit", "candidates": [*FRUIT, "durian"], "epsilon": EACH}
QUIETLY = [sys.executable, "-W", "ignore::FutureWarning"]  # PySpark's, about pandas
QUIET = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}


# The servers


def start_postgres(folder: Path) -> subprocess.Popen[bytes]:
    """A server on a socket in the folder. PostgreSQL refuses to run as root, so root starts it as another user."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    programs = Path(found[-1] if found else shutil.which("postgres") or sys.exit("PostgreSQL is not here")).parent
    other: dict[str, Any] = {}
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        other = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        os.chown(folder, user.pw_uid, user.pw_gid)
        folder.chmod(0o755)
    data = folder / "data"
    make = [str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd=folder, **other)
    with open(folder / "log", "wb") as log:
        run = [str(programs / "postgres"), "-D", str(data), "-k", str(folder), "-h", ""]
        server = subprocess.Popen(run, stdout=log, stderr=log, cwd=folder, start_new_session=True, **other)
    while subprocess.run([str(programs / "pg_isready"), "-h", str(folder)], stdout=subprocess.DEVNULL).returncode:
        if server.poll() is not None:
            sys.exit("PostgreSQL did not start: " + (folder / "log").read_text()[-500:])
        time.sleep(0.1)
    return server


def start_cluster(port: int) -> subprocess.Popen[str]:
    """A Spark cluster that clients reach through Spark Connect, in a process of its own."""
    here = [sys.executable, __file__, "cluster", str(port)]
    cluster = subprocess.Popen(
        here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert cluster.stdout is not None
    if cluster.stdout.readline().strip() != "ready":
        sys.exit("Spark did not start")
    return cluster


def serve_cluster(port: int) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).config(
        "spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin"
    )
    builder = builder.config("spark.connect.grpc.binding.port", str(port))
    for name, value in QUIET.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    print("ready", flush=True)
    sys.stdin.read()  # until whoever started this is done
    spark.stop()


# The people


class NoRoomError(Exception):
    """What the command line says by its exit code."""


def by_spark(name: str, ledger: sl.Ledger, where: str, rows: str) -> Any:
    """Rows stay in the cluster; only scores and the winners come here."""
    from pyspark.sql import SparkSession

    table = SparkSession.builder.remote(where).getOrCreate().read.parquet(rows)
    return lambda: sl.top_k(table, 3, ledger=ledger, purpose=name, **ASK).items


def by_ibis(name: str, ledger: sl.Ledger, where: str, rows: str) -> Any:
    """Rows stay in the database."""
    import ibis

    table = ibis.postgres.connect(host=where, user=name, database="rows").table(rows)
    return lambda: sl.top_k(table, 3, ledger=ledger, purpose=name, **ASK).items


def by_command(name: str, ledger: sl.Ledger, where: str, rows: str) -> Any:
    """The same question on the command line; exit code 3 says that there is no room."""
    line = [sys.executable, "-m", "shortlist", "top", rows, "-k", "3", "--user", "who", "--item", "fruit"]
    line += ["--candidates", where, "--epsilon", str(EACH), "--ledger", ledger.path, "--purpose", name, "--json"]

    def ask() -> Any:
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode == 3:
            raise NoRoomError
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ask


WAYS = {"spark": by_spark, "ibis": by_ibis, "command": by_command}


def work(name: str, way: str, address: str, where: str, rows: str) -> int:
    """Ask some times, when all others are ready too; how often there was room."""
    ledger = sl.Ledger.open(address)
    ask, releases = WAYS[way](name, ledger, where, rows), 0
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(TIMES):
        with contextlib.suppress(sl.BudgetExceeded, NoRoomError):
            ask()
            releases += 1
    return releases


# The story


def prepare(folder: Path) -> tuple[str, str, str]:
    """Rows in a file and in the database, roles, and the ledger; (file, list of candidates, the owner's address)."""
    import polars as pl
    import psycopg

    fruit = [FRUIT[min(n % 17, n % 11) % len(FRUIT)] for n in range(3000)]
    rows = pl.DataFrame({"who": [n // 2 for n in range(3000)], "fruit": fruit})
    public = Path(tempfile.mkdtemp(prefix="shortlist-rows-"))
    rows.write_parquet(public / "rows.parquet")
    (public / "fruit.txt").write_text("\n".join(ASK["candidates"]))
    with psycopg.connect(host=str(folder), user="postgres", dbname="postgres", autocommit=True) as admin:
        for role in ("bookkeeper", "anna", "ben", "carla", "nightly"):
            admin.execute(f"CREATE ROLE {role} LOGIN")
        admin.execute("CREATE DATABASE budgets")
        admin.execute("GRANT CREATE ON DATABASE budgets TO bookkeeper")
        admin.execute("CREATE DATABASE rows")
    with psycopg.connect(host=str(folder), user="postgres", dbname="rows") as line:
        line.execute("CREATE TABLE basket (who bigint, fruit text)")
        line.cursor().executemany("INSERT INTO basket VALUES (%s, %s)", rows.rows())
        line.execute("GRANT SELECT ON basket TO ben")
    return (
        str(public / "rows.parquet"),
        str(public / "fruit.txt"),
        f"postgresql://bookkeeper@/budgets?host={folder}&name=q4",
    )


def together(people: dict[str, subprocess.Popen[str]]) -> dict[str, list[str]]:
    """Let all of them begin, and wait for what they say."""
    for person in people.values():
        assert person.stdin is not None
        person.stdin.write("go\n")
        person.stdin.flush()
    return {name: person.communicate()[0].split() for name, person in people.items()}


def run(say: Any = print) -> dict[str, int]:
    """The whole story; how many releases each of the four got."""
    folder = Path(tempfile.mkdtemp(prefix="shortlist-team-"))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    postgres, cluster, rows = start_postgres(folder), None, ""
    try:
        rows, candidates, address = prepare(folder)
        owner = sl.Ledger(address, budget=sl.PureDP(BUDGET))
        for role in ("anna", "ben", "carla", "nightly"):
            owner.grant(role)
        say(f"the ledger: {owner}")
        cluster = start_cluster(port)
        say(f"the cluster: {MASTER}, reached through Spark Connect")
        spark = f"sc://localhost:{port}"
        tasks = {"anna": ("spark", spark, rows), "nightly": ("spark", spark, rows),
                 "ben": ("ibis", str(folder), "basket"), "carla": ("command", candidates, rows)}  # fmt: skip
        people = {
            name: subprocess.Popen(
                [*QUIETLY, __file__, "work", name, way, address.replace("bookkeeper@", f"{name}@"), *where],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for name, (way, *where) in tasks.items()
        }  # fmt: skip
        for person in people.values():
            assert person.stdout is not None
            person.stdout.readline()
        said = together(people)
        releases = {name: int(words[-1]) for name, words in said.items()}
        say(f"releases: {releases}, {sum(releases.values())} in all, at epsilon {EACH} each")
        booked = Counter(entry.who for entry in owner.entries())
        assert booked == Counter({name: n for name, n in releases.items() if n}), "what was released is what is booked"
        assert owner.spent.epsilon == BUDGET
        say(f"the books: {owner.verify()} entries follow from one another; {owner}")
        owner.close("the quarter is over")
        return releases
    finally:
        if cluster is not None and cluster.stdin is not None:
            cluster.stdin.close()
            cluster.wait()
        postgres.send_signal(signal.SIGINT)
        postgres.wait()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(os.path.dirname(rows) or folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", nargs="*", help="what a process that this one started does")
    part = parser.parse_args().part
    if part[:1] == ["cluster"]:
        serve_cluster(int(part[1]))
    elif part[:1] == ["work"]:
        print(work(*part[1:]))
    else:
        run()
