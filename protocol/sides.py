"""The inputs of a session's sides: the session's mode, which both sides have, and a party's data.

An agent passes them to its machine, and the machine to its parts.
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
    """The identity of a session, and one side's source of randomness; agents use a `Simulation` or a `Deployment`.

    Args:
        session: the name of the session.
        noise: the noise source: a client's for its reports, a server's for the noise that the server draws. Its kind is
            that of the session; a peer of the other kind is refused.
        descriptor: the identity of the session, as far as it was agreed on in advance.

    Attributes:
        kind: the kind of session: simulation or deployment.

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
    """One party of a session: its identity and its data. All but its name, its index and its public row is private.

    Args:
        name: the party's name on the roster.
        place: its index in the roster, from 0, which addresses its simulated noise.
        row: its private row, as `PhasedProtocol.encode` makes it.
        public: its public row. Without one, the party accepts the server's if it fits the private row; this is safe
            only if the meaning of a private row does not depend on the public row. If the protocol lets parties choose
            the end of the row, the Hello carries it.
        ledger: the ledger to which its losses are charged; by default a new one without a budget.
        memoized_reports: its reports of earlier sessions, by the name of the memoized phase.
        secret: the party's secret. It shows whether the values behind a memoized report have changed, and seals the
            secrets of a masked phase in records.
        sign: signs with the party's key on the roster, in masked phases.

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
        # Python integers only: a float would reveal its low bits, and numpy's integers cannot be encoded.
        self.row: Final = tuple(map(operator.index, row))
        self.public: Final = None if public is None else tuple(map(operator.index, public))
        self.ledger: Final = Ledger(name) if ledger is None else ledger
        self.memoized_reports: Final = memoized_reports or _NOTHING_KEPT
        self.secret: Final = secret
        self.sign: Final = sign
