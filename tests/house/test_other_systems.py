"""What Windows does not have is not needed: a process without it runs the commands and writes the pages."""

import subprocess
import sys

import pytest

WITHOUT = """
import importlib.abc, os, signal, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "pwd", "grp", "resource", "termios"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules.pop(name, None)
for name in ("SIGHUP", "SIGALRM", "SIGUSR1", "setitimer", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("getuid", "geteuid", "register_at_fork", "fork", "sched_getaffinity", "O_DIRECTORY", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)
whole, opened, handles = os.fsync, os.open, {}
def noted(path, flags, *rest, **words):
    handle = opened(path, flags, *rest, **words)
    handles[handle] = flags
    return handle
def fsync(handle):
    if handles.get(handle, os.O_RDWR) & (os.O_WRONLY | os.O_RDWR) == 0:
        raise PermissionError("a handle for reading is not synced on Windows")
    whole(handle)
os.open, os.fsync = noted, fsync
os.environ["USERNAME"] = "ada"
"""
ENDS = "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"


def shortened(code, folder):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*words):
    return f"sys.argv = {['shortlist', *words]!r}\nfrom shortlist._entry import main\n{ENDS}"


def test_a_table_becomes_a_list_with_a_ledger_and_pages(tmp_path):
    before = command("example", "films") + command("ledger", "init", "q4.db", "--epsilon", "3")
    asked = ("top", "films.parquet", "-k", "3", "--user", "user_id", "--item", "film", "--candidates", "films.txt")
    paid = (*asked, "--epsilon", "1", "--ledger", "q4.db", "--report", "top.html", "--out", "top.csv")
    told = shortened(before + command(*paid) + command("ledger", "show", "q4.db"), tmp_path)
    assert "3 of 3 asked for" in told
    assert "booked: epsilon 1 of 3" in told
    assert (tmp_path / "top.html").stat().st_size > 1000
    assert "film" in (tmp_path / "top.csv").read_text()
    assert "ada" in told.rpartition("booked:")[2]


def test_pages_do_not_load_the_command_line(tmp_path):
    code = """
import shortlist as sl
sl.top_k([900, 20, 500], 2, epsilon=1.0, monotone=True).report("top.html")
assert not [name for name in sys.modules if name.startswith("shortlist.cli")], "the command line"
"""
    shortened(code, tmp_path)


def test_the_studio_has_its_folder_and_sweeps_what_others_left(tmp_path):
    code = """
import tempfile
tempfile.tempdir = "."
from pathlib import Path
from shortlist.cli import studio
assert studio.fcntl is None
with studio.hold_folder() as own:
    assert (own / studio.LOCK).exists()
assert not own.exists()
left = Path(studio.PREFIX + "left")
left.mkdir()
(left / studio.LOCK).touch()
studio._sweep()
assert not left.exists()
"""
    shortened(code, tmp_path)


def test_the_simulation_takes_something_away():
    with pytest.raises(AssertionError, match="SIGHUP"):
        shortened("signal.SIGHUP", ".")
    with pytest.raises(AssertionError, match="ImportError"):
        shortened("import fcntl", ".")
    with pytest.raises(AssertionError, match="not synced on Windows"):
        shortened("os.fsync(os.open('.', os.O_RDONLY))", ".")
