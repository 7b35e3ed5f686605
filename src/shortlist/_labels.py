"""Labels as they are released: plain values that hold nothing but themselves, and an order that says nothing."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from shortlist.noise.entropy import Source
from shortlist.noise.uniforms import Stream, shuffled

PLAIN = (str, int, bool, float, datetime.date, datetime.datetime, bytes, type(None))


def plain_label(label: Any) -> Hashable:
    """The same label as a value of Python's own, where there is an equal one; otherwise as it is.

    A scalar of numpy or arrow may be a view into the column it was taken from, and would carry all of it along.
    """
    if type(label) in PLAIN:
        return label  # type: ignore[no-any-return]
    if isinstance(label, tuple):
        return tuple(map(plain_label, label))
    if isinstance(label, frozenset):
        return frozenset(map(plain_label, label))
    if isinstance(label, memoryview):
        return label.tobytes()
    if isinstance(label, np.generic):
        return _of_numpy(label)
    library = type(label).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(label, "as_py"):
        return plain_label(label.as_py())
    if library == "pandas" and isinstance(label, datetime.datetime) and getattr(label, "nanosecond", 1) == 0:
        return label.to_pydatetime()  # type: ignore[attr-defined, no-any-return]
    return label  # type: ignore[no-any-return]


def _of_numpy(label: np.generic) -> Hashable:
    """Times stay numpy's: they own their bytes, and nanoseconds have no equal."""
    if isinstance(label, np.datetime64 | np.timedelta64):
        return label
    value = label.item()
    return label if isinstance(value, np.generic) else plain_label(value)


def typed(label: Any) -> Hashable:
    """A key that tells apart labels of different types that compare equal, as 1, 1.0 and True do."""
    return type(label), tuple(map(typed, label)) if isinstance(label, tuple) else label


def by_label(items: Sequence[Hashable], indices: Sequence[int] | None, source: Source) -> list[int]:
    """Positions sorted by label, and where labels do not compare by their type and text.

    Labels may compare only partly (sets do), and different ones may read alike. The sort starts from an order that says
    nothing: by index, or by text with those that read alike in an order drawn for the purpose. So the law of the result
    is a function of the set alone, whatever order the items came in.
    """
    start = _start(items, source) if indices is None else sorted(range(len(items)), key=indices.__getitem__)
    if indices is not None and list(items) == list(indices):  # candidates without names
        return start
    try:
        return sorted(start, key=items.__getitem__)  # type: ignore[arg-type]
    except Exception:  # a label's own comparison may raise anything
        return sorted(start, key=_texts(items))


def _start(items: Sequence[Hashable], source: Source) -> list[int]:
    text = _texts(items)
    alike = len({text(i) for i in range(len(items))}) < len(items)
    return sorted(shuffled(len(items), Stream(source)) if alike else range(len(items)), key=text)


def _texts(items: Sequence[Hashable]) -> Callable[[int], tuple[str, str]]:
    texts = [(type(item).__name__, _text(item)) for item in items]
    return texts.__getitem__


def _text(item: Hashable) -> str:
    try:
        return str(item)
    except Exception:  # its own method may raise anything: then it reads like every other of its type
        return ""
