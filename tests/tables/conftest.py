"""What the tests of the engines share."""

import pytest

from shortlist.tables import file_sources, files


@pytest.fixture(scope="session")
def _database():
    database = file_sources.connect(None)
    database.execute("SET enable_external_file_cache = false")  # tests write other rows to a path within one tick
    yield database
    database.close()


@pytest.fixture(scope="class")  # of a test outside a class: each test anew, but not each example of one
def one_duckdb(_database):
    """One DuckDB for many counts, each with a connection and temporary tables of its own.

    To start one takes ten times as long as to count a few rows.
    """
    with pytest.MonkeyPatch.context() as patched:
        for module in (files, file_sources):
            patched.setattr(module, "connect", lambda _memory: _database.cursor())
        yield
