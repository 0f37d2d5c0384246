"""What must hold in a hostile world, whatever happens; found out from messages and disks, without asking a machine.

- Nothing leaves that is not durable: when a report leaves a party, the party's journal holds those bytes and all their
  losses; when a server acknowledges, asks for the next phase or releases, its journal holds what that rests on.
- No phase is drawn twice: every report that ever left a party for one phase of one session has the same bytes, and
  everybody is always told the same.
- No kept phase is drawn twice in a game: every report of it that is on a person's disk has the same bytes, in whatever
  session, and one of them is paid.
- No accepted report is lost, and none counted twice: a phase closes with exactly the reports that are durable on the
  server's side by then, each party's once, and outcome and tallies are those of the array path over these. The noise of
  a central phase is that of one run of the server.
- What a person chooses as it joins stands: it is one of the levels, on the server's disk before the person is welcomed,
  and never another one; the ledger charges that level, once, and the tally weighs the report by it.
- No budget is exceeded, over all sessions of a journal, or in any window of its period, by the journal's times; a
  session that has begun is never refused for its budget, unless a clock that was ahead of a window is set back; and
  none is whose losses fit beside all that counts.
- Whose certificate a server takes no more is told nothing by it from then on, and nothing more of it is accepted;
  nobody else is refused for a certificate.
- Everybody ends, with the outcome that was released or with a reason, and all with the same transcript.
- No time goes back in a journal, whatever a person's clock does, and nothing is dated before it is kept.
- Of a masked session: a row is charged as it is masked; what opens is the sum of the rows that parties drew, of T of
  them or more, or nothing. No secret of a party's, and no row without masks, is on any disk. No lie of a server's is
  answered, but one about boxes by a doubt, and no row follows unless their dealer is out; a party that has told the
  server so says nothing to it any more, and refuses none that did not lie. Where parties lie, nobody else is told that
  they did; and where nothing else goes wrong, all others are there to the end, and hear the outcome.
- Where every fault passes (`Plan.is_gentle`), nobody is missing: each session is released with all reports of all.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from psephos.agents.journal_format import Row
from psephos.protocol.arrays import IntArray
from psephos.protocol.errors import BudgetExceededError, HandshakeError
from psephos.protocol.masking import DEEDS, Excluded, MaskingMove
from psephos.protocol.messages import NIL, Abort, Acknowledgement, Message, Release, Report, Request, Welcome, encode
from psephos.protocol.phases import MaskedPhase
from psephos.protocol.population import draw_for_release, draw_reports, released_tally, tally_batch
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.records import (
    Accepted,
    Chosen,
    ClientRecord,
    Drawn,
    PhaseClosed,
    PhaseOpened,
    Reserved,
    ServerRecord,
    SessionEnded,
    SessionFailed,
)
from psephos.protocol.tally import Tally
from simulation.cases import LEVELS
from simulation.plans import HOST, OtherChoice, WrongClock

if TYPE_CHECKING:
    from simulation.plans import Plan
    from simulation.world import Held

__all__ = ["Broke", "Observer", "secret_of"]

_of_person: msgspec.msgpack.Decoder[ClientRecord] = msgspec.msgpack.Decoder(ClientRecord)
_of_server: msgspec.msgpack.Decoder[ServerRecord] = msgspec.msgpack.Decoder(ServerRecord)
_ROUNDING = 1e-6
_ROUNDED_SECONDS = 2
"""Times are kept in whole seconds, rounded up."""


def secret_of(party: str) -> bytes:
    """Return a person's secret, as its private key is."""
    return f"secret of {party}".encode()


@dataclasses.dataclass(frozen=True)
class Broke:
    """An invariant that was broken, and how."""

    invariant: str
    detail: str


class Observer:
    """Sees all messages and all commits.

    Attributes:
        broken: the invariants that were broken, in order.
        gone: processes that died for good, of whom nothing is expected.
        lies: what servers asked that is false, encoded.
    """

    def __init__(self, plan: "Plan", held: "Sequence[Held]") -> None:
        self._plan = plan
        self._held = held
        self._number_of = {each.descriptor.id: each.number for each in held}
        self.broken: list[Broke] = []
        self.gone: set[str] = set()
        self.lies: set[bytes] = set()
        self._doubted: dict[tuple[int, str], tuple[int, ...]] = {}  # by whom a server has lied to about a box
        self._blamed: set[tuple[int, str]] = set()  # whose server lied, and was told so
        self._refusing: set[tuple[int, str]] = set()
        self._masking: dict[tuple[int, str], SimulatedNoise] = {}  # by which a masked row was drawn
        self._secrets = {secret_of(party): f"the secret of {party}" for party in plan.parties}
        self._on_disk: list[bytes] = []
        self._left: dict[tuple[int, str, int], bytes] = {}
        self._told: dict[tuple[object, ...], bytes] = {}
        self._acknowledged: set[tuple[int, int, int]] = set()
        self._drawn: dict[tuple[int, str, int], Drawn] = {}
        self._reserved: set[tuple[int, str]] = set()
        self._spent = dict.fromkeys(plan.parties, 0.0)
        self._losses: dict[str, list[tuple[int, int, float]]] = {party: [] for party in plan.parties}
        """Of each person: session, time and loss of what was drawn."""
        self._heard_at: dict[tuple[int, str], int] = {}
        self._asked_at: dict[tuple[int, str], float] = {}
        self._room_at: dict[tuple[int, str], float] = {}
        self._accepted: dict[tuple[int, int, int], bytes] = {}
        self._closed: dict[tuple[int, int], PhaseClosed] = {}
        self._opened: set[tuple[int, int]] = set()
        self._ended: set[int] = set()
        self._heard: dict[tuple[int, str], tuple[msgspec.Struct, msgspec.Struct | None]] = {}
        self._began_before: set[tuple[int, str]] = set()
        self._kept: dict[tuple[str, str, str], bytes] = {}
        self._transcripts: dict[int, dict[str, str]] = {}
        self._latest = dict.fromkeys(plan.parties, 0)
        self._chosen: dict[tuple[int, int], tuple[int, ...]] = {}

    def broke(self, invariant: str, detail: str) -> None:
        self.broken.append(Broke(invariant, detail))

    def cost_of(self, held: "Held", party: str) -> float:
        """Return what a session costs a person in all, unless it chooses otherwise."""
        public: list[int] = held.inputs.public[held.roster.places[party]].tolist()
        return sum(loss.proven for phase in held.protocol.phases for loss in phase.losses_of(public))

    def _cost_of_step(self, held: "Held", party: str, number: int) -> float:
        place, step = held.roster.places[party], held.protocol.steps[number]
        if not step.is_charged:
            return 0.0
        if held.protocol.num_chosen:  # by the level itself, whatever the protocol says of it
            return LEVELS[int(self.public_of(held)[place, -1])]
        public: list[int] = held.inputs.public[place].tolist()
        return sum(loss.proven for loss in step.phase.losses_of(public))

    def public_of(self, held: "Held") -> IntArray:
        """Return everybody's public row, whose end is what a server's disk says that the person chose, if it does."""
        public: IntArray = held.inputs.public.copy()
        for (number, place), chosen in self._chosen.items():
            if number == held.number:
                public[place, -len(chosen) :] = chosen
        return public

    # What is seen

    def note_durable(self, process: str, rows: Sequence[Row], *, now: float) -> None:
        """Take note of what is on a disk from now on, which is by its owner's clock."""
        self._on_disk += [row.body for row in rows]
        if process.startswith("server"):
            for row in rows:
                self._note_of_server(int(process.removeprefix("server")), _of_server.decode(row.body))
            return
        for row in rows:
            session, name = row.session.split("\t") if process == HOST else (row.session, process)
            number = self._number_of[session]
            record = _of_person.decode(row.body)
            self._check_time(name, record, since=0.0 if process == HOST else now)  # a host's wait for their commit
            match record:
                case Drawn(step=phase):
                    self._drawn[number, name, phase] = record
                    self._note_masked(self._held[number], name, record)
                    paid = sum(entry.proven for entry in record.entries)
                    is_repeated = self._note_kept(name, record)
                    if is_repeated and paid:
                        self.broke("what is kept is paid once", f"{name} paid {paid:g} again for phase {phase}")
                    cost = 0.0 if is_repeated else self._cost_of_step(self._held[number], name, phase)
                    if paid < cost - _ROUNDING:
                        self.broke("the ledger covers what was sent", f"{name} records {paid:g} for phase {phase}")
                    if paid > cost + _ROUNDING and not is_repeated:
                        self.broke("nothing more is paid", f"{name} records {paid:g} for phase {phase}, not {cost:g}")
                    self._spent[name] += paid
                    self._losses[name].append((number, record.at, paid))
                    self._check_budget(name, record.at)
                case Reserved():
                    self._reserved.add((number, name))
                case SessionEnded(is_final=is_final, reason=reason, at=at):
                    self._reserved.discard((number, name))
                    if not reason:
                        self._heard_at[number, name] = at
                    if is_final:
                        self._refusing.add((number, name))
                case _:
                    pass

    def _note_masked(self, held: "Held", party: str, record: Drawn) -> None:
        """Take note of an answer in a masked phase, and of what must not be seen of it."""
        step = held.protocol.steps[record.step]
        if step.move is None:
            return
        if record.request in self.lies:
            doubted = step.codec.decode(_payload_of(record.report)).doubted if step.move is MaskingMove.CHECK else ()
            self._doubted[held.number, party] = doubted
            if not doubted:
                self.broke("no lie is answered", f"{party} answers {record.request!r} in {held.name}")
        if step.move is MaskingMove.MASKED:
            asked = msgspec.msgpack.decode(record.request, type=Request)
            excluded = msgspec.msgpack.decode(asked.payload, type=Excluded).places
            if not {*self._doubted.get((held.number, party), ())} <= {*excluded}:
                self.broke("no row leaves beside a box that is wrong", f"{party} answers {asked!r} in {held.name}")
        noise, place = held.drawing[party], held.roster.places[party]
        if step.move is MaskingMove.KEYS:
            root = noise.entropy(protocol=held.protocol.name, phase=step.phase.name, place=place)
            self._secrets[root] = f"the root of {party} in {held.name}"
        if step.move is MaskingMove.MASKED:
            self._masking[held.number, party] = noise
            row = tuple(self._row_of(held, party).tolist())
            self._secrets[bytes(step.phase.codec.encode(row))] = f"the row of {party} in {held.name}"

    def _row_of(self, held: "Held", party: str) -> IntArray:
        """Return by arrays what a party has masked: its row with its share of noise."""
        (phase,), noise = held.protocol.phases, self._masking[held.number, party]
        rows = draw_reports(phase, held.inputs, noise=noise, protocol=held.protocol.name, start=0)
        return rows[held.roster.places[party]]

    def has_refused(self, held: "Held", party: str) -> bool:
        """Return whether a person's disk says that it takes part in a session no more."""
        return (held.number, party) in self._refusing

    def note_fault(self, held: "Held", party: str) -> None:
        """Take note that a person has told a server that it lied."""
        self._blamed.add((held.number, party))

    def _check_time(self, name: str, record: ClientRecord, *, since: float) -> None:
        if isinstance(record, Reserved):
            return
        if record.at < max(since, self._latest[name]):
            self.broke("no time goes back in a journal", f"{name} keeps {record!r} after {self._latest[name]}")
        self._latest[name] = max(record.at, self._latest[name])

    def _note_kept(self, name: str, record: Drawn) -> bool:
        """Return whether a report repeats one of an earlier session, which it has to equal."""
        if record.kept is None:
            return False
        address, payload = (name, record.kept.scope.name, record.kept.phase), bytes(_payload_of(record.report))
        is_repeated = address in self._kept
        if self._kept.setdefault(address, payload) != payload:
            self.broke("no kept phase is drawn twice in a game", f"{name} has two reports of {record.kept.phase}")
        return is_repeated

    def kept_before(self, held: "Held") -> dict[str, dict[str, tuple[int, ...]]]:
        """Return what other servers' disks hold of the phases that keep their reports."""
        kept: dict[str, dict[str, tuple[int, ...]]] = {}
        for (number, phase, place), report in self._accepted.items():
            other, step = self._held[number], self._held[number].protocol.steps[phase]
            if step.phase.memo_scope is not None and other is not held and other.protocol is held.protocol:
                kept.setdefault(step.phase.name, {})[other.roster.names[place]] = step.codec.decode(report)
        return kept

    def _note_of_server(self, number: int, record: ServerRecord) -> None:
        match record:
            case Accepted(phase, place, report):
                if (number, phase, place) in self._accepted:
                    self.broke("no report is counted twice", f"place {place} in phase {phase} of session {number}")
                if (number, phase) in self._closed:
                    self.broke("no late report counts", f"place {place} in phase {phase} of session {number}")
                self._accepted[number, phase, place] = report
            case Chosen(place, chosen):
                if any(not 0 <= level < len(LEVELS) for level in chosen):
                    self.broke("a choice is one of the levels", f"place {place} has {chosen} in session {number}")
                if self._chosen.setdefault((number, place), chosen) != chosen:
                    self.broke("a choice stands", f"place {place} has another one in session {number}: {chosen}")
            case PhaseOpened(phase):
                self._opened.add((number, phase))
            case PhaseClosed(phase):
                self._closed[number, phase] = record
            case SessionFailed():
                self._ended.add(number)

    def note_left(self, held: "Held", party: str, message: Message, payload: bytes) -> None:
        if (held.number, party) in self._blamed:
            self.broke("a server that was found at fault is spoken to no more", f"{party} says {message!r}")
        if not isinstance(message, Report):
            return
        address = (held.number, party, message.step)
        before = self._left.setdefault(address, payload)
        if before != payload:
            self.broke("no phase is drawn twice", f"{party} sent two reports of phase {message.step}")
        drawn = self._drawn.get(address)
        if drawn is None or drawn.report != payload:
            self.broke("the ledger covers what was sent", f"{party}'s report of phase {message.step} is not durable")

    def note_told(self, held: "Held", party: str, message: Message, *, is_revoked: bool = False) -> None:
        """Take note of what leaves a server."""
        number = held.number
        if is_revoked:
            self.broke("who is revoked is out", f"{party} is told {message!r}")
        match message:
            case Acknowledgement(phase):
                place = held.roster.places[party]
                self._acknowledged.add((number, phase, place))
                is_durable = (number, phase, place) in self._accepted
                if not is_durable and party not in self.kept_before(held).get(
                    held.protocol.steps[phase].phase.name, {}
                ):
                    self.broke("what is acknowledged is durable", f"{party}'s report of phase {phase} is not")
            case Request(phase):
                self._check_same((number, "request", phase), encode(msgspec.structs.replace(message, own=NIL)))
                self._check_same((number, "own", phase, party), bytes(message.own))
                before = [earlier for earlier in range(phase) if self._is_held(held, earlier)]
                if (number, phase) not in self._opened or any((number, each) not in self._closed for each in before):
                    self.broke("what is told is durable", f"phase {phase} is asked for before its opening is")
            case Welcome() if held.protocol.num_chosen:
                chosen = self._chosen.get((number, held.roster.places[party]))
                if chosen is None or message.public[-len(chosen) :] != chosen:
                    self.broke("a choice stands", f"{party} is welcomed with {message.public}, and {chosen} is durable")
            case Release():
                self._check_same((number, "release"), bytes(message.payload))
                self._check_same((number, "own", party), bytes(message.own))
                steps = [each for each in range(len(held.protocol.steps)) if self._is_held(held, each)]
                if any((number, each) not in self._closed for each in steps):
                    self.broke("what is told is durable", "the release is told before the closing is")
            case Abort(reason) if party not in self._plan.liars:
                if any(deed in reason for deed in DEEDS.values()) and repr(party) in reason:
                    self.broke("nobody honest is named", f"{party} is told: {reason}")
            case _:
                pass

    def _is_held(self, held: "Held", number: int) -> bool:
        """Return whether a step is one that everybody is asked, or of a dispute that there is."""
        return not held.protocol.steps[number].is_in_dispute or (held.number, number) in self._opened

    def _check_same(self, address: tuple[object, ...], payload: bytes) -> None:
        if self._told.setdefault(address, payload) != payload:
            self.broke("everybody is told the same", f"{address} is told in two ways")

    def note_try(self, held: "Held", party: str) -> None:
        """Take note that a person takes part, or goes on."""
        if (held.number, party) in self._reserved:
            self._began_before.add((held.number, party))
        else:
            self._began_before.discard((held.number, party))

    def note_asked(self, held: "Held", party: str, *, now: float) -> None:
        """Take note of when, by its own clock, a person's ledger is asked what counts, and of what has room there."""
        self._asked_at[held.number, party] = now
        self._room_at[held.number, party] = sum(
            self.cost_of(self._held[number], who)
            for number, who in self._reserved
            if who == party and number != held.number
        )

    def note_ending(self, held: "Held", party: str, ending: msgspec.Struct | Exception) -> None:
        """Take note of how a person's part in a session ends."""
        if isinstance(ending, HandshakeError) and not self._plan.is_revoked(party, f"server{held.number}"):
            self.broke("nobody else is refused for a certificate", f"{party} in {held.name}: {ending}")
        if not isinstance(ending, BudgetExceededError):
            return
        was_late = self._plan.period is not None and self._has(WrongClock, party)
        if (held.number, party) in self._began_before and not was_late:
            self.broke("a session that has begun is not refused for its budget", f"{party} in {held.name}: {ending}")
        # Losses where participation is private count more by replace-one, and other choices cost something else.
        if any(each.protocol.hides_participation for each in self._held) or self._has(OtherChoice, party):
            return
        counted = self._counted(party, self._asked_at[held.number, party] - _ROUNDED_SECONDS, but=held.number)
        counted += self._room_at[held.number, party]
        if counted + self.cost_of(held, party) <= self.budget_of(party) - _ROUNDING:
            self.broke("what fits is not refused", f"{party} in {held.name}, with {counted:g}: {ending}")

    def _has(self, kind: type[WrongClock | OtherChoice], party: str) -> bool:
        return any(isinstance(event, kind) and event.process == party for event in self._plan.events)

    def budget_of(self, party: str) -> float:
        """Return what a person allows, for all sessions together, or in any window of the plan's length."""
        costs = [self.cost_of(held, party) for held in self._held]
        if self._plan.period is not None:
            costs.sort(reverse=True)
        return sum(costs[: self._plan.affordable])

    def _counted(self, party: str, at: float, *, but: int = -1) -> float:
        """Return what counts of a person's losses at a time: of which something left, or may leave, in its period."""
        period = math.inf if self._plan.period is None else self._plan.period
        return sum(
            paid
            for number, drawn, paid in self._losses[party]
            if number != but and max(drawn, self._heard_at.get((number, party), math.inf)) > at - period
        )

    def note_heard(
        self, held: "Held", party: str, outcome: msgspec.Struct, own: msgspec.Struct | None, transcript: str | None
    ) -> None:
        """Take note of an outcome that a person has, and of the digest of what it was told."""
        self._heard[held.number, party] = (outcome, own)
        if transcript is not None:
            self._transcripts.setdefault(held.number, {})[party] = transcript

    def _check_budget(self, party: str, at: int) -> None:
        if self._plan.affordable is None:
            return
        budget, counted = self.budget_of(party), self._counted(party, at)
        if counted > budget + _ROUNDING:
            self.broke("no budget is exceeded", f"{party} spent {counted:g} of {budget:g} by {at}")

    # What is checked in the end

    def check_end(self, endings: dict[tuple[str, int], msgspec.Struct | Exception]) -> None:
        """Check what must hold when all is over."""
        for held in self._held:
            for party in self._plan.parties:
                if party not in self.gone and (party, held.number) not in endings:
                    self.broke("everybody ends with a result or a reason", f"{party} has none in {held.name}")
            if f"server{held.number}" not in self.gone and not held.is_over:
                self.broke("everybody ends with a result or a reason", f"{held.name}'s server has none")
            self._check_counts(held)
            if self._plan.is_gentle:
                self._check_gentle(held)
        refusing = {each for each in self._refusing if each[1] not in self._plan.liars}
        if not self.lies and not self._plan.faults.duplication and refusing:
            self.broke("a server that did not lie is refused by nobody", f"{refusing}")
        for secret, what in self._secrets.items():
            if any(secret in body for body in self._on_disk):
                self.broke("nothing that masks hide is on a disk", what)

    def _check_counts(self, held: "Held") -> None:
        number = held.number
        places_by_phase: list[list[int]] = []
        for phase, step in enumerate(held.protocol.steps):
            closing = self._closed.get((number, phase))
            if closing is None and not self._is_held(held, phase):
                places_by_phase.append([])
                continue
            if closing is None:
                break
            if len(closing.places) < step.least:
                self.broke("nothing opens of fewer than have to take part", f"{held.name}, {step.name}: {closing}")
            durable = sorted(place for of, at, place in self._accepted if (of, at) == (number, phase))
            if list(closing.places) != durable:
                self.broke(
                    "no accepted report is lost", f"phase {phase} has {durable}, and closed with {closing.places}"
                )
                return
            for place in durable:
                party = held.roster.names[place]
                left = self._left.get((number, party, phase))
                if left is None or bytes(_payload_of(left)) != self._accepted[number, phase, place]:
                    self.broke("what counts is what was sent", f"{party}'s report of phase {phase}")
                    return
            places_by_phase.append(durable)
        result = held.result
        if result is None:
            if any(of == number for of, _ in self._heard):
                last = max(each for each in range(len(held.protocol.steps)) if self._is_held(held, each))
                self.broke("nobody hears what was not released", held.name) if self._closed.get(
                    (number, last)
                ) is None else None
            return
        self._check_result(held, places_by_phase)

    def _check_result(self, held: "Held", places_by_phase: list[list[int]]) -> None:
        result = held.result
        assert result is not None
        if len(places_by_phase) < len(held.protocol.steps):
            self.broke("what is told is durable", f"{held.name} was released after {len(places_by_phase)} phases")
            return
        tallies = self._array_tallies(held, places_by_phase)
        for phase, (tally, ours) in enumerate(zip(result.tallies, tallies, strict=True)):
            if tally not in ours:
                self.broke("the outcome is that of the array path", f"{held.name}: the tally of phase {phase}")
        if result.outcome != held.protocol.outcome(list(result.tallies)):
            self.broke("the outcome is that of the array path", f"{held.name}: {result.outcome}")
        for party, transcript in self._transcripts.get(held.number, {}).items():
            if transcript != result.transcript:
                self.broke("everybody has the same transcript", f"{party} has another one of {held.name}")
        own = held.protocol.own_outcomes(list(result.tallies))
        for (number, party), (outcome, mine) in self._heard.items():
            if number == held.number and (outcome, mine) != (result.outcome, own.get(held.roster.places[party])):
                self.broke("everybody hears what was released", f"{party} in {held.name}")

    def _array_tallies(self, held: "Held", places_by_phase: list[list[int]]) -> list[list[Tally]]:
        """Return each phase's tally by arrays, for each noise that the server may have drawn."""
        protocol: Any = held.protocol
        if isinstance(masked := protocol.masked_phase, MaskedPhase):
            move = next(number for number, step in enumerate(protocol.steps) if step.move is MaskingMove.MASKED)
            places = places_by_phase[move]
            rows = np.array([self._row_of(held, held.roster.names[place]) for place in places])
            return [[masked.tally(rows, earlier=[], public=held.inputs.public[places])]]
        earlier: list[Any] = []
        found: list[list[Tally]] = []
        for phase, (step, places) in enumerate(zip(protocol.phases, places_by_phase, strict=True)):
            reports = np.zeros((len(held.roster), step.num_reported), dtype=np.int64)
            for place in places:
                left = self._left[held.number, held.roster.names[place], phase]
                reports[place] = msgspec.msgpack.decode(_payload_of(left), type=list[int])
            tally = tally_batch(step, reports, earlier, self.public_of(held), np.array(places, dtype=np.int64))
            found.append(
                [
                    released_tally(step, tally, draw_for_release(noise, protocol=protocol.name, phase=step))
                    for noise in held.noises
                ]
            )
            earlier.append(reports)
        return found

    def _check_gentle(self, held: "Held") -> None:
        server = f"server{held.number}"
        may_miss = [party for party in held.roster.names if self._plan.is_revoked(party, server)]
        lying = {held.roster.places[party] for party in (*self._plan.liars, *may_miss)}
        everybody = {*range(self._plan.num_parties)} - lying
        masked = held.protocol.masked_phase
        if masked is not None and len(everybody) < masked.threshold:
            return
        if held.result is None:
            self.broke("where every fault passes, nobody is missing", f"{held.name} ended with {held.failure!r}")
            return
        for phase in range(len(held.protocol.steps)):
            closing = self._closed.get((held.number, phase))
            if held.protocol.steps[phase].is_in_dispute:
                continue
            if closing is None or not everybody <= {*closing.places} <= everybody | lying:
                self.broke("where every fault passes, nobody is missing", f"{held.name}, phase {phase}: {closing}")


def _payload_of(report: bytes) -> msgspec.Raw:
    message = msgspec.msgpack.decode(report, type=Report)
    return message.payload
