"""Lists for many groups in one call: one charge for the groups that one person may be in (Theorem 230).

Groups are drawn independently, each by a mechanism that keeps a share of the budget; the winners of all of them are
named in one question. What is checked, and what is charged, depends on public facts alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import Frame, check_flag
from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget, Outcome, ledger_note, source_of
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP, calibrate
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import SECURE, Source
from shortlist.scores import GroupedScores, Pick, Scores, ScoresOptions

Build = Callable[[int | None, Budget], tuple[Mechanism, str, bool]]
"""From k and the budget of one group to (the mechanism, why, whether its order is released)."""
Finish = Callable[[Release, str, bool, int | None], Release]
"""What becomes of a group's release, by why its mechanism was chosen, whether its order is released, and its k."""


LONGEST_WORDS = 10_000
"""Characters that a ledger's entry has for groups and their mechanisms; more are told by a hash of them."""


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """What was asked for, checked: public facts alone."""

    guarantee: Budget
    per_group: Budget
    charge: Guarantee
    built: dict[int | None, tuple[Mechanism, str, bool]]
    """(the mechanism, why it was chosen, whether its order is released), by k."""
    sizes: dict[Hashable, int | None] | None
    """k by group, where each has its own."""
    charges: list[Guarantee]
    """The charges of single groups, each different one once."""
    k: int | None
    finish: Finish
    scores: GroupedScores
    """Those that were accepted: counted, or what is public of them."""
    largest: bool

    @classmethod
    def of(
        cls, scores: GroupedScores, k: Any, budget: Budget, build: Build, finish: Finish, *, largest: bool = True
    ) -> GroupRequest:
        """Refuse what does not fit, from public facts alone."""
        sizes, data, many = _sizes(scores, k), turned(scores, largest), scores.groups_per_user
        one, numbers = None if sizes is not None else k, [k] if sizes is None else list(dict.fromkeys(sizes.values()))

        def parts(share: Budget) -> tuple[dict[int | None, tuple[Mechanism, str, bool]], list[Guarantee]]:
            built = {number: build(number, share) for number in numbers}
            return built, _charges(data, sizes, one, built)

        plain = plain_share(budget, many)
        share = larger_share(budget, many, lambda part: build(numbers[0], part)[0].charge) or plain
        built, charges = parts(share)
        if share != plain and (len(charges) > 1 or budget.excess(charges[0].repeat(many)) > 0):
            share = plain  # groups are not all charged what the larger share was reckoned by
            built, charges = parts(share)
        charge = charges[0] if len(charges) == 1 else share
        return cls(budget, share, charge.repeat(many), built, sizes, charges, one, finish, scores, largest)

    @property
    def mechanism(self) -> Mechanism:
        """One for all, or that of the first group."""
        return next(iter(self.built.values()))[0]

    @property
    def why(self) -> str:
        """Why that one was chosen."""
        return next(iter(self.built.values()))[1]

    def booked(
        self, ledger: Ledger | None, purpose: str, source: Source = SECURE, said: str = ""
    ) -> Reservation | None:
        """Book the charge, once, before anything is looked at; `said` is noted with it. Nothing of it comes back."""
        if ledger is None:
            return None
        scores = self.scores
        unit = f"{scores.unit} ({scores.neighbours})"
        rows = ledger_note(_sources(scores), largest=self.largest, secure=source.secure, said=said)
        statements = self.charge, self.guarantee
        return ledger.reserve(*statements, purpose=purpose, mechanism=self.in_words, unit=unit, source=rows)

    @property
    def in_words(self) -> str:
        """Which mechanism draws for which groups, for a ledger: whoever approves it approves these lists alone."""
        scores, parts = self.scores, []
        for number, (mechanism, _, _) in self.built.items():
            keys = [] if scores._keys is None else [key for key in scores._keys if self._k(key) == number]
            parts.append(f"k={number} by {mechanism!r} for {', '.join(map(repr, keys)) or 'every group in the data'}")
        text = "; ".join(parts)
        if len(text) > LONGEST_WORDS:
            others = " and others" * (len(parts) > 1)
            digest = hashlib.sha256(text.encode()).hexdigest()
            text = f"{self.mechanism!r}{others} for {len(scores)} groups, in full words of sha256 {digest}"
        return f"{text}; {scores.groups_per_user} per {scores.unit}"

    def _k(self, key: Hashable) -> int | None:
        return self.k if self.sizes is None else self.sizes[key]

    def released(self, scores: GroupedScores, source: Source, reservation: Reservation | None) -> GroupedRelease:
        """One exact draw for each group, from scores that were accepted and paid for."""
        counted, scores = scores, turned(scores, self.largest)
        if counted is not self.scores and _charges(scores, self.sizes, self.k, self.built) != self.charges:
            raise ValueError("the candidates changed between the charge and the count; nothing was drawn")
        with np.errstate(all="ignore"):  # whatever a caller makes of floats that run out would tell of the scores
            drawn = [self._draw(scores, group, source) for group in range(scores._number)]
        named = _named(scores, drawn)
        listed = [n for n, names in enumerate(named) if scores.public_groups or names]
        frame = _of_items(scores)
        releases = {}
        for key, n in zip(_keys(scores, listed), listed, strict=True):
            outcome, k = drawn[n]
            mechanism, why, keeps_order = self.built[k]
            items = None if outcome.indices is None else named[n]
            told = mechanism._make_release(scores._group(n), outcome, items, source.secure, None)
            told = replace(told, frame=frame if scores._frame is not None else told.frame, guarantee=self.per_group)
            releases[key] = self.finish(told, why, keeps_order, k)
        mechanism, why, _ = next(iter(self.built.values()))
        return GroupedRelease(
            releases=releases,
            by=scores.by,
            groups_per_user=scores.groups_per_user,
            guarantee=self.guarantee,
            charge=self.charge if reservation is None else reservation.guarantee,
            per_group=self.per_group,
            unit=scores.unit,
            neighbours=scores.neighbours,
            secure=source.secure,
            mechanism=mechanism.name if self.largest else f"{mechanism.name}, on negated scores",
            why=f"auto: {why}" if why else "named by the caller",
            notes=_notes(scores),
            receipt=None if reservation is None else reservation.receipt(),
            frame=scores._frame if scores.by else None,
            item_columns=scores._template.columns,
        )

    def _draw(self, scores: GroupedScores, group: int, source: Source) -> Drawn:
        k = self.k if self.sizes is None else self.sizes[scores.groups[group]]
        return self.built[k][0]._draw(scores._group(group), source), k


Drawn = tuple[Outcome, int | None]
"""What was drawn from a group, and its k. The scores of it are not kept: all of them together would be many."""


def turned(scores: GroupedScores, largest: bool) -> GroupedScores:
    """The scores as they are, or negated where the smallest are wanted."""
    return scores if largest else scores._negate()


def grouped(scores: object, parallel: bool, question: ScoresOptions) -> GroupedScores | None:
    """The groups, or the list of score lists, that were asked about; None for one list."""
    if isinstance(scores, list | tuple) and scores and isinstance(scores[0], Scores | list | tuple | np.ndarray):
        return GroupedScores._of_vectors(scores, parallel, question)
    if parallel is not False and check_flag("parallel", parallel):
        raise TypeError("parallel is for a list of score lists: leave it out")
    if not isinstance(scores, GroupedScores):
        return None
    if question:
        raise TypeError(f"{', '.join(question)}: already said by the scores of the groups; give it to count")
    return scores


def plain_share(budget: Budget, many: int) -> Budget:
    """What each group may cost, if one person is in `many`: epsilons, rhos and deltas add up. Rounded down."""
    if many == 1:
        return budget
    if isinstance(budget, PureDP):
        return PureDP(_part(budget.epsilon, many))
    if isinstance(budget, ZCDP):
        return ZCDP(_part(budget.rho, many), _part(budget.delta, many))
    return ApproxDP(_part(budget.epsilon, many), _part(budget.delta, many))


def larger_share(budget: Budget, many: int, charged: Callable[[Any], Guarantee]) -> Budget | None:
    """What fits by the composition of what is charged for one share, where that is more; None otherwise.

    Half of an (epsilon, delta) budget's delta is for the groups' own, and half for the conversion. It is a proposal:
    groups whose charges are others need a check of their own.
    """
    if many == 1 or not isinstance(budget, ApproxDP):
        return None
    epsilon, delta = _part(budget.epsilon, many), _part(budget.delta, 2 * many)

    def together(epsilon: float) -> Guarantee:
        return charged(ApproxDP(epsilon, delta)).repeat(many)

    if not delta or not epsilon or budget.excess(together(1.05 * epsilon)) > 0:
        return None
    return ApproxDP(calibrate(together, budget, near=1.05 * epsilon), delta)


def _part(number: float, many: int) -> float:
    """The largest float of which `many` are not above the number."""
    part = number / many
    while Fraction(part) * many > Fraction(number):
        part = math.nextafter(part, 0.0)
    return part


def _sizes(scores: GroupedScores, k: Any) -> dict[Hashable, int | None] | None:
    if not isinstance(k, Mapping):
        return None
    if not scores.public_groups or set(k) != set(scores.groups):
        raise ValueError("k as a mapping must have exactly the public groups as its keys, each with a number")
    return {key: k[key] for key in scores.groups}


def _charges(
    scores: GroupedScores, sizes: dict[Hashable, int | None] | None, k: int | None, built: dict[Any, Any]
) -> list[Guarantee]:
    """What is charged in one group, each different charge once; refuses groups that do not fit their mechanism."""
    charges: dict[Guarantee, None] = {}
    if scores._names is not None and not (scores.public_groups and scores.public):  # all groups are alike in public
        return list(dict.fromkeys(_accepted(mechanism, scores._template) for mechanism, _, _ in built.values()))
    seen: set[tuple[int | None, int]] = set()
    for group, key in enumerate(scores.groups):
        number, part = k if sizes is None else sizes[key], scores._group(group)
        # of groups in one table only these two differ in public; lists of their own may differ in anything
        if scores._names is None or part.numbered or (number, part._size) not in seen:
            seen.add((number, part._size))
            charges[_accepted(built[number][0], part)] = None
    return list(charges)


def _sources(scores: GroupedScores) -> str:
    """Where the groups come from, for a ledger; of lists that are not alike in it, each one's own."""
    every = [scores._template] if scores.by else map(scores._group, range(scores._number))
    parts = list(map(source_of, every))
    if len(set(parts)) == 1:
        return parts[0]
    text = "; ".join(f"list {place}: {words}" for place, words in enumerate(parts))
    if len(text) <= LONGEST_WORDS // 2:
        return text
    digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    return f"{len(parts)} lists, in full words of sha256 {digest}"


def _accepted(mechanism: Mechanism, part: Scores) -> Guarantee:
    mechanism._check_and_reserve(part, None, "")
    return mechanism._privacy_cost(part)[1]


def _named(scores: GroupedScores, drawn: list[Drawn]) -> list[list[Hashable]]:
    """The winners of every group: they travel, and no others do."""
    picks = [Pick(n, outcome.indices or (), outcome.by_weight) for n, (outcome, _) in enumerate(drawn)]
    return scores._name(picks)


def _keys(scores: GroupedScores, listed: list[int]) -> Sequence[Hashable]:
    """The keys of the groups that are listed: all of them, where they are public."""
    if scores.public_groups:
        return scores.groups
    assert scores._names is not None
    return scores._names.keys(listed)


def _of_items(scores: GroupedScores) -> Frame | None:
    """The kind of frame of one list: without the columns of the key."""
    frame = scores._frame
    return None if frame is None else Frame(frame.engine, frame.types[len(scores.by) :])


def _notes(scores: GroupedScores) -> tuple[str, ...]:
    most, unit = scores.groups_per_user, scores.unit
    if scores.by:
        which = "1 group, the one" if most == 1 else f"{most} groups, those"
        return (
            f"one {unit} counts in at most {which} with most of their rows, so that counts may be well below those of "
            "all rows; to count people in more groups needs more noise",
        )
    if most > 1:
        return (f"one {unit} may be in all {most} lists, and the guarantee is for all of them together",)
    return (f"parallel: the caller says that no {unit} is in more than one of these lists; otherwise it costs more",)
