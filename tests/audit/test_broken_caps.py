"""Caps that look at others' rows move more than one person may; on the same tables the cap as it is does not."""

import dataclasses

import pytest

from shortlist.privacy import ZCDP, ApproxDP
from studies.broken import CATALOGUE, caps, catch, keys
from studies.broken.caps import NEW, OTHERS, capped, own_rows

TABLES = {
    "cap, row numbers without an order": (OTHERS, NEW, 4),
    "cap, one stream of random numbers": (OTHERS, NEW, 4),
    "cap, most popular first": ([(f"p{n}", one) for n in range(100) for one in "ab"], [("new", "b")], 1),
    "cap, ranks within a batch": ((), [("new", f"label {n}") for n in range(24)], 4),
}


def test_every_broken_cap_is_in_the_catalogue():
    assert all(entry in CATALOGUE for entry in caps.ENTRIES)
    assert set(TABLES) <= {entry.name for entry in caps.ENTRIES}


@pytest.mark.parametrize("name", TABLES)
def test_a_cap_by_own_rows_alone_is_not_convicted(name):
    entry = next(one for one in caps.ENTRIES if one.name == name)
    assert not catch(dataclasses.replace(entry, law=capped(own_rows, *TABLES[name])), seed=1).by


def test_weights_rounded_down_are_not_convicted():
    entry = caps.ENTRIES[-1]
    assert not catch(dataclasses.replace(entry, law=keys.person(6, 0, 6 / 16, keys.SIGMA, 30.0)), seed=1).by


def test_shared_noise_and_a_shared_delta_are_not_convicted():
    named = {entry.name: entry for entry in keys.ENTRIES}
    shared = dataclasses.replace(
        named["keys, geometric noise of one label for two"],
        law=lambda x: keys.geometric_law(x, 1, 4),
        claim=ApproxDP(2.0, 0.02),
    )
    assert not catch(shared, seed=1).by
    bar = 1.0 + keys.USERS * keys._z(2, 0.01)
    both = dataclasses.replace(named["keys, one delta for two sets"], law=keys.person(2, 2, 1.0, keys.USERS, bar))
    assert not catch(both, seed=1).by


def test_a_key_set_with_its_delta_and_its_own_bar_is_not_convicted():
    named = {entry.name: entry for entry in keys.ENTRIES}
    noise = named["keys, booked by the noise alone"]
    assert not catch(dataclasses.replace(noise, claim=ZCDP(0.5 / keys.SIGMA**2, keys.TINY)), seed=1).by
    own = keys.person(1, 1, 1.0, keys.SIGMA, 1.0 + keys.SIGMA * keys._z(1, keys.TINY))
    assert not catch(dataclasses.replace(named["keys, a second look at the same sums"], law=own), seed=1).by
