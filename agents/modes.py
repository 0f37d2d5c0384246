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
    """A session all of whose draws follow from a seed.

    Args:
        session: the name of the session.
        noise: addressed noise for this session.
        record_views: whether to record what each party sees, private inputs included.
        descriptor: the identity of the session; by default with an id that follows from seed, session and round.

    Raises:
        TypeError: the noise is of another type.
        ConfigurationError: the noise is for another session.

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
            raise TypeError(f"noise is a {type(self.noise).__name__}: give a simulation SimulatedNoise")
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
        session: the name of the session.
        noise: secure noise.
        descriptor: the identity of the session, with an id from `draw_session_id` that all sides must know. Without
            one, only the keys of channels distinguish two sessions of the same name.

    Raises:
        TypeError: the noise is of another type.
    """

    noise: SecureNoise
    descriptor: SessionDescriptor = NO_DESCRIPTOR

    def __post_init__(self) -> None:
        # The annotation requires this already; the check is for callers without a type checker.
        if type(self.noise) is not SecureNoise:
            raise TypeError(f"noise is a {type(self.noise).__name__}: give a deployment SecureNoise")
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
    """Return the mode for a session whose parties are all in this process, with new signature keys for a masked one.

    Returns:
        The roster with keys, the mode with its digest, and a signing function for each party. Without a masked phase,
        roster and mode are unchanged, and there are no functions.
    """
    if protocol.masked_phase is None:
        return roster, mode, ()
    signers, keys = _masking().draw_signature_keys(mode.noise, protocol=protocol.name, number=len(roster))
    roster = Roster(roster.names, roster.public, fingerprints=roster.fingerprints, keys=keys)
    descriptor = msgspec.structs.replace(mode.descriptor, roster=roster.digest)
    return roster, dataclasses.replace(mode, descriptor=descriptor), signers


Mode: TypeAlias = Simulation | Deployment
