"""The inputs of a session's sides: the session's mode, which both sides have, and a party's own data.

They are passed on whole, from an agent to its machine and on to the machine's parts.
"""

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from .masking import Primitives
from .memoized_reports import KeptReport
from .messages import NO_DESCRIPTOR, SessionDescriptor
from .privacy import Ledger
from .randomness import NoiseSource
from .roles import SessionKind, check_party_name


@dataclasses.dataclass(frozen=True)
class SessionMode:
    """Which session it is, and where one side's randomness comes from; of agents a `Simulation` or a `Deployment`.

    Args:
        noise: of a client for its reports, of a server for the noise that a protocol leaves to it. Its kind is the
            session's: a peer of the other kind is refused.
        descriptor: what makes the session this one, as far as it was agreed to beforehand.

    Attributes:
        kind: where the randomness of all sides comes from.

    Examples:
        >>> from psephos.protocol import SimulatedNoise
        >>> SessionMode("council", SimulatedNoise(1, session="council")).kind.value
        'simulation'
    """

    session: str
    noise: NoiseSource
    descriptor: SessionDescriptor = dataclasses.field(default=NO_DESCRIPTOR, kw_only=True)
    kind: SessionKind = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.noise.kind)

    @property
    def primitives(self) -> Primitives | None:
        """The cryptography for masked phases; None unless agents bring one."""
        return None


_NOTHING_KEPT: Final[Mapping[str, KeptReport]] = MappingProxyType({})


class Party:
    """One party of a session: who it is, and what it holds. All but its name, its place and its public row is private.

    Args:
        place: its place in the roster, from 0; addresses simulated noise.
        row: its private row, as `PhasedProtocol.encode` makes it.
        public: its public row; without one, what the server says is taken where it fits the private row, which is right
            where a private row means the same whatever the public one is. What the protocol leaves the party to choose
            of it, at its end, leaves with the Hello.
        ledger: where its losses are charged; by default one of its own, without a budget.
        memoized_reports: its reports of earlier sessions, by the names of memoized phases.
        secret: tells a party that comes back to a scope whether its values are still the same, and seals what records
            of a masked phase may not tell; from nobody else.
        sign: signs by the key that the roster has for the party, in masked phases.

    Raises:
        ConfigurationError: the name cannot name a party.
        TypeError: a value is no integer.

    Examples:
        >>> ann = Party("ann", 0, [1, 0], public=[3])
        >>> ann.row, ann.public, ann.ledger.spent
        ((1, 0), (3,), 0.0)
    """

    __slots__ = ("ledger", "memoized_reports", "name", "place", "public", "row", "secret", "sign")

    def __init__(
        self,
        name: str,
        place: int,
        row: Sequence[int],
        *,
        public: Sequence[int] | None = None,
        ledger: Ledger | None = None,
        memoized_reports: Mapping[str, KeptReport] | None = None,
        secret: bytes = b"",
        sign: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.name: Final = check_party_name(name)
        self.place: Final = place
        # Integers and nothing else: a float would leave with its low bits in clear, and numpy's own do not encode.
        self.row: Final = tuple(map(operator.index, row))
        self.public: Final = None if public is None else tuple(map(operator.index, public))
        self.ledger: Final = Ledger(name) if ledger is None else ledger
        self.memoized_reports: Final = memoized_reports or _NOTHING_KEPT
        self.secret: Final = secret
        self.sign: Final = sign
