"""What a session can tell at its price is said by every command before anything is paid, and in one sentence."""

from pathlib import Path

import pytest
from bad_input import Psephos, Write
from deployments import NOBODY_LISTENS
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.running.forecasts import forecast
from runs import read_json

VOTE = 'name = "vote"\nprotocol = "dpwevote"\npartners = "v.csv"\n[parameters]\nweights = [1]\npublic_weights = true\n'
ROWS = "partner,weight,roof\n" + "".join(f"p{number},1,yes\n" for number in range(12))


@pytest.fixture
def vote(write: Write) -> str:
    write("v.csv", ROWS)
    write("vote.toml", f"{VOTE}epsilon = 0.5\n")
    side = resolve_served(load_scenario("vote.toml"))
    said = forecast(side.protocol, side.inputs)
    assert "may stay undecided even if all agree" in said
    return f"warning: {said}"


def test_who_draws_up_a_roster_is_told_and_every_invitation_says_it(psephos: Psephos, vote: str) -> None:
    ended = psephos("roster", "vote.toml", "--make-keys", "--out", "drawn")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.splitlines()[0] == vote
    told = {read_json(path)["forecast"] for path in Path("drawn/invitations").iterdir()}
    assert told == {vote.removeprefix("warning: ")}


def test_who_joins_is_told_before_any_answer_is_sent(psephos: Psephos, vote: str) -> None:
    assert psephos("roster", "vote.toml", "--make-keys", "--out", "drawn").status == 0
    Path("own.csv").write_text("roof\nyes\n", encoding="utf-8")
    words = ("--input", "own.csv", "--address", NOBODY_LISTENS, "--patience", "0.01")
    ended = psephos("join", "drawn/invitations/01-p0.json", *words, "--out", "as-p0")
    assert ended.status == 1  # nobody serves, so that nothing was answered
    assert ended.out.splitlines()[0] == vote


def test_who_serves_is_told_before_anybody_can_connect(psephos: Psephos, vote: str) -> None:
    words = ("--transport", "tcp", "--listen", "127.0.0.1:0", "--set", "deadline_seconds=0.01", "--out", "served")
    ended = psephos("serve", "vote.toml", *words)
    assert ended.status == 1  # nobody comes
    lines = ended.out.splitlines()
    assert lines.index(vote) < next(place for place, line in enumerate(lines) if line.startswith("listening on "))


def test_where_it_is_enough_nothing_is_said(psephos: Psephos, write: Write) -> None:
    write("v.csv", ROWS)
    write("vote.toml", f"{VOTE}epsilon = 20\n")
    ended = psephos("roster", "vote.toml", "--make-keys", "--out", "drawn")
    assert "warning" not in ended.out
    assert read_json("drawn/invitations/01-p0.json")["forecast"] == ""
