"""What is said where a ledger cannot be used, or where nobody knows yet whether it was charged."""

from __future__ import annotations


class LedgerError(Exception):
    """The ledger cannot be used: it is missing, damaged, locked, full, or none. Nothing was booked or looked at.

    `OutcomeUnknown` alone is otherwise.

    Examples
    --------
    >>> import shortlist as sl
    >>> try:
    ...     sl.Ledger.open("no-such-folder/year.db")
    ... except sl.privacy.LedgerError as error:
    ...     print("nothing was booked")
    nothing was booked
    """


class OutcomeUnknown(LedgerError):  # noqa: N818 - the name users read
    """The connection was cut while a server booked. Nothing was looked at; whether it was booked `Ledger.find` settles.

    Parameters
    ----------
    path
        The ledger, without passwords.
    receipt
        What to ask by: `ledger.find(unknown.receipt)` is the entry, or None; then it will never be booked.

    Examples
    --------
    >>> from shortlist.privacy import OutcomeUnknown
    >>> print(OutcomeUnknown("postgresql://bookkeeper/budgets?name=q4", "5c1e"))
    unknown, check: the connection to postgresql://bookkeeper/budgets?name=q4 was cut while it booked. Nothing was \
looked at. `shortlist ledger find LEDGER 5c1e`, or ledger.find("5c1e"), says whether it was booked
    """

    def __init__(self, path: str, receipt: str) -> None:
        super().__init__(path, receipt)
        self.path, self.receipt = path, receipt

    def __str__(self) -> str:
        return (
            f"unknown, check: the connection to {self.path} was cut while it booked. Nothing was looked at. `shortlist "
            f'ledger find LEDGER {self.receipt}`, or ledger.find("{self.receipt}"), says whether it was booked'
        )


def damaged(path: str, how: str) -> LedgerError:
    """The error for a ledger that is not what was written, with what to do."""
    return LedgerError(
        f"{path} is damaged or was edited: {how}. Go on from a good copy whose head you know, or start a new ledger "
        "with what is left"
    )
