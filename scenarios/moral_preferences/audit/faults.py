"""A fault planted into the release of a trusted server: half of the noise that its ledger lines are of."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

from ....agents.noise import SecureNoise
from ....protocol.mechanisms import RowMechanism, VectorLaplace
from ....protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from ...audit.exposures import charge
from ...audit.fault import Fault
from ...audit.machines import HeldSession, one_source, roster_of
from ...audit.planting import Sessions, planted
from .sessions import read_sums

__all__ = ["planted_faults"]

_SAMPLES = 4_000


def planted_faults() -> Iterator[Fault]:
    """Yield a trusted server's secure noise, halved."""
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
