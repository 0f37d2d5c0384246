"""`join` in a terminal, a real one (pty): what was left out is asked for, checked, and asked again."""

import contextlib
import json
import re
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import numpy as np
import pytest
from bad_input import Psephos
from deployments import ENTRIES, PATIENCE, Serving, invitations_of, serving, write_vote
from psephos.agents.person_journal import PersonJournal
from psephos.protocol import Column, Inputs, PhasedProtocol, SessionKind
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.cli import asking
from psephos.scenarios.deployment import Invitation, agreement, enroll, find_invitation
from psephos.scenarios.deployment.journals import check_free, witness_of
from psephos.scenarios.verdicts import outcome_to_dict
from runs import read_json
from terminals import Terminal

TYPED: Final = "77777"
"""A wrong value that nothing else has, so that it can be looked for."""


@pytest.fixture
def vote(tmp_path: Path, psephos: Psephos) -> Path:
    """The folder of a vote of three that is drawn up; weights are private."""
    write_vote(tmp_path)
    for party in ENTRIES:
        enroll(party, tmp_path / "keys" / party)
    assert psephos("roster", "vote.toml", "--enrolled", "keys", "--out", "drawn").status == 0
    return tmp_path / "drawn"


@contextlib.contextmanager
def vote_without_ann(vote: Path) -> Generator[Serving]:
    """Serve the vote, in which everybody but ann takes part."""
    with serving(str(vote.parent / "vote.toml"), seed=None, roster=vote) as session:
        others: list[Any] = []
        for party in ("bob", "cid"):
            invitation = find_invitation(vote / "invitations", party=party)
            key = (vote.parent / "keys" / party / "key.pem").read_text(encoding="ascii")
            others.append(session.join(party, invitation=with_key(invitation, key), seed=None))
        yield session
        for other in others:
            other.result(PATIENCE)


def with_key(invitation: Invitation, key: str) -> Invitation:
    """Return an invitation that has the party's key in it, as `Serving.join` takes it."""
    return msgspec.structs.replace(invitation, key=key)


def test_all_that_is_left_out_is_asked_for_and_what_is_wrong_is_asked_again(vote: Path) -> None:
    folder = vote.parent
    with vote_without_ann(vote) as session:
        words = ("join", "--address", session.address, "--out", "as-ann")
        with Terminal(*words, folder=folder) as terminal:
            terminal.answer("Your invitation (a file): ", "no-such.json")
            terminal.answer("Your invitation (a file): ", "drawn/invitations")
            terminal.answer("Your name on the roster: ", "dan")
            terminal.answer("Your name on the roster: ", "ann")
            terminal.answer("The folder of your keys, as `psephos enroll` made it: ", "keys/bob")
            terminal.answer("The folder of your keys, as `psephos enroll` made it: ", "keys/ann")
            terminal.answer("weight (one of 1, 2, 3): ", TYPED)
            terminal.answer("weight (one of 1, 2, 3): ", "")
            terminal.answer("weight (one of 1, 2, 3): ", " 1 ")
            terminal.answer("merger (yes or no): ", "maybe")
            terminal.answer("merger (yes or no): ", "1")
            status = terminal.ending()
        released = session.result().outcome
    assert status == 0, terminal.seen
    said = terminal.seen.replace("\r", "")
    assert "INVITATION: There is no file 'no-such.json'" in said
    assert "INVITATION: There is no invitation of 'dan' in " in said
    assert said.count("give --key: the folder of the keys of 'ann'") == 2
    assert f"weight is '{TYPED}': use one of 1, 2, 3" in said
    assert "merger is " in said
    assert "Your values as ann in session vote" in said
    assert read_json(folder / "as-ann" / "outcome.json") == json.loads(msgspec.json.encode(outcome_to_dict(released)))


def test_what_is_typed_stays_in_the_terminal(vote: Path) -> None:
    folder = vote.parent
    with vote_without_ann(vote) as session:
        words = ("join", "drawn/invitations/1-ann.json", "--key", "keys/ann", "--address", session.address)
        with Terminal(*words, "--out", "as-ann", folder=folder) as terminal:
            terminal.answer("weight (one of 1, 2, 3): ", TYPED)
            terminal.answer("weight (one of 1, 2, 3): ", "3")
            terminal.answer("merger (yes or no): ", "1")
            assert terminal.ending() == 0
        session.result()
        events = str(session.events)
    left = {path.name: path.read_text(encoding="utf-8") for path in (folder / "as-ann").iterdir()}
    assert left.keys() == {"events.jsonl", "ledger.jsonl", "outcome.json", "report.html", "run.json"}
    for text in (events, *left.values()):
        assert TYPED not in text
        assert not re.search(r'"(?:merger|weight|entries|row|value)": *"?[13]"?[,}]', text)


def test_what_needs_no_values_to_be_refused_asks_for_none(tmp_path: Path, psephos: Psephos) -> None:
    """In the central model values go to the server as they are: nobody types them for nothing."""
    settings = ("--set", "voters.voters=3", "--set", "voters.records=2")
    assert psephos("roster", "moral-synthetic", *settings, "--make-keys", "--out", "drawn").status == 0
    with Terminal("join", "drawn/invitations", "--as", "voter 000000001", "--out", "out", folder=tmp_path) as terminal:
        assert terminal.ending() == 2
    assert "give --trust-server" in terminal.seen
    assert "Your values" not in terminal.seen
    assert not (tmp_path / "out").exists()


def test_a_journal_in_use_is_told_before_anything_is_asked(vote: Path) -> None:
    """A second name of one account would else type its vote, and be told to wait for who waits for it."""
    held = vote.parent / "held.sqlite"
    words = ("join", "drawn/invitations/1-ann.json", "--key", "keys/ann", "--out", "out", "--journal")
    with (
        PersonJournal.open(held, now=0.0, witness=witness_of(None, held)),
        Terminal(*words, "held.sqlite", folder=vote.parent) as terminal,
    ):
        assert terminal.ending() == 2
        said = " ".join(terminal.seen.split())
        assert (
            "if 'ann' is another person, give it a journal of its own: --journal FILE, or a folder for one each" in said
        )
        assert "merger" not in said
        check_free(vote.parent / "others.sqlite", party="ann", is_simulation=False)
        assert not (vote.parent / "others.sqlite").exists()


@pytest.mark.full("a terminal more")
def test_records_of_moral_preferences_are_asked_for_as_a_file(tmp_path: Path, psephos: Psephos) -> None:
    settings = ("--set", "voters.voters=3", "--set", "voters.records=2", "--set", "voters.features=2")
    assert psephos("roster", "moral-synthetic", *settings, "--make-keys", "--out", "drawn").status == 0
    (file,) = (tmp_path / "drawn" / "invitations").glob("1-*.json")
    features = find_invitation(file).parameters["features"]
    (tmp_path / "wrong.csv").write_text("record,choice,lives\n1,1,0\n1,0,1\n", encoding="utf-8")
    own = f"record,choice,{','.join(features)}\n1,1,0.5,0\n1,0,1,0\n"
    (tmp_path / "own.csv").write_text(own, encoding="utf-8")
    words = ("join", file, "--trust-server", "--address", "127.0.0.1:1", "--patience", "0.1", "--out", "out")
    with Terminal(*words, folder=tmp_path) as terminal:
        terminal.answer("Your values (a CSV file): ", "none.csv")
        terminal.answer("Your values (a CSV file): ", "wrong.csv")
        terminal.answer("Your values (a CSV file): ", "own.csv")
        assert terminal.ending() == 1  # nobody listens there
    assert "There is no file 'none.csv'" in terminal.seen
    assert "records" in terminal.seen


@pytest.mark.full("a terminal more")
def test_ctrl_d_ends_the_questions_and_leaves_no_folder(vote: Path) -> None:
    words = ("join", "drawn/invitations/1-ann.json", "--key", "keys/ann", "--out", "out")
    with Terminal(*words, folder=vote.parent) as terminal:
        terminal.answer("weight (one of 1, 2, 3): ", "\x04")
        assert terminal.ending() == 130
    assert not (vote.parent / "out").exists()


@pytest.mark.bad_input("a missing, doubled or unknown partner or column, with its line")
@pytest.mark.parametrize(
    ("words", "field"),
    [
        ((), "INVITATION"),
        (("drawn/invitations",), "--as"),
        (("drawn/invitations/1-ann.json",), "--key"),
        (("drawn/invitations/1-ann.json", "--key", "keys/ann"), "--input"),
    ],
)
def test_without_a_terminal_what_is_left_out_is_named(
    vote: Path, psephos: Psephos, words: tuple[str, ...], field: str
) -> None:
    del vote
    assert psephos("join", *words, "--out", "out").refusal.startswith(f"psephos: give {field}")


# Which questions there are, and whose fault an answer is.


class Typist:
    """Somebody who types these answers, and what was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(click, "prompt", self._prompt)

    def _prompt(self, question: str, **_: object) -> str:
        self.asked.append(question.strip())
        return self._answers.pop(0)

    def enter(self, scenario: str, *settings: str, party: str) -> Mapping[str, Any]:
        """Return the party's entries, and check that all answers were taken."""
        side = resolve_served(load_scenario(scenario, settings))
        (invitation,) = [each for each in invitations_of(side, kind=SessionKind.DEPLOYMENT) if each.party == party]
        entries = asking.ask_entries(None, party=party, invitation=invitation, trusts_server=False)
        assert self._answers == []
        return entries


def test_a_worker_is_asked_task_by_task_and_may_skip_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workers = (
        "workers = [{worker = 'ann', tasks = 'q1; q3', answers = ''}, {worker = 'bob', tasks = 'q2', answers = ''}]"
    )
    scenario = tmp_path / "quiz.toml"
    parameters = "[parameters]\nanswer_sets = [['yes', 'no']]\nepsilon = 2.0\n"
    scenario.write_text(f'protocol = "truth-discovery"\n{workers}\n{parameters}', encoding="utf-8")
    typist = Typist(monkeypatch, "perhaps", "no", "")
    assert typist.enter(str(scenario), party="ann") == {"answers": {"q1": "no", "q3": ""}}
    assert typist.asked == [f"{task} (yes, no; or nothing, to skip it)" for task in ("q1", "q1", "q3")]
    assert "answers is 'perhaps': use one of yes, no (task 'q1'), or nothing" in capsys.readouterr().err


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_voter_is_asked_for_the_epsilon_that_it_chooses_before_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    side = resolve_served(load_scenario("own-epsilon"))
    (invitation,) = [each for each in invitations_of(side, kind=SessionKind.DEPLOYMENT) if each.party == "ada"]
    own = tmp_path / "ada.csv"
    own.write_text("record,choice,lives,law\n1,1,5,0\n1,0,1,1\n", encoding="utf-8")
    typist = Typist(monkeypatch, "0.7", "0.5", str(own))
    entries, choices = asking.ask_own(None, [], party="ada", invitation=invitation, trusts_server=False)
    assert choices == {"epsilon": "0.5"}
    assert set(entries) == {"records"}
    question = "epsilon, which everybody will see (the voter's ε, one of 0.5, 1, 2)"
    assert typist.asked == [question, question, "Your values (a CSV file)"]
    assert "epsilon is '0.7': use one of 0.5, 1, 2" in capsys.readouterr().err
    Typist(monkeypatch, "2")
    assert asking.ask_own(own, [], party="ada", invitation=invitation, trusts_server=False)[1] == {"epsilon": "2"}
    told = asking.ask_own(own, ["epsilon = 1"], party="ada", invitation=invitation, trusts_server=False)[1]
    assert told == {"epsilon": "1"}


def test_a_voter_is_asked_for_a_ranking_and_told_what_is_wrong_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typist = Typist(monkeypatch, "north > south", "a > a > b", "b>a")
    groups = "{n={voters=1,center=['a','b'],dispersion=0.5},s={voters=1,center=['b','a'],dispersion=0.5}}"
    synthetic = (f"voters.groups={groups}", "voters.alternatives=['a','b']")
    entries = typist.enter("two-societies", *synthetic, "mechanism=local", "objective=parity", party="voter-1")
    assert entries == {"ranking": "b>a"}
    said = capsys.readouterr().err
    assert "unknown alternative" in said
    assert "repeated alternative" in said


class Salary(msgspec.Struct, frozen=True, kw_only=True):
    """No parameters."""


class Salaries(PhasedProtocol[Any, Any]):
    """Somebody's protocol with a public column that a client has to give, and code that only numbers please."""

    name = "salaries"
    parameters_type = outcome_type = Salary

    def make_phases(self) -> Any:
        """Return a vote's: nothing is run."""
        return DPWeVote(Parameters(candidates=("raise",), weights=(1, 2), epsilon=1.0)).phases

    def columns(self) -> tuple[Column, ...]:
        """Return two private columns and a public one."""
        return (
            Column("salary", private=True, description="a number"),
            Column("age", private=True, description="a number"),
            Column("city", private=False, description="where"),
        )

    def encode(self, table: Mapping[str, Any]) -> Inputs:
        """Take numbers, and raise what Python raises of anything else."""
        self.check_columns(table)
        rows = [[int(salary), int(age)] for salary, age in zip(table["salary"], table["age"], strict=True)]
        return Inputs(np.array(rows), np.empty((len(rows), 0), dtype=np.int64))

    def outcome(self, tallies: Any) -> Salary:
        """Return nothing of interest."""
        del tallies
        return Salary()


def test_a_strangers_protocol_is_asked_for_all_that_it_cannot_do_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where its code fails instead of saying which entry is wrong, all of them are asked for again."""

    def find(name: str) -> type[Salaries]:
        assert name == Salaries.name
        return Salaries

    monkeypatch.setattr(agreement, "find_protocol", find)
    invitation = Invitation(session="s", protocol="salaries", kind="deployment", parameters={}, party="ann", place=0)
    typist = Typist(monkeypatch, "high", "41", "Bern", "9000", "41", "Bern")
    entries = asking.ask_entries(None, party="ann", invitation=invitation, trusts_server=False)
    assert entries == {"salary": "9000", "age": "41", "city": "Bern"}
    assert [question.partition(" ")[0] for question in typist.asked] == ["salary", "age", "city"] * 2
    assert "invalid literal for int()" in capsys.readouterr().err
