"""Trust by test: certified proofs on a box of neighbors, and a statistical attack on any mechanism."""

from shortlist.audit.attack import AuditResult, audit
from shortlist.audit.prove import Proof, prove_mechanism, prove_pate

__all__ = ["AuditResult", "Proof", "audit", "prove_mechanism", "prove_pate"]
