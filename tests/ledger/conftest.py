"""What the tests of ledgers share: a place for a new one, in a file and on a server."""

import itertools

import pytest

numbers = itertools.count(1)


@pytest.fixture(params=["file", "server"])
def place(request, tmp_path):
    """Where a new ledger may be made: a path, or the address of its owner. Called again, another place."""

    def another(user=None):
        if request.param == "file":
            return tmp_path / f"{next(numbers)}.db"
        server = request.getfixturevalue("server")
        return server.url("ledgers", f"l{next(numbers)}", **({} if user is None else {"user": user}))

    if request.param == "server":
        request.getfixturevalue("server")
    return another


@pytest.fixture
def path(place):
    """A place for one ledger."""
    return place()
