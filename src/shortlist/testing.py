"""For tests only: randomness that repeats itself. A release drawn from it is marked as not private."""

from __future__ import annotations

import operator

from shortlist.sampling.entropy import Seeded


def seeded(seed: int) -> Seeded:
    """A repeatable source for `rng=`. Anybody who guesses the seed can undo the noise.

    Parameters
    ----------
    seed
        A whole number; the same one gives the same draws, in the same version.

    Returns
    -------
    Seeded
        To be passed as `rng=`. Releases drawn from it say `secure == False`.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.select([3, 1, 2], epsilon=1.0, rng=sl.testing.seeded(7)).secure
    False
    """
    return Seeded(operator.index(seed))
