"""Faults of masked votes: a sum with less noise than is charged for, or something beside it that tells more.

They are planted into stages of the ladder, of eight partners, of whom seven are in the sum and two tell the server
their rows and shares: h = 5.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from ....agents.noise import SecureNoise
from ....protocol.arrays import IntArray
from ....protocol.client_machine import ClientMachine
from ....protocol.dpwevote import DPWeVote
from ....protocol.effects import Effect, Send
from ....protocol.messages import Message, Report
from ....protocol.phases import Inputs, MaskedPhase
from ....protocol.population import draw_reports
from ....protocol.randomness import SimulatedNoise
from ...audit.fault import Fault
from ...audit.machines import one_source
from ...audit.masked_stages import MASKED_STEP
from ...audit.planting import planted_in_stage
from .sessions import masked_stage

__all__ = ["masked_faults"]

_SIZES: Final = {"weights": 3, "candidates": 2, "partners": 8, "votes in a row": 1}
_BITS: Final = 8
_TIMES: Final = 10  # as many outputs as a full run has: a fault is found at a higher confidence


def _shared_by_all(phase: MaskedPhase, inputs: Inputs, noise: SimulatedNoise, protocol: str) -> IntArray:
    """Draw shares of noise that all of T parties share."""
    right = masked_stage("majority", _SIZES).protocol.parameters
    (wrong,) = DPWeVote(msgspec.structs.replace(right, threshold=phase.threshold, colluders=0)).phases
    return draw_reports(wrong, inputs, noise=noise, protocol=protocol, start=0)


def _in_bits(phase: MaskedPhase, inputs: Inputs, noise: SimulatedNoise, protocol: str) -> IntArray:
    """Draw numbers of so many bits, which wrap around."""
    half = 1 << _BITS - 1
    drawn = draw_reports(phase, inputs, noise=noise, protocol=protocol, start=0)
    return (drawn + half) % (2 * half) - half


class _SameRoots(SecureNoise):
    """Secure noise whose entropy is the same each time."""

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        """Return a digest of the address."""
        return hashlib.sha256(repr((protocol, phase, place)).encode()).digest()


class _TellingMachine(ClientMachine):
    """A machine whose masked row is two bytes longer where its first opinion is a yes."""

    __slots__ = ()

    def receive(self, sender: str, message: Message) -> list[Effect]:
        return [self._longer(effect) for effect in super().receive(sender, message)]

    def _longer(self, effect: Effect) -> Effect:
        if not isinstance(effect, Send) or not isinstance(effect.message, Report) or not self._party.row[1]:
            return effect
        said = effect.message
        if said.step != MASKED_STEP:
            return effect
        row = bytes(said.payload)
        longer = b"\xdc\x00" + bytes([row[0] & 0xF]) + row[1:]  # an array's length in two bytes
        return Send(effect.recipients, Report(said.step, msgspec.Raw(longer)))


def masked_faults() -> Iterator[Fault]:
    """Yield what is planted into masked votes."""
    stage = masked_stage("majority", _SIZES)
    yield planted_in_stage(
        stage,
        "a colluder's share counted",
        "Noise is shared by T partners, as if those in league were honest.",
        "honest shares counted",
        source="simulated",
        times=_TIMES,
        reports=_shared_by_all,
    )
    yield planted_in_stage(
        masked_stage("majority", _SIZES | {"weights": 64}),
        "a modulus too small",
        "Numbers with their noise have eight bits, and wrap around.",
        "a modulus of 64 bits",
        source="simulated",
        times=_TIMES,
        reports=_in_bits,
    )
    yield planted_in_stage(
        masked_stage("majority", _SIZES | {"votes in a row": 2}),
        "masks reused over two sessions",
        "The roots of masks are the same in a session and in the next: the difference of a party's rows has none.",
        "masks of one session",
        make_noise=one_source(_SameRoots),
    )
    yield planted_in_stage(
        stage,
        "a size that tells an opinion",
        "A masked row is longer where the first opinion is a yes.",
        "masked rows of one size",
        machine=_TellingMachine,
    )
