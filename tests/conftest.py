"""What all tests share."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

from shortlist.noise import entropy

HERE = Path(__file__).parent

settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
"""Every run tries the same examples, and no clock decides: a test that passed passes again, on a busy machine too."""


def pytest_collection_modifyitems(items):
    """What takes longest goes first, so that no process waits for it in the end; only tests of the noise are traced.

    The tests of the noise, without those that draw for a law, must reach every branch of it. Tracing the others would
    say nothing more, and doubles the time of every draw.
    """
    items.sort(key=lambda item: item.path.name != "test_spark.py")
    for item in items:
        if HERE / "noise" not in item.path.parents or item.get_closest_marker("sized"):
            item.add_marker("no_cover")


@pytest.fixture(autouse=True)
def repeatable_noise(request, monkeypatch):
    """The secure source draws what follows from the test's name, so that no test fails by chance; see `kernel`."""
    if not request.node.get_closest_marker("kernel"):
        monkeypatch.setattr(entropy, "os", SimpleNamespace(urandom=random.Random(request.node.nodeid).randbytes))


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real score vectors beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.exists():
        pytest.skip("the folder of real data is not beside the repository")
    return folder
