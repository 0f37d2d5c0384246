"""What a party agreed to, and servers that say something else."""

from typing import Any

import msgspec
import pytest
from helpers import SERVER, failure_of, make_vote, messages_of, raw
from lone_machines import (
    NOT_PARAMETERS,
    VOTE,
    RefusingNoise,
    client_in,
    make_client,
    welcome,
)
from psephos.protocol import (
    RemoteProtocolError,
)
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Abort,
    SessionDescriptor,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.states import State

AGREED = SessionDescriptor("an id", "a roster", 1_900_000_000)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"id": "b"}, "id is 'b', agreed 'an id'"),
        ({"roster": "", "expires": 0}, "roster is '', agreed 'a roster'; expires is 0, agreed 1900000000"),
        ({"expires": 1_900_000_001}, "expires is 1900000001, agreed 1900000000"),
    ],
)
def test_a_session_that_is_another_one_than_was_agreed_to_is_left_before_anything_is_reserved(
    other: dict[str, Any], difference: str
) -> None:
    client = make_client(descriptor=AGREED)
    client.start()
    descriptor = msgspec.structs.replace(AGREED, **other)
    effects = client.receive(SERVER, msgspec.structs.replace(welcome(), descriptor=descriptor))
    error = failure_of(effects)
    assert str(error) == f"server's session is another one than was agreed to: {difference}"
    assert messages_of(effects) == [((SERVER,), Abort(str(error)))]
    assert client.state is State.ENDED


@pytest.mark.parametrize("descriptor", [SessionDescriptor(), SessionDescriptor("an id"), AGREED])
def test_what_was_not_agreed_of_a_charter_is_taken_as_the_server_says_it(descriptor: SessionDescriptor) -> None:
    client = make_client(descriptor=descriptor)
    client.start()
    assert client.receive(SERVER, msgspec.structs.replace(welcome(), descriptor=AGREED)) == []
    assert client.state is State.JOINED


def test_a_server_of_another_version_is_refused() -> None:
    client = client_in(State.GREETED)
    error = failure_of(client.receive(SERVER, welcome(version=PROTOCOL_VERSION + 1)))
    assert isinstance(error, RemoteProtocolError)
    assert (str(error), error.sender) == (
        f"server speaks version {PROTOCOL_VERSION + 1}, this side {PROTOCOL_VERSION}",
        SERVER,
    )


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"epsilon": 4.0}, "epsilon is 4.0, agreed 2.0"),
        ({"candidates": ("ada", "eve")}, "candidates is ['ada', 'eve'], agreed ['ada', 'bob']"),
        ({"quota": 3.5}, "quota is 3.5, agreed None"),
        (
            {"passes": "more_than", "epsilon": 1.0},
            "epsilon is 1.0, agreed 2.0; passes is 'more_than', agreed 'at_least'",
        ),
    ],
)
def test_a_server_with_other_parameters_is_refused_by_field_and_both_values(
    change: dict[str, object], difference: str
) -> None:
    client = client_in(State.GREETED, noise=RefusingNoise())
    effects = client.receive(SERVER, welcome(make_vote(**change)))
    error = failure_of(effects)
    assert isinstance(error, RemoteProtocolError)
    assert str(error) == f"server's parameters are not those agreed to: {difference}"
    assert messages_of(effects) == [((SERVER,), Abort(str(error)))]
    assert client.state is State.ENDED


def test_a_parameter_that_one_side_does_not_know_is_named() -> None:
    agreed: dict[str, object] = msgspec.msgpack.decode(VOTE.encoded_parameters, type=dict[str, object])
    client = client_in(State.GREETED)
    error = failure_of(client.receive(SERVER, Welcome(PROTOCOL_VERSION, raw({**agreed, "extra": 1}))))
    assert str(error).endswith("agreed to: extra is 1, agreed None")


def test_the_same_parameters_in_other_bytes_are_refused_with_a_reason() -> None:
    """The refusal is right, since the bytes are what was agreed to; an empty reason would help nobody."""
    agreed: dict[str, object] = msgspec.msgpack.decode(VOTE.encoded_parameters, type=dict[str, object])
    swapped = dict(reversed(agreed.items()))
    error = failure_of(client_in(State.GREETED).receive(SERVER, Welcome(PROTOCOL_VERSION, raw(swapped))))
    assert not str(error).endswith(": ")


@pytest.mark.parametrize("name", list(NOT_PARAMETERS))
def test_parameters_that_cannot_be_read_are_the_servers_fault(name: str) -> None:
    client = client_in(State.GREETED)
    error = failure_of(client.receive(SERVER, Welcome(PROTOCOL_VERSION, msgspec.Raw(NOT_PARAMETERS[name]))))
    assert isinstance(error, RemoteProtocolError)
    assert str(error).endswith("they cannot be read")


def test_a_refusal_of_huge_parameters_can_be_sent() -> None:
    """The reason quotes what the server sent, and must stay below the limit of a message."""
    client = client_in(State.GREETED)
    effects = client.receive(SERVER, Welcome(PROTOCOL_VERSION, raw({"candidates": "\x01" * 500_000})))
    for _, message in messages_of(effects):
        assert decode(encode(message)) == message
