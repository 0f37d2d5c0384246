"""Sums of randomized answers and noise: the law by enumeration, the loss over all neighbors, and what is refused."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol.arrays import IntArray
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, ResponseSum, VectorLaplace

RESPONSE = GeneralizedRandomizedResponse(1.2, 2)
NOISE = VectorLaplace(scale=2.5, sensitivity=3, bound=50)
SUMS = [
    ResponseSum(NOISE, RESPONSE, gains=(4, 9), numbers=(2, 1), width=1),
    ResponseSum(VectorLaplace(2.5, 6, 50), RESPONSE, gains=(4,), numbers=(2,), width=2),
    ResponseSum(None, RESPONSE, gains=(4, 9), numbers=(2, 2), width=1),
    ResponseSum(NOISE, RESPONSE, gains=(), numbers=(), width=1),
]
every_sum = pytest.mark.parametrize(
    "mechanism", SUMS, ids=["one question", "two questions", "nobody is light", "nobody is heavy"]
)


def rows_of(mechanism: ResponseSum) -> IntArray:
    """Return all rows, of sums from 0 to 3."""
    sums = range(4) if mechanism.noise else range(1)
    yes = [range(number + 1) for number in mechanism.numbers] * mechanism.width
    return np.array(list(itertools.product(*[sums] * mechanism.width, *yes)), dtype=np.int64)


def reports_of(mechanism: ResponseSum, numbers: Sequence[int]) -> IntArray:
    """Return all reports of these numbers, so far as there are such."""
    low, high = mechanism.report_range
    possible = [number for number in numbers if low <= number <= high]
    return np.array(list(itertools.product(possible, repeat=mechanism.width)), dtype=np.int64)


def law_of_question(mechanism: ResponseSum, total: int, num_yes: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Yield every report without noise and its chance, one person's answer after the other."""
    persons = [
        (gain, place < yes)
        for gain, number, yes in zip(mechanism.gains, mechanism.numbers, num_yes, strict=True)
        for place in range(number)
    ]
    keep = mechanism.response.keep_probability
    for reported in itertools.product((False, True), repeat=len(persons)):
        chance = math.prod(
            keep if says == told else 1 - keep for (_, says), told in zip(persons, reported, strict=True)
        )
        yield total + sum(gain for (gain, _), told in zip(persons, reported, strict=True) if told), chance


@every_sum
def test_the_law_is_that_of_every_answer_and_every_noise(mechanism: ResponseSum) -> None:
    rows = rows_of(mechanism)[:: 5 if mechanism.gains else 1]
    kinds, width = len(mechanism.gains), mechanism.width
    reports = reports_of(mechanism, range(-12, 36, 3 * width))
    found = np.exp(mechanism.log_likelihoods(reports, rows))
    for row, laws in zip(rows.tolist(), found.T, strict=True):
        yes = np.reshape(row[width:], (width, kinds)).tolist()
        for report, chance in zip(reports.tolist(), laws.tolist(), strict=True):
            expected = 1.0
            for told, total, num_yes in zip(report, row[:width], yes, strict=True):
                expected *= math.fsum(
                    own * (mechanism.noise.noise_probability(told - sums) if mechanism.noise else sums == told)
                    for sums, own in law_of_question(mechanism, total, num_yes)
                )
            assert chance == pytest.approx(expected, rel=1e-10, abs=1e-300)


@every_sum
def test_tails_add_up_the_law(mechanism: ResponseSum) -> None:
    row = rows_of(mechanism)[-1].tolist()
    for least in (-7, 0, 1, 5, 9, 30):
        found = mechanism.chances_to_reach(row, least)
        yes = np.reshape(row[mechanism.width :], (mechanism.width, -1)).tolist()
        for chance, total, num_yes in zip(found, row[: mechanism.width], yes, strict=True):
            assert chance == pytest.approx(
                math.fsum(
                    own * (math.exp(mechanism.noise.log_tail(least - sums)) if mechanism.noise else sums >= least)
                    for sums, own in law_of_question(mechanism, total, num_yes)
                ),
                abs=2e-12,
            )


@every_sum
def test_no_two_neighbors_are_told_apart_by_more_than_is_charged_and_some_are_by_as_much(
    mechanism: ResponseSum,
) -> None:
    rows = rows_of(mechanism)
    apart = np.abs(rows[:, None] - rows)
    width, kinds = mechanism.width, len(mechanism.gains)
    most = mechanism.noise.sensitivity if mechanism.noise else 0
    of_light = (apart[..., :width].sum(axis=2) <= most) & ~apart[..., width:].any(axis=2)
    of_heavy = np.zeros_like(of_light)
    for kind in range(kinds):  # one person of this kind, in any of the questions
        own = apart[..., width:].reshape(*of_light.shape, width, kinds)
        others = np.delete(own, kind, axis=3)
        of_heavy |= (own[..., kind].max(axis=2) <= 1) & ~others.any(axis=(2, 3)) & ~apart[..., :width].any(axis=2)
    if width == 1:
        np.testing.assert_array_equal(mechanism.are_neighbors(rows, rows), of_light | of_heavy)
    neighbors = mechanism.are_neighbors(rows, rows)
    assert not (neighbors & ~(of_light | of_heavy)).any()
    logs = mechanism.log_likelihoods(reports_of(mechanism, range(-40, 80, 20 if width > 1 else 1)), rows)
    logs = logs[logs.max(axis=1) > -np.inf]
    epsilon = mechanism.event_of(rows.shape[1]).epsilon
    with np.errstate(invalid="ignore"):
        gaps = np.nanmax(logs[:, :, None] - logs[:, None, :], axis=0)
    assert gaps[neighbors].max() <= epsilon + 1e-9
    assert gaps[neighbors].max() == pytest.approx(epsilon, rel=1e-6) or mechanism.noise
    assert gaps.max() > epsilon or not mechanism.gains  # of no neighbors


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("width", {"width": 0}),
        ("response", {"response": GeneralizedRandomizedResponse(1.0, 3)}),
        ("gains", {"gains": (0, 9)}),
        ("numbers", {"numbers": (2,)}),
        ("numbers", {"numbers": (2, -1)}),
    ],
)
def test_what_is_no_sum_is_refused(field: str, given: dict[str, object]) -> None:
    usual = {"noise": NOISE, "response": RESPONSE, "gains": (4, 9), "numbers": (2, 1), "width": 1}
    with refuses(field):
        ResponseSum(**{**usual, **given})  # type: ignore[arg-type]  as given


@pytest.mark.parametrize(
    ("place", "row"),
    [(0, [0, 3, 0]), (0, [0, -1, 0]), (0, [0, 1]), (2, [1, 0, 0])],
    ids=["many", "few", "short", "light"],
)
def test_rows_that_nobody_has_are_refused(place: int, row: list[int]) -> None:
    with pytest.raises(ValueError, match=r"kinds|than there are|nobody light|shape"):
        SUMS[place].log_likelihoods(np.zeros((1, 1), dtype=np.int64), np.array([row]))


def test_a_law_of_very_many_units_is_not_worked_out() -> None:
    wide = ResponseSum(NOISE, RESPONSE, gains=(1, 1 << 22), numbers=(1, 1), width=1)
    with pytest.raises(NotImplementedError, match="units"):
        wide.chances_to_reach([0, 1, 1], 3)
