"""The first use of the package from many threads, while the process forks: nobody waits for ever."""

import os
import subprocess
import sys

import pytest

from tests.helpers.support import full_size, sized

PROGRAM = """
import os, sys, threading
import shortlist as sl

USE = {
    "select": lambda: sl.select([3, 1, 2], epsilon=1.0, monotone=True).items,
    "top_k": lambda: sl.top_k({"a": 9, "b": 2, "c": 1}, 2, epsilon=1.0, delta=1e-6, monotone=True, public=False).items,
    "stream": lambda: next(sl.mechanisms.SparseVector(threshold=1, k=1, epsilon=1.0).stream([9])),
    "names": lambda: [getattr(sl, name) for name in sl.__all__],
}[sys.argv[1]]
start = threading.Barrier(4)

def first():
    start.wait()
    USE()

threads = [threading.Thread(target=first) for _ in range(3)]
for thread in threads:
    thread.start()
start.wait()
children = []
for _ in range(int(sys.argv[2])):  # while the others import
    child = os.fork()
    if not child:
        USE()
        os._exit(0)
    children.append(child)
ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
for thread in threads:
    thread.join()
print(*ends)
"""


CHILDREN = sized(2, full=6)


@full_size
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(
    "use", ["top_k", "names", *(pytest.param(use, marks=pytest.mark.long) for use in ("select", "stream"))]
)
def test_forks_and_threads_may_use_it_first_at_the_same_time(use):
    """Children are made while three threads import; the time limit is only there to tell that one hangs."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, use, str(CHILDREN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["0"] * CHILDREN), done.stderr


def test_names_rooms_and_the_audit_are_there_whatever_was_imported_first():
    code = """
import shortlist.audit.attack
import shortlist as sl
assert callable(sl.audit) and sl.audit.__module__.startswith("shortlist.audit"), sl.audit
assert sl.mechanisms.NoisyMax and sl.testing.seeded and sl.privacy.PureDP is sl.PureDP
assert set(sl.__all__) <= set(dir(sl))
namespace = {}
exec("from shortlist import *", namespace)
assert set(sl.__all__) <= set(namespace)
try:
    sl.nothing
except AttributeError as error:
    assert "nothing" in str(error)
else:
    raise SystemExit("there is something")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("room", ["mechanisms", "planning"])
def test_a_room_brings_what_its_first_draw_imports(room):
    """Under the lock that forks wait for; the draw itself would import it outside."""
    code = f"import sys, shortlist as sl; sl.{room}; assert {{'flint', 'numpy.ma'}} <= set(sys.modules)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
