"""Nobody takes a seat that is not on the roster, that is taken, or whose token it does not have."""

from collections.abc import Callable

import pytest
import trio
from deviants import INPUTS, NAMES, TRANSPORTS, VOTE
from helpers import hello
from psephos.agents import CloudServer, Simulation
from psephos.agents.adversaries import Attempt, try_to_join
from psephos.protocol.messages import NOT_ADMITTED, Hello, encode
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster, digest_of
from psephos.transports import Listener, Transport

TOKENS = ("first", "second", "third")


def hello_of(party: str, token: str = "") -> Hello:
    return hello(party, session="council", token=token)


async def attempts_at(
    transport: Transport, hellos: list[Hello], *, has_tokens: bool, seated: Hello | None = None
) -> list[Attempt]:
    """Try to join a session that waits for its roster, in which somebody may have a seat already."""
    digests = [digest_of(token) for token in TOKENS] if has_tokens else None
    mode = Simulation("council", SimulatedNoise(7, session="council"))
    server = CloudServer(VOTE, roster=Roster(NAMES, INPUTS.public, token_digests=digests), mode=mode)
    with trio.fail_after(30):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, listener)
            async with await transport.connect(listener.address) as channel:
                if seated is not None:
                    await channel.send([encode(seated)])
                    await channel.receive()
                attempts = await try_to_join(transport, listener.address, hellos)
                joined = server.progress[1]
            nursery.cancel_scope.cancel()
    assert seated is None or joined == 1, "who has a seat keeps it"
    return attempts


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_name_that_is_not_on_the_roster_gets_no_seat(make_transport: Callable[[], Transport]) -> None:
    attempts = await attempts_at(make_transport(), [hello_of("eve"), hello_of("ann ")], has_tokens=False)
    assert attempts[0].reason == NOT_ADMITTED
    assert not any(attempt.is_welcome for attempt in attempts)


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_seat_is_taken_once(make_transport: Callable[[], Transport]) -> None:
    attempts = await attempts_at(make_transport(), [hello_of("ann")], has_tokens=False, seated=hello_of("ann"))
    assert attempts[0].reason == "'ann' has joined before"


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_seat_with_a_token_is_for_who_has_it(make_transport: Callable[[], Transport]) -> None:
    hellos = [hello_of("ann"), hello_of("ann", "second"), hello_of("bob", "second")]
    attempts = await attempts_at(make_transport(), hellos, has_tokens=True)
    assert [attempt.party for attempt in attempts] == ["ann", "ann", "bob"]
    assert attempts[0].reason == NOT_ADMITTED
    assert attempts[1].reason == NOT_ADMITTED
    assert attempts[2].is_welcome
    assert attempts[2].reason == ""


async def test_a_captured_hello_is_refused_while_its_owner_takes_part() -> None:
    captured = hello_of("ann", "first")
    attempts = await attempts_at(TRANSPORTS[0](), [captured], has_tokens=True, seated=captured)
    assert attempts[0].reason == "'ann' has joined before"


async def test_without_tokens_a_name_is_enough_for_a_seat_that_is_free() -> None:
    (attempt,) = await attempts_at(TRANSPORTS[0](), [hello_of("ann")], has_tokens=False)
    assert attempt.is_welcome


async def test_a_server_that_hangs_up_has_said_nothing() -> None:
    transport = TRANSPORTS[0]()

    async def hang_up(listener: Listener) -> None:
        await (await listener.accept()).aclose()

    with trio.fail_after(30):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(hang_up, listener)
            assert await try_to_join(transport, listener.address, [hello_of("ann")]) == [Attempt("ann", None)]
