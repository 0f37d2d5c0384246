"""A masked sum as somebody else would write it, and sessions of it between machines.

Each value is another power of two: a sum tells who is in it.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
from machine_sessions import Session
from psephos.agents.masking import Cryptography, draw_signature_keys
from psephos.protocol import (
    Column,
    Inputs,
    Party,
    PhasedProtocol,
    Roster,
    SessionDescriptor,
    SessionMode,
    SimulatedNoise,
    Tally,
)
from psephos.protocol.mechanisms import NoiseShare
from psephos.protocol.phases import Entries, MaskedPhase
from psephos.protocol.population import draw_reports
from psephos.protocol.privacy import Ledger, NeighboringRelation, PrivacyLoss, TrustModel
from psephos.protocol.randomness import NoiseSource

__all__ = ["MaskedSession", "PrivateSum", "Size", "make_session", "tally_of"]

SESSION_ID = "5e" * 16


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """T, c and what a value may be at most."""

    threshold: int = 3
    colluders: int = 0
    most: int = 1 << 20
    epsilon: float = 1.0


class Total(msgspec.Struct, frozen=True):
    """What is released."""

    total: int
    number: int


class PrivateSum(PhasedProtocol[Size, Total]):
    """Adds up one number a party, masked."""

    name: ClassVar[str] = "private-sum"
    parameters_type: ClassVar[type[msgspec.Struct]] = Size
    outcome_type: ClassVar[type[msgspec.Struct]] = Total

    def make_phases(self) -> Iterable[MaskedPhase]:
        own = self.parameters
        honest = own.threshold - own.colluders
        share = NoiseShare(own.most / own.epsilon, own.most, own.most, honest)
        loss = PrivacyLoss(
            mechanism="shares of discrete Laplace noise",
            event=share.event_of_sum(1, honest=honest),
            unit="number",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.DISTRIBUTED,
            claimed=own.epsilon,
        )
        sizes = {"threshold": own.threshold, "colluders": own.colluders}
        yield Numbers("sum", columns=range(1), share=share, losses=[loss], **sizes)

    def columns(self) -> tuple[Column, ...]:
        return (Column("number", private=True, description="an integer"),)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        numbers = np.array(table["number"], dtype=np.int64)
        return Inputs(numbers[:, None], np.empty((len(numbers), 0), dtype=np.int64))

    def check_roster(self, public: Any) -> None:
        (phase,) = self.phases
        assert isinstance(phase, MaskedPhase)
        phase.check_parties(len(public))

    def outcome(self, tallies: Sequence[Tally]) -> Total:
        return Total(int(tallies[0].totals[0]), tallies[0].num_reports)


class Numbers(MaskedPhase):
    """One number each, from 0 on."""

    def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
        return (range(self.share.bound + 1),)


@dataclasses.dataclass(frozen=True)
class MaskedMode(SessionMode):
    """A mode with primitives."""

    @property
    def primitives(self) -> Cryptography:
        return Cryptography()


class MaskedSession(Session):
    """A session whose roster has keys; parties have a secret, for records that are sealed.

    Attributes:
        signers: what signs by each party's key.
        private_keys: of signatures.
    """

    @property
    def roots(self) -> list[bytes]:
        """The root of each party's secrets."""
        address = {"protocol": self.protocol.name, "phase": self.protocol.phases[0].name}
        return [self.fresh_noise().entropy(**address, place=place) for place in range(len(self.names))]

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, **given: Any) -> None:
        super().__init__(protocol, inputs, **given)
        noise, number = SimulatedNoise(7, session="keys"), len(inputs)
        self.signers, keys = draw_signature_keys(noise, protocol=protocol.name, number=number)
        address = {"protocol": protocol.name, "phase": "keys of signatures"}
        self.private_keys = [noise.entropy(**address, place=place) for place in range(number)]
        self.roster = Roster(self.names, inputs.public, keys=keys, fingerprints=self.roster.fingerprints)
        self.descriptor = SessionDescriptor(SESSION_ID, self.roster.digest)

    def mode(self, noise: NoiseSource | None = None) -> SessionMode:
        return MaskedMode(super().mode(noise).session, noise or self.noise, descriptor=self.descriptor)

    def party(self, name: str, *, ledger: Ledger | None = None) -> Party:
        plain = super().party(name, ledger=ledger)
        return Party(
            plain.name,
            plain.place,
            plain.row,
            public=plain.public,
            ledger=plain.ledger,
            secret=f"secret of {name}".encode(),
            sign=self.signers[plain.place],
        )


def make_session(
    number: int = 4, *, threshold: int = 3, colluders: int = 0, epsilon: float = 1.0, **given: Any
) -> MaskedSession:
    """Return a session of so many parties, of whom place i holds 2^i, but for 2^20 at most."""
    protocol = PrivateSum(Size(threshold=threshold, colluders=colluders, epsilon=epsilon))
    inputs = protocol.encode({"number": [1 << place % 21 for place in range(number)]})
    return MaskedSession(protocol, inputs, **given)


def tally_of(session: Session, places: Sequence[int]) -> Tally:
    """Return by arrays what parties at these places leave, of all who draw."""
    (phase,) = session.protocol.phases
    drawn = draw_reports(phase, session.inputs, noise=session.fresh_noise(), protocol=session.protocol.name, start=0)
    rows = list(places)
    return phase.tally(drawn[rows], earlier=[], public=session.inputs.public[rows])
