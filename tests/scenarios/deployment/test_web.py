"""`serve --web`: who gets in by a link, what the pages say and to whom, and what strangers cost."""

import contextlib
import http.client
import json
import os
import re
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
import trio.testing
from deployments import ENTRIES, PATIENCE, Process, write_vote
from psephos.protocol.errors import ConfigurationError, MalformedMessageError, PsephosError
from psephos.protocol.messages import PROTOCOL_VERSION, Hello, Report, Request, Welcome, decode, encode
from psephos.scenarios.deployment import Joining, join, web
from psephos.scenarios.deployment.invitations import find_invitation
from psephos.scenarios.deployment.links import KEYS_FILE, LINKS_FILE, check_origin, replace_link
from psephos.scenarios.deployment.server import JOURNAL_FILE
from psephos.scenarios.deployment.web import open_site
from psephos.transports import Channel
from psephos.transports.addresses import parse_address
from psephos.transports.keys import make_identity
from psephos.transports.web import GONE_SECONDS, WebChannel, WebTransport
from web_parties import ABORT, SEAT, Browser, Served, Vote, free_port, links_in, settle, talk

STRANGER: Final = "This link opens nothing here. Open the whole link, and the newest one that you were sent."


@pytest.fixture(autouse=True)
def _quick_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "_PENALTY_SECONDS", 0.1)


@pytest.fixture
def vote(tmp_path: Path) -> Vote:
    return Vote(tmp_path)


# Who gets in


async def test_three_browsers_vote_by_their_links(vote: Vote) -> None:
    async with vote.served() as served:
        async with trio.open_nursery() as nursery:
            for name in ENTRIES:
                nursery.start_soon(served.take_part, vote.browser(name))
        await served.ended.wait()
    assert served.result is not None
    assert served.result.num_received == (3, 3)
    assert len((vote.folder / KEYS_FILE).read_bytes().splitlines()) == 3


async def test_browsers_and_a_party_by_certificate_hold_one_session(tmp_path: Path) -> None:
    vote = Vote(tmp_path, enrolled=("bob",))
    assert set(links_in(vote.folder / LINKS_FILE)) == {"ann", "cid"}
    invitation = find_invitation(vote.folder / "invitations", party="bob")

    async def join_by_certificate(address: str) -> None:
        keys = invitation.find_keys([vote.keys / "bob"])
        entries = ENTRIES["bob"]
        joining = Joining(address=address, party="bob", entries=entries, seed=None, invitation=invitation, keys=keys)
        await join(joining)

    async with vote.served() as served:
        assert served.address != served.site.address
        async with trio.open_nursery() as nursery:
            nursery.start_soon(join_by_certificate, served.address)
            for name in ("ann", "cid"):
                nursery.start_soon(served.take_part, vote.browser(name))
        await served.ended.wait()
    assert served.result is not None
    assert served.result.num_received == (3, 3)


async def test_the_first_device_enrols_and_a_second_one_is_told_so(vote: Vote) -> None:
    async with vote.served():
        first, second = vote.browser("ann"), vote.browser("ann")
        assert await first.come() == [SEAT, "ann", [], True]
        assert await first.come() == [SEAT, "ann", [], False]
        assert await first.again().come() == [SEAT, "ann", [], False]
        tag, reason, *_ = await second.come()
        assert tag == ABORT
        assert reason == (
            "Another device uses this link. If it is not yours, ask whoever sent you the link for a new one."
        )
        assert (await second.again().come())[:2] == [ABORT, STRANGER]


async def test_a_key_belongs_to_one_link(vote: Vote) -> None:
    async with vote.served():
        first, second = vote.browser("ann"), vote.browser("bob")
        assert (await first.come())[0] == SEAT
        assert (await second.come(key=first.key))[:2] == [ABORT, STRANGER]
        assert (await second.come())[0] == SEAT


WRONG: Final[dict[str, Callable[[Browser], dict[str, Any]]]] = {
    "another secret": lambda _: {"secret": bytes(16)},
    "no secret": lambda _: {"secret": None},
    "a secret of no bytes": lambda _: {"secret": b""},
    "another's place": lambda browser: {"place": (browser.place + 1) % 3},
    "a place beyond the roster": lambda _: {"place": 3},
    "the greatest place": lambda _: {"place": 2**64 - 1},
    "another nonce": lambda _: {"nonce": bytes(32)},
    "another origin": lambda _: {"origin": "http://evil.example"},
    "other terms": lambda _: {"terms": bytes(32)},
}


@pytest.mark.parametrize("wrong", list(WRONG))
async def test_whoever_is_wrong_hears_one_sentence_and_waits_for_it(vote: Vote, wrong: str) -> None:
    async with vote.served():
        browser = vote.browser("bob")
        begun = trio.current_time()
        told = await browser.come(**WRONG[wrong](browser))
        assert told[:2] == [ABORT, STRANGER]
        assert trio.current_time() - begun >= 0.1
        assert (await browser.come())[0] == SEAT  # nobody has taken the seat


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode([21, 0, bytes(32), bytes(16)]),
        msgspec.msgpack.encode([21, 0, bytes(32), bytes(16), bytes(64), 0]),
        msgspec.msgpack.encode([21, -1, bytes(32), bytes(16), bytes(64)]),
        msgspec.msgpack.encode([21, 0, bytes(32), bytes(16), bytes(64)]),  # a key by which anybody could sign
        msgspec.msgpack.encode([1, 10, "vote", "dpwevote", "deployment", "ann"]),
    ],
)
async def test_what_is_no_greeting_is_refused(vote: Vote, payload: bytes) -> None:
    async with vote.served(), await vote.browser("ann").connect() as channel:
        await channel.receive()
        await channel.send([payload])
        assert msgspec.msgpack.decode((await channel.receive())[0])[:2] == [ABORT, STRANGER]
        with pytest.raises((trio.EndOfChannel, trio.BrokenResourceError)):
            await channel.receive()


async def test_a_captured_greeting_opens_no_other_connection(vote: Vote) -> None:
    async with vote.served():
        browser = vote.browser("ann")
        async with await browser.connect() as channel:
            _, nonce = msgspec.msgpack.decode((await channel.receive())[0])
            captured = msgspec.msgpack.encode(browser.answer(nonce))
            await channel.send([captured])
            assert msgspec.msgpack.decode((await channel.receive())[0])[0] == SEAT
        async with await browser.connect() as channel:
            await channel.receive()
            await channel.send([captured])
            assert msgspec.msgpack.decode((await channel.receive())[0])[:2] == [ABORT, STRANGER]


async def test_a_browser_speaks_for_nobody_but_its_own_seat(vote: Vote) -> None:
    async with vote.served() as served:
        ann, bob = vote.browser("ann"), vote.browser("bob")
        channel = await ann.connect()
        assert (await ann.greet(channel))[0] == SEAT
        with pytest.raises(PsephosError, match="not admitted: check the address"):
            await served.client(bob).take_part(channel)


async def test_keys_outlast_the_server(vote: Vote) -> None:
    browser = vote.browser("ann")
    async with vote.served():
        assert (await browser.come())[3] is True
    with (vote.folder / KEYS_FILE).open("ab") as file:
        file.write(b'{"place":1,"key":"00')  # the machine stopped while this was being written
    async with vote.served():
        assert (await browser.again().come())[3] is False
        assert (await vote.browser("ann").come())[0] == ABORT
        assert (await vote.browser("bob").come())[3] is True
    lines = (vote.folder / KEYS_FILE).read_bytes().splitlines()
    assert [json.loads(line)["place"] for line in lines] == [0, 1]


async def test_of_devices_that_come_at_once_by_one_link_one_gets_in(vote: Vote) -> None:
    answers: list[list[Any]] = []

    async def come(name: str) -> None:
        answers.append(await vote.browser(name).come())

    async with vote.served(), trio.open_nursery() as nursery:
        for _number in range(5):
            for name in ENTRIES:
                nursery.start_soon(come, name)
    admitted = [answer[1] for answer in answers if answer[0] == SEAT]
    assert sorted(admitted) == sorted(ENTRIES)
    assert len(answers) == 15
    assert len((vote.folder / KEYS_FILE).read_bytes().splitlines()) == 3


async def test_a_key_that_cannot_be_kept_enrols_nobody(vote: Vote, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError("the disk is full")

    async with vote.served():
        browser = vote.browser("ann")
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            told = await browser.come()
        assert told[0] == ABORT
        assert told[1].startswith("The server cannot write down this device's key.")
        assert (vote.folder / KEYS_FILE).read_bytes() == b""
        assert (await vote.browser("ann").come())[0] == SEAT  # nobody had the seat


async def test_a_new_link_cuts_off_whoever_came_by_the_old_one(vote: Vote) -> None:
    async with vote.served() as served:
        thief, voter = vote.browser("bob"), vote.browser("bob")
        channel = await thief.connect()
        assert (await thief.greet(channel))[0] == SEAT
        await channel.send([hello(served, "bob")])
        assert isinstance(decode((await channel.receive())[0]), Welcome)  # it has joined
        path = await replace(vote, "bob")
        with pytest.raises((trio.EndOfChannel, trio.BrokenResourceError)), trio.fail_after(PATIENCE):
            await channel.receive()
        await channel.aclose()
        for old in (thief, voter, thief.again()):
            assert (await old.come())[:2] == [ABORT, STRANGER]
        bob = Browser(links_in(path)["bob"])
        async with trio.open_nursery() as nursery:
            for browser in (vote.browser("ann"), bob, vote.browser("cid")):
                nursery.start_soon(served.take_part, browser)
        await served.ended.wait()
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigurationError, match="A report of 'bob' is in, and the first one stands"):
        replace_link(vote.folder, "bob", vote.side.names, vote.folder / JOURNAL_FILE)
    with pytest.raises(ConfigurationError, match=r"There is no link of 'bop' in .* \(did you mean 'bob'\?\)"):
        replace_link(vote.folder, "bop", vote.side.names, vote.folder / JOURNAL_FILE)


async def replace(vote: Vote, party: str) -> Path:
    """Replace a link while the server runs."""
    names, journal = vote.side.names, vote.folder / JOURNAL_FILE
    return await trio.to_thread.run_sync(replace_link, vote.folder, party, names, journal)


def hello(served: Served, name: str) -> bytes:
    return encode(Hello(PROTOCOL_VERSION, "vote", "dpwevote", "deployment", name, served.descriptor.id))


async def test_a_new_link_cuts_off_each_connection_of_the_old_one(vote: Vote) -> None:
    thief = vote.browser("bob")
    async with vote.served() as served, await thief.connect() as first, await thief.connect() as second:
        assert (await thief.greet(first))[0] == SEAT
        await first.send([hello(served, "bob")])
        assert isinstance(decode((await first.receive())[0]), Welcome)
        assert (await thief.greet(second))[0] == SEAT
        await replace(vote, "bob")
        for channel in (first, second):
            with pytest.raises((trio.EndOfChannel, trio.BrokenResourceError)), trio.fail_after(PATIENCE):
                await channel.receive()


async def test_a_link_that_is_replaced_while_its_key_is_written_lets_nobody_in(
    vote: Vote, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, may_end = threading.Event(), threading.Event()
    write = os.fsync

    def wait(file: int) -> None:
        if Path(f"/proc/self/fd/{file}").readlink().name == KEYS_FILE:
            has_begun.set()
            may_end.wait(PATIENCE)
        write(file)

    async with vote.served() as served:
        monkeypatch.setattr(os, "fsync", wait)
        told: list[Any] = []

        async def come() -> None:
            told.extend(await vote.browser("bob").come())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(come)
            await trio.to_thread.run_sync(has_begun.wait)
            path = await replace(vote, "bob")
            may_end.set()
        assert told[:2] == [ABORT, STRANGER]
        async with trio.open_nursery() as nursery:
            for browser in (vote.browser("ann"), Browser(links_in(path)["bob"]), vote.browser("cid")):
                nursery.start_soon(served.take_part, browser)
        await served.ended.wait()


async def test_a_report_that_comes_in_while_its_link_is_replaced_stands_and_so_does_the_link(
    vote: Vote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "NOTICE_SECONDS", 1.5)  # for the report to be in before the server looks
    browsers = {name: vote.browser(name) for name in ENTRIES}
    told: list[ConfigurationError] = []

    async def try_to_replace() -> None:
        with pytest.raises(ConfigurationError, match="A report of 'bob' is in, and the first one stands") as refused:
            await replace(vote, "bob")
        told.append(refused.value)

    async with vote.served() as served, contextlib.AsyncExitStack() as stack:
        channels = dict[str, Channel]()
        for name, browser in browsers.items():
            channels[name] = await stack.enter_async_context(await browser.connect())
            assert (await browser.greet(channels[name]))[0] == SEAT
            await channels[name].send([hello(served, name)])
        heard: list[Any] = []
        while not any(isinstance(message, Request) for message in heard):
            heard += map(decode, await channels["bob"].receive())
        before = (vote.folder / "links.json").read_bytes()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(try_to_replace)
            with trio.fail_after(PATIENCE):
                while (vote.folder / "links.json").read_bytes() == before:  # noqa: ASYNC110  a file's
                    await trio.sleep(0.001)
            await channels["bob"].send([encode(Report(0, msgspec.Raw(msgspec.msgpack.encode([1]))))])
        assert told
        assert (vote.folder / "links.json").read_bytes() == before
        assert not list(vote.folder.glob("link-*.csv"))
        await trio.sleep(2.0)  # until the server has looked
        assert (await browsers["bob"].come())[0] == SEAT


async def test_links_that_are_replaced_at_once_are_all_replaced(vote: Vote) -> None:
    old = {name: vote.browser(name) for name in ENTRIES}
    paths: list[Path] = []

    async def replace_one(name: str) -> None:
        paths.append(await replace(vote, name))

    for _round in range(5):
        async with trio.open_nursery() as nursery:
            for name in ENTRIES:
                nursery.start_soon(replace_one, name)
    async with vote.served():
        for path in paths[-3:]:
            for link in links_in(path).values():
                assert (await Browser(link).come())[0] == SEAT
        for browser in old.values():
            assert (await browser.come())[0] == ABORT


async def test_nothing_is_served_where_the_keys_of_browsers_have_gone(vote: Vote) -> None:
    async with vote.served():
        assert (await vote.browser("ann").come())[0] == SEAT
    (vote.folder / KEYS_FILE).unlink()
    with pytest.raises(ConfigurationError, match="Restore the file"):  # or a copy of ann's link would enrol anew
        open_site(vote.folder, vote.side.roster, vote.address, origin=None, certificate=None, key=None)


def test_the_folder_has_no_secret_of_a_link(vote: Vote) -> None:
    links = links_in(vote.folder / LINKS_FILE)
    secrets = [link.split(".")[-2] for link in links.values()]
    for path in vote.folder.iterdir():
        if path.is_file() and path.name != LINKS_FILE:
            assert not any(secret in path.read_text(encoding="utf-8") for secret in secrets), path
    assert (vote.folder / LINKS_FILE).stat().st_mode & 0o777 == 0o600


# What the pages say


def ask(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection(*parse_address(address), timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


async def asked(*words: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    return await trio.to_thread.run_sync(lambda: ask(*words, **headers))


async def test_every_page_is_of_this_server_alone_and_nobody_frames_it(vote: Vote) -> None:
    async with vote.served():
        for path in ("/", "/vote/live.js", "/vote", "/session.json"):
            status, body, headers = await asked(vote.address, path)
            assert status == 200
            assert headers["Content-Security-Policy"] == (
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            )
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Cache-Control"] == "no-store"
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert (b"</script><b>" in body) == (path == "/session.json")  # as JSON, which no browser runs
        assert headers["Content-Type"] == "application/json"
        status, body, _ = await asked(vote.address, "/", "HEAD")
        assert (status, body) == (200, b"")
        for method, path, status in (("POST", "/", 405), ("GET", "/nothing", 404), ("GET", "/vote/..%2fweb.json", 404)):
            assert (await asked(vote.address, path, method))[0] == status


async def test_what_is_meant_for_another_host_is_not_answered(vote: Vote) -> None:
    async with vote.served():
        for host in ("evil.example", "localhost", f"127.0.0.2:{vote.address.partition(':')[2]}"):
            assert (await asked(vote.address, "/session.json", Host=host))[0] == 421


UPGRADE: Final = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "psephos",
    "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits",
}


async def test_a_page_of_somebody_elses_opens_no_web_socket(vote: Vote) -> None:
    async with vote.served():
        own = f"http://{vote.address}"
        for origin, status in ((own, 101), ("http://evil.example", 403), ("null", 403), (own + ".evil.example", 403)):
            assert await status_of(vote.address, {**UPGRADE, "Origin": origin}) == status
        assert await status_of(vote.address, UPGRADE) == 403
        right = {**UPGRADE, "Origin": own}
        assert await status_of(vote.address, {**right, "Sec-WebSocket-Protocol": "chat"}) == 400
        assert await status_of(vote.address, {**right, "Sec-WebSocket-Version": "8"}) == 426
        assert await status_of(vote.address, {**right, "Upgrade": "h2c"}) == 426


async def head_of(address: str, headers: dict[str, str]) -> str:
    """Return the lines of the answer to a request for the session."""
    lines = [f"GET /session HTTP/1.1\r\nHost: {address}", *(f"{name}: {value}" for name, value in headers.items())]
    async with await trio.open_tcp_stream(*parse_address(address)) as stream:
        await stream.send_all(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += await stream.receive_some()
        return head.partition(b"\r\n\r\n")[0].decode()


async def status_of(address: str, headers: dict[str, str]) -> int:
    return int((await head_of(address, headers)).split()[1])


async def test_no_compression_is_accepted_which_every_browser_offers(vote: Vote) -> None:
    async with vote.served():
        head = await head_of(vote.address, {**UPGRADE, "Origin": f"http://{vote.address}"})
    assert head.startswith("HTTP/1.1 101 ")
    assert "sec-websocket-protocol: psephos" in head.lower()
    assert "extensions" not in head.lower()


async def test_who_watches_is_told_numbers_and_no_names(vote: Vote) -> None:
    async with vote.served() as served, await trio.open_tcp_stream(*parse_address(vote.address)) as stream:
        await stream.send_all(f"GET /events HTTP/1.1\r\nHost: {vote.address}\r\n\r\n".encode())
        heard = ""

        async def hear_until(words: str) -> None:
            nonlocal heard
            with trio.fail_after(PATIENCE):
                while words not in heard:
                    data = await stream.receive_some()
                    assert data, heard
                    heard += data.decode()

        await hear_until('"joined": 0')
        assert "text/event-stream" in heard
        async with trio.open_nursery() as nursery:
            for name in ENTRIES:
                nursery.start_soon(served.take_part, vote.browser(name))
        await hear_until('"state": "released"')
        await hear_until('"reported": {"weights": 3, "opinions": 3}')
    events = [json.loads(data) for data in re.findall(r"data: (.*)\n", heard)]
    assert events[0] | {"deadline": None} == {
        "state": "gathering",
        "phase": "join",
        "deadline": None,
        "parties": 3,
        "joined": 0,
        "reported": {"weights": 0, "opinions": 0},
        "stays": False,
    }
    assert not any(name in heard for name in ENTRIES)


async def test_of_too_many_who_watch_the_first_ones_give_way(vote: Vote) -> None:
    async def watch(stack: contextlib.AsyncExitStack) -> trio.SocketStream:
        stream = await stack.enter_async_context(await trio.open_tcp_stream(*parse_address(vote.address)))
        await stream.send_all(f"GET /events HTTP/1.1\r\nHost: {vote.address}\r\n\r\n".encode())
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        return stream

    async with vote.served(), contextlib.AsyncExitStack() as stack:
        first = last = await watch(stack)
        for _number in range(512):
            last = await watch(stack)
        with contextlib.suppress(trio.BrokenResourceError), trio.fail_after(PATIENCE):
            while await first.receive_some():
                pass
        with trio.move_on_after(0.1):
            assert await last.receive_some() != b""
        assert (await vote.browser("ann").come())[0] == SEAT


# What strangers cost


async def test_idle_connections_keep_no_voter_waiting(vote: Vote) -> None:
    async with vote.served(), contextlib.AsyncExitStack() as stack:
        for number in range(700):  # more than wait at a time
            stream = await stack.enter_async_context(await trio.open_tcp_stream(*parse_address(vote.address)))
            await stream.send_all(b"GET /vote HT" if number % 2 else b"")
        begun = trio.current_time()
        assert (await asked(vote.address, "/session.json"))[0] == 200
        assert (await vote.browser("ann").come())[0] == SEAT
        assert trio.current_time() - begun < 10.0  # long before the first of them have had their time


async def test_idle_web_sockets_keep_no_voter_waiting(vote: Vote) -> None:
    async with vote.served(), contextlib.AsyncExitStack() as stack:
        for _number in range(700):
            await stack.enter_async_context(await vote.browser("ann").connect())
        assert (await vote.browser("ann").come())[0] == SEAT


async def test_idle_web_sockets_have_seconds_to_say_who_they_are(tmp_path: Path) -> None:
    clock = trio.testing.MockClock(rate=100.0)  # sockets are the system's, and take no time to speak of
    said: list[str] = []

    async def wait() -> None:
        vote = Vote(tmp_path)
        async with vote.served(), await vote.browser("ann").connect() as channel:
            await channel.receive()
            begun = trio.current_time()
            with contextlib.suppress(trio.EndOfChannel, trio.BrokenResourceError):
                await channel.receive()
            said.append(f"{trio.current_time() - begun:.0f}")

    await trio.to_thread.run_sync(lambda: trio.run(wait, clock=clock))
    assert 8 <= int(said[0]) <= 40


async def test_a_message_above_the_limit_of_strangers_is_refused(vote: Vote) -> None:
    async with vote.served():
        async with await vote.browser("ann").connect() as channel:
            await channel.receive()
            await channel.send([bytes(4097)])
            with pytest.raises((trio.EndOfChannel, trio.BrokenResourceError)):
                await channel.receive()
        assert (await vote.browser("ann").come())[0] == SEAT


@pytest.mark.parametrize("frame", [b"\x00\x80mask", b"\x89\x80mask", b"\x8a\x80mask"])
async def test_frames_without_a_payload_end_a_channel(frame: bytes) -> None:
    transport = WebTransport()
    async with (
        await transport.open_listener() as listener,
        await transport.connect(listener.address) as near,
        await listener.accept() as far,
    ):
        assert isinstance(near, WebChannel)
        few = b"\x02\x83mask" + bytes([0x0C, 0x04, 0x16]) + frame * 200 + b"\x80\x80mask"
        await near._stream.send_all(few)  # pyright: ignore[reportPrivateUsage]  below its frames
        assert await far.receive() == [b"aee"]
        await near._stream.send_all(b"\x02\x80mask" + frame * 300)  # pyright: ignore[reportPrivateUsage]  below its frames
        with pytest.raises(MalformedMessageError, match="more than 256 frames without a payload"):
            await far.receive()


@pytest.mark.parametrize(
    "request_text",
    [
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * (1 << 15) + b"\r\n\r\n",
        b"BREW /vote HTCPCP/1.0\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_answered_and_over(vote: Vote, request_text: bytes) -> None:
    async with vote.served(), await trio.open_tcp_stream(*parse_address(vote.address)) as stream:
        await stream.send_all(request_text)
        await stream.send_eof()
        answer = b""
        with contextlib.suppress(trio.BrokenResourceError), trio.fail_after(PATIENCE):
            while data := await stream.receive_some():
                answer += data
        assert re.match(rb"HTTP/1.1 (4\d\d) ", answer) or not answer
        assert (await asked(vote.address, "/session.json"))[0] == 200


# HTTPS, and what an operator gets wrong


async def test_https_serves_pages_and_web_sockets_by_the_operators_certificate(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    make_identity().write(certificate)
    vote = Vote(tmp_path)
    side, origin = vote.side, f"https://{vote.address}"
    with open_site(vote.folder, side.roster, vote.address, origin=origin, certificate=certificate, key=None) as site:
        listener = await site.open_listener()
        async with listener:

            def greet_over_tls() -> list[Any]:
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                with (
                    socket.create_connection(parse_address(vote.address), timeout=PATIENCE) as plain,
                    context.wrap_socket(plain) as secure,
                ):
                    browser = vote.browser("cid")
                    browser.origin = origin
                    return talk(secure, vote.address, browser)

            answer = await trio.to_thread.run_sync(greet_over_tls)
            assert answer[:2] == [SEAT, "cid"]
            channel = await listener.accept()
            assert channel.peer_fingerprint == side.roster.fingerprint_of("cid")
            channel.close()


async def test_a_browser_that_answers_no_ping_is_gone() -> None:
    clock = trio.testing.MockClock(rate=0)
    ended: list[str] = []

    async def wait() -> None:
        connect = WebTransport().connect
        async with (
            await WebTransport().open_listener() as listener,
            await connect(listener.address) as reads,
            await listener.accept() as from_reader,
            await connect(listener.address),
            await listener.accept() as from_silent,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(hear, reads, "reader's end")
            nursery.start_soon(hear, from_reader, "reader")
            nursery.start_soon(hear, from_silent, "silent")
            for _round in range(int(GONE_SECONDS) // 20 + 2):
                await settle(0.05)
                clock.jump(20.0)
            await settle(0.05)
            nursery.cancel_scope.cancel()

    async def hear(channel: Any, name: str) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            await channel.receive()
        ended.append(name)

    await trio.to_thread.run_sync(lambda: trio.run(wait, clock=clock))
    assert ended == ["silent"]


@pytest.mark.parametrize(
    ("address", "words", "sentence"),
    [
        ("0.0.0.0:8000", {}, "Without a certificate the pages are for this machine"),
        ("nowhere", {}, "HOST:PORT"),
        ("8000", {}, "The links lead to http://127.0.0.1:"),
        ("8000", {"origin": "http://vote.example"}, "Browsers sign only on pages that came by HTTPS"),
        ("8000", {"origin": "https://vote.example/path"}, "without a path"),
        ("8000", {"origin": "ftp://vote.example"}, "without a path"),
        ("8000", {"key": "key.pem"}, "--web-certificate given, too"),
        ("8000", {"certificate": "vote.toml"}, "With a certificate they have to begin with https://"),
        ("8000", {"certificate": "vote.toml", "origin": "https://a.example"}, "no certificate in PEM"),
    ],
)
def test_pages_are_for_an_address_that_fits_their_links(
    vote: Vote, tmp_path: Path, address: str, words: dict[str, str], sentence: str
) -> None:
    certificate, key = (tmp_path / words[name] if name in words else None for name in ("certificate", "key"))
    with pytest.raises(ConfigurationError, match=re.escape(sentence)):
        open_site(vote.folder, vote.side.roster, address, origin=words.get("origin"), certificate=certificate, key=key)


@pytest.mark.parametrize(
    "origin",
    [
        "https://a b",
        "https://a\nb",
        "https://a%20b",
        'https://a"b',
        "https://a\\b",
        "https://*.example",
        "https://a:0",
        "https://127.1",
        "https://[v1.x]",
        "https://[fe80::1%25eth0]",
        "https://straße.example",  # two domains, by two standards
    ],
)
def test_an_origin_that_browsers_write_otherwise_or_not_at_all_gets_no_links(origin: str) -> None:
    with pytest.raises(ConfigurationError, match=r"without a path|in ASCII"):
        check_origin(origin, field="--links")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("web.json", b"[]"),
        ("web.json", b'{"page":[]}'),
        ("links.json", b"null"),
        ("links.json", b'{"origin":"http://127.0.0.1","terms":"","links":[{"place":3,"fingerprint":"","secret":""}]}'),
    ],
)
def test_files_of_links_that_are_of_another_form_are_refused(vote: Vote, name: str, content: bytes) -> None:
    (vote.folder / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"draw up a new roster|lead to"):
        open_site(vote.folder, vote.side.roster, vote.address, origin=None, certificate=None, key=None)
    if name == "links.json":
        with pytest.raises(ConfigurationError, match=r"cannot be read|There is no link of"):
            replace_link(vote.folder, "bob", vote.side.names, vote.folder / JOURNAL_FILE)


@pytest.mark.parametrize("change", ["web.json", "links.json"])
def test_terms_that_were_changed_are_not_served(vote: Vote, change: str) -> None:
    path = vote.folder / change
    path.write_bytes(path.read_bytes().replace(b'"', b"'", 1))
    with pytest.raises(ConfigurationError, match=r"Restore|Put the old one back"):
        open_site(vote.folder, vote.side.roster, vote.address, origin=None, certificate=None, key=None)


def test_a_server_process_that_is_killed_knows_its_browsers_again(tmp_path: Path) -> None:
    vote = Vote(tmp_path)
    browser = vote.browser("ann")
    words = ("serve", vote.scenario, "--roster", "vote", "--web", vote.address, "--no-pictures")
    for out, is_new in (("first", True), ("second", False)):
        with Process(*words, "--out", out, folder=tmp_path, is_measured=False) as server:
            server.line_with("ballots at ")
            assert trio.run(browser.come) == [SEAT, "ann", [], is_new]
            server.kill()
        browser = browser.again()


# The command line


def test_two_commands_lead_from_a_file_of_names_to_a_page(tmp_path: Path, psephos: Callable[..., Any]) -> None:
    write_vote(tmp_path)
    port = free_port()
    ended = psephos("roster", "vote.toml", "--links", f"http://127.0.0.1:{port}", "--out", "vote")
    assert (ended.status, ended.err) == (0, "")
    assert "vote/links.csv: a link for each of 3 of them, for it alone; send them out\n" in ended.out
    assert "invitations" not in ended.out
    with Process("serve", "vote.toml", "--roster", "vote", "--web", port, folder=tmp_path, is_measured=False) as server:
        line = server.line_with("ballots at ")
        assert line.startswith(f"ballots at http://127.0.0.1:{port}/vote, and for whoever watches ")
        assert ask(f"127.0.0.1:{port}", "/vote")[0] == 200
    ended = psephos("roster", "vote.toml", "--replace", "bob", "--out", "vote")
    assert (ended.status, ended.err) == (0, "")
    assert re.fullmatch(r"vote/link-bob-[0-9a-f]{16}\.csv: a new link for bob, .*\n", ended.out)


def test_links_are_qr_codes_on_request(tmp_path: Path, psephos: Callable[..., Any]) -> None:
    segno = pytest.importorskip("segno", reason="the extra qr is not installed")
    write_vote(tmp_path)
    ended = psephos("roster", "vote.toml", "--links", "--qr", "--out", "vote")
    assert (ended.status, ended.err) == (0, "")
    assert "vote/qr: each link as a QR code, for its voter alone\n" in ended.out
    links = links_in(tmp_path / "vote" / LINKS_FILE)
    for number, name in enumerate(links, start=1):
        path = tmp_path / "vote" / "qr" / f"{number}-{name}.svg"
        assert path.stat().st_mode & 0o777 == 0o600
        assert segno.make_qr(links[name]).svg_inline(scale=4).partition(" d=")[2][:200] in path.read_text(
            encoding="utf-8"
        )


CERTAIN: Final = tuple(
    word for setting in ("calibration=tight", "gamma=0", "num_samples=2") for word in ("--set", f"parameters.{setting}")
)
"""Of Algorithm 2: a winner that samples alone choose, so that one voter may decide it for sure."""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("roster", "vote.toml", "--make-keys", "--qr"), "Add --links, of which --qr makes codes"),
        (("roster", "vote.toml", "--links", "--make-keys"), "parties without a certificate of their own get links"),
        (("roster", "vote.toml", "--links", "--simulate"), "the page takes part in deployments alone"),
        (("roster", "vote.toml", "--links", "vote.example"), "https://vote.example.org"),
        (("roster", "vote.toml", "--links", "--set", "parameters.variant=laplace"), "variant 'laplace'"),
        (("roster", "moral-synthetic", "--links"), "There is no page for sessions of 'moral-preferences'"),
        (("roster", "canteen", "--links", *CERTAIN), "a loss without a bound"),
        (("roster", "crowd", "--links", "--set", "parameters.mechanism=two_layer"), "mechanism 'two_layer'"),
        (("roster", "vote.toml", "--replace", "bob"), "the folder of the roster"),
        (("roster", "vote.toml", "--replace", "bob", "--qr", "--out", "drawn"), "leave out --qr"),
        (("roster", "vote.toml", "--replace", "bob", "--links", "--out", "drawn"), "leave out --links"),
        (("roster", "vote.toml", "--replace", "bob", "--out", "drawn"), "psephos roster --links"),
        (("serve", "vote.toml", "--roster", "drawn", "--web", "8000"), "This roster has no links"),
        (("serve", "vote.toml", "--roster", "drawn", "--web-origin", "https://a.example"), "--web HOST:PORT"),
        (("serve", "vote.toml", "--roster", "drawn", "--web-hours", "1"), "--web HOST:PORT"),
        (("serve", "vote.toml", "--roster", "linked"), "--web 8000"),
    ],
)
def test_what_an_operator_gets_wrong_is_said_in_a_sentence(
    tmp_path: Path, psephos: Callable[..., Any], words: tuple[str, ...], sentence: str
) -> None:
    write_vote(tmp_path)
    if "drawn" in words:
        assert psephos("roster", "vote.toml", "--make-keys", "--out", "drawn").status == 0
    if "linked" in words:
        assert psephos("roster", "vote.toml", "--links", "--out", "linked").status == 0
    ended = psephos(*words)
    assert ended.status == 2
    assert sentence in " ".join(ended.err.split())
    assert "Traceback" not in ended.err
