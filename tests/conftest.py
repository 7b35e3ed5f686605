"""What all tests share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real score vectors beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.exists():
        pytest.skip("the folder of real data is not beside the repository")
    return folder
