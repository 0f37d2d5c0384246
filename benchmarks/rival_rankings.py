"""Rankings by prefsampling, and winners by pref_voting. Runs by the rivals' interpreter, knows nothing of Psephos.

`rival_rankings.py prefsampling NUM_VOTERS DISPERSION WEIGHTS` draws, for each line that names a culture and a seed,
so many rankings of as many alternatives as there are weights (given with commas between), and prints as JSON the
seconds and how often each ranking came, in the order of `itertools.permutations`.

`rival_rankings.py pref_voting FILE` loads orders, an array of int64 with a row for each voter, and finds the distinct
ones. For each line that names a rule it makes a profile of these with their counts, and prints the seconds that this
and the rule took, and the winners.
"""

import importlib
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import numpy as np

__all__: list[str] = []

_RULES: Final = {"borda": "scoring_methods", "copeland": "c1_methods", "plurality": "scoring_methods"}


def _prefsampling(num_voters: str, dispersion: str, weights: str) -> Callable[[str], dict[str, Any]]:
    ordinal: Any = importlib.import_module("prefsampling.ordinal")
    alphas = [float(weight) for weight in weights.split(",")]
    number = len(alphas)
    draw: dict[str, Callable[[int], Any]] = {
        "mallows": lambda seed: ordinal.mallows(int(num_voters), number, phi=float(dispersion), seed=seed),
        "plackett_luce": lambda seed: ordinal.plackett_luce(int(num_voters), number, alphas=alphas, seed=seed),
    }

    def answer(line: str) -> dict[str, Any]:
        culture, seed = line.split()
        begin = perf_counter()
        votes = draw[culture](int(seed))
        seconds = perf_counter() - begin
        counts = Counter(tuple(int(alternative) for alternative in vote) for vote in votes)
        return {"seconds": seconds, "counts": [counts[order] for order in itertools.permutations(range(number))]}

    return answer


def _pref_voting(file: str) -> Callable[[str], dict[str, Any]]:
    profiles: Any = importlib.import_module("pref_voting.profiles")
    orders, counts = np.unique(np.load(file), axis=0, return_counts=True)
    rankings: list[list[int]] = orders.tolist()
    numbers: list[int] = counts.tolist()

    def answer(line: str) -> dict[str, Any]:
        rule: Any = getattr(importlib.import_module(f"pref_voting.{_RULES[line]}"), line)
        begin = perf_counter()
        winners = rule(profiles.Profile(rankings, rcounts=numbers))
        seconds = perf_counter() - begin
        return {"seconds": seconds, "winners": sorted(map(int, winners))}

    return answer


def _main() -> None:
    library, *arguments = sys.argv[1:]
    answer = {"prefsampling": _prefsampling, "pref_voting": _pref_voting}[library](*arguments)
    for line in sys.stdin:
        print(json.dumps(answer(line.strip())), flush=True)


if __name__ == "__main__":
    _main()
