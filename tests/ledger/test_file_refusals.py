"""What is not as a ledger writes it is refused in words, and never admits more than was left."""

import json
import os
import random
import shutil
import sqlite3
import stat
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from shortlist import BudgetExceeded, Ledger
from shortlist.ledger import chain
from shortlist.ledger.filter import Terms, _largest_rho
from shortlist.privacy import ZCDP, ApproxDP, LedgerError, PureDP
from tests.helpers.support import full_size, sized
from tests.helpers.typed import present
from tests.ledger.test_file import edit
from tests.ledger.test_ledger_golden import FACTS, GOLDEN


@pytest.fixture
def golden(tmp_path):
    return lambda name="pure.db": shutil.copy(GOLDEN / name, tmp_path)


def rechained(path, change):
    """Edit the rows and write all hashes anew, as somebody would who knows how."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute(f"SELECT {', '.join(chain.NAMES)} FROM entries ORDER BY number").fetchall()
        rows = [dict(zip(chain.NAMES, row, strict=True)) for row in found]
        ((content,),) = db.execute("SELECT content FROM terms").fetchall()
    change(rows)
    head = chain.digest(content)
    for row in rows:
        texts = [str(value) if isinstance(value, bytes) else value for value in row.values()]
        row["hash"] = head = chain.digest(head, *texts[:-1])
    edit(path, "DELETE FROM entries")
    with closing(sqlite3.connect(path)) as db:
        for row in rows:
            db.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(row))})", list(row.values()))
        db.commit()


# Terms


def with_terms(path, change):
    """Rewrite the terms of an empty ledger."""
    with closing(sqlite3.connect(path)) as db:
        content = json.loads(db.execute("SELECT content FROM terms").fetchone()[0])
    change(content)
    text = json.dumps(content).replace("'", "''")
    edit(path, f"UPDATE terms SET content = '{text}'")


@pytest.mark.parametrize("name", ["pure-empty.db", "zcdp-empty.db", "split-empty.db", "order-empty.db"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_limit_above_its_budget_is_refused_although_the_ledger_is_empty(golden, name, place):
    path = golden(name)
    limit = FACTS[name]["limits"][place]
    above = Fraction(limit or 0) * (1 + Fraction(1, 2**50)) or Fraction(1, 10**9)
    with_terms(path, lambda content: content["limits"].__setitem__(place, str(above)))
    with pytest.raises(LedgerError, match="admit more than its budget"):
        Ledger(path)


@pytest.mark.parametrize("name", ["pure-empty.db", "zcdp-empty.db", "split-empty.db", "order-empty.db"])
def test_a_lower_limit_stays_as_stored(golden, name):
    path = golden(name)
    lower = [None if one is None else str(Fraction(one) / 2) for one in FACTS[name]["limits"]]
    with_terms(path, lambda content: content.update(limits=lower))
    assert list(Ledger(path).terms.limits.as_text()) == lower


def test_a_limit_is_certified_where_another_machine_found_some_bits_more():
    for epsilon, delta, split in ((3.0, 1e-6, 0.75), (0.1, 1e-9, 0.5), (1.0, 0.05, 1.0), (20.0, 1e-12, 0.1)):
        terms = Terms.of(ApproxDP(epsilon, delta), split, None)
        stored, most = present(terms.limits.curve), _largest_rho(epsilon, Fraction(split) * Fraction(delta))
        assert stored < most < stored * (1 + Fraction(1, 2**50)), "two last bits at most"
        Terms.from_json(json.loads(json.dumps(terms.as_json())))
        terms._check_limits(replace(terms.limits, curve=most))
        with pytest.raises(ValueError, match="limits"):
            terms._check_limits(replace(terms.limits, curve=most * (1 + Fraction(1, 10**20))))


def test_what_is_made_for_any_budget_can_be_read_back():
    draw, made = random.Random(5), 0
    for _ in range(200):
        budget = ApproxDP(10 ** draw.uniform(-200, 200), 10 ** draw.uniform(-300, -0.01))
        order = draw.choice([None, 1 + 10 ** draw.uniform(-6, 6)])
        try:
            terms = Terms.of(budget, draw.choice([None, 0.0, 1.0, draw.random()]), order)
        except ValueError:  # an order that admits nothing
            continue
        made += 1
        assert Terms.from_json(json.loads(json.dumps(terms.as_json()))) == terms
    assert made > 100


@pytest.mark.parametrize(("epsilon", "delta"), [(3.0, 5e-7), (0.1, 1e-9), (20.0, 1e-12), (1.0, 0.05)])
def test_the_certified_rho_keeps_the_budget_by_interval_arithmetic(epsilon, delta):
    """Some order shows it, and none shows a hair more."""
    from flint import arb, ctx

    before, ctx.prec = ctx.prec, 400
    try:
        rho = _largest_rho(epsilon, Fraction(delta))
        found = arb(rho.numerator) / rho.denominator
        more = found * (1 + arb(10) ** -20)

        def log_delta(rho, less):
            order = 1 + less
            return less * (order * rho - epsilon) + order * (1 - 1 / order).log() - less.log()

        low, high, golden = arb("1e-3"), arb("1e6"), (arb(5).sqrt() - 1) / 2
        for _ in range(250):
            first, second = (high - golden * (high - low)).mid(), (low + golden * (high - low)).mid()
            low, high = (low, second) if log_delta(found, first) < log_delta(found, second) else (first, high)
        assert log_delta(found, low) < arb(delta).log()
        assert log_delta(more, low) > arb(delta).log()
    finally:
        ctx.prec = before


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(split=2.0),
        lambda content: content.update(split=None),
        lambda content: content.update(order=0.5),
        lambda content: content.update(order=float("nan")),
        lambda content: content.update(limits=["3", "inf", "0"]),
        lambda content: content.update(limits=["3", "1e999999999", "0"]),
        lambda content: content.update(limits=["3", "-1", "0"]),
        lambda content: content.update(limits=["3", "0.1", "0"]),
        lambda content: content.update(limits=["3/0", None, "0"]),
        lambda content: content.update(limits=["٣", None, "0"]),
        lambda content: content.update(limits=["1" * 10**4, None, "0"]),
        lambda content: content.update(limits=[3, None, 0]),
        lambda content: content.update(limits=None),
        lambda content: content.update(budget={"kind": "PureDP", "epsilon": float("inf")}),
        lambda content: content.update(budget={"kind": "PureDP", "epsilon": "3"}),
        lambda content: content.update(budget={"kind": "Terms"}),
        lambda content: content.update(budget=[1]),
        lambda content: content.clear(),
        lambda content: content.update(id="x" * 10**6),
    ],
)
def test_terms_that_no_ledger_writes_are_refused(golden, change):
    path = golden("split-empty.db")
    with_terms(path, change)
    with pytest.raises(LedgerError, match="its terms cannot be read"):
        Ledger(path)


@pytest.mark.parametrize("content", ["[" * 90_000, "null", "3", '"', "", "{'a': 1}"])
def test_terms_that_are_no_json_object_are_refused(golden, content):
    path = golden("pure-empty.db")
    edit(path, "UPDATE terms SET content = '{}'".format(content.replace("'", "''")))
    with pytest.raises(LedgerError, match="its terms cannot be read"):
        Ledger(path)


def test_edited_terms_are_found_by_the_first_entry(golden):
    path = golden()
    edit(path, "UPDATE terms SET content = replace(replace(content, '3.0', '9.0'), '\"3\"', '\"9\"')")
    with pytest.raises(LedgerError, match="entry 1 does not follow"):
        Ledger(path)


# The database


@pytest.mark.parametrize("version", [0, -5, 8, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("upgraded", [False, True])
def test_versions_are_checked_exactly(golden, version, upgraded):
    path = golden()
    if upgraded:
        Ledger(path).charge(PureDP(0.01))
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError, match="newer version" if version > 7 else "version number"):
        Ledger(path)


def test_a_number_that_says_closed_is_found_by_the_entries(golden):
    path = golden()
    Ledger(path).charge(PureDP(0.01))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(LedgerError, match="whether it was closed"):
        Ledger(path)


def test_a_number_of_the_other_version_is_found_by_the_tables(golden):
    old, new = golden("pure.db"), golden("zcdp.db")
    Ledger(new).charge(PureDP(0.01))
    for path, right, wrong in ((old, 1, 2), (new, 6, 1)):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (right,)
            db.execute(f"PRAGMA user_version = {wrong}")
        with pytest.raises(LedgerError, match="its tables are not as they were made"):
            Ledger(path)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE notes (text TEXT)"],
        ["CREATE VIEW later AS SELECT * FROM entries"],
        ["CREATE INDEX by_purpose ON entries (purpose)"],
        ["CREATE TRIGGER forget AFTER INSERT ON entries BEGIN UPDATE terms SET content = ''; END"],
        ["DROP TRIGGER entries_stay"],
        ["ALTER TABLE entries ADD COLUMN more AS (number + 1)"],
        ["ALTER TABLE entries RENAME TO old", "CREATE VIEW entries AS SELECT * FROM old WHERE number < 3"],
        ["ALTER TABLE entries RENAME TO old", "CREATE TABLE entries (number INTEGER PRIMARY KEY) WITHOUT ROWID"],
        ["PRAGMA auto_vacuum = 1", "VACUUM"],
        ["PRAGMA journal_mode = WAL"],
    ],
)
def test_a_database_with_tricks_is_refused(golden, statements):
    path = golden()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
    with pytest.raises(LedgerError, match=r"damaged or was edited: its (tables|auto_vacuum|journal_mode)"):
        Ledger(path)
    assert sorted(os.listdir(os.path.dirname(path))) == ["pure.db"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("purpose", b"blob"),
        ("purpose", 3),
        ("kind", "gift"),
        ("kind", "refund"),
        ("refundable", "everything"),
        ("refund_of", 2),
        ("refund_of", "x"),
        ("epsilon", "inf"),
        ("epsilon", "nan"),
        ("epsilon", "-1"),
        ("epsilon", "1e9"),
        ("epsilon", "1" * 10**6),
        ("epsilon", "1/0"),
        ("epsilon", "0"),
        ("total_epsilon", "0"),
        ("total_epsilon", "-1"),
        ("total_epsilon", "nan"),
        ("total_epsilon", None),
        ("total_curve", "0"),
        ("total_delta", "1"),
        ("number", 2**62),
        ("number", -1),
    ],
)
def test_a_last_row_that_no_ledger_writes_is_refused_although_its_chain_is_whole(golden, column, value):
    path = golden()
    rechained(path, lambda rows: rows[-1].update({column: value}))
    with pytest.raises(LedgerError):
        Ledger(path)


def test_text_that_is_not_unicode_is_refused(golden):
    path = golden()
    edit(path, "UPDATE entries SET purpose = CAST(X'FF00FE' AS TEXT) WHERE number = 10")
    with pytest.raises(LedgerError):
        Ledger(path)


def test_rows_that_are_too_long_are_refused(golden, monkeypatch):
    monkeypatch.setattr("shortlist.ledger.sqlite.LONGEST_ROW", 100_000)
    path = golden()
    edit(path, "UPDATE entries SET purpose = hex(zeroblob(100000)) WHERE number = 10")
    with pytest.raises(LedgerError):
        Ledger(path)


def test_an_index_that_hides_a_refund_or_a_row_admits_nothing(golden):
    path = golden()
    ledger = Ledger(path)
    reservation = ledger.reserve(PureDP(0.5), refundable=("pure",))
    reservation.refund(PureDP(0.25))
    content = bytearray(Path(path).read_bytes())
    page = 3 * 4096  # the fourth page is the index's
    assert content[page] == 10, "a leaf of an index"
    for cells in (content[page + 4] - 1, content[page + 4] - 2):
        Path(path).write_bytes(content[: page + 4] + bytes([cells]) + content[page + 5 :])
        with pytest.raises(LedgerError, match="entries are missing"):
            reservation.refund(PureDP(0.1))


# Bytes


def never_admits_more(path, name, spot):
    """A damaged file is refused, found, or as strict as before."""
    facts = FACTS[name]
    try:
        ledger = Ledger(path, wait=0.0)
        for found, before in zip(_numbers(ledger.remaining), facts["remaining"], strict=True):
            assert found is None or (before is not None and found <= before), spot
        with suppress(BudgetExceeded):
            ledger.charge(PureDP(0.001))
        ledger.entries()
        ledger.verify()
    except LedgerError as error:
        return str(error).count("\n") == 0
    assert not facts["entries"] or facts["head"] in [entry.hash for entry in ledger.entries()], "nothing that is read"
    return False


def _numbers(balance):
    return [balance.epsilon, balance.rho, balance.renyi, balance.delta]


def flipped(path, name, spots, flip):
    """How many flips were refused or found."""
    good = (GOLDEN / name).read_bytes()
    found = 0
    for spot in spots:
        content = bytearray(good)
        content[spot] ^= flip(spot)
        Path(path).write_bytes(content)
        for left in (f"{path}-journal", f"{path}-wal", f"{path}-shm"):
            Path(left).unlink(missing_ok=True)
        found += never_admits_more(path, name, spot)
    return found


@pytest.fixture
def unsynced(monkeypatch):
    from shortlist.ledger import sqlite as ledger_turn

    monkeypatch.setattr(ledger_turn, "SETTINGS", ("synchronous = OFF", *ledger_turn.SETTINGS[1:]))


@full_size
@pytest.mark.parametrize("name", ["pure.db", "order.db", "split-empty.db", "zcdp.db"])
def test_a_flipped_byte_ends_in_a_ledger_error_and_never_admits_more(tmp_path, unsynced, name):
    draw = random.Random(name)
    used = [spot for spot, byte in enumerate((GOLDEN / name).read_bytes()) if byte]
    spots = sorted(draw.sample(used, sized(120, full=400)) + draw.sample(range(16384), sized(30, full=100)))
    assert flipped(tmp_path / "budget.db", name, spots, lambda _: draw.randrange(1, 256)) > len(spots) // 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["split.db", "pure-empty.db"])
def test_every_byte_flipped(tmp_path, unsynced, name):
    draw = random.Random(name)
    found = flipped(tmp_path / "budget.db", name, range(16384), lambda _: draw.randrange(1, 256))
    print(f"{name}: {found} of 16,384 flips were refused or found, none of the others admitted more")


def test_a_file_cut_anywhere_is_refused(tmp_path, unsynced):
    good, path = (GOLDEN / "pure.db").read_bytes(), tmp_path / "budget.db"
    for length in [*range(0, 200, 7), *range(200, len(good), 509), len(good) - 1]:
        path.write_bytes(good[:length])
        with pytest.raises(LedgerError):
            Ledger(path).verify()


# Refunds, entries, paths


def test_a_refund_is_decided_by_the_stored_row(golden):
    ledger = Ledger(golden())
    spent = present(ledger.spent.epsilon)
    kept, other = ledger.reserve(PureDP(0.5)), ledger.reserve(PureDP(0.25), refundable=("pure",))
    with pytest.raises(AttributeError):
        kept.number = other.number  # type: ignore[misc]
    kept.refund(PureDP(0.1))
    assert ledger.spent.epsilon == pytest.approx(spent + 0.75), "what is not refundable in the file stays"
    object.__setattr__(kept, "number", other.number)
    with pytest.raises(ValueError, match="not in the ledger"):
        kept.refund(PureDP(0.1))
    assert ledger.verify() == 12


def test_a_refund_that_would_keep_a_larger_delta_than_was_reserved_is_refused(golden):
    ledger = Ledger(golden("split-empty.db"))
    reservation = ledger.reserve(ApproxDP(0.5, 1e-8), refundable=("pure", "zcdp"))
    with pytest.raises(ValueError, match="kept must not be more than was reserved"):
        reservation.refund(ApproxDP(0.25, 2e-8))
    reservation.refund(ApproxDP(0.25, 1e-8))
    assert (ledger.spent.epsilon, ledger.spent.delta) == (0.25, 1e-8)


@pytest.mark.parametrize("last", ["x", -1, 2.0, True, [], float("nan")])
def test_entries_asks_for_a_whole_number(golden, last):
    with pytest.raises(ValueError, match="last must be a whole number"):
        Ledger(golden()).entries(last=last)


def test_entries_may_be_asked_for_any_number(golden):
    ledger = Ledger(golden())
    assert [len(ledger.entries(last=last)) for last in (0, 1, 10, 2**63, 10**100)] == [0, 1, 10, 10, 10]


@pytest.mark.parametrize(("name", "most"), [("purpose", 10_000), ("unit", 1_000), ("mechanism", 1_000_000)])
def test_texts_have_a_longest_length(golden, name, most):
    ledger = Ledger(golden())
    ledger.charge(PureDP(0.01), **{name: "ü" * most})
    with pytest.raises(ValueError, match=f"{name} must be at most {most:,}"):
        ledger.charge(PureDP(0.01), **{name: "ü" * (most + 1)})
    assert ledger.verify() == 11


def test_opening_never_makes_a_ledger(tmp_path, golden):
    with pytest.raises(LedgerError, match="is not there"):
        Ledger.open(tmp_path / "nowhere.db", budget=PureDP(3.0))
    assert not list(tmp_path.iterdir())
    path = golden()
    assert Ledger.open(path, budget=PureDP(3.0)).verify() == 10
    for other in ({"budget": ZCDP(1.0)}, {"split": 0.5}):
        with pytest.raises(ValueError, match="was fixed as"):
            Ledger.open(path, **other)


@pytest.mark.parametrize("path", ["", "a\0b", b"budget.db", 3, None])
def test_a_path_is_the_name_of_a_file(path):
    with pytest.raises((TypeError, ValueError), match="path must be"):
        Ledger(path, budget=PureDP(1.0))


def test_a_new_ledger_is_its_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        Ledger(tmp_path / "budget.db", budget=PureDP(1.0)).charge(PureDP(0.5))
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "budget.db").st_mode) == 0o600


def test_a_link_to_a_ledger_is_the_ledger(tmp_path, golden):
    path = golden()
    (tmp_path / "link.db").symlink_to(path)
    Ledger(tmp_path / "link.db").charge(PureDP(0.5))
    assert Ledger(path).verify() == 11
    assert sorted(os.listdir(tmp_path)) == ["link.db", "pure.db"]
