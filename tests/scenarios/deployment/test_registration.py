"""Before a masked vote browsers make their keys, and the roster is closed with them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from deployments import write_vote
from psephos.protocol.roster import SigningRoster
from psephos.scenarios import ServerRun, load_scenario, resolve_served
from psephos.scenarios.deployment import enroll
from psephos.scenarios.deployment.invitations import REGISTRATION_FILE
from psephos.scenarios.deployment.links import LINKS_FILE, replace_link
from psephos.scenarios.deployment.registration import close_registration, nobodys_key, read_registration
from psephos.scenarios.deployment.server import JOURNAL_FILE
from psephos.scenarios.deployment.web import open_site
from runs import read_json, read_rows
from web_parties import ABORT, SEAT, Browser, free_port, links_in

SETTINGS = ("trust=distributed", "threshold=2", "colluders=0", "epsilon=2")


class Vote:
    """The masked vote of three, of whom cid has enrolled."""

    def __init__(self, folder: Path, psephos: Callable[..., Any]) -> None:
        write_vote(folder)
        enroll("cid", folder / "keys" / "cid")
        self.folder = folder / "vote"
        self.settings = [word for each in SETTINGS for word in ("--set", each)]
        origin = f"http://127.0.0.1:{free_port()}"
        self.address = origin.partition("//")[2]
        words = ("roster", "vote.toml", *self.settings, "--links", origin, "--enrolled", "keys", "--out", "vote")
        self.drawn = psephos(*words)
        self.links = links_in(self.folder / LINKS_FILE)

    @property
    def side(self) -> ServerRun:
        return resolve_served(load_scenario(str(self.folder.parent / "vote.toml"), SETTINGS), roster=self.folder)

    def register(self, *browsers: Browser, seconds: float = 60) -> tuple[dict[int, bytes], list[Any], list[str]]:
        """Hold the pages while browsers come; return the keys, what each browser was told, and what was printed."""
        answers: list[Any] = []
        told: list[str] = []

        async def come() -> None:
            answers.extend([await browser.come() for browser in browsers])

        async def run() -> dict[int, bytes]:
            keys: dict[int, bytes] = {}
            async with trio.open_nursery() as nursery:

                def tell(said: str) -> None:
                    told.append(said)
                    if "links were opened" in said and not answers:
                        nursery.start_soon(come)

                keys.update(await site.register(seconds, tell))
            return keys

        site = open_site(self.folder, self.side.roster, self.address, origin=None, certificate=None, key=None)
        with site:
            return trio.run(run), answers, told


@pytest.fixture
def vote(tmp_path: Path, psephos: Callable[..., Any]) -> Vote:
    return Vote(tmp_path, psephos)


def public_key_of(browser: Browser) -> bytes:
    return browser.key.public_key().public_bytes_raw()


def test_links_of_a_masked_vote_wait_for_the_keys_of_devices(vote: Vote, psephos: Callable[..., Any]) -> None:
    assert vote.drawn.status == 0
    assert "psephos serve --web` waits for all" in vote.drawn.out
    assert not list((vote.folder / "invitations").iterdir())
    assert "signature_key" not in read_rows(vote.folder / "roster.csv")[0]
    terms = read_json(vote.folder / "web.json")
    assert terms["trust"] == "distributed"
    assert terms["masked"] == {
        "parties": 3,
        "phase": "votes",
        "margins": [[-1, 1], [-2, 2], [-3, 3]],
        "totals": [1, 2, 3],
        "scale": 3.0,
    }
    refused = psephos("serve", "vote.toml", *vote.settings, "--roster", "vote").refusal
    assert "parties of this roster take part in a browser" in refused


def test_the_roster_is_closed_with_all_keys_and_then_invitations_are_there(vote: Vote) -> None:
    browsers = [Browser(link) for link in vote.links.values()]
    keys, answers, told = vote.register(*browsers)
    assert keys == {place: public_key_of(browser) for place, browser in enumerate(browsers)}
    assert [answer[0] for answer in answers] == [SEAT, SEAT]
    assert "0 of 2 links were opened" in told
    registration = read_registration(vote.folder)
    assert registration is not None
    close_registration(vote.folder, vote.side, registration, keys)
    assert not (vote.folder / REGISTRATION_FILE).exists()
    assert read_registration(vote.folder) is None
    rows = read_rows(vote.folder / "roster.csv")
    assert [row["signature_key"] for row in rows] == [*(key.hex() for key in keys.values()), registration.keys["cid"]]
    side = vote.side
    opening = read_json(vote.folder / "session.json")
    (invitation,) = (read_json(path) for path in (vote.folder / "invitations").iterdir())
    assert side.roster.digest == opening["roster"] == invitation["roster"]
    signing = side.roster.signing_roster
    assert isinstance(signing, SigningRoster)
    assert signing.others == read_json(vote.folder / "web.json")["descriptor"][1]  # what links agree to beforehand


def test_who_was_killed_while_closing_closes_again_in_the_same_way(vote: Vote) -> None:
    keys, _, _ = vote.register(Browser(vote.links["ann"]), seconds=2)
    registration = read_registration(vote.folder)
    assert registration is not None
    text = (vote.folder / REGISTRATION_FILE).read_bytes()
    close_registration(vote.folder, vote.side, registration, keys)
    names = ("roster.csv", "session.json", "invitations/1-cid.json")
    first = [(vote.folder / name).read_bytes() for name in names]
    (vote.folder / REGISTRATION_FILE).write_bytes(text)
    close_registration(vote.folder, vote.side, registration, keys)
    assert [(vote.folder / name).read_bytes() for name in names] == first


def test_a_link_that_was_not_opened_gets_nobodys_key_and_opens_nothing_later(
    vote: Vote, psephos: Callable[..., Any]
) -> None:
    ann, bob = (Browser(vote.links[name]) for name in ("ann", "bob"))
    keys, _, _ = vote.register(ann, seconds=2)
    registration = read_registration(vote.folder)
    assert registration is not None
    close_registration(vote.folder, vote.side, registration, keys)
    side = vote.side
    assert side.keys is not None
    assert side.keys[1] == nobodys_key(registration.opening.session_id, 1) not in {side.keys[0], side.keys[2]}
    _, answers, _ = vote.register(bob, ann, seconds=6)
    assert answers[0][0] == ABORT
    assert "The list of voters is closed" in answers[0][1]
    assert answers[1][0] == SEAT
    replaced = psephos("roster", "vote.toml", "--replace", "bob", "--out", "vote").refusal
    assert "The list of voters is closed" in replaced


def test_too_few_keys_close_nothing(vote: Vote, psephos: Callable[..., Any]) -> None:
    late = ("--set", "phases.join.deadline_seconds=0.1")
    ended = psephos("serve", "vote.toml", *vote.settings, *late, "--roster", "vote", "--web", vote.address)
    assert ended.status == 2
    assert "Of 3 parties 1 have keys, and 3 have to join" in ended.err
    assert (vote.folder / REGISTRATION_FILE).exists()


def test_a_vote_of_too_many_for_pages_is_refused(tmp_path: Path, psephos: Callable[..., Any]) -> None:
    refused = psephos("roster", "consortium-masked", "--links", "--out", tmp_path / "vote").refusal
    assert "threshold" in refused
    assert "below 1,001 in a browser" in refused


def test_a_registration_that_cannot_be_read_is_named(vote: Vote, psephos: Callable[..., Any]) -> None:
    (vote.folder / REGISTRATION_FILE).write_text(json.dumps({"keys": 3}))
    refused = psephos("serve", "vote.toml", *vote.settings, "--roster", "vote", "--web", vote.address).refusal
    assert "registration.json cannot be read" in refused


async def test_a_link_that_is_replaced_while_keys_are_gathered_ends_its_channel_alone(vote: Vote) -> None:
    site = open_site(vote.folder, vote.side.roster, vote.address, origin=None, certificate=None, key=None)
    with site:
        async with trio.open_nursery() as nursery:
            keys: dict[int, bytes] = {}

            async def gather() -> None:
                keys.update(await site.register(5, lambda _: None))

            nursery.start_soon(gather)
            await trio.testing.wait_all_tasks_blocked(0.1)
            first = Browser(vote.links["ann"])
            async with await first.connect() as channel:
                assert (await first.greet(channel))[0] == SEAT
                replace_link(vote.folder, "ann", vote.side.names, vote.folder / JOURNAL_FILE)
                with pytest.raises((trio.EndOfChannel, trio.BrokenResourceError)):
                    await channel.receive()
            assert (await Browser(vote.links["bob"]).come())[0] == SEAT
    assert 1 in keys
