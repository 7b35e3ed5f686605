"""A label is released as itself: nothing hangs on it, it compares as what it is, and it keeps no rank."""

import copy
import dataclasses
import datetime
import enum
import gc
import pickle
from collections import Counter
from itertools import permutations
from typing import Any

import pytest

import shortlist as sl
from shortlist._arrays import Frame
from shortlist.release import by_label
from tests.helpers.inside import SECURE

UTC = datetime.UTC
NOON = datetime.datetime(2024, 1, 31, 12)


def released(label):
    return sl.top_k({label: 900, "other": 1}, k=1, epsilon=50.0, monotone=True, public=True, ordered=True)


class Cut(str):
    """A text that knows what it was cut from, as those of parsers do."""

    __slots__ = ("parent",)

    def __str__(self):
        return "another text"


class Number(int):
    pass


class Share(float):
    pass


class Raw(bytes):
    pass


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(("kind", "value"), [(Cut, "tea"), (Number, 7), (Share, 0.5), (Raw, b"tea")])
def test_a_label_of_a_class_of_its_own_leaves_what_hangs_on_it_behind(kind, value):
    label = kind(value)
    label.parent = ["SECRET"]
    release = released(label)
    assert release.items == [value]
    assert type(release.items[0]) is type(value)
    assert b"SECRET" not in pickle.dumps(release)
    nested = released(("x", label)).items[0]
    assert [type(part) for part in nested] == [str, type(value)]
    assert not any(label is part for part in gc.get_referents(nested))


def test_a_constant_of_a_program_stays_one():
    assert released(Colour.RED).items[0] is Colour.RED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (frozenset({1}), frozenset({True})),
        ((1, frozenset({(2,)})), (1, frozenset({(2.0,)}))),
        (0.0, -0.0),
        (NOON.replace(tzinfo=UTC), NOON.replace(hour=13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))),
        (NOON, NOON.replace(fold=1)),
    ],
)
def test_labels_that_compare_equal_and_are_not_the_same_make_different_releases(one, other):
    assert one == other
    assert released(one) != released(other)
    assert released(one) == released(one)


def test_a_label_with_nan_is_the_same_after_a_pickle():
    release = released((float("nan"), 1))
    for again in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert again == release
        assert hash(again) == hash(release)


@pytest.mark.parametrize(("offset", "name"), [(0, "Zulu"), (1, "CET")])
def test_a_time_in_a_zone_with_a_name_is_refused_by_json_not_changed(offset, name):
    zone = datetime.timezone(datetime.timedelta(hours=offset), name)
    with pytest.raises(ValueError, match="zone by name"):
        released(NOON.replace(tzinfo=zone)).to_json()


class Lazy:
    """A label that gets its text when it is first asked for it."""

    made = 0

    def __init__(self):
        self.text = None

    def __str__(self):
        if self.text is None:
            Lazy.made += 1
            self.text = f"{Lazy.made:09}"
        return self.text


class Bare:
    """A label that reads as its address."""


@pytest.mark.parametrize("kind", [Lazy, Bare])
def test_labels_whose_text_depends_on_when_they_were_made_or_asked_come_in_any_order(kind):
    """Six orders, 600 draws from each rank order: one that never comes has a chance of (5/6)^600 < 1e-47."""
    for ranks in permutations(range(3)):
        found: Counter[Any] = Counter()
        for _ in range(600):
            items = [kind() for _ in range(3)]
            found[tuple(by_label([items[i] for i in ranks], None, SECURE))] += 1
        assert len(found) == 6


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("label", [("tea", 3), 2**70, frozenset({1})])
def test_a_label_that_a_frame_has_no_type_for_makes_a_frame_all_the_same(library, label):
    frame = dataclasses.replace(released(label), frame=Frame(library)).to_frame()
    (shown,) = frame["item"].to_pylist() if library == "pyarrow" else frame["item"].to_list()
    assert shown in (label, str(label))
