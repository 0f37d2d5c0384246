"""Many votes at once: all trials of a cell are one array, which goes through the protocol's own phases.

The partners of trial t are rows t·n to (t + 1)·n of one population, so that every trial has noise of its own; each
cell is a session of its own. A margin is the sum of what its partners contribute; where floats cannot tell its sign,
the protocol's own outcome on that trial's tally does.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....protocol import Tally
from ....protocol.arrays import FloatArray, IntArray
from ....protocol.dpwevote import DPWeVote, WeightsOutcome
from ....protocol.phases import Inputs, Phase
from ....protocol.population import draw_reports
from ....protocol.randomness import SimulatedNoise, stream_key
from ..measures import inverse_of_weights, mean_square_of_shares, yes_votes_of
from .workloads import Workload

__all__ = ["Trials", "inputs_of_pairs", "quota_of_reports", "run_trials", "true_margins"]

# Rows at a time: the temporaries then stay in the processor's cache.
_ROWS_AT_A_TIME = 1 << 15
_YES = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Trials:
    """What the trials of a cell gave, a number each.

    Args:
        passed: what was decided.
        should_pass: what is true.
        squared_errors: of the weights' shares ("w"), of the quota ("q") and of the yes votes' shares ("phi"), as in
            equations (11) to (13), where the variant's reports tell them.
    """

    passed: NDArray[np.bool_]
    should_pass: NDArray[np.bool_]
    squared_errors: dict[str, FloatArray]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether what was decided is true (equation 10)."""
        return self.passed == self.should_pass


def run_trials(vote: DPWeVote, workload: Workload, *, num_partners: int, trials: int, seed: int, cell: str) -> Trials:
    """Run a cell.

    Args:
        vote: one candidate, private weights.
        workload: what partners hold.
        num_partners: in each trial.
        trials: at least one.
        seed: of all noise and all drawn pairs.
        cell: the session's name; cells of one name share their noise.
    """
    noise = SimulatedNoise(seed, session=cell)
    key = stream_key(seed=seed, session=cell, round_number=0, protocol=vote.name, phase="pairs", purpose="workload")
    rows = inputs_of_pairs(vote)
    margins, threshold = true_margins(vote)
    at_a_time = max(1, _ROWS_AT_A_TIME // num_partners)
    passed: list[NDArray[np.bool_]] = []
    true: list[NDArray[np.bool_]] = []
    errors: dict[str, list[FloatArray]] = {}
    decisions: dict[bytes, bool] = {}
    for start in range(0, trials, at_a_time):
        stop = min(start + at_a_time, trials)
        pairs = workload.pairs(num_partners, key=key, start=start, stop=stop)
        of_all = pairs.reshape(-1)
        inputs = Inputs(rows.private[of_all], rows.public[of_all])
        reports = [
            draw_reports(phase, inputs, noise=noise, protocol=vote.name, start=start * num_partners)
            for phase in vote.phases
        ]
        passed.append(_decide(vote, reports, inputs, num_partners, decisions))
        sums = _true_sums(margins, pairs)
        true.append(sums >= threshold if vote.parameters.passes == "at_least" else sums > threshold)
        for name, squared in _squared_errors(vote, reports, pairs).items():
            errors.setdefault(name, []).append(squared)
    squared_errors = {name: np.concatenate(parts) for name, parts in errors.items()}
    return Trials(np.concatenate(passed), np.concatenate(true), squared_errors)


def inputs_of_pairs(vote: DPWeVote) -> Inputs:
    """Return the row that the protocol makes of each pair."""
    weights = np.repeat(np.array(vote.parameters.weights), 2)
    opinions = np.tile(np.array([0, 1]), len(vote.parameters.weights))
    return vote.encode({"weight": weights, vote.parameters.candidates[0]: opinions})


def true_margins(vote: DPWeVote) -> tuple[tuple[int, ...], int]:
    """Return what each pair truly adds to the margin, in integers, and what their sum must reach.

    The unit makes all of them whole. With a quota of two thirds of all weight a margin has some 2^54 of it, so that
    64 bits would not do for the sum of some hundreds.
    """
    share = Fraction(vote.parameters.fraction)
    exact = [Fraction(weight) * (opinion - share) for weight in vote.parameters.weights for opinion in (0, 1)]
    threshold = Fraction(vote.parameters.quota or 0)
    unit = math.lcm(threshold.denominator, *(margin.denominator for margin in exact))
    return tuple(int(margin * unit) for margin in exact), int(threshold * unit)


def _true_sums(margins: Sequence[int], pairs: IntArray) -> NDArray[Any]:
    """Return the true margin of each trial, exactly: in 64 bits where they suffice, else in Python's integers."""
    fits = max(map(abs, margins)) * pairs.shape[1] <= np.iinfo(np.int64).max
    return np.array(margins, dtype=np.int64 if fits else object)[pairs].sum(axis=1)


def quota_of_reports(vote: DPWeVote, reports: IntArray) -> FloatArray:
    """Return what each report of a weight adds to the estimated quota.

    The quota is a sum over reports, so the protocol is asked for that of a single one; on the Laplace baseline's grid
    for two of them, between which it is linear.

    Args:
        vote: of variant "joint", "printed" or "laplace".
        reports: of the weights phase, of any shape.
    """
    phase = vote.phases[0]
    if not vote.parameters.kind.has_finite_reports:
        at_least, a_step_above = (_quota_of(phase, [report, report**2]) for report in (0, 1))
        return at_least + (a_step_above - at_least) * reports.astype(np.float64)
    num_groups = phase.mechanism.report_range[1] + 1
    units = np.eye(num_groups, dtype=np.int64).tolist()
    return np.array([_quota_of(phase, unit) for unit in units])[reports]


def _quota_of(phase: Phase, totals: Sequence[int]) -> float:
    outcome = phase.outcome([Tally(1, np.array(totals, dtype=np.int64))])
    assert isinstance(outcome, WeightsOutcome)  # noqa: S101  that is what a weights phase publishes
    return outcome.quota.value


def _decide(
    vote: DPWeVote, reports: Sequence[IntArray], inputs: Inputs, num_partners: int, decisions: dict[bytes, bool]
) -> NDArray[np.bool_]:
    """Return the decision of each trial; `decisions` keeps those that took exact arithmetic, by tally."""
    contributions = vote.contributions(reports, inputs.public)[:, 0]
    quota = vote.parameters.quota or 0.0
    margins = contributions.reshape(-1, num_partners).sum(axis=1) - quota
    passed = margins > 0
    # No order of adding n numbers errs by more than n·u times the sum of their sizes.
    greatest = float(np.abs(contributions).max()) * num_partners + quota
    doubtful = np.flatnonzero(np.abs(margins) <= 4 * num_partners * np.finfo(np.float64).eps * greatest)
    for trial in doubtful.tolist():
        of_trial = slice(trial * num_partners, (trial + 1) * num_partners)
        drawn = [of_phase[of_trial] for of_phase in reports]
        tallies = [
            phase.tally(drawn[number], earlier=drawn[:number], public=inputs.public[of_trial])
            for number, phase in enumerate(vote.phases)
        ]
        known_by = b"".join(tally.totals.tobytes() for tally in tallies)
        if known_by not in decisions:
            decisions[known_by] = vote.outcome(tallies).candidates[0].passed
        passed[trial] = decisions[known_by]
    return passed


def _squared_errors(vote: DPWeVote, reports: Sequence[IntArray], pairs: IntArray) -> dict[str, FloatArray]:
    """Return equations (11) to (13) for each trial, as far as the variant's reports tell them."""
    parameters = vote.parameters
    if parameters.reports_signed_weights:
        return {}
    trials, num_partners = pairs.shape
    weights = np.array(parameters.weights)
    places = pairs // 2
    of_weights = reports[0].reshape(trials, num_partners)
    total = weights[places].sum(axis=1)
    quota = quota_of_reports(vote, of_weights).sum(axis=1)
    errors = {"q": np.square((quota - parameters.fraction * total) / total)}
    if not parameters.kind.has_finite_reports:
        return errors
    num_weights = len(weights)
    true = _count(pairs, 2 * num_weights).reshape(trials, num_weights, 2)
    opinions = reports[1].reshape(trials, num_partners)
    reported = _count(2 * of_weights + opinions, 2 * num_weights).reshape(trials, num_weights, 2).astype(np.float64)
    inverse = inverse_of_weights(vote)
    errors["w"] = mean_square_of_shares(reported.sum(axis=2) @ inverse.T - true.sum(axis=2), num_partners)
    errors["phi"] = mean_square_of_shares(yes_votes_of(vote, reported) - true[:, :, _YES], num_partners)
    return errors


def _count(numbers: IntArray, kinds: int) -> IntArray:
    """Return how often each number below `kinds` occurs in each row."""
    rows = kinds * np.arange(len(numbers), dtype=np.int64)[:, None]
    return np.bincount((numbers + rows).reshape(-1), minlength=kinds * len(numbers)).reshape(len(numbers), kinds)
