"""Trust: exact proofs on a box of neighbours, a statistical attack on anything, and the broken mechanisms it catches."""

from shortlist.audit.attack import Found, audit

__all__ = ["Found", "audit"]
