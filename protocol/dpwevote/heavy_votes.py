"""The variant `central` with heavy partners, whose opinions pass through randomized response: see `heavy`."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ..arrays import FloatArray, IntArray, counts_of_rows
from ..elementary import square
from ..mechanisms import ResponseSum, VectorLaplace
from ..phases import Draw, DrawBlock, InputBlock
from ..privacy import PrivacyLoss
from ..tally import Tally, TallyBlock
from .central import NOISE_ON_SUMS, CentralSums, CentralVariant, PublicWeightVotes
from .heavy import reach_of_sum
from .variant import Errors

if TYPE_CHECKING:
    from .parameters import Parameters

_LAW: Final = "randomized response in a sum"


class HeavyVotes(PublicWeightVotes):
    """Partners send the server their opinions; it randomizes the heavy ones', and adds noise to the others' sum.

    The exact tally has each candidate's support by light partners, in steps; then for each candidate the number of
    partners of each heavy weight who say yes; then the number of reporters with each weight. The release has each
    candidate's support by all, with heavy partners' randomized opinions, and the numbers by weight.

    Privacy:
        As `PricedByWeight` for light partners. A heavy partner pays ε for each candidate, by its randomized response.
    """

    def __init__(self, parameters: "Parameters", sums: CentralSums, *, columns: range) -> None:
        self._heavy_places = np.flatnonzero(sums.is_heavy)
        noise = None if sums.is_heavy.all() else sums.mechanism
        self.of_nobody = ResponseSum(noise, sums.response, gains=(), numbers=(), width=len(parameters.candidates))
        super().__init__(
            parameters, sums, columns=columns, law=_LAW if noise is None else NOISE_ON_SUMS, mechanism=self.of_nobody
        )

    @functools.cached_property
    def _loss_of_weight(self) -> list[PrivacyLoss]:
        of_heavy = self.loss_for(self.sums.response.event_of(self._num_candidates), _LAW)
        losses = super()._loss_of_weight
        return [of_heavy if heavy else loss for heavy, loss in zip(self.sums.is_heavy.tolist(), losses, strict=True)]

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return self.tally_block(reports[None], earlier=earlier, public=public).tally(0)

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        is_heavy = self.sums.is_heavy[public[:, 1]]
        light = super().tally_block(reports[:, ~is_heavy], earlier=earlier, public=public[~is_heavy]).totals
        supports, by_weight = np.split(light, [self._num_candidates], axis=1)
        size = len(self._heavy_places)
        kinds = np.searchsorted(self._heavy_places, public[is_heavy, 1])
        codes = np.where(reports[:, is_heavy] == 1, kinds[:, None], size)  # "no" counts for no kind
        codes = codes.swapaxes(1, 2).reshape(len(reports) * self._num_candidates, len(kinds))
        num_yes = counts_of_rows(codes, size + 1)[:, :size].reshape(len(reports), -1)
        by_weight[:, self._heavy_places] += np.bincount(kinds, minlength=size)
        return TallyBlock(reports.shape[1], np.hstack([supports, num_yes, by_weight]))

    def sums_of(self, totals: IntArray) -> tuple[ResponseSum, IntArray]:
        """Return the mechanism for exact tallies of the same partners, and the rows that it randomizes.

        Args:
            totals: the totals of the tallies, int64, shape (sessions, numbers).

        Returns:
            The mechanism and the rows, without kinds of heavy partners that do not occur.
        """
        supports, num_yes, by_weight = np.split(totals, [self._num_candidates, -self._num_weights], axis=1)
        numbers = by_weight[0, self._heavy_places]
        is_there = numbers > 0
        num_yes = num_yes.reshape(len(totals), self._num_candidates, -1)[:, :, is_there]
        gains: list[int] = self.sums.margins[self._heavy_places[is_there], 1].tolist()
        mechanism = dataclasses.replace(self.of_nobody, gains=tuple(gains), numbers=tuple(numbers[is_there].tolist()))
        return mechanism, np.hstack([supports, num_yes.reshape(len(totals), -1)])

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        mechanism, (row,) = self.sums_of(tally.totals[None])
        noisy = np.array(draw(mechanism, row.tolist()), dtype=np.int64)
        return Tally(tally.num_reports, np.concatenate([noisy, tally.totals[-self._num_weights :]]))

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        noisy = draw(*self.sums_of(tallies.totals))
        return TallyBlock(tallies.num_reports, np.hstack([noisy, tallies.totals[:, -self._num_weights :]]))


class HeavyVariant(CentralVariant):
    """The variant `central` with a noise weight.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> given = {"weights": (1.0, 10.0), "public_weights": True, "variant": "central", "epsilon": 2.0}
        >>> vote = DPWeVote(Parameters(candidates=("merger",), **given, noise_weight=1.0))
        >>> [vote.losses_of((place, place))[0].proven for place in (0, 1)]
        [2.0, 2.0]
    """

    @functools.cached_property
    def _phase(self) -> HeavyVotes:
        return HeavyVotes(self._parameters, self.central_sums, columns=range(len(self._parameters.candidates)))

    @property
    def _noise(self) -> VectorLaplace | None:
        return self._phase.of_nobody.noise

    @property
    def server_variance(self) -> float:
        """That of the noise, which is for light partners."""
        return 0.0 if self._noise is None else super().server_variance

    def server_variance_of(self, numbers: Sequence[int]) -> float:
        return self.server_variance + self._response_variance(numbers) * square(float(self.central_sums.step))

    def _response_variance(self, numbers: Sequence[int]) -> float:
        """Return the variance of heavy partners' reports in a sum, in squared steps, by how many have each weight."""
        sums = self.central_sums
        keep, gains = sums.response.keep_probability, (sums.margins[:, 1] * sums.is_heavy).astype(np.float64)
        return keep * (1 - keep) * math.fsum((gains * gains * np.array(numbers)).tolist())

    def errors(self, number: int, tallies: Sequence[Tally]) -> Errors:
        (tally,) = tallies
        numbers: list[int] = tally.totals[len(self._parameters.candidates) :].tolist()
        error = math.sqrt(self.server_variance_of(numbers))
        return Errors(error, 0.0, error)

    def reach_in_steps(self, num_partners: int, level: float, numbers: Sequence[int] = ()) -> int:
        sums = self.central_sums
        gains: list[int] = sums.margins[sums.is_heavy, 1].tolist()
        heavy_numbers: list[int] = np.array(numbers, dtype=np.int64)[sums.is_heavy].tolist()
        keep = sums.response.keep_probability
        reach = reach_of_sum(tuple(gains), tuple(heavy_numbers), self._noise, keep=keep, level=level)
        # With heavy partners' reports, the mean of a sum is no multiple of a step, and off by their deviation.
        return reach + 1 + math.ceil(num_partners * sums.response_deviation / sums.step)

    def chances_to_pass(self, inputs: InputBlock) -> FloatArray | None:
        phase, size = self._phase, len(self._parameters.candidates)
        totals = phase.tally_block(inputs.private[:, :, phase.columns], earlier=[], public=inputs.public).totals
        by_weight = totals[:1, -len(self._parameters.weights) :]
        # With support 0: minus the least sum that passes, which is the same for all candidates.
        missing = int(phase.beyond_quota(np.hstack([np.zeros((1, size), dtype=np.int64), by_weight]))[0, 0])
        mechanism, rows = phase.sums_of(totals)
        rows, places = np.unique(rows, axis=0, return_inverse=True)
        try:
            chances = [mechanism.chances_to_reach(row, -missing) for row in rows.tolist()]
        except NotImplementedError:
            return None
        return np.array(chances)[places.reshape(-1)]

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        weights = np.array(self._parameters.weights, dtype=np.float64)[public[:, 1]]
        parts: FloatArray = weights[:, None] * (reports[0].astype(np.float64) - self._parameters.fraction)
        return parts

    def response_noise(self, opinion: int, uniforms: FloatArray, public: IntArray) -> FloatArray | float:
        sums = self.central_sums
        values = np.full(len(public), opinion, dtype=np.int64)
        gains = (sums.margins[:, 1] * sums.is_heavy)[public[:, 1]]
        reported = (sums.response.randomize(values, uniforms) * gains).astype(np.float64) * float(sums.step)
        offsets = np.array([float(offset) for offset in sums.offsets])[public[:, 1]]
        weights = (np.array(self._parameters.weights) * sums.is_heavy)[public[:, 1]]
        noise: FloatArray = reported - offsets - weights * opinion
        return noise

    def release_noise(self, uniforms: FloatArray) -> FloatArray | float:
        return 0.0 if self._noise is None else super().release_noise(uniforms)
