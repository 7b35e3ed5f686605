"""Run by dp-accounting's own interpreter: epsilons of `RepeatAndSelectDpEvent` at one delta, its default orders."""

import json
import math
import sys

from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.rdp import RdpAccountant

BASES = {
    "gaussian": (dp_event.GaussianDpEvent(2.0), NeighboringRelation.ADD_OR_REMOVE_ONE),
    "pure": (dp_event.RandomizedResponseDpEvent(2 / (1 + math.e), 2), NeighboringRelation.REPLACE_ONE),
}
epsilons = []
for base, mean, shape in json.loads(sys.argv[1]):
    one, relation = BASES[base]
    books = RdpAccountant(neighboring_relation=relation)
    books.compose(dp_event.RepeatAndSelectDpEvent(one, mean, float(shape)))
    epsilons.append(float(books.get_epsilon(float(sys.argv[2]))))
print(json.dumps(epsilons))
