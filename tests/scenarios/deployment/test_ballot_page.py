"""The ballot page in a real browser: its bits are ours, and whatever happens to it, it draws once and says the same."""

import json
import re
import shutil
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from ballot_server import NAME, PAGE, BallotServer, open_ballot_server
from browsers import in_a_browser, open_browser, open_lasting_browser, violations_of
from psephos.protocol.messages import Hello, Report, decode

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    with open_browser() as one:
        yield one


@pytest.fixture
def server() -> Iterator[BallotServer]:
    """A server that goes on when a test says so."""
    with open_ballot_server() as one:
        yield one


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A phone's browser, with nothing stored."""
    one = browser.new_context(viewport={"width": 360, "height": 740}, locale="en-GB", timezone_id="UTC")
    one.set_default_timeout(20_000)
    yield one
    one.close()


def screen_of(page: Any, *names: str) -> str:
    """Wait for one of these screens, and return its name."""
    page.wait_for_selector(", ".join(f"[data-screen={name}]" for name in names))
    return page.locator("main").get_attribute("data-screen")


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).click()


def fill_in(page: Any) -> None:
    """Answer everything: weight 2, yes, no."""
    for group, label in (("Your weight", "2"), ("ada", "Yes"), ("bob", "No")):
        page.get_by_role("group", name=group).get_by_label(label, exact=True).check()


def go_to(page: Any, server: BallotServer, last: str) -> None:
    """Open the link, or the page again, and go on to a screen."""
    page.goto("about:blank")
    page.goto(server.link)
    acts = {
        "terms": lambda: press(page, "Vote on this device"),
        "ballot": lambda: (fill_in(page), press(page, "Review")),
        "review": lambda: press(page, "Cast this ballot"),
        "waiting": lambda: page.wait_for_selector("[data-screen=result]"),
    }
    order = [*acts, "result"]
    now = ""
    while now != last:
        now = screen_of(page, *order[order.index(now) + 1 if now else 0 :])
        if now != last:
            acts[now]()


def sent_of(server: BallotServer, kind: type[Any]) -> list[Any]:
    """Return the messages of a kind that pages have sent."""
    return [message for message in map(decode, server.sent) if isinstance(message, kind)]


# A vote.


def test_a_whole_vote(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    complaints: list[Any] = []

    def note_complaint(complaint: Any) -> None:
        complaints.append(complaint)

    page.on("console", note_complaint)
    page.on("pageerror", note_complaint)
    go_to(page, server, "terms")  # which say no more of when than what is sure, and where it is said
    assert "All ends on Wednesday, 18 May 2033 at 03:33, by this device’s clock" in page.inner_text("main")
    assert page.get_by_role("link", name="the page of the vote").get_attribute("href") == "/"
    go_to(page, server, "waiting")
    page.get_by_text("waiting for the other voters").wait_for()
    page.get_by_text("Please keep this page open.").wait_for()
    server.go_on()
    page.get_by_text("The server still has to ask this device once.").wait_for()
    server.go_on()
    page.get_by_text("You may close this page.").first.wait_for()
    server.go_on()
    screen_of(page, "result")
    text = page.inner_text("main")
    assert server.transcript in text.replace(" ", "")
    assert "Yes. The server acknowledged all of it in time." in text
    assert NAME in text
    assert server.num_done == 1
    assert [len(each) for each in server.reports.values()] == [1, 1]
    assert [each.num_reports for each in sent_of(server, Hello)] == [0]
    assert complaints == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the receipt").click()
    assert server.transcript in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_reload_comes_back_to_the_same_state_and_sends_the_same_bytes(context: Any, server: BallotServer) -> None:
    page = context.new_page()

    def reload() -> str:
        page.reload()
        return screen_of(page, "terms", "ballot", "review", "waiting", "result", "problem")

    go_to(page, server, "terms")
    assert reload() == "terms"
    assert server.public_keys == []
    press(page, "Vote on this device")
    screen_of(page, "ballot")
    assert reload() == "ballot"
    fill_in(page)
    press(page, "Review")
    screen_of(page, "review")
    assert reload() == "ballot"  # nothing of an answer is stored before it is cast
    assert sent_of(server, Hello) == []
    fill_in(page)
    press(page, "Review")
    press(page, "Cast this ballot")
    for stage in range(3):
        page.get_by_text("Connected.").wait_for()
        assert reload() == "waiting"
        page.get_by_text("Connected.").wait_for()
        server.is_deaf = stage == 0  # the first report is taken, and not acknowledged
        server.go_on()
        if stage == 0:
            page.get_by_text("the server has not acknowledged it yet").wait_for()
            assert reload() == "waiting"
            server.is_deaf = False
        if stage < 2:
            page.get_by_text("acknowledged by the server").nth(stage).wait_for()
    screen_of(page, "result")
    text = page.inner_text("main")
    assert reload() == "result"
    assert page.inner_text("main") == text
    assert [len(each) for each in server.reports.values()] == [1, 1]
    assert len(server.public_keys) == 1
    numbers = [each.num_reports for each in sent_of(server, Hello)]
    assert numbers == sorted(numbers)
    assert {0, 1, 2} == {*numbers}
    assert len(sent_of(server, Report)) == 2  # what the server has, it does not ask for again


def test_a_report_that_was_lost_is_sent_again_byte_for_byte(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    go_to(page, server, "waiting")
    page.get_by_text("Connected.").wait_for()
    server.loses_next_report = True
    server.go_on()
    page.get_by_text("No connection to the server.").first.wait_for()
    page.get_by_text("acknowledged by the server").wait_for()
    first, second = (each for each in server.sent if isinstance(decode(each), Report))
    assert first == second


RECORDS: Final = """() => new Promise((resolve) => {
  indexedDB.open('psephos', 1).onsuccess = ({ target }) => {
    const all = target.result.transaction('records').objectStore('records')
    const [names, values] = [all.getAllKeys(), all.getAll()]
    values.onsuccess = () =>
      resolve(names.result.map(([, name], place) => [name, JSON.stringify(values.result[place])]))
  }
})"""


def test_a_device_keeps_reports_and_no_answer(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    go_to(page, server, "review")
    assert [name for name, _ in page.evaluate(RECORDS)] == ["seat"]
    press(page, "Cast this ballot")
    page.get_by_text("Connected.").wait_for()
    kept = {name: json.loads(value) for name, value in page.evaluate(RECORDS)}
    assert kept.keys() == {"seat", "reserved", "reports"}
    assert kept["seat"] == {"place": 2, "name": NAME, "row": []}
    assert kept["reserved"]["losses"] == {"weight": 1, "opinion": 1, "total": 3}
    weights, opinions = ([report[str(place)] for place in range(len(report))] for report in kept["reports"])
    assert (weights[0], weights[1] in range(3), len(weights)) == (0x91, True, 2)
    assert (opinions[0], {*opinions[1:]} <= {0, 1}, len(opinions)) == (0x92, True, 3)
    assert page.locator("input").count() == 0


def test_who_is_late_is_told_that_the_ballot_does_not_count(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    go_to(page, server, "waiting")
    server.go_on()
    page.get_by_text("acknowledged by the server").wait_for()
    server.is_late = True
    server.go_on()
    screen_of(page, "result")
    text = page.inner_text("main")
    assert "No, or only in part" in text
    assert "There is no digest of the transcript" in text


MOMENTS: Final = """
const tell = (moment) => {
  const request = new XMLHttpRequest()
  request.open('GET', `/moment/${encodeURIComponent(moment)}`, false)
  request.send()
}
const { add } = IDBObjectStore.prototype
const { transaction } = IDBDatabase.prototype
const added = new WeakMap()
IDBDatabase.prototype.transaction = function (...words) {
  const begun = transaction.apply(this, words)
  begun.addEventListener('complete', () => { if (added.has(begun)) tell(`after ${added.get(begun)}`) }) // the first
  return begun
}
IDBObjectStore.prototype.add = function (value, key) {
  tell(`before ${key[1]}`)
  added.set(this.transaction, key[1])
  return add.call(this, value, key)
}
const { send } = WebSocket.prototype
WebSocket.prototype.send = function (bytes) {
  tell(`send ${bytes[1]}`)
  return send.call(this, bytes)
}
const { set } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage')
Object.defineProperty(WebSocket.prototype, 'onmessage', { set(act) {
  set.call(this, (event) => { tell(`heard ${new Uint8Array(event.data)[1]}`); act(event) })
} })"""
"""Says at each step of a page where it is, and waits for an answer."""


def test_a_browser_that_is_killed_in_each_step_draws_once_and_sends_the_same(browser: Any, tmp_path: Path) -> None:
    """Killed by SIGKILL at every durable step and message, before and after, and started again."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

    def take_part(profile: Path, server: BallotServer, dies_at: int = -1) -> list[str]:
        """Take part until the result is there, or until the browser is killed at a moment; return all moments."""
        moments: list[str] = []
        is_killed = threading.Event()
        with open_lasting_browser(browser, profile) as lasting:

            def on_moment(moment: str) -> None:
                if len(moments) == dies_at:
                    is_killed.set()
                    lasting.kill()
                moments.append(urllib.parse.unquote(moment))

            server.on_moment = on_moment
            page = lasting.context.new_page()
            page.set_default_timeout(20_000)
            page.add_init_script(MOMENTS)
            if dies_at < 0:
                go_to(page, server, "result")
            else:
                with pytest.raises(playwright.Error):
                    go_to(page, server, "result")
            assert is_killed.is_set() == (dies_at >= 0), moments
        return moments

    with open_ballot_server(is_automatic=True) as server:
        moments = take_part(tmp_path / "whole", server)
    assert len(moments) > 30
    for durable, sent in (("Ed25519", 21), ("reports", 1), ("request 0", 4), ("request 1", 4), ("release", 9)):
        kept = moments.index(f"after {durable}")
        assert f"send {sent}" in moments[kept:], moments  # what follows from a record is sent once it is there
        assert moments[moments.index(f"before {durable}") + 1] == f"after {durable}", moments
    for dies_at in range(len(moments)):
        with open_ballot_server(is_automatic=True) as server:
            profile = tmp_path / str(dies_at)
            take_part(profile, server, dies_at)
            take_part(profile, server)
            assert [len(each) for each in server.reports.values()] == [1, 1], moments[dies_at]
            assert len(server.public_keys) == 1, moments[dies_at]


# What goes wrong.


def test_a_second_tab_waits_and_goes_on_when_the_first_is_closed(context: Any, server: BallotServer) -> None:
    first, second = context.new_page(), context.new_page()
    go_to(first, server, "waiting")
    second.goto(server.link)
    assert screen_of(second, "waiting", "problem") == "problem"
    assert "open in another tab" in second.inner_text("main")
    assert len(sent_of(server, Hello)) == 1
    first.close()
    screen_of(second, "waiting")
    for _ in range(3):
        second.get_by_text("Connected.").wait_for()
        server.go_on()
        second.wait_for_timeout(100)
    screen_of(second, "result")
    assert [len(each) for each in server.reports.values()] == [1, 1]


def test_cleared_storage_and_a_second_device_are_told_that_the_link_was_used(
    browser: Any, server: BallotServer
) -> None:
    for _ in range(2):
        context = browser.new_context()
        page = context.new_page()
        go_to(page, server, "terms")
        press(page, "Vote on this device")
        if screen_of(page, "ballot", "problem") == "problem":
            assert "the link is already used by another device" in page.inner_text("main")
            break
        context.close()
    else:
        pytest.fail("a second device may vote")
    assert len(server.public_keys) == 1
    assert server.sent == []
    stored = "async () => (await indexedDB.databases()).map(({ name }) => name)"
    assert page.evaluate(stored) == ["psephos"]
    names = """() => new Promise((resolve) => {
      indexedDB.open('psephos', 1).onsuccess = ({ target }) => {
        const request = target.result.transaction('records').objectStore('records').getAllKeys()
        request.onsuccess = () => resolve(request.result)
      }
    })"""
    assert page.evaluate(names) == []
    context.close()


FILL: Final = """async () => {
  const { target: { result: database } } = await new Promise((resolve) => {
    indexedDB.open('psephos', 1).onsuccess = resolve
  })
  const put = (size) => new Promise((resolve) => {
    const transaction = database.transaction('records', 'readwrite')
    const much = crypto.getRandomValues(new Uint8Array(size))
    transaction.objectStore('records').put(much, ['of nobody', String(Math.random())])
    transaction.onabort = () => resolve(transaction.error.name)
    transaction.oncomplete = () => resolve('')
  })
  let error = ''
  for (const size of [60_000, 5_000, 500, 50, 1]) while (!(error = await put(size))) {}
  database.close()
  return error
}"""
"""Fills the storage, down to the last record."""


@pytest.mark.parametrize("screen", ["terms", "review"])
def test_full_storage_sends_nothing_and_says_so(context: Any, server: BallotServer, screen: str) -> None:
    page = context.new_page()
    page.goto(f"{server.origin}/session.json")
    session = context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": server.origin, "quotaSize": 1_000_000})
    go_to(page, server, screen)
    assert page.evaluate(FILL) == "QuotaExceededError"
    press(page, "Vote on this device" if screen == "terms" else "Cast this ballot")
    assert screen_of(page, "problem", "ballot", "waiting") == "problem"
    assert "This device is full" in page.inner_text("main")
    assert server.sent == []
    session.send("Storage.overrideQuotaForOrigin", {"origin": server.origin})
    press(page, "Try again")
    screen_of(page, "terms", "ballot")


def test_storage_that_is_taken_away_stops_the_page(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    go_to(page, server, "waiting")
    page.get_by_text("Connected.").wait_for()
    session = context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": server.origin, "storageTypes": "indexeddb"})
    server.go_on()
    assert screen_of(page, "problem") == "problem"
    assert server.reports == {}


@pytest.mark.parametrize("seconds", [-10 * 365 * 86_400, 20 * 365 * 86_400])
def test_a_clock_that_jumps_draws_nothing_anew(context: Any, server: BallotServer, seconds: int) -> None:
    page = context.new_page()
    go_to(page, server, "waiting")
    server.go_on()
    page.get_by_text("acknowledged by the server").wait_for()
    page.add_init_script(f"const now = Date.now; Date.now = () => now() + 1000 * {seconds}")
    page.reload()
    if seconds > 0:
        screen_of(page, "problem")
        assert "The vote has ended" in page.inner_text("main")
        assert "If the clock is wrong" in page.inner_text("main")
    else:
        page.get_by_text("Connected.").wait_for()
    assert len(server.reports[0]) == 1


def test_an_insecure_page_says_why_it_does_not_vote(browser: Any, server: BallotServer, tmp_path: Path) -> None:
    with open_lasting_browser(browser, tmp_path, "--host-resolver-rules=MAP ballot.test 127.0.0.1") as lasting:
        page = lasting.context.new_page()
        page.goto(server.link.replace("127.0.0.1", "ballot.test"))
        screen_of(page, "problem")
        assert "The connection is not secure" in page.inner_text("main")


def test_other_terms_than_those_of_the_link_are_not_shown(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    server_link = server.link
    server.terms = server.terms.replace(b'"opinion": 1.0', b'"opinion": 0.5')
    page.goto(server_link)
    screen_of(page, "problem")
    text = page.inner_text("main")
    assert "These are not the terms of your link" in text
    assert "Spring" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": {"weight": 1.0, "opinion": 1.0, "total": 2.0}}, "another privacy cost"),
        ({"kind": "simulation"}, "cannot take part in such a session"),
        ({"trust": "central"}, "cannot take part in such a session"),
        ({"ballots": [{"name": "ada", "options": ["no", "yes"]}]}, "other answers"),
    ],
)
def test_terms_that_the_page_cannot_keep_are_refused(context: Any, change: dict[str, Any], message: str) -> None:
    with open_ballot_server(**change) as server:
        page = context.new_page()
        page.goto(server.link)
        screen_of(page, "problem")
        assert message in page.inner_text("main")
        assert server.public_keys == []


def test_another_vote_than_agreed_to_is_left(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    parameters = json.loads(server.terms)["parameters"] | {"epsilon": 20.0}
    server.welcome = msgspec.structs.replace(server.welcome, parameters=msgspec.Raw(msgspec.msgpack.encode(parameters)))
    go_to(page, server, "review")
    press(page, "Cast this ballot")
    screen_of(page, "problem")
    assert "another vote than the one that this link is for" in page.inner_text("main")
    assert server.reports == {}


def test_an_incomplete_link_and_a_server_s_refusal_are_explained(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    page.goto(server.link[:-3])
    screen_of(page, "problem")
    assert "Part of the link is missing" in page.inner_text("main")
    server.refusal = "<img src=x onerror=alert(1)>"
    go_to(page, server, "terms")
    press(page, "Vote on this device")
    screen_of(page, "problem")
    assert server.refusal in page.inner_text("main")


# For everybody.

HOSTILE_NAMES: Final = ('<img src=x onerror="document.title=1">', "مشروع الحديقة الجديدة", "w" * 128)


def check_screen(page: Any) -> None:
    """Check that a screen fits on a phone, can be read by everybody, and begins at its heading."""
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations_of(page) == []
    assert page.locator("main b, main img").count() == 0  # no name has become markup
    assert page.evaluate("document.activeElement.tagName") == "H1"


@pytest.mark.parametrize(("scheme", "size"), [("light", "100%"), ("dark", "200%")])
def test_everybody_can_read_each_screen_on_a_phone(browser: Any, scheme: str, size: str) -> None:
    """At 360 pixels, also with letters at twice their size, and with names from right to left or as markup."""
    with open_ballot_server() as plain:
        parameters = json.loads(plain.terms)["parameters"]
    with open_ballot_server(
        title="<b>انتخابات الربيع</b>",
        parameters=parameters | {"candidates": list(HOSTILE_NAMES)},
        ballots=[{"name": name, "options": ["no", "yes"]} for name in HOSTILE_NAMES],
        epsilon={"weight": 1.0, "opinion": 1.0, "total": 4.0},
    ) as server:
        context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
        page = context.new_page()
        page.add_init_script(
            f"addEventListener('DOMContentLoaded', () => document.documentElement.style.fontSize = '{size}')"
        )
        page.goto(server.link)
        screen_of(page, "terms")
        check_screen(page)
        page.get_by_text("More digests").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        press(page, "Vote on this device")
        screen_of(page, "ballot")
        check_screen(page)
        press(page, "Review")
        assert "Please answer" in page.get_by_role("alert").inner_text()
        page.get_by_role("group", name="Your weight").get_by_label("2").check()
        for name in HOSTILE_NAMES:
            page.get_by_role("group", name=name).get_by_label("Yes").check()
        press(page, "Review")
        screen_of(page, "review")
        check_screen(page)
        press(page, "Cast this ballot")
        screen_of(page, "waiting")
        page.get_by_text("Connected.").wait_for()
        check_screen(page)
        for _ in range(3):
            server.go_on()
            page.wait_for_timeout(200)
        screen_of(page, "result")
        check_screen(page)
        context.close()


def test_a_vote_by_keyboard_alone(context: Any, server: BallotServer) -> None:
    page = context.new_page()
    page.goto(server.link)
    screen_of(page, "terms")
    for key in ("Tab", "Tab", "Tab", "Enter"):  # past the page of the vote, and the digests
        page.keyboard.press(key)
    screen_of(page, "ballot")
    for keys in (("Tab", "ArrowDown"), ("Tab", "Space"), ("Tab", "ArrowDown"), ("Tab", "Enter")):
        for key in keys:
            page.keyboard.press(key)
    screen_of(page, "review")
    assert page.locator(".answers dd").all_inner_texts() == ["2", "Yes", "No"]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    screen_of(page, "waiting")


def test_the_page_is_small_and_asks_for_nothing_from_elsewhere() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir()}
    sizes = {name: len(text.encode()) for name, text in files.items() if not name.endswith((".md", ".py"))}
    of_masked = {f"{name}.js" for name in ("blake2", "chacha", "group", "masked", "masks", "sums")}
    assert sum(size for name, size in sizes.items() if name not in of_masked) <= 120_000
    assert sum(sizes[name] for name in of_masked) <= 60_000  # fetched for masked votes alone
    for name in files.keys() - of_masked:
        fetched = re.findall(r"^(?:import .*|} )from '\./(\w+\.js)'", files[name], re.MULTILINE)
        assert of_masked.isdisjoint(fetched), name
    for name, text in files.items():
        assert "innerHTML" not in text, name
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text.replace("with https:// at", ""), name


@pytest.mark.skipif(shutil.which("tsc") is None, reason="tsc is not installed: npm install --global typescript@5")
def test_its_types_are_sound() -> None:
    ended = subprocess.run(  # noqa: S603  a development tool
        [str(shutil.which("tsc")), "--project", str(Path(__file__).parents[2] / "jsconfig.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
