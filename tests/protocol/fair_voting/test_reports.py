"""Locally randomized rankings: estimates without bias, and variances, by enumerating every report of every ranking."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_laws import law_of_rows
from helpers import make_fair_vote
from psephos.protocol.fair_voting import Scoring, make_scores
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.fair_voting.reports import RankingReport, make_reports, mean_utilities, possible_reports
from psephos.protocol.mechanisms import NoisyScores, SampledPair, SampledPosition, WholeRanking

SCORES = ["borda", "plurality", "veto", (5.0, 3.0, 1.0, -1.0), (2.0, 1.25, 1.25, 0.0), (100.0, 1 / 3, 0.1, -7.0)]
EPSILONS = [0.3, 1.0, 4.0]


def scoring_of(scores: Any, size: int) -> Scoring:
    made: Any = scores if isinstance(scores, str) else scores[:size]
    return Scoring(make_scores(made, size))


def all_reports() -> Iterator[tuple[str, Scoring, RankingReport]]:
    for size, scores, epsilon in itertools.product((2, 3, 4), SCORES, EPSILONS):
        scoring = scoring_of(scores, size)
        for report in possible_reports(scoring, epsilon):
            yield f"{report.name}, {scores}, m = {size}, ε = {epsilon}", scoring, report


ALL = list(all_reports())
every_report = pytest.mark.parametrize(
    ("scoring", "report"), [case[1:] for case in ALL], ids=[name for name, *_ in ALL]
)


def true_utilities(scoring: Scoring, ranking: Sequence[int]) -> list[Fraction]:
    step = Fraction(scoring.step)
    return [(scoring.steps[position] + scoring.center) * step for position in ranking]


def law_of(report: RankingReport, ranking: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """Return the exact law of a ranking's report, the keep probability being the fraction that its float is."""
    mechanism = report.mechanism
    match mechanism:
        case SampledPair() | SampledPosition():
            return law_of_rows(lambda below: mechanism.randomize_exactly(ranking, below))
        case WholeRanking(response=response):
            keep = Fraction(response.keep_probability)
            lie = (1 - keep) / (response.num_choices - 1)
            (own,) = mechanism.prepare_row(ranking)
            return {(code,): keep if code == own else lie for code in range(response.num_choices)}
        case _:
            raise TypeError(mechanism)


def told(report: RankingReport, numbers: Sequence[int]) -> list[Fraction]:
    totals: list[int] = report.totals_of(np.array([numbers], dtype=np.int64)).tolist()
    return mean_utilities([report], [[1, *totals]])


@pytest.mark.few(most=24)
@pytest.mark.unmeasured
@every_report
def test_estimates_are_unbiased_and_their_mean_variance_is_the_stated_one(
    scoring: Scoring, report: RankingReport
) -> None:
    """Exactly, over the whole law of the report; the variance, averaged over alternatives, is that of every ranking."""
    size = scoring.num_alternatives
    estimates: dict[tuple[int, ...], list[Fraction]] = {}
    for ranking in itertools.permutations(range(size)):
        truth = true_utilities(scoring, ranking)
        if report.name == "noisy_scores":
            noiseless = [scoring.steps[position] for position in ranking]
            assert told(report, noiseless) == truth  # and noise adds steps, of mean 0
            steps = [step + 5 for step in noiseless]
            assert told(report, steps) == [utility + 5 * Fraction(scoring.step) for utility in truth]
            continue
        law = law_of(report, ranking)
        assert sum(law.values()) == 1
        estimates |= {numbers: told(report, numbers) for numbers in law if numbers not in estimates}
        means = [
            sum((chance * estimates[numbers][place] for numbers, chance in law.items()), Fraction(0))
            for place in range(size)
        ]
        if report.name == "sampled_pair":  # of scores that are equally spaced but for rounding to the grid
            assert all(abs(mean - own) <= scoring.step for mean, own in zip(means, truth, strict=True))
        else:
            assert means == truth
        squares = sum(
            chance * (estimates[numbers][place] - means[place]) ** 2
            for numbers, chance in law.items()
            for place in range(size)
        )
        assert float(squares) / size == pytest.approx(report.mean_variance, rel=1e-9)


@pytest.mark.few(most=24)
@pytest.mark.unmeasured
@every_report
def test_the_law_that_tests_take_is_that_of_the_mechanism(scoring: Scoring, report: RankingReport) -> None:
    """Exactly: of every two alternatives, over the whole law of a report; all rankings are one, renamed."""
    if (found := report.law(0)) is None:
        assert report.laplace is not None
        return
    size = scoring.num_alternatives
    law = [(told(report, numbers), float(chance)) for numbers, chance in law_of(report, range(size)).items()]
    mean = float(report.mean)
    for row, (one, other) in zip(found.channel, itertools.permutations(range(size), 2), strict=True):
        expected, given = (defaultdict[tuple[float, float], float](float) for _ in range(2))
        for values, chance in law:
            expected[round(float(values[one]) - mean, 6), round(float(values[other]) - mean, 6)] += chance
        for (first, second), chance in zip(found.values[:, 0].tolist(), row.tolist(), strict=True):
            given[round(first, 6) + 0.0, round(second, 6) + 0.0] += chance
        assert {key: value for key, value in given.items() if value} == pytest.approx(dict(expected), rel=1e-9)
    balanced = np.array([[float(value) for value in values] for values, _ in law]).sum(axis=1)
    assert report.is_balanced == bool(np.allclose(balanced, balanced[0]))


@every_report
def test_mean_variances_are_the_printed_formulas(scoring: Scoring, report: RankingReport) -> None:
    """Those of the module's docstring, with p and q of the definition."""
    size, epsilon = scoring.num_alternatives, report.epsilon
    scores = [float(utility) for utility in true_utilities(scoring, range(size))]
    mean = math.fsum(scores) / size
    spread = math.fsum((score - mean) ** 2 for score in scores) / size
    gap = (scores[0] - scores[-1]) / (size - 1)

    def difference(choices: int) -> float:
        return (math.exp(epsilon) - 1) / (math.exp(epsilon) + choices - 1)

    distance = sum(abs(one - other) for one, other in zip(scores, reversed(scores), strict=True))
    expected = {
        "sampled_pair": gap**2 * size * (size - 1) ** 2 / 8 / difference(2) ** 2 - spread,
        "sampled_position": size * spread / difference(size) ** 2 - spread,
        "whole_ranking": spread / difference(math.factorial(size)) ** 2 - spread,
        "noisy_scores": 2 * (distance / epsilon) ** 2,
    }
    assert report.mean_variance == pytest.approx(expected[report.name], rel=1e-6)


@pytest.mark.few(most=24)
@pytest.mark.unmeasured
@every_report
def test_the_estimate_of_many_is_the_mean_of_those_of_each(scoring: Scoring, report: RankingReport) -> None:
    size, number = scoring.num_alternatives, 200
    generator = np.random.default_rng(size)
    rankings = np.array([generator.permutation(size) for _ in range(number)], dtype=np.int64)
    drawn = report.mechanism.randomize_rows(rankings, generator.random((number, report.mechanism.slots_of(size))))
    values = mean_utilities([report], [[number, *report.totals_of(drawn).tolist()]])
    rows, times = np.unique(drawn, axis=0, return_counts=True)
    single = [(often, told(report, row)) for row, often in zip(rows.tolist(), times.tolist(), strict=True)]
    assert values == [sum(often * own[place] for often, own in single) / number for place in range(size)]


def test_a_variance_is_positive_at_the_largest_epsilon_too() -> None:
    """Where hardly any report is a lie, it is a difference of numbers that are nearly equal."""
    for size, scores in itertools.product((2, 3, 4), SCORES):
        assert all(report.mean_variance > 0 for report in possible_reports(scoring_of(scores, size), 30.0))


@pytest.mark.parametrize(
    ("scores", "size", "crossings"),
    [
        ("borda", 2, [(0.01, "sampled_pair")]),
        ("borda", 3, [(0.01, "sampled_pair"), (1.95, "whole_ranking")]),
        ("borda", 4, [(0.01, "sampled_pair"), (3.16, "whole_ranking")]),
        ("borda", 9, [(0.01, "sampled_pair"), (4.29, "sampled_position"), (7.72, "noisy_scores")]),
        ("plurality", 4, [(0.01, "noisy_scores"), (1.06, "sampled_position"), (2.84, "whole_ranking")]),
    ],
)
def test_the_best_report_changes_where_variances_cross(
    scores: Any, size: int, crossings: list[tuple[float, str]]
) -> None:
    """By hundredths of ε; on either side of each crossing the other one's variance is larger."""

    def best(epsilon: float) -> str:
        vote = make_fair_vote(2, 2, num_alternatives=size, scores=scores, mechanism="local", epsilon=epsilon)
        (report,) = make_reports(vote.parameters)
        return report.name

    for number, (epsilon, name) in enumerate(crossings):
        assert best(epsilon) == name
        assert not number or best(epsilon - 0.01) == crossings[number - 1][1]
    assert best(30.0) == crossings[-1][1]


@pytest.mark.parametrize(
    ("scores", "size", "names"),
    [
        ("borda", 4, {"sampled_pair", "sampled_position", "whole_ranking", "noisy_scores"}),
        ("borda", 9, {"sampled_pair", "sampled_position", "noisy_scores"}),
        ("plurality", 4, {"sampled_position", "whole_ranking", "noisy_scores"}),
        ("veto", 12, {"sampled_position", "noisy_scores"}),
    ],
)
def test_only_what_the_scores_allow_is_possible(scores: str, size: int, names: set[str]) -> None:
    assert {report.name for report in possible_reports(scoring_of(scores, size), 1.0)} == names


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [
        ("sampled_pair", SampledPair),
        ("sampled_position", SampledPosition),
        ("whole_ranking", WholeRanking),
        ("noisy_scores", NoisyScores),
    ],
)
def test_a_session_has_the_report_that_it_asks_for(mechanism: MechanismName, kind: type) -> None:
    (report,) = make_reports(make_fair_vote(2, 2, mechanism=mechanism, epsilon=1.5).parameters)
    assert (report.name, report.epsilon, type(report.mechanism)) == (mechanism, 1.5, kind)
