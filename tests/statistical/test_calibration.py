"""Standard errors and error probabilities mean what they say: over many sessions of one population, and of many.

Seeds are fixed; each test states the probability that another seed would fail although the estimate is right. Cells of
`tests/calibrate.py` are drawn by a digest of the protocols' source: the same code is held at the same places, and each
change at others.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibrate import CALIBRATIONS
from calibration.engine import Statement, Wanted, cells_of, search
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import CandidateOutcome, DPWeVote
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from repeated_votes import make_vote, tallies_of_trials
from runs import read_rows
from thoroughness import IS_FULL, draws
from vote_margins import margin_of

pytestmark = pytest.mark.unmeasured  # thousands of sessions, on ways that the mirrors' tests take too

TRIALS = draws(100, full=3000)
WHOLE_SESSIONS = draws(30, full=400)

# Weights and opinions of the two workloads, by place.
WORKLOADS: dict[str, Callable[[int], tuple[IntArray, IntArray]]] = {
    "uniform": lambda n: (np.arange(n) % 3 + 1, np.arange(n) // 3 % 2),
    "skewed": lambda n: (np.where(np.arange(n) % 10 == 0, 1, 3), (np.arange(n) % 5 < 3).astype(np.int64)),
}
QUOTAS: list[dict[str, Any]] = [{}, {"quota_fraction": 2 / 3}, {"quota": 120.0}]


def sessions(
    vote: DPWeVote, weights: IntArray, opinions: IntArray, *, seed: int, present: int | None = None
) -> list[CandidateOutcome]:
    """Return what `TRIALS` sessions of one population release."""
    generator = np.random.default_rng(seed)
    rows = np.tile(weights, (TRIALS, 1)), np.tile(opinions, (TRIALS, 1))
    tallies = tallies_of_trials(vote, *rows, generator, present=present)
    return [vote.outcome(of_trial).candidates[0] for of_trial in tallies]


def expected_margin(vote: DPWeVote, weights: IntArray, opinions: IntArray, *, present: int | None = None) -> float:
    """Return the expectation of the variant's margin: the truth, or what the printed rule shrinks it to."""
    parameters = vote.parameters
    counted = weights.astype(np.float64)
    if parameters.variant == "printed" and not parameters.public_weights:
        mechanism = GeneralizedRandomizedResponse(parameters.loss_of_weight, 3)
        shrinkage = mechanism.keep_probability - mechanism.flip_probability
        counted = shrinkage * counted + 6 * mechanism.flip_probability
    quota = parameters.quota or parameters.fraction * float(weights.sum())
    return float((counted * opinions)[:present].sum()) - quota


def check_calibrated(margins: Sequence[Estimate], expected: float) -> None:
    """Standardized margins have mean 0 and variance 1; tolerances of 4.5 standard deviations.

    The variance's has √((κ − 1)/n) of n sessions, with kurtosis κ below 4 for every workload here.
    """
    standardized = np.array([(margin.value - expected) / margin.standard_error for margin in margins])
    assert abs(float(standardized.mean())) < 4.5 / math.sqrt(len(margins))
    assert float(standardized.var()) == pytest.approx(1, abs=4.5 * math.sqrt(3 / len(margins)))


PLAIN = ("joint", "laplace")
# Each variant with each quota, on both workloads in turn, so that any two of the three are tried together.
CALIBRATED: list[tuple[dict[str, Any], str, int | None]] = [
    *(
        ({"variant": variant, "epsilon": 2.0, **quota}, list(WORKLOADS)[(row + column) % 2], None)
        for row, variant in enumerate(("joint", "printed", "laplace"))
        for column, quota in enumerate(QUOTAS)
    ),
    # A third reports a weight and no opinion.
    *(({"variant": variant, "epsilon": 2.0}, "skewed", 60) for variant in ("joint", "printed", "laplace")),
    *(({"variant": variant, "epsilon": 1.0, "public_weights": True}, "uniform", None) for variant in PLAIN),
]


@pytest.mark.few(most=10)
@pytest.mark.parametrize(("given", "workload", "present"), CALIBRATED, ids=str)
def test_standard_errors_are_calibrated(given: dict[str, Any], workload: str, present: int | None) -> None:
    """At n = 90. False alarm: 7e-6 for each of two checks."""
    vote = make_vote(**given)
    weights, opinions = WORKLOADS[workload](90)
    outcomes = sessions(vote, weights, opinions, seed=11, present=present)
    margins = [margin_of(outcome) for outcome in outcomes]
    check_calibrated(margins, expected_margin(vote, weights, opinions, present=present))


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize("variant", PLAIN)
def test_the_mean_squared_standard_error_is_the_variance(variant: str, epsilon: float) -> None:
    """At little and at much noise. Relative standard deviation of a variance: √(3/TRIALS); false alarm 7e-6."""
    vote = make_vote(variant=variant, epsilon=epsilon)
    weights, opinions = WORKLOADS["uniform"](90)
    outcomes = sessions(vote, weights, opinions, seed=14)
    squared = float(np.mean([margin_of(o).standard_error ** 2 for o in outcomes]))
    variance = float(np.var([margin_of(o).value for o in outcomes]))
    assert squared == pytest.approx(variance, rel=4.5 * math.sqrt(3 / TRIALS))


def test_the_printed_bias_is_estimated_on_average() -> None:
    """All of `bias` averages to the printed rule's own error, on the skewed workload where that is large.

    False alarm at 4.5 standard deviations of the mean: 7e-6.
    """
    vote, truthful = make_vote(variant="printed", epsilon=2.0), make_vote(epsilon=2.0)
    weights, opinions = WORKLOADS["skewed"](90)
    biases = np.array([outcome.bias for outcome in sessions(vote, weights, opinions, seed=15)])
    expected = expected_margin(vote, weights, opinions) - expected_margin(truthful, weights, opinions)
    assert expected < -20
    assert abs(float(biases.mean()) - expected) < 4.5 * float(biases.std()) / math.sqrt(TRIALS)


@pytest.mark.parametrize("variant", PLAIN)
def test_whole_sessions_over_arrays_are_calibrated_too(variant: str) -> None:
    """The same through `run_population` and its addressed noise: sessions of 60, one seed each.

    Tolerance of 4.5 standard deviations of mean and variance: false alarm 7e-6 each.
    """
    vote = make_vote(variant=variant, epsilon=3.0)
    weights, opinions = WORKLOADS["skewed"](60)
    inputs = vote.encode({"weight": weights, "a": opinions})
    noises = (SimulatedNoise(seed, session="calibration") for seed in range(WHOLE_SESSIONS))
    outcomes = [run_population(vote, inputs, noise=noise).outcome for noise in noises]
    margins = [margin_of(outcome.candidates[0]) for outcome in outcomes]
    check_calibrated(margins, expected_margin(vote, weights, opinions))


def drawn_by_the_source() -> int:
    """Return a seed that the protocols' source has."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parents[2] / "protocol").rglob("*.py")):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:4])


def statements() -> list[tuple[str, Statement]]:
    """Return all statements of all systems, each behind its system's name."""
    return [(system, statement) for system, part in CALIBRATIONS.items() for statement in part.statements()]


def test_the_manual_has_cells_of_every_statement() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs" / "tables" / "calibration"
    for system, statement in statements():
        told = {row["statement"] for row in read_rows(folder / f"{system}-cells.csv")}
        assert statement.name in told, system


def test_statements_hold_at_places_that_are_drawn_from_all_sizes() -> None:
    """A place is broken if it is wrong more often than is stated, twice at 99 %.

    False alarm: 1e-4 for each place that is wrong as often as is stated, and hardly one is.
    """
    wanted = Wanted(trials=draws(10, full=100), cells=draws(1, full=3), seed=drawn_by_the_source())
    for number, (system, statement) in enumerate(statements()):
        # Quick, every third one: which, the same digest says.
        if statement.kind != "at most" or not (IS_FULL or (number + wanted.seed) % 3 == 0):
            continue
        generator = np.random.default_rng([wanted.seed, number])
        cells = [cell for _, cell in cells_of(system, statement, wanted, generator)]
        assert cells, f"nobody can have a session of {system}: {statement.name}"
        for cell in cells:
            assert cell.holds, f"seed {wanted.seed}: {cell}"


@pytest.mark.parametrize("kind", ["on average", "error"])
def test_statements_under_a_prior_and_errors_hold_at_the_first_places_of_the_manual(kind: str) -> None:
    """Approximate ones are held with the manual's seed. False alarm of another: 4e-4 for each of eight places."""
    wanted = Wanted(trials=draws(20, full=60), cells=1)
    for system, part in CALIBRATIONS.items():
        for number, statement in enumerate(part.statements()):
            if statement.kind == kind:
                generator = np.random.default_rng([wanted.seed, number, *system.encode()])
                ((_, cell),) = cells_of(system, statement, wanted, generator)
                assert cell.holds, f"{cell}"


@pytest.mark.full("minutes of climbing")
@pytest.mark.parametrize(("system", "statement"), [pair for pair in statements() if pair[1].kind == "at most"])
def test_no_place_that_a_search_climbs_to_is_broken(system: str, statement: Statement) -> None:
    """Ten seconds each; the four worst places of each are held again, with ten times the sessions."""
    generator = np.random.default_rng([drawn_by_the_source(), *statement.name.encode()])
    for cell in search(system, statement, Wanted(trials=100), generator, seconds=10.0):
        assert cell.holds, f"{cell}"
