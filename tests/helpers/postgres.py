"""A PostgreSQL server of our own: started by an ordinary user, on a socket in a temporary folder, one for all tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from glob import glob
from pathlib import Path

USERS = ("postgres", "nobody")
"""Who runs the server where the tests are run by root, whom it refuses."""
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 120
shared_buffers = 32MB
autovacuum = off
logging_collector = off
log_statement = none
"""
QUICK = "wal_level = minimal\nmax_wal_senders = 0\n"
OWNER, ANALYSTS = "book_owner", ("anna", "ben")
"""None of them is a superuser."""


def programs() -> Path | None:
    """The folder of the server's programs: Debian's, the newest version, or what is on the path."""
    found = sorted(glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    place = found[-1] if found else shutil.which("postgres")
    return None if place is None else Path(place).resolve().parent


def why_not() -> str | None:
    """Why there can be no server here, or None."""
    if sys.platform == "win32":
        return "PostgreSQL is started on Unix only"
    try:
        import psycopg
    except ImportError:
        return "psycopg is not installed: pip install 'shortlist[postgres]'"
    assert psycopg
    if programs() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    return None if _user() is not None else "PostgreSQL is not started by root, and there is no other user here"


def _user() -> pwd.struct_passwd | None:
    if os.getuid():
        return pwd.getpwuid(os.getuid())
    for name in USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


class Server:
    """A server in a temporary folder, with an owner's database for each who asks for one."""

    def __init__(self, *, settings: str = "") -> None:
        user, place = _user(), programs()
        assert user is not None
        assert place is not None
        self.user, self.place = user, place
        self.folder = Path(tempfile.mkdtemp(prefix="shortlist-pg-"))
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        os.chmod(self.folder, 0o755)
        self.data = self.folder / "data"
        self.run("initdb", "-D", str(self.data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N")
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(SETTINGS.format(folder=self.folder) + settings)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def run(self, program: str, *words: str) -> None:
        """A program of the server's, as its user."""
        done = subprocess.run([str(self.place / program), *words], capture_output=True, check=False, **self._as())
        assert done.returncode == 0, done.stderr.decode()[-2000:]

    def _as(self):
        if os.getuid():
            return {"cwd": self.folder}
        return {
            "user": self.user.pw_uid,
            "group": self.user.pw_gid,
            "extra_groups": [],
            "cwd": self.folder,
            "umask": 0o077,
        }

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(self.place / "postgres"), "-D", str(self.data)]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **self._as())
        while not self.answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.02)

    def answers(self) -> bool:
        done = subprocess.run(
            [str(self.place / "pg_isready"), "-h", str(self.folder)], capture_output=True, check=False
        )
        return done.returncode == 0

    def kill(self) -> None:
        """SIGKILL to the server, as a power cut would stop it; its children follow as soon as they notice."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)  # so that it starts no more of them
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        for one in (self.process.pid, *map(int, children)):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()

    def stop(self) -> None:
        """Stop it, and remove its folder."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, *statements: str, base: str = "postgres", user: str = "postgres"):
        """Run statements, each in a transaction of its own; the rows of the last one."""
        import psycopg

        with psycopg.connect(host=str(self.folder), dbname=base, user=user, autocommit=True) as line:
            cursor = None
            for statement in statements:
                cursor = line.execute(statement)
            return cursor.fetchall() if cursor is not None and cursor.description else []

    def roles(self) -> None:
        """An owner and analysts, without any right beyond logging in."""
        self.sql(*(f"CREATE ROLE {name} LOGIN" for name in (OWNER, *ANALYSTS)))

    def base(self, name: str) -> str:
        """A new database in which the owner may make a schema."""
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0", f"GRANT CREATE ON DATABASE {name} TO {OWNER}")
        return name

    def url(self, base: str, name: str = "q4", user: str = OWNER, host: str | None = None) -> str:
        """The address of a ledger."""
        return f"postgresql://{user}@/{base}?host={host or self.folder}&name={name}"
