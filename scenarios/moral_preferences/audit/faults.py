"""Faults planted into the release of a trusted server: half of the noise, and a voter in all societies."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from ....agents.noise import SecureNoise
from ....protocol.arrays import FloatArray, IntArray
from ....protocol.kept import KeptReports
from ....protocol.mechanisms import RowMechanism, VectorLaplace
from ....protocol.moral_preferences import (
    DisclosedPhase,
    MoralPreferences,
    Paradigm,
    Parameters,
    PerturbedPhase,
    SocietiesPhase,
)
from ....protocol.phases import Inputs, PhasedProtocol
from ....protocol.population import run_population
from ....protocol.randomness import NoiseSource, SimulatedNoise
from ....protocol.tally import Tally
from ...audit.fault import Fault
from ...audit.machines import HeldSession, one_source, roster_of
from ...audit.planting import Sessions, planted
from ...audit.whole_sessions import charge
from .sessions import read_sums

__all__ = ["planted_faults"]

_SAMPLES = 4_000
_SOCIETIES = ("north", "east", "south")


def planted_faults() -> Iterator[Fault]:
    """Yield a trusted server's secure noise, halved, and a voter that counts in all societies."""
    yield _counted_twice()
    protocol = MoralPreferences(
        Parameters(features=("x",), paradigm=Paradigm.VLCP, mechanism="laplace", epsilon=1.0, max_records=1)
    )
    bound = protocol.summary.bound
    # A voter that is as far to one side as it may be, or to the other; and one in the middle.
    first, second = (roster_of(protocol, [[place], [0]], [(), ()]) for place in (-bound, bound))
    right = Sessions((first, second), charge(protocol, [0], (), num_sessions=1), functools.partial(_released, protocol))
    yield planted(
        protocol,
        "server's secure noise halved",
        "The trusted server draws its secure noise by half the scale; simulations draw it rightly.",
        dataclasses.replace(right, make_noise=one_source(_HalvedNoise)),
        ("server's secure noise", right),
        source="secure",
        samples=_SAMPLES,
    )


class _CountedTwice(SocietiesPhase):
    """Societies of which the first one's voters count in all others as well; the law is not written down."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Add the first society's sums to all others'."""
        tally = super().tally(reports, earlier=earlier, public=public)
        totals = tally.totals.copy()
        totals[1:] += totals[0]
        return Tally(tally.num_reports, totals)

    def log_laws(self, tallies: Sequence[Tally]) -> FloatArray:
        """Raise NotImplementedError, or the fault would be found before a session begins."""
        del tallies
        raise NotImplementedError


class _FaultySocieties(MoralPreferences):
    """A session of such societies."""

    def make_phase(self) -> PerturbedPhase | DisclosedPhase:
        """Return the phase with the fault."""
        return _CountedTwice(self.parameters, self.summary)


def _counted_twice() -> Fault:
    protocol = MoralPreferences(
        Parameters(
            features=("x",),
            paradigm=Paradigm.VLCP,
            mechanism="laplace",
            epsilon=1.0,
            max_records=1,
            societies=_SOCIETIES,
        )
    )
    bound = protocol.summary.bound
    publics = [[place] for place in range(len(_SOCIETIES))]
    first, second = (roster_of(protocol, [[place], [0], [0]], publics) for place in (-bound, bound))
    rosters, entries = (first, second), charge(protocol, [0], [0], num_sessions=1)
    faulty, right = (
        Sessions(rosters, entries, functools.partial(_released, protocol), hold=functools.partial(_by_arrays, held))
        for held in (_FaultySocieties(protocol.parameters), protocol)
    )
    return planted(
        protocol,
        "voter counted in all societies",
        "The trusted server adds what a voter says to each society's sum; its ledger has one release.",
        faulty,
        ("voter counted in its own society", right),
        source="simulated",
        samples=_SAMPLES,
    )


def _by_arrays(
    held: MoralPreferences,
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    session: str,
    noise: NoiseSource,
    kept: KeptReports | None = None,
) -> HeldSession:
    """Hold a session of another protocol than is said, by arrays. See `Holder`."""
    del protocol, session, kept
    assert isinstance(noise, SimulatedNoise)  # noqa: S101  what the fault's source is
    return HeldSession([], run_population(held, inputs, noise=noise).outcome)


class _HalvedNoise(SecureNoise):
    """Secure noise that draws Laplace noise by half the scale."""

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return values with noise of half the stated scale, where it is Laplace noise."""
        if isinstance(mechanism, VectorLaplace):
            mechanism = dataclasses.replace(mechanism, scale=mechanism.scale / 2)
        return super().randomize(mechanism, values, protocol=protocol, phase=phase, place=place)


def _released(protocol: MoralPreferences, held: HeldSession) -> Sequence[Sequence[int]]:
    return [read_sums(protocol, held.outcome)]
