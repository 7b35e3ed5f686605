"""Run by diffprivlib's own interpreter: seconds of its exponential mechanism, and of G, on Zipf counts."""

import json
import sys
from time import perf_counter

import numpy as np
from diffprivlib.mechanisms import Exponential

d = int(sys.argv[1])
rng = np.random.default_rng(d)
values = rng.permutation(np.floor(1e6 / np.arange(1, d + 1) ** 0.8).astype(np.int64))
utility = values.tolist()
times = {"peer": [], "G": []}
for _ in range(3):
    start = perf_counter()
    Exponential(epsilon=0.1, sensitivity=1, utility=utility, monotonic=True).randomise()
    times["peer"].append(perf_counter() - start)
    start = perf_counter()
    np.argmax(values + rng.gumbel(size=d) * 10)
    times["G"].append(perf_counter() - start)
print(json.dumps({name: min(seconds) for name, seconds in times.items()}))
