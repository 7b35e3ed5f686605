"""The studio as a stranger meets it: what is refused, what is logged, and what is never read too early."""

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import shortlist as sl
from tests.helpers.studios import FILMS, QUESTION, SECRET, Running, fill
from tests.helpers.typed import present

ENTRIES = ["films.txt", "rentals.csv", "year.db"]


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    running = Running(tmp_path)
    yield running
    running.close()


def spent(folder):
    return sl.Ledger(folder / "year.db").spent.epsilon


def check_untouched(studio):
    """Nothing was booked, nothing written, and the log tells no value of any request."""
    assert spent(studio.folder) == 0
    assert sorted(os.listdir(studio.folder)) == ENTRIES
    check_log(studio)


def check_log(studio):
    log = "\n".join(studio.log)
    private = (studio.server.token, SECRET, "who", "rentals", "films of", "evil", "..", str(studio.folder), *FILMS)
    assert not [word for word in private if word in log]


def test_it_listens_on_loopback_only(studio):
    assert studio.server.server_address[0] == "127.0.0.1"
    assert len(studio.server.token) >= 40


@pytest.mark.parametrize("path", ["/", "/state", "/plan", "", "*", "/../", "//", "/%00/", "/a/b/c", "/" + "x" * 5000])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token_nothing_is_served(studio, method, path):
    status, _, body = studio.send(method, path or "/?", {} if method == "POST" else None, token=False)
    assert status in (400, 403)
    assert len(body) < 60
    assert any("refused" in line for line in studio.log)
    check_untouched(studio)


def test_an_old_bookmark_is_answered_with_a_sentence(studio):
    old, browser = f"/{'x' * 43}/", {"Accept": "text/html,application/xhtml+xml"}
    status, headers, body = studio.send("GET", old, None, browser, token=False)
    assert (status, headers["Content-Type"]) == (403, "text/html; charset=utf-8")
    assert b"No studio has this address" in body
    assert studio.server.token.encode() not in body
    assert studio.send("POST", f"{old}plan", {}, browser, token=False)[2] == b'{"error": "Forbidden"}'
    assert studio.send("GET", f"{old}state", None, {"Accept": "*/*"}, token=False)[2] == b'{"error": "Forbidden"}'
    check_untouched(studio)


def test_the_page_may_be_opened_from_elsewhere_but_nothing_asked(studio):
    arriving = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert studio.send("GET", "", None, arriving)[0] == 200
    assert studio.send("GET", "state", None, arriving)[0] == 403
    assert studio.send("GET", "", None, {**arriving, "Sec-Fetch-Mode": "cors"})[0] == 403


def test_the_address_reaches_the_browser_through_a_private_file(tmp_path, monkeypatch):
    from shortlist.cli.studio import _show

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    _show("http://127.0.0.1:1/secret/", tmp_path)
    assert "secret" not in opened[0]
    assert "secret" in (tmp_path / "open.html").read_text()
    assert (tmp_path / "open.html").stat().st_mode & 0o077 == 0


def test_a_body_where_none_belongs_is_refused(studio):
    for headers in ({"Content-Length": "5"}, {"Transfer-Encoding": "chunked"}):
        assert studio.send("GET", "state", b"evil!", headers)[0] == 400
    with socket.create_connection(("127.0.0.1", studio.server.server_port)) as raw:
        head = f"GET /{studio.server.token}/state HTTP/1.1\r\nHost: {studio.origin.removeprefix('http://')}\r\n"
        raw.sendall(f"{head}Content-Length: 0\r\nContent-Length: 5\r\n\r\nevil!".encode())
        assert raw.recv(4096).split()[1] == b"400"
    check_untouched(studio)


def test_another_token_is_refused(studio):
    wrong = studio.server.token[:-1] + ("a" if studio.server.token[-1] != "a" else "b")
    for token in (wrong, studio.server.token + "a", studio.server.token[:10], studio.server.token.upper()):
        assert studio.send("GET", f"/{token}/state", token=False)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_a_request_from_elsewhere_is_refused(studio, headers):
    assert studio.send("POST", "plan", QUESTION, headers)[0] in (403, 421)
    if headers.get("Origin", "x") is not None:
        assert studio.send("GET", "state", None, headers)[0] in (403, 421)
    check_untouched(studio)


@pytest.mark.parametrize(
    "path",
    [
        "../state",
        "%2e%2e/state",
        "state/..",
        "download/../../x",
        "..%2f..%2fetc",
        "a\\b",
        "state?x=1",
        "job/%00",
        "%ff",
    ],
)
def test_path_tricks_are_refused(studio, path):
    assert studio.send("GET", path)[0] in (400, 404)
    check_untouched(studio)


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        (b"{}", {"Content-Length": "-1"}, 400),
        (b"{}", {"Content-Length": "99999999999"}, 413),
        (b"{}", {"Transfer-Encoding": "chunked"}, 411),
        (b'{"a":"' + b"x" * (1 << 20) + b'"}', {}, 413),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_broken_or_oversized_body_is_refused(studio, body, headers, expected):
    try:
        assert studio.send("POST", "plan", body, headers)[0] == expected
    except (BrokenPipeError, ConnectionResetError):
        assert expected == 413  # the server did not wait for the rest
    check_untouched(studio)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 300 + b"\r\n",
        b"GET /" + b"evil" * 20_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=range(6),
)
def test_broken_requests_are_refused_and_the_studio_goes_on(studio, raw):
    answer = b""
    with socket.create_connection(("127.0.0.1", studio.server.server_port)) as connection:
        with suppress(OSError):  # it may hang up before it has read all
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            answer = connection.recv(100_000)
    assert b"evil" not in answer
    assert b" 200 " not in answer
    assert studio.ask("state")[0] == 200
    check_untouched(studio)


@pytest.mark.parametrize(
    "changes",
    [
        {"table": "../rentals.csv"},
        {"table": "/etc/passwd"},
        {"table": "nowhere.csv"},
        {"table": "films.txt"},
        {"table": ["rentals.csv"]},
        {"table": "outside.csv"},
        {"ledger": "../year.db"},
        {"ledger": "rentals.csv"},
        {"candidates_file": "../films.txt"},
        {"candidates": "evil"},
        {"user": ""},
        {"user": "film"},
        {"k": 0},
        {"k": 2.5},
        {"k": True},
        {"k": 8},
        {"epsilon": -1},
        {"epsilon": "1"},
        {"epsilon": None},
        {"epsilon": 1e400},
        {"epsilon": 10**400},
        {"delta": 2.0},
        {"ordered": "yes"},
        {"purpose": "x" * 2000},
        {"purpose": "\ud800"},
        {"user": "who\x00"},
        {"table": "\ud800.csv"},
        {"candidates": "none"},
        {"candidates_file": "rentals.csv"},
        {"candidates_file": ""},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_wrong_answer_is_named_and_costs_nothing(studio, tmp_path_factory, changes):
    outside = tmp_path_factory.mktemp("outside") / "outside.csv"
    outside.write_text("who,film\n")
    link = studio.folder / "outside.csv"
    link.symlink_to(outside)
    status, answer = studio.ask("plan", {**QUESTION, **changes})
    link.unlink()
    assert status == 400
    assert answer["error"]
    assert str(studio.folder) not in answer["error"]
    check_untouched(studio)


def test_a_charge_that_does_not_fit_is_refused_before_anything_is_read(studio):
    status, answer = studio.ask("plan", {**QUESTION, "epsilon": 3.5})
    assert status == 400
    assert "no room" in answer["error"]
    check_untouched(studio)


@pytest.mark.parametrize("name", ["copy.csv", "copy.csv.gz", "copy.tsv", "copy.parquet", "copy.jsonl", "hard.txt"])
def test_a_table_of_people_is_no_public_list(studio, name):
    """A plan would count its people, free of charge."""
    import gzip

    import polars as pl

    table = studio.folder / "rentals.csv"
    rows, copy = pl.read_csv(table), studio.folder / name
    write: dict[str, Any] = {
        "copy.csv": rows.write_csv,
        "copy.csv.gz": lambda path: path.write_bytes(gzip.compress(table.read_bytes())),
        "copy.tsv": lambda path: rows.write_csv(path, separator="\t"),
        "copy.parquet": rows.write_parquet,
        "copy.jsonl": rows.write_ndjson,
        "hard.txt": lambda path: path.hardlink_to(table),
    }
    write[name](copy)
    for changes in ({}, {"user": "film", "item": "who"}):
        status, answer = studio.ask("plan", {**QUESTION, "candidates_file": name, **changes})
        assert status == 400
        assert "public list" in answer["error"]
        assert str(studio.folder) not in answer["error"]
    copy.unlink()
    check_untouched(studio)


def test_lists_are_offered_before_tables_and_sizes_are_coarse(studio):
    state = studio.ask("state")[1]
    assert [one["name"] for one in state["lists"]] == ["films.txt", "rentals.csv"]
    (table,) = state["tables"]
    size = (studio.folder / "rentals.csv").stat().st_size
    assert table["bytes"] != size
    assert set(str(table["bytes"])[1:]) == {"0"}
    assert 0.5 < table["bytes"] / size < 2


def test_what_is_not_listed_cannot_be_named(studio):
    for folder in (".hidden", "a/b"):
        (studio.folder / folder).mkdir(parents=True)
        (studio.folder / folder / "x.csv").write_text("who,film\n")
        status, answer = studio.ask("plan", {**QUESTION, "table": f"{folder}/x.csv"})
        assert status == 400
        assert "only files that the studio lists" in answer["error"]
        assert studio.ask("ledger", {"name": f"{folder}/x", "epsilon": 2.0})[0] == 400
    (studio.folder / "a" / "x.csv").write_text("who,film\n")
    assert studio.ask("plan", {**QUESTION, "table": "a/x.csv"})[0] == 200


def test_progress_is_told_in_hundredths(studio):
    from shortlist.studio.answers import PaidJob, _view
    from shortlist.studio.forms import Offer

    plan = Offer.of(studio.server.folder, QUESTION)
    assert _view(PaidJob("job", plan, share=0.123456))["share"] == 0.12


def test_the_consent_names_the_whole_price(studio):
    assert studio.ask("plan", {**QUESTION, "epsilon": 1.0000004})[1]["price"] == "epsilon 1.001"  # rounded up


def test_the_table_is_not_read_before_the_release(studio):
    (studio.folder / "rentals.csv").write_bytes(b"\x00 this is no table")
    status, plan = studio.ask("plan", QUESTION)
    assert status == 200
    assert plan["candidates"] == len(FILMS)
    job = studio.ask("release", {"confirm": plan["confirm"], "agree": True})[1]["job"]
    while (told := studio.ask(f"job/{job}")[1])["state"] not in ("done", "failed"):
        pass
    assert told["state"] == "failed"
    assert told["booked"] is False
    check_untouched(studio)


def test_a_release_is_charged_first_and_says_what_it_did(studio):
    job = studio.release()
    assert job["state"] == "done"
    assert job["items"] == sorted(job["items"])
    assert set(job["items"]) <= set(FILMS)
    assert spent(studio.folder) == 1.0
    (entry,) = sl.Ledger(studio.folder / "year.db").entries()
    assert (entry.purpose, entry.unit) == ("films of the week", "user (add-remove)")
    assert studio.ask("state")[1]["ledgers"][0]["entries"][0]["cost"] == "epsilon 1"
    assert sorted(os.listdir(studio.folder)) == ENTRIES
    check_log(studio)


def test_a_table_that_breaks_while_it_is_counted_stays_charged(studio):
    with open(studio.folder / "rentals.csv", "a") as file:
        file.write(f'{SECRET},"half a film\n')
    job = studio.release()
    assert job["state"] == "failed"
    assert job["booked"] is True
    assert SECRET not in job["error"]
    assert "half a film" not in job["error"]
    assert not any(letter.isdigit() for letter in job["error"])
    assert str(studio.folder) not in job["error"]
    assert spent(studio.folder) == 1.0
    check_log(studio)


def test_a_confirmation_works_once_and_only_when_it_is_meant(studio):
    _, plan = studio.ask("plan", QUESTION)
    for wrong in ({}, {"confirm": plan["confirm"]}, {"confirm": plan["confirm"], "agree": "yes"}, {"agree": True}):
        assert studio.ask("release", wrong)[0] == 400
    assert studio.ask("release", {"confirm": plan["confirm"], "agree": True})[0] == 200
    assert studio.ask("release", {"confirm": plan["confirm"], "agree": True})[0] == 400


def test_tabs_that_race_on_one_consent_make_one_release(studio):
    word = studio.ask("plan", QUESTION)[1]["confirm"]
    with ThreadPoolExecutor(8) as tabs:
        answers = list(tabs.map(lambda _: studio.ask("release", {"confirm": word, "agree": True}), range(8)))
    (job,) = (answer["job"] for status, answer in answers if status == 200)
    while studio.ask(f"job/{job}")[1]["state"] not in ("done", "failed"):
        pass
    assert [entry.kind for entry in sl.Ledger(studio.folder / "year.db").entries()] == ["charge"]


def test_an_old_plan_cannot_be_confirmed(studio, monkeypatch):
    _, plan = studio.ask("plan", QUESTION)
    monkeypatch.setattr("shortlist.studio.answers.PATIENCE", -1.0)
    assert studio.ask("release", {"confirm": plan["confirm"], "agree": True})[0] == 400
    check_untouched(studio)


def test_nothing_may_be_kept_or_framed(studio):
    for path in ("", "state"):
        _, headers, _ = studio.send("GET", path)
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
    page = studio.send("GET", "")
    assert "frame-ancestors 'none'" in page[1]["Content-Security-Policy"]
    assert b"connect-src 'self'" in page[2]
    assert b"localStorage" not in page[2]


def test_downloads_are_the_list_the_report_and_code_that_runs(studio, monkeypatch, capsys):
    job = studio.release()
    status, headers, listed = studio.send("GET", f"download/{job['job']}/list.csv")
    assert status == 200
    assert headers["Content-Disposition"] == 'attachment; filename="top3.csv"'
    assert listed.decode().split("\r\n") == ["item", *job["items"], ""]
    assert b"What was paid" in studio.send("GET", f"download/{job['job']}/report.html")[2]
    whole = sl.Release.from_json(studio.send("GET", f"download/{job['job']}/list.json")[2].decode())
    assert list(whole) == job["items"]
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert "guarded top-3" in capsys.readouterr().out
    assert spent(studio.folder) == 2.0
    assert (studio.folder / "top3.html").exists()
    assert studio.send("GET", f"download/{job['job']}/evil")[0] == 404
    assert studio.send("GET", "download/evil/list.csv")[0] == 404


def test_names_with_quotes_are_data_in_the_code(studio, monkeypatch):
    (studio.folder / "it's.csv").write_text('"who ""x""",film\na,Alien\nb,Heat\n')
    job = studio.release(table="it's.csv", user='who "x"', purpose="'); raise SystemExit('evil", candidates="text",
                         candidates_text="Alien\nHeat\n'; import os #\n", k=1)  # fmt: skip
    assert job["state"] == "done"
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert spent(studio.folder) == 2.0


def test_a_ledger_can_be_made_once_and_only_in_the_folder(studio):
    status, state = studio.ask("ledger", {"name": "new", "epsilon": 2.0, "delta": 1e-6})
    assert status == 200
    assert state["name"] == "new.db"
    assert {one["name"] for one in state["ledgers"]} == {"new.db", "year.db"}
    assert sl.Ledger(studio.folder / "new.db").budget == sl.ApproxDP(2.0, 1e-6)
    for name in ("new", "../evil", "nowhere/new", "rentals.csv/x", "", 3):
        assert studio.ask("ledger", {"name": name, "epsilon": 2.0})[0] == 400
    assert sorted(os.listdir(studio.folder)) == ["films.txt", "new.db", "rentals.csv", "year.db"]


def test_ten_at_once_are_served_and_never_overdraw(studio):
    def one(_):
        assert studio.send("GET", "")[0] == 200
        status, plan = studio.ask("plan", {**QUESTION, "epsilon": 0.5})
        if status == 400:
            return "refused"
        status, started = studio.ask("release", {"confirm": plan["confirm"], "agree": True})
        return studio.finished(started["job"])["state"]

    with ThreadPoolExecutor(10) as many:
        outcomes = list(many.map(one, range(10)))
    assert outcomes.count("done") == 6
    assert spent(studio.folder) == 3.0


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        signal.SIGTERM,
        *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGINT, signal.SIGHUP)),
    ],
)
def test_ending_the_studio_mid_release_leaves_the_charge_and_nothing_half_written(tmp_path, tmp_path_factory, how):
    fill(tmp_path, rows=300_000)
    source, spill = str(Path(sl.__file__).parents[1]), tmp_path_factory.mktemp("spill")
    command = [sys.executable, "-m", "shortlist", "studio", str(tmp_path), "--no-open"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source, "TMPDIR": str(spill)},
        preexec_fn=lambda: how == signal.SIGKILL or signal.signal(how, signal.SIG_DFL),  # a runner may ignore some
    )
    address = present(process.stdout).readline().split()[-1]
    studio = Elsewhere(address)
    _, plan = studio.ask("plan", QUESTION)
    _, started = studio.ask("release", {"confirm": plan["confirm"], "agree": True})
    while studio.ask(f"job/{started['job']}")[1]["state"] in ("waiting", "checking", "charging"):
        pass
    process.send_signal(how)
    _, log = process.communicate()
    ledger = sl.Ledger(tmp_path / "year.db")
    assert ledger.verify() == 1
    assert ledger.spent.epsilon == 1.0
    assert sorted(os.listdir(tmp_path)) == ENTRIES
    assert process.returncode == (-how if how == signal.SIGKILL else 0)
    assert "Traceback" not in log
    assert SECRET not in log
    assert bool(os.listdir(spill)) == (how == signal.SIGKILL)


def test_a_new_studio_takes_away_what_killed_ones_left(tmp_path, monkeypatch):
    from shortlist.cli.studio import _sweep, hold_folder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("shortlist-studio-killed", "shortlist-studio-half-gone", "elsewhere", "other-killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.tmp").write_text(SECRET)
    for name in ("shortlist-studio-killed", "elsewhere", "other-killed"):
        (tmp_path / name / "in-use").touch()
    os.utime(tmp_path / "shortlist-studio-half-gone", (0, 0))
    (tmp_path / "shortlist-studio-new").mkdir()
    (tmp_path / "shortlist-studio-link").symlink_to(tmp_path / "elsewhere")
    with hold_folder() as own:
        _sweep()
        kept = ["elsewhere", "other-killed", own.name, "shortlist-studio-link", "shortlist-studio-new"]
        assert sorted(os.listdir(tmp_path)) == sorted(kept)
    assert not own.exists()


class Elsewhere(Running):
    """A studio in another process, by its address."""

    def __init__(self, address):
        port, token = address.removeprefix("http://127.0.0.1:").strip("/").split("/")
        remote: Any = type("Remote", (), {"server_port": int(port), "token": token})
        self.server = remote


def test_the_plan_says_how_good_it_would_be_on_made_up_counts(studio):
    (studio.folder / "rentals.csv").write_bytes(b"\x00 this is no table")
    _, found = studio.ask("expected", {**QUESTION, "epsilon": 0.1, "users": 5000, "shape": "zipf:1.1"})
    assert "the list would be exactly right with a chance of" in found["told"]
    assert "5,000 users" in found["described"]
    direct = {row.mechanism: row for row in sl.plan(k=3, items=8, users=5000, shape="zipf:1.1", budget="pure").rows}
    for row in found["rows"]:
        assert row["needed"] == direct[row["mechanism"]].epsilon
        assert 0 < row["reached"] <= 1
    check_untouched(studio)


@pytest.mark.parametrize("changes", [{"users": -3, "shape": "zipf:1.1"}, {"users": 1000, "shape": "evil"}], ids=str)
def test_a_wrong_description_is_named(studio, changes):
    status, answer = studio.ask("expected", {**QUESTION, **changes})
    assert status == 400
    assert answer["error"]
    check_untouched(studio)


def test_without_a_public_list_the_names_come_from_the_data_and_cost_a_delta(studio):
    studio.ask("ledger", {"name": "both", "epsilon": 3.0, "delta": 1e-5})
    job = studio.release(candidates="none", delta=1e-6, epsilon=2.0, ledger="both.db", k=2)
    assert job["state"] == "done"
    assert set(job["items"]) <= set(FILMS)
    assert "Unlisted secret film" not in job["items"]
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 2.0
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    assert "budget=sl.ApproxDP(epsilon=2.0, delta=1e-06)" in program


def test_a_count_that_is_watched_counts_the_same(studio):
    from tests.tables.tables import opened

    seen: list[Any] = []
    table, listed = studio.folder / "rentals.csv", studio.folder / "films.txt"
    asked = opened("top_k", table, user="who", item="film", candidates=listed)
    watched, plain = (asked.read(tell).as_public() for tell in (seen.append, None))
    assert watched.values.tolist() == plain.values.tolist()
    assert list(watched.labels) == list(plain.labels)
    assert seen[-1] == 1.0
    assert all(0 <= share <= 1 for share in seen)


def test_candidates_that_fall_together_in_the_table_are_found_before_the_charge(studio):
    import polars as pl

    pl.DataFrame({"who": [1, 2, 3], "film": [1, 2, 1]}).write_parquet(studio.folder / "numbers.parquet")
    job = studio.release(table="numbers.parquet", candidates="text", candidates_text="1\n01\n2", k=2)
    assert job["state"] == "failed"
    assert job["booked"] is False
    assert spent(studio.folder) == 0


@pytest.mark.parametrize("what", ["table", "candidates_file", "ledger", "folder"])
@pytest.mark.parametrize("kind", ["list", "quantile"])
def test_a_file_that_became_a_link_after_the_plan_is_not_used(tmp_path, tmp_path_factory, what, kind):
    """Who may write into the folder may swap a file for a link: what it leads to is not theirs to read or to charge."""
    outside, home = tmp_path_factory.mktemp("outside"), tmp_path / "home"
    below = home / "below"
    below.mkdir(parents=True)
    fill(below)
    fill(outside)
    (outside / "rentals.csv").write_text("who,film\n" + "".join(f"{n},Heat\n" for n in range(500)))
    running = Running(home)
    try:
        files = {name: f"below/{QUESTION[name]}" for name in ("table", "candidates_file", "ledger")}
        ends = {"value": "film", "lower": "0", "upper": "9"} if kind == "quantile" else {}
        plan = running.ask("plan", {**QUESTION, **files, "kind": kind, **ends})[1]
        if what == "folder":
            below.rename(home / "moved")
            below.symlink_to(outside)
        else:
            (home / files[what]).unlink()
            (home / files[what]).symlink_to(outside / QUESTION[what])
        job = running.finished(running.ask("release", {"confirm": plan["confirm"], "agree": True})[1]["job"])
        assert sl.Ledger(outside / "year.db").entries() == []
        if kind == "quantile" and what == "candidates_file":
            assert job["state"] == "done", job
            return
        assert (job["state"], job["booked"]) == ("failed", False)
        assert "it is not the file of the plan any more; look at the plan again" in job["error"]
        assert (
            what == "ledger" or sl.Ledger(home / ("moved" if what == "folder" else "below") / "year.db").entries() == []
        )
    finally:
        running.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("what", ["table", "candidates_file", "ledger"])
def test_a_file_that_became_a_pipe_after_the_plan_is_not_waited_for(studio, what):
    """Whoever opens a pipe waits for its other end, and every later release waits for that one."""
    plan = studio.ask("plan", QUESTION)[1]
    path = studio.folder / QUESTION[what]
    path.rename(studio.folder / "kept")
    os.mkfifo(path)
    job = studio.ask("release", {"confirm": plan["confirm"], "agree": True})[1]["job"]
    began = time.monotonic()
    while (told := studio.ask(f"job/{job}")[1])["state"] not in ("done", "failed") and time.monotonic() - began < 10:
        time.sleep(0.05)
    assert (told["state"], told["booked"]) == ("failed", False)
    assert "it is not the file of the plan any more; look at the plan again" in told["error"]
    path.unlink()
    (studio.folder / "kept").rename(path)
    assert studio.release()["state"] == "done"
