"""The clients of multi-freq-ldpy and of pure-ldp. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival_clients.py LIBRARY FILE NUM_CHOICES EPSILON` loads values, an array of integers in [0, NUM_CHOICES − 1]. Then,
for each line that names one of the library's contestants, it randomizes every value, estimates how often each occurs,
and prints the seconds and the estimated counts as JSON.
"""

import importlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__: list[str] = []

_Values: TypeAlias = npt.NDArray[np.int64]
_Contestants: TypeAlias = Mapping[str, Callable[[], list[float]]]


def _multi_freq_ldpy(values: _Values, num_choices: int, epsilon: float) -> _Contestants:
    """Its client is a function of one value, compiled by numba; its aggregator a loop over the reports.

    The aggregator cuts estimates at 0 and scales them to sum to 1. With as many values as here, nothing is cut.
    """
    oracle: Any = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    estimator: Any = importlib.import_module("multi_freq_ldpy.estimators.Histogram_estimator")
    numba: Any = importlib.import_module("numba")
    client, aggregate, invert = oracle.GRR_Client, oracle.GRR_Aggregator_MI, estimator.MI
    listed: list[int] = values.tolist()
    lie = 1 / (math.exp(epsilon) + num_choices - 1)
    keep = math.exp(epsilon) * lie

    def run_clients() -> list[float]:
        reports = [client(value, num_choices, epsilon) for value in listed]
        return [share * len(listed) for share in aggregate(reports, num_choices, epsilon)]

    def loop(values: _Values, num_choices: int, epsilon: float) -> _Values:
        reports = np.empty_like(values)
        for place in range(len(values)):
            reports[place] = client(values[place], num_choices, epsilon)
        return reports

    compiled: Any = numba.njit(loop)

    def run_compiled() -> list[float]:
        counts = np.bincount(compiled(values, num_choices, epsilon), minlength=num_choices)
        return [share * len(values) for share in invert(counts, len(values), keep, lie)]

    return {"clients": run_clients, "compiled": run_compiled}


def _pure_ldp(values: _Values, num_choices: int, epsilon: float) -> _Contestants:
    """Its values count from 1 unless told otherwise; 0 would be taken for the last one, without a word."""
    oracle: Any = importlib.import_module("pure_ldp.frequency_oracles.direct_encoding")
    listed: list[int] = (values + 1).tolist()
    domain = range(1, num_choices + 1)

    def run_clients() -> list[float]:
        client, server = oracle.DEClient(epsilon, num_choices), oracle.DEServer(epsilon, num_choices)
        server.aggregate_all([client.privatise(value) for value in listed])
        return [float(count) for count in server.estimate_all(domain)]

    hashing: Any = importlib.import_module("pure_ldp.frequency_oracles.local_hashing")

    def run_hashing() -> list[float]:
        client, server = (kind(epsilon, num_choices, use_olh=True) for kind in (hashing.LHClient, hashing.LHServer))
        server.aggregate_all([client.privatise(value) for value in listed])
        return [float(count) for count in server.estimate_all(domain)]

    return {"clients": run_clients, "hashing": run_hashing}


_LIBRARIES: Final = {"multi-freq-ldpy": _multi_freq_ldpy, "pure-ldp": _pure_ldp}


def _main() -> None:
    library, file, num_choices, epsilon = sys.argv[1:]
    contestants = _LIBRARIES[library](np.load(file), int(num_choices), float(epsilon))
    for line in sys.stdin:
        run = contestants[line.strip()]
        begin = perf_counter()
        counts = run()
        seconds = perf_counter() - begin
        print(json.dumps({"seconds": seconds, "counts": counts}), flush=True)


if __name__ == "__main__":
    _main()
