"""The mechanisms: random choices that know their guarantee before they see data.

One module for each family; its `__all__` has the classes for users. `base` has what all share (from scores to a
release, and the checks of arguments), `registry` the table of all, `utility` the methods for exact utility.
"""

from shortlist.mechanisms import (
    gaps,
    lists,
    partition,
    quantiles,
    race,
    sets,
    stable,
    threshold,
    unknown_domain,
    values,
)
from shortlist.mechanisms.base import Mechanism
from shortlist.mechanisms.gaps import *
from shortlist.mechanisms.lists import *
from shortlist.mechanisms.partition import *
from shortlist.mechanisms.quantiles import *
from shortlist.mechanisms.race import *
from shortlist.mechanisms.sets import *
from shortlist.mechanisms.stable import *
from shortlist.mechanisms.threshold import *
from shortlist.mechanisms.unknown_domain import *
from shortlist.mechanisms.values import *

FAMILIES = (gaps, lists, partition, quantiles, race, sets, stable, threshold, unknown_domain, values)

__all__ = ["Mechanism", *(name for family in FAMILIES for name in family.__all__)]
