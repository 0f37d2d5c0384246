"""A party's answers: charged, drawn once, and repeated byte for byte."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import SERVER, SESSION_NAME, CountingNoise, failure_of, raw
from lone_machines import (
    ROW,
    VOTE,
    RefusingNoise,
    client_in,
    make_client,
    report_of,
)
from psephos.protocol import (
    SimulatedNoise,
    UnexpectedMessageError,
)
from psephos.protocol.effects import Charged, Send
from psephos.protocol.errors import MalformedMessageError
from psephos.protocol.mechanisms import RowMechanism
from psephos.protocol.messages import NIL, Request
from psephos.protocol.privacy import Ledger
from psephos.protocol.states import State


@pytest.mark.parametrize("row", [(3, 0, 1), (-1, 0, 1), (1, 0, 2), (1, -1, 0), (1, 0), (), (1,)])
def test_a_row_that_does_not_fit_is_refused_without_being_shown(row: Sequence[int]) -> None:
    with pytest.raises(ValueError, match=r"^p0: phase '(weights|opinions)' takes [12] values in \[0, [12]\]$"):
        make_client(row=row)


def test_a_party_never_sends_what_is_no_integer() -> None:
    with pytest.raises(TypeError):
        make_client(row=(0.5, 1, 1, 0))  # pyright: ignore[reportArgumentType]  on purpose


def test_a_report_is_charged_then_drawn_then_sent() -> None:
    ledger = Ledger("p0")
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    client = client_in(State.REPORTED, ledger=ledger, noise=noise)
    effects = client.receive(SERVER, Request(1, raw(None)))
    assert [type(effect) for effect in effects] == [Charged, Charged, Send]
    assert noise.draws == [("weights", 0), ("opinions", 0)]
    assert [(entry.person, entry.session, entry.phase, entry.unit) for entry in ledger.entries] == [
        ("p0", SESSION_NAME, "weights", "weight"),
        ("p0", SESSION_NAME, "opinions", "opinion"),
        ("p0", SESSION_NAME, "opinions", "opinion"),
    ]
    report = report_of(effects)
    expected = SimulatedNoise(1, session=SESSION_NAME).randomize(
        VOTE.phases[1].mechanism, ROW[1:3], protocol="dpwevote", phase="opinions", place=0
    )
    assert (report.step, msgspec.msgpack.decode(report.payload)) == (1, expected)


def test_the_same_request_again_gets_the_same_bytes_and_nothing_new_is_charged() -> None:
    ledger = Ledger("p0")
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    client = client_in(State.JOINED, ledger=ledger, noise=noise)
    first = report_of(client.receive(SERVER, Request(0, raw(None))))
    for _ in range(2):
        effects = client.receive(SERVER, Request(0, raw(None)))
        assert effects == [Send((SERVER,), first)]
        assert client.state is State.REPORTED
    assert noise.draws == [("weights", 0)]
    assert len(ledger.entries) == 1


def test_another_request_for_the_same_phase_is_the_servers_fault_and_draws_nothing() -> None:
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    client = client_in(State.JOINED, noise=noise)
    client.receive(SERVER, Request(0, raw(None)))
    error = failure_of(client.receive(SERVER, Request(0, raw({"quota": 1}))))
    assert isinstance(error, UnexpectedMessageError)
    assert str(error) == "server sent another Request of phase 0 in state 'reported'"
    assert noise.draws == [("weights", 0)]


@pytest.mark.parametrize("phase", [-1, 1, 2, 2**63])
def test_a_request_out_of_turn_is_the_servers_fault_and_draws_nothing(phase: int) -> None:
    client = client_in(State.JOINED, noise=RefusingNoise())
    error = failure_of(client.receive(SERVER, Request(phase, raw(None))))
    assert isinstance(error, UnexpectedMessageError)
    assert str(error) == f"server sent a Request of phase {phase} in state 'joined'"


def test_a_request_beyond_the_last_phase_is_the_servers_fault() -> None:
    client = client_in(State.REPORTED)
    client.receive(SERVER, Request(1, raw(None)))
    error = failure_of(client.receive(SERVER, Request(2, raw(None))))
    assert isinstance(error, UnexpectedMessageError)
    assert error.state == "reported"


def published(**changes: object) -> msgspec.Raw:
    """Return what the weights' phase announces, changed as asked."""
    public = np.zeros((2, 0), dtype=np.int64)
    outcome = VOTE.phases[0].outcome([VOTE.phases[0].tally(np.array([[0], [1]]), earlier=[], public=public)])
    return raw({**msgspec.to_builtins(outcome), **changes})


@pytest.mark.parametrize(
    ("state", "sent"),
    [
        *((State.JOINED, Request(0, raw(payload))) for payload in ({}, {"quota": 1.0}, [1], "passed", 0, False, b"")),
        (State.JOINED, Request(0, NIL, raw([1]))),
        *(
            (State.REPORTED, Request(1, payload))
            for payload in (
                raw({}),
                raw([1]),
                raw(1.0),
                published(quota="anything"),
                published(weight_counts=7),
                published(total_weight={"value": 1.0}),
            )
        ),
    ],
)
def test_a_request_that_carries_what_its_phase_does_not_announce_is_the_servers_fault(
    state: State, sent: Request
) -> None:
    """No phase comes before the first one, so an outcome in it is invented: nothing is charged or drawn."""
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    ledger = Ledger("p0")
    client = client_in(state, ledger=ledger, noise=noise)
    before = [*noise.draws], ledger.entries
    error = failure_of(client.receive(SERVER, sent))
    assert isinstance(error, MalformedMessageError)
    said, _, why = str(error).partition(": ")
    assert said == f"server's request of phase {sent.step} carries what nobody announces"
    assert bool(why) is (sent.step > 0)
    assert (noise.draws, ledger.entries) == before


def test_what_a_phase_announces_is_answered() -> None:
    client = client_in(State.REPORTED, ledger=Ledger("p0"), noise=SimulatedNoise(1, session=SESSION_NAME))
    assert report_of(client.receive(SERVER, Request(1, published()))).step == 1


@pytest.mark.parametrize("wrong", [[41, 42], [41.5], ["forty-one"], 41])
def test_a_report_that_is_none_is_refused_without_being_shown(wrong: Any) -> None:
    """What a mechanism of somebody's drew instead is the party's own."""

    class Wrong(CountingNoise):
        def randomize(self, mechanism: RowMechanism, values: Sequence[int], **address: Any) -> Any:
            return wrong

    client = client_in(State.JOINED, noise=Wrong(SimulatedNoise(1, session=SESSION_NAME)))
    expected = r"^a report of phase 'weights' is 1 integers in \[0, 2\], and \w+ drew something else$"
    with pytest.raises(TypeError, match=expected):
        client.receive(SERVER, Request(0, raw(None)))
