"""Votes by `serve --web` in real browsers, beside parties of the command line: one transcript, whatever happens."""

import contextlib
import itertools
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from browsers import in_a_browser, open_browser, open_lasting_browser, violations_of
from deployments import ENTRIES as OF_THREE
from deployments import Process, write_vote
from psephos.agents.journal_format import SESSION, decode_record, read_journal
from psephos.protocol.records import Accepted, ServerRecord
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.deployment import enroll
from runs import read_json
from stalling import StallingNetwork
from surveyed import ANSWERS, LOCAL_PLANS, PLANS, QUIZ, RANKINGS, TASKS, TRUSTED_PLANS, TRUSTED_QUIZ, Surveyed
from web_parties import free_port, links_in

pytestmark = in_a_browser
ENTRIES: Final[Mapping[str, Mapping[str, str]]] = {
    f"voter-{number}": {"weight": str(1 + number % 3), "merger": str(number % 2)} for number in range(12)
}
JOINING: Final = tuple(ENTRIES)[:4]
KILLED, STALLED, RELOADED, LAST = (f"voter-{number}" for number in (4, 5, 6, 11))
GONE_SECONDS: Final = 65
"""After which a server has given a silent page up."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser."""
    with open_browser() as one:
        yield one


def screen_of(page: Any, *names: str) -> str:
    page.wait_for_selector(", ".join(f"[data-screen={name}]" for name in names))
    return page.locator("main").get_attribute("data-screen")


def open_page(context: Any, link: str) -> Any:
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(link)
    return page


def cast(page: Any, own: Mapping[str, str], *, between: Callable[[], object] = lambda: None) -> None:
    """Vote, and do something on each screen before going on from it; without a weight where it is public."""
    screen_of(page, "terms")
    between()
    page.get_by_role("button", name="Vote on this device").click()
    screen_of(page, "ballot")
    between()
    if page.get_by_role("group", name="Your weight").count():
        page.get_by_role("group", name="Your weight").get_by_label(own["weight"], exact=True).check()
    page.get_by_role("group", name="merger").get_by_label("Yes" if own["merger"] == "1" else "No").check()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Cast this ballot").click()
    if screen_of(page, "waiting", "result") == "waiting":
        between()


def transcript_on(page: Any) -> str:
    screen_of(page, "result")
    text: str = page.inner_text("main")
    assert "Yes. The server acknowledged all of it in time." in text
    (digest,) = re.findall(r"Transcript\s+((?:[0-9a-f]{4} ?){16})", text)
    return digest


def reported_by(page: Any) -> list[list[int]]:
    """Return the reports that a page's journal has, as they are sent."""
    return page.evaluate("""() => new Promise((resolve) => {
      indexedDB.open('psephos', 1).onsuccess = ({ target }) => {
        const all = target.result.transaction('records').objectStore('records')
        const keys = all.getAllKeys()
        keys.onsuccess = () => {
          all.get(keys.result.find(([, name]) => name === 'reports')).onsuccess = ({ target }) =>
            resolve(target.result.map((report) => [...report]))
        }
      }
    })""")


@contextlib.contextmanager
def open_vote(folder: Path, psephos: Callable[..., Any]) -> Generator[tuple[list[Process], dict[str, str], int]]:
    """Serve the vote, and let those join who have no link; yield all processes, the links, and the pages' port."""
    write_vote(folder, entries=ENTRIES)
    for name in JOINING:
        enroll(name, folder / "keys" / name)
    port = free_port()
    ended = psephos("roster", "vote.toml", "--enrolled", "keys", "--links", f"http://127.0.0.1:{port}", "--out", "vote")
    assert (ended.status, ended.err) == (0, "")
    links = links_in(folder / "vote" / "links.csv")
    assert links.keys() == ENTRIES.keys() - {*JOINING}
    words = ("serve", "vote.toml", "--roster", "vote", "--web", port, "--listen", "127.0.0.1:0", "--no-pictures")
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(Process(*words, folder=folder, is_measured=False))]
        address = processes[0].address()
        invitations = {path.stem.partition("-")[2]: path for path in (folder / "vote" / "invitations").iterdir()}
        for name in JOINING:
            words = ("join", invitations[name], "--key", f"keys/{name}", "--input", f"{name}.csv", "--address", address)
            processes.append(stack.enter_context(Process(*words, folder=folder, is_measured=False)))
        yield processes, links, port


def reports_accepted(journal: Path, *, names: Sequence[str]) -> dict[tuple[str, int], list[int]]:
    """Return the reports that a server's journal has, by party and step."""
    decoder = msgspec.msgpack.Decoder[ServerRecord](ServerRecord)
    records = [decode_record(row.body, decoder, journal) for row in read_journal(journal, kind=SESSION).rows]
    return {(names[each.place], each.step): list(each.report) for each in records if isinstance(each, Accepted)}


def test_twelve_voters_of_whom_eight_have_browsers(tmp_path: Path, psephos: Callable[..., Any], browser: Any) -> None:
    """One page is killed twice, one has no network for a minute, one is loaded again on each screen, four `join`."""
    with contextlib.ExitStack() as stack:
        processes, links, port = stack.enter_context(open_vote(tmp_path, psephos))
        network = stack.enter_context(StallingNetwork(port))
        rule = f"--host-resolver-rules=MAP 127.0.0.1:{port} 127.0.0.1:{network.port}"
        far = stack.enter_context(open_lasting_browser(browser, tmp_path / "far", rule))
        stalled = open_page(far.context, links[STALLED])
        cast(stalled, ENTRIES[STALLED])
        stalled.get_by_text("Connected.").wait_for()
        with open_lasting_browser(browser, tmp_path / "killed") as lasting:
            page = open_page(lasting.context, links[KILLED])
            cast(page, ENTRIES[KILLED])
            page.get_by_text("Connected.").wait_for()
        pages = {name: open_page(browser.new_context(), links[name]) for name in links if name not in {KILLED, STALLED}}
        for name, page in pages.items():
            if name != LAST:
                cast(page, ENTRIES[name], between=page.reload if name == RELOADED else lambda: None)
        network.passes.clear()
        with open_lasting_browser(browser, tmp_path / "killed") as lasting:
            page = open_page(lasting.context, links[KILLED])
            page.get_by_text("Connected.").wait_for()
            cast(pages[LAST], ENTRIES[LAST])  # now all are there
            page.get_by_text("acknowledged by the server").wait_for()
        pages[RELOADED].get_by_text("acknowledged by the server").wait_for()
        pages[RELOADED].reload()
        stalled.wait_for_timeout(1000 * GONE_SECONDS)
        lasting = stack.enter_context(open_lasting_browser(browser, tmp_path / "killed"))
        pages[KILLED] = open_page(lasting.context, links[KILLED])
        pages[KILLED].get_by_text("Connected.").wait_for()
        assert pages[LAST].get_by_text("The server still has to ask this device once.").count() == 1
        network.passes.set()
        pages[STALLED] = stalled
        (digest,) = {transcript_on(page) for page in pages.values()}
        reports = {(name, step): report for name in links for step, report in enumerate(reported_by(pages[name]))}
        endings = [process.ending() for process in processes]
    for ending in endings:
        assert ending.status == 0, ending
        assert digest[:39] in ending.out, ending
    accepted = reports_accepted(tmp_path / "vote" / "journal.sqlite", names=tuple(ENTRIES))
    assert len(accepted) == 2 * len(ENTRIES)
    assert reports == {key: report for key, report in accepted.items() if key[0] in links}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((), "0.5 for each report of your weight"),
        (("variant=printed", "epsilon_weight=0.25", "epsilon_opinion=0.75"), "0.25 for each report of your weight"),
        (("groups=[[1.0], [2.0, 3.0]]",), "And your weight, by which your vote counts: 1, 2, 3."),
        (("weight_collection=per_candidate",), "Report 2 of 2: your answer"),
        (("public_weights=true",), "whose weight is 3"),
        (("variant=two_point",), "2.72 times as likely"),
        (("variant=signed_rr",), "2.72 times as likely"),
        (("variant=optimal", "quota_fraction=0.6666666666666666"), "2.72 times as likely"),
        (("variant=central",), "You trust them with your ballot."),
        (("variant=central", "release=decision"), "You trust them with your ballot."),
        (("variant=central", "public_weights=true"), "whose weight is 3"),
    ],
    ids=[
        *("joint", "printed", "groups", "per candidate", "public weights", "two_point", "signed_rr", "optimal"),
        *("central", "central decision", "central public weights"),
    ],
)
def test_each_kind_of_vote(
    tmp_path: Path, psephos: Callable[..., Any], browser: Any, settings: tuple[str, ...], words: str
) -> None:
    """Three pages vote; what the server has accepted is what they have kept, and all have one transcript."""
    write_vote(tmp_path)
    given = [word for setting in settings for word in ("--set", f"parameters.{setting}")]
    port = free_port()
    ended = psephos("roster", "vote.toml", *given, "--links", f"http://127.0.0.1:{port}", "--out", "vote")
    assert (ended.status, ended.err) == (0, "")
    links = links_in(tmp_path / "vote" / "links.csv")
    serving = ("serve", "vote.toml", *given, "--roster", "vote", "--web", port, "--no-pictures")
    with Process(*serving, folder=tmp_path, is_measured=False) as server:
        server.line_with("ballots at ")
        pages = {name: open_page(browser.new_context(), link) for name, link in links.items()}
        seen: list[str] = []
        for name, page in pages.items():
            cast(page, OF_THREE[name], between=lambda page=page: seen.append(page.inner_text("main")))
        (digest,) = {transcript_on(page) for page in pages.values()}
        reports = {(name, step): report for name in links for step, report in enumerate(reported_by(pages[name]))}
        ending = server.ending()
    assert ending.status == 0, ending
    assert digest[:39] in ending.out
    assert any(words in text for text in seen), seen
    assert reports == reports_accepted(tmp_path / "vote" / "journal.sqlite", names=tuple(OF_THREE))


def test_a_new_link_goes_on_where_the_old_one_was(tmp_path: Path, psephos: Callable[..., Any], browser: Any) -> None:
    """The link of a voter is replaced who has cast a ballot: on the same device, the new one sends what was drawn."""
    write_vote(tmp_path)
    port = free_port()
    assert psephos("roster", "vote.toml", "--links", f"http://127.0.0.1:{port}", "--out", "vote").status == 0
    links = links_in(tmp_path / "vote" / "links.csv")
    serving = ("serve", "vote.toml", "--roster", "vote", "--web", port, "--no-pictures")
    with Process(*serving, folder=tmp_path, is_measured=False) as server:
        server.line_with("ballots at ")
        device = browser.new_context()
        page = open_page(device, links["ann"])
        cast(page, OF_THREE["ann"])
        page.get_by_text("Connected.").wait_for()
        drawn = reported_by(page)
        ended = psephos("roster", "vote.toml", "--replace", "ann", "--out", "vote")
        assert ended.status == 0
        assert screen_of(page, "problem") == "problem"
        (new_link,) = links_in(tmp_path / ended.out.partition(":")[0]).values()
        page.close()
        page = open_page(device, new_link)
        page.get_by_text("Connected.").wait_for()
        assert reported_by(page) == drawn
        for name in ("bob", "cid"):
            cast(open_page(browser.new_context(), links[name]), OF_THREE[name])
        transcript_on(page)
        assert server.ending().status == 0
    accepted = reports_accepted(tmp_path / "vote" / "journal.sqlite", names=tuple(OF_THREE))
    assert [accepted["ann", step] for step in (0, 1)] == drawn


def answer_tasks(page: Any, name: str) -> None:
    """Answer the tasks of `QUIZ` card by card, as the worker's file does, and go back once."""
    answers = [answer.strip() for answer in ANSWERS[name].split(";")]
    for at, (task, answer) in enumerate(zip(TASKS[name].split("; "), answers, strict=True)):
        page.get_by_role("button", name="Review" if at == len(answers) - 1 else "Next").click()
        assert "choose a label" in page.get_by_role("alert").inner_text()
        page.get_by_role("group", name=task).get_by_label(answer or "Skip this task", exact=True).check()
        if at == 1:
            page.get_by_role("button", name="Back").click()
            assert page.get_by_role("group", name="q").get_by_label(answers[0], exact=True).is_checked()
            page.get_by_role("button", name="Next").click()
            page.get_by_role("group", name=task).get_by_label(answer or "Skip this task", exact=True).check()
        page.get_by_role("button", name="Review" if at == len(answers) - 1 else "Next").click()
    screen_of(page, "review")
    assert page.locator(".answers dd").all_inner_texts() == [answer or "Skipped" for answer in answers]


def phone(browser: Any, size: str) -> Any:
    """Return a phone's browser, whose letters have this size."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    act = f"addEventListener('DOMContentLoaded', () => document.documentElement.style.fontSize = '{size}')"
    context.add_init_script(act)
    return context


def check_screen(page: Any, name: str) -> None:
    """Check that a screen is there, fits on a phone, and can be read by everybody."""
    screen_of(page, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations_of(page) == []
    assert page.evaluate("document.activeElement.tagName") == "H1"


def rank(page: Any, name: str) -> None:
    """Rank as the voter's row says: ann by numbers, bob by keys, cid by drag, and dee by buttons."""
    wanted = RANKINGS[name].split(" > ")
    items = page.locator(".ranking li")
    assert sorted(items.locator(".name").all_inner_texts()) == sorted(wanted)
    for at, each in enumerate(wanted):
        item = items.filter(has=page.locator(".name", has_text=each))
        now = items.locator(".name").all_inner_texts().index(each)
        if name == "ann":
            page.get_by_label(f"Place of {each}").select_option(label=str(at + 1))
        elif name == "cid":
            item.locator(".handle").hover()
            page.mouse.down()
            box = items.nth(at).bounding_box()
            page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2, steps=5)
            page.mouse.up()
        else:
            up = page.get_by_role("button", name=f"{each}: up")
            up.focus()
            for _ in range(at, now):
                page.keyboard.press("Enter") if name == "bob" else up.click()
            assert up.evaluate("element => element === document.activeElement")  # which goes with what is moved
    assert items.locator(".name").all_inner_texts() == wanted
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Change it").click()
    assert items.locator(".name").all_inner_texts() == wanted
    assert page.locator("select").first.input_value() == "0"
    page.get_by_role("button", name="Review").click()
    screen_of(page, "review")
    assert page.locator(".answers dd").all_inner_texts() == wanted


TOLD: Final = "You trust them with your ranking"


@pytest.mark.parametrize(
    ("system", "fill_in", "words"),
    [
        pytest.param(TRUSTED_PLANS, rank, (TOLD, "Mean score"), id="rankings, central"),
        pytest.param(PLANS.having("mechanism = 'exponential'"), rank, (TOLD, "Elected"), id="rankings, by quality"),
        pytest.param(LOCAL_PLANS, rank, ("with a probability of 18.2 %", "Mean score"), id="rankings, local"),
        pytest.param(QUIZ, answer_tasks, ("another label with a probability of 11.9 %", "you alone"), id="answers"),
        pytest.param(TRUSTED_QUIZ, answer_tasks, ("trust them with your answer sheet", "noise"), id="answers, central"),
    ],
)
def test_each_system_beside_a_party_that_joins(
    tmp_path: Path,
    psephos: Callable[..., Any],
    browser: Any,
    system: Surveyed,
    fill_in: Callable[[Any, str], None],
    words: tuple[str, str],
) -> None:
    """One transcript; the tally is that of arrays on what pages drew; who is trusted gets rows as Python has them."""
    scenario, (*by_page, joins) = Path(system.write(tmp_path)).name, system.names
    enroll(joins, tmp_path / "keys" / joins)
    port = free_port()
    ended = psephos("roster", scenario, "--enrolled", "keys", "--links", f"http://127.0.0.1:{port}", "--out", "vote")
    assert (ended.status, ended.err) == (0, "")
    links = links_in(tmp_path / "vote" / "links.csv")
    assert [*links] == by_page
    serving = ("serve", scenario, "--roster", "vote", "--web", port, "--listen", "127.0.0.1:0", "--no-pictures")
    with Process(*serving, "--out", "run", folder=tmp_path, is_measured=False) as server:
        address = server.address()
        (invitation,) = (tmp_path / "vote" / "invitations").iterdir()
        joining = ("join", invitation, "--key", f"keys/{joins}", "--input", f"{joins}.csv", "--address", address)
        trusting = ("--trust-server",) if system.trusts else ()
        with Process(*joining, *trusting, folder=tmp_path, is_measured=False) as party:
            sizes = itertools.cycle(["100%", "200%"])
            pages = {name: open_page(phone(browser, next(sizes)), link) for name, link in links.items()}
            for name, page in pages.items():
                check_screen(page, "terms")
                assert words[0] in page.inner_text("main")
                page.get_by_role("button", name="on this device").click()
                check_screen(page, "ballot")
                fill_in(page, name)
                check_screen(page, "review")
                page.locator("button.main").click()
            (digest,) = {transcript_on(page) for page in pages.values()}
            for page in pages.values():
                check_screen(page, "result")
            assert words[1] in pages[by_page[0]].inner_text("main")
            reports = {name: reported_by(page) for name, page in pages.items()}
            endings = [server.ending(), party.ending()]
    assert all(ending.status == 0 and digest[:39] in ending.out for ending in endings), endings
    accepted = reports_accepted(tmp_path / "vote" / "journal.sqlite", names=system.names)
    assert reports == {name: [accepted[name, 0]] for name in by_page}
    rows = np.array([msgspec.msgpack.decode(bytes(accepted[name, 0])) for name in system.names], dtype=np.int64)
    run = resolve(load_scenario(str(tmp_path / scenario)))
    (phase,) = run.protocol.phases
    if system.trusts:
        assert rows.tolist() == run.inputs.private.tolist()
    else:
        (tally,) = read_json(tmp_path / "run" / "result.json")["tallies"]
        assert tally == phase.tally(rows, earlier=(), public=run.inputs.public).totals.tolist()
