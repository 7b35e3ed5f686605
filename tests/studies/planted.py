"""Planted results: for every claim of the papers, tables of numbers with the verdict that each must get."""

from __future__ import annotations

import math
from typing import Any

from studies.papers import (
    adaptive_covid,
    adaptive_fixed,
    adaptive_large,
    adaptive_pate,
    canonical_data,
    canonical_table,
    canonical_zipf,
    gap_error,
    gap_hybrids,
    gap_thresholds,
    gumbel_tradeoff,
    gumbel_variance,
)
from studies.papers.contest import GAMMA_1, ONE_SHOT, PAPER, PEELING
from studies.papers.figures import columns_of

YES, MENDED, NO, NONE = "confirmed", "corrected", "contradicted", "not comparable"
Case = tuple[dict[str, list[Any]], str]
PLANTED: dict[tuple[str, int], list[Case]] = {}
"""By experiment and number of its claim."""


def plant(name: str, claim: int, *cases: tuple[list[dict[str, Any]], str]) -> None:
    PLANTED[name, claim] = [(columns_of(rows), verdict) for rows, verdict in cases]


def also(rows: list[dict[str, Any]], **changed: Any) -> list[dict[str, Any]]:
    return [row | changed for row in rows]


def curves(panel: str, **betas: float) -> list[dict[str, Any]]:
    return [
        {"panel": panel, "series": series, "mu": 1.0, "k": 1, "alpha": 0.3, "beta": b} for series, b in betas.items()
    ]


def shifts(panel: str, low: float, high: float) -> list[dict[str, Any]]:
    return [
        {"panel": panel, "series": "B_mu", "mu": mu, "k": 1, "alpha": 0.3, "beta": beta}
        for mu, beta in ((0.25, low), (1.0, high))
    ]


T = gumbel_tradeoff
plant(
    "gumbel-tradeoff",
    0,
    (curves(T.ONE, **{T.UP: 0.5, T.DOWN: 0.4}), YES),
    (curves(T.ONE, **{T.UP: 0.5, T.DOWN: 0.5}), NO),
)
plant("gumbel-tradeoff", 1, (curves(T.ONE, **{T.BOTH: 0.5, "envelope": 0.5}), YES),
      (curves(T.ONE, **{T.BOTH: 0.5, "envelope": 0.45}), NO))  # fmt: skip
plant("gumbel-tradeoff", 2, (shifts(T.TWO_A, 0.6, 0.4), YES), (shifts(T.TWO_A, 0.4, 0.6), NO))
plant("gumbel-tradeoff", 3, (shifts(T.TWO_B, 0.6, 0.4), YES), (shifts(T.TWO_B, 0.4, 0.6), NO))
plant("gumbel-tradeoff", 4, (curves(T.CHECK, **{"equation (7)": 0.5, "accountant": 0.5}), YES),
      (curves(T.CHECK, **{"equation (7)": 0.5, "accountant": 0.4}), NO))  # fmt: skip


def variances(*values: float) -> list[dict[str, Any]]:
    """Of the paper's Gumbel, Laplace, Gaussian, then the proved three."""
    return [
        {"delta": delta, "curve": label, "epsilon": 1.0, "variance": value}
        for delta in gumbel_variance.DELTAS
        for label, value in zip(gumbel_variance.CURVES, values, strict=True)
    ]


plant("gumbel-variance", 0, (variances(1, 2, 3, 1, 2, 3), YES), (variances(1, 2, 3, 2, 1, 3), MENDED),
      (variances(3, 2, 3, 1, 2, 3), NO))  # fmt: skip
plant("gumbel-variance", 1, (variances(4, 2, 3, 2, 1, 3), YES), (variances(2, 2, 3, 4, 2, 3), NO))


def found(panel: str, **ys: float) -> list[dict[str, Any]]:
    return [{"panel": panel, "series": series, "x": 0.0, "y": y, "draws": 5} for series, y in ys.items()]


plant("noisy-max", 0, (found("p-value", p=0.3) + found("law", exact=0.5), YES),
      (found("p-value", p=1e-9) + found("law", exact=0.5), NO))  # fmt: skip
plant(
    "noisy-max", 1, (found("map", monotone=0.4999, general=0.9999), YES), (found("map", monotone=0.6, general=1.0), NO)
)


def sets(needs: dict[str, float], top: float = 1.0, made_up: bool = False, k: int = 1000) -> list[dict[str, Any]]:
    """Every mechanism at epsilon 1 with that chance, and sure at the epsilon it needs."""
    rows = [{"epsilon": 1.0, "mechanism": label, "top": top, "great": 0.0} for label in needs]
    rows += [
        {"epsilon": e, "mechanism": label, "top": 0.99, "great": 0.99} for label, e in needs.items() if e < math.inf
    ]
    return [row | {"made_up": made_up, "k": k} for row in rows]


def rivals(old: float, new: float) -> dict[str, float]:
    return {PEELING: old, ONE_SHOT: old, PAPER: new, GAMMA_1: new}


LESS, MORE, NEITHER = rivals(50.0, 0.5), rivals(0.5, 50.0), rivals(math.inf, math.inf)
plant("canonical-netflix", 0, (sets(LESS, 0.96), YES), (sets(LESS, 0.9), NO), (sets(LESS, 0.96, made_up=True), NONE))
plant(
    "canonical-netflix",
    1,
    (sets(rivals(80.0, 1.0), 0.5), YES),
    (sets(rivals(400.0, 1.0), 0.5), YES),
    (sets(rivals(20.0, 1.0), 0.5), NO),
)
AHEAD = ((sets(LESS), YES), (sets(MORE), NO), (sets(NEITHER, 0.1), NONE), (sets(LESS, made_up=True), NONE))
plant("canonical-netflix", 2, *AHEAD)
for which in canonical_data.FIGURES:
    if which != "netflix":
        plant(f"canonical-{which}", 0, *AHEAD)
        plant(f"canonical-{which}", 1, *AHEAD)


def zipf(
    old: float,
    new: float,
    panel: str = canonical_zipf.BY_SKEW,
    good: tuple[float, float] = (0.9, 0.9),
    k: int = 100,
    x: float = 0.1,
) -> list[dict[str, Any]]:
    return [
        {"panel": panel, "x": x, "k": k, "mechanism": label, "top": top, "good": fine}
        for label, top, fine in (
            (PEELING, old, good[0]),
            (ONE_SHOT, old, good[0]),
            (PAPER, new, good[1]),
            (GAMMA_1, new, good[1]),
        )
    ]


plant("canonical-zipf", 0, (zipf(0.1, 0.9), YES), (zipf(0.8, 0.9), NO), (zipf(0.1, 0.9, k=10), NONE))
plant("canonical-zipf", 1, (zipf(0.9995, 1.0, k=10), YES), (zipf(0.998, 1.0, k=10), NO))
plant("canonical-zipf", 2, (zipf(0.3, 0.9, canonical_zipf.BY_EPSILON, k=10), YES),
      (zipf(0.8, 0.9, canonical_zipf.BY_EPSILON, k=10), NO))  # fmt: skip
plant("canonical-zipf", 3, (zipf(0.1, 0.9, good=(0.5, 0.9)), YES), (zipf(0.8, 0.9, good=(0.5, 0.9)), MENDED),
      (zipf(0.1, 0.9, good=(0.9, 0.5)), NO))  # fmt: skip


def noises(made_up: bool = False, **tops: float) -> list[dict[str, Any]]:
    return [{"made_up": made_up, "k": 10, "noise": noise, "epsilon": 1.0, "top": top} for noise, top in tops.items()]


plant("canonical-noise", 0, (noises(exponential=0.9, gumbel=0.8), YES), (noises(exponential=0.8, gumbel=0.9), NO),
      (noises(True, exponential=0.9, gumbel=0.8), NONE))  # fmt: skip


def halfway(times: float) -> list[dict[str, Any]]:
    """Two noises between no chance and a sure one, the second at so many times the epsilons of the first."""
    return [
        {"made_up": False, "k": 10, "noise": noise, "epsilon": factor * epsilon, "top": top}
        for noise, factor in (("exponential", 1.0), ("logistic", times))
        for epsilon, top in ((1.0, 0.0), (2.0, 1.0))
    ]


plant("canonical-noise", 1, (halfway(2.4), YES), (halfway(4.0), MENDED), (also(halfway(2.4), made_up=True), NONE),
      (noises(exponential=0.9, gumbel=0.85), NONE))  # fmt: skip
SIZED = [{"data": title, "made_up": False, "items": size} for title, size in canonical_table.ROWS.items()]
plant("canonical-table", 0, (SIZED, YES), (also(SIZED, items=5), NO), (also(SIZED, made_up=True), NONE))


def times(peeling: float, one_shot: float, paper: float, gamma: float) -> list[dict[str, Any]]:
    seconds = zip((PEELING, ONE_SHOT, PAPER, GAMMA_1), (peeling, one_shot, paper, gamma), strict=True)
    return [{"mechanism": label, "k": 10, "d": 1000, "seconds": one} for label, one in seconds]


plant(
    "canonical-times", 0, (times(0.1, 0.1, 0.2, 0.1), YES), (times(0.1, 0.1, 0.9, 0.1), NONE), (times(0.1, 1, 9, 1), NO)
)
plant(
    "canonical-times", 1, (times(1, 1e-3, 1, 2e-3), YES), (times(1, 1e-3, 1, 1.0), NO), (times(1, 1e-3, 1, 0.01), NONE)
)
plant("canonical-times", 2, (times(0.01, 0.001, 0.01, 0.001), YES), (times(1.0, 1.0, 1.0, 1.0), NONE))


def shares(panel: str, apart: float) -> list[dict[str, Any]]:
    return [
        {
            "panel": panel,
            "noise": "geometric",
            "k": 3,
            "epsilon": 1.0,
            "found": 0.5,
            "printed": 0.5 + apart,
            "apart": apart,
        }
    ]


plant("gap-theta", 0, (shares("mean", 0.0), YES), (shares("mean", 1.0), MENDED))
plant("gap-theta", 1, (shares("figure 1", 0.01), YES), (shares("figure 1", 0.1), NO))


def saved(noise: str, *found_: float, by: str = "k") -> list[dict[str, Any]]:
    return [
        {
            "made_up": False,
            "selection": selection,
            "noise": noise,
            "k": 25,
            "epsilon": 0.1 * i,
            "saved": share,
            "theory": 0.5,
        }
        for selection in (gap_error.TOP, gap_error.THRESHOLD)
        for i, share in enumerate(found_)
    ]


for i, noise in enumerate(gap_error.NOISES):
    plant("gap-error-by-k", i, (saved(noise, 0.48), YES), (saved(noise, 0.2), MENDED),
          (also(saved(noise, 0.48), made_up=True), NONE))  # fmt: skip
FLAT, STEEP = ([row for noise in gap_error.NOISES for row in saved(noise, *two)] for two in ((0.5, 0.52), (0.2, 0.5)))
for i in range(2):
    plant("gap-error-by-epsilon", i, (FLAT, YES), (STEEP, MENDED), (also(FLAT, made_up=True), NONE))


def answers(
    more: float = 20.0, precise: float = 1.0, f: float = 1.5, left: float = 0.4, cheap: float = 0.9
) -> list[dict[str, Any]]:
    base = {"data": "BMS-POS", "made_up": False, "items": 1_657, "k": 24, "trials": 10, "reached": 10, "left": left}
    plain = base | {
        "mechanism": gap_thresholds.PLAIN,
        "answers": 24.0,
        "cheap": 0.0,
        "precision": 1.0,
        "f_measure": 0.5,
    }
    total = 24.0 + more
    return [plain, plain | {"mechanism": gap_thresholds.ADAPTIVE, "answers": total, "cheap": cheap * total}
            | {"precision": precise, "f_measure": 0.5 * f}]  # fmt: skip


plant("gap-thresholds", 0, (answers(), YES), (also(answers(), items=3), NO), (also(answers(), made_up=True), NONE))
plant("gap-thresholds", 1, (answers(), YES), (answers(more=3.0), MENDED), (answers(cheap=0.2), MENDED),
      (also(answers(), made_up=True), NONE))  # fmt: skip
plant("gap-thresholds", 2, (answers(), YES), (answers() + also(answers(precise=0.8), k=2), YES),
      (answers(precise=0.8), NO))  # fmt: skip
plant("gap-thresholds", 3, (answers(), YES), (answers(f=3.0), MENDED))
plant("gap-thresholds", 4, (answers(), YES), (answers(left=0.1), MENDED), (also(answers(), reached=0), NONE))


def hybrids(left: dict[str, float], few: dict[str, float] | None = None) -> list[dict[str, Any]]:
    return [
        {
            "made_up": False,
            "mechanism": label,
            "k": k,
            "left": left.get(label, 0.0),
            "answer": (few or {}).get(label, 1.0),
        }
        for label in gap_hybrids.COLOURS
        for k in (4, 24)
    ]


H = gap_hybrids
KEPT = {H.TOP: 0.0, H.SPARSE: 0.4, H.HYBRID_TOP: 0.45, H.HYBRID_SPARSE: 0.4}
TURNED = KEPT | {H.HYBRID_TOP: 0.3}
plant("gap-hybrids", 0, (hybrids(KEPT), YES), (hybrids(KEPT | {H.SPARSE: 0.0}), NO),
      (also(hybrids(KEPT), made_up=True), NONE))  # fmt: skip
MIXED = [row | ({"k": 22} if row["k"] == 4 else {}) for row in hybrids(KEPT)]
MIXED = [row | ({"left": 0.1} if row["k"] == 22 and row["mechanism"] == H.HYBRID_TOP else {}) for row in MIXED]
plant("gap-hybrids", 1, (hybrids(KEPT), YES), (hybrids(TURNED), NO), (MIXED, MENDED))
plant("gap-hybrids", 2, (hybrids(KEPT), YES), (hybrids(KEPT | {H.SPARSE: 0.1}), MENDED))
LARGE = {H.TOP: 2.0, H.HYBRID_TOP: 2.0, H.HYBRID_SPARSE: 2.0, H.SPARSE: 1.0}
plant("gap-hybrids", 3, (hybrids(KEPT, LARGE), YES), (hybrids(KEPT, LARGE | {H.SPARSE: 2.0}), NO))
plant("gap-hybrids", 4, (hybrids(KEPT, LARGE | {H.TOP: 0.5}), YES), (hybrids(KEPT, LARGE), NO))


def rejected(exact: float) -> list[dict[str, Any]]:
    return [
        {"made_up": False, "epsilon": 1e-6, "level": level, "exact": exact, "share": exact} for level in (0.05, 0.01)
    ]


plant("gap-pvalues", 0, (rejected(0.005), YES), (rejected(0.02), NO), (also(rejected(0.005), made_up=True), NONE))


def places(recalls: dict[str, float], made_up: bool = False, printed: float = 0.9) -> list[dict[str, Any]]:
    return [
        {"data": "BrightKite", "made_up": made_up, "k": 50, "epsilon": 1.0, "mechanism": label, "recall": recall}
        | {"printed": printed}
        for label, recall in recalls.items()
    ]


F = adaptive_fixed
BEST = {F.TS: 0.2, F.LD: 0.3, F.STABLE: 0.9}
plant("adaptive-fixed", 0, (places(BEST), YES), (places(BEST | {F.LD: 1.0}), NO), (places(BEST, True), NONE))
plant("adaptive-fixed", 1, (places(BEST), YES), (places(BEST, printed=0.2), MENDED), (places(BEST, True), NONE))


def windows(
    em: tuple[float, float], stable: tuple[float, float], ld: tuple[float, float] = (0.0, 0.1), made_up: bool = False
) -> list[dict[str, Any]]:
    C = adaptive_covid
    table = {C.EM: em, C.TS: (0.2, 0.8), C.LD: ld, C.STABLE: stable}
    return [
        {"made_up": made_up, "window": window, "mechanism": label, "recall": shares_[i]}
        for i, window in enumerate((C.WINDOWS[0], C.WINDOWS[-1]))
        for label, shares_ in table.items()
    ]


PRINTED = windows((0.5, 0.99), (0.4, 0.98))
plant("adaptive-covid", 0, (PRINTED, YES), (windows((0.3, 0.9), (0.4, 0.98)), NO), (also(PRINTED, made_up=True), NONE))
plant("adaptive-covid", 1, (PRINTED, YES), (windows((0.5, 0.99), (0.4, 0.98), ld=(0.9, 0.95)), NO))
plant("adaptive-covid", 2, (PRINTED, YES), (windows((0.99, 0.5), (0.4, 0.98)), MENDED))
plant("adaptive-covid", 3, (PRINTED, YES), (windows((0.5, 0.99), (0.4, 0.5)), MENDED))


def cliff(stable: tuple[float, float], em: tuple[float, float] = (1.0, 0.3)) -> list[dict[str, Any]]:
    L = adaptive_large
    return [
        {"k": k, "mechanism": label, "recall": shares_[i]}
        for i, k in enumerate((10, 1500))
        for label, shares_ in {L.EM: em, L.TS: (1.0, 0.2), L.STABLE: stable}.items()
    ]


plant("adaptive-large", 0, (cliff((1.0, 1.0)), YES), (cliff((0.9, 1.0)), MENDED), (cliff((1.0, 0.2)), NO))
plant("adaptive-large", 1, (cliff((1.0, 1.0)), YES), (cliff((1.0, 0.5)), MENDED))


def pate(bound: float = 71.0, swapped: float = 3.9, clipped: float = 8.0, right: float = 0.85, made_up: bool = False
         ) -> list[dict[str, Any]]:  # fmt: skip
    P = adaptive_pate
    epsilons = {P.SEED: 3.66, P.SEED_BOUND: bound, P.SWAPPED: swapped, P.RECORD: 8.6}
    rows = [
        {"panel": "epsilon", "reading": one, "epsilon": e, "accuracy": math.nan, "made_up": False}
        for one, e in epsilons.items()
    ]
    votes = {P.PLAIN: (math.inf, 0.895), P.STABLE: (3.9, right), P.PATE: (12.0, 0.85), P.CLIPPED: (clipped, 0.85)}
    return rows + [
        {"panel": "votes", "reading": one, "epsilon": e, "accuracy": a, "made_up": made_up}
        for one, (e, a) in votes.items()
    ]


plant("adaptive-pate", 0, (pate(bound=3.6), YES), (pate(), MENDED), (pate(swapped=9.0), NO))
plant("adaptive-pate", 1, (pate(), YES), (pate(clipped=4.0), NO), (pate(made_up=True), NONE))
plant("adaptive-pate", 2, (pate(), YES), (pate(right=0.7), MENDED), (pate(made_up=True), NONE))
