"""The exact law of Algorithm 2's winner, and what a search finds between neighboring profiles."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from psephos.protocol.fair_voting import Objective, Scoring, make_scores
from psephos.protocol.fair_voting.choices import SampledChoice, SampleScale
from psephos.protocol.fair_voting.sampling_bounds import proven_epsilon
from psephos.scenarios.fair_voting.audit.winner_laws import Ties, loss_between, search_neighbors, winner_law

BORDA = Scoring(make_scores("borda", 4))
ROUNDING = 1 + 1e-9


def make_choice(
    sizes: tuple[int, ...],
    samples: int,
    *,
    num_alternatives: int = 4,
    gamma: float = 0.05,
    scale: SampleScale = "unbiased",
) -> SampledChoice:
    scoring = Scoring(make_scores("borda", num_alternatives))
    return SampledChoice(scoring, sizes, Objective("parity"), samples, sizes, gamma, scale, (math.inf,) * len(sizes))


def sums_of(choice: SampledChoice, shares: Sequence[Sequence[Fraction]]) -> list[int]:
    """Return sums of utilities of given shares of the range."""
    scoring = choice.scoring
    sums: list[int] = []
    for size, row in zip(choice.group_sizes, shares, strict=True):
        for share in row:
            total = size * (scoring.steps[-1] + share * scoring.range)
            assert total.denominator == 1
            sums.append(int(total))
    return sums


def law_by_enumeration(choice: SampledChoice, values: Sequence[int], ties: Ties) -> list[float]:
    """Add up the probabilities of all counts, as fractions."""
    samples, size = choice.num_samples, choice.num_alternatives
    chances = choice.hit_probabilities(values)
    law = [Fraction(0)] * size
    for counts in itertools.product(range(samples + 1), repeat=size * len(chances)):
        rows = [counts[start : start + size] for start in range(0, len(counts), size)]
        mass = Fraction(1)
        for row, own in zip(rows, chances, strict=True):
            for count, chance in zip(row, own, strict=True):
                mass *= math.comb(samples, count) * chance**count * (1 - chance) ** (samples - count)
        best = choice.objective.best_alternatives(choice.utilities_of(rows), choice.group_sizes)
        for winner in best if ties == "random" else best[:1]:
            law[winner] += mass / (len(best) if ties == "random" else 1)
    gamma = Fraction(choice.gamma)
    return [float(gamma / size + (1 - gamma) * mass) for mass in law]


@pytest.mark.parametrize("ties", ["random", "first"])
@pytest.mark.parametrize(
    ("sizes", "samples", "scale"),
    [((4, 4), 2, "unbiased"), ((4, 8), 2, "unbiased"), ((4, 12), 2, "printed"), ((4, 4, 8), 1, "unbiased")],
)
def test_law_is_that_of_all_counts(sizes: tuple[int, ...], samples: int, scale: SampleScale, ties: Ties) -> None:
    choice = make_choice(sizes, samples, num_alternatives=3, scale=scale)
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    shares = [[half, quarter, 3 * quarter], [Fraction(0), half, Fraction(1)], [quarter, 3 * quarter, half]]
    values = sums_of(choice, shares[: len(sizes)])
    assert winner_law(choice, values, ties=ties) == pytest.approx(law_by_enumeration(choice, values, ties), abs=1e-12)


def test_law_of_three_groups_is_that_of_all_counts() -> None:
    choice = make_choice((4, 4, 4), 3, num_alternatives=2, gamma=0.2)
    values = sums_of(choice, [[Fraction(1, 4), Fraction(3, 4)], [Fraction(1), Fraction(0)], [Fraction(1, 2)] * 2])
    assert winner_law(choice, values) == pytest.approx(law_by_enumeration(choice, values, "random"), abs=1e-12)


def test_law_adds_up_to_one() -> None:
    choice = make_choice((500, 1000), 369)
    values = sums_of(choice, [[Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(1, 4)], [Fraction(1, 2)] * 4])
    assert float(winner_law(choice, values).sum()) == pytest.approx(1, abs=1e-12)
    printed = dataclasses.replace(choice, scale="printed")
    assert float(winner_law(printed, values).sum()) == pytest.approx(1, abs=1e-12)


def test_search_of_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 7 alternatives: the search takes at most 6"):
        search_neighbors(make_choice((2, 2), 1, num_alternatives=7), seed=1)
    with pytest.raises(ValueError, match="not of a sub-sample"):
        search_neighbors(dataclasses.replace(make_choice((2, 2), 1), sum_sizes=(1, 1)), seed=1)
    with pytest.raises(ValueError, match="num_starts is 0: use at least 1"):
        search_neighbors(make_choice((2, 2), 1), seed=1, num_starts=0)


def test_without_random_winners_a_loss_is_infinite() -> None:
    # Ties fall on the first, nobody likes it, and it wins for sure; then somebody does.
    choice = make_choice((2, 2), 1, num_alternatives=2, gamma=0.0)
    before = sums_of(choice, [[Fraction(0), Fraction(1)], [Fraction(0), Fraction(1)]])
    after = sums_of(choice, [[Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(1)]])
    assert loss_between(choice, before, after, ties="first") == (math.inf, 1)
    assert loss_between(choice, before, before) == (0.0, 0)


def test_same_seed_finds_the_same_pair() -> None:
    choice = make_choice((30, 60), 9)
    found = search_neighbors(choice, seed=5, num_starts=1, num_steps=30)
    assert found == search_neighbors(choice, seed=5, num_starts=1, num_steps=30)
    assert loss_between(choice, found.sums, found.changed_sums) == (found.loss, found.alternative)


def test_found_pair_differs_in_one_voter_of_the_first_group() -> None:
    choice = make_choice((30, 60), 9)
    found = search_neighbors(choice, seed=5, num_starts=1, num_steps=30)
    moved = [one - other for one, other in zip(found.sums, found.changed_sums, strict=True)]
    assert moved[4:] == [0] * 4
    assert sum(moved) == 0
    assert 0 < sum(map(abs, moved)) <= 8 * (BORDA.steps[0] - BORDA.steps[1])  # ⌊m²/2⌋ = 8


def proven(choice: SampledChoice) -> float:
    return proven_epsilon(
        choice.scoring,
        group_sizes=choice.group_sizes,
        group=0,
        samples=choice.num_samples,
        reading="group",
        gamma=choice.gamma,
        objective="parity",
        scale=choice.scale,
    )


def profile_of_the_reading(choice: SampledChoice) -> tuple[list[int], list[int]]:
    """Return the sums of a profile that all of a group rank alike but for one voter, and with that one in line."""
    step = choice.scoring.steps[0] - choice.scoring.steps[1]
    steps = [-3 * step // 2, 3 * step // 2, step // 2, -step // 2]
    swapped = [-3 * step // 2, 3 * step // 2, -step // 2, step // 2]
    mine, theirs = choice.group_sizes
    rest = [theirs * each for each in swapped]
    return [mine * each for each in steps] + rest, [(mine - 2) * each for each in steps] + rest


@pytest.mark.parametrize(("gamma", "loss"), [(0.05, 0.69), (0.01, 1.83)])
def test_losses_of_reading_f4_are_those_of_the_printed_scale_and_fixed_ties(gamma: float, loss: float) -> None:
    # All of both groups dislike the first most, which wins ties; one voter reverses its ranking.
    choice = make_choice((500, 1000), 93, gamma=gamma, scale="printed")
    before, after = profile_of_the_reading(choice)
    found, _ = loss_between(choice, before, after, ties="first")
    assert found == pytest.approx(loss, abs=0.01)
    # Lots are drawn instead: the pair loses much less.
    assert loss_between(choice, before, after)[0] < 0.5 * found


def test_search_finds_what_the_table_s_cell_loses() -> None:
    choice = make_choice((500, 1000), 93)
    found = search_neighbors(choice, seed=1, num_starts=2, num_steps=100)
    assert 0.18 < found.loss <= proven(choice) * ROUNDING < 0.76


def test_fine_lattices_of_the_printed_scale_lose_more_than_the_label() -> None:
    # 500 and 1001 have no common divisor: nearly no ties, and a step of the smaller group passes several values.
    choice = make_choice((500, 1001), 93, scale="printed")
    before, after = profile_of_the_reading(choice)
    found, _ = loss_between(choice, before, after)
    assert 0.6 < found <= proven(choice) * ROUNDING
