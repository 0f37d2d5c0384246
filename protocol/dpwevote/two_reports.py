"""Variants with separate reports of weights and opinions: their phases, rows and sums."""

import abc
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import ExactSums, FloatArray, IntArray
from ..estimators import Estimate, Verdict
from ..mechanisms import RowMechanism
from ..memoized_reports import Scope
from ..phases import Inputs, Phase
from ..privacy import PrivacyLoss
from ..tally import Tally, TallyBlock
from .outcome import WeightsOutcome
from .variant import Errors, Holdings, Sums, Variant

TallyT = TypeVar("TallyT", Tally, TallyBlock)


class PublishedWeights(Phase):
    """A phase in which partners report their weights, and the approximate quota is published; subclasses tally.

    Args:
        column: the column of the private row with the weight.
        scope: the scope of memoized reports.
        publish: computes the quota from the tally.
    """

    def __init__(
        self,
        name: str,
        column: int,
        mechanism: RowMechanism,
        loss: PrivacyLoss,
        *,
        scope: Scope | None,
        publish: Callable[[Sequence[Tally]], WeightsOutcome],
    ) -> None:
        columns = range(column, column + 1)
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss], memo_scope=scope)
        self._publish = publish

    def outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        return self._publish(tallies[-1:])


class TwoReports(Variant):
    """Variants with separate reports of weights and opinions: `joint`, `printed` and `laplace`.

    A private row has the value that the weights phase randomizes, an opinion for each candidate, and the weight's index
    in the public set. If weights are public, the first is absent, and the last is in the public row.
    """

    @abc.abstractmethod
    def make_weights_phase(self, name: str, *, column: int) -> Phase:
        """Return a phase in which weights are reported."""

    @abc.abstractmethod
    def make_opinions_phase(self, name: str, *, columns: range) -> Phase:
        """Return a phase in which opinions are reported."""

    def encode_weights(self, places: IntArray) -> IntArray:
        """Return the values to report for weights, given by their places in the public set."""
        return self.groups_of(places)

    @abc.abstractmethod
    def weights_of(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Return quota, total weight and group sizes from one weights phase, or the average of several."""

    @abc.abstractmethod
    def total_weights(self, tallies: Sequence[TallyBlock]) -> FloatArray:
        """Return the total weight of each session from one weights phase, or the average of several."""

    @abc.abstractmethod
    def error_of_total(self, tallies: Sequence[Tally]) -> float:
        """Return the standard error of that of one session."""

    def total_weight_of(self, tallies: Sequence[Tally]) -> Estimate:
        """Return the total weight from one weights phase, or the average of several."""
        (total,) = self.total_weights([TallyBlock.from_tallies([tally]) for tally in tallies]).tolist()
        return Estimate(total, self.error_of_total(tallies))

    @abc.abstractmethod
    def support_and_margins(
        self, totals: IntArray, weights: TallyBlock | None, opinions: TallyBlock
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the supports, margins and unbiased margins of one candidate.

        Args:
            totals: the candidate's totals in the opinions phase, shape (sessions, ...).
            weights: the tallies of the preceding weights phase; None if weights are public.
            opinions: the tallies of the opinions phase.
        """

    @abc.abstractmethod
    def errors_of(self, totals: IntArray, weights: Tally | None, opinions: Tally) -> tuple[float, float]:
        """Return the standard errors of support and margin of one session, by arguments like those."""

    @abc.abstractmethod
    def verdicts_on(
        self, margins: FloatArray, totals: IntArray, weights: TallyBlock | None, opinions: TallyBlock
    ) -> list[Verdict]:
        """Return the verdicts on unbiased margins, the other arguments being as in `support_and_margins`."""

    def public_totals(self, opinions: TallyBlock) -> FloatArray:
        """Return the weight of all who reported opinions in each session, known where weights are public."""
        return self._exact_weights.to_floats(self.voters_by_weight(opinions))

    @functools.cached_property
    def _exact_weights(self) -> ExactSums:
        return ExactSums(self._parameters.weights)

    @abc.abstractmethod
    def voters_by_weight(self, opinions: TallyBlock) -> IntArray:
        """Return how many of those who reported opinions have each public weight, shape (sessions, weights)."""

    @abc.abstractmethod
    def contributions_of(self, weights: IntArray | None, opinions: IntArray, public: IntArray) -> FloatArray:
        """Return the contribution of one pair of reports to each margin, shape (n, columns of opinions)."""

    def make_phases(self) -> Iterator[Phase]:
        parameters = self._parameters
        opinions = self._opinion_columns
        if self._is_per_candidate:
            for number, column in enumerate(opinions, start=1):
                yield self.make_weights_phase(f"weights-{number}", column=0)
                yield self.make_opinions_phase(f"opinions-{number}", columns=range(column, column + 1))
            return
        if not parameters.public_weights:
            yield self.make_weights_phase("weights", column=0)
        yield self.make_opinions_phase("opinions", columns=opinions)

    def private_rows(self, holdings: Holdings) -> IntArray:
        rows = np.column_stack([self.encode_weights(holdings.places), holdings.opinions, holdings.places])
        rows[:, -1 - holdings.opinions.shape[1] : -1] *= self.greatest_opinion
        return rows

    def decode(self, inputs: Inputs) -> Holdings:
        places = inputs.public[:, 1] if self._parameters.public_weights else inputs.private[:, -1]
        columns = self._opinion_columns
        yes: NDArray[np.bool_] = inputs.private[:, columns.start : columns.stop] > 0
        return Holdings(places, yes.astype(np.int64))

    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        if self._parameters.public_weights:
            total = Estimate(self.total_range(tallies)[0], 0.0)
            return WeightsOutcome(quota=self.quota(total), total_weight=total, weight_counts=())
        return self.weights_of(tallies[::2] if self._is_per_candidate else tallies[:1])

    def _candidate_tallies(self, number: int, tallies: Sequence[TallyT]) -> tuple[TallyT | None, TallyT, int]:
        """Return the tallies of weights and opinions that are a candidate's, and its place in the latter."""
        if self._is_per_candidate:
            return tallies[2 * number], tallies[2 * number + 1], 0
        return None if self._parameters.public_weights else tallies[0], tallies[-1], number

    def sums(self, number: int, tallies: Sequence[TallyBlock]) -> Sums:
        weights, opinions, place = self._candidate_tallies(number, tallies)
        total = self.public_totals(opinions) if weights is None else self.total_weights([weights])
        fixed = self._parameters.quota
        quota = self._parameters.fraction * total if fixed is None else np.full(len(total), fixed)
        support, margin, unbiased = self.support_and_margins(opinions.totals[:, place], weights, opinions)
        return Sums(support, quota, margin, unbiased)

    def errors(self, number: int, tallies: Sequence[Tally]) -> Errors:
        weights, opinions, place = self._candidate_tallies(number, tallies)
        error = 0.0 if weights is None else self.error_of_total([weights])
        support, margin = self.errors_of(opinions.totals[place], weights, opinions)
        return Errors(support, self.quota(Estimate(0.0, error)).standard_error, margin)

    def verdicts(self, number: int, margins: FloatArray, tallies: Sequence[TallyBlock]) -> list[Verdict]:
        weights, opinions, place = self._candidate_tallies(number, tallies)
        return self.verdicts_on(margins, opinions.totals[:, place], weights, opinions)

    def total_range(self, tallies: Sequence[Tally]) -> tuple[float, float]:
        if not self._parameters.public_weights:
            return super().total_range(tallies)
        (total,) = self.public_totals(TallyBlock.from_tallies(tallies[:1])).tolist()
        return total, total

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        if self._is_per_candidate:
            pairs = zip(reports[::2], reports[1::2], strict=True)
            return np.hstack([self.contributions_of(weights, opinions, public) for weights, opinions in pairs])
        return self.contributions_of(None if self._parameters.public_weights else reports[0], reports[-1], public)

    def quota(self, total_weight: Estimate) -> Estimate:
        """Return the quota: fixed, or the share of all weight."""
        if self._parameters.quota is not None:
            return Estimate(self._parameters.quota, 0.0)
        fraction = self._parameters.fraction
        return Estimate(fraction * total_weight.value, fraction * total_weight.standard_error)

    @property
    def _is_per_candidate(self) -> bool:
        return self._parameters.weight_collection == "per_candidate"

    @property
    def _opinion_columns(self) -> range:
        first = 0 if self._parameters.public_weights else 1
        return range(first, first + len(self._parameters.candidates))
