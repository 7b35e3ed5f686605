"""Frozen records copied with changes."""

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from shortlist._runtime import replace_fields, set_fields


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    size: int = 3
    parts: tuple[int, ...] = ()


def test_a_changed_copy_is_what_replace_makes_and_stays_frozen():
    record = Record("a", 4, (1, 2))
    copy = replace_fields(record, size=5)
    assert copy == replace(record, size=5)
    assert record == Record("a", 4, (1, 2))
    with pytest.raises((FrozenInstanceError, TypeError)):
        object.__getattribute__(copy, "__setattr__")("size", 6)


def test_a_new_record_is_settled_in_place():
    record = Record("a")
    assert set_fields(record, size=5, parts=(1,)) is record
    assert record == Record("a", 5, (1,))


def test_nothing_is_lost_without_changes():
    record = Record("b", parts=(7,))
    assert replace_fields(record) == record
    assert replace_fields(record) is not record
