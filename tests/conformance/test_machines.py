"""What every machine keeps, whichever protocol it runs: it never raises for what a peer can cause.

What a peer may choose is drawn by Hypothesis and given to both machines in any state that a session comes to.
"""

import msgspec
from helpers import SERVER, Session, Wire, hello, raw
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import RemoteProtocolError, SessionRules, run_population
from psephos.protocol.effects import Drop, Fail, Finish, Send
from psephos.protocol.messages import (
    NO_DESCRIPTOR,
    PROTOCOL_VERSION,
    Abort,
    Inquiry,
    Message,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Terms,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.states import SESSION
from strategies import CHECKED, choosers, quizzes, sessions

HALF = SessionRules(quorum=0.5)
every_session = sessions(largest=4, rules=HALF) | quizzes(largest=4, rules=HALF)


def _payloads() -> st.SearchStrategy[msgspec.Raw]:
    scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5)
    values = st.recursive(
        scalars, lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=3), part, max_size=3)
    )
    return values.map(raw)


def _versions() -> st.SearchStrategy[int]:
    return st.sampled_from([PROTOCOL_VERSION - 1, *[PROTOCOL_VERSION] * 3])


def _public_rows() -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(-(2**63), 2**64 - 1), max_size=3).map(tuple)


def _charters() -> st.SearchStrategy[SessionDescriptor]:
    return st.just(NO_DESCRIPTOR) | st.builds(
        SessionDescriptor, st.text(max_size=5), st.text(max_size=5), st.integers(-1, 9)
    )


def messages() -> st.SearchStrategy[Message]:
    """Return messages of every type, sensible and not."""
    phases = st.integers(-1, 4)
    return st.one_of(
        st.builds(
            hello,
            st.sampled_from(["p0", "p1", "p2", "p99"]),
            protocol=st.sampled_from(["dpwevote", "quiz"]),
            version=_versions(),
            session_id=st.just("") | st.text(max_size=5),
        ),
        st.builds(Welcome, _versions(), _payloads(), _public_rows(), _charters()),
        st.builds(Inquiry, _versions(), st.sampled_from(["p0", "p99"])),
        st.builds(
            Terms,
            _versions(),
            *[st.text(max_size=5)] * 3,
            _payloads(),
            st.integers(-1, 9),
            _public_rows(),
            _charters(),
        ),
        st.builds(Request, phases, _payloads()),
        st.builds(Report, phases, _payloads()),
        st.builds(Release, _payloads(), _payloads(), st.booleans()),
        st.builds(Abort, st.text(max_size=5), st.sampled_from(["", "weights"]), st.integers(-1, 9), st.integers(-1, 9)),
    )


def _wire_on_its_way(session: Session, data: st.DataObject) -> Wire:
    """Return a wire after some deliveries."""
    wire = session.wire()
    wire.start()
    choose = data.draw(choosers())
    for _ in range(data.draw(st.integers(0, 6 * len(session.names)))):
        available = wire.available()
        if available:
            wire.deliver(available[choose(available)])
    return wire


@CHECKED
@given(every_session, messages(), st.data())
def test_a_server_never_raises_and_a_fault_moves_one_row(
    session: Session, message: Message, data: st.DataObject
) -> None:
    wire = _wire_on_its_way(session, data)
    sender = data.draw(st.sampled_from(session.names))
    wire.feed_server(sender, encode(message))  # the wire checks that no other row moves
    wire.run()
    wire.check_end()


@CHECKED
@given(every_session, messages(), st.data())
def test_a_client_never_raises_and_ends_for_a_servers_fault(
    session: Session, message: Message, data: st.DataObject
) -> None:
    wire = _wire_on_its_way(session, data)
    party = data.draw(st.sampled_from(session.names))
    if isinstance(message, Release):
        # After the last request a forged release is believed: the channel is what tells a server from somebody else.
        message = Release(raw([]), message.own, message.is_late)
    effects = wire.feed_client(party, encode(message))
    endings = [effect for effect in effects if isinstance(effect, (Fail, Finish))]
    assert len(endings) <= 1
    wire.run()
    wire.check_end()


@CHECKED
@given(every_session, st.data())
def test_no_release_is_taken_before_the_last_request(session: Session, data: st.DataObject) -> None:
    outcome = run_population(session.protocol, session.inputs, noise=session.fresh_noise()).outcome
    wire = _wire_on_its_way(session, data)
    party = data.draw(st.sampled_from(session.names))
    num_reports = sum(name == party for name, _ in wire.reports)
    was_over = party in {*wire.outcomes, *wire.failures}
    effects = wire.clients[party].receive(SERVER, Release(raw(outcome)))
    if num_reports < len(session.protocol.phases):
        assert not any(isinstance(effect, Finish) for effect in effects)
        assert was_over or any(isinstance(effect, Fail) for effect in effects)


@CHECKED
@given(every_session, st.binary(max_size=40), st.booleans(), st.data())
def test_no_bytes_raise(session: Session, payload: bytes, at_server: bool, data: st.DataObject) -> None:  # noqa: FBT001  Hypothesis passes it by place
    wire = _wire_on_its_way(session, data)
    party = data.draw(st.sampled_from(session.names))
    if at_server:
        wire.feed_server(party, payload)
    else:
        wire.feed_client(party, payload)
    wire.run()
    wire.check_end()


@CHECKED
@given(every_session, messages(), st.data())
def test_everything_that_a_machine_sends_fits_through_the_wire(
    session: Session, message: Message, data: st.DataObject
) -> None:
    wire = _wire_on_its_way(session, data)
    party = data.draw(st.sampled_from(session.names))
    for effects in (wire.server.receive(party, message), wire.clients[party].receive(SERVER, message)):
        for effect in effects:
            if isinstance(effect, Send):
                assert decode(encode(effect.message)) == effect.message


@CHECKED
@given(every_session, messages(), st.data())
def test_a_fault_says_who_and_in_which_role(session: Session, message: Message, data: st.DataObject) -> None:
    wire = _wire_on_its_way(session, data)
    party = data.draw(st.sampled_from(session.names))
    for effect in wire.server.receive(party, message):
        if isinstance(effect, Drop):
            assert (effect.party, effect.error.role) == (party, "server")
            assert effect.error.sender is not None
    for effect in wire.clients[party].receive(SERVER, message):
        if isinstance(effect, Fail) and isinstance(effect.error, RemoteProtocolError):
            assert (effect.error.sender, effect.error.role) == (SERVER, "client")


@CHECKED
@given(every_session, st.data())
def test_a_deadline_of_any_name_at_any_time_ends_a_session_at_most_once(session: Session, data: st.DataObject) -> None:
    wire = _wire_on_its_way(session, data)
    names = ["join", "weights", "opinions", "weights-1", "answers", "favorites", "nothing"]
    for phase in data.draw(st.lists(st.sampled_from(names), max_size=6)):
        was_over = not SESSION[wire.server.state]
        assert not (wire.expire(phase) and was_over)
    wire.run()
    wire.check_end()
