"""Votes in real browsers, whose server is `psephos serve` in a process of its own."""

import functools
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
from browsers import in_a_browser, open_browser, violations_of
from deployments import ENTRIES, PATIENCE, Process, report, write_vote
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Abort,
    Acknowledgement,
    Hello,
    Message,
    Release,
    Request,
    decode,
    encode,
)
from psephos.scenarios.deployment.links import LINKS_FILE
from psephos.transports.keys import make_identity
from runs import read_json
from web_parties import SEAT, Browser, free_port, links_in

pytestmark = in_a_browser

MILLISECONDS: Final = 1000 * PATIENCE
TITLE: Final = "A </title><script>document.title='broken'</script><img src=x onerror=alert(1)> merger"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as one:
        yield one


class Phone:
    """A voter's phone, on which a link was opened."""

    def __init__(self, browser: Any, link: str) -> None:
        size = {"width": 360, "height": 740}
        self.context = browser.new_context(viewport=size, locale="en-GB", ignore_https_errors=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.faults: list[str] = []
        self.page.on("pageerror", self._note)
        self.page.on("console", self._note)
        self.page.goto(link)

    def _note(self, event: Any) -> None:
        if getattr(event, "type", "error") == "error":  # of a console's lines only these
            self.faults.append(str(event))

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).click()

    def cast(self, name: str) -> None:
        """Vote as `ENTRIES` says."""
        own = ENTRIES[name]
        self.press("Vote on this device")
        self.page.get_by_role("group", name="Your weight").get_by_label(own["weight"], exact=True).check()
        answer = "Yes" if own["merger"] == "1" else "No"
        self.page.get_by_role("group", name="merger").get_by_label(answer, exact=True).check()
        self.press("Review")
        self.press("Cast this ballot")

    def hears(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for()


def draw_up(
    folder: Path, psephos: Callable[..., Any], *, scheme: str = "http"
) -> tuple[list[object], dict[str, str], str]:
    """Draw up a vote with links; return how to serve it, its links, and where it is."""
    write_vote(folder, lines=f"title = {json.dumps(TITLE)}")
    origin = f"{scheme}://127.0.0.1:{free_port()}"
    assert psephos("roster", "vote.toml", "--links", origin, "--out", "vote").status == 0
    words: list[object] = [
        "serve",
        "vote.toml",
        "--roster",
        "vote",
        "--web",
        origin.partition("://")[2],
        "--no-pictures",
    ]
    return words, links_in(folder / "vote" / LINKS_FILE), origin


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_three_phones_vote_while_somebody_watches(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any, scheme: str
) -> None:
    words, links, origin = draw_up(tmp_path, psephos, scheme=scheme)
    stays = scheme == "https"
    if stays:
        make_identity().write(tmp_path / "both.pem")
        words += ["--web-certificate", "both.pem", "--web-hours", "1"]
        words.remove("--no-pictures")
    with Process(*words, "--out", "run", folder=tmp_path, is_measured=False) as server:
        server.line_with("ballots at ")
        watcher = Phone(browser, f"{origin}/")
        watcher.hears("0 of 3")
        assert TITLE in watcher.page.get_by_role("heading").first.inner_text()
        assert violations_of(watcher.page) == []
        phones = {name: Phone(browser, link) for name, link in links.items()}
        for name, phone in phones.items():
            phone.cast(name)
        for phone in phones.values():
            phone.hears("Yes. The server acknowledged all of it in time.")
            assert TITLE in phone.page.inner_text("main")
            phone.hears("Transcript")
        watcher.hears("This is the result" if stays else "Over: the voters are told the outcome.")
        if stays:
            latecomer = Phone(browser, f"{origin}/")
            for seen in (watcher, latecomer):
                seen.hears("reported")
                seen.page.wait_for_function("document.querySelector('picture img').naturalWidth > 0")
                assert violations_of(seen.page) == []
            watcher.faults = [fault for fault in watcher.faults if "net::" not in fault]  # between the two servers
            again = Phone(browser, links["ann"])
            again.press("Vote on this device")
            again.hears(f"The vote is over. Its result is at {origin}/")
            server.send(signal.SIGINT)
        ended = server.ending()
        told = {phone.page.inner_text("dl code").replace(" ", "") for phone in phones.values()}
        for phone in (watcher, *phones.values()):
            assert phone.faults == []
            assert phone.page.title() != "broken"
            phone.context.close()
    assert ended.status == 0, ended
    assert read_json(tmp_path / "run" / "result.json")["received"] == {"weights": 3, "opinions": 3}
    assert len(told) == 1


def test_a_second_phone_is_told_and_the_first_goes_on_after_the_server_was_killed(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    words, links, _ = draw_up(tmp_path, psephos)
    phones: dict[str, Phone] = {}
    with Process(*words, "--out", "first", folder=tmp_path, is_measured=False) as server:
        server.line_with("ballots at ")
        for name in ("ann", "bob"):
            phones[name] = Phone(browser, links[name])
            phones[name].cast(name)
            phones[name].hears("Connected.")
        stolen = Phone(browser, links["ann"])
        stolen.press("Vote on this device")
        stolen.hears("Another device uses this link.")
        stolen.context.close()
        server.kill()
        phones["bob"].hears("No connection to the server.")
    with Process(*words, "--out", "second", folder=tmp_path, is_measured=False) as server:
        server.line_with("ballots at ")
        phones["ann"].page.reload()
        phones["cid"] = Phone(browser, links["cid"])
        phones["cid"].cast("cid")
        for phone in phones.values():
            phone.hears("Yes. The server acknowledged all of it in time.")
            phone.context.close()
        assert server.ending().status == 0
    assert read_json(tmp_path / "second" / "result.json")["received"] == {"weights": 3, "opinions": 3}


class Latecomer:
    """cid, played by hand, who goes no further than a test lets it: so the others wait in each step.

    Args:
        folder: of the roster.
    """

    def __init__(self, folder: Path) -> None:
        self.browser = Browser(links_in(folder / LINKS_FILE)["cid"])
        self.session_id = read_json(folder / "session.json")["session_id"]
        self.acknowledgements: list[Acknowledgement] = []

    async def go_on(self, *, num_reports: int, until: type[Message]) -> None:
        """Come back, report what the server asks for, so often, and leave when it says this next."""
        async with await self.browser.connect() as channel:
            assert (await self.browser.greet(channel))[0] == SEAT
            shown = self.acknowledgements[-1] if self.acknowledgements else None
            hello = Hello(PROTOCOL_VERSION, "vote", "dpwevote", "deployment", "cid", self.session_id)
            hello = msgspec.structs.replace(hello, num_reports=len(self.acknowledgements), shown=shown)
            await channel.send([encode(hello)])
            with trio.fail_after(PATIENCE):
                while True:
                    for message in map(decode, await channel.receive()):
                        assert not isinstance(message, Abort), message
                        if isinstance(message, Acknowledgement) and message not in self.acknowledgements:
                            self.acknowledgements.append(message)
                        if len(self.acknowledgements) >= num_reports and isinstance(message, until):
                            return
                        if isinstance(message, Request):
                            await channel.send([encode(report(message.step, 1))])


def test_votes_go_on_whichever_step_the_server_is_killed_in(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    words, links, _ = draw_up(tmp_path, psephos)
    cid = Latecomer(tmp_path / "vote")
    phones: list[Phone] = []
    for stage, (num_reports, words_heard) in enumerate(
        [(0, "1 of 2"), (1, "You may close this page."), (2, "Yes. The")]
    ):
        with Process(*words, "--out", f"run-{stage}", folder=tmp_path, is_measured=False) as server:
            server.line_with("ballots at ")
            if not phones:
                phones = [Phone(browser, links[name]) for name in ("ann", "bob")]
                for name, phone in zip(("ann", "bob"), phones, strict=True):
                    phone.cast(name)
                    phone.hears("Connected.")
            else:
                for phone in phones:
                    phone.page.reload()
            is_last = num_reports == 2
            trio.run(functools.partial(cid.go_on, num_reports=num_reports, until=Release if is_last else Request))
            for phone in phones:
                phone.hears(words_heard)
            if is_last:
                assert server.ending().status == 0
            else:
                server.kill()
    for phone in phones:
        phone.context.close()
    assert read_json(tmp_path / "run-2" / "result.json")["received"] == {"weights": 3, "opinions": 3}
