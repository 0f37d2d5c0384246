"""Views: recorded in order, in simulations only."""

import json

import msgspec
import pytest
from bad_input import refuses
from helpers import Session, drop_of, hello, make_inputs, make_vote, raw, replay
from psephos.protocol import MalformedMessageError, SessionKind, SessionRules, Side, View
from psephos.protocol.messages import (
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
)
from psephos.protocol.views import Happening, Observation, describe


def test_a_deployment_never_has_a_view() -> None:
    with refuses("kind", "deployment"):
        View("p0", Side.CLIENT, "s", SessionKind.DEPLOYMENT)


def test_observations_stay_in_order() -> None:
    view = View("server", Side.SERVER, "s", SessionKind.SIMULATION)
    view.record(Happening.RECEIVED, "p0", hello("p0"))
    view.record(Happening.TIMEOUT, "join")
    assert view.observations == [
        Observation(Happening.RECEIVED, "p0", hello("p0")),
        Observation(Happening.TIMEOUT, "join", None),
    ]
    assert view.private_row == ()


NO_DESCRIPTOR = {"id": "", "roster": "", "expires": 0}


def test_views_share_nothing() -> None:
    first, second = (View(party, Side.CLIENT, "s", SessionKind.SIMULATION) for party in ("p0", "p1"))
    first.record(Happening.LOST, "server")
    assert second.observations == []


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        (Request(1, raw({"quota": 2.5})), {"type": "Request", "phase": 1, "payload": {"quota": 2.5}}),
        (Request(1, raw(None), raw(3)), {"type": "Request", "phase": 1, "payload": None, "own": 3}),
        (Report(0, raw([1, 2])), {"type": "Report", "phase": 0, "payload": [1, 2]}),
        (Release(raw(None)), {"type": "Release", "payload": None, "own": None, "is_late": False}),
        (
            Release(raw(None), own=raw({"score": 7})),
            {"type": "Release", "payload": None, "own": {"score": 7}, "is_late": False},
        ),
        (
            Welcome(3, raw({})),
            {"type": "Welcome", "version": 3, "parameters": {}, "public": (), "descriptor": NO_DESCRIPTOR},
        ),
        (
            Welcome(3, raw({}), (4, 0), SessionDescriptor("a", "b", 5)),
            {
                "type": "Welcome",
                "version": 3,
                "parameters": {},
                "public": (4, 0),
                "descriptor": {"id": "a", "roster": "b", "expires": 5},
            },
        ),
        (
            Abort("few", phase="weights", received=1, required=2, missing=("p1",), num_missing=1),
            {
                "type": "Abort",
                "reason": "few",
                "phase": "weights",
                "received": 1,
                "required": 2,
                "missing": ("p1",),
                "num_missing": 1,
            },
        ),
        (
            hello("p0"),
            {
                "type": "Hello",
                "version": PROTOCOL_VERSION,
                "session": "spring-ballot",
                "protocol": "dpwevote",
                "kind": "simulation",
                "party": "p0",
                "session_id": "",
                "chosen": (),
                "num_reports": 0,
                "shown": None,
            },
        ),
        (Inquiry(3, "p0"), {"type": "Inquiry", "version": 3, "party": "p0"}),
        (
            Terms(3, "s", "dpwevote", "simulation", raw({"epsilon": 1.0}), 3, (5, 1)),
            {
                "type": "Terms",
                "version": 3,
                "session": "s",
                "protocol": "dpwevote",
                "kind": "simulation",
                "parameters": {"epsilon": 1.0},
                "place": 3,
                "public": (5, 1),
                "descriptor": NO_DESCRIPTOR,
            },
        ),
    ],
)
def test_a_message_is_described_as_plain_data(message: Message, plain: dict[str, object]) -> None:
    described = describe(message)
    assert described == plain
    assert next(iter(described)) == "type"
    json.dumps(described)


@pytest.mark.parametrize("payload", [b"\xa1\xff", b"\x81\x80\x01", b"\xd7\xff" + b"\xff" * 8, b"\xc7\x01\x05\x00"])
def test_a_payload_that_a_misbehaving_party_made_up_is_described_too(payload: bytes) -> None:
    """A view is written when the session is over, and what an adversary sent must not prevent that."""
    described = describe(Report(0, msgspec.Raw(payload)))
    assert described["type"] == "Report"
    msgspec.json.encode(described)


def test_a_servers_view_shows_bytes_that_were_no_message() -> None:
    """Without it, a replay of the view would go on with a row that the session had ended."""
    vote = make_vote()
    session = Session(vote, make_inputs(vote, 3), rules=SessionRules(quorum=1))
    view = session.server_view()
    server = session.server(view)
    server.start()
    server.receive("p0", hello("p0"))
    drop_of(server.receive_fault("p0", MalformedMessageError("p0 sent noise", sender="p0")))
    server.receive("p1", hello("p1"))
    seen = [observation for observation in view.observations if observation.happening is not Happening.SENT]
    assert seen == [
        Observation(Happening.RECEIVED, "p0", hello("p0")),
        Observation(Happening.FAULT, "p0", reason="p0 sent noise"),
        Observation(Happening.RECEIVED, "p1", hello("p1")),
    ]
    again, effects = replay(session, view.observations)
    assert again.observations == view.observations
    assert str(drop_of(effects).error) == "p0 sent noise"


def test_a_clients_view_shows_bytes_that_were_no_message() -> None:
    vote = make_vote()
    session = Session(vote, make_inputs(vote, 3))
    view = View("p0", Side.CLIENT, "spring-ballot", SessionKind.SIMULATION)
    client = session.client("p0", view=view)
    client.start()
    client.receive_fault("server", MalformedMessageError("the server sent noise", sender="server"))
    assert [observation.happening for observation in view.observations] == [
        Happening.SENT,
        Happening.FAULT,
        Happening.SENT,
    ]
    assert view.observations[1] == Observation(Happening.FAULT, "server", reason="the server sent noise")


def test_only_a_fault_has_a_reason() -> None:
    view = View("server", Side.SERVER, "s", SessionKind.SIMULATION)
    view.record(Happening.LOST, "p0")
    view.record(Happening.FAULT, "p1", reason="it sent noise")
    assert [observation.reason for observation in view.observations] == ["", "it sent noise"]
