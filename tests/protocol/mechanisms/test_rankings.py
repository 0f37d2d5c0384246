"""Local randomizers of rankings: their laws over all rankings, their losses, and the codes of rankings."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from exact_laws import law_of_rows
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.elementary import quotient_up
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import (
    MAX_ALTERNATIVES,
    MAX_RANKED,
    NoisyScores,
    RowMechanism,
    SampledPair,
    SampledPosition,
    WholeRanking,
    code_of_rankings,
    rankings_of_codes,
)
from psephos.protocol.privacy import NeighboringRelation, PureAccountant
from strategies import CHECKED

EPSILONS = [0.01, 1.0, 3.0, 30.0]
SIZES = [2, 3, 4]


def rankings_of(size: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(size)))


def proven(mechanism: RowMechanism, num_values: int) -> float:
    return PureAccountant.epsilon_of(mechanism.event_of(num_values), NeighboringRelation.REPLACE_ONE)


every_kind = pytest.mark.parametrize("kind", [SampledPair, SampledPosition, WholeRanking])


def test_the_law_of_a_pair_worked_by_hand() -> None:
    """At ε = ln 3 the truth is told three times of four; of the ranking b > c > a, pairs are (a, b), (a, c), (b, c)."""
    law = SampledPair(math.log(3), 3).report_probabilities((2, 0, 1))
    assert law == pytest.approx((1 / 12, 3 / 12, 1 / 12, 3 / 12, 3 / 12, 1 / 12), rel=1e-14)


def test_the_law_of_a_position_worked_by_hand() -> None:
    """At ε = ln 4 a position of three is told with 2/3, each other one with 1/6, and each alternative is asked for."""
    law = SampledPosition(math.log(4), 3).report_probabilities((2, 0, 1))
    hit, miss = 2 / 9, 1 / 18
    assert law == pytest.approx((miss, miss, hit, hit, miss, miss, miss, hit, miss), rel=1e-14)


@pytest.mark.parametrize("kind", [SampledPair, SampledPosition])
@pytest.mark.parametrize("size", SIZES)
def test_exact_draws_have_exactly_the_law(kind: type[SampledPair | SampledPosition], size: int) -> None:
    """As fractions, the keep probability being the fraction that its float is."""
    mechanism = kind(1.3, size)
    keep = Fraction(mechanism.response.keep_probability)
    lie = (1 - keep) / (mechanism.response.num_choices - 1)
    for ranking in rankings_of(size)[:6]:
        law = law_of_rows(lambda below, row=ranking: mechanism.randomize_exactly(row, below))
        expected = mechanism.report_probabilities(ranking)
        assert sorted(law) == [(report,) for report in range(len(expected))]
        for (report,), chance in law.items():
            assert chance in {keep / mechanism.num_questions, lie / mechanism.num_questions}
            assert float(chance) == pytest.approx(expected[report], rel=1e-14)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_questions_are_all_pairs_in_lexicographic_order(size: int) -> None:
    mechanism = SampledPair(1.0, size)
    pairs = list(zip(*(side.tolist() for side in mechanism.pairs), strict=True))
    assert pairs == list(itertools.combinations(range(size), 2))
    assert mechanism.num_questions == len(pairs)
    assert mechanism.report_range == (0, 2 * len(pairs) - 1)


@pytest.mark.parametrize("kind", [SampledPair, SampledPosition])
def test_uniforms_name_question_and_answer(kind: type[SampledPair | SampledPosition]) -> None:
    """The first names the question, all alike, up to the greatest that is below 1; a second of 0 keeps the answer."""
    mechanism = kind(1.0, 4)
    ranking = (2, 0, 3, 1)
    for question in range(mechanism.num_questions):
        true = int(mechanism.answers(np.array([ranking]), np.array([question]))[0])
        report = question * mechanism.response.num_choices + true
        assert mechanism.randomize_row(ranking, ((question + 0.5) / mechanism.num_questions, 0.0)) == [report]
    (last,) = mechanism.randomize_row(ranking, (1 - 2.0**-53, 1 - 2.0**-53))
    assert last // mechanism.response.num_choices == mechanism.num_questions - 1


# Noisy scores


def l1_distance(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(abs(one - other) for one, other in zip(first, second, strict=True))


@CHECKED
@given(st.lists(st.integers(-30, 30), min_size=2, max_size=5).filter(lambda steps: len(set(steps)) > 1))
def test_noise_is_made_for_the_farthest_pair_of_rankings(steps: list[int]) -> None:
    """By brute force over all pairs of rankings: none are farther apart than a ranking and its reverse."""
    falling = tuple(sorted(steps, reverse=True))
    mechanism = NoisyScores(0.7, falling)
    scores = {ranking: mechanism.prepare_row(ranking) for ranking in rankings_of(len(falling))}
    for ranking, own in scores.items():
        assert own == [falling[position] for position in ranking]
    farthest = max(l1_distance(one, other) for one, other in itertools.product(scores.values(), repeat=2))
    assert mechanism.laplace.sensitivity == farthest
    assert mechanism.laplace.scale == quotient_up(farthest, 0.7)
    assert proven(mechanism, len(falling)) == pytest.approx(0.7, rel=1e-15)
    low, high = mechanism.laplace.value_range
    assert all(low <= score <= high for own in scores.values() for score in own)


@pytest.mark.parametrize(
    ("kind", "most"), [(SampledPair, MAX_ALTERNATIVES), (SampledPosition, MAX_ALTERNATIVES), (WholeRanking, MAX_RANKED)]
)
def test_a_number_of_alternatives_that_is_not_allowed_is_refused(kind: Any, most: int) -> None:
    for size in (-1, 0, 1, most + 1):
        with refuses("num_alternatives", size):
            kind(1.0, size)
    assert kind(1.0, most).num_alternatives == most


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 31.0])
def test_an_epsilon_that_is_not_allowed_is_refused(epsilon: float) -> None:
    for kind in (SampledPair, SampledPosition, WholeRanking):
        with pytest.raises(ConfigurationError, match="epsilon"):
            kind(epsilon, 3)


def test_scores_that_are_all_alike_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="sensitivity"):
        NoisyScores(1.0, (4, 4, 4))


# Codes


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_codes_number_rankings_in_lexicographic_order(size: int) -> None:
    rankings = np.array(rankings_of(size), dtype=np.int64)
    codes = code_of_rankings(rankings)
    assert codes.tolist() == list(range(math.factorial(size)))
    assert np.array_equal(rankings_of_codes(codes, size), rankings)


@CHECKED
@given(st.integers(2, 20), st.integers(0, 2**32))
def test_rankings_of_up_to_twenty_survive_their_code(size: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    rankings = np.array([generator.permutation(size) for _ in range(20)], dtype=np.int64)
    codes = code_of_rankings(rankings)
    assert np.array_equal(rankings_of_codes(codes, size), rankings)
    order = sorted(range(20), key=lambda row: tuple(rankings[row].tolist()))
    assert codes[order].tolist() == sorted(codes.tolist())


def test_the_last_of_twenty_alternatives_rankings_has_the_greatest_code() -> None:
    """20! − 1, which 64 bits hold; of 21 alternatives they would not."""
    last = np.arange(19, -1, -1)[None, :]
    assert code_of_rankings(last).tolist() == [math.factorial(20) - 1]
    with pytest.raises(ValueError, match="there are 21 alternatives: rankings of up to 20"):
        code_of_rankings(np.arange(21)[None, :])


def make_all(size: int) -> list[RowMechanism]:
    steps = tuple(range(3 * size, 0, -3))
    return [SampledPair(1.1, size), SampledPosition(1.1, size), WholeRanking(1.1, size), NoisyScores(1.1, steps)]


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_one_row_is_randomized_as_many_are_bit_for_bit(size: int) -> None:
    generator = np.random.default_rng(size)
    rankings = np.array([generator.permutation(size) for _ in range(300)], dtype=np.int64)
    for mechanism in make_all(size):
        uniforms = generator.random((300, mechanism.slots_of(size)))
        uniforms[0], uniforms[1] = 0.0, 1 - 2.0**-53
        together = mechanism.randomize_rows(rankings, uniforms)
        assert together.dtype == np.int64
        assert together.shape == (300, mechanism.num_reports_of(size))
        rows: list[list[int]] = rankings.tolist()
        drawn: list[list[float]] = uniforms.tolist()
        alone = [mechanism.randomize_row(row, own) for row, own in zip(rows, drawn, strict=True)]
        assert together.tolist() == alone
        assert all(type(number) is int for report in alone for number in report)
        low, high = mechanism.report_range
        assert low <= int(together.min()) <= int(together.max()) <= high
