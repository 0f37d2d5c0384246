"""Truth discovery between processes: who answers what is agreed to, answers are the worker's, and so is its weight."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deployments import SEED, Serving, invitations_to, serving
from psephos.protocol.errors import BudgetExceededError, RemoteProtocolError
from psephos.protocol.mechanisms import NO_ANSWER
from psephos.protocol.truth_discovery import NO_TASK, OwnOutcome
from psephos.scenarios import load_scenario, resolve, resolve_served, run_session
from psephos.scenarios.deployment import DEFAULT_BUDGET, CheckedInvitation
from psephos.scenarios.deployment.client import JoinResult
from runs import read_json
from surveyed import ANSWERS, QUIZ, TASKS

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def quiz(tmp_path: Path) -> str:
    """A session of four workers; its path."""
    return QUIZ.write(tmp_path)


def all_join(session: Serving, folder: Path, **options: Any) -> dict[str, JoinResult]:
    """Let all workers take part, some with options, and return what each heard."""
    return QUIZ.join_all(session, folder, options)


def test_own_outcome_json_is_a_workers_own_and_nobody_elses(quiz: str, tmp_path: Path) -> None:
    with serving(quiz) as session:
        heard = all_join(session, tmp_path)
        session.result()
    owns: dict[str, OwnOutcome] = {}
    for party, each in heard.items():
        assert isinstance(each.own, OwnOutcome)
        assert read_json(tmp_path / f"as-{party}" / "own_outcome.json") == msgspec.to_builtins(each.own)
        owns[party] = each.own
    assert [own.num_answers for own in owns.values()] == [3, 1, 2, 3]
    # Who answered and was perturbed alike has the same weight: only one that is nobody else's can be looked for.
    for party, own in owns.items():
        for other in TASKS:
            if owns[other].weight != own.weight:
                files = [path.read_text(encoding="utf-8") for path in (tmp_path / f"as-{other}").iterdir()]
                assert not any(repr(own.weight) in text for text in files), (party, other)
    assert len({own.weight for own in owns.values()}) > 1
    assert not any("weight" in event or "quality" in event for event in session.events)


# A worker's own answers.


@pytest.mark.parametrize(
    "content",
    [
        "task,label\nq1,yes\nq2,no\n",
        "task,label\nq2,no\nq1,yes\n",
        "task,label\nq1,yes\nq2,no\nq1,yes\n",
        "task,label\nq1,yes\nq2,no\nq3,\n",
        " label , task \n yes , q1 \nno,q2\n",
        "worker,task,label\nann,q1,yes\nann,q2,no\n",
        "\ufefftask,label\r\nq1,yes\r\n\r\nq2,no\r\n",
        "answers\nq1=yes; q2=no\n",
        "answers\nq1 = yes ;q2= no;\n",
        "answers\nq1=yes; q2=no; q3=\n",
        "worker,answers\nann,q1=yes; q2=no\n",
        "tasks,answers\nq3; q2; q1,q1=yes; q2=no\n",
    ],
)
def test_a_workers_file_is_read_in_every_usual_form(quiz: str, write: Write, tmp_path: Path, content: str) -> None:
    side = resolve_served(load_scenario(quiz))
    write("ann.csv", content)
    own = side.protocol.encode_own(QUIZ.entries_of("ann", tmp_path), tuple(side.roster.public[0].tolist()))
    assert own == (0, 1, NO_ANSWER)


def test_an_answer_to_a_task_that_the_worker_was_not_asked_stays_at_home(quiz: str, tmp_path: Path) -> None:
    """Bob is asked q1 and q2: what it thinks of q3 is neither reported nor paid for."""
    told: list[CheckedInvitation] = []
    more = {"entries": {"answers": {"q1": "yes", "q2": "", "q3": "yes"}}, "on_agreed": told.append}
    with serving(quiz) as session:
        heard = all_join(session, tmp_path, bob=more)
        assert session.result().outcome == heard["bob"].outcome
    (agreement,) = told
    assert agreement.row == (0, NO_ANSWER, NO_ANSWER)
    assert agreement.cost == 4
    record = run_session(resolve(load_scenario(quiz, ["noise=simulated"])), seed=SEED)
    own = record.own_outcomes[1]
    assert heard["bob"] == JoinResult(outcome=record.outcome, own=own, transcript=session.result().transcript)


def test_a_worker_who_skips_everything_takes_part_and_hears_no_weight(quiz: str, tmp_path: Path) -> None:
    with serving(quiz) as session:
        heard = all_join(session, tmp_path, bob={"entries": {"answers": ""}})
        (tally,) = session.result().tallies
    assert (tally.num_reports, tally.totals.sum()) == (4, 8)
    assert heard["bob"].own is None
    assert not (tmp_path / "as-bob" / "own_outcome.json").exists()
    assert heard["ann"].own is not None


# What was agreed to.


def test_an_invitation_names_the_workers_tasks(quiz: str) -> None:
    invitations = invitations_to(quiz)
    assert {party: each.public for party, each in invitations.items()} == {
        "ann": (0, 0, 1, 2),
        "bob": (1, 0, 1, NO_TASK),
        "cid": (2, 1, 2, NO_TASK),
        "dee": (3, 0, 1, 2),
    }
    assert all(each.parameters["tasks"] == ("q1", "q2", "q3") for each in invitations.values())


@pytest.mark.parametrize("own", ["q1; q2", "q3; q2; q1"], ids=["fewer tasks", "another order"])
def test_a_server_that_asks_other_tasks_than_agreed_to_is_refused(quiz: str, tmp_path: Path, own: str) -> None:
    invitation = invitations_to(quiz)["ann"]
    other = tmp_path / "other"
    other.mkdir()
    tasks = {**TASKS, "bob": "q1; q2; q3", "ann": own}

    def row(name: str) -> str:
        return f"tasks = '{tasks[name]}', answers = '{ANSWERS[name]}'"

    # Tasks and their order are the session's, whoever is asked first.
    served = dataclasses.replace(
        QUIZ,
        row=row,
        lines="epsilon = 2.0\ntasks = ['q1', 'q2', 'q3']\nmax_answers = 3",
    )
    with serving(served.write(other)) as session:
        said = QUIZ.refusal(session.address, tmp_path, RemoteProtocolError, invitation=invitation)
        assert said == "server's public row for ann is not the one agreed to"


def test_without_an_invitation_the_usual_budget_is_kept_by_whom_it_would_not_do(quiz: str, tmp_path: Path) -> None:
    """At 4 an answer, three answers cost 12 and two cost 8: ann is asked too much, bob is not."""
    assert DEFAULT_BUDGET == 10
    with serving(quiz, "epsilon=4") as session:
        said = QUIZ.refusal(session.address, tmp_path, BudgetExceededError)
        assert "12" in said
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        generous = {"budget": 12.0}
        heard = all_join(session, tmp_path, ann=generous, dee=generous)
        assert heard["bob"].outcome == session.result().outcome


# A server whose scenario has its workers in a file.

CROWD = (
    "task,worker,label\nq1,ann,yes\nq2,ann,no\nq3,ann,yes\nq1,bob,yes\nq2,cid,no\nq3,cid,no\n"
    "q1,dee,no\nq2,dee,no\nq3,dee,yes\n"
)


@pytest.mark.parametrize("is_drawn", ["a roster", "the file"])
def test_a_server_takes_from_a_file_who_answers_what(write: Write, tmp_path: Path, is_drawn: str) -> None:
    QUIZ.write(tmp_path)
    source = f"workers={write('answers.csv', CROWD)}"
    roster = None
    if is_drawn == "a roster":
        rows = ["ann,q1; q2; q3", "bob,q1", "cid,q2; q3", "dee,q1; q2; q3"]
        roster = write("roster.csv", "worker,tasks\n" + "".join(f"{row}\n" for row in rows))
    labels = "answer_sets=[['no', 'yes']]"  # no server reads them off what people answered
    record = run_session(resolve(load_scenario("crowd", [source, labels, "noise=simulated"])), seed=SEED)
    with serving("crowd", source, labels, roster=roster) as session:
        assert session.side.protocol.parameters.answer_sets == (("no", "yes"),)
        heard = all_join(session, tmp_path)
        assert session.result().outcome == record.outcome
    assert dict(enumerate(each.own for each in heard.values())) == record.own_outcomes
