"""Addresses: a password stays where it is, and nothing that is written into one means something else."""

import dataclasses
import io
import logging
import pickle
import traceback
from urllib.parse import quote

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

import shortlist as sl
from shortlist import Ledger, PureDP
from shortlist.ledger.postgres import Address
from shortlist.privacy import LedgerError
from tests.helpers.terminal import called
from tests.helpers.typed import present

SECRET = "s3cret-word"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://anna@db.example/base?name=q4", "postgresql://anna@db.example/base?name=q4"),
        ("postgres://db.example:5433/base?name=q4", "postgresql://db.example:5433/base?name=q4"),
        (f"postgresql://anna:{SECRET}@db/base?name=q4", "postgresql://anna@db/base?name=q4"),
        (f"postgresql://anna@db/base?password={SECRET}&name=q4", "postgresql://anna@db/base?name=q4"),
        (f"postgresql://db/base?options=-csearch_path%3D{SECRET}&name=q4", "postgresql://db/base?name=q4"),
        (
            f"postgresql://db/base?name=q4&sslpassword={SECRET}&sslmode=require",
            "postgresql://db/base?sslmode=require&name=q4",
        ),
        ("postgresql:///base?host=/run/pg&name=q4", "postgresql:///base?host=%2Frun%2Fpg&name=q4"),
        ("postgresql://a:1,b:2/base?name=q4", "postgresql:///base?host=a%2Cb&port=1%2C2&name=q4"),
        ("postgresql://a%40b@db/my%20base?name=q4", "postgresql://a%40b@db/my%20base?name=q4"),
        ("postgresql:///base?host=/a+b%20c&name=q4", "postgresql:///base?host=%2Fa%2Bb%20c&name=q4"),
    ],
)
def test_an_address_is_shown_without_its_secrets_and_can_be_opened_again(url, shown):
    address = Address.of(url)
    assert str(address) == shown
    assert SECRET not in repr(address) + str(vars(type(address)))
    again = Address.of(shown)
    assert (str(again), again.name) == (shown, "q4")
    assert SECRET.encode() not in pickle.dumps(address) or "options" in url
    if SECRET in url:
        assert SECRET in str(address.login()), "the server is told"


@pytest.mark.parametrize("secret", ["a+b c", "%", "p@ss/w?rd#=&;'\"\\", "🗳é"])
def test_a_password_arrives_as_it_was_written(secret):
    for url in ("anna:{}@db/base?name=q4", "anna@db/base?password={}&name=q4", "anna@db/base?name=q4&password={}"):
        assert Address.of(f"postgresql://{url.format(quote(secret, safe='+'))}").login()["password"] == secret


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://anna:{SECRET}@db/base",
        f"postgresql://db/password={SECRET}?name=q4",
        f"postgresql://anna:{SECRET}@db/base?name=",
        f"postgresql://anna:{SECRET}@db/base?name=a&name=b",
        f"postgresql://anna:{SECRET}@db/base?name=q4'; DROP SCHEMA shortlist; --",
        f"postgresql://anna:{SECRET}@db/base?name=../q4",
        f"postgresql://anna:{SECRET}@db/base?name=q4%00",
        f"postgresql://anna:{SECRET}@db/base?name={'x' * 64}",
        f"postgresql://anna:{SECRET}@db/base?nonsense=1&name=q4",
        f"postgresql://anna:a@{SECRET}@db/base?name=q4",
        f"postgresql://anna:{SECRET}/b@db/base?name=q4",
        f"postgresql://anna:a/{SECRET}@db/base?name=q4",
        f"postgresql://anna:a?{SECRET}@db/base?name=q4",
        f"postgresql://anna:{SECRET}@db/base?name=q4&port=x%zz",
        f"postgresql://anna:{SECRET}@[::1/base?name=q4",
        f"postgresql://anna:{SECRET}%zz@db/base?name=q4",
        f"postgresql://anna:{SECRET}@db/base?name=q4&&",
    ],
)
def test_a_wrong_address_is_refused_without_a_word_of_it(url):
    with pytest.raises(ValueError, match=r"name must be given once|path must be the address") as wrong:
        Ledger(url)
    said = "".join(traceback.format_exception(wrong.value, chain=True)).partition("Error:")[2]
    assert SECRET not in said + repr(wrong.value)
    error: BaseException | None = wrong.value
    while error is not None:
        assert SECRET not in str(error) + repr(error.args)
        error = error.__cause__ or error.__context__
    done = called("ledger", "show", url)
    assert done.returncode == 1
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words", ["ledger show a.db URL", "ledger URL", "URL", "studio URL", "ledger report a.db --out URL"]
)
def test_a_line_that_is_no_command_is_answered_without_the_password_in_it(words):
    done = called(*words.replace("URL", f"postgresql://anna:{SECRET}@db/base?name=q4&password={SECRET}").split())
    assert done.returncode in (1, 2)
    assert "anna:...@" in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_a_password_is_nowhere(server, name, tmp_path):
    """In no repr, receipt, release, report, export, pickle, log or error."""
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    logging.getLogger().addHandler(handler)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        url = server.url("ledgers", name).replace("@", f":{SECRET}@")
        ledger = Ledger(url, budget=PureDP(1.0))
        release = sl.select([9, 1], epsilon=0.5, ledger=ledger, purpose="chart")
        ledger.report(tmp_path / "page.html")
        made = [
            repr(ledger),
            str(ledger),
            ledger.path,
            repr(release),
            str(dataclasses.asdict(present(release.receipt))),
        ]
        made += [release.to_json(), (tmp_path / "page.html").read_text(), (tmp_path / "page.csv").read_text()]
        made += [called("ledger", *words).stdout for words in (("show", url), ("show", url, "--json"), ("export", url))]
        again = called("ledger", "init", url, "--epsilon", "1")
        assert "is there already" in again.stderr
        made += [again.stderr, str(pickle.dumps(ledger)), str(pickle.dumps(release))]
        with pytest.raises(LedgerError) as wrong:
            Ledger(url.replace("name=", "name=not-"))
        made += ["".join(traceback.format_exception(wrong.value)).partition("LedgerError:")[2], heard.getvalue()]
        with pytest.raises(ValueError, match="was fixed") as other:
            Ledger(url, budget=PureDP(2.0))
        made.append(str(other.value))
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(level)
    assert SECRET not in "".join(made)
    assert ledger.name in made[2]


@pytest.mark.parametrize("words", ["'; DROP TABLE shortlist.entries; --", "%s %(x)s", "$1", "\\', \"", "{}", "\x00"])
def test_words_are_words(server, name, words):
    ledger = Ledger(server.url("ledgers", name), budget=PureDP(1.0))
    ledger.charge(PureDP(0.25), purpose=words, mechanism=words, unit=words, source=words)
    entry = ledger.entries()[0]
    assert (entry.purpose, entry.mechanism, entry.unit, entry.source) == (words,) * 4
    for role in (words, "anna; DROP SCHEMA shortlist", 'anna"'):
        with pytest.raises((LedgerError, ValueError), match=r"no such role|role must be"):
            ledger.grant(role)
    assert ledger.verify() == 1
