"""Exact laws to 1e-12 and seeded releases bit for bit, as they were recorded before the code moved (tests/recorded)."""

import json

import pytest

from tests.recorded.record import RECORDED, TOLERANCE, merge, near, path


def differences(one, other, tolerance, place=""):
    """Where they differ, in words; numbers only by more than the tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        missing = set(one) ^ set(other)
        inner = [
            found
            for key in set(one) & set(other)
            for found in differences(one[key], other[key], tolerance, f"{place} {key}")
        ]
        return [f"{place}: {sorted(missing)} on one side only"] * bool(missing) + inner
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            found
            for n, (a, b) in enumerate(zip(one, other, strict=True))
            for found in differences(a, b, tolerance, f"{place} [{n}]")
        ]
    return [] if near(one, other, tolerance) else [f"{place}: {one} {other}"]


MARKS = {"laws": pytest.mark.long, "releases": pytest.mark.newest}
"""Frames of releases are recorded with the types of pandas 3."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in RECORDED])
def test_it_is_as_it_was_recorded(name):
    recorded = json.loads(path(name).read_text())
    now = json.loads(json.dumps(RECORDED[name]()))
    assert differences(recorded, now, TOLERANCE[name]) == []


def test_a_difference_would_be_seen():
    assert differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-9]}, 1e-12)
    assert differences({"a": 1.0}, {"a": 1}, 0)
    assert differences({"a": 1}, {}, 0)


def test_a_number_within_its_tolerance_is_recorded_as_it_was():
    old, new = {"a": [1.0, 2.0], "b": "x", "gone": 1}, {"a": [1.0 + 1e-15, 2.1], "b": "y"}
    assert merge(old, new, 1e-12) == {"a": [1.0, 2.1], "b": "y"}
    assert merge(old, new, 0.0) == new
