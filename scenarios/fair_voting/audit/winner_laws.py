"""Search neighboring profiles whose winners under Algorithm 2 have laws as different as possible.

The law of the winner is computed, not sampled. So the loss that a search finds is a lower bound on the mechanism's ε;
it is not an upper bound.

Source: reading F4. Its .69 (label .6) and 1.83 (γ = .01) assume the printed scale and ties that are always broken the
same way; Psephos draws lots, and the groups' sizes decide whether there are ties.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.elementary import ln
from ....protocol.fair_voting.choices import SampledChoice

Ties: TypeAlias = Literal["random", "first"]

_MAX_RANKED: Final = 6  # most alternatives m: a profile has a count for each of m! orders
_MOVES: Final = 4  # kinds of moves, equally likely: two change the voter, two change other voters

_DRAWS: Final = 100


@dataclasses.dataclass(frozen=True)
class Neighbors:
    """Two profiles that differ in the ranking of one voter of the first group."""

    # The groups' sums of utilities with the voter's first ranking, flattened, in steps from the scoring's center.
    sums: tuple[int, ...]
    changed_sums: tuple[int, ...]  # with its other ranking
    alternative: int  # the alternative whose probability of winning changes most
    loss: float  # |ln P(a)/P'(a)| of that alternative


def winner_law(choice: SampledChoice, values: Sequence[int], *, ties: Ties = "random") -> FloatArray:
    """Return the law of the winner, exact up to about 1e-13.

    Args:
        choice: the mechanism; not with an objective that has a floor for welfare and breaks ties by order.
        values: sums of utilities, as for `SampledChoice.randomize_row`.
        ties: how ties are broken; "first", for the first alternative, differs from what `choice` does.

    Returns:
        Probabilities, float64, shape (m,).

    Raises:
        NotImplementedError: the law takes too long.
    """
    if ties == "random":
        return np.array(choice.probabilities(values))
    chances = choice.merits(values)
    chances_before = np.cumsum(chances, axis=1) - chances
    won = [
        float(
            (
                slot_chances
                * chances_before[:place].prod(axis=0)
                * (chances_before + chances)[place + 1 :].prod(axis=0)
            ).sum()
        )
        for place, slot_chances in enumerate(chances)
    ]
    return choice.gamma / len(won) + (1 - choice.gamma) * np.array(won)


def loss_between(
    choice: SampledChoice, values: Sequence[int], other_values: Sequence[int], *, ties: Ties = "random"
) -> tuple[float, int]:
    """Return the greatest |ln P(a)/P'(a)| between two profiles' sums, and its a; infinite if only one is 0."""
    law, other = (winner_law(choice, each, ties=ties).tolist() for each in (values, other_values))
    losses: list[float] = []
    for one, two in zip(law, other, strict=True):
        losses.append(abs(ln(one / two)) if one > 0 and two > 0 else (0.0 if one == two else math.inf))
    alternative = max(range(len(losses)), key=losses.__getitem__)
    return losses[alternative], alternative


def search_neighbors(
    choice: SampledChoice, *, seed: int, num_starts: int = 4, num_steps: int = 400, ties: Ties = "random"
) -> Neighbors:
    """Search a pair of neighboring profiles with a large loss, by local search from random pairs.

    The voter is in the first group. A start is the best of a hundred pairs in which each group uses one or two orders.
    A step moves some voters of a group from one order to another, or changes one of the voter's two rankings; it is
    kept if the loss does not decrease. The same seed finds the same pair.

    Raises:
        ValueError: as `winner_law`; there are more than 6 alternatives, or sums are over a sub-sample.
    """
    size = choice.num_alternatives
    if size > _MAX_RANKED:
        raise ValueError(f"there are {size} alternatives: the search takes at most {_MAX_RANKED}")
    if choice.sum_sizes != choice.group_sizes:
        raise ValueError("the search takes sums of all voters, not of a sub-sample")
    generator = np.random.default_rng(seed)
    orders = np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    utilities = np.array(choice.scoring.steps, dtype=np.int64)[orders]
    sizes_of_others = (choice.group_sizes[0] - 1, *choice.group_sizes[1:])
    best: Neighbors | None = None
    for _ in range(num_starts):
        draws = [_draw(sizes_of_others, len(orders), generator) for _ in range(_DRAWS)]
        tries = [_evaluate(choice, utilities, *draw, ties) for draw in draws]
        place = max(range(_DRAWS), key=lambda number: tries[number].loss)
        (counts, voter), best_found = draws[place], tries[place]
        for _ in range(num_steps):
            new_counts, new_voter = _step(counts, voter, generator)
            new_try = _evaluate(choice, utilities, new_counts, new_voter, ties)
            if new_try.loss >= best_found.loss:
                counts, voter, best_found = new_counts, new_voter, new_try
        if best is None or best_found.loss > best.loss:
            best = best_found
    if best is None:
        raise ValueError(f"num_starts is {num_starts}: use at least 1")
    return best


def _draw(numbers: Sequence[int], num_orders: int, generator: np.random.Generator) -> tuple[list[IntArray], IntArray]:
    """Draw the number of voters of each group with each order, and the voter's two orders."""
    all_counts: list[IntArray] = []
    for number in numbers:
        counts = np.zeros(num_orders, dtype=np.int64)
        first, second = generator.integers(num_orders, size=2).tolist()
        of_first = number if generator.random() < 0.5 else int(generator.integers(number + 1))  # noqa: PLR2004  a coin
        counts[first] += of_first
        counts[second] += number - of_first
        all_counts.append(counts)
    return all_counts, generator.integers(num_orders, size=2)


def _step(counts: list[IntArray], voter: IntArray, generator: np.random.Generator) -> tuple[list[IntArray], IntArray]:
    kind = int(generator.integers(_MOVES))
    num_orders = len(counts[0])
    if kind < 2:  # noqa: PLR2004  the voter before, or after
        voter = voter.copy()
        voter[kind] = generator.integers(num_orders)
        return counts, voter
    group = int(generator.integers(len(counts)))
    present = np.flatnonzero(counts[group])
    if not len(present):
        return counts, voter
    source, target = int(generator.choice(present)), int(generator.integers(num_orders))
    # All scales equally likely: from a single voter to all voters of the order.
    max_moved = int(counts[group][source])
    num_moved = min(max_moved, max(1, max_moved >> int(generator.integers(max_moved.bit_length() + 1))))
    changed_counts = counts[group].copy()
    changed_counts[source] -= num_moved
    changed_counts[target] += num_moved
    return [*counts[:group], changed_counts, *counts[group + 1 :]], voter


def _evaluate(
    choice: SampledChoice, utilities: IntArray, counts: Sequence[IntArray], voter: IntArray, ties: Ties
) -> Neighbors:
    sums = np.stack([group_counts @ utilities for group_counts in counts])
    sums_before, sums_after = sums.copy(), sums.copy()
    sums_before[0] += utilities[voter[0]]
    sums_after[0] += utilities[voter[1]]
    values, other_values = tuple(sums_before.reshape(-1).tolist()), tuple(sums_after.reshape(-1).tolist())
    loss, alternative = loss_between(choice, values, other_values, ties=ties)
    return Neighbors(values, other_values, alternative, loss)
