"""Run by OpenDP's own interpreter: seconds of its Gumbel noisy max or top-k, and of G, on Zipf counts."""

import json
import sys
from time import perf_counter

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
d, k = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(d)
values = rng.permutation(np.floor(1e6 / np.arange(1, d + 1) ** 0.8).astype(np.int64))
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
measure = dp.max_divergence()
if k == 1:
    select = dp.m.make_noisy_max(*space, measure, scale=10.0)
else:
    select = dp.m.make_noisy_top_k(*space, measure, k=k, scale=10.0 * k)
data = values.tolist()
times = {"peer": [], "G": []}
for _ in range(3):
    start = perf_counter()
    select(data)
    times["peer"].append(perf_counter() - start)
    start = perf_counter()
    np.argmax(values + rng.gumbel(size=d) * 10)
    times["G"].append(perf_counter() - start)
print(json.dumps({name: min(seconds) for name, seconds in times.items()}))
