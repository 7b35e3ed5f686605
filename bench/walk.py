"""How far a reader has to walk: the files and the Python calls of our own that one call visits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import shortlist as sl

HERE = str(Path(sl.__file__).parent)


def visited(call: Callable[[], object]) -> Counter[str]:
    """Calls of our own functions by file, once everything is imported and remembered what is remembered."""
    call()
    calls: Counter[str] = Counter()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HERE):
            calls[str(Path(frame.f_code.co_filename).relative_to(HERE))] += 1

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls


def usual(call: Callable[[], object], times: int = 25) -> Counter[str]:
    """The median of several calls: how far a draw walks depends on what it draws."""
    return sorted((visited(call) for _ in range(times)), key=Counter.total)[times // 2]


def walk() -> Iterator[str]:
    """Files and calls of our own that one call visits, the second time: the median of 25"""
    values = np.arange(1000) ** 2 % 977
    yield "| call | files | Python calls |"
    yield "|---|---|---|"
    for text, call in {
        "`top_k(array, k=5, epsilon=1)`": lambda: sl.top_k(values, k=5, epsilon=1, monotone=True),
        "`top_k(array, k=5, epsilon=1, ordered=True)`": lambda: sl.top_k(
            values, k=5, epsilon=1, monotone=True, ordered=True
        ),
        "`select(array, epsilon=1)`": lambda: sl.select(values, epsilon=1, monotone=True),
    }.items():
        calls = usual(call)
        yield f"| {text} | {len(calls)} | {calls.total()} |"


TABLES = {"walk": walk}
