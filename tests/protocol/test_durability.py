"""Machines that keep records: what is kept comes first, and a machine that is made again from records goes on.

Each life of a machine has noise of its own here, so that whatever is drawn a second time is another report.
"""

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeAlias
from unittest import mock

import masked_sums
import msgspec
import numpy as np
import pytest
from helpers import (
    SERVER,
    SESSION_NAME,
    Session,
    drop_of,
    failure_of,
    hello,
    make_fair_inputs,
    make_fair_vote,
    make_inputs,
    make_preference_inputs,
    make_preferences,
    make_vote,
    messages_of,
    raw,
)
from lone_machines import release, weight_report
from makers import as_usual
from psephos.protocol import (
    ClientMachine,
    ConfigurationError,
    QuorumError,
    RemoteProtocolError,
    ServerMachine,
    SessionResult,
    SessionRules,
    SimulatedNoise,
    StrangerError,
    UnexpectedMessageError,
)
from psephos.protocol.effects import Attended, Charged, Closed, Effect, Fail, Finish, Keep, Opened, Presence, Send
from psephos.protocol.elementary import quotient_up
from psephos.protocol.errors import ConnectionLostError, JournalError
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.messages import (
    Abort,
    Acknowledgement,
    Message,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Welcome,
    encode,
    encode_payload,
)
from psephos.protocol.moral_preferences import Paradigm
from psephos.protocol.phases import Phase
from psephos.protocol.privacy import Budget, Ledger, NeighboringRelation, PrivacyLoss, TrustModel
from psephos.protocol.records import (
    Accepted,
    Acknowledged,
    ClientRecord,
    Drawn,
    KeptTally,
    PhaseClosed,
    PhaseOpened,
    Reserved,
    ServerRecord,
    SessionEnded,
    SessionFailed,
    receipt_of,
)
from psephos.protocol.roles import Side
from psephos.protocol.roster import Roster
from psephos.protocol.sides import Party
from psephos.protocol.states import KEPT, SessionState, State
from psephos.protocol.tally import Tally
from strangers import BoundedMean, Bounds, TrustedSums
from thoroughness import draws

CHARTER = SessionDescriptor("0123456789abcdef" * 2, expires=4_000_000_000)
VOTE = make_vote()
TWO_OF_THREE = SessionRules(quorum=2)
SECRET = b"of the server's key"


def make_session(*, rules: SessionRules | None = None, budget: Budget | None = None) -> Session:
    own = [f"{place}c" * 32 for place in range(3)]
    inputs = make_inputs(VOTE, 3)
    return Session(VOTE, inputs, rules=rules, budget=budget, fingerprints=own, descriptor=CHARTER)


def noise_of_life(number: int) -> SimulatedNoise:
    return SimulatedNoise(1000 + number, session=SESSION_NAME)


class CrashError(Exception):
    """A process ends."""


class World:
    """A session whose machines keep records, and begin again when they crash.

    Args:
        session: what it is.
        crash_at: the number of the record at which the server or a client crashes, counted over all of them.
        is_kept: whether that record is durable before the crash.
    """

    def __init__(self, session: Session, *, crash_at: int = -1, is_kept: bool = True) -> None:
        self.session = session
        self.crash_at = crash_at
        self.is_kept = is_kept
        self.num_kept = 0
        self.num_lives = 0
        self.kept_by_server: list[ServerRecord] = []
        self.kept_by_client: dict[str, list[ClientRecord]] = {name: [] for name in session.names}
        self.sent: dict[tuple[str, int], set[bytes]] = collections.defaultdict(set)
        self.told: dict[tuple[str, int], set[bytes]] = collections.defaultdict(set)
        self.results: dict[str, msgspec.Struct] = {}
        self.digests: set[str | None] = set()
        self.failures: dict[str, Exception] = {}
        self.queue: collections.deque[tuple[str, str, Message]] = collections.deque()
        self.clients: dict[str, ClientMachine] = {}
        self.connected: set[str] = set()
        self.server = self._new_server()

    def run(self) -> None:
        """Run the session to its end, whoever crashes on the way."""
        for name in self.session.names:
            self._guarded(name, lambda name=name: self._begin(name))
        while self.queue:
            sender, recipient, message = self.queue.popleft()
            if recipient == SERVER:
                self._guarded(SERVER, lambda s=sender, m=message: self._act(SERVER, self.server.receive(s, m)))
            elif recipient in self.clients:
                client = self.clients[recipient]
                self._guarded(recipient, lambda c=client, m=message: self._act(c.party, c.receive(SERVER, m)))

    def recalled(self, name: str) -> Finish | None:
        """Return what a party that is made again knows of the ending, without a word to anybody."""
        client = self.session.client(name, ledger=Ledger(name), records=tuple(self.kept_by_client[name]))
        ending = client.recorded_finish
        assert client.transcript == self.clients[name].transcript
        return ending

    def _new_server(self) -> ServerMachine:
        self.num_lives += 1
        records = tuple(self.kept_by_server)
        return self.session.server(noise=noise_of_life(self.num_lives), records=records, secret=SECRET)

    def _begin(self, name: str) -> None:
        self.num_lives += 1
        records = self.kept_by_client[name]
        entries = [entry for record in records if isinstance(record, Drawn) for entry in record.entries]
        ledger = Ledger(name, budget=self.session.budget, entries=entries)
        client = self.session.client(name, noise=noise_of_life(self.num_lives), ledger=ledger, records=tuple(records))
        self.clients[name] = client
        self.connected.add(name)
        self._act(name, client.start())

    def _guarded(self, party: str, step: Callable[[], None]) -> None:
        try:
            step()
        except CrashError:
            if party == SERVER:
                self.queue.clear()
                self.connected.clear()
                for client in self.clients.values():
                    client.receive_loss(SERVER)
                self.server = self._new_server()
                self._act(SERVER, self.server.start())
                returning = [name for name in self.session.names if name not in self.results]
            else:
                self.connected.discard(party)
                self.queue = collections.deque(each for each in self.queue if party not in each[:2])
                self._act(SERVER, self.server.receive_loss(party))
                returning = [party]
            for name in returning:
                self._begin(name)

    def start(self) -> "World":
        self._guarded(SERVER, lambda: self._act(SERVER, self.server.start()))
        return self

    def _act(self, party: str, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Keep(record):
                    crashes = self.num_kept == self.crash_at
                    self.num_kept += 1
                    if not crashes or self.is_kept:
                        if isinstance(record, ServerRecord):
                            self.kept_by_server.append(record)
                        else:
                            self.kept_by_client[party].append(record)
                    if crashes:
                        raise CrashError
                case Send(recipients, message):
                    for recipient in recipients:
                        if recipient != SERVER and recipient not in self.connected:
                            continue
                        self._note(party, recipient, message)
                        self.queue.append((party, recipient, message))
                case Finish(result):
                    self.results[party] = result
                    if party != SERVER:
                        self.digests.add(self.clients[party].transcript)
                case Fail(error):
                    self.failures[party] = error
                case Closed() | Opened() | Charged():
                    self._note_logged(party, effect)
                case _:
                    pass

    def _note_logged(self, party: str, effect: Closed | Opened | Charged) -> None:
        """Check what an event file is told: as much as a peer, since it is read after a crash as well."""
        steps = {step.name: number for number, step in enumerate(self.session.protocol.steps)}
        match effect:
            case Closed(name, outcome=outcome) if name in steps:
                closed = {each.step for each in self.kept_by_server if isinstance(each, PhaseClosed)}
                assert steps[name] in closed, "a phase was said to have closed before that was kept"
                self.told["outcome", steps[name]].add(bytes(encode_payload(outcome)))
            case Opened(name):
                opened = {each.step for each in self.kept_by_server if isinstance(each, PhaseOpened)}
                assert steps[name] in opened, "a phase was said to be open before that was kept"
            case Charged(charge):
                drawn = [each for each in self.kept_by_client[party] if isinstance(each, Drawn)]
                assert charge.entry in [entry for each in drawn for entry in each.entries], "a loss was told unkept"
            case _:
                pass  # nobody has been asked yet

    def _note(self, sender: str, recipient: str, message: Message) -> None:
        if isinstance(message, Report):
            self.sent[sender, message.step].add(encode(message))
            drawn = [each for each in self.kept_by_client[sender] if isinstance(each, Drawn)]
            assert encode(message) in {each.report for each in drawn}, "a report left before it was kept"
        elif isinstance(message, Acknowledgement) and sender == SERVER:
            place = self.session.names.index(recipient)
            kept = {(each.step, each.place) for each in self.kept_by_server if isinstance(each, Accepted)}
            assert (message.step, place) in kept, "a report was acknowledged before it was kept"
        elif isinstance(message, Request):
            opened = {each.step for each in self.kept_by_server if isinstance(each, PhaseOpened)}
            assert message.step in opened, "a phase was told before its opening was kept"
            self.told["request", message.step].add(encode(Request(message.step, message.payload)))
        elif isinstance(message, Release):
            closed = {each.step for each in self.kept_by_server if isinstance(each, PhaseClosed)}
            assert len(closed) == self.session.protocol.num_public_steps, "a release was told before it was kept"
            self.told["release", 0].add(bytes(message.payload))


def vote_of_three() -> Session:
    return make_session()


def trusted_preferences() -> Session:
    protocol = make_preferences(paradigm=Paradigm.RLCP)
    return Session(protocol, make_preference_inputs(protocol, 3), descriptor=CHARTER, fingerprints=["a", "b", "c"])


def trusted_election() -> Session:
    protocol = make_fair_vote(2, 1, mechanism="laplace")
    return Session(protocol, make_fair_inputs(protocol), descriptor=CHARTER, fingerprints=["a", "b", "c"])


def chosen_epsilons() -> Session:
    """Return a session whose server hears of voters' ε by their Hellos alone."""
    protocol = make_preferences(epsilons=(0.5, 1.0, 2.0), chosen_by="voter")
    inputs = make_preference_inputs(protocol, 3)
    session = Session(protocol, inputs, descriptor=CHARTER, fingerprints=["a", "b", "c"])
    session.roster = Roster(session.names, protocol.encode_public({}, num_parties=3), fingerprints=["a", "b", "c"])
    return session


def masked_sum() -> Session:
    return masked_sums.make_session(3, fingerprints=["a", "b", "c"])


class SoFar(msgspec.Struct, frozen=True):
    """What a phase publishes."""

    total: int


class PublishedSums(TrustedSums):
    """Publishes its noisy sum as it closes."""

    def outcome(self, tallies: Sequence[Tally]) -> SoFar:
        return SoFar(int(tallies[-1].totals[0]))


class TwoSums(BoundedMean):
    """Two sums, each published with noise of the server's own: the first one in the question of the second."""

    name: ClassVar[str] = "two-sums"

    def make_phases(self) -> Iterable[Phase]:
        greatest = self.mechanism.greatest
        noise = VectorLaplace(quotient_up(2 * greatest, self.parameters.epsilon), 2 * greatest, 1 << 40)
        loss = PrivacyLoss(
            mechanism="discrete Laplace",
            event=noise.event,
            claimed=self.parameters.epsilon,
            unit="value",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.CENTRAL,
        )
        for name in ("first", "second"):
            yield PublishedSums(name, columns=range(1), bound=greatest, tally_mechanism=noise, losses=[loss])


def published_sums() -> Session:
    protocol = TwoSums(Bounds())
    inputs = protocol.encode({"value": [3.0, 50.0, 99.0]})
    return Session(protocol, inputs, descriptor=CHARTER, fingerprints=["a", "b", "c"])


MAKERS = [published_sums, vote_of_three, trusted_preferences, trusted_election, chosen_epsilons, masked_sum]


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("make", MAKERS)
def test_a_crash_at_any_record_costs_nothing_and_draws_nothing_again(
    make: Callable[[], Session], *, is_kept: bool
) -> None:
    whole = World(make()).start()
    whole.run()
    assert whole.num_kept > 10
    for place in range(int(is_kept), whole.num_kept, draws(5, full=1)):
        world = World(make(), crash_at=place, is_kept=is_kept).start()
        world.run()
        assert not world.failures
        assert set(world.results) == {SERVER, *world.session.names}
        assert all(len(reports) == 1 for reports in world.sent.values()), f"drawn twice after a crash at {place}"
        assert all(len(told) == 1 for told in world.told.values()), f"told twice, differently, after {place}"
        assert world.digests == {world.server.transcript}
        result = world.results[SERVER]
        assert isinstance(result, SessionResult)
        assert set(result.num_received) <= {3, None}
        assert all(world.results[name] == result.outcome for name in world.session.names)
        for name, records in world.kept_by_client.items():
            drawn = [record.step for record in records if isinstance(record, Drawn)]
            steps = world.session.protocol.steps
            assert drawn == [number for number, step in enumerate(steps) if not step.is_in_dispute], name
            self_told = records[-1]
            assert isinstance(self_told, SessionEnded)
            assert (self_told.reason, self_told.transcript) == ("", world.server.transcript)
            assert world.recalled(name) == Finish(result.outcome, result.own_outcomes.get(int(name[1:])))


def test_secrets_of_a_masked_phase_are_sealed_and_lead_to_the_same_bytes_or_to_nothing() -> None:
    world = World(masked_sum()).start()
    world.run()
    session, kept = world.session, world.kept_by_client["p0"]
    records = [record for record in kept if not isinstance(record, SessionEnded)]
    sealed = [record.sealed for record in records if isinstance(record, Drawn)]
    assert sealed[0]
    assert not any(sealed[1:])
    client = session.client("p0", ledger=Ledger("p0"), records=records)
    assert len(messages_of(client.start())) == 1
    first = next(place for place, record in enumerate(records) if isinstance(record, Drawn))
    other = msgspec.structs.replace(records[first], sealed=sealed[0][:-1] + bytes([sealed[0][-1] ^ 1]))
    with pytest.raises(JournalError, match="has secrets of a masked phase that cannot be read: the box does not open"):
        session.client("p0", ledger=Ledger("p0"), records=[*records[:first], other, *records[first + 1 :]])
    shares = records[-1] if isinstance(records[-1], Drawn) else records[-2]
    assert isinstance(shares, Drawn)
    theirs = next(each for each in world.kept_by_client["p1"] if isinstance(each, Drawn) and each.step == shares.step)
    place = records.index(shares)
    swapped = msgspec.structs.replace(shares, report=theirs.report)
    with pytest.raises(JournalError, match="has another answer in step 'sum, unmask' than its secrets lead to"):
        session.client("p0", ledger=Ledger("p0"), records=[*records[:place], swapped])


def test_what_is_sealed_opens_by_all_of_a_party_s_own_secret_and_by_nothing_that_others_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With all else as it was, of any other secret nothing opens: the key of the seal is of no public thing."""
    world = World(masked_sum()).start()
    world.run()
    session, name = world.session, "p0"
    records = [record for record in world.kept_by_client[name] if not isinstance(record, SessionEnded)]
    own = session.party(name)
    others = [
        *(
            own.secret[:place] + bytes([own.secret[place] ^ 1]) + own.secret[place + 1 :]
            for place in range(len(own.secret))
        ),
        *(session.party(other).secret for other in session.names[1:]),
        *(
            name.encode(),
            session.protocol.name.encode(),
            session.descriptor.id.encode(),
            session.descriptor.roster.encode(),
        ),
        bytes(32),
    ]
    for other in others:
        wrong = Party(own.name, own.place, own.row, public=own.public, ledger=Ledger(name), secret=other, sign=own.sign)
        monkeypatch.setattr(session, "party", mock.Mock(return_value=wrong))
        with pytest.raises(JournalError, match="the box does not open"):
            session.client(name, ledger=Ledger(name), records=records)


# A party


def drawn_client() -> tuple[Session, ClientMachine]:
    session = make_session()
    return session, session.client("p0", noise=noise_of_life(1), ledger=Ledger("p0"), records=[])


def answered(client: ClientMachine) -> list[ClientRecord]:
    """Let a new client answer the first phase, and return what it has kept."""
    effects = [*client.start(), *client.receive(SERVER, welcome()), *client.receive(SERVER, Request(0, raw(None)))]
    kept = [effect.record for effect in effects if isinstance(effect, Keep)]
    return [record for record in kept if isinstance(record, ClientRecord)]


def welcome() -> Welcome:
    return msgspec.structs.replace(Welcome.make(VOTE, descriptor=CHARTER))


def test_what_is_drawn_is_kept_before_it_is_charged_or_sent() -> None:
    _, client = drawn_client()
    assert [type(effect) for effect in client.start()] == [Send]
    (kept,) = client.receive(SERVER, welcome())
    assert isinstance(kept, Keep)
    assert isinstance(kept.record, Reserved)
    assert (kept.record.party, kept.record.session, kept.record.protocol) == ("p0", SESSION_NAME, "dpwevote")
    assert kept.record.expires == CHARTER.expires
    phases = [entry.phase for entry in kept.record.entries]
    assert phases == [phase.name for phase in VOTE.phases for _ in phase.losses_of(())]
    request = Request(0, raw(None))
    (drawn, *charged, sent) = client.receive(SERVER, request)
    assert isinstance(drawn, Keep)
    assert isinstance(drawn.record, Drawn)
    assert all(isinstance(effect, Charged) for effect in charged)
    assert isinstance(sent, Send)
    assert drawn.record.request == encode(request)
    assert drawn.record.report == encode(sent.message)
    assert drawn.record.entries == tuple(each.charge.entry for each in charged if isinstance(each, Charged))
    assert client.receive(SERVER, Acknowledgement(0)) == [Keep(Acknowledged(0))]
    assert client.receive(SERVER, Acknowledgement(0)) == []


def test_a_client_made_again_repeats_its_bytes_and_draws_and_charges_nothing() -> None:
    session, client = drawn_client()
    records = answered(client)
    ledger = Ledger("p0")
    again = session.client("p0", noise=noise_of_life(2), ledger=ledger, records=records)
    again.start()
    assert again.receive(SERVER, welcome()) == []  # its room is reserved
    assert again.state is State.REPORTED
    ((_, message),) = messages_of(again.receive(SERVER, Request(0, raw(None))))
    drawn = records[-1]
    assert isinstance(drawn, Drawn)
    assert encode(message) == drawn.report
    assert ledger.entries == ()


@pytest.mark.parametrize(("has_arrived", "missed"), [(False, "weights"), (True, "opinions")])
def test_who_comes_back_too_late_hears_which_phase_closed_without_it(*, has_arrived: bool, missed: str) -> None:
    session, client = drawn_client()
    again = session.client("p0", noise=noise_of_life(2), ledger=Ledger("p0"), records=answered(client))
    again.start()
    for message in (welcome(), *([Acknowledgement(0)] if has_arrived else []), release(is_late=True)):
        again.receive(SERVER, message)
    assert (again.state, again.late_phase) == (State.FINISHED, missed)


def test_a_silent_server_is_left_for_its_fault_unless_it_has_not_said_a_word() -> None:
    client = drawn_client()[1]
    client.start()
    effects = client.receive_silence(SERVER, 30)
    assert isinstance(failure_of(effects), ConnectionLostError)
    assert not any(isinstance(effect, Keep) for effect in effects)
    client = drawn_client()[1]
    answered(client)
    effects = client.receive_silence(SERVER, 3600)
    assert isinstance(failure_of(effects), RemoteProtocolError)
    assert Keep(SessionEnded("server has said nothing for 3600 seconds")) in effects


def test_another_request_for_an_answered_phase_is_a_fault_after_a_restart_too() -> None:
    session, client = drawn_client()
    again = session.client("p0", noise=noise_of_life(2), ledger=Ledger("p0"), records=answered(client))
    again.start()
    again.receive(SERVER, welcome())
    effects = again.receive(SERVER, Request(0, raw([1])))
    assert isinstance(failure_of(effects), UnexpectedMessageError)
    assert isinstance(effects[0], Keep)
    assert isinstance(effects[0].record, SessionEnded)


def test_a_lost_connection_is_no_leaving_and_an_abort_is_one() -> None:
    _, client = drawn_client()
    answered(client)
    (lost,) = client.receive_loss(SERVER)
    assert isinstance(lost, Fail)
    assert isinstance(lost.error, ConnectionLostError)
    session, client = drawn_client()
    records = answered(client)
    (left, _) = client.receive(SERVER, Abort("enough"))
    assert left == Keep(SessionEnded("server ended the session: enough"))
    again = session.client(
        "p0", noise=noise_of_life(2), ledger=Ledger("p0"), records=[*records, SessionEnded("enough")]
    )
    again.start()
    (kept,) = again.receive(SERVER, welcome())  # it left: its room was free, and is reserved again, for what is to come
    assert isinstance(kept, Keep)
    assert isinstance(kept.record, Reserved)
    assert {entry.phase for entry in kept.record.entries} == {"opinions"}


@pytest.mark.parametrize("phase", [0, 1, 2, 7, 1 << 63])
@pytest.mark.parametrize("num_answered", [0, 1, 2])
@pytest.mark.parametrize("is_durable", [True, False])
def test_a_server_that_has_a_report_which_was_never_sent_is_blamed(
    phase: int, num_answered: int, *, is_durable: bool
) -> None:
    """The Hello has said how many there are, and a server that has more lets nobody in."""
    session = make_session()
    client = session.client("p0", noise=noise_of_life(1), ledger=Ledger("p0"), records=[] if is_durable else None)
    client.start()
    client.receive(SERVER, welcome())
    for number in range(num_answered):
        client.receive(SERVER, Request(number, raw(None)))
    if phase < num_answered:
        assert not messages_of(client.receive(SERVER, Acknowledgement(phase)))
        assert client.state is State.REPORTED
        return
    effects = client.receive(SERVER, Acknowledgement(phase))
    error = failure_of(effects)
    assert isinstance(error, UnexpectedMessageError)
    assert str(error) == f"server says that it has a report of phase {phase}, which was never sent"
    assert messages_of(effects) == [((SERVER,), Abort(str(error)))]


def test_an_acknowledgement_before_the_welcome_is_a_fault() -> None:
    _, client = drawn_client()
    client.start()
    assert isinstance(failure_of(client.receive(SERVER, Acknowledgement(0))), RemoteProtocolError)


def test_room_is_asked_for_the_phases_that_are_left_alone() -> None:
    session, client = drawn_client()
    records = answered(client)
    spent = records[-1]
    assert isinstance(spent, Drawn)
    whole = sum(entry.proven for entry in records[0].entries) if isinstance(records[0], Reserved) else 0.0
    ledger = Ledger("p0", budget=Budget(epsilon=whole), entries=spent.entries)
    again = session.client("p0", noise=noise_of_life(2), ledger=ledger, records=records)
    again.start()
    assert again.receive(SERVER, welcome()) == []
    assert ledger.reserved == pytest.approx(whole - sum(entry.proven for entry in spent.entries))


def test_records_without_an_id_of_the_session_are_refused() -> None:
    session = Session(VOTE, make_inputs(VOTE, 3))
    with pytest.raises(ConfigurationError, match=r"descriptor (is|are) .*with an id where records are kept"):
        session.client("p0", records=[])


Alteration: TypeAlias = Callable[[Reserved, Drawn], list[ClientRecord]]
ALTERED: list[tuple[Alteration, str]] = [
    (
        lambda reserved, drawn: [msgspec.structs.replace(reserved, party="p1"), drawn],
        "has this session's id for 'p1'",
    ),
    (
        lambda reserved, drawn: [msgspec.structs.replace(reserved, terms="0c" * 32), drawn],
        "says that the party agreed to other parameters; it is held to them",
    ),
    (
        lambda reserved, drawn: [reserved, msgspec.structs.replace(drawn, step=1)],
        "has a report of phase 1 where 0 is next",
    ),
    (lambda reserved, drawn: [reserved, drawn, drawn], "has a report of phase 0 where 1 is next"),
    (
        lambda reserved, drawn: [reserved, msgspec.structs.replace(drawn, report=drawn.request)],
        "holds something else where a request and its report were kept",
    ),
]


@pytest.mark.parametrize(("alter", "reason"), ALTERED)
def test_records_of_something_else_are_refused(alter: Alteration, reason: str) -> None:
    session, client = drawn_client()
    reserved, drawn = answered(client)
    assert isinstance(reserved, Reserved)
    assert isinstance(drawn, Drawn)
    with pytest.raises(JournalError, match=reason):
        session.client("p0", ledger=Ledger("p0"), records=alter(reserved, drawn))


# A server


def opened(session: Session, *parties: str) -> ServerMachine:
    """Return a server whose parties have joined, so that the first phase is open."""
    server = session.server(noise=noise_of_life(1), records=[])
    server.start()
    for party in parties or session.names:
        server.receive(party, greeting(party))
    return server


greeting = as_usual(hello, session_id=CHARTER.id)


def kept_by(effects: Sequence[Effect]) -> list[ServerRecord]:
    kept = [effect.record for effect in effects if isinstance(effect, Keep)]
    return [record for record in kept if isinstance(record, ServerRecord)]


def test_a_report_is_kept_and_then_acknowledged_each_time_it_comes() -> None:
    server = opened(make_session())
    assert server.receive("p0", weight_report(2)) == [
        Keep(Accepted(0, 0, bytes(raw([2])))),
        Send(("p0",), Acknowledgement(0)),
    ]
    assert server.receive("p0", weight_report(2)) == [Send(("p0",), Acknowledgement(0))]
    assert server.progress == ("weights", 1, 2)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_party_takes_its_conversation_up_in_any_phase(*, is_gone: bool) -> None:
    server = opened(make_session())
    server.receive("p0", weight_report(2))
    if is_gone:
        assert server.receive_loss("p0") == [Attended("p0", Presence.LOST)]
    again = greeting("p0", num_reports=1)
    server.admit(again, fingerprint="0c" * 32)
    assert [message for _, message in messages_of(server.receive("p0", again))] == [
        welcome(),
        Acknowledgement(0),
    ]
    server.receive("p1", weight_report())
    server.receive("p2", weight_report())
    assert server.progress == ("opinions", 0, 3)
    if is_gone:
        server.receive_loss("p0")
    messages = [message for _, message in messages_of(server.receive("p0", again))]
    assert messages[:2] == [welcome(), Acknowledgement(0)]
    assert isinstance(messages[2], Request)
    assert server.progress == ("opinions", 0, 3)


def test_who_is_lost_is_waited_for_and_its_quorum_is_not_given_up() -> None:
    server = opened(make_session())
    server.receive("p1", weight_report())
    assert server.receive_loss("p0") == [Attended("p0", Presence.LOST)]
    server.receive("p2", weight_report())
    assert server.progress == ("weights", 2, 1)
    assert server.state is SessionState.COLLECTING
    assert isinstance(failure_of(server.receive_timeout("weights")), QuorumError)


def test_who_was_late_comes_back_to_hear_the_release() -> None:
    """Its own report is in its journal, and never arrived; who has none takes no release, and is not let in."""
    server = opened(make_session(rules=TWO_OF_THREE))
    server.receive_loss("p0")
    for party in ("p1", "p2"):
        server.receive(party, weight_report())
    server.receive_timeout("weights")
    for party in ("p1", "p2"):
        server.receive(party, Report(1, raw([0, 1])))
    assert server.awaits_listeners
    assert server.num_told == 2
    with pytest.raises(UnexpectedMessageError, match="no longer admits anybody"):
        server.admit(greeting("p0"), fingerprint="0c" * 32)
    messages = [message for _, message in messages_of(server.receive("p0", greeting("p0", num_reports=1)))]
    assert messages[0] == welcome()
    assert isinstance(messages[-1], Release)
    assert messages[-1].is_late
    assert server.num_told == 3
    for place, last in enumerate((Acknowledgement(2), Acknowledgement(2), Abort("a release that I do not believe"))):
        assert server.awaits_listeners
        assert server.receive(f"p{place}", last) == []
    assert not server.awaits_listeners


def test_who_left_on_purpose_does_not_come_back() -> None:
    server = opened(make_session(rules=TWO_OF_THREE))
    server.receive("p0", Abort("not today"))
    with pytest.raises(UnexpectedMessageError, match="'p0' has joined before"):
        server.admit(greeting("p0"), fingerprint="0c" * 32)


def test_without_certificates_nobody_takes_the_place_of_who_seems_to_be_there() -> None:
    session = Session(VOTE, make_inputs(VOTE, 3), descriptor=CHARTER)
    server = opened(session)
    server.receive("p0", weight_report())
    with pytest.raises(UnexpectedMessageError, match="'p0' has joined before"):
        server.admit(greeting("p0", num_reports=1))
    server.receive_loss("p0")
    server.admit(greeting("p0", num_reports=1))


@pytest.mark.parametrize("fingerprint", ["", "1c" * 32])
def test_the_words_that_let_a_party_in_let_nobody_in_by_another_certificate(fingerprint: str) -> None:
    server = opened(make_session())
    server.admit(greeting("p0"), fingerprint="0c" * 32)
    with pytest.raises(StrangerError):
        server.admit(greeting("p0"), fingerprint=fingerprint)


# Older copies


@pytest.mark.parametrize("num_known", [0, 1])
@pytest.mark.parametrize("is_gone", [True, False])
def test_a_party_that_lacks_a_report_of_its_own_is_not_let_in(num_known: int, *, is_gone: bool) -> None:
    """Its journal is an older copy, or none, and it would draw again."""
    server = opened(make_session())
    for party in ("p0", "p1", "p2"):
        server.receive(party, weight_report())
    server.receive("p0", Report(1, raw([0, 1])))
    if is_gone:
        server.receive_loss("p0")
    with pytest.raises(
        RemoteProtocolError, match="an older copy of its journal, or with none: 2 of its reports are"
    ) as e:
        server.admit(greeting("p0", num_reports=num_known), fingerprint="0c" * 32)
    assert str(e.value).endswith(f"its own journal has {num_known}. Nothing was drawn")
    assert server.progress == ("opinions", 1, 2)
    server.admit(greeting("p0", num_reports=2), fingerprint="0c" * 32)


def receipt(phase: int, party: str = "p0", *, secret: bytes = SECRET, session_id: str = CHARTER.id) -> Acknowledgement:
    return Acknowledgement(phase, receipt_of(secret, session_id=session_id, party=party, step=phase))


def test_a_server_whose_records_lack_what_it_has_acknowledged_goes_on_with_nothing() -> None:
    """As after an older copy of its folder was put in its place: noise would be drawn twice for one release."""
    world = World(make_session()).start()
    world.run()
    kept = world.kept_by_server
    acknowledged = [place for place, record in enumerate(kept) if isinstance(record, Accepted)]
    assert len(acknowledged) == 6
    for length in range(acknowledged[-1] + 1):
        again = world.session.server(noise=noise_of_life(99), records=kept[:length], secret=SECRET)
        again.start()
        outdated = [kept[place] for place in acknowledged if place >= length]
        (first, *_) = [each for each in outdated if isinstance(each, Accepted)]
        party = world.session.names[first.place]
        shown = [each for each in world.kept_by_client[party] if isinstance(each, Acknowledged)][first.step]
        back = greeting(party, num_reports=first.step + 1, shown=Acknowledgement(shown.step, shown.receipt))
        again.admit(back, fingerprint=world.session.roster.fingerprint_of(party))
        effects = again.receive(party, back)
        error = failure_of(effects)
        assert isinstance(error, JournalError)
        assert "is an older copy: a party shows this server's own word" in str(error)
        assert party not in str(error)
        reason = "its journal is an older copy, which its operator has to replace"
        assert {told for _, told in messages_of(effects)} == {Abort(reason)}
        assert party in {told for recipients, _ in messages_of(effects) for told in recipients}
        assert not kept_by(effects)
        for name in set(world.session.names) - {party}:  # whoever comes later is told as well
            assert again.awaits_listeners
            with pytest.raises(RemoteProtocolError, match=reason):
                again.admit(greeting(name), fingerprint=world.session.roster.fingerprint_of(name))
        assert not again.awaits_listeners


@pytest.mark.parametrize(
    "shown",
    [
        receipt(0, "p1"),
        Acknowledgement(0, receipt(1).receipt),
        receipt(0, secret=b"another"),
        receipt(0, session_id="f" * 32),
        receipt(7),
        receipt(1 << 63),
        Acknowledgement(0),
        Acknowledgement(0, bytes(32)),
    ],
)
def test_nobody_ends_a_session_by_a_word_that_is_not_the_servers(shown: Acknowledgement) -> None:
    server = make_session().server(noise=noise_of_life(1), records=[], secret=SECRET)
    server.start()
    back = greeting("p0", num_reports=1, shown=shown)
    server.admit(back, fingerprint="0c" * 32)
    assert [message for _, message in messages_of(server.receive("p0", back))] == [welcome()]


def test_a_word_of_the_server_has_256_bits_that_hang_on_each_bit_of_its_secret() -> None:
    """Else whoever guesses it ends the session."""
    words = [receipt(0, secret=(1 << bit).to_bytes(32, "big")).receipt for bit in range(256)]
    assert {len(word) for word in words} == {32}
    assert all(len({word[at : at + 8] for word in words}) == len(words) for at in range(0, 32, 8))


def test_a_server_without_a_secret_knows_no_word_of_its_own() -> None:
    server = opened(make_session())
    back = greeting("p0", num_reports=1, shown=Acknowledgement(0, receipt_of(b"", session_id="", party="p0", step=0)))
    assert [type(message) for _, message in messages_of(server.receive("p0", back))] == [Welcome, Request]


def test_a_session_that_missed_its_quorum_is_over_after_a_restart_too() -> None:
    session = make_session()
    server = opened(session)
    (broken,) = kept_by(server.receive_timeout("weights"))
    assert isinstance(broken, SessionFailed)
    again = session.server(noise=noise_of_life(2), records=[PhaseOpened(0, (0, 1, 2)), broken])
    error = failure_of(again.start())
    assert isinstance(error, QuorumError)
    assert error.missing == ("p0", "p1", "p2")
    with pytest.raises(UnexpectedMessageError, match="has ended"):
        again.admit(greeting("p0"), fingerprint="0c" * 32)


@pytest.mark.parametrize(
    "records",
    [
        [PhaseOpened(1, (0, 1, 2))],
        [PhaseOpened(0, (0, 1, 7))],
        [Accepted(0, 0, bytes(raw([1])))],
        [PhaseOpened(0, (0, 1)), Accepted(1, 1, bytes(raw([1])))],
        [PhaseOpened(0, (0, 1)), Accepted(0, 1, bytes(raw([9])))],
        [PhaseOpened(0, (0, 1)), Accepted(0, 1, b"\xc1")],
        [PhaseOpened(0, (0, 1)), PhaseClosed(0, (0, 1))],
        [PhaseOpened(0, ()), PhaseOpened(1, ()), PhaseOpened(2, ())],
        [PhaseOpened(0, (0, 1)), Accepted(0, 1, bytes(raw([1]))), Accepted(0, 1, bytes(raw([1])))],
    ],
)
def test_records_that_have_no_place_in_a_session_are_refused(records: list[ServerRecord]) -> None:
    server = make_session(rules=TWO_OF_THREE).server(noise=noise_of_life(1), records=records)
    with pytest.raises(JournalError, match="has a record that has no place in this session"):
        server.start()


def test_a_tally_is_kept_as_it_is() -> None:
    for tally in (
        Tally(3, np.arange(6, dtype=np.int64).reshape(2, 3)),
        Tally(2, np.array([], dtype=np.int64), np.array([[1, -2], [3, 4]], dtype=np.int64)),
        Tally(0, np.array(5, dtype=np.int64)),
    ):
        kept = msgspec.msgpack.decode(msgspec.msgpack.encode(KeptTally.from_tally(tally)), type=KeptTally)
        assert kept.restore() == tally
        assert kept.restore().totals.shape == tally.totals.shape


# Both sides, to the end


def test_each_side_keeps_what_its_table_says_and_the_server_waits_for_all_who_have_not_said_that_they_heard() -> None:
    world = World(make_session()).start()
    world.run()
    for side, records in ((Side.CLIENT, world.kept_by_client["p0"]), (Side.SERVER, world.kept_by_server)):
        tags = {str(type(record).__struct_config__.tag) for record in records}
        # What nobody chooses is not kept; `test_chosen_columns` has a session in which somebody does.
        assert tags == set(KEPT[side].values()) - {"chosen"}
    assert not world.server.awaits_listeners
    again = world.session.server(noise=noise_of_life(9), records=world.kept_by_server, secret=SECRET)
    again.start()
    assert again.awaits_listeners


def test_a_record_names_its_step_as_journals_do_that_were_written_before() -> None:
    records = [Drawn(step=1, request=b"", report=b"", entries=()), Acknowledged(1), PhaseOpened(1, ())]
    records += [Accepted(1, 0, b""), PhaseClosed(1, ())]
    assert [msgspec.to_builtins(record)["phase"] for record in records] == [1] * 5


def test_a_word_of_the_release_before_there_is_one_is_unexpected() -> None:
    effects = opened(make_session()).receive("p0", Acknowledgement(len(VOTE.phases)))
    assert isinstance(drop_of(effects).error, UnexpectedMessageError)
