"""Three subtly broken mechanisms by somebody who had not seen the auditor; each claims epsilon = 1 and is not."""

import numpy as np

EPS = 1.0


def broken_capped_rejection(scores, draws, rng):
    """Claims: epsilon-DP, epsilon = 1. Exponential mechanism by rejection sampling.

    Propose a uniform candidate, accept it with probability
    exp(eps/2 * (score - best)); output: an index.

    WRONG: to bound the running time, after n // 2 rejected proposals it falls back
    on "the mode of the target distribution", i.e. the exact argmax. The share of
    runs that reach the fallback is not small when many candidates score low.
    SHOWS ON: (0, 0, -20, -20, -20, -20) against (-1, 1, -20, -20, -20, -20),
    event "output 0": about 0.65 against 0.145, true loss about 1.50;
    (0, 0, -20, -20) against (-1, 1, -20, -20), same event: 0.625 against 0.15,
    true loss about 1.41; (0, 0, -20) against (-1, 1, -20), same event: 0.67 against
    0.12, true loss about 1.69. (With 2 candidates it is within 1: use 3 or more.)
    """
    s = np.asarray(scores, dtype=float)
    n = len(s)
    tries = max(1, n // 2)
    accept = np.exp(0.5 * EPS * (s - s.max()))
    proposal = rng.integers(0, n, size=(draws, tries))
    ok = rng.random((draws, tries)) < accept[proposal]
    first = ok.argmax(axis=1)
    picked = proposal[np.arange(draws), first]
    return np.where(ok.any(axis=1), picked, int(s.argmax()))


def broken_shared_uniform_top2(scores, draws, rng):
    """Claims: epsilon-DP, epsilon = 1. Ordered top 2 by peeling, eps/2 per round.

    Round 1: exponential mechanism (eps/2) on all candidates by inverse CDF.
    Round 2: the same on the remaining ones. Output: a pair (first, second)
    (just (index,) if there is one candidate; with 2 candidates the pair is private).

    WRONG: the uniform variate is drawn once per run and used for both rounds.
    Each round alone is exactly eps/2-DP, but they are not independent, so they do
    not compose: some pairs have probability 0 for some scores and not for others.
    SHOWS ON: (1, 0, 0) against (2, -1, 1), event (0, 2): 0 against about 0.067,
    true loss infinite. (Needs 3 candidates or more.)
    """
    s = np.asarray(scores, dtype=float)
    n = len(s)
    u = rng.random(draws)
    w = np.exp(0.25 * EPS * (s - s.max()))

    def pick(weights):
        cdf = np.cumsum(weights, axis=1)
        return np.minimum((cdf <= u[:, None] * cdf[:, -1:]).sum(axis=1), n - 1)

    weights = np.tile(w, (draws, 1))
    first = pick(weights)
    if n == 1:
        return [(int(a),) for a in first]
    weights[np.arange(draws), first] = 0.0
    second = pick(weights)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def broken_regret_certificate(scores, draws, rng):
    """Claims: epsilon-DP, epsilon = 1. Winner, with a noisy bound on its regret.

    eps/3 for an exponential mechanism (correct, factor 2 included), 2*eps/3 for
    a Laplace release of regret = best score - winner's score, clamped at 0 by
    post-processing. Output: (index, regret) as (int, float).

    WRONG: the Laplace scale takes the regret to have sensitivity 1, "as every
    score has"; it has sensitivity 2, since the best may fall by 1 while the winner
    rises by 1. The selection and the split of the budget are right. Worst case
    eps/3 + 4*eps/3 = 1.67.
    SHOWS ON: (0, 2) against (1, 1), event (winner 0, regret exactly 0.0): about
    0.055 against 0.25, loss about 1.51; on (0, 4) against (1, 3), event
    (winner 0, regret <= 2): 0.045 against 0.21, loss about 1.54;
    on (0, 2, 2, 2, 2, 2) against (1, 1, 1, 1, 1, 1), event (winner 0,
    regret exactly 0.0): 0.0165 against 0.083, true loss about 1.62.
    """
    s = np.asarray(scores, dtype=float)
    e_select, e_value = EPS / 3, 2 * EPS / 3
    g = rng.gumbel(size=(draws, len(s)))
    winner = (0.5 * e_select * s + g).argmax(axis=1)
    regret = s.max() - s[winner]
    noisy = np.maximum(0.0, regret + rng.laplace(scale=1.0 / e_value, size=draws))
    noisy = np.round(8 * noisy) / 8  # ours: on a grid, so that the mistake convicts it and not its floats
    return list(zip(winner.tolist(), noisy.tolist(), strict=True))
