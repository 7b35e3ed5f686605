"""What only some mechanisms release stands in one place, and is read by name as if it stood in the release."""

import dataclasses
import pickle
from pathlib import Path

import pytest

import shortlist as sl
from shortlist import Release
from shortlist.mechanisms import HybridTopK, LargeGap, MeasuredTopK, NoisyMax, SparseVector
from shortlist.release import Extras
from shortlist.testing import seeded
from tests.helpers.typed import present

COUNTS = [9000, 5000, 20, 7]
NAMES = [one.name for one in dataclasses.fields(Extras)]
RELEASES = {
    "a set": sl.top_k(COUNTS, 2, epsilon=1.0, monotone=True, rng=seeded(1)),
    "sparse vector": SparseVector(threshold=100, k=1, epsilon=1.0, monotone=True).release(COUNTS, rng=seeded(1)),
    "hybrid": HybridTopK(threshold=100, k=3, epsilon=1.0).release(COUNTS, monotone=True, rng=seeded(1)),
    "values": MeasuredTopK(k=2, epsilon=1.0).release(COUNTS, monotone=True, rng=seeded(1)),
    "large gap": LargeGap(epsilon=1.0).release(COUNTS, monotone=True, rng=seeded(1)),
}


def test_a_release_has_no_fields_that_only_some_have():
    assert not {one.name for one in dataclasses.fields(Release)} & {*NAMES}
    assert all(isinstance(vars(Release)[name], property) for name in NAMES)


@pytest.mark.parametrize("kind", RELEASES)
def test_extras_are_read_by_name(kind):
    release = RELEASES[kind]
    assert [getattr(release, name) for name in NAMES] == [getattr(release.extras, name) for name in NAMES]
    again = Release.from_json(release.to_json())
    assert again == release == pickle.loads(pickle.dumps(release))
    assert again.extras == release.extras


def test_whatever_a_mechanism_does_not_release_is_none():
    plain = NoisyMax(epsilon=1.0).release(COUNTS, monotone=True)
    assert sl.select(COUNTS, epsilon=1.0, monotone=True).extras == Extras(asked=1)
    assert [getattr(plain, name) for name in NAMES] == [None] * len(NAMES)
    with pytest.raises(AttributeError, match="ask for them, as with gaps=True"):
        plain.gap  # noqa: B018
    with pytest.raises(AttributeError, match=r"read \.guarantee"):
        plain.cost  # noqa: B018


def test_a_set_keeps_values_with_their_items_and_nothing_that_tells_the_order():
    release = RELEASES["values"]
    pairs, as_set = dict(zip(present(release.items), present(release.values), strict=True)), release.as_set()
    assert dict(zip(present(as_set.items), present(as_set.values), strict=True)) == pairs
    assert (as_set.gaps, as_set.answers, as_set.evidence) == (None, None, None)
    assert RELEASES["sparse vector"].as_set().kept == RELEASES["sparse vector"].kept


def test_extras_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RELEASES["a set"].extras = Extras()  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        RELEASES["a set"].extras.used = "canonical"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["items", "values", "gaps", "valeus"])
def test_what_was_released_cannot_be_changed_under_any_name(name):
    class Mine(Release):
        """With a dictionary of its own, which must not hide what stands in the extras."""

    release = RELEASES["values"]
    for one in (release, Mine(**{part.name: getattr(release, part.name) for part in dataclasses.fields(release)})):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot be changed, nor its {name}"):
            setattr(one, name, [1.0])
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot be changed, nor its {name}"):
            delattr(one, name)
        assert one.values == release.extras.values


def test_golden_files_are_written_back_byte_by_byte():
    """The format does not tell how a release is laid out in memory."""
    files = sorted((Path(__file__).parent / "golden_releases").glob("*.json"))
    assert files
    for file in files:
        text = file.read_text().rstrip("\n")
        assert Release.from_json(text).to_json() == text, file.name
