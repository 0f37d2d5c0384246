"""The variant `masked`: no party is trusted, and the server learns the noisy sums of `central` from masked rows.

A partner's row has its parts of the sums of `central`, in grid steps: w(x − τ) for each candidate, then k·min(τ, 1 −
τ)·w; with public weights, only w·x for each candidate. So the ℓ₁ sensitivity is that of `central`. The noise is
designed for T − c shares; with n shares in the sum, its variance is n/(T − c) times as large. The exact law of the sum
of n shares is known, so verdicts are exact as well.

Source: `central`; Goryczka and Xiong (2017) for the shares (`mechanisms.polya`).
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray
from ..guard import Values
from ..mechanisms.polya import share_reach
from ..phases import Inputs, MaskedSums, Phase, sizes_of
from ..privacy import PrivacyLoss, TrustModel
from ..tally import Tally
from .central import CentralSums, CentralVariant, PricedByWeight, numbers_by_weight
from .variant import Holdings, Offer, Variant

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

_PHASE: Final = "votes"
_MOST_SCALE: Final = 2**13
"""The greatest scale of noise, in grid steps, for which the law of sums is computed."""


def _unit(parameters: "Parameters") -> str:
    if not parameters.public_weights:
        return "weight and opinions"
    return "opinion" if len(parameters.candidates) == 1 else "opinions"


class MaskedVotes(MaskedSums):
    """The masked sum of the partners' votes. The tally is that of `CentralVotes`.

    Attributes:
        sums: what each partner adds.
    """

    def __init__(self, parameters: "Parameters", sums: CentralSums) -> None:
        self.sums, self._parameters = sums, parameters
        self._num_candidates = len(parameters.candidates)
        numbers = [*([sums.margins] * self._num_candidates), *([sums.totals] if len(sums.totals) else [])]
        threshold, colluders = sizes_of(parameters)
        super().__init__(
            _PHASE,
            ranges=[(int(column.min()), int(column.max())) for column in numbers],
            first=self._num_candidates + (not parameters.public_weights),
            sensitivity=sums.sensitivity,
            epsilon=self._num_candidates * parameters.epsilon,
            threshold=threshold,
            colluders=colluders,
            unit=_unit(parameters),
        )

    def rows_of(self, public: Sequence[int]) -> IntArray:
        """Return the rows of "no" to all candidates and of "yes" to all, for each weight: none are farther apart."""
        places = np.repeat(self._places(public), 2)
        opinions = np.tile(np.array([[0], [1]], dtype=np.int64), (len(places) // 2, self._num_candidates))
        return self.sums.rows_of(places, opinions)

    def values_of(self, public: Sequence[int]) -> Values:
        """Return the values of each number for the person's weight, or for any weight."""
        rows = self.rows_of(public)
        return [np.unique(column).tolist() for column in rows.T]

    def _places(self, public: Sequence[int]) -> IntArray:
        """Return the weights that a person with this public row may have, by their places."""
        return np.array([public[1]] if public else range(len(self._parameters.weights)), dtype=np.int64)


class PublicMaskedVotes(PricedByWeight, MaskedVotes):
    """The masked phase with public weights: a partner of less weight moves the sums less, and pays less."""

    def sensitivity_of(self, public: Sequence[int]) -> int:
        return self.sums.sensitivity_of(public[1]) if public else self.share.sensitivity

    @functools.cached_property
    def _loss_of_weight(self) -> list[PrivacyLoss]:
        (loss,), scale = self.losses, self.share.scale
        return [
            msgspec.structs.replace(loss, event=self.event_within(distance), claimed=distance / scale, proven=math.nan)
            for distance in map(self.sums.sensitivity_of, range(len(self._parameters.weights)))
        ]

    def tally_of_sum(self, total: IntArray, public: IntArray) -> Tally:
        return Tally(len(public), np.concatenate([total, numbers_by_weight(public, self._parameters)]))


class MaskedVariant(CentralVariant):
    """The variant `masked`: the phase of `central` with the server's noise made of the partners' shares."""

    name: "ClassVar[VariantName]" = "masked"
    model: ClassVar[TrustModel] = TrustModel.DISTRIBUTED

    def __init__(self, parameters: "Parameters") -> None:
        super().__init__(parameters, most_scale=_MOST_SCALE)
        kind = PublicMaskedVotes if parameters.public_weights else MaskedVotes
        self.phase = kind(parameters, self.central_sums)
        self.share = self.phase.share

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return the alternative of this variant at T and c of the parameters."""
        return cls(parameters).offer

    @property
    def worst_variance(self) -> float:
        return self.share.noise_variance * float(self.central_sums.step) ** 2

    @property
    def server_variance(self) -> float:
        """0: the server adds no noise."""
        return 0.0

    def make_phases(self) -> Iterator[Phase]:
        yield self.phase

    def check_roster(self, num_partners: int) -> None:
        self.phase.check_parties(num_partners)
        for level in filter(None, self._levels):
            self.reach_in_steps(num_partners, level)

    def encode(self, holdings: Holdings) -> Inputs:
        """Return rows that hold weight and opinions, and beside them what is added up: that alone is reported."""
        encoded = super().encode(holdings)
        margin_rows = self.central_sums.rows_of(holdings.places, holdings.opinions)
        return Inputs(np.hstack([encoded.private, margin_rows]), encoded.public)

    def decode(self, inputs: Inputs) -> Holdings:
        number = len(self._parameters.candidates) + (not self._parameters.public_weights)
        return super().decode(Inputs(inputs.private[:, :number], inputs.public))

    def check_rows(self, inputs: Inputs) -> None:
        holdings = self.decode(inputs)
        are_held = (
            np.isin(holdings.places, range(len(self._parameters.weights))).all()
            and np.isin(holdings.opinions, (0, 1)).all()
        )
        if not are_held or not np.array_equal(self.encode(holdings).private, inputs.private):
            raise ValueError("a row adds up what its weight and opinions do not say")

    def error_in_steps(self, num_partners: int) -> float:
        return math.sqrt(num_partners * self.share.noise_variance)

    def reach_in_steps(self, num_partners: int, level: float, numbers: Sequence[int] = ()) -> int:
        del numbers
        return share_reach(scale=self.share.scale, planned=self.share.planned, num_shares=num_partners, level=level)

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        """Return the contribution of each partner's row and noise share to each candidate's margin."""
        parameters = self._parameters
        margins = reports[0][:, : len(parameters.candidates)].astype(np.float64)
        contributions: FloatArray = margins * float(self.central_sums.step)
        if parameters.public_weights:
            contributions -= parameters.fraction * np.array(parameters.weights)[public[:, 1]][:, None]
        return contributions

    def release_noise(self, uniforms: FloatArray) -> FloatArray | float:
        return Variant.release_noise(self, uniforms)
