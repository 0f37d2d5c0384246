"""Hyper-distributions: their checks, their draws, and their moments against exact rational numbers."""

import itertools
import math
from fractions import Fraction

import hypothesis
import msgspec
import numpy as np
import pytest
from bad_input import refuses
from exact_laws import exact_law, exact_log, exact_moment, support_of
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import (
    Beta,
    Discrete,
    HyperDistribution,
    Moments,
    Piecewise,
    PointMass,
    TruncatedNormal,
    Uniform,
    uniform_for,
)
from psephos.protocol.mechanisms.hyper_law import ONE, HyperQuantiles, mixture_on
from psephos.protocol.mechanisms.quadrature import gauss_rule
from psephos.protocol.randomness import philox_rows
from scipy import special
from thoroughness import draws

GREATEST_UNIFORM = 1 - 2.0**-53

ALL: list[HyperDistribution] = [
    PointMass(0.0),
    PointMass(0.3),
    PointMass(1.0),
    Uniform(0.0, 0.0),
    Uniform(0.0, 0.4),
    Uniform(0.0, 1.0),
    Uniform(0.1, 0.3),
    Uniform(0.9, 1.0),
    Uniform(0.25, 0.25),
    Beta(1, 1),
    Beta(2, 5),
    Beta(3, 1, 0.1, 0.6),
    Beta(32, 33),
    Discrete((0.2,), (1.0,)),
    Discrete((0.1, 0.6, 0.3), (0.5, 0.25, 0.25)),
    Discrete((0.0, 1.0), (0.3, 0.7)),
    Beta(0.5, 0.5),
    Beta(2.5, 7.25, 0.05, 0.4),
    Beta(33, 33),
    Beta(900.5, 0.02, 0.0, 0.9),
    TruncatedNormal(0.3, 0.1),
    TruncatedNormal(-2.0, 0.1, 0.1, 0.6),
    TruncatedNormal(0.9, 1.0, 0.2, 0.7),
    Piecewise((0.0, 0.1, 0.5), (0.25, 0.75)),
    Piecewise((0.1, 0.2, 0.4, 0.6, 1.0), (0.0, 0.3, 0.0, 0.7)),
    Moments((0.3,)),
    Moments((0.3, 0.12, 0.06, 0.034)),
    Moments((0.2, 0.05, 0.014), 0.0, 0.5),
]
hypers = pytest.mark.parametrize("hyper", ALL, ids=repr)


@hypers
@pytest.mark.parametrize("num_answers", [0, 1, 2, 5, 12])
def test_moments_are_those_of_exact_integration(hyper: HyperDistribution, num_answers: int) -> None:
    log_moments = hyper.log_moments(num_answers)
    assert log_moments.shape == (num_answers + 1,)
    for num_flips, log_moment in enumerate(log_moments.tolist()):
        exact = float(exact_log(exact_moment(hyper, num_answers, num_flips)))
        assert log_moment == pytest.approx(exact, abs=1e-12)
        assert hyper.log_moment(num_answers, num_flips) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("num_answers", [40, 3000])
@pytest.mark.parametrize("hyper", [Uniform(0.0, 1.0), Beta(1, 1), Beta(5, 2), Beta(30, 35)], ids=repr)
def test_moments_of_thousands_of_answers_are_beta_functions(hyper: Uniform | Beta, num_answers: int) -> None:
    """On [0, 1]: L(k) = B(k + α, m − k + β)/B(α, β), a ratio of integers; they are as small as e^−2080."""
    alpha, beta = (int(hyper.alpha), int(hyper.beta)) if isinstance(hyper, Beta) else (1, 1)
    log_moments = hyper.log_moments(num_answers)

    def inverse_beta(a: int, b: int) -> int:
        return b * math.comb(a + b - 1, b)

    for num_flips in {0, 1, 2, num_answers // 7, num_answers // 2, num_answers - 1, num_answers}:
        below = inverse_beta(num_flips + alpha, num_answers - num_flips + beta)
        exact = float(exact_log(Fraction(inverse_beta(alpha, beta), below)))
        assert float(log_moments[num_flips]) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("num_answers", [60, 900])
def test_moments_of_a_short_range_are_binomial_tails(num_answers: int) -> None:
    """On [0, 1/4]: ∫ p^k (1 − p)^(m−k) dp = P[Bin(m + 1, 1/4) > k] / ((m + 1)·C(m, k))."""
    log_moments = Uniform(0.0, 0.25).log_moments(num_answers)
    for num_flips in (0, 1, num_answers // 4, num_answers // 2, num_answers - 1, num_answers):
        tail = sum(
            math.comb(num_answers + 1, j) * 3 ** (num_answers + 1 - j) for j in range(num_flips + 1, num_answers + 2)
        )
        below = 4**num_answers * (num_answers + 1) * math.comb(num_answers, num_flips)
        assert float(log_moments[num_flips]) == pytest.approx(float(exact_log(Fraction(tail, below))), abs=1e-12)


@pytest.mark.parametrize("hyper", [hyper for hyper in ALL if not hyper.is_certain], ids=repr)
@pytest.mark.parametrize("num_answers", [1, 2, 9, 200])
def test_steps_are_differences_of_moments_and_rise(hyper: HyperDistribution, num_answers: int) -> None:
    """That they rise is the convexity on which the losses' searches stand."""
    steps = [hyper.log_moment_step(num_answers, num_flips) for num_flips in range(num_answers)]
    assert steps == pytest.approx(np.diff(hyper.log_moments(num_answers)).tolist(), abs=1e-10)
    assert min(np.diff(steps), default=0.0) >= -1e-12


def test_steps_keep_their_digits_where_moments_are_nearly_equal() -> None:
    """For P = 1/2 ± h: ln(L(1)/L(0)) = ln((1/4 − h²)/(1/4 + h²)), about −8h²; here 8e-16, of moments near e^−1.4."""
    reach = 2.0**-27
    step = Discrete((0.5 - reach, 0.5 + reach), (0.5, 0.5)).log_moment_step(2, 0)
    assert step == pytest.approx(-8 * reach**2, rel=1e-6)


def test_a_step_between_two_impossible_reports_is_refused() -> None:
    hyper = Discrete((0.0, 1.0), (0.5, 0.5))
    assert hyper.log_moment_step(2, 0) == -math.inf
    assert hyper.log_moment_step(2, 1) == math.inf
    with pytest.raises(ValueError, match="are 0"):
        hyper.log_moment_step(3, 1)


def test_who_flips_all_or_nothing_is_certain() -> None:
    certain = [hyper for hyper in ALL if hyper.is_certain]
    assert certain == [PointMass(0.0), PointMass(1.0), Uniform(0.0, 0.0), Discrete((0.0, 1.0), (0.3, 0.7))]


@hypers
def test_the_mean_is_the_first_moment_and_lies_in_the_support(hyper: HyperDistribution) -> None:
    exact = exact_moment(hyper, 1, 1)
    least, greatest = hyper.mean_bounds
    assert least <= exact <= greatest <= least + Fraction(1, 10**60)
    assert least <= hyper.exact_mean <= greatest
    assert hyper.mean == float(hyper.exact_mean) == float(exact)
    low, high = support_of(hyper)
    assert low <= hyper.mean <= high


@hypers
@pytest.mark.parametrize("uniform", [0.0, 2.0**-53, 0.5, GREATEST_UNIFORM])
def test_no_draw_leaves_the_support(hyper: HyperDistribution, uniform: float) -> None:
    low, high = support_of(hyper)
    assert low <= float(hyper.draw(np.full((1, hyper.slots), uniform))[0]) <= high


def test_hand_worked_draws() -> None:
    """The middle of three uniforms; a quarter of a range; the point in whose share the uniform falls."""
    assert Beta(2, 2).draw(np.array([[0.75, 0.125, 0.5]])) == [0.5]
    assert Beta(1, 3).draw(np.array([[0.75, 0.125, 0.5]])) == [0.125]
    assert Uniform(0.25, 0.75).draw(np.array([[0.25]])) == [0.375]
    uniforms = np.array([0.0, 0.24, 0.25, 0.49, 0.5, 0.99])[:, None]
    drawn = Discrete((0.3, 0.1, 0.2), (0.25, 0.25, 0.5)).draw(uniforms)
    assert drawn.tolist() == [0.3, 0.3, 0.1, 0.1, 0.2, 0.2]


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (2, 5), (4, 4), (30, 35)])
def test_beta_draws_follow_the_beta_distribution(alpha: int, beta: int) -> None:
    """Kolmogorov and Smirnov's distance of 20,000 seeded draws; false alarm below 1e-8 each (Massart's bound)."""
    hyper = Beta(alpha, beta)
    draws = np.sort(hyper.draw(philox_rows(alpha * 100 + beta, start=0, stop=20_000, slots=hyper.slots)))
    law = special.betainc(alpha, beta, draws)
    places = np.arange(20_001) / 20_000
    distance = float(np.maximum(np.abs(law - places[1:]), np.abs(law - places[:-1])).max())
    assert distance < math.sqrt(math.log(2 / 1e-8) / 40_000)
    other = special.betainc(alpha + 1, beta, draws)
    assert float(np.abs(other - places[1:]).max()) > math.sqrt(math.log(2 / 1e-8) / 40_000)


@pytest.mark.parametrize("hyper", [Beta(0.5, 1.5), Beta(2.5, 0.25, 0.125, 0.5), Beta(40, 40, 0.0, 0.75)], ids=repr)
def test_the_urn_flips_by_the_law_of_a_shared_draw(hyper: Beta) -> None:
    """Played on all outcomes of its draws: each pattern of k flips of 3 answers has exactly the probability L(k)."""
    law = exact_law(lambda below: tuple(itertools.islice(hyper.flips_exactly(below), 3)))
    patterns = itertools.product((False, True), repeat=3)
    assert law == {pattern: exact_moment(hyper, 3, sum(pattern)) for pattern in patterns}


def test_what_draws_without_quantiles_has_no_exact_draw() -> None:
    with pytest.raises(ValueError, match="no order statistic"):
        Beta(0.5, 0.5).draw_exact([ONE // 2])


@pytest.mark.parametrize(
    "hyper",
    [
        Beta(0.25, 3.5, 0.1, 0.9),
        TruncatedNormal(0.3, 0.1),
        TruncatedNormal(-2.0, 0.1, 0.1, 0.6),
        TruncatedNormal(4.0, 0.25, 0.1, 0.6),
        Piecewise((0.0, 0.25, 0.5, 1.0), (0.5, 0.0, 0.5)),
        Moments((0.3, 0.12, 0.06, 0.034)),
    ],
    ids=repr,
)
def test_simulated_draws_have_the_moments(hyper: HyperDistribution) -> None:
    """The quantiles of 4,096 evenly spaced uniforms; the midpoint rule is off by the ends' density."""
    flips = hyper.draw(((np.arange(4096) + 0.5) / 4096)[:, None])
    for power in (1, 2, 5):
        exact = float(exact_moment(hyper, power, power))
        assert float(np.mean(flips**power)) == pytest.approx(exact, rel=1e-2)


def test_moments_of_a_uniform_law_make_gauss_s_rule() -> None:
    """E[P^j] = 1/(j + 1): three moments have the two nodes 1/2 ± 1/√12, of equal shares."""
    flips, shares = Moments((0.5, 1 / 3, 0.25)).points
    assert flips == pytest.approx((0.5 - 12**-0.5, 0.5 + 12**-0.5))
    assert shares == pytest.approx((0.5, 0.5))


@hypothesis.given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=7), st.sampled_from([(0.0, 1.0), (0.1, 0.6)]))
def test_any_moments_of_a_law_are_those_of_what_is_drawn(places: list[float], ends: tuple[float, float]) -> None:
    """Canonical moments are free: of any in (0, 1) a law is made, and its first moments make it again."""
    low, high = ends
    rule = gauss_rule([*places, 0.5, 0.5][: len(places) + 1 + len(places) % 2])
    mixture = mixture_on(rule, low, high)
    moments = tuple(float(np.sum(np.exp(mixture.log_shares) * mixture.flips**j)) for j in range(1, len(places) + 1))
    try:
        hyper = Moments(moments, low, high)
    except ConfigurationError:
        hypothesis.reject()  # rounded out of what is possible: the interval of the last moment is as narrow as a float
    for power, moment in enumerate(moments, start=1):
        assert math.exp(hyper.log_moment(power, power)) == pytest.approx(moment, rel=1e-9)


def test_the_default_uniform_begins_at_zero_and_ends_at_one_at_most() -> None:
    assert uniform_for(0.0) == Uniform(0.0, 0.0)
    assert uniform_for(0.3) == Uniform(0.0, 0.6)
    assert uniform_for(0.5) == Uniform(0.0, 1.0)
    assert uniform_for(0.75) == Uniform(0.5, 1.0)
    assert uniform_for(1.0) == Uniform(1.0, 1.0)
    for mean in (-0.1, 1.1, math.nan):
        with pytest.raises(ConfigurationError, match=r"^mean is .*: use a value from 0 to 1"):
            uniform_for(mean)


@pytest.mark.bad_input(
    "p^f above (s - 1)/s; a > b; [a, b] outside [0, 1]",
    "moments of no distribution; a table that is none; a hyper-distribution's parameters out of range",
)
@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: PointMass(-0.1), "hyper.probability"),
        (lambda: PointMass(math.nan), "hyper.probability"),
        (lambda: Uniform(-0.1, 0.5), "hyper.low"),
        (lambda: Uniform(0.5, 1.1), "hyper.high"),
        (lambda: Uniform(0.0, math.nan), "hyper.high"),
        (lambda: Uniform(0.5, 0.4), "hyper.low"),
        (lambda: Beta(0, 1), "hyper.alpha"),
        (lambda: Beta(1, 0), "hyper.beta"),
        (lambda: Beta(1000.5, 1), "hyper.alpha"),
        (lambda: Beta(1, math.nan), "hyper.beta"),
        (lambda: Beta(2, 2, 0.6, 0.5), "hyper.low"),
        (lambda: Discrete((), ()), "hyper.probabilities"),
        (lambda: Discrete((0.2, 1.5), (0.5, 0.5)), "hyper.probabilities"),
        (lambda: Discrete((0.2, 0.5), (1.0,)), "hyper.shares"),
        (lambda: Discrete((0.2, 0.5), (0.5, 0.6)), "hyper.shares"),
        (lambda: Discrete((0.2, 0.5), (0.5, 0.4)), "hyper.shares"),
        (lambda: Discrete((0.2, 0.5), (1.0, 1.0)), "hyper.shares"),
        (lambda: Discrete((0.2, 0.5), (1.0, 0.0)), "hyper.shares"),
        (lambda: Discrete((0.2, 0.5), (math.nan, 0.5)), "hyper.shares"),
        (lambda: TruncatedNormal(0.2, 0.0), "hyper.scale"),
        (lambda: TruncatedNormal(0.2, 0.02), "hyper.scale"),
        (lambda: TruncatedNormal(0.2, math.inf), "hyper.scale"),
        (lambda: TruncatedNormal(math.nan, 1.0), "hyper.location"),
        (lambda: TruncatedNormal(1001.0, 100.0), "hyper.location"),
        (lambda: TruncatedNormal(0.2, 0.1, 0.5, 0.5), "hyper.high"),
        (lambda: TruncatedNormal(0.2, 0.1, 0.5, 1.5), "hyper.high"),
        (lambda: Piecewise((0.2,), ()), "hyper.edges"),
        (lambda: Piecewise((0.2, 0.2), (1.0,)), "hyper.edges"),
        (lambda: Piecewise((0.2, 1.2), (1.0,)), "hyper.edges"),
        (lambda: Piecewise((0.0, 0.2, 0.4), (1.0,)), "hyper.shares"),
        (lambda: Piecewise((0.0, 0.2, 0.4), (1.5, -0.5)), "hyper.shares"),
        (lambda: Piecewise((0.0, 0.2, 0.4), (0.5, 0.4)), "hyper.shares"),
        (lambda: Moments(()), "hyper.moments"),
        (lambda: Moments((0.5,) * 33), "hyper.moments"),
        (lambda: Moments((1.5,)), "hyper.moments"),
        (lambda: Moments((math.nan,)), "hyper.moments"),
        (lambda: Moments((0.5, 0.2)), "hyper.moments"),
        (lambda: Moments((0.5, 0.5)), "hyper.moments"),
        (lambda: Moments((0.5,), 0.6, 0.9), "hyper.moments"),
        (lambda: Moments((0.5,), 0.5, 0.5), "hyper.high"),
    ],
)
def test_what_is_no_distribution_of_probabilities_is_refused_by_field(make: object, field: str) -> None:
    assert callable(make)
    with refuses(field):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Moments((0.5, 0.2)),
            "hyper.moments is 0.2. Make it such that moment 2 is inside (0.25, 0.5), as those before it demand",
        ),
        (
            lambda: Moments((0.25, 0.1, 0.2)),
            "hyper.moments is 0.2. Make it such that moment 3 is inside (0.04, 0.07), as those before it demand",
        ),
        (
            lambda: Moments((0.25, 0.1), 0.0, 0.375),
            "hyper.moments is 0.1. Make it such that moment 2 is inside (0.0625, 0.09375), as those before it demand",
        ),
    ],
)
def test_what_a_moment_may_be_is_said(make: object, words: str) -> None:
    """Of the mean 1/4: the second moment from 1/16 to 1/4; of laws on [0, 3/8] up to 3/32."""
    assert callable(make)
    with refuses(said=words):
        make()


@pytest.mark.parametrize("slip", [-1e-10, 1e-10])
def test_shares_may_miss_one_by_rounding(slip: float) -> None:
    assert Discrete((0.2, 0.5), (0.5, 0.5 + slip)).mean == pytest.approx(0.35)


@hypers
def test_they_travel_as_tagged_values(hyper: HyperDistribution) -> None:
    written = msgspec.json.encode(hyper)
    assert f'"type":"{type(hyper).__name__}"'.encode() in written
    assert msgspec.json.decode(written, type=HyperDistribution) == hyper
    assert hash(msgspec.json.decode(written, type=HyperDistribution)) == hash(hyper)


@pytest.mark.parametrize(
    "hyper",
    [
        Discrete((0.0, 0.4), (0.9, 0.1)),
        Discrete((0.0, 0.26), (0.9, 0.1)),
        Discrete((0.0, 0.5), (0.5, 0.5)),
        Discrete((0.3, 1.0), (0.5, 0.5)),
        Discrete((0.0, 0.3, 1.0), (0.4, 0.2, 0.4)),
        Discrete((1e-9, 0.4), (0.9, 0.1)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("num_answers", [1, 2, 20, 55, 118, draws(119, full=200)])
def test_steps_are_right_where_most_workers_keep_or_flip_everything(hyper: Discrete, num_answers: int) -> None:
    """The dominant term of a moment is then one to which the next moment adds nothing at all."""

    def moment(flips: int) -> Fraction:
        pairs = zip(map(Fraction, hyper.probabilities), map(Fraction, hyper.shares), strict=True)
        return sum((share * p**flips * (1 - p) ** (num_answers - flips) for p, share in pairs), Fraction())

    for flips in range(num_answers):
        lower, upper = moment(flips), moment(flips + 1)
        if not lower and not upper:
            continue
        step = hyper.log_moment_step(num_answers, flips)
        if not lower or not upper:
            assert step == (math.inf if upper else -math.inf)
            continue
        assert step == pytest.approx(float(exact_log(upper / lower)), rel=1e-11, abs=1e-11)


@hypers
def test_arrays_single_draws_and_exact_draws_agree(hyper: HyperDistribution) -> None:
    """Arrays and single draws bit for bit; exact ones up to rounding."""
    uniforms = philox_rows(5, start=0, stop=300, slots=hyper.slots) if hyper.slots else np.empty((300, 0))
    together = hyper.draw(uniforms)
    assert together.shape == (300,)
    assert together.dtype == np.float64
    assert [hyper.draw_one(row) for row in uniforms.tolist()] == together.tolist()
    if not isinstance(hyper, HyperQuantiles) or (isinstance(hyper, Beta) and hyper not in ALL[:16]):
        return  # there are no exact quantiles: `flips_exactly` is tested below
    parts = [[int(Fraction(number) * ONE) for number in row] for row in uniforms.tolist()]
    exact = [float(Fraction(*hyper.draw_exact(row))) for row in parts]
    assert exact == pytest.approx(together.tolist(), rel=1e-15, abs=1e-15)
