"""From a query to a release: choose, plan, reserve, read, draw, name, present. Written once for every call.

What is chosen, checked and charged depends on public facts alone: k, the budget, the wanted outputs; never on a score.
Groups are a loop over their lists, and one list is one group. All groups together cost what the groups of one user cost
(Theorem 230): each is drawn independently, by a mechanism that keeps a share of the budget, and the winners of all of
them are named in one question.
"""

from __future__ import annotations

import hashlib
import math
import sys
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from shortlist._arrays import Frame
from shortlist._files import SPILL_FOLDERS, leave_spill_folder
from shortlist._runtime import lazy_import, replace_fields, set_fields
from shortlist._text import suggest
from shortlist.accounting.guarantees import ABSURD_EPSILON, as_epsilon
from shortlist.errors import PrivacyWarning, Text, bad_value
from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms import KeySet, Mechanism, Quantile, base
from shortlist.mechanisms.base import FEW_NAMES, MANY_NAMES, Budget, Request
from shortlist.mechanisms.partition import choice_of, offers_choice
from shortlist.mechanisms.race import quick_epsilon_of_a_round
from shortlist.mechanisms.registry import METHODS, Method
from shortlist.mechanisms.sets import worth_delta
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP, calibrate
from shortlist.query import Query
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import Source
from shortlist.scores import GroupedScores, Pick, Scores, as_scores, check_smallest

if TYPE_CHECKING:
    from shortlist.sources import Series, Table

FEWEST_GUARDED, MOST_GUARDED = 8, 100
"""Items of a guarded list: one-shot is as good for fewer, and for more the junk takes long to count."""
FEWEST_GUARDED_ZCDP = 20
"""Under zCDP a round of peeling costs 1 / sqrt k and not 1 / k of the whole: there is less to gain for few items."""
MEASURED = "measured-set", "MeasuredSet, the default for values: it selects items, then measures each with fresh noise"
QUANTILE_NOISE = {"auto": None, "exponential": "gumbel", "permute-and-flip": "exponential"}
"""The methods of `quantile`, and the noise of each."""


class Facts(NamedTuple):
    """What is public of a source and matters for the choice."""

    public: bool = True
    """Whether the candidates are a public list."""
    most: int | None = None
    """How many candidates one user counts for, where that is bounded."""
    weighed: bool = False
    """Whether rows are counted without a public list, which makes capped weights too."""


class Choice(NamedTuple):
    """What will draw."""

    mechanism: Mechanism
    why: str
    """Empty if the caller named it."""
    keeps_order: bool
    """Whether its order is released."""
    names_from_data: bool = False
    """Whether delta is the probability that an item which one user alone has comes out."""


def choose(query: Query, facts: Facts, k: int | None, budget: Budget) -> Choice:
    """Return the mechanism that answers one list of a query, from public facts alone: its cost is known before scores.

    For the smallest (`largest=False`) the mechanism gets negated scores.
    """
    if query.call == "quantile":
        return _choose_quantile(query, budget)
    if query.call == "keys":
        return _choose_keys(query, budget)
    wanted = None if k is None else base.check_k(k)
    limit = None if query.limit is None else base.check_limit(query.limit, 1)
    request = Request(
        wanted, budget, query.ordered, query.values, query.gaps, facts.public, limit, facts.most, facts.weighed
    )
    return choose_mechanism(request, query.method, query.largest)


def choose_mechanism(request: Request, method: str = "auto", largest: bool = True) -> Choice:
    """Return the mechanism of this method for a list, or the one that the rule takes."""
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        near = suggest(method, METHODS) if isinstance(method, str) else ""
        known = near or f"; write one of 'auto', {', '.join(map(repr, METHODS))}"
        raise bad_value(f"$method={method!r} is not known{known}")
    return _build(request, method, largest)


@lru_cache
def _build(request: Request, method: str, largest: bool) -> Choice:
    named = None if method == "auto" else METHODS[method]
    name, why = choose_method(request) if named is None else (method, "")
    chosen = METHODS[name]
    unlisted = not request.has_public_list if chosen.domain == "either" else chosen.domain == "unknown"
    if not largest:
        check_smallest(request.public)
        if chosen.largest_only:
            raise bad_value(f'$method={chosen.name!r} is for the largest; with $largest=False write $method="auto"')
    (_check_unlisted if unlisted else _check_listed)(request, named)
    mechanism = chosen.build(request)
    if request.ordered and not (mechanism.ordered or request.values) and request.k != 1:
        raise bad_value(f'$method={chosen.name!r} releases a set: for its order write $method="auto"')
    return Choice(mechanism, why, request.ordered or request.values or chosen.gaps, unlisted)


def _choose_quantile(query: Query, budget: Budget) -> Choice:
    if not isinstance(query.method, str) or query.method not in QUANTILE_NOISE:
        raise bad_value(f"$method must be one of {', '.join(map(repr, QUANTILE_NOISE))}")
    mechanism = Quantile(q=query.q, budget=budget, noise=QUANTILE_NOISE[query.method])  # type: ignore[arg-type]
    why = "Quantile with Gumbel noise (the exponential mechanism), the default under budgets that are not pure"
    if mechanism.noise == "exponential":
        why = "Quantile with exponential noise (permute-and-flip), the default under pure DP"
    return Choice(mechanism, why if query.method == "auto" else "", True)


def _choose_keys(query: Query, budget: Budget) -> Choice:
    mechanism = KeySet(most=query.most, budget=budget, weighted=query.weighted, values=query.values)
    why = f"each person counts for at most {mechanism.most} names: Gaussian noise, and counts come free"
    if mechanism.weighted:
        why = f"each person shares one vote among up to {mechanism.most} names, so the bar is the same for all of them"
    elif mechanism.most is not None and mechanism.most <= FEW_NAMES and not isinstance(budget, ZCDP):
        why = f"each person counts for at most {mechanism.most}: truncated geometric noise has the lowest bar"
    return Choice(mechanism, why, True)


def choose_method(request: Request) -> tuple[str, str]:
    """Return the method that `method="auto"` stands for, and why: from public facts alone, one branch after another."""
    k, budget = request.k, request.budget
    if not request.has_public_list:
        return _choose_unlisted(request)
    pure, many = isinstance(budget, PureDP), "for an ordered list of this length"
    if request.gaps:
        return "gaps", "gaps were requested, and a pure budget releases them with the list at no extra cost"
    most = request.most if request.public and (request.ordered or request.values) else None
    if most is not None and request.size >= histogram_from(most, pure=pure, values=request.values):
        return "histogram", (
            f"NoisyHistogram: each user counts for at most {most} items, so noise on every count is "
            f"smaller than noise for {k} selected items; order and values cost nothing extra"
        )
    if request.values:
        return MEASURED
    if k == 1 and pure:
        return "permute-and-flip", (
            "NoisyMax with exponential noise (permute-and-flip), the default for one winner under pure DP"
        )
    if k == 1:
        return "exponential", (
            "NoisyMax with Gumbel noise (the exponential mechanism), the default for one winner under this budget"
        )
    if not request.ordered:
        return "guarded", "GuardedTopK, the default for an unordered set from public candidates"
    fewest = FEWEST_GUARDED_ZCDP if isinstance(budget, ZCDP) else FEWEST_GUARDED
    if fewest <= request.size <= MOST_GUARDED:
        return "guarded-list", (
            f"GuardedListTopK, the default for an ordered list of {fewest} to {MOST_GUARDED} items from public "
            "candidates"
        )
    if pure:
        return "oneshot-exponential", f"OneshotTopK with exponential noise, the default {many} under pure DP"
    if isinstance(budget, ApproxDP) and not _gains_by_delta(request.size, budget):
        return "oneshot-exponential", (
            "OneshotTopK with exponential noise: for this list and epsilon, the delta would not reduce the noise"
        )
    return "oneshot-gumbel", f"OneshotTopK with Gumbel noise, the default {many} under this budget"


def _choose_unlisted(request: Request) -> tuple[str, str]:
    """Return the same where the candidates, or how many of them, come from the data."""
    k, most = request.k, request.most
    if k is None:
        return "stable", "StableTopK, because k=None: the data choose k where the scores drop"
    # the threshold of a key set is the same for every k; under a limit, or with a delta of 1/2 or more, it has none
    key_set = request.limit is None and getattr(request.budget, "delta", 0.0) < 0.5
    if key_set and most is not None and most <= FEW_NAMES:
        return "keys", f"KeySet, because each user counts for at most {most} items: one low threshold serves all"
    if key_set and request.weighed and k > MANY_NAMES:
        return "keys", (
            f"KeySet, the default for more than {MANY_NAMES} items that are not public: its threshold does not rise "
            "with k"
        )
    if request.values:
        return MEASURED
    if offers_choice(request):
        heights = "; ".join(f"{one.used} ({one.height})" for one in choice_of(request).branches)
        return "names-choice", (
            f"NamesChoice, because no public list was given: a tenth of the budget chooses between {heights}"
        )
    if k == 1 or request.ordered:
        wanted = "one item" if k == 1 else "an ordered list"
        return "limited-domain", f"LimitedDomainTopK, the default for {wanted} if no public list was given"
    return "limited-domain", (
        "LimitedDomainTopK, because k is too large for sets. Counting rows with sl.count lowers the threshold"
    )


def histogram_from(most: int, *, pure: bool, values: bool = False) -> int:
    """Return the least k for which a noisy histogram answers, if a user counts for `most` items (Algorithm 222).

    From there on noise on every capped count is smaller than what an order, or values, cost by selection. Values are
    measured with noise for k counts there: k >= m. An order costs exponential noise of scale k R / epsilon, against
    Laplace noise of scale m Delta / epsilon: k >= sqrt(2) m. Beyond pure budgets it costs Gumbel noise of variance
    pi^2 k R^2 / (48 rho), against Gaussian noise of m Delta^2 / (2 rho): k >= 8 m / 3. For a set alone selection
    needs less.
    """
    if values:
        return most
    return math.isqrt(2 * most * most - 1) + 1 if pure else -(-8 * most // 3)


def _gains_by_delta(k: int, budget: ApproxDP) -> bool:
    """Return whether Gumbel noise is the better one for a list of k.

    It needs a larger e for the same recall (`worth_delta`). The e of k rounds under a delta is rounded down here, so
    that a delta is never a loss.
    """
    return bool(Fraction(quick_epsilon_of_a_round(k, budget)) >= worth_delta(k) * Fraction(budget.epsilon) / k)


def _check_unlisted(request: Request, named: Method | None) -> None:
    """Refuse what does not fit where the candidates, or how many of them, come from the data."""
    if request.gaps:
        raise ValueError("gaps need a public list of candidates and a fixed k: leave them out")
    if request.values and (request.k is None or not (named is None or named.values)):
        raise bad_value('values need a fixed k and $method="auto", "keys" or "measured-set"; or leave $values= out')
    if request.ordered and named is not None and not named.ordered:
        raise bad_value(f'$method={named.name!r} releases sets; for an order write $method="limited-domain"')
    if request.ordered and named is None and request.k is None:
        raise bad_value("$k=None releases a set: leave $ordered= out, or give $k=10")


def _check_listed(request: Request, named: Method | None) -> None:
    """Refuse what does not fit where the candidates are a public list."""
    if request.k is None:
        raise bad_value("$k=None: the data choose how many, and that needs a delta: write $delta=1e-6, or $k=5")
    if request.limit is not None:
        raise bad_value('$limit is for candidates from the data: leave it out, or write $method="limited-domain"')
    if named is None:
        return
    for what, wanted, can in (("values", request.values, named.values), ("gaps", request.gaps, named.gaps)):
        if wanted and not can:
            fitting = (method for method in METHODS.values() if method.domain != "unknown" and getattr(method, what))
            able = " or ".join(f'"{method.name}"' for method in fitting)
            raise bad_value(f'$method={named.name!r} releases no {what}; write $method="auto" or {able}')


LARGE_DELTA = 1e-3
LONGEST_NOTE = 10_000
"""Characters that a ledger's entry has for groups and their mechanisms; more are told by a hash of them."""
OUTSIDE = "whatever lies outside the range counts at its ends, and a cell that holds no such value is left out"
SHARED = "the rows of a person share one vote"


def execute(query: Query) -> Release | GroupedRelease:
    """Answer a query: the charge is on the disk before a row is read, and nothing is charged that does not fit.

    Raises
    ------
    ValueError, TypeError
        from public facts alone, if the query does not fit: nothing is charged or read.
    BudgetExceeded
        if the ledger has no room: nothing is charged or read.
    """
    random, ledger = base.check_source(query.rng), query.ledger
    data, budget = open_query(query)
    known = plan_by_arguments(query, data, budget) if query.is_table else None  # before the header is looked at
    if known is not None and ledger is not None:
        ledger.check(known.charge, known.guarantee, unit=f"{query.unit} (add-remove)", fresh=False)
    plan = make_plan(query, budget, data.schema())
    warn(plan)
    reservation = None if ledger is None else plan.reserve(data.note, secure=random.secure)
    try:
        if query.progress is not None:
            query.progress(0.0)
        scores = data.read(query.progress)
    except BaseException as error:
        if reservation is not None:
            entry = reservation.number
            error.add_note(f"The ledger was charged before a row was read, and the charge stays: entry {entry}.")
        raise
    release = plan.draw(scores, random, reservation)
    if query.is_table:
        del data, known, plan, scores  # with them goes the engine that works in the folder
        if SPILL_FOLDERS:
            leave_spill_folder()
    return release


def quote_query(query: Query, *, header: bool) -> tuple[Plan, int | None]:
    """Return (what would run and what it costs, how many candidates there are where that is public)."""
    data, budget = open_query(query)
    plan = plan_by_arguments(query, data, budget)
    if plan is None or (header and query.is_table):
        plan = make_plan(query, budget, data.schema())
    scores = plan.accepted
    if isinstance(scores, Scores) and scores.public and query.call != "quantile":
        return plan, len(scores)
    return plan, data.size


@dataclass(frozen=True, slots=True)
class InMemory:
    """Scores that are there already: of one list, or of groups."""

    scores: Scores | GroupedScores

    size = None
    note = ""

    def preview(self) -> Scores | GroupedScores:
        return self.scores

    schema = preview

    def read(self, progress: Callable[[float], None] | None) -> Scores | GroupedScores:
        return self.scores


Data: TypeAlias = "InMemory | Table | Series"
"""What a query is about. `preview` tells what is public by the arguments alone, `schema` what is by the names and types
of columns too, and `read` reads the scores. `size` is how many candidates there are, where the arguments tell it."""


def open_query(query: Query) -> tuple[Data, base.Budget]:
    """Return (what it is about, what it may cost: where a ledger has a hair less than that, what it has)."""
    ledger, source, written = query.ledger, query.source, query.written
    base.check_ledger(ledger)
    is_list = not query.is_table and isinstance(source, list | tuple) and len(source) > 0
    has_lists = is_list and isinstance(source[0], Scores | list | tuple | np.ndarray)
    if query.parallel and not has_lists:
        raise TypeError("parallel is for a list of score lists: leave it out")
    data: Data
    if query.is_table:
        data = lazy_import("shortlist.sources", "open_source")(query)
    elif has_lists:
        data = InMemory(GroupedScores._of_vectors(source, query.parallel, written))  # type: ignore[arg-type]
    elif isinstance(source, GroupedScores) and written:
        raise TypeError(f"{', '.join(written)}: already said by the scores of the groups; give it to count")
    else:
        data = InMemory(source if isinstance(source, GroupedScores) else as_scores(source, **written))
    if isinstance(data, InMemory) and not query.largest:
        data = InMemory(data.scores._negate())
    budget: base.Budget
    if query.delta is None and query.call != "keys":
        budget = base.check_budget(query.epsilon, query.budget)
    else:
        budget = base.check_delta_budget(query.epsilon, query.delta, query.budget)
    return data, budget if ledger is None else ledger.within(budget)


def plan_by_arguments(query: Query, data: Data, budget: base.Budget) -> Plan | None:
    """Return the plan that the arguments alone tell, with no header looked at; None if only an engine knows it all."""
    known = data.preview()
    return None if known is None else make_plan(query, budget, known)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will run and what it costs, from public facts alone."""

    query: Query
    accepted: Scores | GroupedScores | Facts
    """Scores that were accepted: counted, or what is public of them."""
    choices: dict[int | None, Choice]
    """What draws, by k."""
    first: Choice
    """One for all, or that of the first group."""
    sizes: dict[Hashable, int | None] | None
    """k by group, where each has its own."""
    guarantee: Guarantee
    """What one user is promised of all of it."""
    share: base.Budget
    """What each group may cost."""
    charge: Guarantee
    costs: dict[Guarantee, Guarantee]
    """The charges of single groups, each different one once, and the guarantee beside each."""

    def k_of(self, key: Hashable) -> int | None:
        """Return k of a group."""
        return self.query.k if self.sizes is None else self.sizes[key]

    def reserve(self, note: str, *, secure: bool) -> Reservation:
        """Reserve the charge in the ledger, before anything is looked at. Of groups nothing of it comes back."""
        (mechanism, _, keeps_order, _), scores, least = self.first, self.accepted, self.query.at_least
        assert not isinstance(scores, Facts)
        assert self.query.ledger is not None
        order = "as a set" if mechanism.ordered and not keeps_order else ""
        rest = "" if least is None else f"noisy values below {least!r} left out"
        said = "; ".join(filter(None, (note, order, rest)))
        return self.query.ledger.reserve(
            self.charge,
            self.guarantee,
            refundable=mechanism.refundable if isinstance(scores, Scores) else (),
            purpose=self.query.purpose,
            mechanism=repr(mechanism) if isinstance(scores, Scores) else describe_groups(self, scores),
            unit=f"{scores.unit} ({scores.neighbours})",
            source=base.ledger_note(_sources(scores), largest=not scores._negated, secure=secure, said=said),
        )

    def draw(self, scores: Any, random: Source, reservation: Reservation | None) -> Release | GroupedRelease:
        """Draw from scores that were accepted and paid for, exactly: once for each group."""
        if scores is not self.accepted and _costs(scores, self.choices, self.k_of) != self.costs:
            raise ValueError("the candidates changed between the charge and the count; nothing was drawn")
        if isinstance(scores, Scores):
            cost = self.guarantee, self.charge
            release = self.first.mechanism._sample_and_release(scores, random, reservation, cost)
            return self.present(release, self.first, self.query.k)
        ks = [self.query.k] * scores._number if self.sizes is None else list(map(self.k_of, scores.groups))
        with np.errstate(all="ignore"):  # whatever a caller makes of floats that run out would tell of the scores
            drawn = [self.choices[k].mechanism._draw(scores._group(n), random) for n, k in enumerate(ks)]
        named = scores._name([Pick(n, outcome.indices or (), outcome.by_weight) for n, outcome in enumerate(drawn)])
        listed = [n for n, names in enumerate(named) if scores.public_groups or names]
        keys = scores.groups if scores.public_groups else scores._names.keys(listed)
        releases = {}
        for key, n in zip(keys, listed, strict=True):
            choice, part, items = self.choices[ks[n]], scores._group(n), None if drawn[n].indices is None else named[n]
            cost = choice.mechanism._privacy_cost(part)
            release = choice.mechanism._make_release(part, drawn[n], items, cost, secure=random.secure)
            frame = scores._frame  # of the whole table: one list has no columns of the key
            frame = release.frame if frame is None else Frame(frame.engine, frame.types[len(scores.by) :])
            releases[key] = self.present(replace(release, frame=frame, guarantee=self.share), choice, ks[n])
        mechanism, why, *_ = self.first
        return GroupedRelease(
            releases=releases,
            by=scores.by,
            groups_per_user=scores.groups_per_user,
            guarantee=self.guarantee,
            charge=self.charge if reservation is None else reservation.guarantee,
            per_group=self.share,
            unit=scores.unit,
            neighbours=scores.neighbours,
            secure=random.secure,
            mechanism=f"{mechanism.name}, on negated scores" if scores._negated else mechanism.name,
            why=f"auto: {why}" if why else "named by the caller",
            notes=_notes(scores),
            receipt=None if reservation is None else reservation.receipt(),
            frame=scores._frame if scores.by else None,
            item_columns=scores._template.columns,
        )

    def present(self, release: Release, choice: Choice, k: int | None) -> Release:
        """Return what is shown of one list: with the reason, and without what was not asked for.

        It was drawn in this very call: nobody else holds it, so it is changed in place.
        """
        query, why = self.query, release.why
        if release.ordered and not choice.keeps_order:
            release = release.as_set()
        extras, notes = release.extras, release.notes
        if choice.why:
            why = choice.why if query.call == "keys" else f"auto: {choice.why}"
        if query.call == "quantile":
            shared: Any = self.accepted
            in_group = " in a group" * isinstance(shared, GroupedScores)
            notes = (*notes, OUTSIDE, *[SHARED + in_group] * (shared._template.largest_sensitivity > 1))
        elif query.call != "keys":
            extras = replace_fields(extras, asked=None if k is None else int(k))
        release = set_fields(release, why=why, extras=extras, notes=notes)
        return release if query.at_least is None else drop_below(release, query.at_least)


def make_plan(query: Query, budget: base.Budget, scores: Scores | GroupedScores | Facts) -> Plan:
    """Return what runs and what it costs. Refuse what does not fit, from public facts alone."""
    facts = scores if isinstance(scores, Facts) else Facts(scores.public, scores.most, scores._weights is not None)
    if not isinstance(scores, GroupedScores):
        first = choose(query, facts, query.k, budget)
        mechanism, choices = first.mechanism, {query.k: first}
        costs = {mechanism.charge: mechanism.guarantee} if isinstance(scores, Facts) else _costs(scores, choices)
        [(charge, guarantee)] = costs.items()
        return Plan(query, scores, choices, first, None, guarantee, budget, charge, costs)
    if not scores.public_groups and (query.values or query.gaps):
        raise bad_value("values and gaps need public groups: give $groups=[...] to count, or leave them out")
    sizes, many = _sizes(scores, query.k), scores.groups_per_user
    numbers = [query.k] if sizes is None else list(dict.fromkeys(sizes.values()))

    def plan(share: base.Budget) -> Plan:
        choices = {number: choose(query, facts, number, share) for number in numbers}
        whole = Plan(query, scores, choices, choices[numbers[0]], sizes, budget, share, share, {})
        costs = _costs(scores, choices, whole.k_of)
        charge = next(iter(costs)) if len(costs) == 1 else share
        return replace(whole, charge=charge.repeat(many), costs=costs)

    plain = plain_share(budget, many)
    share = larger_share(budget, many, lambda part: choose(query, facts, numbers[0], part).mechanism.charge) or plain
    made = plan(share)
    if share != plain and (len(made.costs) > 1 or budget.excess(made.charge) > 0):
        return plan(plain)  # groups are not all charged what the larger share was reckoned by
    return made


def _costs(
    scores: Scores | GroupedScores,
    choices: dict[int | None, Choice],
    k_of: Callable[[Hashable], int | None] = lambda key: None,
) -> dict[Guarantee, Guarantee]:
    """Return the charges of single lists and the guarantee beside each; refuse lists that do not fit."""
    costs: dict[Guarantee, Guarantee] = {}

    if isinstance(scores, Scores) or (scores._names is not None and not (scores.public_groups and scores.public)):
        for choice in choices.values():  # one list, or groups that are all alike in public
            guarantee, charge = choice.mechanism._price(scores._template)
            costs.setdefault(charge, guarantee)
        return costs
    seen: set[tuple[int | None, int]] = set()
    for group, key in enumerate(scores.groups):
        k, part = k_of(key), scores._group(group)
        # of groups in one table only these two differ in public; lists of their own may differ in anything
        if scores._names is None or part.numbered or (k, part._size) not in seen:
            seen.add((k, part._size))
            guarantee, charge = choices[k].mechanism._price(part)
            costs.setdefault(charge, guarantee)
    return costs


def plain_share(budget: base.Budget, many: int) -> base.Budget:
    """Return what each group may cost, if one user is in `many`: epsilons, rhos and deltas add up. Rounded down."""
    return type(budget)(*(_part(number, many) for number in astuple(budget)))


def larger_share(budget: base.Budget, many: int, charge_of: Callable[[Any], Guarantee]) -> base.Budget | None:
    """Return what fits by the composition of what is charged for one share, where that is more; None otherwise.

    Half of an (epsilon, delta) budget's delta is for the groups' own, and half for the conversion. It is a proposal:
    groups whose charges are others need a check of their own.
    """
    if many == 1 or not isinstance(budget, ApproxDP):
        return None
    epsilon, delta = _part(budget.epsilon, many), _part(budget.delta, 2 * many)

    def together(epsilon: float) -> Guarantee:
        return charge_of(ApproxDP(epsilon, delta)).repeat(many)

    if not delta or not epsilon or budget.excess(together(1.05 * epsilon)) > 0:
        return None
    return ApproxDP(calibrate(together, budget, near=1.05 * epsilon), delta)


def _part(number: float, many: int) -> float:
    """Return the largest float of which `many` are not above the number."""
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


def warn(plan: Plan) -> None:
    """Warn once where an epsilon or a delta promises nothing, unless that was written down."""
    epsilon = 0.0 if plan.query.allow_large else as_epsilon(plan.guarantee)
    delta = getattr(plan.share, "delta", 0.0) if plan.first.names_from_data else 0.0
    if delta > LARGE_DELTA:
        less = "write a delta well below one over the number of people"
        _warn(f"$delta={delta:g} lets one person's own item out with that chance; {less}")
    if epsilon > ABSURD_EPSILON:
        _warn(
            f"an epsilon above {ABSURD_EPSILON:g} promises nobody anything: see sl.risk({epsilon:g}), "
            "and write a smaller one; or allow_large=True if the data are public or made up"
        )


def _warn(text: str) -> None:
    """Warn of the line that called the package."""
    frame, calls = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "shortlist":
        frame, calls = frame.f_back, calls + 1
    warnings.warn(PrivacyWarning(Text(text)), stacklevel=calls)


def drop_below(release: Release, at_least: float) -> Release:
    """Return the release without items whose released value is below: a function of what was released, and free."""
    places = [i for i, value in enumerate(release.values or ()) if value >= at_least]

    def pick(cells: list[Any] | None) -> list[Any] | None:
        return None if cells is None else [cells[i] for i in places]

    extras, note = release.extras, f"items with a noisy value below {at_least:,.12g} are left out"
    extras = replace(extras, values=pick(extras.values), margins=pick(extras.margins), gaps=pick(extras.gaps))
    return replace(
        release, items=pick(release.items), indices=pick(release.indices), notes=(*release.notes, note), extras=extras
    )


def describe_groups(plan: Plan, scores: GroupedScores) -> str:
    """Return which mechanism draws for which groups, for a ledger: an approval is for these lists alone."""
    parts = []
    for number, choice in plan.choices.items():
        keys = [] if scores._keys is None else [key for key in scores._keys if plan.k_of(key) == number]
        groups = ", ".join(map(repr, keys)) or "every group in the data"
        parts.append(f"k={number} by {choice.mechanism!r} for {groups}")
    text = "; ".join(parts)
    if len(text) > LONGEST_NOTE:
        others = " and others" * (len(parts) > 1)
        digest = hashlib.sha256(text.encode()).hexdigest()
        text = f"{plan.first.mechanism!r}{others} for {len(scores)} groups, in full words of sha256 {digest}"
    return f"{text}; {scores.groups_per_user} per {scores.unit}"


def _sources(scores: Scores | GroupedScores) -> str:
    """Return where the scores come from, for a ledger; of lists that are not alike in it, each one's own."""
    if isinstance(scores, Scores) or scores.by:
        return base.source_of(scores._template)
    parts = [base.source_of(scores._group(n)) for n in range(scores._number)]
    if len(set(parts)) == 1:
        return parts[0]
    text = "; ".join(f"list {place}: {words}" for place, words in enumerate(parts))
    if len(text) <= LONGEST_NOTE // 2:
        return text
    digest = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
    return f"{len(parts)} lists, in full words of sha256 {digest}"


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
