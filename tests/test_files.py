"""Files are whole or not there, keep their mode and their links, and an interrupt leaves nothing beside them."""

import os
import stat
import subprocess
import sys
from typing import Any

import pytest

import shortlist as sl
from shortlist._files import leave_spill_folder, note_engine, remove, spill_folder, sweep, temporary_name
from shortlist.release_io import write_table, write_text, write_whole
from tests.helpers.storm import Storm, interrupt

COLUMNS: dict[str, list[Any]] = {"rank": [1, 2], "item": ["a", "b"]}


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def check_whole(folder, path, old, new):
    """The old file or the new one, and nothing beside it."""
    assert path.read_bytes() in (old, new)
    assert os.listdir(folder) == [path.name]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_is_whole_wherever_it_is_interrupted(tmp_path, suffix):
    path = tmp_path / f"list.{suffix}"
    storm = Storm(lambda: write_table(str(path), COLUMNS), ["_files.py", "release_io.py"])
    new = path.read_bytes()
    for place in storm.places:
        path.write_bytes(b"old")
        with pytest.raises(KeyboardInterrupt):
            storm.strike(place, interrupt)
        check_whole(tmp_path, path, b"old", new)
    assert len(storm.places) > 20


def test_a_report_is_whole_wherever_it_is_interrupted(tmp_path, monkeypatch):
    from datetime import UTC, datetime

    class Noon(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1, 12, tzinfo=UTC)

    monkeypatch.setattr("shortlist.pages.release_page.datetime", Noon)
    path = tmp_path / "top.html"
    release = sl.top_k([3, 1, 2], 2, epsilon=1.0, monotone=True)
    storm = Storm(lambda: release.report(path), ["_files.py", "release.py", "release_io.py"])
    new = path.read_bytes()
    for place in storm.places:
        path.write_bytes(b"old")
        with pytest.raises(KeyboardInterrupt):
            storm.strike(place, interrupt)
        check_whole(tmp_path, path, b"old", new)


def test_a_new_file_that_is_interrupted_is_not_there_or_whole(tmp_path):
    path = tmp_path / "a.txt"
    storm = Storm(
        lambda: write_text(str(path), "new"),
        ["_files.py", "release_io.py"],
        before=lambda: path.unlink(missing_ok=True),
    )
    for place in storm.places:
        with pytest.raises(KeyboardInterrupt):
            storm.strike(place, interrupt)
        assert os.listdir(tmp_path) in ([], ["a.txt"])
        assert not path.exists() or path.read_text() == "new"


def test_an_error_of_the_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fails(draft):
        assert mode(draft) == 0o600
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_whole(str(path), fails)
    check_whole(tmp_path, path, b"old", b"old")


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("before", [0o600, 0o644, 0o640])
def test_a_file_keeps_its_mode(tmp_path, before, private):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(before)
    write_text(str(path), "new", private=private)
    assert mode(path) == before
    assert path.read_text() == "new"


def test_new_files_are_private_unless_they_are_public(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(str(tmp_path / "private"), "x")
        write_text(str(tmp_path / "public"), "x", private=False)
    finally:
        os.umask(before)
    assert mode(tmp_path / "private") == 0o600
    assert mode(tmp_path / "public") == 0o640


def test_lists_and_reports_are_for_their_owner_alone(tmp_path):
    release = sl.top_k([3, 1, 2], 2, epsilon=1.0, monotone=True)
    release.report(tmp_path / "top.html")
    write_table(str(tmp_path / "list.csv"), COLUMNS)
    write_table(str(tmp_path / "list.parquet"), COLUMNS)
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    (tmp_path / "top.html").chmod(0o644)
    release.report(tmp_path / "top.html")
    assert mode(tmp_path / "top.html") == 0o644


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.txt", tmp_path / "link.txt"
    link.symlink_to(real)
    for text in ("first", "second"):  # the link may lead to a file that is not there yet
        write_text(str(link), text)
        assert link.is_symlink()
        assert real.read_text() == text
    assert os.listdir(tmp_path / "there") == ["real.txt"]


def test_what_is_no_file_is_refused_in_words(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    with pytest.raises(OSError, match="leads back to itself"):
        write_text(str(one), "x")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="no regular file"):
            write_text(str(path), "x")
    assert sorted(os.listdir(tmp_path)) == ["one", "pipe", "two"]


def test_what_is_left_goes_with_the_process_and_a_child_takes_nothing_of_its_parent(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = temporary_name()
    os.mkdir(folder)
    spill = spill_folder()
    child = os.fork()
    if not child:
        sweep()
        os._exit(0)
    os.waitpid(child, 0)
    assert os.path.isdir(folder)
    remove(folder)
    assert not os.path.exists(folder)
    code = f"""
import os, tempfile
tempfile.tempdir = {str(tmp_path)!r}
from shortlist._files import spill_folder, temporary_name
os.mkdir(temporary_name("left-"))
os.makedirs(spill_folder())
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert os.listdir(tmp_path) == [os.path.basename(os.path.dirname(spill))]
    assert mode(os.path.dirname(spill)) == 0o700


def test_what_cannot_be_written_names_the_path_that_was_given(tmp_path):
    release = sl.select([9, 1], epsilon=1.0)
    for write in (release.report, release.save):
        with pytest.raises(
            FileNotFoundError, match=r"nowhere.r\.(html|json) cannot be written: its folder is not there"
        ):
            write(tmp_path / "nowhere" / ("r.html" if write == release.report else "r.json"))
    with pytest.raises(ValueError, match=r"save writes JSON, which load reads: write save\('top10.json'\)"):
        release.save(tmp_path / "r.csv")
    with pytest.raises(ValueError, match=r"write save\('lists.json'\)"):
        sl.top_k([[9, 1], [8, 2]], 1, epsilon=1.0).save(tmp_path / "lists.HTML")
    assert not list(tmp_path.iterdir())


WORKER = """
import multiprocessing, tempfile
from concurrent.futures import ProcessPoolExecutor
import shortlist as sl

def work(n):
    tempfile.tempdir = {folder!r}
    return sl.top_k({rows!r}, 1, user="who", item="what", candidates=["a", "b"], epsilon=9.0).items

def hold(n):
    global held
    tempfile.tempdir = {folder!r}
    held = sl.count({rows!r}, user="who", item="what", candidates=["a", "b"])

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    if {way!r} == "pool":
        with context.Pool(2) as pool:
            pool.map(work, range(4))
    elif {way!r} == "executor":
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            list(pool.map(work, range(4)))
    else:
        process = context.Process(target=hold, args=(1,))
        process.start()
        process.join()
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("way", ["pool", "executor", "held"])
def test_workers_leave_no_folder(tmp_path, way, method):
    """They end without `atexit`, or by a signal."""
    rows, folder, script = tmp_path / "rows.csv", tmp_path / "tmp", tmp_path / "work.py"
    rows.write_text("who,what\n1,a\n2,a\n3,b\n")
    folder.mkdir()
    script.write_text(WORKER.format(folder=str(folder), rows=str(rows), way=way, method=method))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(folder) == []


class Engine:
    """What a connection is to its folder."""


def test_the_folder_stays_while_an_engine_may_need_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second, engine = spill_folder(), spill_folder(), Engine()
    assert os.path.dirname(first) == os.path.dirname(second)
    note_engine(first, engine)
    leave_spill_folder()
    assert len(os.listdir(tmp_path)) == 1  # one is open, and one is being opened
    note_engine(second, None)
    leave_spill_folder()
    assert len(os.listdir(tmp_path)) == 1
    os.mkdir(first)
    del engine
    leave_spill_folder()
    assert os.path.isdir(first)  # what an engine wrote is not taken from it
    os.rmdir(first)
    leave_spill_folder()
    assert os.listdir(tmp_path) == []
    note_engine(spill_folder(), Engine())
    leave_spill_folder()
    assert os.listdir(tmp_path) == []


def test_no_release_from_a_file_leaves_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    rows = tmp_path / "rows.csv"
    rows.write_text("who,what,age\n" + "".join(f"{n},tea,{n % 90}\n" for n in range(600)))
    asked: dict[str, Any] = {"user": "who", "item": "what"}
    by: dict[str, Any] = {"by": "what", "groups": ["tea"]}
    ages: dict[str, Any] = {"user": "who", "value": "age", "lower": 0, "upper": 99, "epsilon": 1.0}
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.ApproxDP(9.0, 1e-4))
    for release in (
        lambda: sl.top_k(rows, 1, **asked, candidates=["tea", "milk"], epsilon=1.0, ledger=ledger),
        lambda: sl.top_k(rows, 1, **asked, by="age", epsilon=1.0, delta=1e-6),
        lambda: sl.select(rows, **asked, epsilon=1.0, delta=1e-6),
        lambda: sl.keys(rows, **asked, epsilon=1.0, delta=1e-6, ledger=ledger),
        lambda: sl.quantile(rows, **ages, ledger=ledger),
        lambda: sl.quantile(rows, **ages, **by),
    ):
        release()
        assert os.listdir(tmp_path / "tmp") == []


@pytest.fixture
def shared(tmp_path):
    """A folder like /tmp, and a file of ours elsewhere."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "list.csv").write_text("mine")
    return folder


OTHER = 54321
"""Some other user."""
as_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives files to others")


def planted(link, target):
    link.symlink_to(target)
    os.lchown(link, OTHER, OTHER)


@as_root
@pytest.mark.parametrize("form", ["link", "folder", "chain", "dangling", "relative", "file"])
def test_what_another_user_planted_where_anybody_may_write_is_not_followed(tmp_path, shared, form, monkeypatch):
    own, path = tmp_path / "own", shared / "list.csv"
    if form == "link":
        planted(path, own / "list.csv")
    elif form == "folder":
        planted(shared / "deep", own)
        path = shared / "deep" / "list.csv"
    elif form == "chain":
        planted(path, own / "list.csv")
        (tmp_path / "mine.csv").symlink_to(path)
        path = tmp_path / "mine.csv"
    elif form == "dangling":
        planted(path, own / "new.csv")
    elif form == "relative":
        planted(path, "../own/list.csv")
        monkeypatch.chdir(shared)
        path = type(path)("list.csv")
    else:
        path.write_text("theirs")
        os.chown(path, OTHER, OTHER)
    release = sl.top_k([3, 1, 2], 2, epsilon=1.0, monotone=True)
    writers = [lambda: write_table(str(path), COLUMNS), lambda: write_text(str(path), "x")]
    if form not in ("folder", "chain"):
        page = path.with_suffix(".html")
        path.rename(page)
        writers += [lambda: release.report(page), lambda: write_text(str(page), "x")]
        writers = writers[2:]
    for write in writers:
        with pytest.raises(PermissionError, match=r"that another user made in .*shared, where anybody may make files"):
            write()
    assert os.listdir(own) == ["list.csv"]
    assert (own / "list.csv").read_text() == "mine"
    assert form != "file" or page.read_text() == "theirs"


@as_root
def test_links_of_our_own_and_of_the_owner_of_the_folder_are_followed(tmp_path, shared):
    real = tmp_path / "own" / "list.csv"
    (shared / "mine.csv").symlink_to(real)
    write_text(str(shared / "mine.csv"), "first")
    assert real.read_text() == "first"
    planted(shared / "theirs.csv", real)
    os.chown(shared, OTHER, OTHER)
    write_text(str(shared / "theirs.csv"), "second")
    assert real.read_text() == "second"
    os.chown(shared, 0, 0)
    shared.chmod(0o755)  # nobody else may make a link there now
    write_text(str(shared / "theirs.csv"), "third")
    assert real.read_text() == "third"
