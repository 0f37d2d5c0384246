"""Faults planted in the code, one at a time: what somebody could get wrong about journals, and a world has to find.

Each is a function that returns patches of the real code; `planted` puts them in place.
"""

import contextlib
import copy
import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from types import ModuleType
from typing import Any, Final, TypeAlias
from unittest import mock

import msgspec
from psephos.agents import driver as driver_module
from psephos.agents import person_journal, session_journal
from psephos.agents.driver import Driver
from psephos.agents.host_journal import HostJournal
from psephos.agents.person_journal import PersonJournal, PersonSession
from psephos.protocol import client_machine, masked_sessions, replay, server_machine
from psephos.protocol import rules as rules_module
from psephos.protocol.admission import Admission
from psephos.protocol.client_machine import ClientMachine
from psephos.protocol.client_table import ClientState, ClientTable
from psephos.protocol.effects import Effect, Keep, Send
from psephos.protocol.errors import JournalError, RemoteProtocolError
from psephos.protocol.masked_sessions import PartyMasking
from psephos.protocol.masking import MaskingMove, MaskingRules, MaskingServer
from psephos.protocol.masking import server as masking_server
from psephos.protocol.masking.evidence import WrongBox
from psephos.protocol.messages import Acknowledgement
from psephos.protocol.moral_preferences.phases import PerturbedPhase
from psephos.protocol.phase_reports import PhaseReports
from psephos.protocol.phases import PhasedProtocol
from psephos.protocol.privacy import Budget, Ledger
from psephos.protocol.records import Accepted, Chosen, ClientRecord, Drawn, PhaseClosed, PhaseOpened, ServerRecord
from psephos.protocol.server_machine import ServerMachine
from psephos.protocol.session_flow import SessionFlow
from psephos.protocol.states import Move, State
from psephos.transports import Channel
from psephos.transports.faults import Faults
from psephos.transports.shared import SharedTransport
from simulation.cases import LEVELS
from simulation.disks import MemoryDisk
from simulation.plans import CHOSEN, NO_LEVEL, Crash, OtherChoice, Partition

__all__ = [
    "FAULTS",
    "OF_KINDS",
    "OF_MASKS",
    "RARE",
    "a_choice_that_is_no_level_is_taken",
    "a_kept_report_is_forgotten",
    "a_later_choice_is_taken",
    "planted",
]

Patches: TypeAlias = Iterator[Any]
_MASKED: Final = tuple(MaskingMove).index(MaskingMove.MASKED)


def _replacing(owner: type | ModuleType, name: str, make: Callable[[Any], Any]) -> Any:
    """Return a patch of a method by what `make` makes of it."""
    return mock.patch.object(owner, name, make(getattr(owner, name)))


def _changing_effects(owner: type, name: str, change: Callable[[list[Effect]], list[Effect]]) -> Any:
    """Return a patch of a method whose effects are changed."""

    def make(method: Any) -> Any:
        @functools.wraps(method)
        def changed(self: Any, *arguments: Any, **named: Any) -> list[Effect]:
            return change(method(self, *arguments, **named))

        return changed

    return _replacing(owner, name, make)


def _keeps(effect: Effect, *kinds: type) -> bool:
    return isinstance(effect, Keep) and isinstance(effect.record, kinds)


def _kept_last(*kinds: type) -> Callable[[list[Effect]], list[Effect]]:
    """Return what keeps such records after everything else."""
    return lambda effects: sorted(effects, key=lambda effect: _keeps(effect, *kinds))


def _not_kept(*kinds: type) -> Callable[[list[Effect]], list[Effect]]:
    """Return what does not keep such records."""
    return lambda effects: [effect for effect in effects if not _keeps(effect, *kinds)]


def a_journal_forgets_its_last_record() -> Patches:
    def make(method: Any) -> Any:
        def open_disk(self: MemoryDisk, about: Any) -> Any:
            kept, rows, is_new = method(self, about)
            return kept, rows[:-1], is_new

        return open_disk

    yield _replacing(MemoryDisk, "open", make)


def a_report_is_acknowledged_before_the_commit() -> Patches:
    yield _changing_effects(ServerMachine, "_on_report", _kept_last(Accepted))


def an_accepted_report_is_not_kept() -> Patches:
    yield _changing_effects(ServerMachine, "_on_report", _not_kept(Accepted))


def a_report_leaves_before_it_is_kept() -> Patches:
    yield _changing_effects(ClientMachine, "_on_request", _kept_last(Drawn))


def a_report_is_kept_without_its_losses() -> Patches:
    def change(effects: list[Effect]) -> list[Effect]:
        return [
            Keep(msgspec.structs.replace(effect.record, entries=()))
            if isinstance(effect, Keep) and isinstance(effect.record, Drawn)
            else effect
            for effect in effects
        ]

    yield _changing_effects(ClientMachine, "_on_request", change)


def a_phase_is_drawn_again_after_a_restart() -> Patches:
    def make(method: Any) -> Any:
        def replay(records: Sequence[ClientRecord], protocol: Any, **given: Any) -> Any:
            return method([record for record in records if not isinstance(record, Drawn)], protocol, **given)

        return replay

    yield _replacing(client_machine, "replay_client", make)


def a_budget_is_held_for_each_process() -> Patches:
    def ledger(self: PersonJournal, person: str, budget: Budget | None, *, session_id: str = "") -> Ledger:
        del self, session_id
        return Ledger(person, budget=budget)

    yield mock.patch.object(PersonJournal, "ledger", ledger)


def a_reservation_is_lost() -> Patches:
    def make(method: Any) -> Any:
        def ledger(self: PersonJournal, person: str, budget: Budget | None, *, session_id: str = "") -> Ledger:
            whole: Ledger = method(self, person, budget, session_id=session_id)
            return Ledger(person, budget=budget, entries=whole.entries)

        return ledger

    yield _replacing(PersonJournal, "ledger", make)


def a_report_is_counted_twice_after_a_reconnection() -> Patches:
    def make(method: Any) -> Any:
        def take_up(self: Any, client: ClientState) -> list[Effect]:
            effects: list[Effect] = method(self, client)
            phase_reports: PhaseReports = getattr(self, "_phase_reports")  # noqa: B009  a fault may reach inside
            if client.state is State.REPORTED and phase_reports.payloads:
                counted = phase_reports.payloads[-1].get(client.place)
                if counted is not None:
                    doubled = [2 * value for value in msgspec.msgpack.decode(counted)]
                    phase_reports.payloads[-1][client.place] = msgspec.msgpack.encode(doubled)
            return effects

        return take_up

    yield _replacing(ServerMachine, "_take_up", make)


def a_reconnection_asks_for_a_second_report() -> Patches:
    def make(method: Any) -> Any:
        def take_up(self: Any, client: ClientState) -> list[Effect]:
            phase_reports: PhaseReports = getattr(self, "_phase_reports")  # noqa: B009  a fault may reach inside
            if client.state is State.REPORTED and phase_reports.step >= 0:
                client.state = State.ASKED
                client.num_reports -= 1
                phase_reports.clients.num_awaited += 1
            effects: list[Effect] = method(self, client)
            return effects

        return take_up

    yield _replacing(ServerMachine, "_take_up", make)


def a_closing_is_not_kept() -> Patches:
    yield _changing_effects(SessionFlow, "close", _not_kept(PhaseClosed))


def an_opening_is_not_kept() -> Patches:
    yield _changing_effects(SessionFlow, "_open_next", _not_kept(PhaseOpened))


def an_outcome_is_told_before_its_closing_is_kept() -> Patches:
    yield _changing_effects(SessionFlow, "close", _kept_last(PhaseClosed))


def noise_is_drawn_again_after_a_restart() -> Patches:
    def make(method: Any) -> Any:
        def settle(self: PhaseReports, places: Sequence[int], drawn: Any = None) -> Any:
            del drawn
            return method(self, places)

        return settle

    yield _replacing(PhaseReports, "settle", make)


def a_late_report_is_counted() -> Patches:
    def make(method: Any) -> Any:
        def on_report(self: Any, client: ClientState, message: Any) -> list[Effect]:
            if client.state is State.LATE:
                kept = Keep(Accepted(message.step, client.place, bytes(message.payload)))
                return [kept, Send((client.party,), Acknowledgement(message.step))]
            effects: list[Effect] = method(self, client, message)
            return effects

        return on_report

    yield _replacing(ServerMachine, "_on_report", make)


def a_restarted_server_forgets_one_report() -> Patches:
    def make(method: Any) -> Any:
        def replay(records: Sequence[ServerRecord], *given: Any) -> Any:
            return method(records[:-1] if isinstance(records[-1], Accepted) else records, *given)

        return replay

    yield _replacing(server_machine, "replay_server", make)


def a_predecessors_loss_is_told_against_its_successor() -> Patches:
    def make(method: Any) -> Any:
        async def read(self: Driver, peer: str, channel: Channel, **given: float) -> bool:
            outbox = self.outboxes.get(peer)
            is_usable: bool = await method(self, peer, channel, **given)
            if self.outboxes.get(peer) is not outbox:
                self.act(getattr(self, "_machine").receive_loss(peer))  # noqa: B009  a fault may reach inside
            return is_usable

        return read

    yield _replacing(Driver, "read", make)


def a_predecessors_messages_go_to_its_successor() -> Patches:
    def without(peer: str, effect: Effect) -> Effect:
        del peer
        return effect

    yield mock.patch.object(driver_module, "_mute_peer", without)


def a_loss_is_a_departure() -> Patches:
    def make(method: Any) -> Any:
        def receive_loss(self: Any, sender: str) -> list[Effect]:
            effects: list[Effect] = method(self, sender)
            clients: ClientTable = getattr(self, "_clients")  # noqa: B009  a fault may reach inside
            client = clients.by_party[sender]
            if client.state is State.ASKED:
                effects += getattr(self, "_on_departure")(client)  # noqa: B009  a fault may reach inside
            return effects

        return receive_loss

    yield _replacing(ServerMachine, "receive_loss", make)


def silence_is_a_fault() -> Patches:
    def receive_silence(self: ClientMachine, sender: str, seconds: float) -> list[Effect]:
        return self.receive_fault(sender, RemoteProtocolError(f"silent for {seconds:g} seconds", sender=sender))

    yield mock.patch.object(ClientMachine, "receive_silence", receive_silence)


def only_the_first_of_a_group_is_kept() -> Patches:
    def make(method: Any) -> Any:
        async def keep_in_thread(self: Driver, journal: Any, records: list[Any]) -> None:
            await method(self, journal, records[:1])

        return keep_in_thread

    yield _replacing(Driver, "_keep_in_thread", make)


def a_party_goes_on_without_its_journal() -> Patches:
    def make(method: Any) -> Any:
        def keep(self: PersonSession, records: Sequence[ClientRecord]) -> None:
            with contextlib.suppress(JournalError):
                method(self, records)

        return keep

    yield _replacing(PersonSession, "keep", make)


def a_server_goes_on_without_its_journal() -> Patches:
    def make(method: Any) -> Any:
        def keep(self: Any, records: Sequence[ServerRecord]) -> None:
            with contextlib.suppress(JournalError):
                method(self, records)

        return keep

    yield _replacing(session_journal.SessionJournal, "keep", make)


def another_configuration_is_taken_up() -> Patches:
    yield mock.patch.object(session_journal, "_check_configuration", return_value=None)


def a_released_session_waits_for_nobody() -> Patches:
    yield mock.patch.object(server_machine, "_TO_BE_TAKEN_UP", (State.JOINED, State.ASKED))


def a_later_choice_is_taken() -> Patches:
    def make_choose(method: Any) -> Any:
        def choose(self: Admission, place: int, chosen: Sequence[int]) -> bool:
            _held_choices(self).pop(place, None)
            return method(self, place, chosen)

        return choose

    def make_check(method: Any) -> Any:
        def why_not(self: Admission, place: int, chosen: Sequence[int]) -> str:
            with mock.patch.dict(_held_choices(self)):
                _held_choices(self).pop(place, None)
                return method(self, place, chosen)

        return why_not

    yield _replacing(Admission, "choose", make_choose)
    yield _replacing(Admission, "_why_not_chosen", make_check)


def _held_choices(admission: Admission) -> dict[int, tuple[int, ...]]:
    return getattr(admission, "_choices")  # noqa: B009  a fault may reach inside


def a_choice_that_is_no_level_is_taken() -> Patches:
    yield mock.patch.object(Admission, "_why_not_chosen", return_value="")


def a_choice_is_not_kept() -> Patches:
    yield _changing_effects(ServerMachine, "_on_hello", _not_kept(Chosen))


def a_restarted_server_forgets_what_was_chosen() -> Patches:
    def make(method: Any) -> Any:
        def replay(records: Sequence[ServerRecord], *given: Any) -> Any:
            return method([record for record in records if not isinstance(record, Chosen)], *given)

        return replay

    yield _replacing(server_machine, "replay_server", make)


def the_ledger_charges_the_first_level() -> Patches:
    def change(effects: list[Effect]) -> list[Effect]:
        return [_charging(effect, LEVELS[0]) for effect in effects]

    yield _changing_effects(ClientMachine, "_on_request", change)


def _charging(effect: Effect, epsilon: float) -> Effect:
    if not isinstance(effect, Keep) or not isinstance(effect.record, Drawn):
        return effect
    entries = tuple(
        msgspec.structs.replace(entry, claimed=epsilon, proven=epsilon) if entry.proven else entry
        for entry in effect.record.entries
    )
    return Keep(msgspec.structs.replace(effect.record, entries=entries))


def the_ledger_charges_the_greatest_level() -> Patches:
    def make(method: Any) -> Any:
        def losses_of(self: PerturbedPhase, public: Sequence[int]) -> Any:
            return method(self, [NO_LEVEL - 1] * len(public))

        return losses_of

    yield _replacing(PerturbedPhase, "losses_of", make)


def reports_are_weighed_by_the_roster() -> Patches:
    def make(method: Any) -> Any:
        def choose(self: Admission, place: int, chosen: Sequence[int]) -> bool:
            before = self.public.copy()
            is_new = method(self, place, chosen)
            self.public[:] = before
            return is_new

        return choose

    def make_welcome(method: Any) -> Any:
        def welcome_of(self: Admission, place: int) -> Any:
            welcome = method(self, place)
            chosen = _held_choices(self).get(place, ())
            return msgspec.structs.replace(welcome, public=chosen) if chosen else welcome

        return welcome_of

    yield _replacing(Admission, "choose", make)
    yield _replacing(Admission, "welcome_of", make_welcome)


_CHOICES: dict[str, Any] = {
    "sessions": (CHOSEN,),
    "num_parties": 3,
    "affordable": None,
    "deadline": 300.0,
    "is_gentle": False,
}

RARE: dict[Callable[[], Patches], dict[str, Any]] = {
    a_reservation_is_lost: {
        "sessions": ("dpwevote", "dpwevote"),
        "affordable": 1,
        "is_gentle": False,
        "deadline": 60.0,
    },
    noise_is_drawn_again_after_a_restart: {"sessions": ("fair-voting-central",)},
    silence_is_a_fault: {
        "sessions": ("moral-preferences",),
        "quorum": 1.0,
        "deadline": 1e6,
        "has_certificates": True,
        "affordable": None,
        "faults": Faults(delay=7.0),
        "is_gentle": True,
        "events": (Partition("p1", begin=2.0, seconds=100.0),),
    },
    a_late_report_is_counted: {
        "sessions": ("dpwevote",),
        "is_gentle": False,
        "num_parties": 4,
        "quorum": 1,
        "deadline": 5.0,
        "faults": Faults(delay=5.0),
    },
    a_later_choice_is_taken: _CHOICES
    | {
        "events": (
            OtherChoice("p0", run=1, choice=2, is_forged=True),
            Crash("p0", run=0, step=3, seconds=3.0),
            Crash("server0", run=0, step=10, seconds=0.3),
        )
    },
    a_choice_that_is_no_level_is_taken: _CHOICES
    | {"events": (OtherChoice("p1", run=0, choice=NO_LEVEL, is_forged=True),)},
    a_choice_is_not_kept: _CHOICES,
    a_restarted_server_forgets_what_was_chosen: _CHOICES | {"events": (Crash("server0", run=0, step=30, seconds=0.3),)},
    the_ledger_charges_the_first_level: _CHOICES,
    the_ledger_charges_the_greatest_level: _CHOICES,
    reports_are_weighed_by_the_roster: _CHOICES,
}
"""What plans are like in which a fault shows that few plans show."""


def a_kept_report_is_forgotten() -> Patches:
    """A person's journal knows nothing of what earlier sessions of a game have drawn, and no server says so."""
    yield mock.patch.object(PersonJournal, "recall", return_value={})
    yield mock.patch.object(PersonSession, "_other_report", return_value="")
    yield mock.patch.object(ServerMachine, "_tell_of_kept", return_value=[])


FAULTS: dict[Callable[[], Patches], int] = {
    a_journal_forgets_its_last_record: 60,
    a_report_is_acknowledged_before_the_commit: 60,
    an_accepted_report_is_not_kept: 60,
    a_report_leaves_before_it_is_kept: 60,
    a_report_is_kept_without_its_losses: 60,
    a_phase_is_drawn_again_after_a_restart: 60,
    a_budget_is_held_for_each_process: 60,
    a_reservation_is_lost: 150,
    a_report_is_counted_twice_after_a_reconnection: 60,
    a_reconnection_asks_for_a_second_report: 60,
    a_closing_is_not_kept: 60,
    an_opening_is_not_kept: 60,
    an_outcome_is_told_before_its_closing_is_kept: 60,
    noise_is_drawn_again_after_a_restart: 250,
    a_late_report_is_counted: 60,
    a_restarted_server_forgets_one_report: 60,
    a_predecessors_loss_is_told_against_its_successor: 60,
    a_predecessors_messages_go_to_its_successor: 250,
    a_loss_is_a_departure: 60,
    silence_is_a_fault: 60,
    only_the_first_of_a_group_is_kept: 60,
    a_party_goes_on_without_its_journal: 60,
    a_server_goes_on_without_its_journal: 60,
    another_configuration_is_taken_up: 150,
    a_released_session_waits_for_nobody: 60,
    a_later_choice_is_taken: 10,
    a_choice_that_is_no_level_is_taken: 10,
    a_choice_is_not_kept: 10,
    a_restarted_server_forgets_what_was_chosen: 10,
    the_ledger_charges_the_first_level: 10,
    the_ledger_charges_the_greatest_level: 10,
    reports_are_weighed_by_the_roster: 10,
}
"""Each fault, and in how many runs at most, of the seeds from 0 on, it is found."""


# Of masked sums


def secrets_are_drawn_anew_after_a_restart() -> Patches:
    """What was said is said again, and what follows is of other keys and masks."""

    def restore(self: Any, answered: Sequence[Any], sealed: bytes) -> None:
        for number, (request, _) in enumerate(answered):
            heard = masked_sessions._read_request(self._phase.steps[number], request)  # pyright: ignore[reportPrivateUsage]  a fault is planted inside
            if not number:
                self._begin(heard, self._entropy())
            self._say(heard, None)
        self.sealed = sealed

    yield mock.patch.object(PartyMasking, "restore", restore)


def a_row_is_masked_again_after_a_restart() -> Patches:
    """By the same masks, with new noise."""

    def make(method: Any) -> Any:
        def replay(records: Sequence[ClientRecord], protocol: Any, **given: Any) -> Any:
            kept = [each for each in records if not isinstance(each, Drawn) or each.step < _MASKED]
            return method(kept, protocol, **given)

        return replay

    yield _replacing(client_machine, "replay_client", make)


def roots_are_kept_unsealed() -> Patches:
    def same(_: PartyMasking, root: bytes) -> bytes:
        return root

    yield mock.patch.object(PartyMasking, "_seal", same)
    yield mock.patch.object(PartyMasking, "_open", same)


def a_server_that_lied_is_spoken_to_again() -> Patches:
    """That it lied is not kept."""
    yield mock.patch.object(ClientMachine, "_leave_effects", return_value=[])


def a_sum_of_few_is_opened() -> Patches:
    """The server waits for nobody, and asks one party for shares."""

    def make(method: Any) -> Any:
        def begin(self: MaskingServer, rules: MaskingRules, primitives: Any) -> None:
            own = copy.copy(rules) if rules.digest else rules  # of the same digest
            object.__setattr__(own, "threshold", 1)
            method(self, own, primitives)

        return begin

    def least_of(protocol: PhasedProtocol[Any, Any]) -> dict[str, int]:
        return dict.fromkeys(rules_module.names_of(protocol), 1)

    yield _replacing(MaskingServer, "__init__", make)
    yield mock.patch.object(rules_module, "_least_of", least_of)


def a_circle_is_drawn_anew_after_a_restart() -> Patches:
    def make(method: Any) -> Any:
        def masking(*given: Any, **_: Any) -> Any:
            return method(*given, secret=b"")

        return masking

    yield _replacing(server_machine, "ServerMasking", make)


def whoever_is_accused_is_named() -> Patches:
    """The server believes who accuses."""

    def make(method: Any) -> Any:
        def judge(rules: MaskingRules, evidence: Any, primitives: Any) -> int | None:
            return evidence.place if isinstance(evidence, WrongBox) else method(rules, evidence, primitives)

        return judge

    yield _replacing(masking_server, "verdict", make)


def who_is_not_asked_in_a_dispute_is_gone() -> Patches:
    """For a server that is started anew."""

    def of(phase_reports: PhaseReports) -> Any:
        return phase_reports.clients.able_to(Move.REQUEST)

    def make(method: Any) -> Any:
        def reopen(record: Any, phase_reports: PhaseReports) -> None:
            with mock.patch.object(PhaseReports, "next_clients", property(of)):
                method(record, phase_reports)

        return reopen

    yield _replacing(replay, "_reopen", make)


def a_window_is_half_as_long() -> Patches:
    def make(method: Any) -> Any:
        def within(timed: Any, *, now: float, seconds: float) -> Any:
            return method(timed, now=now, seconds=seconds / 2)

        return within

    yield _replacing(person_journal, "keep_recent", make)


def a_window_is_twice_as_long() -> Patches:
    def make(method: Any) -> Any:
        def within(timed: Any, *, now: float, seconds: float) -> Any:
            return method(timed, now=now, seconds=2 * seconds)

        return within

    yield _replacing(person_journal, "keep_recent", make)


def a_host_commits_after_it_has_written() -> Patches:
    def make(method: Any) -> Any:
        def begin(self: Any, inner: Any, nursery: Any, **given: Any) -> None:
            method(self, inner, nursery, **{**given, "before_writing": None})

        return begin

    yield _replacing(SharedTransport, "__init__", make)


def a_hosts_rows_are_those_of_one_party() -> Patches:
    """As it begins again, all its parties have what the first one has."""

    def make(method: Any) -> Any:
        def of(self: Any, party: str) -> PersonJournal:
            rows: dict[str, Any] = self._rows
            first = next(iter(rows.values()), ())
            self._rows = {party: [*first]}
            return method(self, party)

        return of

    yield _replacing(HostJournal, "person_journal", make)


OF_KINDS: dict[Callable[[], Patches], tuple[str, int]] = {
    a_window_is_half_as_long: ("windows", 4),
    a_window_is_twice_as_long: ("windows", 2),
    a_host_commits_after_it_has_written: ("hosts", 1),
    a_hosts_rows_are_those_of_one_party: ("hosts", 14),
    whoever_is_accused_is_named: ("liars", 11),
}
"""Each fault of windows, hosts and accusations, with the kind and the seed of a run that finds it."""
OF_MASKS: dict[Callable[[], Patches], int] = {
    secrets_are_drawn_anew_after_a_restart: 1,
    a_row_is_masked_again_after_a_restart: 1,
    a_report_is_kept_without_its_losses: 1,
    roots_are_kept_unsealed: 1,
    a_server_that_lied_is_spoken_to_again: 2,
    a_sum_of_few_is_opened: 2,
    a_circle_is_drawn_anew_after_a_restart: 35,
    whoever_is_accused_is_named: 43,
    who_is_not_asked_in_a_dispute_is_gone: 3,
}
"""Each fault of masked sums, and the seed of a run that finds it."""


@contextlib.contextmanager
def planted(fault: Callable[[], Patches]) -> Generator[None]:
    """Plant a fault in the code while the block runs."""
    with contextlib.ExitStack() as stack:
        for patch in fault():
            stack.enter_context(patch)
        yield
