"""What a release promises, as values."""

from shortlist.privacy.guarantees import BoundedRange, Guarantee, PureDP

__all__ = ["BoundedRange", "Guarantee", "PureDP"]
