"""Faults of whole sessions: the real parts with one of them broken, beside the same session with none.

What is broken is a part that stands between a party and what leaves it: a noise source, an agent, a ledger. The audit
is told nothing of how to tell neighbors apart, neither laws nor scores.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from planted.fault import SAMPLES, SECURE_SAMPLES, Fault, WrongDraw, WrongNoise, fault_of
from psephos.protocol.arrays import IntArray
from psephos.protocol.client_machine import ClientMachine
from psephos.protocol.effects import Effect, Send
from psephos.protocol.messages import Message, Report
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.privacy import LedgerEntry, total_of
from psephos.scenarios.audit.case import FULL_SAMPLES, Pair, Source
from psephos.scenarios.audit.machines import (
    MakeNoise,
    RecordedSession,
    SessionRunner,
    noise_of,
    one_source,
    reports_of_each,
    roster_of,
    run_by_machines,
    session_sampler,
)
from psephos.scenarios.audit.size_grid import Configuration
from psephos.scenarios.audit.whole_sessions import charge

SEED = 1
"""Of rosters into which a fault is planted."""
_PARTIES = 32  # with the same row in one session, where each is an output by itself


def by_draw(draw: WrongDraw) -> MakeNoise:
    """Return what makes the noise of deployments with another draw in the place of its own."""
    return one_source(functools.partial(WrongNoise, draw))


class ReportChanger(ClientMachine):
    """A client's machine that sends other reports than it should."""

    __slots__ = ()

    def receive(self, sender: str, message: Message) -> list[Effect]:
        return [
            Send(effect.recipients, self.changed(effect.message))
            if isinstance(effect, Send) and isinstance(effect.message, Report)
            else effect
            for effect in super().receive(sender, message)
        ]

    def changed(self, report: Report) -> Report:
        """Return what is sent in the place of a report."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, eq=False)
class Sessions:
    """Sessions of two neighbors, and what is charged for them.

    Args:
        protocol: what is run.
        rosters: those of the first and of the second neighbor.
        entries: what the party's ledger has been charged for one output.
        shown: see `session_sampler`.
        hold: how they are held.
        make_noise: makes their noise; by default the right one of the fault's source.
        num_sessions: held one after the other, on the same data, for one output.
    """

    protocol: PhasedProtocol[Any, Any]
    rosters: tuple[Inputs, Inputs]
    entries: Sequence[LedgerEntry]
    shown: Callable[[RecordedSession], Sequence[Sequence[int]]] = reports_of_each
    hold: SessionRunner = run_by_machines
    make_noise: MakeNoise | None = None
    num_sessions: int = 1

    @classmethod
    def of_rows(
        cls,
        protocol: PhasedProtocol[Any, Any],
        rows: Sequence[Sequence[int]] | IntArray,
        public: Sequence[int] = (),
        *,
        num_sessions: int = 1,
        **given: Any,
    ) -> "Sessions":
        """Return sessions whose parties all have the first row, or all the second; each is charged as its ledger says.

        Of the rows one is each neighbor's private one; all share the public one. The other fields are given by name.
        """
        pair = np.asarray(rows, dtype=np.int64)
        first, second = (roster_of(protocol, [row] * _PARTIES, [public] * _PARTIES) for row in pair)
        entries = charge(protocol, pair[0].tolist(), public, num_sessions=num_sessions)
        return cls(protocol, (first, second), entries, num_sessions=num_sessions, **given)

    def planted(
        self, name: str, what: str, repaired: str, *, source: Source = "simulated", samples: int, **wrong: Any
    ) -> Fault:
        """Return a fault of these sessions, which are its repair.

        Args:
            name: of the fault.
            what: see `Fault`.
            repaired: a name for the repair.
            source: see `Fault`.
            samples: outputs of each neighbor, of the number that single mechanisms take.
            wrong: the fields that the fault changes.
        """
        usual = SECURE_SAMPLES if source == "secure" else SAMPLES

        def sides(is_faulty: bool) -> dict[str, Any]:  # noqa: FBT001  as `fault_of` calls it
            sessions = dataclasses.replace(self, **wrong) if is_faulty else self
            total, (entry, *others) = total_of(sessions.entries), sessions.entries
            return {
                "pairs": lambda: [sessions.pair(source)],
                "unit": "all values" if others else entry.unit,
                "relation": total.relation,
                "model": total.model,
                "claimed": total.claimed,
                "proven": total.proven,
            }

        share = samples / usual
        return fault_of((name, repaired), what, sides, source=source, share=share, secure_share=share)

    def pair(self, source: Source) -> Pair:
        """Return the neighbors, drawn by sessions with the noise of this source."""
        first, second = (
            session_sampler(
                self.protocol,
                roster,
                self.shown,
                self.make_noise or noise_of(source),
                side=side,
                num_sessions=self.num_sessions,
                hold=self.hold,
            )
            for side, roster in enumerate(self.rosters)
        )
        draws = first, second
        return Pair("the two", draws=draws) if source == "simulated" else Pair("the two", secure=draws)


def planted_in_stage(
    configuration: Configuration,
    name: str,
    what: str,
    repaired: str,
    *,
    source: Source = "secure",
    times: int = 1,
    **wrong: Any,
) -> Fault:
    """Return a fault of sessions of some sizes, audited as a full run audits them: what it differs in is not told.

    Args:
        stage: the sessions without it; for what is not said here see `Sessions.planted`.
        times: how many times as much is drawn as in a full run, whose confidence is lower than a fault's.
        wrong: the fields of the stage that the fault changes.
    """
    right = configuration.case(name, seed=SEED)
    share = times * (right.share if source == "simulated" else right.secure_share)

    def sides(is_faulty: bool) -> dict[str, Any]:  # noqa: FBT001  as `fault_of` calls it
        case = dataclasses.replace(configuration, **wrong).case(name, seed=SEED) if is_faulty else right
        fields = ("pairs", "law_checks", "unit", "relation", "model", "claimed", "proven", "note")
        shares = dict.fromkeys(("share", "secure_share"), min(share, 1.0))
        return {field: getattr(case, field) for field in fields} | shares

    samples = round(FULL_SAMPLES[source] * max(share, 1.0))
    return fault_of((name, repaired), what, sides, source=source, samples=samples)
