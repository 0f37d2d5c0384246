"""A whole ranking from one sampled pair a voter: KwikSort beside the order of the mean scores, and Kemeny's ranking.

`.venv/bin/python benchmarks/kwiksort.py`. All are read from the same reports, of `sampled_pair`, and cost nothing more.
Voters are Mallows's, or half of them about one order and half about another one. What is printed is how much of all
majorities, each weighed by its lead, a ranking has the wrong way round, in percent: the mean of 40 sessions. KwikSort
(Ailon, Charikar and Newman 2008) takes a pivot at random and sorts by who beats it, and so on on both sides.
"""

import statistics
from typing import Final

import numpy as np
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting.pairwise import MAX_KEMENY, kemeny_orders, preferences_of, table_of_pairs
from psephos.protocol.mechanisms import SampledPair
from psephos.scenarios.fair_voting.data.mallows import draw_mallows

__all__: list[str] = []

_SIZES: Final = (5, 10, 20)
_DISPERSIONS: Final = (0.8, 0.95)
_SESSIONS: Final = ((2_000, 1.0), (20_000, 1.0), (20_000, 3.0))
_TRIALS: Final = 40


def kwiksort(table: IntArray, places: list[int]) -> list[int]:
    """Return an order of these alternatives: the first of them, in random order, is the pivot."""
    if not places:
        return []
    pivot, *others = places
    ahead = [place for place in others if table[place, pivot] > 0]
    behind = [place for place in others if table[place, pivot] <= 0]
    return [*kwiksort(table, ahead), pivot, *kwiksort(table, behind)]


def _wrong(order: IntArray, majorities: IntArray) -> float:
    first, second = np.triu_indices(len(order), 1)
    leads = majorities[order[first], order[second]]
    return 100 * float(np.maximum(-leads, 0).sum() / np.abs(leads).sum())


def _society(uniforms: FloatArray, dispersion: float, *, is_split: bool, generator: np.random.Generator) -> IntArray:
    size = uniforms.shape[1] + 1
    centers = [list(range(size)), generator.permutation(size).tolist() if is_split else list(range(size))]
    halves = np.array_split(uniforms, 2)
    return np.concatenate(
        [draw_mallows(own, center=center, dispersion=dispersion) for own, center in zip(halves, centers, strict=True)]
    )


def _main() -> None:
    generator = np.random.default_rng(1)
    print("society          m   voters   ε   KwikSort   mean scores   Kemeny")
    for is_split in (False, True):
        for dispersion in _DISPERSIONS:
            for size in _SIZES:
                for number, epsilon in _SESSIONS:
                    found: dict[str, list[float]] = {"kwiksort": [], "scores": [], "kemeny": []}
                    mechanism = SampledPair(epsilon, size)
                    for _ in range(_TRIALS):
                        uniforms = generator.random((number, size - 1))
                        positions = _society(uniforms, dispersion, is_split=is_split, generator=generator)
                        majorities = table_of_pairs(preferences_of(positions).sum(axis=0).tolist())
                        reports = mechanism.randomize_rows(positions, generator.random((number, 2)))[:, 0]
                        counts = np.bincount(reports, minlength=2 * mechanism.num_questions)
                        table = table_of_pairs((counts[::2] - counts[1::2]).tolist())
                        order = kwiksort(table, generator.permutation(size).tolist())
                        found["kwiksort"].append(_wrong(np.array(order), majorities))
                        found["scores"].append(_wrong(np.argsort(-table.sum(axis=1), kind="stable"), majorities))
                        if size <= MAX_KEMENY:
                            found["kemeny"].append(_wrong(kemeny_orders(table)[0], majorities))
                    told = "   ".join(f"{statistics.fmean(own):8.2f}" if own else "       –" for own in found.values())
                    name = f"{'two of ' if is_split else ''}φ = {dispersion:g}"
                    print(f"{name:15} {size:3} {number:8,} {epsilon:3g}   {told}", flush=True)


if __name__ == "__main__":
    _main()
