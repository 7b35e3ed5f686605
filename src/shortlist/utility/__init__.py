"""Exact utility: how likely a mechanism is right, and how much of what it releases is.

One module for each family of mechanisms. `DISTRIBUTIONS` of a module says, by the name of a class, which function
makes the exact distribution of its output from (mechanism, public scores). The mechanisms themselves do not import
this package: `shortlist.mechanisms.utility` asks here when a user calls a method such as `success_probability`.
"""

from importlib import import_module
from typing import Any

FAMILIES = {"gaps": "race", "values": "race", "partition": "key_ranking"}
"""Modules of `shortlist.mechanisms` whose distributions stand in a module of another name here."""


def distribution(mechanism: object, scores: object) -> Any:
    """Return the exact distribution of what a mechanism releases for these public scores, which it has accepted.

    A class that is made of a mechanism has the distribution of that mechanism.
    """
    for kind in type(mechanism).__mro__:
        package, _, family = kind.__module__.rpartition(".")
        if package == "shortlist.mechanisms" and family != "base":
            table = import_module(f"shortlist.utility.{FAMILIES.get(family, family)}").DISTRIBUTIONS
            if kind.__name__ in table:
                return table[kind.__name__](mechanism, scores)
    raise TypeError(f"no exact distribution is known of {type(mechanism).__name__}")
