"""What a broken mechanism in the catalogue is, and what it takes to catch it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shortlist.audit import Law
from shortlist.audit.certified.base import Point
from shortlist.privacy import Guarantee, PureDP

Pairs = tuple[tuple[Any, Any], ...]


ONE = PureDP(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A mechanism that does not keep its claim.

    `run` draws from it, as `sl.audit` takes it (numpy noise is good enough for what is broken anyway); `law` is its
    exact law. At least one of them must convict it on `pairs`.
    """

    name: str
    what: str
    """What is wrong, in a line."""
    source: str
    """Where it was published or shipped."""
    pairs: Pairs
    claim: Guarantee = ONE
    run: Callable[..., Any] | None = None
    law: Callable[[Point], Law] | None = None
    trials: int = 100_000
