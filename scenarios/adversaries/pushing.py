"""What some parties of a context can do to an estimate by their reports: measured, and bounded.

Shifts are taken between two sessions of one seed, in which everybody else reports the same.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from ...agents.adversaries import Changer, Deviation, Poisoner
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.masking import Masked, MaskingMove
from ...protocol.phases.phase import Codec
from ...protocol.population import draw_reports
from ..attacks.poisoning import Poisoning, StrategyName, find_poisoning, outcome_of, reports_of
from .role import AttackContext, Role, masked_step

_HONEST_VOTES: Final = 50  # honest votes from which the error of one is estimated: to 10 % of itself


class PushingRole(Role, frozen=True, kw_only=True):
    """Parties that push an estimate one way."""

    # What they push: a candidate, an alternative, a label (or "TASK=LABEL"), a feature, or of any other protocol the
    # name of an estimate; the first by default.
    aim: str = ""
    direction: Literal["up", "down"] = "up"  # whether they push it up or down

    def pushed(self, context: AttackContext) -> "Pushed":
        """Return what the members can do to the estimate; ConfigurationError as `find_poisoning`."""
        poisoning = find_poisoning(context.protocol, self.aim, sign=1 if self.direction == "up" else -1)
        return Pushed(context, poisoning, np.array(context.coalition(self.members).members, dtype=np.int64))

    def deviations_by(self, context: AttackContext, strategy: StrategyName) -> Mapping[str, Deviation]:
        """Return for each member the reports that it puts in the place of those that it drew."""
        pushed = self.pushed(context)
        return poisoners(context, pushed.places, pushed.reports(pushed.places, strategy))


def poisoners(context: AttackContext, places: IntArray, reports: Sequence[IntArray]) -> Mapping[str, Deviation]:
    """Return what puts for each of some parties these reports, everybody's by phase, in place of those it drew."""
    own: list[int] = places.tolist()
    if (phase := context.protocol.masked_phase) is not None:
        drawn = draw_reports(phase, context.inputs, noise=context.noise(), protocol=context.protocol.name, start=0)
        number = masked_step(context, MaskingMove.MASKED)
        shifted = functools.partial(_shifted, context.protocol.steps[number].codec)
        added = reports[0] - drawn
        return {context.names[place]: Changer(number, functools.partial(shifted, added[place])) for place in own}
    return {
        context.names[place]: Poisoner({number: of_phase[place].tolist() for number, of_phase in enumerate(reports)})
        for place in own
    }


def _shifted(codec: Codec, added: IntArray, told: msgspec.Raw) -> msgspec.Raw:
    """Return a masked row to which numbers were added, modulo 2⁶⁴: for that nobody needs its masks."""
    row = np.array(codec.decode(told).residues, dtype=np.int64) + added
    return codec.encode(Masked(tuple(row.tolist())))


@dataclasses.dataclass(frozen=True, eq=False)
class Pushed:
    """What the parties at some places of a context can do to an estimate."""

    context: AttackContext
    poisoning: Poisoning
    places: IntArray

    @functools.cached_property
    def honest_error(self) -> float:
        """The standard deviation of the estimate over honest votes of the same parties, each with fresh noise."""
        if all(phase.model.bounds_release for phase in self.context.protocol.phases):
            return self.poisoning.error_of_release(self.outcome(self.honest_reports()))
        estimates = [self.estimate(self.honest_reports(rerun=rerun)) for rerun in range(1, _HONEST_VOTES + 1)]
        return float(np.std(estimates, ddof=1))

    def honest_reports(self, *, rerun: int = 0) -> list[IntArray]:
        """Return everybody's reports of the session, or of a later vote, in which nobody poisons."""
        return reports_of(self.poisoning, self.context.inputs, noise=self.context.noise(rerun=rerun))

    def reports(self, places: IntArray, strategy: StrategyName, *, rerun: int = 0) -> list[IntArray]:
        """Return everybody's reports of the session, or a later vote, in which these poison. See `reports_of`."""
        noise = self.context.noise(rerun=rerun)
        return reports_of(self.poisoning, self.context.inputs, noise=noise, poisoners=places, strategy=strategy)

    def outcome(self, reports: Sequence[IntArray]) -> msgspec.Struct:
        """Return what the session releases to which these reports come."""
        return outcome_of(self.context.protocol, reports, self.context.inputs.public, noise=self.context.noise())

    def estimate(self, reports: Sequence[IntArray]) -> float:
        """Return what is pushed, as these reports have it; a fixed quota, which nobody moves, is left out."""
        inputs = self.context.inputs
        told = self.poisoning.contributions(reports, inputs.public, num_parties=len(inputs))
        return math.fsum(told.tolist())

    def bound(self, places: IntArray) -> float:
        """Return the most by which parties move the estimate, whatever they report."""
        return math.fsum(self.spreads[places].tolist())

    def truthful_range(self, places: IntArray) -> float:
        """Return the most by which parties move its expectation by their values."""
        public: list[list[int]] = self.context.inputs.public[places].tolist()
        return math.fsum(self.poisoning.truthful_range(row, num_parties=len(self.context.names)) for row in public)

    @functools.cached_property
    def spreads(self) -> FloatArray:
        """For each party the greatest contribution less the least, shape (n,)."""

        @functools.cache
        def spread(public: tuple[int, ...]) -> float:
            if not self.poisoning.is_concerned(public):
                return 0.0
            least, greatest = self.poisoning.extremes(public, num_parties=len(self.context.names))
            return greatest - least

        public: list[list[int]] = self.context.inputs.public.tolist()
        return np.array([spread(tuple(row)) for row in public])

    def order(self) -> IntArray:
        """Return all parties in the order in which they would poison: the members, then others by lot."""
        public: list[list[int]] = self.context.inputs.public.tolist()
        members: list[int] = self.places.tolist()
        others = [place for place in others_by_lot(self.context, members) if self.poisoning.is_concerned(public[place])]
        return np.array([*members, *others], dtype=np.int64)


def others_by_lot(context: AttackContext, members: Sequence[int]) -> list[int]:
    """Return the places of everybody but the members, by lot: the order in which further parties poison."""
    uniforms = context.noise().uniforms(
        protocol="adversary", phase="further poisoners", start=0, stop=len(context.names), slots=1
    )
    drawn: list[int] = np.argsort(uniforms[:, 0], kind="stable").tolist()
    return [place for place in drawn if place not in members]
