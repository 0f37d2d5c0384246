"""Workers with an ε of their own: equal bits on all paths, each answer by its own channel, prices, and refusals."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from machine_sessions import play_own_levels
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.estimators.truth_inference import (
    KnownNoise,
    LevelCounts,
    OwnNoise,
    estimate_support_by_level,
    noise_aware_one_coin,
    support_limits_by_level,
)
from psephos.protocol.mechanisms import flip_probability_of
from psephos.protocol.phases import Inputs
from psephos.protocol.truth_discovery import Outcome, Parameters, TruthDiscovery, reference_run
from scipy.stats import binom

LEVELS = (1.2, 1.5, 3.0)
TASKS = ("q", "r", "s")
ASKED = [["q", "r"], ["r", "s"], ["s"], ["q", "s"], ["r", "q"]]
GIVEN = [["a", "x"], ["y", "b"], ["b"], ["a", ""], ["z", "a"]]
CHOICES = [0, 2, 1, 2, 0]
ESTIMATORS = ["majority", "truth_discovery", "one_coin", "noise_aware", "noise_aware_dawid_skene", "auto"]

every_mechanism = pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "fresh_two_layer"])


def make_survey(**given: Any) -> TruthDiscovery:
    fields: dict[str, Any] = {"tasks": TASKS, "answer_sets": (("a", "b"), ("x", "y", "z")), "max_answers": 2}
    fields |= {"answer_set_of_task": (0, 1, 0), "epsilons": LEVELS, **given}
    return TruthDiscovery(Parameters(**fields))


def make_inputs(survey: TruthDiscovery, choices: Sequence[int] = CHOICES) -> Inputs:
    own = {column.name: [LEVELS[choice] for choice in choices] for column in survey.parameters.own_levels.columns}
    return survey.encode({"tasks": ASKED, "answers": GIVEN, **own})


def reference(*given: Any, **options: Any) -> Outcome:
    return reference_run(*given, **options).outcome


@every_mechanism
def test_agents_who_choose_arrays_a_roster_and_the_reference_have_the_same_bits(mechanism: str) -> None:
    survey = make_survey(mechanism=mechanism, chosen_by="worker")
    unknown = survey.encode_public({"tasks": ASKED}, num_parties=len(CHOICES))
    assert unknown[:, -1].tolist() == [len(LEVELS) - 1] * len(CHOICES)  # the dearest, until they say
    session, arrays = play_own_levels(
        survey,
        make_inputs(survey),
        unknown,
        of_roster=make_survey(mechanism=mechanism),
        reference=reference,
    )
    assert isinstance(arrays, Outcome)
    assert [(each.epsilon, each.num_workers) for each in arrays.levels or ()] == [(1.2, 2), (1.5, 1), (3.0, 2)]
    for name, choice, asked in zip(session.names, CHOICES, ASKED, strict=True):
        alone = make_survey(mechanism=mechanism, epsilons=msgspec.UNSET, epsilon=LEVELS[choice])
        (loss,) = alone.losses_of(alone.encode_public({"tasks": [asked]}, num_parties=1)[0].tolist())
        (entry,) = session.ledgers[name].entries
        assert (entry.proven, entry.part) == (loss.proven, loss.part)


@every_mechanism
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_of_one_level_alone_a_survey_is_that_of_its_epsilon(mechanism: str, estimator: str) -> None:
    survey = make_survey(mechanism=mechanism, estimator=estimator)
    one = make_survey(mechanism=mechanism, estimator=estimator, epsilons=msgspec.UNSET, epsilon=1.5)
    noise = SimulatedNoise(3, session="s")
    ours, theirs = (run_population(each, make_inputs(each, [1] * 5), noise=noise) for each in (survey, one))
    assert ours.own_outcomes == theirs.own_outcomes
    assert ours.outcome.supports == theirs.outcome.supports
    assert ours.outcome.limits_of_found() == theirs.outcome.limits_of_found()
    shown = ("truths", "confidences", "model_confidences", "reports", "num_answers", "num_iterations")
    for field in shown:
        assert getattr(ours.outcome, field) == getattr(theirs.outcome, field)


def perturbed_crowd(seed: int) -> tuple[Inputs, TruthDiscovery]:
    """Return 40 workers, right in 3 of 4 answers, of whom every fourth has a large ε and the others a small one."""
    generator = np.random.default_rng(seed)
    tasks = tuple(f"t{place}" for place in range(80))
    survey = TruthDiscovery(
        Parameters(tasks=tasks, answer_sets=(("a", "b"),), max_answers=20, epsilons=(0.2, 4.0), estimator="noise_aware")
    )
    asked = np.argsort(generator.random((40, 80)), axis=1)[:, :20].astype(np.int64)
    answers = (generator.random(asked.shape) > 0.75).astype(np.int64)  # "a" is true
    own = np.where(np.arange(40) % 4, 0.2, 4.0)
    return survey.encode({"tasks": asked, "answers": answers, "epsilon": own}), survey


def test_no_answer_weighs_more_than_its_own_epsilon() -> None:
    """The log-odds of a report of two labels are those of its channel at most: e^ε against 1."""
    inputs, survey = perturbed_crowd(1)
    found = run_population(survey, inputs, noise=SimulatedNoise(1, session="s")).own_outcomes
    own: list[float] = [survey.parameters.own_levels.epsilons[level] for level in inputs.public[:, -1].tolist()]
    weights = [getattr(found[worker], "weight") for worker in range(40)]  # noqa: B009  any protocol's
    assert all(0 <= weight <= epsilon for weight, epsilon in zip(weights, own, strict=True))
    assert min(weights[::4]) > max(weight for weight, epsilon in zip(weights, own, strict=True) if epsilon < 1)


def test_who_knows_each_channel_finds_more_truths_than_who_knows_the_mean() -> None:
    """Twelve crowds at fixed seeds, 960 tasks: some 130 truths are found by the one alone, 60 by the other.

    If the two were equally good, each of the tasks on which they differ would be a coin: a false alarm has p < 1e-4.
    """
    wins = losses = 0
    flips = [flip_probability_of(epsilon, 2) for epsilon in (0.2, 4.0)]
    for seed in range(12):
        inputs, survey = perturbed_crowd(seed)
        (tally,) = run_population(survey, inputs, noise=SimulatedNoise(seed, session="s")).tallies
        answers, level_of_worker = survey.answers_in(tally), inputs.public[:, -1]
        own = OwnNoise(tuple(KnownNoise.from_flip_probabilities({2: flip}) for flip in flips), level_of_worker)
        mean = KnownNoise.from_flip_probabilities({2: float(np.take(flips, level_of_worker).mean())})
        right, other = (noise_aware_one_coin(answers, noise).truths == 0 for noise in (own, mean))
        wins, losses = wins + int((right & ~other).sum()), losses + int((other & ~right).sum())
    assert binom.sf(wins - 1, wins + losses, 0.5) < 1e-4


@pytest.mark.parametrize(
    ("level", "numbers", "flips"),
    [(0.05, (4, 3), (0.38, 0.05)), (0.3, (4, 3), (0.38, 0.05)), (0.3, (1, 1, 1), (0.14, 0.14, 0.14))],
)
def test_limits_and_errors_of_supports_are_exact_over_every_table_of_reports(
    level: float, numbers: tuple[int, ...], flips: tuple[float, ...]
) -> None:
    """Every truth and every report: exact laws, no false alarm. At the last, unshared levels would miss in .36."""
    for given in itertools.product(*(range(number + 1) for number in numbers)):
        missed = mean = square = stated = 0.0
        for reports in itertools.product(*(range(number + 1) for number in numbers)):
            chance = math.prod(
                sum(
                    float(binom.pmf(kept, yes, 1 - flip) * binom.pmf(told - kept, number - yes, flip))
                    for kept in range(told + 1)
                )
                for told, yes, number, flip in zip(reports, given, numbers, flips, strict=True)
            )
            parts = list(map(LevelCounts, reports, numbers, flips))
            low, high = support_limits_by_level(parts, num_labels=2, level=level)
            missed += chance * (not low <= sum(given) <= high)
            estimate = estimate_support_by_level(parts, num_labels=2)
            assert estimate is not None
            mean += chance * estimate.value
            square += chance * (estimate.value - sum(given)) ** 2
            stated += chance * estimate.standard_error**2
        assert missed <= level
        assert mean == pytest.approx(sum(given))
        assert square <= stated * (1 + 1e-9)


def test_limits_of_found_labels_of_a_session_hold_for_as_many_tasks_as_they_say() -> None:
    """Forty sessions of 80 tasks at fixed seeds: so many misses have a probability below one in a million."""
    missed = number = 0
    for seed in range(40):
        inputs, survey = perturbed_crowd(seed)
        outcome = run_population(survey, inputs, noise=SimulatedNoise(seed, session="s")).outcome
        clean = survey.phase.tally(inputs.private, earlier=(), public=inputs.public).totals.sum(axis=0)
        for task, limits in enumerate(outcome.limits_of_found(level=0.1)):
            if limits is not None:
                truly = int(clean[task, "ab".index(outcome.truths[task] or "")])
                missed, number = missed + (not limits.low <= truly <= limits.high), number + 1
    assert missed <= binom.isf(1e-6, number, 0.1)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"mechanism": "auto"}, "leave out epsilons in mechanism 'auto': .* name one_layer or two_layer"),
    ({"mechanism": "central"}, "leave out epsilons in mechanism 'central': .* protects all of them alike"),
    ({"mechanism": "masked", "threshold": 3, "colluders": 0}, "leave out epsilons in mechanism 'masked'"),
    ({"estimator": "noise_aware_crh"}, "use another one beside epsilons"),
    ({"epsilons": ()}, "epsilons is .*: use at least one level"),
    ({"epsilons": (2.0, 1.0)}, "Make them distinct, ascending"),
    ({"epsilons": (0.0, 1.0)}, r"epsilons is 0.0: use a value from 1e-09 to 30"),
    ({"epsilons": tuple(range(1, 22))}, r"epsilons are 21 levels: use at most 20"),
    ({"epsilon": 2.0}, "leave out epsilon beside epsilons"),
    ({"epsilon_worker": 2.0}, "leave out epsilon_worker beside epsilons"),
    ({"flip_probability": 0.2}, "leave out flip_probability beside epsilons"),
    ({"epsilons": msgspec.UNSET, "chosen_by": "worker"}, "give epsilons"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=[str(given) for given, _ in REFUSED])
def test_what_has_no_levels_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        make_survey(**given)


def test_an_epsilon_that_is_no_level_is_refused() -> None:
    survey, table = make_survey(), {"tasks": ASKED[:2], "answers": GIVEN[:2]}
    with refuses(said="epsilon in row 2 is '0.7': use one of 1.2, 1.5, 3"):
        survey.encode({**table, "epsilon": ["1.5", "0.7"]})
    with refuses(said="the table has no column epsilon"):
        survey.encode(table)
    with refuses(said="epsilon is 3: use the ε that the server has: 1.5"):
        survey.encode_own({"answers": {"q": "a"}, "epsilon": 3}, [0, 0, 1, 1])
    assert survey.encode_own({"answers": {"q": "a"}, "epsilon": 1.5}, [0, 0, 1, 1]) == (0, -1)
    for row in ([0, 0, 1], [0, 0, 1, 3], [0, 0, 1, -1]):
        with refuses(said="and the place of an ε in [0, 2]"):
            survey.check_public(row)
    assert survey.write_public(np.array([[0, 0, -1, 2]])) == {"tasks": ["q"], "epsilon": ["3.0"]}
    chosen = make_survey(chosen_by="worker")
    assert chosen.encode_chosen({"epsilon": "3"}) == (2,)
    with refuses(said="epsilon is missing: use one of 1.2, 1.5, 3"):
        chosen.encode_chosen({})


def test_an_outcome_whose_levels_have_other_tables_is_refused() -> None:
    survey = make_survey()
    outcome = run_population(survey, make_inputs(survey), noise=SimulatedNoise(3, session="s")).outcome
    assert isinstance(outcome.levels, tuple)
    wrong = msgspec.structs.replace(outcome.levels[0], reports=outcome.levels[0].reports[:-1])
    with refuses(said="and needs 3 entries"):
        msgspec.structs.replace(outcome, levels=(wrong,))
