"""Answers that a trusted server counts: exact laws over all rows of a worker, and what the noisy counts say."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from helpers import Session
from makers import make_survey
from psephos.protocol import Tally
from psephos.protocol.arrays import FloatArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators.truth_inference import Ties
from psephos.protocol.mechanisms import NO_ANSWER, VectorLaplace
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.mechanisms.realized import greatest_gap
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from psephos.protocol.truth_discovery import CountedAnswers, Outcome, TruthDiscovery
from psephos.protocol.truth_discovery.counts import CountNoise, counted_limits, majority_of_counts

TWO, THREE = ("no", "yes"), ("a", "b", "c")
SETS: list[tuple[tuple[str, ...], ...]] = [(TWO,), (THREE,), (TWO, THREE), (TWO, TWO, THREE, THREE)]
every_set = pytest.mark.parametrize("labels", SETS)


def phase_of(survey: TruthDiscovery) -> CountedAnswers:
    assert isinstance(survey.phase, CountedAnswers)
    return survey.phase


def rows_of(survey: TruthDiscovery, public: Sequence[int]) -> list[tuple[int, ...]]:
    """Return every row of answers to these tasks."""
    return list(itertools.product(*phase_of(survey).protected_values_of(public)))


def told_of(survey: TruthDiscovery, row: Sequence[int], public: Sequence[int]) -> Tally:
    return phase_of(survey).tally(np.array([row]), earlier=[], public=np.array([public]))


@every_set
@pytest.mark.parametrize(
    "price", [{"epsilon": 1.0}, {"epsilon_answer": 0.01}, {"epsilon_worker": 3.0}, {"epsilon": 20.0}]
)
def test_the_law_of_the_counts_attains_what_is_charged(
    labels: tuple[tuple[str, ...], ...], price: dict[str, float]
) -> None:
    """By all pairs of rows, of all answers and of one; and no worker who is asked less pays more."""
    survey = make_survey(*labels, **price)
    (most,) = survey.losses
    assert (most.model, most.relation) == (TrustModel.CENTRAL, NeighboringRelation.REPLACE_ONE)
    assert most.proven == pytest.approx(price.get("epsilon_worker", most.proven), rel=1e-12)
    answer = price.get("epsilon", price.get("epsilon_answer", most.finest_loss.proven))
    assert most.finest_loss.proven == pytest.approx(answer, rel=1e-12)
    places = range(len(labels))
    for asked in (own for number in range(1, len(labels) + 1) for own in itertools.combinations(places, number)):
        public = [0, *asked, *[-1] * (len(labels) - len(asked))]
        survey.check_losses(public)
        survey.check_loss_groups(np.array([public]))
        rows = np.array(rows_of(survey, public))
        law = phase_of(survey).log_laws([told_of(survey, row, public) for row in rows.tolist()])
        (own,) = survey.losses_of(public)
        assert greatest_gap(law, np.ones((len(rows),) * 2, dtype=np.bool_)).loss == pytest.approx(own.proven, rel=1e-9)
        apart = np.count_nonzero(rows[:, None] != rows, axis=2) == 1
        assert greatest_gap(law, apart).loss == pytest.approx(own.finest_loss.proven, rel=1e-9)
        assert own.proven <= most.proven * (1 + 1e-12)


def test_an_answer_of_two_labels_costs_half_beside_larger_sets_and_all_alone() -> None:
    assert make_survey(TWO, epsilon=1.0).noise.epsilons == (1.0,)
    assert make_survey(TWO, THREE, epsilon=1.0).noise.epsilons == (0.5, 1.0)
    unused = make_survey(TWO, epsilon=1.0, answer_sets=(TWO, THREE), answer_set_of_task=(0,))
    assert unused.noise.epsilons[0] == 1.0


def test_a_loss_that_is_stated_too_low_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard compares releases by their law, whatever the phase says of an answer."""
    survey = make_survey(THREE, epsilon=1.0)
    stated = make_survey(THREE, epsilon=0.5).losses

    def losses_of(self: CountedAnswers, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        del self, public
        return stated

    monkeypatch.setattr(CountedAnswers, "losses_of", losses_of)
    with refuses(field="losses", allowed="at least what phase"):
        survey.check_loss_groups(np.array([[0, 0]]))


def masses_of(noise: CountNoise, size: int) -> FloatArray:
    """Return the law of the noise in what is told of a label, from 0 on; it is symmetric."""
    if noise.planned is None:
        reach = math.ceil(60 * noise.scale) + 2
        return VectorLaplace(noise.scale, 1, 2**40).noise_probability(0) * np.exp(-np.arange(reach) / noise.scale)
    side = share_masses(scale=noise.scale, planned=noise.planned, num_shares=noise.num_workers)
    law = np.concatenate([side[:0:-1], side])
    law = np.convolve(law, law) if size == 2 else law  # of a sum and a difference
    return law[len(law) // 2 :]


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("shares", [(None, 1), (1, 2), (8, 8), (8, 11), (5, 80)], ids=str)
def test_limits_miss_as_rarely_as_the_level_says_by_the_exact_law(shares: tuple[int | None, int], size: int) -> None:
    """Of all labels of a task together, whatever the counts are; one step less, and they would miss more often.

    A trusted server's noise, and that of masked sums. The former tells one of two labels.
    """
    for scale, level in itertools.product([0.2, 1.0, 6.0], [0.2, 0.05, 0.001]):
        noise = CountNoise(scale, *shares)
        law, parts, true, most = masses_of(noise, size), noise.parts_of(size), 5_000, 10_000
        apart = 1 if size == 2 and noise.planned is None else size
        missed = 0.0
        for off, mass in enumerate(law.tolist()):
            for sign in (1, -1)[: 2 if off else 1]:
                low, high = counted_limits(parts * true + sign * off, most, noise, num_labels=size, level=level)
                missed += 0.0 if low <= true <= high else mass
        assert apart * missed <= level
        reach = noise.reach_of(level / 2 / apart, size)
        assert reach == 1 or 2 * apart * float(law[reach - 1 :].sum()) > level * (1 - 1e-6)
        assert counted_limits(-9, 3, noise, num_labels=size, level=level).low == 0
        assert counted_limits(50_000, 3, noise, num_labels=size, level=level) == (3, 3)


@pytest.mark.parametrize("number", [1, 2, 7, 300])
@pytest.mark.parametrize(
    "noise",
    [*map(CountNoise, (0.05, 1.0, 30.0, 1e6, 1e9)), *(CountNoise(scale, 6, 9) for scale in (0.2, 1.0, 30.0))],
    ids=str,
)
def test_confidences_are_expected_shares_by_bayes_rule(number: int, noise: CountNoise) -> None:
    """A flat prior over 0, …, n for each count, by brute force; of two labels and of three in proportion."""
    possible = np.arange(number + 1)
    for counts, size in itertools.product(([-3, number + 1, 0], [number, 0, number], [0, 1, 1]), (2, 3)):
        off = np.abs(np.array(counts)[:size, None] - noise.parts_of(size) * possible)
        if noise.planned is None:
            weights = np.exp((off.min(axis=1, keepdims=True) - off) / noise.scale)
        else:
            masses = masses_of(noise, size)
            weights = np.where(off < len(masses), masses[np.minimum(off, len(masses) - 1)], 0.0)
        means = weights @ possible / weights.sum(axis=1)
        if not means.any():
            continue
        arrays = np.array([counts[:size]]), np.array([number]), np.array([size])
        found = majority_of_counts(*arrays, noise, ties="first")
        shares = found.probabilities[0]
        assert shares.tolist() == pytest.approx((means / means.sum()).tolist(), rel=1e-6, abs=1e-7)
        assert found.confidences[0] == shares[found.truths[0]]


def test_the_greatest_count_is_found_and_ties_go_where_they_are_told() -> None:
    counts = np.array([[3, 3, 0], [-2, -1, 0], [5, 9, 9], [0, 0, 0]])
    sizes, numbers = np.array([2, 2, 3, 3]), np.array([6, 1, 20, 0])
    cases: list[tuple[Ties, list[int]]] = [("first", [0, 1, 1, -1]), ("last", [1, 1, 2, -1])]
    for ties, expected in cases:
        found = majority_of_counts(counts, numbers, sizes, None, ties=ties)
        assert found.truths.tolist() == expected
        assert np.isnan(found.confidences[3])


def test_the_release_has_noisy_counts_and_public_numbers_and_nobodys_answers() -> None:
    survey = make_survey(TWO, THREE, TWO, epsilon=0.5)
    crowd = {"tasks": [["t0", "t1"], ["t1", "t0"], ["t1"]], "answers": [["yes", "a"], ["", "no"], ["c"]]}
    session = Session(survey, survey.encode(crowd))
    played = session.play().result
    assert played is not None
    result = played.outcome
    assert isinstance(result, Outcome)
    assert not played.own_outcomes
    assert result.num_answers == (2, 2, 0)
    assert result.truths[2] is None
    assert result.reports[2] == (0, 0)
    assert sum(result.reports[0]) == 2
    assert result.noise_scale == 4.0
    assert result.estimator == "majority"
    supports = result.supports[1]
    assert supports is not None
    noise = phase_of(survey).noise
    assert {each.standard_error for each in supports.values()} == {math.sqrt(noise.noise_variance)}
    assert tuple(each.value for each in supports.values()) == result.reports[1]
    prices = [[(entry.proven, entry.model) for entry in ledger.entries] for ledger in session.ledgers.values()]
    assert prices == [[(0.75, TrustModel.CENTRAL)], [(0.75, TrustModel.CENTRAL)], [(0.5, TrustModel.CENTRAL)]]


def test_without_noise_the_counts_are_the_truth() -> None:
    survey = make_survey(TWO, THREE)
    inputs = survey.encode({"tasks": [["t0", "t1"]] * 3, "answers": [["yes", "a"], ["no", "b"], ["yes", "b"]]})
    tally = phase_of(survey).tally(inputs.private, earlier=[], public=inputs.public)
    counts, numbers = survey.counts_of(tally)
    assert counts.tolist() == [[1, 2, 0], [1, 2, 0]]
    assert numbers.tolist() == [3, 3]
    assert survey.truth(inputs) == {"t0": "yes", "t1": "b"}
    assert not len(tally.rows)


def test_the_server_refuses_an_answer_that_is_not_of_the_task() -> None:
    phase = phase_of(make_survey(TWO, THREE))
    phase.check_report([1, NO_ANSWER], (0, 0, 1))
    for wrong in ([2, NO_ANSWER], [0, 0], [7, 2]):
        with pytest.raises(ValueError, match="answer"):
            phase.check_report(wrong, (0, 0, 1))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"flip_probability": 0.2}, "flip_probability"),
        ({"estimator": "truth_discovery"}, "estimator"),
        ({"estimator": "cautious"}, "estimator"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon_worker": 1e-12}, "epsilon_worker"),
    ],
)
def test_what_only_perturbed_answers_have_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError, match=field) as caught:
        _ = make_survey(TWO, THREE, **given).phase
    assert caught.value.field == field
