"""A release from a table that is paid for first: the charge is on the disk before a row of the table is read."""

from __future__ import annotations

from dataclasses import dataclass

from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Ledger
from shortlist.release import Release
from shortlist.sampling.entropy import SECURE, Source
from shortlist.scores import Scores


@dataclass(slots=True)
class Booked:
    """A charge for scores that are not counted yet. Whatever happens to the count, it stays; it pays for one draw."""

    mechanism: Mechanism
    accepted: Scores
    reservation: Reservation
    used: bool = False

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        accepted: Scores,
        ledger: Ledger,
        purpose: str,
        source: Source = SECURE,
        said: str = "",
    ) -> Booked:
        """Book what a release will cost, by what is public of it (`OpenTable.schema`); `said` is noted with it.

        Raises
        ------
        ValueError, TypeError
            if the question does not fit the mechanism: nothing is booked.
        BudgetExceeded, LedgerError
            as the ledger would: nothing is booked.
        """
        reservation = mechanism._check_and_reserve(accepted, ledger, purpose, secure=source.secure, said=said)
        assert reservation is not None
        return cls(mechanism, accepted, reservation)

    def release(self, scores: Scores, source: Source = SECURE) -> Release:
        """One exact draw from the scores that were paid for; what it shows unused goes back where that is proved."""
        if self.used:
            raise ValueError("this charge has paid for its draw already; book another one")
        self.mechanism._check_and_reserve(scores, None, "")
        if self.mechanism._privacy_cost(scores) != self.mechanism._privacy_cost(self.accepted):
            raise ValueError("the candidates changed between the charge and the count; nothing was drawn")
        self.used = True
        return self.mechanism._sample_and_release(scores, source, self.reservation)
