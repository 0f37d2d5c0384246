"""The two kinds of session, as types: a deployment cannot be built around simulated noise."""

import dataclasses
import importlib
import secrets
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from ..protocol.errors import refuse
from ..protocol.masking import Primitives
from ..protocol.messages import NO_DESCRIPTOR, SessionDescriptor
from ..protocol.phases import PhasedProtocol
from ..protocol.randomness import SimulatedNoise
from ..protocol.roster import Roster
from ..protocol.sides import SessionMode
from .noise import SecureNoise


@dataclasses.dataclass(frozen=True)
class Simulation(SessionMode):
    """A session whose every draw follows from a seed.

    Args:
        noise: addressed noise for that session.
        record_views: keep what each party sees, private inputs included.
        descriptor: what makes the session this one; without an id it has one that follows from seed, session and round.

    Raises:
        TypeError: the noise is of another type.
        ConfigurationError: it is another session's.

    Privacy:
        None: anybody who knows the seed can remove the noise.

    Examples:
        >>> from psephos.protocol import SimulatedNoise
        >>> Simulation("council", SimulatedNoise(1, session="council")).kind.value
        'simulation'
    """

    noise: SimulatedNoise
    record_views: bool = False

    def __post_init__(self) -> None:
        if type(self.noise) is not SimulatedNoise:
            raise TypeError(f"a simulation draws simulated noise, got {type(self.noise).__name__}")
        refuse(self.noise.session != self.session, "noise", self.noise.session, f"of session {self.session!r}")
        if not self.descriptor.id:
            descriptor = msgspec.structs.replace(self.descriptor, id=self.noise.session_id)
            object.__setattr__(self, "descriptor", descriptor)
        super().__post_init__()

    @property
    def primitives(self) -> Primitives:
        primitives: Primitives = _masking().SharedCryptography()
        return primitives


@dataclasses.dataclass(frozen=True)
class Deployment(SessionMode):
    """A session with real voters: secure noise, and no views.

    Args:
        descriptor: what makes the session this one; `draw_session_id` draws its id, which all sides have to know.
            Without one, nothing but the keys of a channel tells two sessions of one name apart.

    Raises:
        TypeError: the noise is of another type, whatever it says of itself.
    """

    noise: SecureNoise
    descriptor: SessionDescriptor = NO_DESCRIPTOR

    def __post_init__(self) -> None:
        # The annotation says so already; this is for callers that no type checker reads.
        if type(self.noise) is not SecureNoise:
            raise TypeError(f"a deployment draws secure noise, got {type(self.noise).__name__}")
        super().__post_init__()

    @property
    def record_views(self) -> bool:
        """Never."""
        return False

    @property
    def primitives(self) -> Primitives:
        primitives: Primitives = _masking().Cryptography()
        return primitives


def _masking() -> Any:
    """Return `masking`, imported late: cryptography is heavy, and only masked sessions need it."""
    return importlib.import_module("psephos.agents.masking")


def draw_session_id() -> str:
    """Return 128 random bits in hexadecimal.

    Examples:
        >>> len(draw_session_id())
        32
    """
    return secrets.token_hex(16)


ModeT = TypeVar("ModeT", bound=SessionMode)


def with_keys(
    protocol: PhasedProtocol[Any, Any], roster: Roster, mode: ModeT
) -> tuple[Roster, ModeT, Sequence[Callable[[bytes], bytes]]]:
    """Return the mode for a session whose parties are all in this process: a masked one gets new keys for all.

    Returns:
        The roster, the mode with its digest, and what signs for each party; the first two as they are, and nothing,
        where no phase is masked.
    """
    if protocol.masked_phase is None:
        return roster, mode, ()
    signers, keys = _masking().draw_signature_keys(mode.noise, protocol=protocol.name, number=len(roster))
    roster = Roster(roster.names, roster.public, fingerprints=roster.fingerprints, keys=keys)
    descriptor = msgspec.structs.replace(mode.descriptor, roster=roster.digest)
    return roster, dataclasses.replace(mode, descriptor=descriptor), signers


Mode: TypeAlias = Simulation | Deployment
