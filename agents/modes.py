"""The two kinds of session, as types: a deployment cannot be built around simulated noise."""

import dataclasses
import importlib
import secrets
from typing import TypeAlias

import msgspec

from ..protocol.errors import ConfigurationError
from ..protocol.masking import Primitives
from ..protocol.messages import NO_CHARTER, Charter
from ..protocol.randomness import SimulatedNoise
from ..protocol.sides import SessionMode
from .noise import SecureNoise

__all__ = ["Deployment", "Mode", "Simulation", "draw_session_id"]


@dataclasses.dataclass(frozen=True)
class Simulation(SessionMode):
    """A session whose every draw follows from a seed.

    Args:
        session: the session's name.
        noise: addressed noise for that session.
        record_views: keep what each party sees, private inputs included.
        charter: what makes the session this one; without an id it has one that follows from seed, session and round.

    Raises:
        TypeError: the noise is of another type.
        ConfigurationError: it is another session's.

    Privacy:
        None: anybody who knows the seed can remove the noise.
    """

    noise: SimulatedNoise
    record_views: bool = False

    def __post_init__(self) -> None:
        if type(self.noise) is not SimulatedNoise:
            raise TypeError(f"a simulation draws simulated noise, got {type(self.noise).__name__}")
        if self.noise.session != self.session:  # two votes would share their noise
            raise ConfigurationError(field="noise", value=self.noise.session, allowed=f"of session {self.session!r}")
        if not self.charter.id:
            own = msgspec.structs.replace(self.charter, id=self.noise.session_id)
            object.__setattr__(self, "charter", own)
        super().__post_init__()

    @property
    def primitives(self) -> Primitives:
        """See `SessionMode.primitives`."""
        return _cryptography()


@dataclasses.dataclass(frozen=True)
class Deployment(SessionMode):
    """A session with real voters: secure noise, and no views.

    Args:
        session: the session's name.
        noise: secure noise.
        charter: what makes the session this one; `draw_session_id` draws its id, which all sides have to know. Without
            one, nothing but the keys of a channel tells two sessions of one name apart.

    Raises:
        TypeError: the noise is of another type, whatever it says of itself.
    """

    noise: SecureNoise
    charter: Charter = NO_CHARTER

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
        """See `SessionMode.primitives`."""
        return _cryptography()


def _cryptography() -> Primitives:
    """Return primitives; imported late, since only masked sessions need them."""
    primitives: Primitives = importlib.import_module("psephos.agents.masking").Cryptography()
    return primitives


def draw_session_id() -> str:
    """Return 128 random bits in hexadecimal."""
    return secrets.token_hex(16)


Mode: TypeAlias = Simulation | Deployment
