"""What all tests share."""

import gc
import os
import random
import shutil
import sys
import tempfile
import tomllib
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, Phase, settings

from shortlist.sampling import entropy
from shortlist.tables import duckdb, files
from tests.helpers import postgres
from tests.helpers.browser import Look
from tests.helpers.interrupting import forget_handled

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COVERED = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["include"]
OF_EXACT_NUMBERS = tuple(
    f"test_{name}"
    for name in (
        "custom_noise", "gaussian_noise", "noise_distributions", "partial_reals", "piecewise_noise", "ranked_subsets",
        "rough_noise", "score_intervals",
    )
)  # fmt: skip

IN_MEMORY = Path("/dev/shm")
ROOM = 2**32
"""Bytes that must be free there; the tests write a small part of them."""


def work_in_memory():
    """Temporary files in memory, where there is room and what is written may be run.

    Ledgers and servers sync what they write. On a disk that is busy, with an installation for example, each such call
    waits long. No test can tell a disk from memory: what a power cut leaves is not tested.
    """
    if "TMPDIR" in os.environ or not os.access(IN_MEMORY, os.W_OK) or shutil.disk_usage(IN_MEMORY).free < ROOM:
        return
    if not os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"], tempfile.tempdir = str(IN_MEMORY), None


work_in_memory()

settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("unshrunk", settings.get_profile("repeatable"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("repeatable")
"""Every run tries the same examples, and no clock decides: a test that passed passes again, on a busy machine too."""


def is_traced(item):
    """Whether coverage looks at a test: at those of what is covered, unless they draw much, and as they are marked.

    They must reach every branch of the noise. Tracing the others would say nothing more, and doubles the time of every
    draw.
    """
    marked = item.get_closest_marker("traced")
    if marked is not None:
        return (*marked.args, True)[0]
    of_noise = item.path.parent == HERE / "sampling" or item.path.name == "test_sampler.py"
    of_numbers = item.path.parent == HERE / "exact" and item.path.name.startswith(OF_EXACT_NUMBERS)
    return (of_noise or of_numbers) and not item.get_closest_marker("sized")


def pytest_configure(config):
    """pytest-cov starts coverage in a worker, and once more with its session: the first is forgotten, and would trace.

    It would look at every test, also where the second pauses, and nobody would ask it what it saw.
    """
    found = coverage_of(config)
    if found is not None and hasattr(config, "workerinput"):
        found.pause()


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    """What is covered is imported while coverage looks; then it waits for the tests that are traced.

    Otherwise it would look at all that is collected, and in the process that hands out the tests at every message.
    """
    found = coverage_of(session.config)
    if found is not None:
        for path in chain.from_iterable(map(HERE.parent.glob, COVERED)):
            name = ".".join(path.relative_to(HERE.parent / "src").with_suffix("").parts)
            import_module(name.removesuffix(".__init__"))
        found.pause()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Nothing that is collected is garbage: the collector of that waits."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Tests have no examples in their docstrings: looking for some takes longer than to find all tests."""
    return [one for one in (yield) if type(one).__name__ != "DoctestModule"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Order the tests: what takes longest goes first, so that no process waits for it in the end.

    Then what needs a browser, so that one process starts one for all; then what is traced, together.
    """
    items.sort(
        key=lambda item: (item.path.name != "test_spark.py", "chromium" not in item.fixturenames, not is_traced(item))
    )


def pytest_collection_finish():
    """What was collected stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    trace(item.config, is_traced(item))


def coverage_of(config):
    """What pytest-cov lets go on or pause, if it is there."""
    return getattr(config.pluginmanager.getplugin("_cov"), "cov_controller", None)


def trace(config, wanted):
    """Let coverage go on, or pause: only where that changes, for it takes longer than many a test."""
    found = coverage_of(config)
    if found is not None and found.started != wanted:
        (found.resume if wanted else found.pause)()


@pytest.fixture(autouse=True)
def repeatable_noise(request, monkeypatch):
    """The secure source draws what follows from the test's name, so that no test fails by chance; see `kernel`."""
    if not request.node.get_closest_marker("kernel"):
        monkeypatch.setattr(entropy, "os", SimpleNamespace(urandom=random.Random(request.node.nodeid).randbytes))


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server of our own, with an owner, two analysts and a database for ledgers."""
    reason = postgres.why_not()
    if reason is not None:
        pytest.skip(reason)
    one = postgres.Server(settings=postgres.QUICK)
    try:
        one.roles()
        one.base("ledgers")
        yield one
    finally:
        one.stop()


@pytest.fixture(scope="session")
def _database():
    database = files.connect(None)
    database.execute("SET enable_external_file_cache = false")  # tests write other rows to a path within one tick
    yield database
    database.close()


@pytest.fixture(scope="class")  # of a test outside a class: each test anew, but not each example of one
def one_duckdb(_database):
    """One DuckDB for many counts, each with a connection and temporary tables of its own.

    To start one takes ten times as long as to count a few rows.
    """
    with pytest.MonkeyPatch.context() as patched:
        for module in (files, duckdb):
            patched.setattr(module, "connect", lambda _memory: _database.cursor())
        yield


@pytest.fixture(autouse=True)
def nothing_is_handled_for_ever(request):
    """No test leaves Python in the belief that it handles an exception: all later ones would carry it along."""

    def look():
        handled = sys.exception()
        forget_handled()  # so that it is told of this test alone; a generator could forget only its own
        assert handled is None

    request.addfinalizer(look)  # noqa: PT021


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real score vectors beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.exists():
        pytest.skip("the folder of real data is not beside the repository")
    return folder


@pytest.fixture(scope="session")
def chromium():
    """One headless Chromium for all tests of this process, with an empty profile and no business of its own."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium):
    """Open pages and collect what went wrong in them: `look(address, width=360, scheme="dark")`."""
    opened = Look(chromium)
    yield opened
    opened.close()
