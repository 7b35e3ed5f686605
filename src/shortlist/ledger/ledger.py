"""A privacy budget that nobody can overdraw."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from shortlist._runtime import forward, kind_of_words, lazy_import
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, count, number
from shortlist.errors import bad_value
from shortlist.ledger import chain
from shortlist.ledger import filter as rules
from shortlist.ledger.chain import LedgerEntry, LedgerError, Store
from shortlist.ledger.filter import Balance, Currency, State, Terms

if TYPE_CHECKING:
    from shortlist.pages.standing import Standing

STANDING = "shortlist.pages.standing"
"""What tells people how a ledger stands. It is loaded when somebody reads: no charge depends on it."""
SCHEMES = ("postgresql://", "postgres://")


def on_server(path: object) -> bool:
    """Whether an address is that of a server."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def of_server(name: str) -> Any:
    """Return a name of the module for servers, if its library is installed."""
    try:
        return lazy_import("shortlist.ledger.postgres", name)
    except ImportError:
        pass
    raise LedgerError("a ledger on a server needs psycopg: pip install 'shortlist[postgres]'")


def public_path(path: str) -> str:
    """A path or an address for people: without what may be a password."""
    return str(of_server("Address").of(path)) if on_server(path) else path


def open_store(path: str | os.PathLike[str], wait: float, terms: Callable[[], Terms] | None) -> Store[Any]:
    """Open the ledger there; if there is none, make it with these terms."""
    if on_server(path):
        return of_server("PostgresStore").at(path, wait, terms)
    place = chain.check_path(path)
    if terms is not None and not os.path.lexists(place):
        lazy_import("shortlist.ledger.sqlite", "make")(place, terms())
    return lazy_import("shortlist.ledger.sqlite", "SqliteStore")(place, wait)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a charge was booked, and how the ledger stood right after it. Public: it says nothing of the data.

    Parameters
    ----------
    ledger
        The name of the file, without its folder.
    entry
        The number of the charge in it.
    budget
        The ledger's budget, in words.
    spent, remaining
        The balances right after the charge, or after its refund.
    head
        The hash of the last entry then.
    purpose
        What it was for.
    balance
        How the ledger stood right after it, in one number, in words.

    Examples
    --------
    >>> import tempfile
    >>> import shortlist as sl
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sl.Ledger(f"{folder.name}/year.db", budget=sl.PureDP(3.0))
    >>> receipt = sl.select([9, 1], epsilon=0.5, ledger=ledger, purpose="weekly chart").receipt
    >>> receipt.ledger, receipt.entry, receipt.remaining
    ('year.db', 1, Balance(epsilon=2.5, delta=0.0))
    >>> folder.cleanup()
    """

    ledger: str
    entry: int
    budget: str
    spent: Balance
    remaining: Balance
    head: str
    purpose: str
    balance: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A worst case that was booked. If nothing is refunded, or the process dies, it stays spent.

    It only says which entry that is: what may come back is decided by the file. `Ledger.reserve` makes it.

    Parameters
    ----------
    number, hash
        Which entry it is.
    purpose
        What it was booked for.
    guarantee
        What was booked.

    Examples
    --------
    >>> import tempfile
    >>> from shortlist import Ledger, PureDP
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/year.db", budget=PureDP(3.0))
    >>> ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(PureDP(0.25))
    >>> ledger.spent
    Balance(epsilon=0.25, delta=0.0)
    >>> folder.cleanup()
    """

    _ledger: Ledger
    number: int
    hash: str
    purpose: str
    guarantee: Guarantee
    _stood: State

    def receipt(self) -> Receipt:
        """This charge, and how the ledger stood right after it or after its refund.

        From memory: the release stands, and must not fail if the ledger is gone by now.
        """
        ledger, terms, here = self._ledger, self._ledger.terms, self._stood
        spent, left = rules.balance(here.total, terms.order), rules.balance_left(terms, here.total)
        words = str(lazy_import(STANDING, "Standing").of_state(terms, here))
        return Receipt(ledger.name, self.number, str(terms), spent, left, here.head, self.purpose, words)

    def refund(self, kept: Guarantee) -> None:
        """Give back what is booked beyond `kept`, in the currencies where that is proved; once.

        `kept` must follow from the released output alone, by a rule fixed before the call. `ExPost(epsilon, cost)`
        keeps `cost` of an epsilon, in the pure currency alone.

        Raises
        ------
        ValueError
            if more is kept than was reserved, or it was refunded before.
        """
        ledger, terms = self._ledger, self._ledger.terms
        spent = rules.outcome_cost(kept, terms.order).where(terms.limits)
        after = ledger._store.refund(self.number, self.hash, spent, chain.check_text("guarantee", repr(kept)))
        object.__setattr__(self, "_stood", after)


__all__ = ["Ledger", "Receipt", "Reservation"]


class Ledger:
    """What has been spent of a budget, in one file or on one server, for any number of processes and threads.

    Promise: everything that is released against the ledger together keeps the budget, however each question was
    chosen after the answers before it; and no charge that was booked is ever forgotten, whatever crashes.

    Admission: the charges' deltas add up to at most the budget's share for them, and (a) their epsilons add up to at
    most epsilon, or (b) their rhos add up to at most the rho that converts to the budget. All sums are exact; the proof
    is in docs/ledger.md. `print(ledger)` says how it stands. `Ledger.open` is the same for one that must be there.

    Parameters
    ----------
    path
        The file, or "postgresql://user@host/database?name=q4" for one that many machines share (docs/deploy.md). If it
        is not there it is made, for the given budget.
    budget
        `PureDP`, `ZCDP` or `ApproxDP`. Left out, it is read from the ledger; another one than that is refused.
    split
        For `ApproxDP`: the share of delta kept for rule (b); the rest is for the charges' own deltas. Half, unless the
        first charge has more than the rest: then rule (a) goes alone, and all of delta is for the charges.
    order
        For `ApproxDP`: let rule (b) add up Renyi divergences of this one order instead of rhos.
    approval
        Whether each release waits until somebody with another user name has approved it (docs/ledger.md#approval).
    allow_mixed_neighbors
        Add up charges for `neighbours="add-remove"` and for "replace", which is refused otherwise: their sum bounds
        neither (docs/ledger.md#neighbors).
    wait
        How many seconds each call waits, at most, for others that hold it; an interrupt ends the wait at once.

    Raises
    ------
    LedgerError
        if it cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from shortlist import PureDP
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/year.db", budget=PureDP(3.0))
    >>> ledger.charge(PureDP(0.5), purpose="weekly chart")
    >>> print(ledger)
    booked: epsilon 0.5 of 3, 1 release; a charge of up to epsilon 2.5 would still be admitted
    >>> folder.cleanup()
    """

    __slots__ = ("_store",)

    @kind_of_words(
        "Ledger",
        epsilon="; write budget=PureDP(3.0), or budget=ApproxDP(3.0, 1e-6)",
        delta="; write budget=ApproxDP(3.0, 1e-6)",
        rho="; write budget=ZCDP(0.5)",
    )
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
        approval: bool | None = None,
        allow_mixed_neighbors: bool | None = None,
        wait: float = chain.WAIT,
    ) -> None:
        patience, wanted = number("wait", wait), (budget, split, order, approval, allow_mixed_neighbors)
        self._store = open_store(path, patience, None if budget is None else lambda: Terms.of(*wanted))
        self.terms.check_same(*wanted)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
        wait: float = chain.WAIT,
    ) -> Self:
        """A ledger that is there already. It is never made; terms that are given are compared with the file's.

        Raises
        ------
        LedgerError
            if there is no such file, or it cannot be used.
        ValueError
            if its terms are others.
        """
        ledger = cls(path, wait=wait)
        ledger.terms.check_same(budget, split, order)
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Hang up. The ledger may be used again: the next call opens what it needs."""
        self._store.close_connections()

    def __repr__(self) -> str:
        return f"Ledger({self.path!r}, budget={self.budget})"

    def __str__(self) -> str:
        """How it stands, in one number; of a closed one first that it is; below, its delta."""
        return str(lazy_import(STANDING, "describe_ledger")(self.terms, self.closed, self._store.state()))

    path: str = forward("_store.path")
    """Where it is: the file, or the server's address without any password."""
    name: str = forward("_store.name")
    """In short: the name of the file without its folder, or that of the ledger on its server."""
    terms: Terms = forward("_store.origin.terms")
    """Budget, split, order and exact limits, as fixed when the ledger was made."""
    budget: Guarantee = forward("_store.origin.terms.budget")
    """What all releases together keep."""

    @property
    def closed(self) -> str:
        """That it was closed for good, on which day and why, or where it goes on; empty for one that still books."""
        if not (why := self._store.state().closed):
            return ""
        days = [entry.time[:10] for entry in self._store.newest(2) if entry.kind in ("close", "moved")]
        return f"closed for good on {min(days)}: {why}"

    @property
    def standing(self) -> Standing:
        """What is booked of the budget, in one number, and the largest pure charge that would be admitted now."""
        return self._standing(self._store.state())

    @property
    def spent(self) -> Balance:
        """The filter's sums, rounded up."""
        return rules.balance(self._store.state().total, self.terms.order)

    @property
    def remaining(self) -> Balance:
        """What each rule still admits, rounded down; nothing once it is closed."""
        here = self._store.state()
        left = rules.balance_left(self.terms, here.total)
        return Balance(**{name: value and 0.0 for name, value in asdict(left).items()}) if here.closed else left

    @property
    def head(self) -> str:
        """The hash of the last entry. Whoever has kept it can tell whether entries vanished: `verify(head=...)`."""
        return self._store.state().head

    def plan(self, releases: int, *, delta: float = 0.0) -> PureDP | ApproxDP | ZCDP:
        """What each of so many equal releases may spend, all of them together all that is left: a `budget=` for each.

        It is rounded down, so that they are all admitted, and one more, or a hair more each, is not (Theorem 219). It
        is an epsilon by rule (a), or a rho where rule (b) admits more. Nothing is booked: others may take the room.

        Parameters
        ----------
        releases
            How many there are to be.
        delta
            What each needs of its own beside that, as releases of names from the data do.

        Raises
        ------
        ValueError
            if nothing is left, or less delta than that.
        """
        n, own = count("releases", releases), number("delta", delta, below=1.0)
        return lazy_import(STANDING, "share_of")(self.terms, self._open_state(), n, own)

    def charge(
        self, guarantee: Guarantee, *, purpose: str = "", mechanism: str = "", unit: str = "", source: str = ""
    ) -> None:
        """Book what is going to be released, here or elsewhere, before its output is seen. It is on the disk then.

        `guarantee` is what it costs; `purpose`, `mechanism`, `unit` and `source` (which table and columns) are words
        that are noted with it. End `unit` with "(add-remove)" or "(replace)" to state the neighboring relation: a
        charge that states none is added up without a check.

        Raises
        ------
        BudgetExceeded
            if there is no room: nothing is booked.
        ApprovalNeeded
            if somebody else must approve it first: nothing is booked but the request.
        ValueError
            if a guarantee of this kind cannot be counted against this budget, or it is for another neighboring relation
            than the charges before it, with the reason.
        OutcomeUnknown
            if a server was asked to book and the connection was cut: `find` settles it.
        LedgerError
            if the ledger cannot be used.
        """
        self.reserve(guarantee, purpose=purpose, mechanism=mechanism, unit=unit, source=source)

    def reserve(
        self,
        guarantee: Guarantee,
        *others: Guarantee,
        refundable: Iterable[Currency] = (),
        purpose: str = "",
        mechanism: str = "",
        unit: str = "",
        source: str = "",
    ) -> Reservation:
        """Book the worst case, part of which may come back when the output shows that it was not used.

        `others` are other true statements of the same release: the first of all that has room is booked (Theorem 223).
        `refundable` names the currencies in which the refund is proved: "pure" if the log ratio of every output is at
        most its own cost, "zcdp" if unused rounds are rounds that were not run (Theorem 38). In the others nothing
        comes back; a delta never does.
        """
        said = chain.describe_charge(refundable, purpose=purpose, mechanism=mechanism, unit=unit, source=source)
        costs = rules.countable_costs(self.terms, (guarantee, *others))
        offers = [(cost, {**said, "guarantee": chain.check_text("guarantee", repr(one))}) for one, cost in costs]
        after, which = self._store.charge(offers)
        return Reservation(self, after.number, after.head, purpose, costs[which][0], after)

    def approve(self, request: int) -> None:
        """Approve the release that was asked for as entry `request`, as somebody else. It is noted in the chain.

        Whoever asked asks the same again, and it is released and charged.

        Raises
        ------
        ValueError
            if there is no such request, it was approved before, or the same user name asked for it.
        """
        self._store.approve(request)

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last `charge` or `reserve` of this object booked after `head`, or None.

        For whoever was interrupted in a charge: keep `head` before it, and ask after it. The ledger decides, not
        memory. One thread at a time may charge between the two.
        """
        store = self._store
        entry = store.find(store.tried) if store.tried else None
        if entry is None or entry.kind != "charge":
            return None
        kept = store.find(head) if len(head) == 64 else None
        if kept is None and head != store.origin.hash:
            raise bad_value("$head must be one of this ledger: keep ledger.head before the charge")
        return entry.number if kept is None or kept.number < entry.number else None

    def find(self, receipt: Receipt | str) -> LedgerEntry | None:
        """The entry of a `receipt`: a release's, an entry's hash or that of an `OutcomeUnknown`; None if there is none.

        None settles it: it was not booked and never will be, whatever of it is still under way to a server.
        """
        if not isinstance(receipt, Receipt):
            return self._store.find(chain.check_token(receipt))
        entry = next(iter(self._store.after(receipt.entry - 1, 1)), None)
        same = entry is not None and (entry.number, entry.purpose) == (receipt.entry, receipt.purpose)
        return entry if same and self._store.find(chain.check_token(receipt.head)) is not None else None

    def close(self, reason: str | None = None) -> None:
        """End the budget for good: nothing is booked from now on, and the `reason` is noted. Only an owner may.

        Nothing needs closing: between two calls a ledger holds nothing open, and the charges are on the disk.
        """
        if reason is None:
            raise TypeError('close ends this budget for good; if that is meant, say why: close("the quarter is over")')
        self._store.close("close", chain.check_text("purpose", reason), "")

    def grant(self, role: str) -> None:
        """Let a `role` of the server charge and read, and nothing else. Only the owner may, and only on a server."""
        self._store.share(role, allowed=True)

    def revoke(self, role: str) -> None:
        """Take back what `grant` gave a `role`."""
        self._store.share(role, allowed=False)

    def if_charged(self, guarantee: Guarantee, *, unit: str = "") -> tuple[Balance, Balance]:
        """(spent, remaining) as they would be after this charge; raises as `charge` would. Nothing is booked."""
        total = rules.after_charge(self.terms, self._open_state(), guarantee, unit=unit).total
        return rules.balance(total, self.terms.order), rules.balance_left(self.terms, total)

    def standing_if(self, guarantee: Guarantee, *, unit: str = "") -> Standing:
        """The `standing` as it would be after this charge; raises as `if_charged` does."""
        return self._standing(rules.after_charge(self.terms, self._open_state(), guarantee, unit=unit))

    def _standing(self, here: State) -> Standing:
        return lazy_import(STANDING, "Standing").of_state(self.terms, here)

    def with_room(self, *guarantees: Guarantee) -> Guarantee:
        """The first of `guarantees`, true statements of one release, that would be admitted now, or else the first."""
        here = self._store.state()
        return next((one for one in guarantees if rules.is_admitted(self.terms, here, one)), guarantees[0])

    def within(self, budget: PureDP | ApproxDP | ZCDP) -> PureDP | ApproxDP | ZCDP:
        """The budget, or what is left where only rounding parts them: a tenth 0.1 of 1 is 0.09999999999999995."""
        return rules.clip_to_left(self.terms, self._store.state(), budget)

    def check(self, guarantee: Guarantee, *others: Guarantee, unit: str = "", fresh: bool = True) -> None:
        """Raise as `reserve` of these would; it books nothing and promises no room.

        Parameters
        ----------
        guarantee, others
            True statements of one release, of which one must have room.
        unit
            Whose privacy, and by which neighboring relation, as in `charge`.
        fresh
            False goes by what this object saw last, without another look.
        """
        rules.after_charge(self.terms, self._open_state(fresh=fresh), guarantee, *others, unit=unit)

    def _open_state(self, *, fresh: bool = True) -> State:
        """Return where it stands, or stood when it was last seen; raise as a charge would if it was closed."""
        here = self._store.state() if fresh else self._store.seen
        chain.check_open(self.path, here)
        return here

    def verify(self, head: str | None = None) -> int:
        """Read every entry again: the chain, the sums, the rule at every step. Returns how many entries there are.

        Parameters
        ----------
        head
            A `head` kept from earlier: it must still be in the chain. Only so are a cut tail and a restored backup
            found, whose chain is whole.

        Raises
        ------
        LedgerError
            naming the first entry that is wrong.
        """
        return self._store.verify(head)

    def entries(self, last: int | None = None) -> list[LedgerEntry]:
        """The entries, oldest first; with `last`, the newest so many of them."""
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 0):
            raise ValueError("last must be a whole number, 0 or more: write last=20, for example")
        return self._store.newest(chain.MOST_ENTRIES if last is None else min(last, chain.MOST_ENTRIES))

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write a page for whoever answers for the budget, and its table as CSV beside it (`q4.html`, `q4.csv`).

        Every release, who asked, what for, from which table and columns; what the whole budget can give away, and
        what is booked of it; what is left; and that the chain was verified. For its owner's eyes alone (mode 0600).

        Parameters
        ----------
        path
            The page, ending in `.html`.
        title
            Its heading; the name of the ledger if left out.
        """
        lazy_import("shortlist.pages.ledger_page", "write_ledger")(self, path, title)
