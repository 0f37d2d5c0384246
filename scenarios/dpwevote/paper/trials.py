"""The cells of an experiment: many votes at once, as one array that goes through the protocol's own phases.

The partners of trial t are rows t·n to (t + 1)·n of one population, so that every trial has noise of its own; each
cell is a session of its own. A margin is the sum of what its partners contribute; where floats cannot tell its sign,
the protocol's own outcome on that trial's tally does.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.dpwevote import DPWeVote
from ....protocol.phases import Inputs
from ....protocol.population import draw_reports
from ....protocol.randomness import SimulatedNoise, stream_key
from ...experiments.measurements import in_blocks, mean_of, share_of
from ..measures import inverse_of_weights, mean_square_of_shares, yes_votes_of
from .rows import Cell
from .theory import normal_accuracy, quota_of_reports
from .workloads import SIGNED_WEIGHTS, WEIGHTS, Workload, inputs_of_pairs, make_vote

Trials: TypeAlias = Mapping[str, NDArray[Any]]
"""What the trials of a cell gave, a number each: "passed", "is_right", and squared errors as in equations (11) to (13)
where the variant's reports tell them: of the weights' shares "w", of the quota "q", of the yes votes' shares "phi"."""
_PAIRS: Final = len(SIGNED_WEIGHTS)
# Rows at a time: the temporaries then stay in the processor's cache.
_ROWS_AT_A_TIME = 1 << 15


class Cells:
    """Measures cells of so many trials, and remembers them: tables and figures share some."""

    def __init__(self, *, trials: int, seed: int) -> None:
        self._trials = trials
        self._seed = seed
        self._known: dict[str, Trials] = {}

    def run(self, vote: DPWeVote, workload: Workload, *, num_partners: int, label: str = "", times: int = 1) -> Trials:
        """Return a cell's trials, so many times the usual number; a label tells votes of one variant and ε apart."""
        parameters = vote.parameters
        name = f"{workload.name}/{label or parameters.variant}/n={num_partners}/epsilon={parameters.epsilon!r}"
        name += f"/{times}" * (times > 1)
        if name not in self._known:
            block = _Block(vote, workload, num_partners, seed=self._seed, cell=name)
            at_a_time = max(1, _ROWS_AT_A_TIME // num_partners)
            self._known[name] = in_blocks(block.run, trials=times * self._trials, at_a_time=at_a_time)
        return self._known[name]

    def measure(self, variant: str, workload: Workload, *, num_partners: int, epsilon: float) -> Cell:
        """Return what a cell's trials say, beside what the normal law does."""
        vote = make_vote(variant, epsilon=epsilon)
        found = self.run(vote, workload, num_partners=num_partners)
        return Cell(
            variant=variant,
            workload=workload.name,
            num_partners=num_partners,
            epsilon=epsilon,
            accuracy=share_of(found["is_right"]),
            normal_law=normal_accuracy(vote, workload, num_partners),
            **{f"mse_{name}": mean_of(found[name]) if name in found else None for name in ("w", "q", "phi")},
        )


class _Block:
    def __init__(self, vote: DPWeVote, workload: Workload, num_partners: int, *, seed: int, cell: str) -> None:
        self._vote, self._workload, self._num_partners = vote, workload, num_partners
        self._noise = SimulatedNoise(seed, session=cell)
        key = functools.partial(stream_key, seed=seed, session=cell, round_number=0, protocol=vote.name)
        self._key = key(phase="pairs", purpose="workload")
        self._rows = inputs_of_pairs(vote)
        self._decisions: dict[bytes, bool] = {}

    def run(self, start: int, stop: int) -> Trials:
        """Run the trials from `start` up to `stop`."""
        vote, num_partners = self._vote, self._num_partners
        pairs = self._workload.pairs(num_partners, key=self._key, start=start, stop=stop)
        of_all = pairs.reshape(-1)
        inputs = Inputs(self._rows.private[of_all], self._rows.public[of_all])
        reports = [
            draw_reports(phase, inputs, noise=self._noise, protocol=vote.name, start=start * num_partners)
            for phase in vote.phases
        ]
        passed = self._decide(reports, inputs)
        is_right = passed == (np.array(SIGNED_WEIGHTS)[pairs].sum(axis=1) >= 0)
        return {"passed": passed, "is_right": is_right, **_squared_errors(vote, reports, pairs)}

    def _decide(self, reports: Sequence[IntArray], inputs: Inputs) -> NDArray[np.bool_]:
        """Return the decision of each trial; those that took exact arithmetic are kept, by tally."""
        vote, num_partners = self._vote, self._num_partners
        contributions = vote.contributions(reports, inputs.public)[:, 0]
        margins = contributions.reshape(-1, num_partners).sum(axis=1)
        passed = margins > 0
        # No order of adding n numbers errs by more than n·u times the sum of their sizes.
        greatest = float(np.abs(contributions).max()) * num_partners
        doubtful = np.flatnonzero(np.abs(margins) <= 4 * num_partners * np.finfo(np.float64).eps * greatest)
        for trial in doubtful.tolist():
            of_trial = slice(trial * num_partners, (trial + 1) * num_partners)
            drawn = [of_phase[of_trial] for of_phase in reports]
            tallies = [
                phase.tally(drawn[number], earlier=drawn[:number], public=inputs.public[of_trial])
                for number, phase in enumerate(vote.phases)
            ]
            known_by = b"".join(tally.totals.tobytes() for tally in tallies)
            if known_by not in self._decisions:
                self._decisions[known_by] = vote.outcome(tallies).candidates[0].leans_yes
            passed[trial] = self._decisions[known_by]
        return passed


def _squared_errors(vote: DPWeVote, reports: Sequence[IntArray], pairs: IntArray) -> dict[str, FloatArray]:
    """Return equations (11) to (13) for each trial, as far as the variant's reports tell them."""
    parameters = vote.parameters
    if parameters.reports_signed_weights:
        return {}
    trials, num_partners = pairs.shape
    of_weights = reports[0].reshape(trials, num_partners)
    total = np.array(WEIGHTS)[pairs // 2].sum(axis=1)
    quota = quota_of_reports(vote, of_weights).sum(axis=1)
    errors = {"q": np.square((quota - parameters.fraction * total) / total)}
    if not parameters.kind.has_finite_reports:
        return errors
    shape = trials, len(WEIGHTS), 2
    true = _count(pairs).reshape(shape)
    opinions = reports[1].reshape(trials, num_partners)
    reported = _count(2 * of_weights + opinions).reshape(shape).astype(np.float64)
    counts = reported.sum(axis=2) @ inverse_of_weights(vote).T
    errors["w"] = mean_square_of_shares(counts - true.sum(axis=2), num_partners)
    errors["phi"] = mean_square_of_shares(yes_votes_of(vote, reported) - true[:, :, 1], num_partners)
    return errors


def _count(pairs: IntArray) -> IntArray:
    """Return how often each pair occurs in each row."""
    rows = _PAIRS * np.arange(len(pairs), dtype=np.int64)[:, None]
    return np.bincount((pairs + rows).reshape(-1), minlength=_PAIRS * len(pairs)).reshape(len(pairs), _PAIRS)
