"""Faults of masked sessions of any system: a sum with less noise than is charged for, or something that tells more.

They are planted into stages of the ladder: of eight parties seven are in the sum, and two tell the server their rows
and shares: h = 5.
"""

import copy
import dataclasses
import functools
import hashlib
from collections.abc import Iterator
from typing import Any

from planted.fault import Fault
from planted.planting import SEED, planted_in_stage
from psephos.agents.noise import SecureNoise
from psephos.protocol.arrays import IntArray
from psephos.protocol.phases import Inputs, MaskedPhase, PersonalizedPhase
from psephos.protocol.population import draw_reports
from psephos.scenarios.audit.machines import one_source
from psephos.scenarios.audit.masked_configurations import MaskedStage

_TIMES = 10  # as many outputs as a full run has: a fault is found at a higher confidence


def _shared_by(number: int, phase: MaskedPhase, inputs: Inputs, **given: Any) -> IntArray:
    """Draw shares of noise that so many parties share."""
    wrong = copy.copy(phase)
    wrong.mechanism = wrong.share = share = dataclasses.replace(phase.share, planned=number)
    if isinstance(wrong, PersonalizedPhase):
        wrong.mechanisms = (share,)
    return draw_reports(wrong, inputs, **given)


def _forgotten_by(place: int, size: int, phase: MaskedPhase, inputs: Inputs, **given: Any) -> IntArray:
    """Draw shares, but for the party at a place of each roster of so many."""
    drawn = draw_reports(phase, inputs, **given)
    drawn[place::size] = inputs.private[place::size, phase.columns]
    return drawn


def _in_bits(phase: MaskedPhase, inputs: Inputs, **given: Any) -> IntArray:
    """Draw numbers that wrap around at the noise's scale."""
    half = 1 << max(1, int(phase.share.scale).bit_length() - 1)
    return (draw_reports(phase, inputs, **given) + half) % (2 * half) - half


class _SameRoots(SecureNoise):
    """Secure noise whose entropy is the same each time."""

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        """Return a digest of the address."""
        return hashlib.sha256(repr((protocol, phase, place)).encode()).digest()


def masked_faults(of: str, configuration: MaskedStage) -> Iterator[Fault]:
    """Yield what is planted into a system's masked sessions, which are called so."""
    phase, number = configuration.protocol.masked_phase, configuration.num_parties
    assert phase is not None
    for name, what, repaired, reports in (
        (
            "a colluder's share counted",
            "Noise is shared by all of T parties, as if those in league were honest.",
            "honest shares counted",
            functools.partial(_shared_by, phase.threshold),
        ),
        (
            "shares for all parties",
            "Noise is shared by all n parties, as if nobody left and nobody was in league.",
            "shares for those who are certain",
            functools.partial(_shared_by, number),
        ),
        (
            "noise forgotten by one party",
            "An honest party adds its row alone.",
            "noise of each party",
            functools.partial(_forgotten_by, configuration.honest_place(SEED), number),
        ),
        ("a modulus too small", "Numbers with noise wrap around at its scale.", "a modulus of 64 bits", _in_bits),
    ):
        names = f"{of}: {name}", what, f"{of}: {repaired}"
        yield planted_in_stage(configuration, *names, source="simulated", times=_TIMES, reports=reports)
    yield planted_in_stage(
        dataclasses.replace(configuration, num_sessions=2),
        f"{of}: masks reused over two sessions",
        "The roots of masks are the same in a session and in the next: the difference of a party's rows has none.",
        f"{of}: masks of one session",
        make_noise=one_source(_SameRoots),
    )
