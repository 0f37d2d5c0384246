"""Verdicts of trials: wrong as rarely as they say, and open where nothing is known."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from psephos.scenarios.experiments import judging
from psephos.scenarios.experiments.judging import (
    MOST_CLAIMS,
    agree,
    ahead_somewhere,
    average,
    between,
    difference,
    difference_of_shares,
    errors_of,
    judge_all_above,
    judge_with_law,
    on_average,
)
from psephos.scenarios.experiments.measurements import Measurement, mean_of, share_of
from psephos.scenarios.verdicts import Judgement
from scipy.stats import t

ROOT = Path(__file__).resolve().parents[3]

HOLDS, IN_PART, REFUTED, OPEN = Judgement.HOLDS, Judgement.IN_PART, Judgement.REFUTED, Judgement.OPEN


def at(value: float, error: float = 0.01) -> Measurement:
    return Measurement(value, error)


def test_errors_are_student_s_quantile_of_a_claim_s_part_of_the_risk() -> None:
    assert errors_of(3, 20) == pytest.approx(float(t.isf(0.01 / 200 / 6, 19)))
    assert errors_of(1, 2) > 1_000
    assert errors_of(1, 10**6) == pytest.approx(4.056, abs=0.001)


@pytest.mark.parametrize(
    ("numbers", "verdict", "somewhere"),
    [
        ((0.2, 0.1), HOLDS, HOLDS),
        ((0.2, 0.01), OPEN, HOLDS),
        ((0.01, -0.01), OPEN, OPEN),
        ((0.2, -0.2), IN_PART, IN_PART),
        ((0.0, -0.2), REFUTED, REFUTED),
    ],
)
def test_all_are_above_or_some_are(numbers: tuple[float, ...], verdict: Judgement, somewhere: Judgement) -> None:
    assert judge_all_above(map(at, numbers), trials=1_000) is verdict
    assert ahead_somewhere(map(at, numbers), trials=1_000) is somewhere


def test_all_hold_where_each_is_so_by_an_interval_of_its_own() -> None:
    """4.3 standard errors are enough for each of nine; they refute none, since nine might err."""
    few, many = at(0.043), [at(0.043)] * 9
    assert errors_of(1, 1_000) < 4.3 < errors_of(9, 1_000)
    assert judge_all_above(many, trials=1_000) is HOLDS
    assert judge_all_above([at(-0.043), *many[1:]], trials=1_000) is OPEN
    assert between(many, 0.0, 0.1, trials=1_000) is HOLDS
    assert between([at(-0.043), *many[1:]], 0.0, 0.1, trials=1_000) is OPEN
    assert on_average([few], -4.3, 9, trials=1_000) is HOLDS


def test_a_mean_decides_where_none_of_its_parts_says_the_contrary() -> None:
    assert on_average([at(0.1)], -3.0, 9, trials=1_000) is HOLDS
    assert on_average([at(0.1)], -6.0, 9, trials=1_000) is IN_PART
    assert on_average([at(0.04)], -3.0, 9, trials=1_000) is OPEN
    assert on_average([at(-0.1)], -6.0, 9, trials=1_000) is REFUTED
    assert on_average([at(0.1)], -3.0, 9, trials=3) is OPEN


def test_numbers_are_between_limits_or_outside() -> None:
    assert between([at(0.5), at(0.55)], 0.4, 0.6, trials=1_000) is HOLDS
    assert between([at(0.5), at(0.58)], 0.4, 0.6, trials=1_000) is OPEN
    assert between([at(0.5), at(0.7)], 0.4, 0.6, trials=1_000) is REFUTED


def test_numbers_agree_where_none_is_far_and_their_mean_is_near() -> None:
    assert agree([1.0, -1.0, 0.5], at(0.0, 0.001), 0.02, trials=1_000) is HOLDS
    assert agree([1.0, -1.0, 0.5], at(0.0, 0.01), 0.02, trials=1_000) is OPEN
    assert agree([1.0, -9.0, 0.5], at(0.0, 0.001), 0.02, trials=1_000) is REFUTED
    assert agree([1.0, -1.0, 0.5], at(0.04, 0.001), 0.02, trials=1_000) is REFUTED
    # Each is near enough for chance, and all together are not.
    assert agree([3.0] * 30, at(0.0, 0.001), 0.02, trials=1_000) is REFUTED


def test_trials_can_only_contradict_a_law() -> None:
    assert judge_with_law(OPEN, is_true=True) is HOLDS
    assert judge_with_law(HOLDS, is_true=False) is REFUTED
    assert judge_with_law(REFUTED, is_true=True) is REFUTED


def test_a_share_of_which_all_trials_agree_has_an_error() -> None:
    sure = share_of(np.ones(50, dtype=np.bool_))
    assert sure.standard_error == 0
    found = difference_of_shares(sure, sure, 50)
    assert found.value == 0
    # Of 50 trials all succeed with the claim's risk where the probability is this.
    least = (judging.RISK / MOST_CLAIMS / 2) ** (1 / 50)
    assert errors_of(1, 50) * difference_of_shares(sure, Measurement(0.0, 0.0), 50).standard_error > 1 - least


def test_averages_and_differences_are_of_independent_numbers() -> None:
    assert average([at(1.0, 3.0), at(3.0, 4.0)]) == Measurement(2.0, 2.5)
    assert difference(at(1.0, 3.0), at(3.0, 4.0)) == Measurement(-2.0, 5.0)


def coins(share: float) -> Callable[[np.random.Generator, int], Measurement]:
    def draw(generator: np.random.Generator, trials: int) -> Measurement:
        one, other = (share_of(generator.random(trials) < share) for _ in range(2))
        return difference_of_shares(one, other, trials)

    return draw


def waiting(generator: np.random.Generator, trials: int) -> Measurement:
    """A mean of a skewed law, less its expectation."""
    return mean_of(generator.exponential(size=trials) - 1)


def even(generator: np.random.Generator, trials: int) -> Measurement:
    return mean_of(generator.normal(size=trials))


@pytest.mark.parametrize(
    ("draw", "trials", "most"),
    [
        (coins(0.5), 10, 0.05),
        (coins(0.9), 50, 0.05),
        (coins(0.99), 100, 0.05),
        # Few trials of a skewed law have less exact intervals: a lower end that is too low.
        (waiting, 100, 0.09),
        (even, 3, 0.05),
    ],
    ids=["coins", "sure coins", "surer coins", "waiting", "three trials"],
)
def test_a_verdict_is_wrong_no_more_often_than_it_says(
    draw: Callable[[np.random.Generator, int], Measurement], trials: int, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both numbers are equal, so that any verdict is wrong; at a risk of 5 % a claim, in place of 1 in 20,000.

    False alarms: 4 standard errors of 4,000 verdicts, 1 in 30,000 a case.
    """
    monkeypatch.setattr(judging, "RISK", 0.05 * MOST_CLAIMS)
    generator = np.random.default_rng(1)
    verdicts = [judge_all_above([draw(generator, trials)], trials=trials) for _ in range(4_000)]
    wrong = sum(verdict is not OPEN for verdict in verdicts) / len(verdicts)
    assert wrong <= most + 4 * math.sqrt(most / len(verdicts))


def paired(generator: np.random.Generator, trials: int) -> Measurement:
    """Two cells of the same draws, each with a little of its own: their difference, trial by trial."""
    shared = generator.exponential(size=trials)
    return mean_of(np.subtract(*(shared + 0.1 * generator.normal(size=trials) for _ in range(2))))


@pytest.mark.parametrize("lead", [0.0, 1.0], ids=["all are even", "one is even and eight are ahead"])
def test_a_verdict_on_several_is_wrong_no_more_often(lead: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of the same draws; at a risk of 5 % a claim. False alarms: 4 standard errors of 4,000 verdicts."""
    monkeypatch.setattr(judging, "RISK", 0.05 * MOST_CLAIMS)
    generator = np.random.default_rng(2)

    def judge() -> Judgement:
        found = [paired(generator, 20) for _ in range(9)]
        others = [Measurement(each.value + lead, each.standard_error) for each in found[1:]]
        return judge_all_above([found[0], *others], trials=20)

    wrong = sum(judge() is not OPEN for _ in range(4_000)) / 4_000
    assert wrong <= 0.05 + 4 * math.sqrt(0.05 / 4_000)
    # Each cell's error alone would be ten times as large, and tell nothing of a lead of a tenth.
    assert paired(generator, 1_000).standard_error < 0.01


def test_no_more_claims_are_judged_than_share_the_risk() -> None:
    counted = [
        int(found)
        for page in (ROOT / "docs").glob("*.md")
        if page.stem.endswith(("-reproduced", "-added"))
        for found in re.findall(r"^Of (\d+) claims? ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    ]
    assert len(counted) >= 8
    assert sum(counted) <= MOST_CLAIMS
