"""Labels on which a crowd of models agrees: `PATE` and `MultiLabelPATE`."""

from shortlist.mechanisms.votes import PATE, MultiLabelPATE

__all__ = ["PATE", "MultiLabelPATE"]
