"""Cases for Coq to confirm: what the library answers to random public questions, beside the programs of Exec.v.

Each kind of case has a program of Exec.v, which is proved to compute what the theorems are about, and a fault that is
planted in one of its cases: Coq has to find it.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import polars as pl

import shortlist as sl
from shortlist.exact.subsets import one_log_choose, rank_scores
from shortlist.ledger.filter import CURRENCIES, ZERO, Amounts, fits, refund_of
from shortlist.mechanisms.sets import gamma_of, one_shot_of, share_of

SEED = 20261120


def rational(number: Fraction | int) -> str:
    exact = Fraction(number)
    return f"({exact.numerator} # {exact.denominator})%Q"


def integers(numbers: Iterable[int]) -> str:
    return f"[:: {'; '.join(f'({int(number)})%Z' for number in numbers)}]"


def natural(number: int) -> str:
    return f"{int(number)}%N"


def naturals(numbers: Iterable[int]) -> str:
    return f"[:: {'; '.join(map(natural, numbers))}]"


def booleans(flags: Iterable[Any]) -> str:
    return f"[:: {'; '.join('true' if flag else 'false' for flag in flags)}]"


def case(*parts: str) -> str:
    return f"({', '.join(parts)})"


def random_scores(rng: random.Random, d: int) -> list[int]:
    far = rng.random() < 0.5
    return [rng.randint(-(10**6), 10**6) if far else rng.randint(-20, 20) for _ in range(d)]


def loss_case(rng: random.Random, fault: bool) -> str:
    """What a set of k loses against the top k (Definition 62), by the classes of the library (Lemma 64)."""
    d = rng.randint(2, 12)
    k = rng.randint(1, d - 1)
    scores, g = random_scores(rng, d), Fraction(rng.randint(0, 20), 20)
    ranking = rank_scores(np.array(scores, dtype=np.int64), k, Fraction(1), g, gap_aware=True)
    ranks = tuple(sorted(rng.sample(range(d), k)))
    members, top = {int(ranking.order[rank]) for rank in ranks}, {int(one) for one in ranking.order[:k]}
    masks = (booleans(i in chosen for i in range(d)) for chosen in (members, top))
    return case(rational(g), integers(scores), *masks, rational(ranking.loss_of(ranks) + Fraction(fault, 20)))


def class_case(rng: random.Random, fault: bool) -> str:
    """The loss and the size of a class (Lemma 64)."""
    d = rng.randint(2, 14)
    k = rng.randint(1, d - 1)
    i, j = rng.randrange(min(k, 6)), rng.randrange(min(d - k, 6))
    scores, g = sorted(random_scores(rng, d), reverse=True), Fraction(rng.randint(0, 20), 20)
    ranking = rank_scores(np.array(scores, dtype=np.int64), k, Fraction(1), g, gap_aware=True)
    size = round(exp(one_log_choose(i, j)))
    loss = rational(ranking.loss(i, k + j))
    return case(rational(g), integers(scores), *map(natural, (k, i, j)), loss, natural(size + fault))


def range_case(rng: random.Random, fault: bool) -> str:
    """R, of what a caller states about one user (Lemma 3)."""
    down, up = (Fraction(rng.randint(0, 40), rng.choice((1, 2, 8))) for _ in range(2))
    monotone = rng.random() < 0.5
    up = up or Fraction(1)
    told = up if rng.random() < 0.5 else (down, up)
    if not isinstance(told, tuple):
        down = up
    scores = sl.Scores([3, 2, 1], sensitivity=told, monotone=monotone, public=True)
    found = Fraction(scores.range_sensitivity) / (2 if fault else 1)
    return case(rational(down), rational(up), "true" if monotone else "false", rational(found))


def counts_case(rng: random.Random, fault: bool) -> str:
    """Counts of users and their R, with one user more (Proposition 4)."""
    names = [f"item {n}" for n in range(rng.randint(2, 5))]
    units = [[rng.random() < 0.4 for _ in names] for _ in range(rng.randint(2, 7))]
    units[0][0] = units[1][0] = True  # a table of no rows is refused
    added = units[0]

    def counted(people: list[list[bool]]) -> Any:
        rows = [(user, name) for user, held in enumerate(people) for name, has in zip(names, held, strict=True) if has]
        frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
        return sl.count(frame, user="user", item="item", candidates=names)

    before, after = counted(units[1:]), counted(units)
    numbers = [[numbers_by_item(scores)[name] for name in names] for scores in (before, after)]
    numbers[1][-1] += fault
    masks = f"[:: {'; '.join(booleans(unit) for unit in units[1:])}]"
    sensitivity = rational(Fraction(after.range_sensitivity))
    return case(masks, naturals(numbers[0]), booleans(added), naturals(numbers[1]), sensitivity)


def numbers_by_item(scores: sl.Scores) -> dict[str, int]:
    public = scores.as_public()
    return {str(label): int(value) for label, value in zip(public.labels, public.values, strict=True)}


def filter_case(rng: random.Random, fault: bool) -> str:
    """Which charges a ledger of a pure budget admits (Theorem 37): all sums are those of the exact values of floats."""
    budget = rng.choice((1.0, 0.3, rng.uniform(0.1, 3.0)))
    near = [budget, budget / 3, 0.1, 0.2, rng.uniform(0, budget), rng.uniform(0, budget / 4)]
    charges = [rng.choice(near) for _ in range(rng.randint(4, 12))]
    with tempfile.TemporaryDirectory() as folder:
        ledger = sl.Ledger(f"{folder}/ledger.db", budget=sl.PureDP(budget))
        admitted = [is_admitted(ledger, charge) for charge in charges]
    if fault:
        admitted[-1] = not admitted[-1]
    costs = [Amounts(Fraction(charge), None, Fraction(0)) for charge in charges]
    return charges_case(Amounts(Fraction(budget), None, Fraction(0)), costs, costs, admitted)


def charges_case(limits: Amounts, charges: list[Amounts], used: list[Amounts], admitted: list[bool]) -> str:
    pairs = (case(amounts(charge), amounts(part)) for charge, part in zip(charges, used, strict=True))
    return case(amounts(limits), f"[:: {'; '.join(pairs)}]", booleans(admitted))


def is_admitted(ledger: sl.Ledger, charge: float) -> bool:
    try:
        ledger.charge(sl.PureDP(charge))
    except sl.BudgetExceeded:
        return False
    return True


def amounts(one: Amounts) -> str:
    return case(
        *(f"Some {rational(part)}" if part is not None else "None" for part in (one.epsilon, one.curve)),
        rational(one.delta),
    )


def ledger_case(rng: random.Random, fault: bool) -> str:
    """Which charges the rules of a ledger admit, with refunds: an epsilon or none, a rho or none (Theorem 38)."""

    def part(most: int) -> Fraction:
        return Fraction(rng.randint(0, most), rng.choice((1, 7, 2**40)))

    rules = rng.choice(((True, True), (True, False), (False, True)))
    epsilon, curve = (part(20) if rule else None for rule in rules)
    limits = Amounts(epsilon, curve, Fraction(rng.randint(0, 3), 10))
    charges, used, admitted, total = [], [], [], ZERO
    for _ in range(rng.randint(3, 12)):
        epsilon, curve = (part(8) if rng.random() < 0.9 else None for _ in range(2))
        charges.append(Amounts(epsilon, curve, Fraction(rng.choice((0, 0, 1)), 10)))
        share = Fraction(rng.choice((0, 1, 2, 2)), 2)  # what is kept; the rest comes back
        kept = (None if one is None else share * one for one in (epsilon, curve))
        used.append(Amounts(*kept, charges[-1].delta))
        admitted.append(fits(limits, total + charges[-1]))
        if admitted[-1]:
            total = total + charges[-1] - refund_of(charges[-1], used[-1], CURRENCIES)
    if fault:
        admitted[0] = not admitted[0]
    return charges_case(limits, charges, used, admitted)


def constants_case(rng: random.Random, fault: bool) -> str:
    """The public constants of guarded top-k (Definitions 72 and 251), and the e of its one-shot."""
    k = rng.choice((3, 4, 10, 31, 32, 200, 1000))
    d = 2 * k + rng.choice((0, 1, 50, 10**5))
    budget = sl.PureDP(rng.choice((0.01, 0.1, 1.0, 2.0, rng.uniform(0.001, 20.0))))
    share = share_of(k, d)
    _, e = one_shot_of(budget, k, share)
    e += Fraction(fault, 1000)
    parts = (Fraction(budget.epsilon), gamma_of(k, budget), share, e)
    epsilon, *others = map(rational, parts)
    return case(epsilon, natural(k), *others)


def groups_case(rng: random.Random, fault: bool) -> str:
    """What each group's list may cost, where one user is in m groups (Theorem 230)."""
    groups, m = ["a", "b", "c", "d"], rng.randint(1, 4)
    rows = [(user, item, group) for user in range(6) for item in "xyz" for group in rng.sample(groups, 2)]
    frame = pl.DataFrame(rows, schema=["user", "item", "group"], orient="row")
    question = {"user": "user", "item": "item", "by": "group", "candidates": list("xyz"), "groups": groups}
    scores = sl.count(frame, groups_per_user=m, **question)
    budget = rng.choice((0.1, 1.0, rng.uniform(0.01, 5.0)))
    release = sl.top_k(scores, k=1, epsilon=budget)
    e = Fraction(release.per_group.epsilon) + Fraction(fault, 10**9)
    return case(rational(Fraction(budget)), natural(m), rational(e))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case: the program of Exec.v that confirms it, how many there are, and how one is made."""

    name: str
    number: int
    type: str
    make: Callable[[random.Random, bool], str]
    program: str = ""
    """The program after `agrees_`, where it is not named as the kind."""


KINDS = (
    Kind("loss", 200, "(Q * seq Z * seq bool * seq bool * Q)", loss_case),
    Kind("class", 100, "(Q * seq Z * nat * nat * nat * Q * nat)", class_case),
    Kind("range", 60, "(Q * Q * bool * Q)", range_case),
    Kind("counts", 20, "(seq (seq bool) * seq nat * seq bool * seq nat * Q)", counts_case),
    Kind("filter", 20, "(amounts * seq (amounts * amounts) * seq bool)", filter_case, "ledger"),
    Kind("ledger", 60, "(amounts * seq (amounts * amounts) * seq bool)", ledger_case),
    Kind("constants", 40, "(Q * nat * Q * Q * Q)", constants_case),
    Kind("groups", 12, "(Q * nat * Q)", groups_case),
)

HEAD = """From Coq Require Import ZArith QArith.
From Shortlist Require Import Base Exec.
Open Scope Q_scope.
"""


def make_cases(kind: Kind, *, fault: bool = False, number: int | None = None) -> list[str]:
    """The cases of one kind; with a fault in the last."""
    rng = random.Random(f"{SEED} {kind.name}")
    number = kind.number if number is None else number
    return [kind.make(rng, fault and n == number - 1) for n in range(number)]


def confirm(kind: Kind, cases: list[str], expected: str = "true") -> str:
    """Coq source that holds only if all cases agree, or with "false" only if one does not."""
    body = ";\n  ".join(cases)
    defined, program = f"{kind.name}_{expected}", f"agrees_{kind.program or kind.name}"
    return (
        f"Definition {defined} : seq {kind.type} :=\n [:: {body}].\n"
        f"Goal all {program} {defined} = {expected}. Proof. vm_compute. reflexivity. Qed.\n"
    )


def check_cases(coqc: Callable[[str, str], subprocess.CompletedProcess[str]]) -> str:
    """Have Coq confirm all cases and find every planted fault; return what was done, or stop with what was not."""
    truths, faults = [], []
    for kind in KINDS:
        truths.append(confirm(kind, make_cases(kind)))
        faults.append(confirm(kind, make_cases(kind, fault=True, number=3), "false"))
    done = coqc("Cases.v", HEAD + "".join(truths) + "".join(faults))
    if done.returncode:
        raise SystemExit(f"make proofs: a case of the library is not confirmed\n{(done.stdout + done.stderr)[-3000:]}")
    planted = coqc("Planted.v", HEAD + confirm(KINDS[0], make_cases(KINDS[0], fault=True, number=3)))
    if not planted.returncode:
        raise SystemExit("make proofs: a planted fault was not found")
    total = sum(kind.number for kind in KINDS)
    return f"{total} cases of {len(KINDS)} kinds from the library confirmed, {len(KINDS) + 1} planted faults found"
