"""Noise shares: their law against sums and against Laplace noise, exact draws, and what fewer shares lose."""

import decimal
import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_laws import exact_law, least_tail
from psephos.protocol import ConfigurationError
from psephos.protocol.mechanisms import DiscreteLaplace, NoiseShare, RandBelow, polya, share_log_law
from psephos.protocol.mechanisms.polya import wrap
from psephos.protocol.privacy import (
    NeighboringRelation,
    PureAccountant,
    SharedDiscreteLaplace,
    shared_laplace_loss,
)
from scipy.stats import nbinom
from thoroughness import draws

CASES = [(6.0, 80), (6.0, 1), (0.3, 5), (2.5, 2), (40.0, 7), (768.0, 20)]


def law_by_sums(scale: float, shape: float, number: int) -> list[float]:
    """Return P[noise = x] for x from 0 on, as sums of products of negative binomial probabilities."""
    decay = math.exp(-1 / scale)
    own = [(-math.expm1(-1 / scale)) ** shape]
    for place in range(math.ceil(45 * scale) + number):
        own.append(own[-1] * decay * (place + shape) / (place + 1))
    return [math.fsum(a * b for a, b in zip(own, own[x:], strict=False)) for x in range(number)]


def brute_loss(scale: float, shape: float, changes: Sequence[int]) -> float:
    """Return the greatest loss of rows that differ by this much in each coordinate, over all noise that is likely."""
    law = law_by_sums(scale, shape, 80)
    total = 0.0
    for change in changes:
        total += max(math.log(law[abs(x)] / law[abs(x + change)]) for x in range(-40, 40))
    return total


@pytest.mark.parametrize(("scale", "planned"), CASES)
@pytest.mark.parametrize("share", [0, 1, 2])
def test_the_law_of_a_sum_of_shares_is_that_of_two_negative_binomials(scale: float, planned: int, share: int) -> None:
    num_shares = (1, planned, planned + 3)[share]
    law = np.exp(share_log_law(scale=scale, planned=planned, num_shares=num_shares))
    expected = law_by_sums(scale, num_shares / planned, min(len(law), 60))
    assert law[: len(expected)] == pytest.approx(expected, rel=1e-10)
    assert 2 * math.fsum(law) - law[0] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("scale", [0.3, 6.0, 128.0])
def test_as_many_shares_as_planned_are_laplace_noise(scale: float) -> None:
    laplace = DiscreteLaplace(scale, 0, 1)
    law = share_log_law(scale=scale, planned=9, num_shares=9)
    number = round(40 * scale)
    assert law[:number] == pytest.approx([math.log(laplace.noise_probability(x)) for x in range(number)], abs=1e-9)


@pytest.mark.parametrize(("scale", "planned", "num_shares"), [(0.01, 3, 1), (math.nan, 3, 1), (2.0, 0, 1), (2.0, 3, 0)])
def test_no_law_is_worked_out_of_what_no_shares_are(scale: float, planned: int, num_shares: int) -> None:
    with pytest.raises(ConfigurationError, match=": use at least 1"):
        share_log_law(scale=scale, planned=planned, num_shares=num_shares)


@pytest.mark.parametrize("changed", [{"scale": 0.0}, {"sensitivity": -1}, {"planned": 0}, {"honest": -1}, {"width": 0}])
def test_a_loss_of_what_no_shares_are_is_refused(changed: dict[str, Any]) -> None:
    given: dict[str, Any] = {"scale": 6.0, "sensitivity": 6, "planned": 4, "honest": 3, "width": 1}
    (named,) = changed
    with pytest.raises(ConfigurationError, match=named):
        shared_laplace_loss(**given | changed)


def test_a_law_that_takes_too_long_is_not_worked_out() -> None:
    with pytest.raises(NotImplementedError, match="worked out up to 2"):
        share_log_law(scale=20_000.0, planned=3)


@pytest.mark.parametrize(
    ("honest", "one", "spread"), [(36, 1.16, 1.35), (30, 1.47, 2.10), (20, 2.22, 4.30), (10, 3.45, 8.69)]
)
def test_fewer_honest_shares_lose_more(honest: int, one: float, spread: float) -> None:
    """Six apart, ε = 1 (S1): in one coordinate, and spread over six."""
    share = NoiseShare(6.0, 6, 6, 40)
    assert share.privacy(honest=honest) == pytest.approx(one, abs=0.006)
    assert share.privacy(6, honest=honest) == share.privacy(9, honest=honest) == pytest.approx(spread, abs=0.006)
    assert share.privacy(honest=40) == share.privacy(3, honest=40) == share.privacy(3, honest=55) == 1.0
    assert share.privacy(honest=0) == math.inf


@pytest.mark.parametrize(("planned", "honest"), [(40, 39), (4, 3), (4, 1), (3, 2), (100, 1)])
@pytest.mark.parametrize("scale", [0.7, 6.0])
def test_the_loss_is_the_greatest_over_all_noise_and_all_changes(planned: int, honest: int, scale: float) -> None:
    """By brute force: each way in which coordinates change by five in all, each noise; above by rounding alone."""
    ways = [way for way in itertools.product(range(6), repeat=3) if sum(way) == 5]
    for width in (1, 2, 3):
        greatest = max(brute_loss(scale, honest / planned, way) for way in ways if not any(way[width:]))
        stated = shared_laplace_loss(scale=scale, sensitivity=5, planned=planned, honest=honest, width=width)
        assert greatest <= stated * (1 + 1e-12)
        assert stated == pytest.approx(greatest, abs=1e-9)


def test_the_loss_falls_with_each_share_and_grows_with_each_coordinate() -> None:
    losses = [
        [shared_laplace_loss(scale=9.0, sensitivity=7, planned=8, honest=honest, width=width) for width in range(1, 9)]
        for honest in range(1, 10)
    ]
    for fewer, more in itertools.pairwise(losses):
        assert all(one >= other for one, other in zip(fewer, more, strict=True))
    assert all(own == sorted(own) for own in losses)
    assert losses[7] == losses[8] == [7 / 9] * 8


@pytest.mark.parametrize("scale", [2.0**16, 2.0**23])
def test_a_loss_at_a_large_scale_is_bounded(scale: float) -> None:
    """Looser there: at least what the same distance, in scales, loses on a coarser grid up to a few per mille."""
    fine = shared_laplace_loss(scale=scale, sensitivity=int(scale), planned=4, honest=3, width=1)
    coarse = shared_laplace_loss(scale=1024.0, sensitivity=1024, planned=4, honest=3, width=1)
    assert math.inf > fine > coarse * 0.99


def test_what_is_very_far_apart_is_bounded_in_steps() -> None:
    near = shared_laplace_loss(scale=1.0, sensitivity=100, planned=4, honest=2, width=1)
    assert shared_laplace_loss(scale=1.0, sensitivity=1000, planned=4, honest=2, width=1) == pytest.approx(10 * near)
    assert shared_laplace_loss(scale=1.0, sensitivity=0, planned=4, honest=0, width=1) == 0


def test_an_event_costs_what_its_shares_do() -> None:
    relation = NeighboringRelation.REPLACE_ONE
    share = NoiseShare(6.0, 6, 6, 40)
    assert share.event == SharedDiscreteLaplace(6.0, 6, 40, 1, 1)
    assert PureAccountant.epsilon_of(share.event_of_sum(3, honest=40), relation) == 1.0
    for width, honest in ((1, 30), (3, 30), (6, 1)):
        event = share.event_of_sum(width, honest=honest)
        assert PureAccountant.epsilon_of(event, relation) == share.privacy(width, honest=honest) > 1


# Exact draws.


def test_a_decision_of_two_over_e_is_exact() -> None:
    """Every outcome of its draws is played."""
    law = exact_law(polya._happens_two_over_e)  # pyright: ignore[reportPrivateUsage]  a part that no report shows by itself
    assert float(law[True]) == pytest.approx(2 / math.e, abs=1e-12)


@pytest.mark.parametrize(("parts", "doubled"), [(1, (1, 15)), (1, (2, 2)), (7, (34, 35))])
def test_poisson_numbers_follow_their_law(parts: int, doubled: tuple[int, int]) -> None:
    """By chi-square; false alarm: 1e-6 each."""
    below, rate = entropy(3), parts * Fraction(*doubled) / 2
    drawn = [polya._draw_poisson(parts, *doubled, below) for _ in range(draws(1_500, full=40_000))]  # pyright: ignore[reportPrivateUsage]  likewise
    law = {number: math.exp(-rate) * float(rate) ** number / math.factorial(number) for number in range(40)}
    assert least_tail(drawn, law) > 1e-6


def entropy(seed: int) -> RandBelow:
    return random.Random(seed).randrange


@pytest.mark.parametrize("scale", [1 / 16, 0.3, 1.0, 6.0, 40.0, 3.0e5, 2.0**23.9])
@pytest.mark.parametrize("planned", [1, 2, 3, 7, 80, 10_001, 2**31 - 1])
def test_the_rate_of_a_share_is_rounded_up_and_by_next_to_nothing(scale: float, planned: int) -> None:
    """−2·ln(1 − e^(−1/scale))/h by a hundred digits more: at a lower rate a share has less noise than is planned."""
    parts, *doubled = polya._parts(scale, planned)  # pyright: ignore[reportPrivateUsage]  likewise
    context = decimal.Context(prec=160)
    decay = context.exp(context.divide(-1, decimal.Decimal(scale)))
    exact = Fraction(context.divide(context.multiply(-2, context.ln(context.subtract(1, decay))), planned))
    rate = parts * Fraction(*doubled) / 2
    assert exact < rate < exact + Fraction(1, 2**78)
    assert parts * Fraction(*doubled) <= parts


@pytest.mark.parametrize("scale", [0.0625, 0.3, 1.0, 1.7, 6.0, 100.0])
def test_logarithmic_numbers_follow_their_law(scale: float) -> None:
    """By chi-square; false alarm: 1e-6 each."""
    below, decay = entropy(5), (1 / Fraction(scale)).as_integer_ratio()
    drawn = [polya._draw_logarithmic(*decay, below) for _ in range(draws(1_500, full=40_000))]  # pyright: ignore[reportPrivateUsage]  likewise
    log_decay = -1 / scale
    normal = -math.log(-math.expm1(log_decay))
    law = {k: math.exp(k * log_decay) / k / normal for k in range(1, math.ceil(40 * scale) + 2)}
    assert least_tail(drawn, law) > 1e-6


@pytest.mark.parametrize(("scale", "planned"), [(300.0, 1), (2.0e5, 3), (2.0**24 - 1, 100)])
def test_noise_far_out_passes_its_uniform_by_its_distribution_function(scale: float, planned: int) -> None:
    """Beyond the table of tails, too, each is the least count whose tail is below 1 − u."""
    uniforms = 1 - 2.0 ** -np.linspace(0.01, 53, 400)
    counts = NoiseShare(scale, 3, 3, planned)._polya(uniforms)  # pyright: ignore[reportPrivateUsage]  likewise
    law = (1 / planned, -math.expm1(-1 / scale))
    assert (nbinom.sf(counts, *law) < 1 - uniforms).all()
    assert (nbinom.sf(counts - 1, *law) >= 1 - uniforms).all()
    assert counts.max() > 4_096


def two_sided(scale: float, planned: int, num_shares: int = 1) -> dict[int, float]:
    law = np.exp(share_log_law(scale=scale, planned=planned, num_shares=num_shares)).tolist()
    return {x: law[abs(x)] for x in range(1 - len(law), len(law))}


def test_the_variance_is_a_share_of_laplace_noise_s() -> None:
    share = NoiseShare(6.0, 3, 3, 40)
    assert share.noise_variance == pytest.approx(DiscreteLaplace(6.0, 0, 1).noise_variance / 40)
    law = two_sided(6.0, 40)
    assert math.fsum(x * x * chance for x, chance in law.items()) == pytest.approx(share.noise_variance)


def test_totals_wrap_around() -> None:
    assert [wrap(2**63 - 1), wrap(2**63), wrap(-(2**63)), wrap(-(2**63) - 1), wrap(2**64 + 5)] == [
        2**63 - 1,
        -(2**63),
        -(2**63),
        2**63 - 1,
        5,
    ]
    assert Counter(map(wrap, range(-3, 3))) == Counter(range(-3, 3))


def test_the_law_wraps_around_with_reports() -> None:
    share = NoiseShare(6.0, 3, 3, 4)
    reports, values = np.array([-(2**63), 2**63 - 1, 0]), np.array([3, -3])
    logs = share.log_probabilities(reports, values)
    assert logs.shape == (3, 2)
    assert np.isfinite(logs).all()
    assert logs[:2].max() < -1e17
    assert logs[2, 0] == logs[2, 1] == share_log_law(scale=6.0, planned=4)[3]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((0.01, 3, 3, 4), "scale"),
        ((2.0**24, 3, 3, 4), "scale"),
        ((math.nan, 3, 3, 4), "scale"),
        ((6.0, 0, 3, 4), "sensitivity"),
        ((6.0, 3, 0, 4), "bound"),
        ((6.0, 3, 2**62, 4), "bound"),
        ((6.0, 3, 3, 0), "planned"),
    ],
)
def test_what_no_share_can_be_is_refused(given: tuple[float, int, int, int], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        NoiseShare(*given)


def test_a_sum_that_could_wrap_around_is_refused() -> None:
    share = NoiseShare(6.0, 3, 2**53, 4)
    share.check_sum(1_000)
    room = 2**63 - 1 - math.ceil(128 * 6 * (1_024 / 4 + 1))
    with pytest.raises(ConfigurationError, match=f"bound is .*: use at most {room // 1_024}, .* wrap around modulo"):
        share.check_sum(1_024)


def test_a_value_that_the_bound_does_not_cover_is_not_randomized() -> None:
    with pytest.raises(ValueError, match=r"use values from -3 to 3"):
        NoiseShare(6.0, 3, 3, 4).randomize_exactly([1, 4], entropy(1))


@pytest.mark.parametrize(("scale", "planned"), CASES)
def test_exact_shares_follow_the_law(scale: float, planned: int) -> None:
    """By chi-square; false alarm: 1e-6 each."""
    share, below = NoiseShare(scale, 3, 3, planned), entropy(7)
    drawn = [share.randomize_exactly([2], below)[0] - 2 for _ in range(draws(800, full=30_000))]
    assert least_tail(drawn, two_sided(scale, planned)) > 1e-6


def test_the_chi_square_would_notice_one_share_more() -> None:
    share, below = NoiseShare(6.0, 3, 3, 4), entropy(7)
    drawn = [sum(share.randomize_exactly([0], below)[0] for _ in range(2)) for _ in range(3_000)]
    assert least_tail(drawn, two_sided(6.0, 4, 2)) > 1e-6
    assert least_tail(drawn, two_sided(6.0, 4, 1)) < 1e-9
    assert least_tail(drawn, two_sided(6.0, 4, 3)) < 1e-9


@pytest.mark.parametrize(("scale", "planned"), CASES)
def test_simulated_shares_follow_the_law(scale: float, planned: int) -> None:
    """By chi-square; false alarm: 1e-6 each."""
    share = NoiseShare(scale, 3, 3, planned)
    number = draws(20_000, full=200_000)
    uniforms = np.random.default_rng(11).random((number, 2))
    drawn = (share.randomize(np.full(number, -1), uniforms) + 1).tolist()
    assert least_tail(drawn, two_sided(scale, planned)) > 1e-6
