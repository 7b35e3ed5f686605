"""What a release has to say of its scores, whatever drew from them: public facts alone."""

from __future__ import annotations

from shortlist.scores import Scores
from shortlist.smallest import NOTE


def score_notes(scores: Scores, *, values: bool) -> tuple[str, ...]:
    """Which end of the scores it is about; and with values, what counts are counts of where each person keeps a few."""
    said = [NOTE] if scores._turned else []
    if values and scores.most is not None:
        items = "1 item" if scores.most == 1 else f"{scores.most:,} items"
        own = f"each {scores.unit} counts for {items} at most, drawn from their own"
        said.append(f"{own}: without this cap counts can be higher")
    return tuple(said)
