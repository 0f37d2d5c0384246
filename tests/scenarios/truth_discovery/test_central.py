"""A survey that trusts its server, as people see it: what variants, attacks, poisoners and calibrations say of it."""

import itertools
import math

import numpy as np
import pytest
from calibration.engine import hold
from calibration.truth_discovery import CALIBRATION
from makers import make_survey
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.phases import Inputs
from psephos.protocol.privacy import TrustModel
from psephos.protocol.truth_discovery import CountedAnswers, TruthDiscovery
from psephos.scenarios.attacks import Coalition, view_by_arrays
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.truth_discovery.attack.counted_inference import log_likelihoods_of_counts
from psephos.scenarios.truth_discovery.attack.estimates import estimates_of
from psephos.scenarios.truth_discovery.attack.inference import Anchors, TruthDiscoveryAttack
from psephos.scenarios.truth_discovery.variants import CrowdVariants
from thoroughness import draws

TWO, THREE = ("no", "yes"), ("a", "b", "c")
ANSWERS, _, ROW = TruthDiscoveryAttack.secrets
SECOND = np.array([False, True])
NOTHING = Anchors(members=False, agreement=None)


def inputs_of(survey: TruthDiscovery, *answers: list[str]) -> Inputs:
    tasks = list(survey.parameters.tasks)
    return survey.encode({"tasks": [tasks] * len(answers), "answers": list(answers)})


def test_variants_have_a_row_for_the_trusted_server_at_the_same_price() -> None:
    table = CrowdVariants(resolve(load_scenario("crowd", ["workers.tasks=6", "workers.workers=12"])), trials=2)
    assert table.names[-1] == "central, majority"
    assert [table.model_of(name) for name in table.names].count(TrustModel.CENTRAL) == 1
    offered = table.offer("central, majority", table.price)
    assert offered is not None
    resolved = table.setup_with(offered.settings)
    assert resolved.protocol.model is TrustModel.CENTRAL
    assert table.losses_of(offered)[0].proven == pytest.approx(table.price)
    assert offered.cells["Trusted"] == "the aggregator"
    trusting = CrowdVariants(
        resolve(load_scenario("crowd", ["mechanism=central", "workers.tasks=6", "workers.workers=12"])), trials=2
    )
    assert trusting.names.count("central, majority") == 1
    assert [name for name in trusting.names if name.startswith("central")] == ["central, majority"]


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("others", [0, 1, 2, 5])
def test_what_counts_tell_of_one_answer_is_bayes_rule(labels: tuple[str, ...], others: int) -> None:
    """By a sum over everything that the others may have said, and over two sessions of the same answers."""
    survey = make_survey(labels, epsilon=1.3)
    phase = survey.phase
    assert isinstance(phase, CountedAnswers)
    size, is_told = len(labels), phase.is_told[0]
    prior = np.array([0.7, 0.2, 0.1])[:size] / np.array([0.7, 0.2, 0.1])[:size].sum()
    counts = np.array([[2, 5, -1], [1, 3, 4]])[:, :size]
    noise = phase.noise
    exact = np.zeros(size)
    for own in range(size):
        for rest in itertools.product(range(size), repeat=others):
            true = np.bincount([own, *rest], minlength=size)
            chance = math.prod(prior[label] for label in rest)
            law = (
                noise.noise_probability(int(row[label] - true[label]))
                for row in counts
                for label in np.flatnonzero(is_told)
            )
            exact[own] += chance * math.prod(law)
    logs = log_likelihoods_of_counts(counts, is_told, others, prior, noise.scale)
    found = np.exp(logs - logs.max())
    assert (found / found.sum()).tolist() == pytest.approx((exact / exact.sum()).tolist(), rel=1e-9)


def test_a_large_task_takes_no_long_and_a_huge_one_is_refused() -> None:
    told = log_likelihoods_of_counts(np.array([[1_000, 2_000]]), SECOND, 2_999, np.array([0.5, 0.5]), 2.0)
    assert np.all(np.isfinite(told))
    with pytest.raises(ConfigurationError, match="coalition"):
        log_likelihoods_of_counts(np.array([[1, 2]]), SECOND, 10**6, np.array([0.5, 0.5]), 2.0)


def test_all_workers_but_one_have_the_posterior_that_the_noise_leaves_and_no_more_than_is_charged() -> None:
    survey = make_survey(TWO, TWO, epsilon=0.8)
    inputs = inputs_of(survey, ["yes", "no"], ["no", "no"], ["yes", "yes"])
    attack = TruthDiscoveryAttack(survey, anchors=NOTHING)
    phase = survey.phase
    assert isinstance(phase, CountedAnswers)
    coalition = Coalition((0, 1), has_server=False)
    seen = view_by_arrays(survey, inputs, noise=SimulatedNoise(5, session="s"), coalition=coalition)
    found = attack.posteriors([seen], np.array([2]), secret=ANSWERS)
    noise = phase.noise
    for task, known in enumerate((1, 0)):  # who of the members said yes
        noisy = int(seen.totals[0][task]) - known
        odds = math.log(noise.noise_probability(noisy - 1) / noise.noise_probability(noisy))
        assert math.log(found.probabilities[task, 1] / found.probabilities[task, 0]) == pytest.approx(odds, rel=1e-9)
        assert abs(odds) <= 0.8 + 1e-12
    whole = attack.posteriors([seen], np.array([2]), secret=ROW)
    assert whole.probabilities[0].tolist() == pytest.approx(
        np.outer(*found.probabilities).reshape(-1).tolist(), rel=1e-9
    )
    assert attack.loss(ANSWERS, inputs.public, np.array([2]), coalition) == pytest.approx(0.8)
    assert attack.session_caveat("answers", votes=5) == ""


def test_the_server_knows_all_answers_and_its_loss_is_said_to_be_infinite() -> None:
    survey = make_survey(TWO, THREE)
    inputs = inputs_of(survey, ["yes", "b"], ["no", ""])
    attack = TruthDiscoveryAttack(survey)
    server = Coalition((), has_server=True)
    seen = view_by_arrays(survey, inputs, noise=SimulatedNoise(5, session="s"), coalition=server)
    found = attack.posteriors([seen], np.array([0, 1]), secret=ANSWERS).probabilities
    assert found[:3].argmax(axis=1).tolist() == [1, 1, 0]
    assert found[:3].max(axis=1).tolist() == [1.0, 1.0, 1.0]
    assert found[3].max() < 1  # of a task that is skipped nothing is learnt
    assert math.isinf(attack.loss(ANSWERS, inputs.public, np.array([0]), server))


def test_of_a_task_that_somebody_skipped_counts_are_left_aside() -> None:
    survey = make_survey(TWO, epsilon=5.0)
    inputs = inputs_of(survey, ["yes"], ["yes"], [""])
    attack = TruthDiscoveryAttack(survey, anchors=NOTHING)
    outsider = Coalition((0,), has_server=False)
    seen = view_by_arrays(survey, inputs, noise=SimulatedNoise(5, session="s"), coalition=outsider)
    assert attack.posteriors([seen], np.array([1]), secret=ANSWERS).probabilities.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("mechanism", ["central", "one_layer", "two_layer"])
def test_what_poisoners_push_are_the_supports_of_the_outcome(mechanism: str) -> None:
    survey = make_survey(TWO, THREE, mechanism=mechanism)
    inputs = inputs_of(survey, ["yes", "b"], ["no", "c"])
    run = run_population(survey, inputs, noise=SimulatedNoise(5, session="s"))
    found = estimates_of(survey, run.tallies, "")
    assert list(found) == ["no", "yes", "a", "b", "c", "t0=no", "t0=yes", "t1=a", "t1=b", "t1=c"]
    for task, supports in zip(survey.parameters.tasks, run.outcome.supports, strict=True):
        for label, support in (supports or {}).items():
            assert found[f"{task}={label}"].value == pytest.approx(support.value)
            assert found[f"{task}={label}"].standard_error == pytest.approx(support.standard_error)
            assert found[label] == estimates_of(survey, run.tallies, label)[label]
    assert found["b"].value == found["t1=b"].value


@pytest.mark.parametrize("name", ["limits of supports", "standard error of a support"])
@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize(("mechanism", "answers"), [("central", 9), ("masked", 13)])
def test_calibrations_hold_what_noisy_counts_and_sums_say(name: str, labels: int, mechanism: str, answers: int) -> None:
    (statement,) = (own for own in CALIBRATION.statements() if own.name == name)
    case = {"mechanism": mechanism, "labels": labels, "answers": answers, "given": "two alike"}
    case |= {"epsilon": 0.5, "level": 0.2}
    cell = hold("truth-discovery", statement, case, draws(full=4_000, quick=800), np.random.default_rng(7))
    assert cell is not None
    assert cell.holds
    assert cell.found > 0.05  # nor are limits much wider than they have to be
