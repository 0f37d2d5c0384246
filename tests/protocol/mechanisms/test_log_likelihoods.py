"""The exact law of every randomizer, as Bayes's rule takes it: ln P[report | values], one battery over all of them.

A randomizer joins by a line in `CASES`, with some rows that its report may come from, and all reports that there are.
Draws are seeded, so that a verdict never changes; `FALSE_ALARM` is the nominal probability that a right law would have
been refused for another seed, in any of the tests of draws.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_laws import exact_law, least_tail
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting import Objective, Scoring, make_scores
from psephos.protocol.fair_voting.choices import Choice, ExponentialChoice, SampledChoice, SampleScale
from psephos.protocol.fair_voting.subsample import Subsample
from psephos.protocol.mechanisms import (
    MAX_RANKED,
    NO_ANSWER,
    Beta,
    Disclosure,
    Discrete,
    DiscreteLaplace,
    FiniteMechanism,
    FreshTwoLayer,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    HyperDistribution,
    JointPair,
    JointPosition,
    JointRanking,
    LocalHashing,
    Mechanism,
    NoisyScores,
    OneLayer,
    PointMass,
    PostProcessed,
    ResponseSum,
    RowMechanism,
    SampledPair,
    SampledPosition,
    SphericalLaplace,
    SubsetSelection,
    ThresholdDecision,
    TwoLayer,
    Uniform,
    VectorLaplace,
    WholeRanking,
    optimal,
)
from psephos.protocol.mechanisms.exponential import (
    choice_probabilities,
    flip_probabilities,
    log_choice_probabilities,
    log_flip_probabilities,
)
from psephos.protocol.moral_preferences.functional import NoisyObjective
from psephos.protocol.privacy import NeighboringRelation, PureAccountant
from thoroughness import draws

FALSE_ALARM = 1e-6
NUM_DRAWS = draws(4_000, full=20_000)
FEW_DRAWS = 300

RANKINGS = tuple(itertools.permutations(range(3)))
BORDA = Scoring(make_scores("borda", 3))
UNIT = BORDA.steps[0]  # a voter's sums are UNIT, 0 and -UNIT
SUMS = ((UNIT, 0, -UNIT, 2 * UNIT, -UNIT, -UNIT), (-UNIT, 0, UNIT, 0, 0, 0), (0, 0, 0, 0, UNIT, -UNIT))
OBJECTIVES = [
    Objective("parity"),
    Objective("constrained", max_disparity=Fraction(1, 2)),
    Objective("penalized", fairness_weight=Fraction(3, 2)),
]


def sampled(
    objective: Objective = OBJECTIVES[0], *, scale: SampleScale = "unbiased", gamma: float = 0.25, samples: int = 2
) -> SampledChoice:
    """Return Algorithm 2 for two voters and three."""
    return SampledChoice(BORDA, (2, 3), objective, samples, (2, 3), gamma, scale, (1.0, 1.0))


@dataclasses.dataclass(frozen=True)
class Case:
    """A randomizer, rows that its report may come from, and whether these include a worst pair.

    Args:
        epsilon: what two of the rows lose at most; by default what the event says, None where that is not attained.
        num_draws: fewer where a draw takes long; such laws are compared with exact ones below.
    """

    mechanism: RowMechanism
    rows: tuple[tuple[int, ...], ...]
    epsilon: float | None = math.nan
    num_draws: int = NUM_DRAWS

    def __str__(self) -> str:
        return repr(self.mechanism)[:60]

    @property
    def candidates(self) -> IntArray:
        return np.array(self.rows, dtype=np.int64)

    def all_reports(self) -> IntArray:
        low, high = self.mechanism.report_range
        width = self.mechanism.num_reports_of(len(self.rows[0]))
        return np.array(list(itertools.product(range(low, high + 1), repeat=width)), dtype=np.int64)


HYPERS: list[HyperDistribution] = [
    PointMass(0.3),
    Uniform(0.0, 0.8),
    Beta(2, 3, 0.0, 0.9),
    Discrete((0.05, 0.6), (0.7, 0.3)),
]
ONE_SET = tuple(itertools.product(range(3), repeat=2))
CASES = [
    Case(GeneralizedRandomizedResponse(1.0, 2), ((0, 0, 1), (1, 1, 0), (0, 1, 1))),
    Case(GeneralizedRandomizedResponse(0.7, 9), ((0,), (3,), (8,))),
    Case(GeneralizedRandomizedResponse(30.0, 3), ((0, 2), (1, 1))),
    Case(optimal([Fraction(number) for number in (-3, -2, -1, 1, 2, 3)], epsilon=1.0).mechanism, ((0,), (2,), (5,))),
    Case(SubsetSelection(0.5, 5), ((0,), (3,), (4,))),
    Case(SubsetSelection(1.0, 4), ((0, 3), (1, 1), (3, 0))),
    Case(HadamardResponse(1.0, 5), ((0, 4), (2, 3))),
    Case(HadamardResponse(4.0, 20), ((0,), (8,), (19,))),
    Case(LocalHashing(1.0, 5), ((0, 4), (2, 3))),
    Case(LocalHashing(3.0, 8), ((0,), (3,), (7,))),
    Case(DiscreteLaplace(0.3, 0, 1), ((0,), (1,))),
    Case(DiscreteLaplace(1.3, -2, 3), ((-2,), (0,), (3,))),
    Case(DiscreteLaplace(0.4, 0, 2), ((0, 2), (2, 0), (1, 1))),
    Case(DiscreteLaplace(40.0, 0, 9), ((0,), (9,))),
    Case(VectorLaplace(0.5, 4, 1), ((-1, 1), (1, -1), (0, 0))),
    Case(ThresholdDecision(0.5, 2, 4, 1, -2, 2), ((-1, 1), (1, -1), (0, 0))),
    Case(ResponseSum(VectorLaplace(0.5, 1, 4), GeneralizedRandomizedResponse(2.0, 2), (3,), (2,), 1), ((1, 1), (0, 1))),
    Case(ResponseSum(None, GeneralizedRandomizedResponse(1.0, 2), (1, 3), (2, 1), 1), ((0, 1, 0), (0, 1, 1))),
    Case(Disclosure(1), ((0, 1), (1, -1))),
    Case(OneLayer((3,), (0.4,)), ((0, 1), (1, 0), (0, 0))),
    Case(OneLayer((2, 3), (0.4, 0.1)), ((1, NO_ANSWER, 3), (0, NO_ANSWER, 2), (1, 3, 0)), epsilon=math.inf),
    Case(OneLayer((2, 3), (0.0, 2 / 3)), ((1, 3), (0, 3)), epsilon=math.inf),
    *(Case(FreshTwoLayer((3,), hyper), ONE_SET) for hyper in HYPERS),
    *(Case(TwoLayer((3,), hyper), ONE_SET) for hyper in HYPERS),
    Case(TwoLayer((2, 3), HYPERS[1]), ((1, NO_ANSWER, 3), (0, NO_ANSWER, 2), (1, 3, 0)), epsilon=math.inf),
    Case(TwoLayer((2, 3), PointMass(0.0)), ((1, 3), (0, 3)), epsilon=math.inf),
    Case(TwoLayer((2,), Discrete((0.0, 1.0), (0.4, 0.6))), ((0, 0), (0, 1)), epsilon=math.inf),
    Case(SampledPair(1.2, 3), RANKINGS),
    Case(SampledPosition(0.8, 3), RANKINGS),
    Case(WholeRanking(2.0, 3), RANKINGS),
    Case(NoisyScores(12.0, (1, -1)), ((0, 1), (1, 0))),
    Case(ExponentialChoice(BORDA, (2, 3), OBJECTIVES[0], 1.0), SUMS, epsilon=None, num_draws=FEW_DRAWS),
    Case(
        ExponentialChoice(BORDA, (2, 3), OBJECTIVES[2], 1.0, is_flipped=True), SUMS, epsilon=None, num_draws=FEW_DRAWS
    ),
    *(Case(sampled(objective), SUMS, epsilon=None, num_draws=FEW_DRAWS) for objective in OBJECTIVES),
    Case(sampled(scale="printed", gamma=0.0), SUMS, epsilon=None, num_draws=FEW_DRAWS),
    Case(Subsample((3, 2), 2), ((0,),), epsilon=0.0, num_draws=2_000),
]
cases = pytest.mark.parametrize("case", CASES, ids=str)
finite_cases = pytest.mark.parametrize(
    "case", [case for case in CASES if isinstance(case.mechanism, FiniteMechanism)], ids=str
)


def one(mechanism: RowMechanism, reports: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]) -> FloatArray:
    return mechanism.log_likelihoods(np.array(reports, dtype=np.int64), np.array(rows, dtype=np.int64))


# One battery


@cases
def test_all_reports_together_have_probability_one(case: Case) -> None:
    """Also where clamping gathers all noise beyond an end there."""
    logs = case.mechanism.log_likelihoods(case.all_reports(), case.candidates)
    assert logs.dtype == np.float64
    assert logs.shape == (len(case.all_reports()), len(case.rows))
    totals = [math.fsum(column) for column in np.exp(logs).T.tolist()]
    assert totals == pytest.approx([1.0] * len(case.rows), abs=1e-12)


LADDER = (1, 2, 3, 5, 8, 16, 31, 50)
MOST_REPORTS = 1 << 17


def on_the_ladder() -> list[tuple[RowMechanism, int]]:
    """Return every kind of randomizer with each size that it may have, and how many values its row has."""
    made: list[tuple[RowMechanism, int]] = []
    for size in LADDER:
        made += [(OneLayer.from_epsilon((2,), 1.0), size), (TwoLayer((2,), Uniform(0.0, 0.6)), size)]
        made += [(FreshTwoLayer((2,), Uniform(0.0, 0.6)), size), (VectorLaplace(0.5, 1, 1), size)]
        made += [(Disclosure(size), 1), (DiscreteLaplace(float(size), 0, size), 1)]
        if size == 1:
            continue
        made += [(kind(1.0, size), 1) for kind in (HadamardResponse, LocalHashing)]
        made += [(SubsetSelection(1.0, size), 1)] if size <= 16 else []
        made += [(GeneralizedRandomizedResponse(1.0, size), 1), (SampledPair(1.0, size), size)]
        made += [(SampledPosition(1.0, size), size), (JointPosition(1.0, size, 2), size)]
        made += [(JointPair(1.0, size, 2, signs), size) for signs in (1, 2)]
        made += [(JointPair(1.0, 2, size, 1), 2), (JointPosition(1.0, 2, size), 2), (JointRanking(1.0, 2, size), 2)]
        made += (
            [(optimal([Fraction(number) for number in range(1, size + 1)], epsilon=1.0).mechanism, 1)]
            if size <= 8
            else []
        )
        made += [(WholeRanking(1.0, size), size), (JointRanking(1.0, size, 2), size)] if size <= MAX_RANKED else []
        scoring = Scoring(make_scores("borda", size))
        for is_flipped in (False, True) if size <= 16 else (False,):
            choice = ExponentialChoice(scoring, (2, 3), OBJECTIVES[0], 1.0, is_flipped=is_flipped)
            made.append((choice, 2 * size))
    return made


@pytest.mark.parametrize(("mechanism", "width"), on_the_ladder(), ids=lambda own: repr(own)[:70])
def test_every_law_sums_to_one_at_each_size_of_the_ladder(mechanism: RowMechanism, width: int) -> None:
    """Over all that the range of reports allows, where that can be counted; of signs, over all that are signs."""
    low, high = mechanism.report_range
    row = (
        np.arange(width, dtype=np.int64)[None] if mechanism.entry_of_rankings else np.zeros((1, width), dtype=np.int64)
    )
    length = mechanism.num_reports_of(width)
    if length * math.log(high - low + 1) <= math.log(MOST_REPORTS):
        columns = [range(low, high + 1)] * length
    elif isinstance(mechanism, JointPair):
        columns = [range(low, high + 1), *[(-1, 0, 1)] * min(length - 1, 2)]
    elif isinstance(mechanism, Mechanism):  # each number by itself
        row, length = row[:, :1], 1
        columns = [range(low, high + 1)]
    else:
        assert isinstance(mechanism, TwoLayer)
        # One of each number of flips stands for all of them.
        flips = np.tril(np.ones((width + 1, width), dtype=np.int64), -1)
        ways = np.array([math.comb(width, number) for number in range(width + 1)], dtype=np.float64)
        assert float(ways @ np.exp(mechanism.log_likelihoods(flips, row))[:, 0]) == pytest.approx(1, abs=1e-9)
        return
    reports = np.array(list(itertools.product(*columns)), dtype=np.int64)
    if reports.shape[1] < length:  # signs of groups beyond the first two: all of them, one by one
        reports = np.array(
            [
                [question, *(sign if group == own else 0 for group in range(length - 1))]
                for question in range(low, high + 1)
                for own in range(length - 1)
                for sign in (-1, 1)
            ],
            dtype=np.int64,
        )
    assert math.fsum(np.exp(mechanism.log_likelihoods(reports, row))[:, 0]) == pytest.approx(1, abs=1e-9)


@cases
def test_two_rows_differ_by_the_proven_loss_and_no_more(case: Case) -> None:
    """The greatest difference between two candidates, over all reports; infinite where a report gives one away."""
    logs = case.mechanism.log_likelihoods(case.all_reports(), case.candidates)
    logs = logs[logs.max(axis=1) > -np.inf]
    greatest = float((logs.max(axis=1) - logs.min(axis=1)).max())
    event = case.mechanism.event_of(len(case.rows[0]))
    proven = PureAccountant.epsilon_of(event, NeighboringRelation.REPLACE_ONE)
    if case.epsilon is None:  # whole profiles are no neighbors
        assert 0 < greatest < math.inf
    elif math.isnan(case.epsilon):
        assert greatest <= proven + 1e-11
        assert greatest == pytest.approx(proven, rel=0.01)
    else:
        assert greatest == case.epsilon


@cases
def test_draws_have_the_frequencies_that_the_law_says(case: Case) -> None:
    """Chi-square of likely reports, for the first row and the last. False alarm: `FALSE_ALARM` for all together."""
    reports = case.all_reports()
    for row in {case.rows[0], case.rows[-1]}:
        values = np.array([row], dtype=np.int64)
        uniforms = np.random.default_rng(20261122).random((case.num_draws, case.mechanism.slots_of(len(row))))
        drawn = case.mechanism.randomize_rows(np.tile(values, (case.num_draws, 1)), uniforms)
        chances = np.exp(case.mechanism.log_likelihoods(reports, values))[:, 0]
        keys: list[Any] = list(map(tuple, reports.tolist()))
        found: list[Any] = list(map(tuple, drawn.tolist()))
        assert least_tail(found, dict(zip(keys, chances.tolist(), strict=True))) > FALSE_ALARM / (4 * len(CASES))


@cases
def test_each_report_and_candidate_is_looked_at_by_itself(case: Case) -> None:
    """No entry depends on what else is asked; none at all may be asked."""
    reports, candidates = case.all_reports()[::7], case.candidates
    together = case.mechanism.log_likelihoods(reports, candidates)
    for number in range(len(candidates)):
        alone = case.mechanism.log_likelihoods(reports, candidates[number : number + 1])
        np.testing.assert_array_equal(alone[:, 0], together[:, number])
    assert case.mechanism.log_likelihoods(reports[:0], candidates).shape == (0, len(candidates))
    assert case.mechanism.log_likelihoods(reports, candidates[:0]).shape == (len(reports), 0)


@cases
def test_what_is_out_of_range_or_shape_is_refused(case: Case) -> None:
    mechanism, candidates = case.mechanism, case.candidates
    reports = case.all_reports()[:1]
    low, high = mechanism.report_range
    for wrong in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"reports are .*: use values from {low} to {high}"):
            mechanism.log_likelihoods(np.full_like(reports, wrong), candidates)
    low, high = mechanism.value_range
    for wrong in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"candidates are .*: use values from {low} to {high}"):
            mechanism.log_likelihoods(reports, np.full_like(candidates, wrong))
    for misfit, rows in ((reports[0], candidates), (reports, candidates[0]), (np.tile(reports, (1, 2)), candidates)):
        with pytest.raises(ValueError, match=r"give reports of shape \(n, num_reports_of\(w\)\)"):
            mechanism.log_likelihoods(misfit, rows)


# Laws that are known another way


@finite_cases
def test_a_finite_law_is_its_matrix_value_by_value(case: Case) -> None:
    assert isinstance(case.mechanism, FiniteMechanism)
    matrix = np.array(case.mechanism.channel_matrix())
    of_value, of_report = case.mechanism.value_range[0], case.mechanism.report_range[0]
    reports = case.all_reports()
    chances = np.prod(matrix[case.candidates[None] - of_value, reports[:, None] - of_report], axis=2)
    np.testing.assert_allclose(np.exp(case.mechanism.log_likelihoods(reports, case.candidates)), chances, rtol=1e-13)
    low, high = case.mechanism.report_range
    singles, values = np.arange(low, high + 1), np.arange(of_value, case.mechanism.value_range[1] + 1)
    looked_up = FiniteMechanism.log_probabilities(case.mechanism, singles, values)
    np.testing.assert_allclose(case.mechanism.log_probabilities(singles, values), looked_up, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scale", [0.3, 1.3, 7.0])
def test_a_clamped_report_stands_for_all_noise_beyond(scale: float) -> None:
    mechanism = DiscreteLaplace(scale, -2, 3)
    low, high = mechanism.report_range
    values = np.arange(-2, 4)
    logs = mechanism.log_likelihoods(np.arange(low, high + 1)[:, None], values[:, None])
    reach = math.ceil(40 * scale)  # of the noise that is added up
    for number, value in enumerate(values.tolist()):
        inside = [math.log(mechanism.noise_probability(report - value)) for report in range(low + 1, high)]
        np.testing.assert_allclose(logs[1:-1, number], inside, rtol=1e-12)
        at_low = [mechanism.noise_probability(low - beyond - value) for beyond in range(reach)]
        at_high = [mechanism.noise_probability(high + beyond - value) for beyond in range(reach)]
        ends = [math.log(math.fsum(at_low)), math.log(math.fsum(at_high))]
        np.testing.assert_allclose(logs[[0, -1], number], ends, rtol=1e-12)


@pytest.mark.parametrize("mechanism", [SampledPair(1.2, 4), SampledPosition(0.8, 4)], ids=repr)
def test_a_sampled_question_has_the_printed_law(mechanism: SampledPair | SampledPosition) -> None:
    rankings = list(itertools.permutations(range(4)))
    number = mechanism.report_range[1] + 1
    logs = one(mechanism, [[report] for report in range(number)], rankings)
    laws = np.array([mechanism.report_probabilities(ranking) for ranking in rankings])
    np.testing.assert_allclose(np.exp(logs.T), laws, rtol=1e-13)


# Answers that share a draw


def test_a_row_of_two_layers_is_worked_out_by_hand() -> None:
    """Uniform on [0, 1]: L(k) = k!(m − k)!/(m + 1)!; a flip to one of three other labels has a third of it."""
    mechanism = TwoLayer((2, 4), Uniform(0.0, 1.0))
    row = (0, 2, NO_ANSWER, 5)
    reports = [(0, 2, -1, 5), (1, 2, -1, 5), (0, 3, -1, 5), (1, 3, -1, 2), (0, 2, 0, 5), (0, -1, -1, 5), (2, 2, -1, 5)]
    by_hand = [1 / 4, 1 / 12, 1 / 36, 1 / 36, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(np.exp(one(mechanism, reports, [row])[:, 0]), by_hand, rtol=1e-13)


def test_a_hundred_answers_keep_their_digits() -> None:
    """Against exact fractions: ∫ p^k (1 − p)^(m−k) dp over [0, 1/2], doubled."""
    size, number = 100, 3
    mechanism = TwoLayer((number,), Uniform(0.0, 0.5))
    row = [0] * size
    flips = [0, 1, 37, 99, 100]
    logs = one(mechanism, [[1] * k + [0] * (size - k) for k in flips], [row])[:, 0]
    for k, log in zip(flips, logs.tolist(), strict=True):
        moment = 2 * sum(
            Fraction((-1) ** j * math.comb(size - k, j), k + j + 1) / 2 ** (k + j + 1) for j in range(size - k + 1)
        )
        exact = math.log(moment.numerator) - math.log(moment.denominator) - k * math.log(number - 1)
        assert log == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize("hyper", HYPERS, ids=repr)
def test_one_answer_by_itself_has_the_mean_s_law(hyper: HyperDistribution) -> None:
    """A row of one answer: shared draws, fresh draws and no second layer are the same."""
    reports, rows = [(label,) for label in range(3)], [(0,), (2,)]
    shared = one(TwoLayer((3,), hyper), reports, rows)
    np.testing.assert_allclose(shared, one(FreshTwoLayer((3,), hyper), reports, rows), atol=1e-13)
    np.testing.assert_allclose(shared, one(OneLayer((3,), (hyper.mean,)), reports, rows), atol=1e-13)


# Noise on the continuum


@pytest.mark.parametrize(("dimension", "scale"), [(1, 2.0), (1, 30.0), (2, 3.0)])
def test_the_center_s_density_is_as_near_the_exact_law_as_promised(dimension: int, scale: float) -> None:
    """Each cell's integral by a fine midpoint rule; and all cells together have probability one, nearly."""
    mechanism = SphericalLaplace(scale, 1.0, 2, dimension)
    rows = [(0,) * dimension, (2, *(-1,) * (dimension - 1))]
    reach = math.ceil(25 * scale)
    cells = np.array(list(itertools.product(range(-reach, reach + 1), repeat=dimension)), dtype=np.int64)
    logs = one(mechanism, cells.tolist(), rows)
    margin = math.sqrt(dimension) / (2 * scale)
    for column in np.exp(logs).T.tolist():
        assert abs(math.log(math.fsum(column))) < margin
    near = np.abs(cells).max(axis=1) <= 6
    parts = (np.arange(24) + 0.5) / 24 - 0.5
    inside = np.array(list(itertools.product(parts, repeat=dimension)))
    surface = 2.0 if dimension == 1 else 2 * math.pi
    for number, row in enumerate(rows):
        lengths = np.linalg.norm(cells[near][:, None] + inside - np.array(row), axis=2)
        means = np.exp(-lengths / scale).mean(axis=1) / (surface * math.gamma(dimension) * scale**dimension)
        assert np.abs(np.log(means) - logs[near, number]).max() < margin


def test_spherical_noise_loses_what_is_proven_where_a_report_is_beyond_both_rows() -> None:
    mechanism = SphericalLaplace(10.0, 5.0, 4, 2)
    (here, there) = one(mechanism, [(30, 40)], [(3, 4), (0, 0)])[0].tolist()
    proven = PureAccountant.epsilon_of(mechanism.event_of(2), NeighboringRelation.REPLACE_ONE)
    assert here - there == pytest.approx(proven, rel=1e-12)
    logs = one(mechanism, [(a, b) for a in range(-60, 61, 7) for b in range(-60, 61, 7)], [(3, 4), (0, 0)])
    assert np.abs(logs[:, 0] - logs[:, 1]).max() <= proven + 1e-12
    with pytest.raises(ValueError, match=r"candidates have shape \(1, 3\): give shape \(c, 2\)"):
        one(mechanism, [(0, 0, 0)], [(0, 0, 0)])


# Elections by a trusted server


def test_algorithm_2_with_more_outcomes_than_can_be_gone_through_has_no_law_here() -> None:
    with pytest.raises(NotImplementedError, match=r"the law of SampledChoice takes too long: 2001\^2 outcomes"):
        one(sampled(samples=2000), [[0]], SUMS)


def test_logarithms_of_choices_go_on_where_floats_end() -> None:
    """Against fractions for many choices; then two choices a thousand nats apart, worked out by hand."""
    qualities = [Fraction(number, 7) for number in (0, -1, -1, -3, -20, -90)]
    deficits = np.array([[float(-quality) for quality in qualities]] * 2)
    for of_fractions, of_arrays in (
        (choice_probabilities, log_choice_probabilities),
        (flip_probabilities, log_flip_probabilities),
    ):
        np.testing.assert_allclose(of_arrays(deficits)[1], np.log(of_fractions(qualities, Fraction(1))), rtol=1e-12)
    far = np.array([[0.0, 1000.0]])
    np.testing.assert_allclose(log_choice_probabilities(far), [[0.0, -1000.0]], atol=1e-12)
    np.testing.assert_allclose(log_flip_probabilities(far), [[0.0, -1000.0 - math.log(2)]], atol=1e-12)
    even = np.zeros((1, 50))
    for of_arrays in (log_choice_probabilities, log_flip_probabilities):
        np.testing.assert_allclose(of_arrays(even), np.full((1, 50), -math.log(50)), atol=1e-12)


def test_a_row_of_sums_that_no_voters_have_is_refused() -> None:
    for choice in (sampled(), ExponentialChoice(BORDA, (2, 3), OBJECTIVES[0], 1.0)):
        assert isinstance(choice, Choice)
        with pytest.raises(ValueError, match="give 3 for each of 2 groups"):
            one(choice, [[0]], [(0, 0, 0)])
    with pytest.raises(ValueError, match=r"a sum is not one of utilities"):
        one(sampled(), [[0]], [(3 * UNIT, 0, 0, 0, 0, 0)])


# Both limits


@pytest.mark.parametrize(
    "mechanism",
    [
        Disclosure(2),
        OneLayer((3,), (0.0,)),
        FreshTwoLayer((3,), PointMass(0.0)),
        TwoLayer((3,), Uniform(0.0, 0.0)),
        DiscreteLaplace(1e-3, 0, 2),
        GeneralizedRandomizedResponse(30.0, 3),
    ],
    ids=repr,
)
def test_without_privacy_a_report_gives_its_value_away(mechanism: RowMechanism) -> None:
    """A law that only comes near says how near: it is not −∞ where a float's probability would be 0."""
    logs = one(mechanism, [(0,), (1,), (2,)], [(0,), (1,), (2,)])
    np.testing.assert_allclose(np.diagonal(logs), 0.0, atol=1e-12)
    others = logs[~np.eye(3, dtype=np.bool_)]
    match mechanism:
        case DiscreteLaplace():
            np.testing.assert_allclose(others, [-1000, -2000, -1000, -1000, -2000, -1000], rtol=1e-12)
        case GeneralizedRandomizedResponse():
            np.testing.assert_allclose(others, -30.0, rtol=1e-4)  # the keep probability is rounded downwards
        case _:
            assert (others == -np.inf).all()


# Laws that are not written down


@dataclasses.dataclass(frozen=True)
class Secretive(Mechanism):
    """Somebody else's randomizer."""

    @property
    def report_range(self) -> tuple[int, int]:
        """One bit."""
        return 0, 1

    @property
    def value_range(self) -> tuple[int, int]:
        """One bit."""
        return 0, 1

    @property
    def event(self) -> Any:
        """Nothing."""
        raise NotImplementedError

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Return the values."""
        del uniforms
        return values


def test_a_law_that_is_not_written_down_says_whose_it_is() -> None:
    with pytest.raises(NotImplementedError, match=r"^the law of Secretive is not written down$"):
        one(Secretive(), [(0,)], [(1,)])
    with pytest.raises(NotImplementedError, match=r"^the law of Secretive is not written down$"):
        RowMechanism.log_likelihoods(Secretive(), np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.int64))


def test_a_report_that_is_computed_from_another_one_leaves_the_law_to_its_noise() -> None:
    noisy = NoisyObjective(VectorLaplace(2.0, 4, 2), 1, 0.5, 1.0, 0.01, "project")
    assert isinstance(noisy, PostProcessed)
    with pytest.raises(NotImplementedError, match=r"^the law of NoisyObjective is not written down; that of its noise"):
        one(noisy, [(0,)], [(1, 1)])
    assert one(noisy.noise, [(0, 1)], [(1, 1)]).shape == (1, 1)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.name)
@pytest.mark.parametrize("scale", ["unbiased", "printed"])
def test_algorithm_2_has_the_law_of_all_its_draws(objective: Objective, scale: SampleScale) -> None:
    """Every way of every draw of the exact sampler, ties included; all of which are fractions."""
    choice = dataclasses.replace(sampled(objective, scale=scale), num_samples=1)
    for row in SUMS:
        law = exact_law(lambda below, row=row: int(choice.randomize_exactly(row, below)[0]))
        logs = one(choice, [[winner] for winner in range(3)], [row])[:, 0]
        np.testing.assert_allclose(np.exp(logs), [float(law[winner]) for winner in range(3)], rtol=1e-13)


@pytest.mark.parametrize("is_flipped", [False, True])
def test_choices_by_quality_have_the_printed_law(is_flipped: bool) -> None:  # noqa: FBT001  a parameter of the test
    choice = ExponentialChoice(BORDA, (2, 3), OBJECTIVES[0], 2.0, is_flipped=is_flipped)
    logs = one(choice, [[winner] for winner in range(3)], SUMS)
    np.testing.assert_allclose(np.exp(logs.T), np.array([choice.probabilities(row) for row in SUMS]), rtol=1e-12)


def tail_of_draws(case: Case, drawn: tuple[int, ...], supposed: tuple[int, ...]) -> float:
    """Return how likely draws from a row are, at least as unlikely, if they came from another one."""
    mechanism = case.mechanism
    uniforms = np.random.default_rng(20261122).random((case.num_draws, mechanism.slots_of(len(drawn))))
    reports = mechanism.randomize_rows(np.array([drawn] * case.num_draws, dtype=np.int64), uniforms)
    chances: list[float] = np.exp(case.mechanism.log_likelihoods(case.all_reports(), np.array([supposed])))[
        :, 0
    ].tolist()
    everything: list[list[int]] = case.all_reports().tolist()
    of_case: list[list[int]] = reports.tolist()
    law = {tuple(report): chance for report, chance in zip(everything, chances, strict=True)}
    return least_tail([tuple(report) for report in of_case], law)


@pytest.mark.parametrize("case", [case for case in CASES if case.num_draws == NUM_DRAWS], ids=str)
def test_the_same_draws_refuse_the_law_of_another_row(case: Case) -> None:
    assert tail_of_draws(case, case.rows[0], case.rows[1]) < FALSE_ALARM / (4 * len(CASES))
