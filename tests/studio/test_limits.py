"""A studio that is asked too much: its user is never locked out, and a plan that takes too long is ended."""

import json
import socket
import subprocess
import threading

import pytest

import shortlist as sl
from shortlist.studio import planner
from shortlist.studio.inputs import Folder
from shortlist.studio.planner import Planner
from shortlist.studio.server import Connections, Handler, Limits, Studio
from tests.helpers.studios import QUESTION, Running, fill

DESCRIBED = {**QUESTION, "users": 5000, "shape": "zipf:1.1"}
SLOW = {"k": 1000, "items": 20_000, "users": 10**10, "shape": "zipf:1.1", "budget": "pure", "domain": "known"}


@pytest.fixture
def studio_with(tmp_path):
    """A studio with limits of its own."""
    started = []
    fill(tmp_path)

    def start(**limits):
        running = Running(tmp_path, Limits(**limits))
        started.append(running)
        return running

    yield start
    for running in started:
        running.close()


def connect(studio):
    return socket.create_connection(("127.0.0.1", studio.server.server_port), timeout=60)


def test_silent_connections_make_room_for_the_user(studio_with):
    """Fifty where four fit: each new one takes the place of the one that has been silent longest."""
    studio = studio_with(connections=4, silence=600.0)
    threads = threading.active_count()
    silent = []
    for _ in range(50):
        silent.append(connect(studio))
        assert threading.active_count() <= threads + 5  # four, and one that is leaving
    assert studio.ask("state")[0] == 200
    assert len(studio.server.connections) <= 4
    assert silent[0].recv(1) == b""  # closed
    for one in silent:
        one.close()


def test_a_connection_that_sends_a_byte_now_and_then_makes_room_too(studio_with):
    studio = studio_with(connections=1, silence=600.0)
    slow = connect(studio)
    slow.sendall(f"GET /{'x' * 10}".encode())
    assert studio.ask("state")[0] == 200
    assert slow.recv(1) == b""
    slow.close()


def test_a_request_whose_body_trickles_in_makes_room_too(studio_with, monkeypatch):
    studio = studio_with(connections=1, silence=600.0)
    reading, read = threading.Event(), Handler._body

    def body(handler):
        reading.set()
        return read(handler)

    monkeypatch.setattr(Handler, "_body", body)
    host = studio.origin.removeprefix("http://")
    head = f"POST /{studio.server.token}/plan HTTP/1.1\r\nHost: {host}\r\nOrigin: {studio.origin}\r\n"
    slow = connect(studio)
    slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{".encode())
    assert reading.wait(60)
    assert studio.ask("state")[0] == 200
    slow.close()


def test_who_comes_while_all_are_being_served_is_told_so(studio_with, monkeypatch):
    studio = studio_with(connections=1, silence=600.0)
    started, go_on, real = threading.Event(), threading.Event(), studio.server.answers.get

    def waits(route):
        started.set()
        assert go_on.wait(60)
        return real(route)

    monkeypatch.setattr(studio.server.answers, "get", waits)
    found = []
    served = threading.Thread(target=lambda: found.append(studio.send("GET", "state")))
    served.start()
    assert started.wait(60)
    with connect(studio) as other:
        answer = b"".join(iter(lambda: other.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert "busy" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    go_on.set()
    served.join(60)
    assert found[0][0] == 200
    assert any("refused: busy 503" in line for line in studio.log)


def test_a_silent_connection_is_closed_after_a_while(studio_with):
    studio = studio_with(silence=0.01)
    with connect(studio) as silent:
        assert silent.recv(1) == b""


def test_a_connection_that_was_served_goes_last():
    ends = [socket.socketpair() for _ in range(3)]
    ours = [one for one, _ in ends]
    room = Connections(2)
    assert room.enter(ours[0])
    assert room.enter(ours[1])
    room.serve(ours[0], True)
    room.serve(ours[0], False)

    def leave():
        ours[1].recv(1)
        room.leave(ours[1])

    leaving = threading.Thread(target=leave)
    leaving.start()
    assert room.enter(ours[2])
    leaving.join(60)
    room.serve(ours[0], True)
    room.serve(ours[2], True)
    assert not room.enter(ours[1])
    for pair in ends:
        for one in pair:
            one.close()


def test_a_plan_that_takes_too_long_is_ended_in_words(studio_with, monkeypatch):
    studio = studio_with(plan_seconds=0.001)
    workers = []
    popen = subprocess.Popen

    def kept(*arguments, **words):
        workers.append(popen(*arguments, **words))
        return workers[-1]

    monkeypatch.setattr("subprocess.Popen", kept)
    status, answer = studio.ask("expected", DESCRIBED)
    assert status == 400
    assert answer["error"] == (
        "this plan takes longer than 0.001 seconds; ask for fewer items or a smaller k, or leave the description out"
    )
    assert [worker.returncode for worker in workers] == [-9]  # it has ended, not only been given up
    assert studio.ask("plan", QUESTION)[0] == 200
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0


def test_plans_wait_for_their_turn_and_are_told_when_it_does_not_come(studio_with):
    studio = studio_with(plans=1, plan_seconds=0.001)
    turns = studio.server.answers._plans
    assert turns.acquire(timeout=60)
    status, answer = studio.ask("plan", QUESTION)
    assert status == 503
    assert "busy with other plans" in answer["error"]
    turns.release()
    assert studio.ask("plan", QUESTION)[0] == 200


def test_a_plan_under_way_ends_with_the_studio():
    asked = Planner(600.0)
    ended = []
    asking = threading.Thread(target=lambda: ended.append(_error_of(asked)))
    asking.start()
    while not asked._workers and asking.is_alive():  # it starts
        pass
    asked.close()
    asking.join(60)
    assert ended == ["the plan could not be computed"]


def test_a_plan_that_is_asked_for_after_the_end_is_ended_too():
    asked = Planner(600.0)
    asked.close()
    assert _error_of(asked) == "the plan could not be computed"


def test_who_asks_again_is_answered_without_another_process(monkeypatch):
    answered: list[bytes] = []

    def answer(self, question):
        answered.append(question)
        return b'{"answer": {"a": 1}}'

    monkeypatch.setattr(planner, "MOST_KEPT", 2)
    monkeypatch.setattr(Planner, "_compute", answer)
    asked = Planner(600.0)
    for epsilon in (1.0, 1.0, 2.0, 1.0, 3.0, 2.0):
        assert asked.ask(SLOW, epsilon) == {"a": 1}
    assert [json.loads(one)["epsilon"] for one in answered] == [1.0, 2.0, 3.0, 2.0]  # so many are kept, and no more


def _error_of(planner):
    with pytest.raises(ValueError) as found:  # noqa: PT011 - its words are compared
        planner.ask(SLOW, 1.0)
    return str(found.value)


def test_what_a_plan_refuses_is_said_by_the_studio(studio_with):
    studio = studio_with()
    status, answer = studio.ask("expected", {**DESCRIBED, "shape": "zipf:evil"})
    assert status == 400
    assert "shape must be a word and a number" in answer["error"]


def test_a_taken_port_is_an_error_like_any_other(tmp_path, studio_with):
    studio = studio_with()
    with pytest.raises(OSError, match="in use"):
        Studio(Folder.of(tmp_path), port=studio.server.server_port)
