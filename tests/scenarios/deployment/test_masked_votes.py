"""A masked vote between machines: parties enroll, their keys sign, and nobody sees a vote."""

import base64
import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import dying
import masked_sums
import pytest
from deployments import ENTRIES, NOBODY_LISTENS, Ending, Process, write_vote
from psephos.scenarios.deployment import enroll
from runs import read_json, read_lines, read_rows

ROOT = Path(__file__).resolve().parents[3]
Psephos = Callable[..., Any]
COMMAND = ("-m", "psephos.scenarios.cli")
FIVE = ("ann", "bob", "cid", "dan", "eve")
MASKED = ("--set", "trust=distributed", "--set", "threshold=2", "--set", "colluders=0", "--set", "epsilon=2")
WARNED = (
    "warning: 3 partners at ε = 2 may stay undecided even if all agree. For margins of 10 % (60 : 40) and more take "
    "ε = 20.1 (masked).\n"
)
FIVE_WARNED = (
    "warning: 5 partners at ε = 2 can only tell margins of 50 % (100 : 0) and more of all votes, if weights are 2 on "
    "average: closer ones may stay undecided. For margins of 10 % (60 : 40) and more take ε = 10.4 (masked).\n"
)
SERVE = ("serve", "vote.toml", *MASKED, "--roster", "drawn", "--listen", "127.0.0.1:0", "--out", "served")


def draw(psephos: Psephos, folder: Path, *words: object) -> Any:
    write_vote(folder)
    return psephos("roster", "vote.toml", *MASKED, *words, "--out", "drawn")


def draw_enrolled(psephos: Psephos, folder: Path) -> Path:
    """Draw up the session of parties who have enrolled; return its roster."""
    for party in ENTRIES:
        enroll(party, folder / "keys" / party)
    assert draw(psephos, folder, "--enrolled", "keys").status == 0
    return folder / "drawn" / "roster.csv"


def test_nobody_makes_the_keys_of_all(tmp_path: Path, psephos: Psephos) -> None:
    ended = draw(psephos, tmp_path, "--make-keys")
    assert ended.status == 2
    assert "give --enrolled or --links for a masked session" in ended.err


def test_a_roster_whose_keys_were_taken_out_is_refused(tmp_path: Path, psephos: Psephos) -> None:
    roster = draw_enrolled(psephos, tmp_path)
    rows = [line.split(",") for line in roster.read_text().splitlines()]
    place = rows[0].index("signature_key")
    assert all(len(row[place]) == 64 for row in rows[1:])
    roster.write_text("\n".join(",".join(row[:place] + row[place + 1 :]) for row in rows) + "\n")
    assert "roster.csv: It was changed" in psephos(*SERVE).refusal


def test_a_roster_with_a_key_by_which_anybody_could_sign_is_refused_by_its_server(
    tmp_path: Path, psephos: Psephos
) -> None:
    roster = draw_enrolled(psephos, tmp_path)
    head, first, *rest = roster.read_text().splitlines()
    row = first.split(",")
    row[head.split(",").index("signature_key")] = "00" * 32
    roster.write_text("\n".join([head, ",".join(row), *rest]) + "\n")
    assert "use 32 bytes" in psephos(*SERVE).refusal


def parties(
    folder: Path, address: str, names: Iterable[str] = ENTRIES, *, out: str = "as", program: Sequence[object] = COMMAND
) -> list[Process]:
    """Return processes of parties who join, with folders of this name."""
    return [
        Process(
            *("join", "drawn/invitations", "--as", party, "--input", f"{party}.csv", "--address", address),
            *("--key", f"keys/{party}", "--json", "--out", f"{out}-{party}"),
            folder=folder,
            is_measured=False,
            program=program,
        )
        for party in names
    ]


def endings(processes: Iterable[Process]) -> list[Ending]:
    ended: list[Ending] = []
    for process in processes:
        with process:
            ended.append(process.ending())
    return ended


@pytest.mark.full("four processes")
def test_a_masked_vote_is_held_over_tls_and_its_journals_tell_no_secret(tmp_path: Path, psephos: Psephos) -> None:
    draw_enrolled(psephos, tmp_path)
    with Process(*SERVE, "--no-pictures", folder=tmp_path, is_measured=False) as server:
        ended = endings(parties(tmp_path, server.address()))
        ended.append(server.ending())
    assert [(each.status, each.err) for each in ended] == [*[(0, WARNED)] * 3, (0, "")]
    assert read_json(tmp_path / "served" / "result.json")["received"] == {"votes": 3}
    for party in ENTRIES:
        (line,) = (tmp_path / f"as-{party}" / "ledger.jsonl").read_text().splitlines()
        assert json.loads(line)["model"] == "distributed"


@pytest.mark.full("five processes")
def test_a_party_whose_server_lied_leaves_and_joins_that_session_no_more_and_the_others_go_on(
    tmp_path: Path, psephos: Psephos
) -> None:
    """The server changes a bit of a box for ann; two of three are enough. Ann's journal knows before it calls."""
    draw_enrolled(psephos, tmp_path)
    first = [*ENTRIES].index("ann")
    lying = (Path(masked_sums.__file__).with_name("lying.py"), first)
    with Process(*SERVE, "--no-pictures", folder=tmp_path, is_measured=False, program=lying) as server:
        ann, bob, cid = endings(parties(tmp_path, server.address()))
        ended = server.ending()
    found = "the server is at fault: the box of 'bob' was another one than it has signed"
    assert (ann.status, bob.status, cid.status, ended.status) == (1, 0, 0, 0)
    assert found in ann.err
    assert read_json(tmp_path / "served" / "result.json")["received"] == {"votes": 2}
    assert f"  ann has left: {found}\n" in ended.out
    (left,) = [line for line in read_lines(tmp_path / "served" / "events.jsonl") if line["event"] == "party_left"]
    assert (left["peer"], left["reason"]) == ("ann", found)
    (again,) = endings(parties(tmp_path, NOBODY_LISTENS, ["ann"], out="again"))
    assert again.status == 2
    assert f"the journal refuses this session for good: {found}" in again.err


STATES = tuple(f"state-{number:02}" for number in range(27))
LIARS = {
    STATES[3]: ("BoxThatDoesNotOpen", "signed a box that does not hold what it says, or accused somebody of it"),
    STATES[11]: ("DegreeTooHigh", "signed a deal that is not of its keys"),
    STATES[20]: ("TellerOfAnotherShare", "told another share than it had acknowledged"),
}


@pytest.mark.full("28 processes")
def test_three_states_of_27_that_cheat_in_three_ways_are_named_and_all_others_decide(
    tmp_path: Path, psephos: Psephos
) -> None:
    """Who is named before the rows come is in no sum; who is named after them is. A script of its own agrees."""
    write_vote(tmp_path, lines="deadline_seconds = 240", entries={name: dict(ENTRIES["ann"]) for name in STATES})
    for state in STATES:
        enroll(state, tmp_path / "keys" / state)
    needed = ("--set", "threshold=24")
    assert psephos("roster", "vote.toml", *MASKED, *needed, "--enrolled", "keys", "--out", "drawn").status == 0
    lying = Path(masked_sums.__file__).with_name("lying_party.py")
    with Process(*SERVE, *needed, "--no-pictures", folder=tmp_path, is_measured=False) as server:
        address = server.address()
        joined = {state: parties(tmp_path, address, [state]) for state in STATES if state not in LIARS}
        joined |= {
            state: parties(tmp_path, address, [state], program=(lying, kind)) for state, (kind, _) in LIARS.items()
        }
        ended = {state: endings(own)[0].status for state, own in joined.items()}
        served = server.ending()
    assert served.status == 0
    assert {state: status for state, status in ended.items() if status} == dict.fromkeys(LIARS, 1)
    told = read_json(tmp_path / "served" / "run.json")["named"]
    assert {each["party"]: each["deed"] for each in told}.keys() == LIARS.keys()
    assert all(each["deed"].startswith(LIARS[each["party"]][1]) for each in told)
    assert all(f"{state} has {deed}" in served.out for state, (_, deed) in LIARS.items())
    assert read_json(tmp_path / "served" / "result.json")["received"] == {"votes": 25}
    roster = read_rows(tmp_path / "drawn" / "roster.csv")
    for each in told:
        written = read_json(tmp_path / "served" / each["evidence"])
        rules = written["rules"]
        assert rules["names"] == [row["partner"] for row in roster]
        assert [base64.b64decode(key).hex() for key in rules["keys"]] == [row["signature_key"] for row in roster]
        (tmp_path / "rules.json").write_text(json.dumps({"rules": rules}))
        words = (sys.executable, ROOT / "examples" / "verdict.py", tmp_path / "served" / each["evidence"])
        judged = subprocess.run([*words, tmp_path / "rules.json"], capture_output=True, text=True, check=False)  # noqa: S603  our own script
        assert (judged.returncode, each["party"] in judged.stdout) == (0, True), judged


@contextlib.contextmanager
def serving_five(folder: Path, psephos: Psephos, *, seconds: int) -> Generator[tuple[Process, Callable[..., Any]]]:
    """Serve a masked vote of `FIVE`, of whom three are enough, and yield its server and what lets parties join."""
    write_vote(folder, lines=f"deadline_seconds = {seconds}", entries={name: dict(ENTRIES["ann"]) for name in FIVE})
    for party in FIVE:
        enroll(party, folder / "keys" / party)
    three = ("--set", "threshold=3")
    assert psephos("roster", "vote.toml", *MASKED, *three, "--enrolled", "keys", "--out", "drawn").status == 0
    with Process(*SERVE, *three, "--no-pictures", folder=folder, is_measured=False) as server:
        address = server.address()

        def join(names: Iterable[str], *, out: str = "as", dies: tuple[str, int] | None = None) -> list[Process]:
            program = COMMAND if dies is None else (dying.__file__, *dies)
            return parties(folder, address, names, out=out, program=program)

        yield server, join


@pytest.mark.full("nine processes each")
@pytest.mark.parametrize("step", range(2, 13, 2))
def test_two_of_five_parties_who_are_killed_in_the_middle_come_back_and_are_in_the_sum(
    step: int, tmp_path: Path, psephos: Psephos
) -> None:
    """As each of the six steps is kept, before and after; what they sent before, they send again."""
    with serving_five(tmp_path, psephos, seconds=60) as (server, join):
        others = join(FIVE[2:])
        dead = [
            *join(FIVE[:1], out="killed", dies=("before", step)),
            *join(FIVE[1:2], out="killed", dies=("after", step)),
        ]
        assert [(each.status, each.err) for each in endings(dead)] == [(-9, FIVE_WARNED)] * 2
        ended = endings([*join(FIVE[:2]), *others])
        ended.append(server.ending())
    assert [(each.status, each.err) for each in ended] == [*[(0, FIVE_WARNED)] * 5, (0, "")]
    assert read_json(tmp_path / "served" / "result.json")["received"] == {"votes": 5}


@pytest.mark.full("six processes")
def test_two_of_five_parties_who_are_killed_for_good_hold_nobody_up(tmp_path: Path, psephos: Psephos) -> None:
    """One before its row is masked, which is not in the sum, and one once it is acknowledged, which is."""
    with serving_five(tmp_path, psephos, seconds=25) as (server, join):
        others = join(FIVE[2:])
        dead = [*join(FIVE[:1], dies=("before", 8)), *join(FIVE[1:2], dies=("after", 9))]
        assert [(each.status, each.err) for each in endings(dead)] == [(-9, FIVE_WARNED)] * 2
        ended = endings(others)
        ended.append(server.ending())
    assert [(each.status, each.err) for each in ended] == [*[(0, FIVE_WARNED)] * 3, (0, "")]
    assert read_json(tmp_path / "served" / "result.json")["received"] == {"votes": 4}
