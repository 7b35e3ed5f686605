"""What the tests of ledgers on a server share."""

import itertools

import pytest

from shortlist import Ledger, PureDP
from tests.helpers.postgres import OWNER
from tests.helpers.proxy import Proxy

numbers = itertools.count(1)


@pytest.fixture
def name():
    """Of a new ledger."""
    return f"s{next(numbers)}"


@pytest.fixture
def url(server, name):
    """The address of a new ledger, for a user."""
    return lambda user=OWNER, **more: server.url("ledgers", name, user, **more)


@pytest.fixture
def ledger(url):
    """Its owner's, let in to whom are anna and ben."""
    made = Ledger(url(), budget=PureDP(4.0))
    made.grant("anna")
    made.grant("ben")
    with made:
        yield made


@pytest.fixture
def proxy(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("p", numbered=True)
    one = Proxy(folder, server)
    yield one
    one.close()


@pytest.fixture
def sql_in(server):
    """In a database: run a statement as a role; the rows, or the error's code."""

    import psycopg

    def of(base):
        def run(user, statement, *parameters):
            with psycopg.connect(host=str(server.folder), dbname=base, user=user, autocommit=True) as line:
                try:
                    cursor = line.execute(statement, parameters or None)
                    return cursor.fetchall() if cursor.description else []
                except psycopg.Error as error:
                    return error.sqlstate

        return run

    return of


@pytest.fixture
def sql(sql_in):
    """The same in the common database."""
    return sql_in("ledgers")


@pytest.fixture
def own_base(server, name):
    return server.base(f"base_{name}")
