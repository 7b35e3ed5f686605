"""An approval covers everything that changes what is counted or released: every word of the calls is walked."""

import inspect
import os
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist.ledger.chain import WORDS
from shortlist.ledger.sqlite import SqliteStore
from shortlist.privacy import ZCDP, ApprovalNeeded, ApproxDP
from shortlist.query import options_of

ROWS = pl.DataFrame(
    {
        "who": [f"u{n}" for n in range(40)],
        "other": [f"v{n}" for n in range(40)],
        "what": [("tea", "milk")[n % 2] for n in range(40)],
        "thing": [("tea", "milk")[n % 2] for n in range(40)],
        "land": [("CH", "DE")[n % 2] for n in range(40)],
        "town": [("CH", "DE")[n % 2] for n in range(40)],
        "age": [str(n) for n in range(40)],
        "size": [str(n) for n in range(40)],
    }
)
KNOWN = ["milk", "tea", "water", "wine"]
NOTHING = {"memory", "allow_large", "progress", "ledger"}
"""Words that change nothing of what is counted or released: how much memory, no warning, who is told, who pays."""
MEANING = {"labels"}
"""What numbers mean that were given as numbers, nobody approves: docs/ledger.md says so."""

TABLE: dict[str, Any] = {"scores": "a/rows.csv", "k": 2, "user": "who", "item": "what", "epsilon": 1.0}
LIST: dict[str, Any] = {**TABLE, "candidates": KNOWN}
DATA: dict[str, Any] = {**TABLE, "delta": 1e-6}
SUMS = {**LIST, "value": "age", "clip": (0, 5)}
LANDS = {**LIST, "by": "land", "groups": ["CH", "DE"]}
PLAIN: dict[str, Any] = {"scores": [9, 5, 1], "k": 1, "epsilon": 1.0}
TOP: dict[str, list[tuple[dict[str, Any], Any]]] = {
    "scores": [(LIST, "b/rows.csv"), (LIST, "a/more.csv"), (LIST, ROWS), (LANDS, "b/rows.csv")],
    "k": [(LIST, 1), (LANDS, 1), (LANDS, {"CH": 1, "DE": 2})],
    "parallel": [({**PLAIN, "scores": [[9, 5, 1], [8, 5, 1]]}, True)],
    "epsilon": [(LIST, 0.5), (LANDS, 0.5)],
    "delta": [(DATA, 1e-7)],
    "budget": [({**LIST, "epsilon": None, "budget": ZCDP(0.1)}, ZCDP(0.2))],
    "method": [(LIST, "oneshot-gumbel")],
    "ordered": [(LIST, True), ({**LIST, "method": "oneshot-gumbel"}, True), (LANDS, True),
                ({**LANDS, "method": "oneshot-gumbel"}, True)],
    "values": [(LIST, True), (LANDS, True)],
    "gaps": [(LIST, True)],
    "limit": [({**DATA, "method": "limited-domain"}, 7)],
    "at_least": [({**LIST, "values": True}, 3.0), ({**LANDS, "values": True}, 3.0),
                 ({**LIST, "values": True, "at_least": 2.0}, 3.0)],
    "largest": [(LIST, False), (LANDS, False), (PLAIN, False)],
    "rng": [(LIST, sl.testing.seeded(1)), (LANDS, sl.testing.seeded(1)), (PLAIN, sl.testing.seeded(1))],
    "purpose": [(LIST, "another")],
    "sensitivity": [(PLAIN, 2.0), (PLAIN, (1.0, 0.0)), ({**PLAIN, "scores": [[9, 5, 1], [8, 5, 1]]}, 2.0)],
    "monotone": [(PLAIN, True)],
    "neighbours": [(PLAIN, "replace")],
    "public": [({**PLAIN, "scores": {"ada": 9, "bob": 5}, "delta": 1e-6, "monotone": True}, True)],
    "unit": [(LIST, "household"), (LANDS, "household"), (PLAIN, "household")],
    "user": [(LIST, "other"), (LANDS, "other")],
    "item": [(LIST, "thing"), (LANDS, "thing")],
    "candidates": [(LIST, [*KNOWN, "rum"]), (LIST, "known.txt"), (LIST, pl.DataFrame({"what": ["tea", "rum"]})),
                   (LANDS, [*KNOWN, "rum"]), (LANDS, {"CH": KNOWN, "DE": ["tea", "rum"]}),
                   ({**LANDS, "candidates": {"CH": KNOWN, "DE": ["tea", "rum"]}}, {"CH": KNOWN, "DE": ["tea", "gin"]})],
    "value": [(SUMS, "size")],
    "clip": [(SUMS, (0, 6))],
    "most": [(LIST, 1), (DATA, 1), (LANDS, 1)],
    "where": [(LIST, "land = 'CH'"), (LANDS, "age = '3'")],
    "by": [(LANDS, "town")],
    "groups": [(LANDS, ["CH", "FR"])],
    "groups_per_user": [(LANDS, 2)],
    "multiline": [(LIST, True), (LANDS, True)],
    "separator": [(LIST, ";"), (LANDS, ";")],
}  # fmt: skip
NAMES: dict[str, Any] = {"rows": "a/rows.csv", "user": "who", "item": "what", "epsilon": 1.0, "delta": 1e-6}
KEYS: dict[str, list[tuple[dict[str, Any], Any]]] = {
    "rows": [(NAMES, "b/rows.csv"), (NAMES, ROWS)], "user": [(NAMES, "other")], "item": [(NAMES, "thing")],
    "most": [(NAMES, 3)], "where": [(NAMES, "land = 'CH'")], "epsilon": [(NAMES, 0.5)], "delta": [(NAMES, 1e-7)],
    "budget": [({**NAMES, "epsilon": None, "delta": None, "budget": ZCDP(0.1, 1e-6)}, ZCDP(0.2, 1e-6))],
    "weighted": [({**NAMES, "most": 3}, True)], "values": [(NAMES, False)], "at_least": [(NAMES, 20.0)],
    "unit": [(NAMES, "household")], "multiline": [(NAMES, True)], "separator": [(NAMES, ";")],
    "rng": [(NAMES, sl.testing.seeded(1))], "purpose": [(NAMES, "another")],
}  # fmt: skip
AGES: dict[str, Any] = {"rows": "a/rows.csv", "user": "who", "value": "age", "lower": 0, "upper": 99, "epsilon": 1.0}
GROUPED = {**AGES, "by": "land", "groups": ["CH", "DE"]}
QUANTILE: dict[str, list[tuple[dict[str, Any], Any]]] = {
    "rows": [(AGES, "b/rows.csv"), (GROUPED, "b/rows.csv")], "user": [(AGES, "other"), (AGES, None)],
    "value": [(AGES, "size")], "q": [(AGES, 0.25), (GROUPED, [0.25, 0.5])], "lower": [(AGES, 1)], "upper": [(AGES, 98)],
    "step": [(AGES, 3)], "per_user": [(AGES, "max"), (GROUPED, "max")], "epsilon": [(AGES, 0.5)],
    "delta": [(AGES, 1e-7)], "budget": [({**AGES, "epsilon": None, "budget": ZCDP(0.1)}, ZCDP(0.2))],
    "method": [(AGES, "exponential")], "by": [(GROUPED, "town")], "groups": [(GROUPED, ["CH", "FR"])],
    "groups_per_user": [(GROUPED, 2)], "unit": [(AGES, "household")], "multiline": [(AGES, True)],
    "separator": [(AGES, ";"), (GROUPED, ";")], "rng": [(AGES, sl.testing.seeded(1))], "purpose": [(AGES, "another")],
}  # fmt: skip
CALLS: dict[str, tuple[Any, dict[str, list[tuple[dict[str, Any], Any]]]]] = {
    "top_k": (sl.top_k, TOP), "keys": (sl.keys, KEYS), "quantile": (sl.quantile, QUANTILE),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("approved")
    for place in ("a", "b"):
        (home / place).mkdir()
        ROWS.write_csv(home / place / "rows.csv")
        ROWS.write_csv(home / place / "more.csv")
    (home / "known.txt").write_text("tea\nrum\n")
    return home


@pytest.fixture(scope="module")
def asks(folder):
    """The number of the request that a call makes: the same for the same words that an approval is looked for by."""
    seen: dict[Any, int] = {}

    def charge(self, offers):
        cost, said = offers[0]
        raise ApprovalNeeded(self.path, seen.setdefault((cost, *(said[word] for word in WORDS)), len(seen)))

    def ask(call, words):
        with pytest.raises(ApprovalNeeded) as waits:
            call(**words, ledger=ledger)
        return waits.value.request

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(SqliteStore, "charge", charge)  # nothing is written: there are hundreds of them
        ledger = sl.Ledger(folder / "year.db", budget=ApproxDP(20.0, 1e-3), approval=True)
        yield ask


@pytest.fixture(scope="module")
def before(asks):
    """The same of a call that is asked as it was before."""
    known: dict[Any, int] = {}

    def ask(call, words):
        key = call, repr(words)
        return known[key] if key in known else known.setdefault(key, asks(call, words))

    return ask


@pytest.mark.parametrize("name", CALLS)
def test_every_word_of_a_call_is_walked_or_said_to_change_nothing(name):
    call, walked = CALLS[name]
    source = next(iter(inspect.signature(call).parameters))
    assert {source, *(one.name for one in options_of(name))} - NOTHING - MEANING == walked.keys()


def test_select_has_no_word_of_its_own_and_the_same_way(asks):
    assert inspect.signature(sl.select).parameters.keys() <= inspect.signature(sl.top_k).parameters.keys()
    asked = {name: word for name, word in LIST.items() if name != "k"}
    assert len({asks(sl.select, asked), asks(sl.select, {**asked, "candidates": KNOWN[1:]}), asks(sl.top_k, LIST)}) == 3


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, (_, walked) in CALLS.items() for word in walked])
def test_whoever_changes_a_word_asks_for_another_approval(name, word, asks, before, folder):
    call, walked = CALLS[name]
    for base, new in walked[word]:
        first = before(call, base)
        if word == "separator":  # the file is written anew, for it must have the columns
            ROWS.write_csv(folder / "a" / "rows.csv", separator=new)
        assert asks(call, {**base, word: new}) != first, (base, new)
        ROWS.write_csv(folder / "a" / "rows.csv")


def test_what_changes_nothing_asks_for_nothing_new(asks, folder):
    first = asks(sl.top_k, LIST)
    for call, base in ((sl.top_k, LIST), (sl.top_k, LANDS), (sl.top_k, PLAIN), (sl.keys, NAMES), (sl.quantile, AGES)):
        assert asks(call, base) == asks(call, base), "the same is not asked twice"
    other = {"memory": "512MB", "progress": print, "allow_large": True, "candidates": KNOWN[::-1]}
    for change in ({word: said} for word, said in other.items()):
        assert asks(sl.top_k, {**LIST, **change}) == first
    assert asks(sl.top_k, {**LIST, "scores": os.path.join(folder, "a", "rows.csv")}) == first, "the same file"
