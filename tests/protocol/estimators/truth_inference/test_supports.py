"""Supports before the perturbation: estimates without bias for each label, limits for the one that was chosen."""

import itertools
import math

import pytest
from bad_input import refuses
from psephos.protocol.estimators.truth_inference import (
    LevelCounts,
    estimate_support,
    support_limits,
    support_limits_by_level,
)

CHANNELS = [(2, 0.27), (2, 0.02), (2, 0.7), (4, 0.5), (4, 0.1), (3, 0.9)]
"""Numbers of labels and flip probabilities; two of them speak against their labels."""


def law(counts: tuple[int, ...], flip: float) -> dict[tuple[int, ...], float]:
    """Return the exact law of a task's reports, for so many answers of each label, by adding one answer at a time."""
    size = len(counts)
    reached: dict[tuple[int, ...], float] = {(0,) * size: 1.0}
    answers = [label for label, number in enumerate(counts) for _ in range(number)]
    for answer in answers:
        following: dict[tuple[int, ...], float] = {}
        for reports, probability in reached.items():
            for reported in range(size):
                chance = 1 - flip if reported == answer else flip / (size - 1)
                more = tuple(number + (place == reported) for place, number in enumerate(reports))
                following[more] = following.get(more, 0.0) + probability * chance
        reached = following
    return reached


def splits(total: int, size: int) -> list[tuple[int, ...]]:
    """Return all counts of so many answers."""
    return [each for each in itertools.product(range(total + 1), repeat=size) if sum(each) == total]


@pytest.mark.parametrize(("size", "flip"), CHANNELS)
def test_every_label_is_estimated_without_bias(size: int, flip: float) -> None:
    """Exactly, over all reports, and for all answers: no label is favored."""
    for counts in splits(4, size):
        for label, answers in enumerate(counts):
            mean = 0.0
            for reports, probability in law(counts, flip).items():
                support = estimate_support(reports[label], 4, flip_probability=flip, num_labels=size)
                assert support is not None
                mean += probability * support.value
            assert mean == pytest.approx(answers, abs=1e-9)


@pytest.mark.parametrize(("size", "flip"), CHANNELS)
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_the_limits_hold_for_all_labels_at_once(size: int, flip: float, level: float) -> None:
    """Exactly, for all answers of five workers: so they hold for whichever label is chosen, by whatever rule."""
    for counts in splits(5, size):
        missed = 0.0
        for reports, probability in law(counts, flip).items():
            limits = [
                support_limits(number, 5, flip_probability=flip, num_labels=size, level=level) for number in reports
            ]
            if any(not low <= answers <= high for (low, high), answers in zip(limits, counts, strict=True)):
                missed += probability
        assert missed <= level + 1e-9


def test_limits_of_many_answers_are_those_of_the_normal_law() -> None:
    """10,000 answers, 6,000 reports, p = 1/4: (6,000 − 2,500)/(1/2) = 7,000 ± 1.96·√(10,000·3/16)·2."""
    low, high = support_limits(6_000, 10_000, flip_probability=0.25, num_labels=2)
    reach = 1.96 * math.sqrt(10_000 * 3 / 16) * 2
    assert low == pytest.approx(7_000 - reach, abs=4)
    assert high == pytest.approx(7_000 + reach, abs=4)


def test_without_noise_the_limits_are_the_count() -> None:
    for number in range(6):
        assert support_limits(number, 5, flip_probability=0.0, num_labels=3) == (number, number)


def test_reports_that_say_nothing_leave_everything_possible() -> None:
    assert support_limits(3, 5, flip_probability=0.5, num_labels=2) == (0, 5)
    assert estimate_support(3, 5, flip_probability=0.5, num_labels=2) is None
    assert estimate_support(0, 0, flip_probability=0.1, num_labels=2) is None
    assert support_limits(0, 0, flip_probability=0.1, num_labels=2) == (0, 0)


@pytest.mark.parametrize("level", [0.0, 0.5, -0.1, math.nan, 1.0])
def test_a_level_that_no_test_can_have_is_refused(level: float) -> None:
    with refuses(said="level"):
        support_limits(3, 5, flip_probability=0.1, num_labels=2, level=level)


def test_limits_grow_with_the_level_that_is_asked() -> None:
    found = [
        support_limits(12, 20, flip_probability=0.3, num_labels=4, level=level) for level in (0.4, 0.1, 0.01, 1e-4)
    ]
    widths = [high - low for low, high in found]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


@pytest.mark.parametrize(("size", "flip"), CHANNELS)
def test_no_estimate_says_that_it_is_surer_than_any_answers_make_it(size: int, flip: float) -> None:
    """Whatever is reported, also where it is below all or above all that there can be: an error is never nothing."""
    lie = flip / (size - 1)
    least = min(flip * (1 - flip), lie * (1 - lie)) / (1 - flip - lie) ** 2
    for number in (1, 2, 7, 100):
        for reports in range(number + 1):
            support = estimate_support(reports, number, flip_probability=flip, num_labels=size)
            assert support is not None
            assert support.standard_error >= math.sqrt(number * least) * (1 - 1e-12)


def test_limits_of_several_channels_share_the_level_and_add_up() -> None:
    """Who has which is not known to the limits: all of them have to hold at once. A channel of nobody has no share."""
    told = [LevelCounts(40, 90, 0.3), LevelCounts(7, 30, 0.2), LevelCounts(2, 4, 0.45)]
    nobody = LevelCounts(0, 0, 0.1)
    for number in (1, 2, 3):
        for level in (0.05, 0.2):
            each = [
                support_limits(
                    own.reports,
                    own.num_answers,
                    flip_probability=own.flip_probability,
                    num_labels=2,
                    level=level / number,
                )
                for own in told[:number]
            ]
            found = support_limits_by_level([nobody, *told[:number], nobody], num_labels=2, level=level)
            assert found == (sum(own.low for own in each), sum(own.high for own in each))
