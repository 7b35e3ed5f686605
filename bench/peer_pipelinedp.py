"""Run by PipelineDP's own interpreter: seconds from rows in memory to a private top 10, on its local backend."""

import json
import sys
from time import perf_counter

import numpy as np
import pipeline_dp

columns = np.load(sys.argv[1])
rows = list(zip(columns["user_id"].tolist(), columns["movie"].tolist(), strict=True))
movies = list(range(int(sys.argv[2])))
times = []
for _ in range(2):
    start = perf_counter()
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        max_partitions_contributed=20,
        max_contributions_per_partition=1,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )
    result = engine.aggregate(rows, params, extractors, public_partitions=movies)
    budget.compute_budgets()
    top = sorted(result, key=lambda one: -one[1].privacy_id_count)[:10]
    times.append(perf_counter() - start)
print(json.dumps({"peer": min(times), "top": [int(movie) for movie, _ in top]}))
