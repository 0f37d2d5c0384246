"""Nobody takes a seat that is not on the roster, that is taken, or whose key it does not have."""

from collections.abc import Callable

import pytest
import trio
from certified import CertifiedTransport
from deviants import INPUTS, NAMES, TRANSPORTS, VOTE
from helpers import hello
from psephos.agents import CloudServer, Simulation
from psephos.agents.adversaries import Attempt, try_to_join
from psephos.protocol.messages import NOT_ADMITTED, Hello, encode
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.transports import Channel, Listener, TLSTransport, Transport
from psephos.transports.keys import make_identity

OWN: dict[str, str] = dict(zip(NAMES, ("a1" * 32, "b2" * 32, "c3" * 32), strict=True))
MODE = Simulation("council", SimulatedNoise(7, session="council"))


def hello_of(party: str) -> Hello:
    return hello(party, session="council", session_id=MODE.descriptor.id)


class As(Transport):
    """How one party connects."""

    def __init__(self, transport: CertifiedTransport, fingerprint: str) -> None:
        self.name = transport.name
        self._transport = transport
        self._fingerprint = fingerprint

    async def open_listener(self, address: str | None = None) -> Listener:
        return await self._transport.open_listener(address)

    async def connect(self, address: str) -> Channel:
        """Connect by the party's certificate."""
        return await self._transport.connect(address, fingerprint=self._fingerprint)


async def attempts_at(
    transport: Transport, hellos: list[Hello], *, came_by: str | None = None, seated: Hello | None = None
) -> list[Attempt]:
    """Try to join a session that waits for its roster, in which somebody may have a seat already.

    Args:
        transport: how.
        hellos: what is tried.
        came_by: the certificate by which; None where there are none.
        seated: who has a seat by its own certificate.
    """
    fingerprints = None if came_by is None else tuple(OWN.values())
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public, fingerprints=fingerprints), MODE)
    owner = stranger = transport
    if isinstance(transport, CertifiedTransport):
        owner = As(transport, "" if seated is None else OWN[seated.party])
        stranger = As(transport, came_by or "")
    with trio.fail_after(240):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, listener)
            async with await owner.connect(listener.address) as channel:
                if seated is not None:
                    await channel.send([encode(seated)])
                    await channel.receive()
                attempts = await try_to_join(stranger, listener.address, hellos)
                joined = server.progress[1]
            nursery.cancel_scope.cancel()
    assert seated is None or joined == 1, "who has a seat keeps it"
    return attempts


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_name_that_is_not_on_the_roster_gets_no_seat(make_transport: Callable[[], Transport]) -> None:
    attempts = await attempts_at(make_transport(), [hello_of("eve"), hello_of("ann ")])
    assert attempts[0].reason == NOT_ADMITTED
    assert not any(attempt.is_welcome for attempt in attempts)


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_seat_is_taken_once(make_transport: Callable[[], Transport]) -> None:
    attempts = await attempts_at(make_transport(), [hello_of("ann")], seated=hello_of("ann"))
    assert attempts[0].reason == "'ann' has joined before"


@pytest.mark.parametrize(
    ("came_by", "party", "reason"),
    [
        ("", "ann", NOT_ADMITTED),
        (OWN["bob"], "ann", NOT_ADMITTED),
        (OWN["bob"], "bob", ""),
    ],
)
async def test_a_seat_with_a_certificate_is_for_who_has_its_key(came_by: str, party: str, reason: str) -> None:
    (attempt,) = await attempts_at(CertifiedTransport(), [hello_of(party)], came_by=came_by)
    assert (attempt.party, attempt.reason, attempt.is_welcome) == (party, reason, not reason)


@pytest.mark.parametrize("came_by", ["ann", "bob"])
async def test_a_captured_hello_is_refused_while_its_owner_takes_part(came_by: str) -> None:
    captured = hello_of("ann")
    attempts = await attempts_at(CertifiedTransport(), [captured], came_by=OWN[came_by], seated=captured)
    expected = {"ann": "'ann' has joined before", "bob": NOT_ADMITTED}
    assert attempts[0].reason == expected[came_by]


async def test_without_certificates_a_name_is_enough_for_a_seat_that_is_free() -> None:
    (attempt,) = await attempts_at(TRANSPORTS[0](), [hello_of("ann")])
    assert attempt.is_welcome


async def test_a_key_that_is_on_no_roster_is_refused_before_it_says_a_word() -> None:
    of_server, of_ann, of_eve = make_identity(), make_identity(), make_identity()
    roster = Roster(("ann",), INPUTS.public[:1], fingerprints=[of_ann.fingerprint])
    server = CloudServer(VOTE, roster, MODE)
    with trio.fail_after(240):
        listener = await TLSTransport(of_server, peers=[of_ann.certificate]).open_listener()
        async with listener, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, listener)
            stranger = TLSTransport(of_eve, peers=[of_server.certificate])
            (attempt,) = await try_to_join(stranger, listener.address, [hello_of("ann")])
            nursery.cancel_scope.cancel()
    assert not attempt.is_welcome
    assert attempt.reason == "the other end does not know this side's certificate"


async def test_a_server_that_hangs_up_has_said_nothing() -> None:
    transport = TRANSPORTS[0]()

    async def hang_up(listener: Listener) -> None:
        await (await listener.accept()).aclose()

    with trio.fail_after(240):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(hang_up, listener)
            assert await try_to_join(transport, listener.address, [hello_of("ann")]) == [Attempt("ann", None)]
