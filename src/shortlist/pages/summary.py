"""Guarantees, mechanisms and releases in a few sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from shortlist._text import terminal_safe
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, as_epsilon, number
from shortlist.errors import Text

if TYPE_CHECKING:
    from shortlist.release import GroupedRelease, Release


PRIORS = (0.01, 0.1, 0.5)
"""Probabilities that an attacker gave to one user being in the data, before the release."""

LARGE = 10.0
"""Above it an epsilon promises little."""

FALSE_POSITIVE_RATES = (0.01, 0.05, 0.1)
"""Shares of users outside the data whom an attacker is ready to accuse."""


@dataclass(frozen=True, slots=True)
class Risk:
    """Bounds that a guarantee puts on an attacker who knows all other rows. Each is a probability, rounded up."""

    guess: float
    """The probability of guessing whether one user is in the data, if that was a fair coin before the release."""
    posterior: tuple[tuple[float, float], ...]
    """(prior, largest posterior) probability that a user is in the data; empty if epsilon is infinite at delta 0."""
    power: tuple[tuple[float, float], ...]
    """(false positive rate, largest true positive rate) of a test whether a user is in the data."""

    @property
    def in_short(self) -> str:
        """What becomes of a fair guess."""
        return f"50% becomes at most {percent(self.guess)}"

    def __str__(self) -> str:
        return (
            "An attacker who knows everything else guesses whether one user is in the data: right at most "
            f"{percent(self.guess)} of the time (50% without the release)"
        )


def risk(guarantee: Guarantee | float) -> Risk:
    """Bound what an attacker who knows all other rows can learn about one user.

    guess = (1 + delta(0)) / 2. A prior p becomes a posterior of at most p e^epsilon / (1 - p + p e^epsilon) under pure
    DP. A test with false positive rate a has a power of at most 1 - tradeoff(a).

    Parameters
    ----------
    guarantee
        A guarantee, such as that of a release; or the epsilon of a pure one, as in `risk(1.0)`.

    Returns
    -------
    Risk
        with the probabilities `guess`, `posterior` and `power`; `str()` is a sentence.

    Raises
    ------
    ValueError
        If the argument is neither a guarantee nor a number above 0.

    Examples
    --------
    >>> print(risk(1.0).in_short)
    50% becomes at most 73.2%
    >>> round(risk(PureDP(1.0)).guess, 5)  # printed probabilities are rounded up
    0.73106
    """
    if not isinstance(guarantee, Guarantee):
        guarantee = PureDP(number("epsilon", guarantee, above=True))
    pure, guess = guarantee.epsilon_at(0.0), guess_probability(guarantee)
    afterwards = [_up(prior / (prior + (1 - prior) * math.exp(-pure))) if pure else prior for prior in PRIORS]
    posterior = () if math.isinf(pure) else tuple(zip(PRIORS, afterwards, strict=True))
    return Risk(guess, posterior, tuple((rate, _up(1.0 - guarantee.tradeoff(rate))) for rate in FALSE_POSITIVE_RATES))


def caution(guarantee: Guarantee) -> str:
    """A sentence on an epsilon that promises little; empty for others.

    >>> caution(PureDP(3.0))
    ''
    >>> caution(PureDP(12.0))[:37]
    'An epsilon above 10 promises little: '
    """
    if as_epsilon(guarantee) <= LARGE:
        return ""
    return (
        f"An epsilon above {LARGE:g} promises little: an attacker who knows everything else can be nearly certain "
        "about one user. Typical values are 0.1 to 3."
    )


def guess_probability(guarantee: Guarantee) -> float:
    """Return (1 + delta(0)) / 2, rounded up: the largest probability of guessing a fair coin."""
    apart = guarantee.delta_at(0.0)
    return _up((1.0 + apart) / 2) if apart else 0.5


def _up(chance: float) -> float:
    """Above what a few roundings to the nearest float took away."""
    return min(1.0, chance * (1 + 2.0**-49))


def percent(chance: float) -> str:
    """A chance as a percentage with one digit, rounded up: never below the truth.

    >>> percent(0.7310586), percent(0.5), percent(0.99999)
    ('73.2%', '50%', '100%')
    """
    tenths = round(chance * 1000)
    if tenths / 1000 != chance:  # the float of a decimal stands for it
        tenths = min(1000, math.ceil(Fraction(chance) * 1000))
    return f"{tenths / 10:g}%"


def in_short(guarantee: Guarantee) -> str:
    """A guarantee as a reader of a sentence expects it.

    >>> from shortlist import ApproxDP
    >>> in_short(ApproxDP(1.0, 1e-6))
    'ε = 1, δ = 1e-6'
    """
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP):
        return str(guarantee)
    size = f"ρ = {in_full(guarantee.rho)}" if isinstance(guarantee, ZCDP) else f"ε = {in_full(guarantee.epsilon)}"
    delta = getattr(guarantee, "delta", 0.0)
    return f"{size}, δ = {in_full(delta)}" if delta else size


def in_full(number: float) -> str:
    """A cost with all its digits: rounded to the nearest, it might say less than was paid.

    >>> in_full(1.0), in_full(1.0000004), in_full(1e-06)
    ('1', '1.0000004', '1e-6')
    """
    return repr(float(number)).removesuffix(".0").replace("e-0", "e-").replace("e+0", "e+")


RECORDED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\b(?P<name>[A-Z]\w*)(?=\((?:k=(?P<k>\d+)\b)?)""")
"""Texts in quotes, which stay as they are; names of classes with how many they were to choose, if that comes first."""
TOKENS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|.""", re.DOTALL)
"""Of how a mechanism is written: texts in quotes, and other characters one by one."""
READ, SHOWN = 20_000, 300
"""Characters of it that are read, and shown."""
HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def mechanism_in_words(recorded: str) -> str:
    """Without how it is set.

    >>> mechanism_in_words("MeasuredTopK(k=5, budget=PureDP(epsilon=1.0))"), mechanism_in_words("counted by hand")
    ('measured top-5', 'counted by hand')
    >>> mechanism_in_words("k=1 by NoisyMax(budget=PureDP(epsilon=1.0)) for 'NoisyMax(', 'CH'; 1 per user")
    "k=1 by noisy max for 'NoisyMax(', 'CH'; 1 per user"
    """
    words = RECORDED.sub(_class_words, recorded[:READ])
    shown, depth, before = "", 0, ""
    for token in TOKENS.findall(words[:READ]):  # without arguments
        if token == "(" and (depth or before.isalnum()):
            depth += 1
        elif token == ")" and depth:
            depth -= 1
        elif not depth:
            shown += token
        before = token
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…"


def _class_words(match: re.Match[str]) -> str:
    if match["name"] is None:
        return match[0]
    words = [word if word.isupper() and word[1:] else word.lower() for word in HUMPS.split(match["name"])]
    return " ".join(words).replace("top k", f"top-{match['k'] or 'k'}")


def first_of(release: Release) -> str:
    """Which items come first, where they come in order."""
    return "smallest" if release.largest is False else "best"


def in_words(release: Release | GroupedRelease) -> str:
    """From released and public facts alone; of many lists what all of them together can give away.

    >>> import shortlist as sl
    >>> sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True).summary[-75:]
    'right at most 73.2% of the time (50% without this release), at epsilon 1.0.'
    >>> sl.top_k([[900, 20], [7, 500]], k=1, epsilon=1.0, monotone=True).summary[:24]
    '2 lists, 2 items in all.'
    """
    replaces = release.neighbours == "replace"
    doubt = "which of two versions of the data of one {} was used" if replaces else "whether one {} is in the data"
    right, price = percent(guess_probability(release.guarantee)), _price(release.guarantee)
    guess = f"Best guess {doubt.format(release.unit)}: right at most {right} of the time (50% without this release)"
    candidates, receipt = candidates_in_words(release), release.receipt
    said = [came(release), f"{candidates}." if candidates else "", f"{guess}, at {price}.", caution(release.guarantee)]
    if receipt is not None:
        said.append(f"Entry {receipt.entry} of {receipt.ledger}; {receipt.balance or f'left: {receipt.remaining}'}.")
    return terminal_safe(" ".join(filter(None, said)))


NEEDS = re.compile(r"items with a noisy value below \S+ are left out|a name (?:must stand|needs) about [^(:;]*")
"""How notes say why others did not come out: where the bar stands for names from the data, or what was left out."""
PARTS = {0.25: "a quarter", 0.75: "three quarters", 0.1: "a tenth", 0.9: "nine tenths"}


def candidates_in_words(release: Release | GroupedRelease) -> str:
    """How many candidates there were, where the caller says that their names are public: nobody can check that."""
    lists, each = _lists(release), " for each list" if isinstance(release, Mapping) else ""
    known = sorted({one.candidates for one in lists if one.candidates is not None})
    if not known or any(one.candidates is None for one in lists):
        return ""
    many = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    return f"{many} candidate{'s' * (known[-1] != 1)}{each}, declared public by the caller"


def _lists(release: Release | GroupedRelease) -> list[Release]:
    return list(release.values()) if isinstance(release, Mapping) else [release]


def quantile_in_words(q: float) -> str:
    """What stands before a quantile, so that it reads as a sentence.

    Of a true quantile at most so many are below it, and at least so many at or below it: where many people share a
    value, only the second is near.

    >>> quantile_in_words(0.5), quantile_in_words(0.25), quantile_in_words(0.99)
    ('median', 'a quarter are at or below', '99% are at or below')
    """
    if q in (0.0, 0.5, 1.0):
        return {0.0: "smallest", 0.5: "median", 1.0: "largest"}[q]
    return f"{PARTS.get(q) or f'{100 * q:.6g}%'} are at or below"


UNORDERED = "A set, sorted by label: the order says nothing."


def notes_in_words(release: Release | GroupedRelease) -> list[str]:
    """The notes of a release as sentences, but for what its summary says in the same words."""
    summary = release.summary
    return [as_sentence(terminal_safe(note)) for note in release.notes if note not in summary]


MARGINS = "A margin is half of the interval around its value that covers the true one with a probability of 95%."


def note_of(release: Release | GroupedRelease) -> str:
    """What belongs to the numbers and is in no column: what came out, the guarantee, and how the values are meant.

    >>> import shortlist as sl
    >>> note_of(sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True)).partition(" Best guess")[0]
    '2 of 2 asked for.'
    """
    margins = [MARGINS] if "margin" in release.columns() else []
    return " ".join([release.summary, f"{release.line()}.", *margins, *notes_in_words(release)])


def why_in_words(release: Release | GroupedRelease) -> str:
    """Why this mechanism."""
    why, chosen = release.why.removeprefix("auto: "), release.why.startswith("auto: ")
    return as_sentence(f"Chosen by public facts alone: {why}" if chosen else why)


def remarks(release: Release | GroupedRelease) -> list[str]:
    """What a reader of the table has to know and cannot see in it, with what to write to get more, or less.

    A function of what was released. Of many lists each sentence once, and the notes that all of them have.

    >>> import shortlist as sl
    >>> remarks(sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True, ordered=True))
    []
    """
    if not isinstance(release, Mapping):
        return _remarks([release])
    lists = [one for one in release.values() if len(one)]
    notes = [note for one in lists[:1] for note in one.notes if all(note in other.notes for other in lists)]
    return [*_remarks(lists), *(as_sentence(terminal_safe(note)) for note in notes)]


def page_remarks(release: Release) -> list[str]:
    """The same for a page, whose reader can ask for nothing more."""
    return _remarks([release], hints=False)


def _remarks(lists: list[Release], *, hints: bool = True) -> list[str]:
    """In order; with `hints` also what to write to get more, or less."""
    lists = [one for one in lists if one.q is None and len(one)]
    sets = [one for one in lists if not one.ordered and len(one) > 1]
    said = []
    if any(one.k is not None and one.asked is None for one in lists):
        said.append("The data chose how many: behind them the scores fall off.")
    if sets and hints and all(one.asked is not None and one.why.startswith("auto: ") for one in sets):
        said.append(Text(f"{UNORDERED[:-1]}; an order is another release, and charged again: $ordered=True."))
    elif sets:
        said.append(UNORDERED)
    if any(disagree(one) for one in lists):
        said.append("Ranks and values have noise of their own and disagree here: such items are too close to tell.")
    if any(value < 0 for one in lists for value in one.values or ()):
        said.append("Noise can take a value below 0: read it as next to nothing.")
    pairs = [pair for one in lists for pair in zip(one.values or (), one.margins or (), strict=False)]
    widest = max((margin.half_width for value, margin in pairs if abs(value) < margin.half_width), default=0.0)
    if 0 < widest < math.inf:  # `at_least` leaves them out at once where it may be given
        fit = ((one.asked is not None and one.largest is not False) or "key set" in one.mechanism for one in lists)
        again = f"; next time $at_least={math.ceil(widest)} does so, but to ask again is charged again."
        out = again if hints and all(fit) else "."
        said.append(Text(f"A value below its ± says little: leave such items out by eye{out}"))
    return said


def disagree(release: Release) -> bool:
    """Whether the values of a list in order are in another one."""
    ranked = release.ordered and release.q is None and release.answers is None  # quantiles and questions have no ranks
    values = list(release.values or ()) if ranked else []
    return any(b < a if release.largest is False else a < b for a, b in pairwise(values))


def came(release: Release | GroupedRelease) -> str:
    """What came out, in a sentence: how many of those asked for, and why others did not."""
    many = len(release)
    if isinstance(release, Mapping):
        items, quantiles = sum(map(len, release.values())), any(one.q is not None for one in release.values())
        group, item = ("group", "quantile") if quantiles else ("list", "item")
        return f"{many:,} {group}{'s' * (many != 1)}, {items:,} {item}{'s' * (items != 1)} in all."
    if release.q is not None:
        return f"{many:,} quantile{'s' * (many != 1)}, as asked for."
    why, of = "", "came out" if release.asked is None else f"of {release.asked:,} asked for"
    if release.asked is None or many < release.asked:
        # What was left out was left out last. Public numbers, never the threshold itself.
        needs = next(filter(None, map(NEEDS.search, reversed(release.notes))), None)
        why = "" if needs is None else f": {needs[0].strip(' ,')}"
    return f"{many:,} {of}{', the smallest' if release.largest is False else ''}{why}."


def _price(guarantee: Guarantee) -> str:
    if not isinstance(guarantee, PureDP | ApproxDP | ZCDP):
        return str(guarantee)
    delta = getattr(guarantee, "delta", 0.0)
    size = f"rho {guarantee.rho}" if isinstance(guarantee, ZCDP) else f"epsilon {guarantee.epsilon}"
    return size + (f" and delta {in_full(delta)}" if delta else "")


def as_sentence(text: str) -> str:
    """With a capital letter, unless it begins with a name of Python's or of mathematics, and a full stop.

    >>> as_sentence("values are noisy"), as_sentence("Really?"), as_sentence("k = 3: enough")
    ('Values are noisy.', 'Really?', 'k = 3: enough.')
    """
    first = text.partition(" ")[0].rstrip(",:;")
    whole = text[:1].upper() + text[1:] if first.isalpha() and first != "k" else text
    return whole if whole.endswith((".", "?", "!")) else f"{whole}."


ALMOST = 0.9999
"""The most that a chance is printed as: nothing that is private is certain."""


def cost_text(value: float) -> str:
    """Three digits, rounded up.

    >>> cost_text(0.010701), cost_text(0.0107), cost_text(0.0), cost_text(math.inf)
    ('0.0108', '0.0107', 'any', 'none')
    """
    return {0.0: "any", math.inf: "none"}.get(value) or _digits(value, ROUND_CEILING)


def bound_text(value: float, digits: int = 3) -> str:
    """Three digits, rounded down.

    >>> bound_text(0.01079)
    '0.0107'
    """
    return _digits(value, ROUND_FLOOR, digits)


def chance_text(value: float) -> str:
    """Four places, rounded down, and never a certainty.

    >>> chance_text(0.99), chance_text(0.98999), chance_text(1.0)
    ('0.9900', '0.9899', '0.9999')
    """
    floor = Decimal(repr(min(value, ALMOST))).quantize(Decimal("0.0001"), ROUND_FLOOR)
    return f"{floor:.4f}"


def _digits(value: float, way: str, digits: int = 3) -> str:
    # repr is the shortest decimal that reads back as the float: 0.0107 is not to become 0.0108 for its last bit
    rounded = Context(prec=digits, rounding=way).create_decimal(repr(value))
    return f"{float(rounded):.{digits}g}"
