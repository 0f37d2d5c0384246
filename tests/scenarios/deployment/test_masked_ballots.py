"""Masked votes in real browsers, whose server is `psephos serve` in a process of its own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import lying_party
import pytest
from browsers import in_a_browser, open_browser, violations_of
from deployments import PATIENCE, Ending, Process, write_vote
from psephos.scenarios.deployment import enroll
from psephos.scenarios.deployment.links import LINKS_FILE
from runs import read_json
from web_parties import free_port, links_in

pytestmark = in_a_browser

VOTERS: Final = {
    "ann": {"weight": "1", "merger": "1"},
    "bob": {"weight": "3", "merger": "1"},
    "cid": {"weight": "2", "merger": "1"},
    "dan": {"weight": "2", "merger": "1"},
    "eve": {"weight": "1", "merger": "0"},
}
ENROLLED: Final = ("dan", "eve")
EPSILON: Final = 30.0
"""Of the sums' noise next to nothing is left: what is released is the margin, but once in some thousand runs."""
CLOSED: Final = "the list of 5 partners is closed: 5 have keys"
RELOADED_TWICE: Final = """
const send = WebSocket.prototype.send
WebSocket.prototype.send = function (bytes) {
  if (bytes[0] !== 0x93 || bytes[1] !== 4) return send.call(this, bytes)
  const [step, text] = [`report ${bytes[2]}`, Array.from(bytes).join()]
  const seen = JSON.parse(sessionStorage.getItem(step) ?? '[]')
  sessionStorage.setItem(step, JSON.stringify([...seen, text]))
  if (seen.length > 0) send.call(this, bytes) // the first time it is kept, and does not leave
  if (seen.length < 2) location.reload()
}"""
"""The page is loaded anew twice in each step: once its report is kept, and once it has left."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as one:
        yield one


class Phone:
    """A voter's phone, on which a link was opened."""

    def __init__(self, browser: Any, link: str, *, script: str = "") -> None:
        self.context = browser.new_context(viewport={"width": 360, "height": 740}, locale="en-GB")
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        if script:
            self.page.add_init_script(script)
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.goto(link)

    def cast(self, name: str) -> None:
        own = VOTERS[name]
        self.page.get_by_role("button", name="Vote on this device").click()
        self.page.get_by_role("group", name="Your weight").get_by_label(own["weight"], exact=True).check()
        answer = "Yes" if own["merger"] == "1" else "No"
        self.page.get_by_role("group", name="merger").get_by_label(answer, exact=True).check()
        self.page.get_by_role("button", name="Review").click()
        self.page.get_by_role("button", name="Cast this ballot").click()
        self.hears("Please keep this page open until the result is there.")

    def hears(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for()

    def records(self) -> set[str]:
        """Return the names of what the page has kept, records and keys."""
        script = """
new Promise((resolve) => {
  const request = indexedDB.open('psephos', 1)
  request.onsuccess = () => {
    const transaction = request.result.transaction(['records', 'keys'])
    const all = ['records', 'keys'].map((name) => transaction.objectStore(name).getAllKeys())
    transaction.oncomplete = () => resolve(all.flatMap(({ result }) => result.map(([, name]) => name)))
  }
})"""
        return set(self.page.evaluate(script))


class Vote:
    """The vote of five, three in browsers and two by `psephos join`."""

    def __init__(self, folder: Path, psephos: Callable[..., Any], *lines: str) -> None:
        self.folder = folder
        write_vote(folder, entries=VOTERS)
        for name in ENROLLED:
            enroll(name, folder / "keys" / name)
        self.settings = [
            *("--set", "trust=distributed", "--set", "threshold=4", "--set", "colluders=0"),
            *("--set", f"epsilon={EPSILON}", *lines),
        ]
        origin = f"http://127.0.0.1:{free_port()}"
        drawn = psephos("roster", "vote.toml", *self.settings, "--links", origin, "--enrolled", "keys", "--out", "vote")
        assert drawn.status == 0, drawn
        self.links = links_in(folder / "vote" / LINKS_FILE)
        assert list(self.links) == [name for name in VOTERS if name not in ENROLLED]
        self.words: list[object] = ["serve", "vote.toml", *self.settings, "--roster", "vote"]
        self.words += ["--web", origin.partition("//")[2], "--listen", "127.0.0.1:0", "--no-pictures"]

    def serve(self, *more: str, out: str = "run", **kwargs: Any) -> Process:
        return Process(*self.words, *more, "--out", out, folder=self.folder, is_measured=False, **kwargs)

    def join(self, name: str, address: str, **kwargs: Any) -> Process:
        return Process(
            *("join", "vote/invitations", "--as", name, "--input", f"{name}.csv", "--address", address),
            *("--key", f"keys/{name}", "--json", "--out", f"as-{name}"),
            folder=self.folder,
            is_measured=False,
            **kwargs,
        )

    def result(self, out: str = "run") -> Any:
        return read_json(self.folder / out / "result.json")


def endings(processes: list[Process]) -> list[Ending]:
    ended: list[Ending] = []
    for process in processes:
        with process:
            ended.append(process.ending())
    return ended


def test_three_browsers_and_two_programs_open_the_sum_and_hear_one_transcript(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    vote = Vote(tmp_path, psephos)
    assert not list((tmp_path / "vote" / "invitations").iterdir())
    with vote.serve() as server:
        server.line_with("0 of 3 links were opened")
        phones = {name: Phone(browser, link) for name, link in vote.links.items()}
        phones["ann"].hears("Vote on this device")
        assert violations_of(phones["ann"].page) == []
        for name, phone in phones.items():
            phone.cast(name)
        server.line_with("the list of 5 partners is closed")
        address = server.address()
        joined = endings([vote.join(name, address) for name in ENROLLED])
        for phone in phones.values():
            phone.hears("Yes. The server acknowledged your masked ballot in time.")
        ended = server.ending()
        digests = {phone.page.inner_text("dl code").replace(" ", "") for phone in phones.values()}
        for phone in phones.values():
            assert phone.faults == []
            kept = phone.records()
            assert kept.isdisjoint({"row", "root"})
            assert "answer 6" in kept
            assert "5 voters reported" in phone.page.inner_text("main")
            phone.context.close()
    assert ended.status == 0, ended
    assert [each.status for each in joined] == [0, 0], joined
    result = vote.result()
    assert result["received"] == {"votes": 5}
    assert digests == {read_json(tmp_path / "run" / "run.json")["transcript"]}
    (candidate,) = result["outcome"]["candidates"]
    assert abs(candidate["margin"]["value"] - 3.5) <= 1  # 8 of 9 say yes, and half is 4.5


def test_a_page_that_is_loaded_anew_twice_in_each_step_says_the_same_and_counts(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    vote = Vote(tmp_path, psephos)
    with vote.serve() as server:
        server.line_with("0 of 3 links were opened")
        phones = {
            name: Phone(browser, link, script=RELOADED_TWICE if name == "ann" else "")
            for name, link in vote.links.items()
        }
        for name, phone in phones.items():
            phone.cast(name)
        server.line_with(CLOSED)
        address = server.address()
        joined = endings([vote.join(name, address) for name in ENROLLED])
        for phone in phones.values():
            phone.hears("Yes. The server acknowledged your masked ballot in time.")
        assert server.ending().status == 0
        said = phones["ann"].page.evaluate("Object.entries(sessionStorage)")
        for phone in phones.values():
            assert phone.faults == []
            phone.context.close()
    assert [each.status for each in joined] == [0, 0], joined
    reports = {name: json.loads(texts) for name, texts in said}
    assert reports.keys() == {f"report {step}" for step in (0, 1, 2, 4, 5, 6)}
    assert all(len(texts) >= 2 and len({*texts}) == 1 for texts in reports.values())
    assert vote.result()["received"] == {"votes": 5}


def test_a_cheat_is_accused_by_a_page_and_named_and_the_honest_pages_count(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    """Dan's box for ann does not open: her page shows what opens it, and dan is out; all others are in the sum."""
    vote = Vote(tmp_path, psephos)
    lying = Path(lying_party.__file__)
    with vote.serve() as server:
        server.line_with("0 of 3 links were opened")
        phones = {name: Phone(browser, link) for name, link in vote.links.items()}
        for name, phone in phones.items():
            phone.cast(name)
        server.line_with(CLOSED)
        address = server.address()
        dan = vote.join("dan", address, program=(lying, "BoxThatDoesNotOpen"))
        dan, eve = endings([dan, vote.join("eve", address)])
        for phone in phones.values():
            phone.hears("Yes. The server acknowledged your masked ballot in time.")
        ended = server.ending()
        assert "answer 3" in phones["ann"].records()
        assert "answer 3" not in phones["bob"].records()
        for phone in phones.values():
            assert phone.faults == []
            phone.context.close()
    assert (dan.status, eve.status, ended.status) == (1, 0, 0)
    (named,) = read_json(tmp_path / "run" / "run.json")["named"]
    assert named["party"] == "dan"
    assert vote.result()["received"] == {"votes": 4}


def test_a_page_whose_server_lied_leaves_for_good_and_the_others_go_on(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    """The server changes a bit of a box for ann. Her page has masked nothing, and joins that session no more."""
    vote = Vote(tmp_path, psephos)
    lying = Path(lying_party.__file__).with_name("lying.py")
    found = "The server is at fault: the box of “bob” was another one than it has signed."
    with vote.serve(program=(lying, 0)) as server:
        server.line_with("0 of 3 links were opened")
        phones = {name: Phone(browser, link) for name, link in vote.links.items()}
        for name, phone in phones.items():
            phone.cast(name)
        server.line_with(CLOSED)
        address = server.address()
        joined = endings([vote.join(name, address) for name in ENROLLED])
        phones["ann"].hears(found)
        for name in ("bob", "cid"):
            phones[name].hears("Yes. The server acknowledged your masked ballot in time.")
        ended = server.ending()
        kept = phones["ann"].records()
        assert "left" in kept
        assert kept.isdisjoint({"row", "answer 4"})
    assert [each.status for each in (*joined, ended)] == [0, 0, 0]
    assert f"ann has left: {found}" in ended.out
    assert vote.result()["received"] == {"votes": 4}


def test_who_has_not_opened_the_link_in_time_may_be_missing_and_is_told_so(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any
) -> None:
    """The server is killed once the list is closed, and has more patience when it begins again."""
    vote = Vote(tmp_path, psephos, "--set", "phases.join.quorum=4")
    with vote.serve("--set", "phases.join.deadline_seconds=40", out="closed") as server:
        server.line_with("0 of 3 links were opened")
        phones = {name: Phone(browser, vote.links[name]) for name in ("ann", "bob")}
        for name, phone in phones.items():
            phone.cast(name)
        server.line_with("the list of 5 partners is closed: 4 have keys, and 1, whose link was not opened")
        server.kill()
    with vote.serve("--set", "phases.join.deadline_seconds=90") as server:
        address = server.address()
        processes = [vote.join(name, address) for name in ENROLLED]
        cid = Phone(browser, vote.links["cid"])
        cid.page.get_by_role("button", name="Vote on this device").click()
        cid.hears("The list of voters is closed")
        joined = endings(processes)
        for phone in phones.values():
            phone.hears("Yes. The server acknowledged your masked ballot in time.")
        ended = server.ending()
        for phone in (cid, *phones.values()):
            phone.context.close()
    assert [each.status for each in (*joined, ended)] == [0, 0, 0], (joined, ended)
    assert vote.result()["received"] == {"votes": 4}
    assert "The list of voters is closed" in psephos("roster", "vote.toml", "--replace", "cid", "--out", "vote").refusal
