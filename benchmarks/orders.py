"""What other ways to whole rankings and to Kemeny's winner would be worth, in percent.

    python benchmarks/orders.py kwiksort
    python benchmarks/orders.py kemeny

KwikSort stands beside the order of the mean scores and Kemeny's ranking, all read from the same reports of
`sampled_pair`, one a voter, and at no more cost. Voters are Mallows's, or half of them about one order and half about
another one. What is printed is how much of all majorities, each weighed by its lead, a ranking has the wrong way round:
the mean of 40 sessions. KwikSort (Ailon, Charikar and Newman 2008) takes a pivot at random and sorts by who beats it,
and so on on both sides.

Of a trusted aggregator, mechanism "pairwise" puts Laplace noise on the counts, and everything is read from them. Beside
it are the exponential mechanism and permute-and-flip, which tell one choice alone: a winner, one of m, each by the
greatest score of a ranking that has it first, or a ranking, one of m!, each by its own. Replacing a voter moves a score
by m(m − 1) at most. The best score with Gumbel's noise is the exponential mechanism's choice, with exponential noise
permute-and-flip's (Ding, Kifer, Steinke et al. 2021). Voters are Mallows's of dispersion .95; what is printed are the
shares of right winners and, for rankings, of wrong majorities: means of 2,000 elections.
"""

import itertools
import sys
from typing import Any

import numpy as np
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting.pairwise import MAX_KEMENY, kemeny_orders, preferences_of, table_of_pairs
from psephos.protocol.mechanisms import SampledPair
from psephos.scenarios.fair_voting.data.mallows import draw_mallows


def _kwiksort(table: IntArray, places: list[int]) -> list[int]:
    """Return an order of these alternatives: the first of them, in random order, is the pivot."""
    if not places:
        return []
    pivot, *others = places
    sides = [[place for place in others if (table[place, pivot] > 0) == is_ahead] for is_ahead in (True, False)]
    ahead, behind = (_kwiksort(table, side) for side in sides)
    return [*ahead, pivot, *behind]


def _wrong(order: Any, majorities: IntArray) -> float:
    first, second = np.triu_indices(len(order), 1)
    leads = majorities[np.array(order)[first], np.array(order)[second]]
    return 100 * float(np.maximum(-leads, 0).sum() / np.abs(leads).sum())


def kwiksort() -> None:
    """Print the table of KwikSort."""
    generator = np.random.default_rng(1)
    print("society          m   voters   ε   KwikSort   mean scores   Kemeny")
    cases = itertools.product((False, True), (0.8, 0.95), (5, 10, 20), ((2_000, 1.0), (20_000, 1.0), (20_000, 3.0)))
    for is_split, dispersion, size, (number, epsilon) in cases:
        sums = np.array([0.0, 0.0, 0.0 if size <= MAX_KEMENY else np.nan])
        mechanism = SampledPair(epsilon, size)
        for _ in range(40):
            uniforms, center = generator.random((number, size - 1)), list(range(size))
            centers = [center, generator.permutation(size).tolist() if is_split else center]
            halves = zip(np.array_split(uniforms, 2), centers, strict=True)
            positions = np.concatenate([draw_mallows(own, center=at, dispersion=dispersion) for own, at in halves])
            majorities = table_of_pairs(preferences_of(positions).sum(axis=0).tolist())
            reports = mechanism.randomize_rows(positions, generator.random((number, 2)))[:, 0]
            counts = np.bincount(reports, minlength=2 * mechanism.num_questions)
            table = table_of_pairs((counts[::2] - counts[1::2]).tolist())
            order = _kwiksort(table, generator.permutation(size).tolist())
            orders = [order, np.argsort(-table.sum(axis=1), kind="stable")]
            orders += [kemeny_orders(table)[0]] if size <= MAX_KEMENY else []
            sums[: len(orders)] += [_wrong(each, majorities) for each in orders]
        told = "   ".join(f"{own:8.2f}" for own in sums / 40)
        name = f"{'two of ' * is_split}φ = {dispersion:g}"
        print(f"{name:15} {size:3} {number:8,} {epsilon:3g}   {told}")


def _elections(size: int, epsilon: float, number: int = 2_000) -> list[float]:
    """Return the shares of right winners by counts, exponential and flips, then those of wrong majorities."""
    generator = np.random.default_rng([size, round(10 * epsilon)])
    orders = np.array(list(itertools.permutations(range(size))))
    signs = preferences_of(np.argsort(orders, axis=1))  # 1 where a ranking has the first of two before the second
    scale = size * (size - 1) / epsilon
    sums = np.zeros(6)
    for _ in range(number):
        positions = draw_mallows(generator.random((300, size - 1)), center=list(range(size)), dispersion=0.95)
        leads = preferences_of(positions).sum(axis=0)
        scores = signs @ leads
        of_winners = np.array([scores[orders[:, 0] == place].max() for place in range(size)])
        read = int(np.argmax(signs @ (leads + generator.laplace(scale=scale, size=len(leads)))))
        # The rate of both is ε/(2Δ): a score's noise has twice the scale of a count's.
        draws = (generator.gumbel, generator.exponential)
        noises = [(draw(size=size), draw(size=len(orders))) for draw in draws]
        winners = [orders[read, 0], *(int(np.argmax(of_winners + 2 * scale * own)) for own, _ in noises)]
        rankings = [read, *(int(np.argmax(scores + 2 * scale * own)) for _, own in noises)]
        sums[:3] += [of_winners[winner] == of_winners.max() for winner in winners]
        sums[3:] += [np.maximum(-signs[ranking] * leads, 0).sum() / max(np.abs(leads).sum(), 1) for ranking in rankings]
    return (100 * sums / number).tolist()


def kemeny() -> None:
    """Print the table of Kemeny's winners."""
    print(f"{'right winners':>49}{'wrong majorities':>42}")
    print(f"m     ε{''.join(f'{name:>14}' for name in ('pairwise', 'exponential', 'flips') * 2)}")
    for size, epsilon in itertools.product((3, 4, 6), (0.2, 1.0, 4.0)):
        found = _elections(size, epsilon)
        print(f"{size}   {epsilon:3g}{''.join(f'{own:14.1f}' for own in found)}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
