"""DPWeVote as a list of phases: randomized weights, randomized opinions, release."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import ConfigurationError
from ..estimators import Estimate, probability_of_other_sign
from ..phases import Column, Entries, Inputs, Phase, PhasedProtocol
from ..tally import Tally
from .finite import FiniteEstimates, OpinionsPhase, WeightsPhase
from .laplace import LaplaceEstimates, LaplaceGrids, LaplaceOpinionsPhase, LaplaceWeightsPhase
from .outcome import CandidateOutcome, Outcome, WeightsOutcome
from .parameters import Parameters

__all__ = ["DPWeVote"]


class DPWeVote(PhasedProtocol[Parameters, Outcome]):
    """Weighted yes/no voting under local differential privacy.

    Args:
        parameters: the session's.

    Privacy:
        (ε_weight + k·ε_opinion)-LDP for k candidates with weights collected once, k(ε_weight + ε_opinion) with weights
        collected for each; replace-one, unit: everything that one partner holds; against all others colluding.
        Claimed and proven agree (reading W5).

    Source:
        Yan, Liu and Liu (2018), Sections 4.1 to 4.5; readings W1 to W7.
    """

    name: ClassVar[str] = "dpwevote"
    client_role: ClassVar[str] = "partner"
    server_role: ClassVar[str] = "cloud-server"
    parameters_type: ClassVar[type[msgspec.Struct]] = Parameters
    outcome_type: ClassVar[type[msgspec.Struct]] = Outcome
    parameters_of_table: ClassVar[frozenset[str]] = frozenset({"candidates"})

    @classmethod
    def complete(cls, given: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Fill in the candidates, from the columns, and the set of weights where weights are public."""
        parameters = dict(given)
        parameters.setdefault("candidates", [name for name in table if name != "weight"])
        if parameters.get("public_weights") and "weights" not in parameters:
            weights = np.unique(_numbers(table.get("weight", ())))
            parameters["weights"] = weights[np.isfinite(weights)].tolist()
        return parameters

    def make_phases(self) -> Iterator[Phase]:
        """Yield the phases: weights and opinions once, or a pair of them for each candidate."""
        parameters = self.parameters
        laplace = parameters.variant == "laplace"
        weights_phase = LaplaceWeightsPhase if laplace else WeightsPhase
        opinions_phase = LaplaceOpinionsPhase if laplace else OpinionsPhase
        opinions = self._opinion_columns
        if parameters.weight_collection == "per_candidate":
            for number, column in enumerate(opinions, start=1):
                yield weights_phase(f"weights-{number}", column=0, parameters=parameters)
                yield opinions_phase(f"opinions-{number}", columns=range(column, column + 1), parameters=parameters)
            return
        if not parameters.public_weights:
            yield weights_phase("weights", column=0, parameters=parameters)
        yield opinions_phase("opinions", columns=opinions, parameters=parameters)

    def columns(self) -> tuple[Column, ...]:
        """Return the columns: the weight, and one for each candidate."""
        parameters = self.parameters
        shown = ", ".join(f"{weight:g}" for weight in parameters.weights[:12])
        more = ", ..." if len(parameters.weights) > 12 else ""  # noqa: PLR2004  as many as are shown
        weight = Column("weight", private=not parameters.public_weights, description=f"one of {shown}{more}")
        return (weight, *(Column(name, private=True, description="0 or 1") for name in parameters.candidates))

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Turn weights and opinions into rows. See `PhasedProtocol.encode`.

        A private row is (what the weights phase randomizes, an opinion for each candidate, the weight's place in the
        public set); where weights are public, the first is missing and the last is in the public row.
        """
        parameters = self.parameters
        for column in self.columns():
            if column.name not in table:
                raise ConfigurationError(field=column.name, value="no such column", allowed="a column of the table")
        places = _places(table["weight"], parameters.weights, field="weight")
        opinions = [_places(table[name], (0.0, 1.0), field=name) for name in parameters.candidates]
        if any(len(column) != len(places) for column in opinions):
            raise ConfigurationError(
                field="table", value="columns of different length", allowed="columns of one length"
            )
        groups = np.array(parameters.group_of_weight, dtype=np.int64)[places]
        if parameters.variant == "laplace":
            grids = LaplaceGrids(parameters)
            opinions = [column * grids.opinion.greatest for column in opinions]
            if not parameters.public_weights:
                groups = np.array(grids.weights_on_grid, dtype=np.int64)[places]
        if parameters.public_weights:
            return Inputs(np.stack(opinions, axis=1), np.stack([groups, places], axis=1))
        return Inputs(np.stack([groups, *opinions, places], axis=1), np.empty((len(places), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        """Return the release: for each candidate whether it passes, with the estimates behind it."""
        parameters = self.parameters
        weights = self._weights_outcome(tallies)
        return Outcome(
            candidates=tuple(self._candidate(number, tallies) for number in range(len(parameters.candidates))),
            num_partners=tallies[0].num_reports,
            total_weight=weights.total_weight,
            weight_counts=weights.weight_counts,
            weight_bias_bound=self._weight_bias_bound(tallies[0].num_reports),
            epsilon_weight=parameters.loss_of_weight,
            epsilon_opinion=parameters.loss_of_opinion,
            epsilon_total=parameters.epsilon_total,
        )

    def truth(self, inputs: Inputs) -> dict[str, float]:
        """Return the noise-free support of each candidate, the total weight and the quota."""
        parameters = self.parameters
        places = inputs.public[:, 1] if parameters.public_weights else inputs.private[:, -1]
        weights = np.array(parameters.weights)[places]
        columns = self._opinion_columns
        yes = inputs.private[:, columns.start : columns.stop] > 0
        total = math.fsum(weights.tolist())
        supports = {name: math.fsum(weights[yes[:, n]].tolist()) for n, name in enumerate(parameters.candidates)}
        quota = parameters.fraction * total if parameters.quota is None else parameters.quota
        return {**supports, "total weight": total, "quota": quota}

    @property
    def _opinion_columns(self) -> range:
        first = 0 if self.parameters.public_weights else 1
        return range(first, first + len(self.parameters.candidates))

    def _weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Return what all weights phases together say; where weights are public, what is known."""
        parameters = self.parameters
        if parameters.public_weights:
            total = Estimate(float(self._public_total(tallies[0])), 0.0)
            return WeightsOutcome(quota=self._estimates.quota(total), total_weight=total, weight_counts=())
        per_candidate = parameters.weight_collection == "per_candidate"
        return self._estimates.weights_outcome(tallies[::2] if per_candidate else tallies[:1])

    def _candidate(self, number: int, tallies: Sequence[Tally]) -> CandidateOutcome:
        parameters = self.parameters
        if parameters.weight_collection == "per_candidate":
            weights, opinions, place = tallies[2 * number], tallies[2 * number + 1], 0
        else:
            weights, opinions, place = tallies[0], tallies[-1], number
        totals = opinions.totals[place]
        estimates = self._estimates
        if parameters.public_weights:
            quota = estimates.quota(Estimate(float(self._public_total(opinions)), 0.0))
        else:
            quota = estimates.weights_outcome([weights]).quota
        if isinstance(estimates, LaplaceEstimates):
            if parameters.public_weights:
                support, margin = estimates.support_and_margin_by_weight(totals, self._public_total(opinions))
            else:
                support, margin = estimates.support_and_margin(totals, weights, opinions.num_reports)
            unbiased = margin
        else:
            absent: list[int] = []
            if not parameters.public_weights:
                absent = (weights.totals - totals.sum(axis=1)).tolist()
            support = estimates.support(totals)
            unbiased = estimates.margin(totals, absent, printed=False)
            printed = parameters.variant == "printed"
            margin = estimates.margin(totals, absent, printed=True) if printed else unbiased
        passed = margin.value >= 0 if parameters.passes == "at_least" else margin.value > 0
        return CandidateOutcome(
            name=parameters.candidates[number],
            passed=passed,
            support=support,
            quota=quota,
            margin=margin,
            bias=margin.value - unbiased.value,
            error_probability=probability_of_other_sign(unbiased, positive=passed),
        )

    @functools.cached_property
    def _estimates(self) -> FiniteEstimates | LaplaceEstimates:
        laplace = self.parameters.variant == "laplace"
        return LaplaceEstimates(self.parameters) if laplace else FiniteEstimates(self.parameters)

    def _public_total(self, opinions: Tally) -> Fraction:
        """Return the weight of all who reported opinions, known where weights are public."""
        first = opinions.totals[0]
        numbers = first[:, 0] if self.parameters.variant == "laplace" else first.sum(axis=1)
        weights = (Fraction(weight) for weight in self.parameters.weights)
        return sum((weight * n for weight, n in zip(weights, numbers.tolist(), strict=True)), start=Fraction(0))

    def _weight_bias_bound(self, num_partners: int) -> float:
        """Return n·max|w − μ|·max(τ, 1 − τ): each partner's margin is (w − μ)(φ − τ) off at most.

        μ is what stands for a weight: its group's mean, or the nearest point of the Laplace baseline's grid.
        """
        parameters = self.parameters
        deviation = parameters.group_deviation
        if parameters.variant == "laplace" and not parameters.public_weights:
            deviation = LaplaceGrids(parameters).rounding
        return num_partners * deviation * max(parameters.fraction, 1 - parameters.fraction)


def _places(entries: Entries, allowed: Sequence[float], *, field: str) -> IntArray:
    """Return the place in `allowed` of each entry, a number or its text.

    Raises:
        ConfigurationError: an entry is not allowed.
    """
    choices = np.array(allowed)
    numbers = _numbers(entries)
    if numbers.ndim != 1:
        raise ConfigurationError(field=field, value=f"shape {numbers.shape}", allowed="one entry for each party")
    places = np.minimum(np.searchsorted(choices, numbers), len(choices) - 1)
    wrong = np.flatnonzero(choices[places] != numbers)
    if wrong.size:
        first = int(wrong[0])
        shown = ", ".join(f"{choice:g}" for choice in allowed[:12])
        more = ", ..." if len(allowed) > 12 else ""  # noqa: PLR2004  as many as are shown
        raise ConfigurationError(
            field=f"{field} in row {first + 1}", value=entries[first], allowed=f"one of {shown}{more}"
        )
    return places.astype(np.int64)


def _numbers(entries: Entries) -> FloatArray:
    """Return the entries as numbers; what is none becomes nan, which is in no public set."""
    try:
        return np.asarray(entries, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(entry) for entry in entries], dtype=np.float64)


def _number(entry: object) -> float:
    try:
        return float(entry)  # pyright: ignore[reportArgumentType]  whatever it is, it is a number or refused below
    except (TypeError, ValueError, OverflowError):
        return math.nan
