"""Losses of rows that share a flip probability: against all rows and reports, and against values worked by hand."""

import decimal
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import hypothesis
import pytest
from exact_laws import exact_log, exact_moment, support_of
from hypothesis import strategies as st
from psephos.protocol.mechanisms import (
    Beta,
    Discrete,
    HyperDistribution,
    Moments,
    Piecewise,
    PointMass,
    TruncatedNormal,
    Uniform,
    compare_hypers,
    epsilon_of,
    flip_probability_of,
    hypers_of_mean,
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_one_answer,
    uniform_for,
)
from thoroughness import draws

# So far may a loss be rounded up, and no further.
SLACK = 1e-8

HYPERS: list[HyperDistribution] = [
    PointMass(0.3),
    PointMass(0.8),
    Uniform(0.0, 0.4),
    Uniform(0.0, 1.0),
    Uniform(0.2, 0.9),
    Uniform(0.9, 1.0),
    Uniform(0.4, 0.4),
    Beta(2, 3),
    Beta(1, 4, 0.1, 0.7),
    Discrete((0.1, 0.6), (0.5, 0.5)),
    Discrete((0.0, 0.6, 1.0), (0.5, 0.25, 0.25)),
    Beta(0.5, 1.5),
    Beta(2.5, 0.25, 0.1, 0.6),
    TruncatedNormal(0.2, 0.1, 0.0, 0.5),
    TruncatedNormal(3.0, 0.1, 0.0, 0.9),
    Piecewise((0.0, 0.2, 0.5), (0.75, 0.25)),
    Moments((0.3, 0.14, 0.08, 0.05, 0.033)),
]
ROWS = [(2,), (4,), (2, 2), (2, 2, 2, 2, 2), (3, 3, 3), (2, 4), (4, 3, 2), (3, 2, 3, 2), (4, 4, 2, 2), (2, 2, 3, 3)]

hypers = pytest.mark.parametrize("hyper", HYPERS, ids=repr)
rows = pytest.mark.parametrize("sizes", ROWS, ids=str)


@hypers
@pytest.mark.parametrize("num_answers", [1, 2, 9])
@pytest.mark.parametrize("size", [2, 4])
def test_losses_are_never_below_those_of_exact_moments(hyper: HyperDistribution, num_answers: int, size: int) -> None:
    """Of one size: J is the greatest difference of ln L(k) − k·ln(s − 1), R that of neighboring k, in exact numbers."""
    moments = [exact_moment(hyper, num_answers, k) / (size - 1) ** k for k in range(num_answers + 1)]
    of_all = loss_of_all_answers((size,) * num_answers, hyper)
    of_one = loss_of_one_answer((size,) * num_answers, hyper)
    if not all(moments):
        assert math.inf in {of_all, of_one}
        return
    logs = [exact_log(moment) for moment in moments]
    exact_of_all = max(logs) - min(logs)
    exact_of_one = max(abs(after - before) for before, after in itertools.pairwise(logs))
    assert 0 <= decimal.Decimal(of_all) - exact_of_all <= SLACK
    assert 0 <= decimal.Decimal(of_one) - exact_of_one <= SLACK


def brute_force(sizes: Sequence[int], hyper: HyperDistribution, num_changed: int) -> float:
    """Return the greatest log ratio over all reports and all pairs of rows that differ in so many answers at most."""
    moments = [math.exp(log_moment) for log_moment in hyper.log_moments(len(sizes)).tolist()]

    def chance(report: tuple[int, ...], row: tuple[int, ...]) -> float:
        lies = [size - 1 for told, true, size in zip(report, row, sizes, strict=True) if told != true]
        return moments[len(lies)] / math.prod(lies)

    everything = list(itertools.product(*[range(size) for size in sizes]))
    pairs = [
        (one, another)
        for one, another in itertools.permutations(everything, 2)
        if sum(a != b for a, b in zip(one, another, strict=True)) <= num_changed
    ]
    greatest = 1.0
    for report in everything:
        law = {row: chance(report, row) for row in everything}
        greatest = max(greatest, *(law[one] / law[another] for one, another in pairs))
    return math.log(greatest)


@hypers
@rows
def test_losses_of_all_and_of_one_are_those_of_the_worst_rows_and_report(
    sizes: tuple[int, ...], hyper: HyperDistribution
) -> None:
    for loss, exact in (
        (loss_of_all_answers(sizes, hyper), brute_force(sizes, hyper, len(sizes))),
        (loss_of_one_answer(sizes, hyper), brute_force(sizes, hyper, 1)),
    ):
        assert exact - 1e-12 <= loss <= exact + SLACK


def test_the_order_of_the_answers_is_of_no_account() -> None:
    hyper = Uniform(0.1, 0.6)
    assert loss_of_all_answers((2, 4, 3, 2), hyper) == loss_of_all_answers((4, 2, 2, 3), hyper)
    assert loss_of_one_answer((2, 4, 3, 2), hyper) == loss_of_one_answer((4, 2, 2, 3), hyper)


def test_five_binary_answers_at_a_claimed_loss_of_one() -> None:
    """With a = 0, b = 2p: J = 3.711 and R = 1.681; neither ε = 1 nor mε = 5."""
    hyper = uniform_for(flip_probability_of(1.0, 2))
    assert loss_of_all_answers((2,) * 5, hyper) == pytest.approx(3.711, abs=5e-4)
    assert loss_of_one_answer((2,) * 5, hyper) == pytest.approx(1.681, abs=5e-4)


@rows
@pytest.mark.parametrize("hyper", [Uniform(0.0, 0.5), Beta(2, 6), Discrete((0.1, 0.4), (0.5, 0.5))], ids=repr)
def test_one_answer_by_itself_costs_what_theorem_6_3_says(sizes: tuple[int, ...], hyper: HyperDistribution) -> None:
    size = sizes[0]
    claimed = epsilon_of(hyper.mean, size)
    assert loss_of_all_answers((size,), hyper) == pytest.approx(claimed, rel=1e-14)
    assert loss_of_one_answer((size,), hyper) == pytest.approx(claimed, rel=1e-14)


def test_answers_of_a_point_mass_are_independent_and_their_losses_add() -> None:
    """At p = 1/4: ln 3 for two labels, ln 6 for three."""
    assert loss_of_all_answers((2, 3, 2), PointMass(0.25)) == pytest.approx(math.log(3 * 6 * 3), rel=1e-14)
    assert loss_of_one_answer((2, 3, 2), PointMass(0.25)) == pytest.approx(math.log(6), rel=1e-14)
    assert loss_of_all_answers((2,) * 2000, PointMass(0.5)) == 0


def test_no_answers_cost_nothing() -> None:
    hyper = Uniform(0.0, 0.5)
    assert loss_of_all_answers((), hyper) == loss_of_one_answer((), hyper) == loss_of_longest_row(0, (2,), hyper) == 0


@pytest.mark.parametrize(
    "hyper", [PointMass(0.0), PointMass(1.0), Uniform(0.0, 0.0), Uniform(1.0, 1.0), Discrete((0.0, 1.0), (0.5, 0.5))]
)
@pytest.mark.parametrize("sizes", [(2, 2), (2, 3, 4), (2,) * 50])
def test_where_a_report_is_impossible_the_loss_is_infinite(sizes: tuple[int, ...], hyper: HyperDistribution) -> None:
    assert loss_of_all_answers(sizes, hyper) == math.inf
    assert loss_of_one_answer(sizes, hyper) == math.inf
    assert loss_of_longest_row(len(sizes), sizes, hyper) == math.inf


def test_one_answer_that_is_kept_or_flipped_for_certain() -> None:
    assert loss_of_all_answers((2,), Uniform(0.0, 0.0)) == math.inf
    assert loss_of_all_answers((2,), Discrete((0.0, 1.0), (0.75, 0.25))) == pytest.approx(math.log(3), rel=1e-14)


@hypothesis.settings(deadline=None, derandomize=True, max_examples=draws(25, full=60))
@hypothesis.given(st.lists(st.integers(2, 6), min_size=0, max_size=30), st.integers(2, 6), st.sampled_from(HYPERS[2:]))
def test_an_answer_more_never_costs_less(sizes: list[int], added: int, hyper: HyperDistribution) -> None:
    """Dropping it again is post-processing. Up to the rounding of each."""
    assert loss_of_all_answers([*sizes, added], hyper) >= loss_of_all_answers(sizes, hyper) - SLACK
    assert loss_of_one_answer([*sizes, added], hyper) >= loss_of_one_answer(sizes, hyper) - SLACK


@hypers
@pytest.mark.parametrize("sizes", [(2,), (2, 3), (2, 5, 3)])
@pytest.mark.parametrize("num_answers", [1, 2, 4, 5])
def test_the_longest_row_covers_every_choice_of_sizes(
    num_answers: int, sizes: tuple[int, ...], hyper: HyperDistribution
) -> None:
    """And is one of them, where all sizes are equal or keeping every answer is at least as likely as flipping all."""
    bound = loss_of_longest_row(num_answers, sizes, hyper)
    choices = itertools.combinations_with_replacement(sizes, num_answers)
    worst = max(loss_of_all_answers(choice, hyper) for choice in choices)
    assert bound >= worst - 1e-12
    moments = hyper.log_moments(num_answers)
    all_flipped = float(moments[-1]) - num_answers * math.log(min(sizes) - 1)
    if len(set(sizes)) == 1 or float(moments[0]) >= all_flipped:
        assert bound == pytest.approx(worst, abs=SLACK)


@pytest.mark.parametrize("mean", [0.05, 0.27, 0.45])
@pytest.mark.parametrize("num_answers", [2, 10, 200])
def test_a_point_mass_costs_one_answer_least_and_all_answers_m_times_that(mean: float, num_answers: int) -> None:
    """One answer cannot cost less than when the others are not known, and then the mean alone matters."""
    compared = compare_hypers(hypers_of_mean(mean), num_answers=num_answers, num_labels=2)
    assert compared[0].name == "point mass"
    assert all(row.mean == pytest.approx(mean, rel=1e-12) for row in compared)
    assert min(compared, key=lambda row: row.one_answer) is compared[0]
    assert compared[0].one_answer == epsilon_of(mean, 2)
    assert compared[0].all_answers == pytest.approx(num_answers * epsilon_of(mean, 2), rel=1e-14)


def test_the_hypers_of_a_mean_are_ordered_by_their_variances() -> None:
    for mean in (0.2, 0.5, 0.7):
        seconds = [math.exp(hyper.log_moment(2, 2)) for hyper in hypers_of_mean(mean).values()]
        assert seconds == sorted(seconds)
    assert hypers_of_mean(0.75)["uniform"] == uniform_for(0.75)


def test_different_means_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"means are .*: give equal"):
        compare_hypers({"a": PointMass(0.2), "b": PointMass(0.3)}, num_answers=2, num_labels=2)
    assert compare_hypers({}, num_answers=2, num_labels=2) == ()


@hypothesis.given(st.floats(1e-12, 1 - 1e-12), st.integers(2, 50))
def test_the_loss_of_a_flip_probability_is_an_upper_bound_and_tight(flip: float, num_labels: int) -> None:
    loss = loss_of_flip_probability(flip, num_labels)
    exact = abs(exact_log((1 - Fraction(flip)) * (num_labels - 1) / Fraction(flip)))
    assert decimal.Decimal(loss) >= exact
    assert loss == pytest.approx(float(exact), rel=1e-15)


def test_hand_worked_losses_of_flip_probabilities() -> None:
    assert loss_of_flip_probability(0.25, 2) == pytest.approx(math.log(3), rel=1e-15)
    assert loss_of_flip_probability(0.75, 2) == pytest.approx(math.log(3), rel=1e-15)
    assert loss_of_flip_probability(0.5, 3) == pytest.approx(math.log(2), rel=1e-15)
    assert loss_of_flip_probability(0.5, 2) == 0
    assert loss_of_flip_probability(Fraction(2, 3), 3) == 0
    assert loss_of_flip_probability(0.0, 2) == loss_of_flip_probability(1.0, 2) == math.inf


@pytest.mark.parametrize("num_answers", [20, draws(500, full=2000)])
def test_a_search_finds_the_extremes_of_all_moments(num_answers: int) -> None:
    for hyper in HYPERS[2:6]:
        for size in (2, 3):
            law = [
                log_moment - k * math.log(size - 1)
                for k, log_moment in enumerate(hyper.log_moments(num_answers).tolist())
            ]
            loss = loss_of_all_answers((size,) * num_answers, hyper)
            assert loss == pytest.approx(max(law) - min(law), rel=1e-9, abs=1e-9)
            steps = [abs(one - another) for one, another in itertools.pairwise(law)]
            loss = loss_of_one_answer((size,) * num_answers, hyper)
            assert loss == pytest.approx(max(steps), rel=1e-8, abs=1e-8)


def test_a_long_row_of_mixed_sizes_takes_no_table() -> None:
    """1,700 answers of three sizes, against the formula over every k."""
    sizes = [2] * 500 + [3] * 700 + [5] * 500
    hyper = Uniform(0.0, 0.6)
    log_moments = hyper.log_moments(len(sizes)).tolist()
    rising = [0.0, *itertools.accumulate(math.log(size - 1) for size in sizes)]
    falling = [0.0, *itertools.accumulate(math.log(size - 1) for size in reversed(sizes))]
    exact = max(a - b for a, b in zip(log_moments, rising, strict=True)) - min(
        a - b for a, b in zip(log_moments, falling, strict=True)
    )
    assert loss_of_all_answers(sizes, hyper) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: loss_of_all_answers((2, 1), PointMass(0.2)),
        lambda: loss_of_one_answer((1,), PointMass(0.2)),
        lambda: loss_of_longest_row(-1, (2,), PointMass(0.2)),
        lambda: loss_of_longest_row(1, (), PointMass(0.2)),
        lambda: loss_of_longest_row(1, (2, 1), PointMass(0.2)),
        lambda: loss_of_flip_probability(1.5, 2),
        lambda: loss_of_flip_probability(0.5, 1),
        lambda: hypers_of_mean(0.0),
        lambda: hypers_of_mean(1.0),
    ],
)
def test_what_is_out_of_range_is_refused(bad: object) -> None:
    assert callable(bad)
    with pytest.raises(ValueError, match=r": (use|give) "):
        bad()


@pytest.mark.parametrize("num_answers", [1, 10, 1000])
@pytest.mark.parametrize("hyper", [Uniform(0.1, 0.4), Beta(2, 2, 0.1, 0.9), Discrete((0.2, 0.7), (0.1, 0.9))], ids=repr)
@pytest.mark.parametrize("sizes", [(2,), (2, 5)])
def test_inside_the_unit_interval_one_answer_is_bounded_for_every_number_of_answers(
    sizes: tuple[int, ...], hyper: HyperDistribution, num_answers: int
) -> None:
    """Given the other answers' reports, its flip probability is a mean over the range, and so in the range too."""
    bound = max(loss_of_flip_probability(flip, size) for flip in support_of(hyper) for size in sizes)
    assert loss_of_one_answer(sizes * num_answers, hyper) <= bound + SLACK
