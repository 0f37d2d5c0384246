"""Faults of whole sessions: the real parts with one of them broken, beside the same session with none.

A system plants its own (`System.faults`). What is broken is a part that stands between a party and what leaves it: a
noise source, an agent, a ledger. The audit is told nothing of how to tell neighbors apart, neither laws nor scores.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ...protocol.arrays import IntArray
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.privacy import LedgerEntry, total_of
from .case import Case, OutputSampler, Pair, Source
from .fault import GROUP, SAMPLES, SECURE_SAMPLES, Fault
from .machines import (
    HeldSession,
    Holder,
    MakeNoise,
    by_machines,
    noise_of,
    reports_of_each,
    roster_of,
    session_sampler,
)

__all__ = ["Sessions", "alike", "planted"]

_PARTIES = 32
"""With the same row in one session, where each is an output by itself."""


def alike(protocol: PhasedProtocol[Any, Any], row: Sequence[int] | IntArray, public: Sequence[int]) -> Inputs:
    """Return a roster of parties that all have this row.

    Args:
        protocol: what is run.
        row: the private row.
        public: the public row.
    """
    return roster_of(protocol, [row] * _PARTIES, [public] * _PARTIES)


@dataclasses.dataclass(frozen=True, eq=False)
class Sessions:
    """Sessions of two neighbors, and what is charged for them.

    Args:
        rosters: those of the first and of the second neighbor.
        entries: what the party's ledger has been charged for one output.
        shown: see `session_sampler`.
        hold: how they are held.
        make_noise: makes their noise; by default the right one of the fault's source.
        num_sessions: held one after the other, on the same data, for one output.
    """

    rosters: tuple[Inputs, Inputs]
    entries: Sequence[LedgerEntry]
    shown: Callable[[HeldSession], Sequence[Sequence[int]]] = reports_of_each
    hold: Holder = by_machines
    make_noise: MakeNoise | None = None
    num_sessions: int = 1


def planted(
    protocol: PhasedProtocol[Any, Any],
    name: str,
    what: str,
    faulty: Sessions,
    repaired: tuple[str, Sessions],
    *,
    source: Source,
    samples: int,
) -> Fault:
    """Return a fault of whole sessions.

    Args:
        protocol: what is run.
        name: of the fault.
        what: what is wrong, as a sentence.
        faulty: sessions with it.
        repaired: a name for its repair, and sessions without it.
        source: whose randomness is audited.
        samples: outputs of each neighbor, of the number that single mechanisms take.
    """
    usual = SECURE_SAMPLES if source == "secure" else SAMPLES

    def case(own: str, sessions: Sessions) -> Case:
        def draws() -> tuple[OutputSampler, OutputSampler]:
            first, second = (
                session_sampler(
                    protocol,
                    roster,
                    sessions.shown,
                    sessions.make_noise or noise_of(source),
                    side=side,
                    num_sessions=sessions.num_sessions,
                    hold=sessions.hold,
                )
                for side, roster in enumerate(sessions.rosters)
            )
            return first, second

        def pairs() -> Sequence[Pair]:
            made = draws()
            return [Pair("the two", draws=made) if source == "simulated" else Pair("the two", secure=made)]

        (entry, *others) = sessions.entries
        total = total_of(sessions.entries)
        return Case(
            name=own,
            group=GROUP,
            unit=entry.unit if not others else "all values",
            relation=total.relation,
            model=total.model,
            claimed=total.claimed,
            proven=total.proven,
            pairs=pairs,
            share=samples / usual,
            secure_share=samples / usual,
        )

    return Fault(what, case(name, faulty), case(*repaired), source=source, samples=usual)
