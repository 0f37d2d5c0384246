"""The variant `central`: a trusted server adds up the votes and draws noise once, as it closes the vote.

Let τ be the quota as a share of all weight (0 for a fixed quota), w a partner's weight, and x its opinion, 1 for yes.
The server releases Σ w(x − τ) for each of k candidates, and k·min(τ, 1 − τ)·Σ w, all with discrete Laplace noise of one
scale.

**Sensitivity.** Take two partners (w, x) and (w', x'). If x is yes and x' no, a candidate's sum differs by at most w(1
− τ) + w'τ. The difference min(τ, 1 − τ)·abs(w − w') in the last number is at most what this leaves below the greatest
weight. So the ℓ₁ distance is at most k·w_max: **the total weight costs nothing in addition to the margins**, and the
noise has the scale w_max/ε. A partner who is present or absent changes the vector by the same ℓ₁ distance at most,
though participation is public here.

If weights are public, only the supports Σ w·x are private. A partner of weight w pays ε·w/w_max for each candidate, and
the number of reporters with each weight is released without noise. Then the noise may protect only partners up to a
`noise_weight`; the server applies randomized response to each heavier partner's opinions before it adds them up
(`heavy`).

If only decisions are released, `decision` has the rule with the least worst-case error for the same ε.

Sums are integers: multiples of the greatest unit of which all w(x − τ) are multiples; or, if that unit is too small, of
a power of two that is small compared to the greatest weight. The sensitivity is the maximum over all pairs of these
integers.

Source: Dwork, McSherry, Nissim and Smith (2006), and the discrete law of `mechanisms.discrete_laplace`.
"""

import functools
import math
import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np

from ..arrays import ExactSums, FloatArray, IntArray, counts_of_rows, exact_column_sums
from ..elementary import exp, power_of_two_above, power_of_two_below, quotient_up
from ..errors import require
from ..estimators import Estimate, Verdict
from ..guard import Values
from ..mechanisms import GeneralizedRandomizedResponse, RowMechanism, VectorLaplace
from ..phases import CentralPhase, Draw, DrawBlock, InputBlock, Inputs, Phase
from ..privacy import NeighboringRelation, PrivacyEvent, PrivacyLoss, PureAccountant, PureMechanism, TrustModel
from ..tally import Tally, TallyBlock
from .outcome import WeightsOutcome
from .variant import Errors, Holdings, Sums, Variant, unit_of

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

_PHASE: Final = "votes"
NOISE_ON_SUMS: Final = "discrete Laplace noise on sums"
"""The name of the law of `central`'s noise."""
# The greatest weight in grid steps. Scales are then below 2**40, and sums of a million partners' votes on a thousand
# candidates, with noise, far below the limit of 2**60.
_MOST_STEPS: Final = 2**30
_MOST_SCALE: Final = 2**39
_LEAST_STEPS: Final = 8  # of the greatest weight; coarser sums could not distinguish weights
_BOUND: Final = 2**60
# For sums with heavy partners' reports: the greatest weight in grid steps, and in units of which reports are multiples.
_FINE_STEPS: Final = 2**36
_MOST_OF_REPORTS: Final = 2**20


class CentralSums:
    """The integers that a partner adds to the sums, and their noise.

    Attributes:
        step: one grid step, in units of weight.
        margins: for each weight (rows) and opinion "no" or "yes" (columns), a partner's part of a margin, in grid
            steps; of a support if weights are public. For a heavy partner it is what its report adds.
        is_heavy: which weights are above the noise weight, Boolean, shape (weights,).
        response: the randomized response of heavy partners' opinions.
        unit_of_reports: the number of steps of which all parts of heavy partners' reports are multiples.
        offsets: the expected excess of a partner of each weight, in units of weight; 0 except for heavy partners.
        totals: for each weight, a partner's part of the last number, in steps; empty if there is no such number.
        total_share: k·min(τ, 1 − τ), the ratio of the last number to the total weight.
        deviation: the greatest error of a part of a margin from rounded weights, in units of weight.
        response_deviation: the greatest expected error of a heavy partner's part, since reports add whole steps.
        mechanism: the noise on the sums, which protects all partners that are not heavy.
    """

    def __init__(self, parameters: "Parameters", *, most_scale: int = _MOST_SCALE) -> None:
        self._num_candidates = len(parameters.candidates)
        self._public = parameters.public_weights
        share = parameters.exact_fraction
        weights = [Fraction(str(weight)) for weight in parameters.weights]
        # With public weights the quota is known, so only supports are summed, on a coarser grid.
        share = Fraction(0) if self._public else share
        total_share = Fraction(0) if parameters.release == "decision" else min(share, 1 - share)
        exact_margins = [[weight * (opinion - share) for opinion in (0, 1)] for weight in weights]
        self.step = unit_of(number for pair in exact_margins for number in pair)
        most = min(_MOST_STEPS, math.floor(most_scale * min(parameters.epsilon, 1.0)))
        allowed = f"at least {_LEAST_STEPS / most_scale:g} in variant {parameters.variant!r}"
        require(most >= _LEAST_STEPS, "epsilon", parameters.epsilon, allowed)
        if weights[-1] / self.step > most:
            self.step = Fraction(power_of_two_above(float(weights[-1] / most)))
        noise_weight = math.inf if parameters.noise_weight is msgspec.UNSET else parameters.noise_weight
        self.is_heavy = np.array(parameters.weights) > noise_weight
        self.response = GeneralizedRandomizedResponse(parameters.epsilon, 2)
        self.unit_of_reports, self.offsets, self.response_deviation = 1, [Fraction(0)] * len(weights), Fraction(0)
        unit = self.step * Fraction(power_of_two_above(max(1.0, float(weights[-1] / self.step) / _MOST_OF_REPORTS)))
        keep = Fraction(self.response.keep_probability)
        if self.is_heavy.any():
            # A report adds a whole number of steps, the nearest to the exact number; so steps must be fine.
            finest = math.floor(min(_FINE_STEPS, most_scale * min(parameters.epsilon, 1.0)) * unit / weights[-1])
            ratio = (1 / (2 * keep - 1)).limit_denominator(max(finest, 1))
            times = math.floor(power_of_two_below(max(finest / ratio.denominator, 1.0)))
            self.step, self.unit_of_reports = unit / (ratio.denominator * times), ratio.numerator * times
        steps = [[math.floor(number / self.step + Fraction(1, 2)) for number in pair] for pair in exact_margins]
        means = [[num_steps * self.step for num_steps in pair] for pair in steps]
        for place in np.flatnonzero(self.is_heavy).tolist():
            num_units = round(weights[place] / unit)
            steps[place][1], means[place][1] = num_units * self.unit_of_reports, num_units * unit
            self.offsets[place] = steps[place][1] * (1 - keep) * self.step
            off = abs(steps[place][1] * (2 * keep - 1) * self.step - means[place][1])
            self.response_deviation = max(self.response_deviation, off)
        self.margins: IntArray = np.array(steps, dtype=np.int64)
        self.deviation = max(
            abs(number - mean)
            for pair, of_pair in zip(exact_margins, means, strict=True)
            for number, mean in zip(pair, of_pair, strict=True)
        )
        self.total_share = self._num_candidates * total_share
        parts = [
            self._num_candidates * math.floor(weight * total_share / self.step + Fraction(1, 2)) for weight in weights
        ]
        self.totals: IntArray = np.array(parts if self.total_share else [], dtype=np.int64)
        self.mechanism = VectorLaplace(
            scale=quotient_up(self.sensitivity, self._num_candidates * parameters.epsilon),
            sensitivity=self.sensitivity,
            bound=_BOUND,
        )

    @functools.cached_property
    def sensitivity(self) -> int:
        """The greatest l1 distance that one partner's weight and opinions make, in steps; opinions where public."""
        if self._public:
            return self._num_candidates * self.margin_sensitivity
        distances = self._num_candidates * self._margin_gaps
        if len(self.totals):
            distances += np.abs(self.totals[:, None] - self.totals)
        return int(distances.max())

    @property
    def margin_sensitivity(self) -> int:
        """The greatest distance that a partner makes in one margin, in steps; by a light one's opinion where public."""
        if not self._public:
            return int(self._margin_gaps.max())
        return int(np.ptp(self.margins[~self.is_heavy], axis=1).max(initial=1))

    @functools.cached_property
    def _margin_gaps(self) -> IntArray:
        """The greatest distance in one margin of two partners, by their weights, shape (weights, weights)."""
        ends = self.margins.T
        gaps: IntArray = np.max([np.abs(first[:, None] - second) for first in ends for second in ends], axis=0)
        return gaps

    def sensitivity_of(self, place: int) -> int:
        """Return this distance for the opinions of a partner of public weight, by its place in the set."""
        no, yes = self.margins[place].tolist()
        return self._num_candidates * (yes - no)

    def offset_of(self, numbers: Sequence[int]) -> Fraction:
        """Return what a sum has too much on average, in units of weight, of so many partners by public weight."""
        if not self._public:
            return Fraction(0)
        return sum(map(operator.mul, self.offsets, numbers), start=Fraction(0))

    def rows_of(self, places: IntArray, opinions: IntArray) -> IntArray:
        """Return the rows of partners of these weights and opinions: parts of the margins, then of the total."""
        votes = self.margins[places[:, None], opinions]
        totals = self.totals[places][:, None] if len(self.totals) else np.empty((len(places), 0), dtype=np.int64)
        return np.hstack([votes, totals])


def numbers_by_weight(public: IntArray, parameters: "Parameters") -> IntArray:
    """Return the number of partners with each weight of the set, shape (weights,); empty if weights are private.

    Args:
        public: the partners' public rows, shape (partners, columns), with the index of the weight in column 1.
    """
    if not parameters.public_weights:
        return np.empty(0, dtype=np.int64)
    return counts_of_rows(public[None, :, 1], len(parameters.weights))[0]


class CentralVotes(CentralPhase):
    """Partners send the server their weights and opinions; it adds them up and draws noise (the central model).

    The tally has each candidate's margin, in steps, then the number for the total weight, if there is one. If weights
    are public, it has each candidate's support, then the number of reporters with each weight of the set.
    """

    def __init__(
        self,
        parameters: "Parameters",
        sums: CentralSums,
        *,
        columns: range,
        law: str = NOISE_ON_SUMS,
        mechanism: RowMechanism | None = None,
    ) -> None:
        self.sums = sums
        self._parameters = parameters
        self._num_weights, self._num_candidates = len(parameters.weights), len(parameters.candidates)
        self._law = law
        server_mechanism = mechanism or sums.mechanism
        super().__init__(
            _PHASE,
            columns=columns,
            bound=max(self._num_weights - 1, 1),
            tally_mechanism=server_mechanism,
            losses=[self.loss_for(server_mechanism.event_of(self._num_candidates))],
        )

    def loss_for(self, event: PrivacyEvent, law: str = "") -> PrivacyLoss:
        """Return the loss of one partner by an event, with the law's name, by default that of the noise."""
        return PrivacyLoss(
            mechanism=law or self._law,
            event=event,
            unit="opinions" if self._parameters.public_weights else "weight and opinions",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.CENTRAL,
            claimed=PureAccountant.epsilon_of(event, NeighboringRelation.REPLACE_ONE),
        )

    def values_of(self, public: Sequence[int]) -> Values:
        opinions = (range(2),) * self._num_candidates
        return opinions if self.num_values == self._num_candidates else (range(self._num_weights), *opinions)

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse what is no weight of the set or no opinion: it would weigh more than a partner."""
        for value, allowed in zip(report, self.values_of(public), strict=True):
            if value not in allowed:
                raise ValueError("it is not the place of a weight and one opinion for each candidate, 0 or 1")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        sums = exact_column_sums(self._rows_of(reports, public))
        return Tally(len(reports), np.concatenate([sums, numbers_by_weight(public, self._parameters)]))

    def beyond_quota(self, totals: IntArray) -> IntArray:
        """Return each candidate's sum minus the least sum that passes, in steps.

        Args:
            totals: the totals of tallies without noise, int64, shape (sessions, numbers).

        Returns:
            int64, shape (sessions, candidates).
        """
        sums, numbers = np.split(totals, [self._num_candidates], axis=1)
        least: list[list[int]] = [[self._least_passing(counts)] for counts in numbers.tolist()]
        return sums - np.array(least, dtype=np.int64)

    def _least_passing(self, numbers: Sequence[int]) -> int:
        """Return the least sum that passes, in steps, where so many reporters have each public weight."""
        parameters = self._parameters
        quota = Fraction(str(parameters.quota or 0))
        if parameters.quota is None and parameters.public_weights:
            pairs = zip(parameters.weights, numbers, strict=True)
            quota = parameters.exact_fraction * sum(Fraction(str(weight)) * number for weight, number in pairs)
        steps = (quota + self.sums.offset_of(numbers)) / self.sums.step
        return math.ceil(steps) if parameters.passes == "at_least" else math.floor(steps) + 1

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        number, size, width = reports.shape
        rows = self._rows_of(reports.reshape(-1, width), np.tile(public, (number, 1)))
        numbers = np.tile(numbers_by_weight(public, self._parameters), (number, 1))
        return TallyBlock(size, np.hstack([rows.reshape(number, size, rows.shape[1]).sum(axis=1), numbers]))

    def _rows_of(self, reports: IntArray, public: IntArray) -> IntArray:
        """Return what reports add to the sums: of opinions alone where weights are public."""
        if self._parameters.public_weights:
            return self.sums.rows_of(public[:, 1], reports)
        return self.sums.rows_of(reports[:, 0], reports[:, 1:])


class PricedByWeight(Phase):
    """A phase with public weights, in which a partner's loss depends on its weight.

    Privacy:
        Participation and the numbers of partners by weight are public, without noise. Neighbors differ in one partner's
        opinions (replace-one). A partner of weight w pays ε·w/w_max for each candidate.
    """

    _parameters: "Parameters"

    @functools.cached_property
    def _loss_of_weight(self) -> list[PrivacyLoss]:
        """Of each weight of the set."""
        raise NotImplementedError

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return (self._loss_of_weight[public[1]],)

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        numbers: list[int] = numbers_by_weight(public, self._parameters).tolist()
        present = [place for place, number in enumerate(numbers) if number]
        if not present:
            return [("", 0, self.losses)]
        return [
            (
                f"of weight {self._parameters.weights[place]:g}" if len(present) > 1 else "",
                numbers[place],
                self.losses_of((place, place)),
            )
            for place in present
        ]

    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        return [np.flatnonzero(public[:, 1] == place) for place in np.unique(public[:, 1])]


class PublicWeightVotes(PricedByWeight, CentralVotes):
    """The phase of `central` with public weights: partners show their opinions alone."""

    def release_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        return self._loss_of_weight[public[1]].event

    @functools.cached_property
    def _loss_of_weight(self) -> list[PrivacyLoss]:
        scale = self.sums.mechanism.scale
        sensitivities = map(self.sums.sensitivity_of, range(self._num_weights))
        return [self.loss_for(PureMechanism(epsilon=quotient_up(distance, scale))) for distance in sensitivities]

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        supports, numbers = np.split(tally.totals, [self._num_candidates])
        noisy = super().randomize_tally(Tally(tally.num_reports, supports), draw).totals
        return Tally(tally.num_reports, np.concatenate([noisy, numbers]))

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        supports, numbers = np.split(tallies.totals, [self._num_candidates], axis=1)
        noisy = super().randomize_tallies(TallyBlock(tallies.num_reports, supports), draw).totals
        return TallyBlock(tallies.num_reports, np.concatenate([noisy, numbers], axis=1))


class CentralVariant(Variant):
    """The variant `central`: one phase, and all estimates from its noisy sums."""

    name: "ClassVar[VariantName]" = "central"
    model: ClassVar[TrustModel] = TrustModel.CENTRAL
    has_finite_reports: ClassVar[bool] = False
    has_one_price: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = False

    def __init__(self, parameters: "Parameters", *, most_scale: int = _MOST_SCALE) -> None:
        super().__init__(parameters)
        self.central_sums = CentralSums(parameters, most_scale=most_scale)
        self._share = parameters.exact_fraction
        self._fixed_quota = Fraction(str(parameters.quota or 0))
        greatest = _BOUND * self.central_sums.step
        require(self._fixed_quota <= greatest, "quota", parameters.quota, f"at most {float(greatest):g}")

    @property
    def worst_variance(self) -> float:
        """0: partners add no noise."""
        return 0.0

    @property
    def server_variance(self) -> float:
        return self.central_sums.mechanism.noise_variance * float(self.central_sums.step) ** 2

    def server_variance_of(self, numbers: Sequence[int]) -> float:
        """Return the variance of what the server adds to a margin of so many partners by public weight."""
        del numbers
        return self.server_variance

    @property
    def tells_support(self) -> bool:
        """Not where private weights are held against all of their total: that would cost."""
        return self._tells_total or self._parameters.quota is not None

    @property
    def _tells_total(self) -> bool:
        return self._parameters.public_weights or bool(self.central_sums.total_share)

    @property
    def adds_up_margins(self) -> bool:
        return not self._parameters.public_weights and self._parameters.quota is None

    def bias_bound(self, num_partners: int) -> float:
        return float(num_partners * self.central_sums.deviation)

    @functools.cached_property
    def _phase(self) -> CentralVotes:
        is_public = self._parameters.public_weights
        columns = range(len(self._parameters.candidates) + (not is_public))
        return (PublicWeightVotes if is_public else CentralVotes)(self._parameters, self.central_sums, columns=columns)

    def make_phases(self) -> Iterator[Phase]:
        yield self._phase

    def check_roster(self, num_partners: int) -> None:
        greatest = int(max(np.abs(self.central_sums.margins).max(), self.central_sums.totals.max(initial=0)))
        require(num_partners * greatest <= _BOUND, "partners", num_partners, f"at most {_BOUND // greatest}")

    def private_rows(self, holdings: Holdings) -> IntArray:
        return np.column_stack([holdings.places, holdings.opinions])

    def decode(self, inputs: Inputs) -> Holdings:
        if self._parameters.public_weights:
            return Holdings(inputs.public[:, 1], inputs.private)
        return Holdings(inputs.private[:, 0], inputs.private[:, 1:])

    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome | None:
        if not self._tells_total:
            return None
        (tally,) = tallies
        block = TallyBlock.from_tallies([tally])
        total, quota = (float(sums.to_floats(block.totals)[0]) for sums in self._exact_sums[:2])
        error = self._error_of_total(tally)
        return WeightsOutcome(
            quota=Estimate(quota, self._parameters.fraction * error),
            total_weight=Estimate(total, error),
            weight_counts=(),
        )

    def chances_to_pass(self, inputs: InputBlock) -> FloatArray | None:
        """Return the probability that each candidate is on the side of yes, shape (sessions, candidates).

        None if the law of the noise has too many cells.
        """
        number = len(inputs.private)
        holdings = self.decode(inputs.flatten(number))
        votes = self.central_sums.margins[holdings.places[:, None], holdings.opinions]
        numbers = counts_of_rows(holdings.places.reshape(number, -1), len(self._parameters.weights))
        totals = np.hstack([votes.reshape(number, -1, votes.shape[1]).sum(axis=1), numbers])
        margins, places = np.unique(self._phase.beyond_quota(totals), return_inverse=True)
        chances = np.array([self._chance_beyond(margin) for margin in margins.tolist()])
        return chances[places.reshape(-1)].reshape(number, -1)

    def _chance_beyond(self, margin: int) -> float:
        """Return the chance that a margin, which passes from 0 steps on, is on the side of yes with noise."""
        return exp(self.central_sums.mechanism.log_tail(-margin))

    def _error_of_total(self, tally: Tally) -> float:
        """Return the standard error of the total weight; 0 where it is not told, or known."""
        if self._parameters.public_weights or not self._tells_total:
            return 0.0
        return self.error_in_steps(tally.num_reports) * float(self._unit_of_total)

    @property
    def _unit_of_total(self) -> Fraction:
        return self.central_sums.step / self.central_sums.total_share

    @functools.cached_property
    def _exact_sums(self) -> tuple[ExactSums, ExactSums, list[ExactSums], list[ExactSums]]:
        """The exact forms of a tally: total weight (0 if unknown), quota, each candidate's support and margin."""
        numbers, is_public = range(len(self._parameters.candidates)), self._parameters.public_weights
        weight_units: list[Fraction] = [self._unit_of_total] if self._tells_total and not is_public else []
        if is_public:
            weight_units = [Fraction(str(weight)) for weight in self._parameters.weights]
        is_share = self._parameters.quota is None
        quota = [self._share * factor if is_share else Fraction(0) for factor in weight_units]
        fixed = Fraction(0) if is_share else self._fixed_quota
        # With private weights, margins already have the quota's share subtracted.
        margin_quota = quota if is_public and is_share else [Fraction(0) for _ in weight_units]

        def steps(number: int) -> list[Fraction]:
            return [self.central_sums.step if place == number else Fraction(0) for place in numbers]

        offsets = self.central_sums.offsets if is_public else [Fraction(0) for _ in weight_units]
        columns = list(zip(quota, margin_quota, offsets, strict=True))
        margins = [[*steps(number), *(-part - offset for _, part, offset in columns)] for number in numbers]
        supports = [
            [*steps(number), *(factor - part - offset for factor, part, offset in columns)] for number in numbers
        ]
        zeros = [Fraction(0)] * len(numbers)
        return (
            ExactSums([*zeros, *weight_units]),
            ExactSums([*zeros, *quota], fixed),
            [ExactSums(row, fixed - self._fixed_quota) for row in supports],
            [ExactSums(row, -self._fixed_quota) for row in margins],
        )

    def sums(self, number: int, tallies: Sequence[TallyBlock]) -> Sums:
        (tally,) = tallies
        _, quotas, supports, margins = self._exact_sums
        margin = margins[number].to_floats(tally.totals)
        if not self.tells_support:
            return Sums(None, None, margin, margin)
        return Sums(supports[number].to_floats(tally.totals), quotas.to_floats(tally.totals), margin, margin)

    def errors(self, number: int, tallies: Sequence[Tally]) -> Errors:
        (tally,) = tallies
        margin = self.error_in_steps(tally.num_reports) * float(self.central_sums.step)
        quota = self._parameters.fraction * self._error_of_total(tally) if self.tells_support else 0.0
        return Errors(math.hypot(margin, quota), quota, margin)

    def error_in_steps(self, num_partners: int) -> float:
        """Return the standard error of a sum of so many partners' votes, in steps."""
        del num_partners
        return math.sqrt(self.central_sums.mechanism.noise_variance)

    def reach_in_steps(self, num_partners: int, level: float, numbers: Sequence[int] = ()) -> int:
        """Return the least noise of a sum, in steps, that is reached with probability at most `level`.

        Args:
            num_partners: the number of partners.
            level: the probability.
            numbers: the number of partners with each public weight.
        """
        del num_partners, numbers
        return self.central_sums.mechanism.reach_of(level)

    def reach(self, numbers: Sequence[int]) -> float:
        count = sum(numbers)
        level, spent = self._levels
        reach = self.reach_in_steps(count, level, numbers) * float(self.central_sums.step) + self.bias_bound(count)
        return reach + 2 * self.share_rounded * self._total_within(count, spent) if spent else reach

    @functools.cached_property
    def _levels(self) -> tuple[float, float]:
        """Split the level between the noise of a margin and that of the total weight, if the margin's bound needs both.

        The bound is least if each part is proportional to the effect of a step of its noise.
        """
        level = self._parameters.level
        if not (self._parameters.rounding and self.adds_up_margins and self.central_sums.total_share):
            return level, 0.0
        part = self.share_rounded / float(self.central_sums.total_share)
        spent = level * part / (1 + part)
        return level - spent, spent

    def _total_within(self, num_partners: int, level: float) -> float:
        """Return a bound on the total weight less the noisy one, exceeded with probability `level` at most."""
        sums = self.central_sums
        steps = self.reach_in_steps(num_partners, level) + num_partners * len(self._parameters.candidates) / 2
        return steps * float(sums.step / sums.total_share)

    def verdicts(self, number: int, margins: FloatArray, tallies: Sequence[TallyBlock]) -> list[Verdict]:
        """Return verdicts on noisy sums, by the exact law of the noise: wrong with probability at most `level`.

        With rounded weights, margins must be farther from 0 by a share of the total weight, which has a noisy sum, too.
        """
        (tally,) = tallies
        size = len(self._parameters.candidates)
        of_margin, spent = self._levels
        total_rows: list[tuple[int, ...]] = [()] * len(tally)
        if spent or self._parameters.public_weights:
            total_rows = [(*row,) for row in tally.totals[:, size:].tolist()]
        thresholds = dict[tuple[int, ...], tuple[int, int]]()
        verdicts: list[Verdict] = []
        for steps, key, row in zip(tally.totals[:, number].tolist(), total_rows, tally.totals, strict=True):
            if key not in thresholds:
                most_failing, least_passing = self._thresholds(Tally(tally.num_reports, row), spent)
                reach = self.reach_in_steps(tally.num_reports, of_margin, key)
                thresholds[key] = least_passing - reach, most_failing + reach
            fails_up_to, passes_from = thresholds[key]
            fails = Verdict.FAILS if steps <= fails_up_to else Verdict.TOO_CLOSE
            verdicts.append(Verdict.PASSES if steps >= passes_from else fails)
        return verdicts

    def _thresholds(self, tally: Tally, spent: float) -> tuple[int, int]:
        """Return the greatest sum whose candidate may have to fail, and the least whose may have to pass."""
        step, num_partners = self.central_sums.step, tally.num_reports
        off = num_partners * self.central_sums.deviation
        if spent:
            (total,) = self._exact_sums[0].to_floats(tally.totals[None]).tolist()
            most = min(total + self._total_within(num_partners, spent), self.total_range([tally])[1])
            off += Fraction(self.share_rounded) * Fraction(max(most, 0.0))
        quota = self._fixed_quota
        if self._parameters.public_weights and self._parameters.quota is None:
            quota = self._share * self._public_total(tally)
        quota += self.central_sums.offset_of(tally.totals[len(self._parameters.candidates) :].tolist())
        failing, passing = (quota + off) / step, (quota - off) / step
        if self._parameters.passes == "at_least":
            return math.ceil(failing) - 1, math.ceil(passing)
        return math.floor(failing), math.floor(passing) + 1

    def _public_total(self, tally: Tally) -> Fraction:
        numbers: list[int] = tally.totals[len(self._parameters.candidates) :].tolist()
        pairs = zip(self._parameters.weights, numbers, strict=True)
        return sum((Fraction(str(weight)) * number for weight, number in pairs), start=Fraction(0))

    def total_range(self, tallies: Sequence[Tally]) -> tuple[float, float]:
        if not self._parameters.public_weights:
            return super().total_range(tallies)
        total = float(self._public_total(tallies[0]))
        return total, total

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        holdings = self.decode(Inputs(reports[0], public))
        votes = self.central_sums.margins[holdings.places[:, None], holdings.opinions]
        parts: FloatArray = votes.astype(np.float64) * float(self.central_sums.step)
        if self._parameters.public_weights:
            parts -= self._parameters.fraction * np.array(self._parameters.weights)[holdings.places][:, None]
        return parts

    def release_noise(self, uniforms: FloatArray) -> FloatArray | float:
        noise = self.central_sums.mechanism.randomize(np.zeros(len(uniforms), dtype=np.int64), uniforms)
        return noise.astype(np.float64) * float(self.central_sums.step)
