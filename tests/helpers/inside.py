"""What several tests take from inside the library, in one place: where it moves, this file follows it."""

from shortlist.accounting import curves
from shortlist.exact import geometric, noise, reals, subsets, thresholds
from shortlist.sampling import entropy, quantiles, skipping
from shortlist.sampling import race as races

largest_range = curves.largest_range
many_rounds = curves.many_rounds
pure_rho = curves.pure_rho
range_rho = curves.range_rho
Geometric = geometric.Geometric
EXPONENTIAL = noise.EXPONENTIAL
GAUSSIAN = noise.GAUSSIAN
GUMBEL = noise.GUMBEL
KINDS = noise.KINDS
LAPLACE = noise.LAPLACE
LOGISTIC = noise.LOGISTIC
Contest = reals.Contest
Draw = reals.Draw
Uniform = reals.Uniform
ball = reals.ball
total = reals.total
word = reals.word
log_sum = subsets.log_sum
rank_scores = subsets.rank_scores
Cap = thresholds.Cap
GaussianTest = thresholds.GaussianTest
UNIT = thresholds.UNIT
canonical_offset = thresholds.canonical_offset
dummies = thresholds.dummies
pair_bar = thresholds.pair_bar
quantile_above = thresholds.quantile_above
weight = thresholds.weight
SECURE = entropy.SECURE
Seeded = entropy.Seeded
WordStream = entropy.WordStream
Choice = quantiles.Choice
Node = quantiles.Node
Runner = races.Runner
race = races.race
skip_race = races.skip_race
levels = skipping.levels
make_plan = skipping.make_plan
