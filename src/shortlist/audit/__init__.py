"""Trust by test: certified proofs on a box of neighbors, and a statistical attack on any mechanism."""

from shortlist.audit.attack import AuditResult, audit
from shortlist.audit.certified.base import Law
from shortlist.audit.prove import Proof, alike, certify, neighbours, prove, prove_mechanism, prove_pate

__all__ = [
    "AuditResult",
    "Law",
    "Proof",
    "alike",
    "audit",
    "certify",
    "neighbours",
    "prove",
    "prove_mechanism",
    "prove_pate",
]
