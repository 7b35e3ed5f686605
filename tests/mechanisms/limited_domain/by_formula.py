"""Laws of the unknown-domain mechanisms on small histograms, by enumeration of their own, and all neighbours.

A histogram is a tuple of counts, one for each label that might exist; a count of 0 is an absent label. Outcomes are
tuples of labels; `#` says that the bar ended the list.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from math import exp
from typing import Any

import numpy as np

from shortlist.audit.certified import base


def working_list(h, limit, strict=True):
    """(labels of the list, c)."""
    order = sorted((i for i in range(len(h)) if h[i] > 0), key=lambda i: (-h[i], i))
    c = h[order[limit]] if len(order) > limit else 0
    return (tuple(i for i in order if h[i] > c) if strict else tuple(order[:limit])), c


def gumbel_law(h, k, limit, e, dummies, above=1, strict=True):
    """k rounds of the exponential mechanism over the list and a bar of weight dummies * e^(e (c + above))."""
    names, c = working_list(h, limit, strict)
    bar = dummies * exp(e * (c + above))
    law = {}
    for n in range(min(k, len(names)) + 1):
        for won in permutations(names, n):
            left, p = sum(exp(e * h[i]) for i in names) + bar, 1.0
            for i in won:
                p *= exp(e * h[i]) / left
                left -= exp(e * h[i])
            if n < k:
                p, won = p * bar / left, (*won, "#")
            law[won] = p
    return law


def exponential_law(h, k, limit, e, offset):
    """The same with one-shot exponential noise and the bar at c + 1 + offset; k = 1 or 2."""
    names, c = working_list(h, limit)
    scores = [e * h[i] for i in names] + [e * (c + 1 + offset)]
    if len(scores) == 1:
        return {("#",): 1.0}
    top = max(scores)
    law: dict[Any, float] = {}
    law_of_races = base.ordered_law([s - top for s in scores], k, "exponential", 1)
    for order, p in ((order, float(chance)) for order, chance in law_of_races.items()):
        won = []
        for place in order:
            won.append("#" if place == len(names) else names[place])
            if won[-1] == "#":
                break
        law[tuple(won)] = law.get(tuple(won), 0.0) + p
    return law


def canonical_law(h, k, limit, e, gamma, offset, above=1, strict=True):
    """P(y) ~ exp(e (gamma m(y) - (1 - gamma) M(y))) over the sets of at most k labels of the list."""
    names, c = working_list(h, limit, strict)
    bar, weight = c + above + offset, {}
    for n in range(min(k, len(names)) + 1):
        for y in combinations(sorted(names), n):
            inside = [h[i] for i in y] + [bar] * (n < k)
            outside = [h[i] for i in names if i not in y] + [bar]
            weight[y] = exp(e * (gamma * min(inside) - (1 - gamma) * max(outside)))
    total = sum(weight.values())
    return {y: w / total for y, w in weight.items()}


def hockey_stick(p, q, x):
    """sup_S P(S) - e^x Q(S)."""
    return sum(max(0.0, mass - exp(x) * q.get(outcome, 0.0)) for outcome, mass in p.items())


def neighbours(labels, top, any_order=False):
    """(h, h + one user), all of them; one order of the counts unless the law looks at the labels."""
    counts = (
        product(range(top + 1), repeat=labels)
        if any_order
        else combinations_with_replacement(range(top, -1, -1), labels)
    )
    for h in counts:
        for user in product((0, 1), repeat=labels):
            if any(user):
                yield h, tuple(a + b for a, b in zip(h, user, strict=True))


def worst(law_of, pairs, x):
    """The largest hockey stick at x over all pairs, both ways round; at each of several x if x is a list."""
    xs, law = np.atleast_1d(x), cache(law_of)
    most = np.zeros(len(xs))
    for one, two in pairs:
        p, q = law(one), law(two)
        for n, value in enumerate(xs):
            most[n] = max(most[n], hockey_stick(p, q, value), hockey_stick(q, p, value))
    return most if np.ndim(x) else float(most[0])
