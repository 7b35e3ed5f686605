"""Trust: exact proofs on a box of neighbours, a statistical attack on anything, and what both have caught."""

from shortlist.audit.attack import Found, audit

__all__ = ["Found", "audit"]
