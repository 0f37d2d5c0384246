"""Truth discovery between processes: who answers what is agreed to, answers are the worker's, and so is its weight."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import deployments
import msgspec
import pytest
from deployments import NOBODY_LISTENS, SEED, Ending, Process, Serving, invitations_to, join_all, read_json, serving
from page_parts import Parts
from psephos.protocol import ConfigurationError
from psephos.protocol.errors import BudgetExceededError, RemoteProtocolError
from psephos.protocol.mechanisms import NO_ANSWER
from psephos.protocol.truth_discovery import NO_TASK, OwnOutcome
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.deployment import DEFAULT_BUDGET, Agreement
from psephos.scenarios.deployment.client import Heard
from psephos.scenarios.running.folder import read_ledger

Psephos = Callable[..., Any]
PLAIN = ("--transport", "tcp")
Write = Callable[[str, str | bytes], Path]

TASKS = {"ann": "q1; q2; q3", "bob": "q1; q2", "cid": "q2; q3", "dee": "q1; q2; q3"}
ANSWERS = {"ann": "yes; no; yes", "bob": "yes; ", "cid": "no; no", "dee": "no; no; yes"}
# As each of them would write it: a line for each answer, or one line for all of them. Bob skips a task.
FILES = {
    "ann": "task,label\nq1,yes\nq2,no\nq3,yes\n",
    "bob": "worker,task,label\nbob,q1,yes\n",
    "cid": "worker,answers\ncid,q2=no; q3=no\n",
    "dee": "answers\nq3 = yes; q1 = no; q2 = no\n",
}
# Tasks and their order are the session's, whoever is asked first.
SAME = "epsilon = 2.0\ntasks = ['q1', 'q2', 'q3']\nmax_answers = 3"
PLACES = {name: place for place, name in enumerate(TASKS)}


def write_quiz(folder: Path, *, tasks: Mapping[str, str] = TASKS, lines: str = "epsilon = 2.0") -> str:
    """Write a session of four workers, and each one's own file, and return the scenario's path.

    Args:
        folder: where.
        tasks: of each worker.
        lines: more of the parameters.
    """
    rows = [f"{{worker = '{name}', tasks = '{own}', answers = '{ANSWERS[name]}'}}" for name, own in tasks.items()]
    text = f"workers = [{', '.join(rows)}]\n[parameters]\nanswer_sets = [['yes', 'no']]\n{lines}\n"
    path = folder / "quiz.toml"
    path.write_text(f'protocol = "truth-discovery"\n{text}', encoding="utf-8")
    for name, content in FILES.items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    return str(path)


@pytest.fixture
def quiz(tmp_path: Path) -> str:
    """A session of four workers; its path."""
    return write_quiz(tmp_path)


entries_of = functools.partial(deployments.entries_of, role="worker")
refusal = functools.partial(deployments.refusal, role="worker", unwritten=("outcome.json", "own_outcome.json"))


def all_join(session: Serving, folder: Path, **options: Mapping[str, Any]) -> dict[str, Heard]:
    """Let all workers take part, some with options, and return what each heard."""
    return join_all(session, folder, {party: options.get(party, {}) for party in TASKS}, role="worker")


# What everybody hears, and what one worker alone does.


def test_workers_who_join_one_by_one_find_what_one_process_finds(quiz: str, tmp_path: Path) -> None:
    record = run_session(resolve(load_scenario(quiz)), seed=SEED)
    told: dict[str, Agreement] = {}

    def tell(agreement: Agreement) -> None:
        told[agreement.terms.party] = agreement

    with serving(quiz) as session:
        heard = all_join(session, tmp_path, **{party: {"on_agreed": tell} for party in TASKS})
        result = session.result()
    assert [each.outcome for each in heard.values()] == [record.outcome] * 4 == [result.outcome] * 4
    assert [tally.totals.tolist() for tally in result.tallies] == [tally.totals.tolist() for tally in record.tallies]
    assert {PLACES[party]: each.own for party, each in heard.items()} == record.own_outcomes
    # Bob's second answer is skipped; codes of labels are 0 and 1.
    assert told["bob"].row == (0, NO_ANSWER, NO_ANSWER)
    assert told["cid"].row == (1, 1, NO_ANSWER)
    assert told["dee"].row == (1, 1, 0)
    assert told["cid"].terms.public == (2, 1, 2, NO_TASK)
    assert {party: each.cost for party, each in told.items()} == {"ann": 6, "bob": 4, "cid": 4, "dee": 6}
    for party, cost in {"ann": 6, "bob": 4, "cid": 4, "dee": 6}.items():
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.proven, entry.num_persons) == (party, cost, 1)


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


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Ending]]:
    """A folder in which four processes took part with secure noise, and how each process ended."""
    folder = tmp_path_factory.mktemp("deployment")
    scenario = write_quiz(folder)
    endings: dict[str, Ending] = {}
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(Process(*words, folder=folder))

        endings["roster"] = start("roster", scenario, "--make-keys", "--out", "drawn").ending()
        # The server's own copy of the scenario has nobody's answers.
        served = folder / "served.toml"
        lines = "epsilon = 2.0\nanswer_sets = [['yes', 'no']]"
        served.write_text(f'name = "quiz"\nprotocol = "truth-discovery"\n[parameters]\n{lines}\n', encoding="utf-8")
        words = ("--listen", "127.0.0.1:0", "--roster", "drawn", "--no-pictures", "--out", "server")
        server = start("serve", "served.toml", *words)
        address = server.address()
        clients = {
            party: start(
                *("join", "drawn/invitations", "--as", party, "--input", f"{party}.csv"),
                *("--address", address, "--out", party, "--json"),
            )
            for party in TASKS
        }
        endings |= {party: client.ending() for party, client in clients.items()}
        endings["server"] = server.ending()
    return folder, endings


Deployed = tuple[Path, dict[str, Ending]]


@pytest.mark.full("processes, as two other systems have them")
def test_processes_find_truths_without_anybody_else_having_their_answers(deployment: Deployed) -> None:
    folder, endings = deployment
    assert {name: (ended.status, ended.err) for name, ended in endings.items()} == dict.fromkeys(
        ("roster", *TASKS, "server"), (0, "")
    )
    result = read_json(folder / "server" / "result.json")
    assert (result["kind"], result["received"]) == ("deployment", {"answers": 4})
    assert result["outcome"]["num_answers"] == [3, 3, 3]  # bob skipped one of ten
    assert "truth" not in result
    for party in TASKS:
        assert read_json(folder / party / "outcome.json") == result["outcome"]
        own = read_json(folder / party / "own_outcome.json")
        assert own.keys() == {"weight", "quality", "num_answers"}


@pytest.mark.full("processes, as two other systems have them")
def test_a_deployment_leaves_no_answer_no_report_and_no_weight_with_anybody_else(deployment: Deployed) -> None:
    folder, _ = deployment
    left = {"estimates.csv", "events.jsonl", "report.html", "result.json", "run.json", "scenario.json"}
    assert {path.name for path in (folder / "server").iterdir()} == left
    own = {"events.jsonl", "ledger.jsonl", "outcome.json", "own_outcome.json", "report.html", "run.json"}
    for party in TASKS:
        assert {path.name for path in (folder / party).iterdir()} == own
    for path in [*(folder / "server").iterdir(), *(folder / "drawn").rglob("*")]:
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        for written in ('"weight', '"quality"', "private_row", '"rows"', *ANSWERS.values(), "q1=", "q1 ="):
            assert written not in text, (path, written)
        for line in text.splitlines():
            if path.suffix != ".json":  # in a line of a table or a log, who and what would stand together
                assert not any(party in line and ("yes" in line or ",no" in line) for party in TASKS), path
    served = read_json(folder / "server" / "scenario.json")
    assert served.keys().isdisjoint({"parties", "workers", "seed", "data"})
    for owner in ("server", *TASKS):
        page = Parts((folder / owner / "report.html").read_text(encoding="utf-8"))
        assert "secure noise" in page.text
        assert ("The ledger: what you lost" in page.text) == (owner != "server")
        assert TASKS.keys().isdisjoint(page.text.split())  # nor its own: whoever shows it need not say who
        assert not any(told in page.text for told in ("tallies", "What is true", "Own outcome", "127.0.0.1"))


@pytest.mark.full("processes, where another test of this file has them already")
def test_processes_that_rehearse_with_a_seed_leave_the_result_of_a_run(psephos: Psephos, tmp_path: Path) -> None:
    scenario = write_quiz(tmp_path, lines="mechanism = 'two_layer'\nepsilon = 1.0")
    with contextlib.ExitStack() as stack:

        def start(*words: object) -> Process:
            return stack.enter_context(
                Process(*words, "--transport", "tcp", "--simulate", "--seed", SEED, folder=tmp_path, is_measured=False)
            )

        server = start("serve", scenario, "--listen", "127.0.0.1:0", "--no-pictures", "--out", "served")
        address = server.address()
        clients = [
            start("join", address, "--as", party, "--input", f"{party}.csv", "--out", f"as-{party}") for party in TASKS
        ]
        assert [(ended.status, ended.err) for client in clients for ended in [client.ending()]] == [(0, "")] * 4
        assert server.ending().status == 0
    ended = psephos("run", scenario, "--seed", SEED, "--no-pictures", "--out", "ran")
    assert (ended.status, ended.err) == (0, "")
    assert (tmp_path / "served" / "result.json").read_bytes() == (tmp_path / "ran" / "result.json").read_bytes()


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
    side = resolve(load_scenario(quiz), is_served=True)
    write("ann.csv", content)
    own = side.protocol.encode_own(entries_of("ann", tmp_path), tuple(side.roster.public[0].tolist()))
    assert own == (0, 1, NO_ANSWER)


@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        ("task,label\nq1,yes\nq1,no\n", "task (ann.csv line 3)", "q1", "answered once, or with the same label"),
        ("worker,task,label\nann,q1,yes\nbob,q2,no\n", "worker (ann.csv line 3)", "bob", "'ann'"),
        ("worker,answers\nbob,q1=yes\n", "worker (ann.csv line 2)", "bob", "'ann'"),
        ("task,label\nq1,yes\nq2\n", "ann.csv line 3", "1 entries", "2 entries: task, label"),
        ("answers\nq1=yes\nq2=no\n", "--input", None, "a header and one line, that of 'ann'"),
        ("task,label\n", "--input", None, "a header and a line for each answer"),
        ("", "ann.csv line 1", [], "a header"),
        (b"task,label\nq1,m\x81\n", "ann.csv line 2", None, "UTF-8 text"),
    ],
)
def test_a_fault_in_a_workers_file_is_named_with_its_line(
    write: Write, tmp_path: Path, content: str | bytes, field: str, value: object, allowed: str
) -> None:
    write("ann.csv", content)
    with pytest.raises(ConfigurationError) as caught:
        entries_of("ann", tmp_path)
    assert caught.value.field == field
    assert allowed in caught.value.allowed
    if value is not None:
        assert caught.value.value == value


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a label outside the answer set": (
        {"answers": {"q1": "yes", "q3": "maybe"}},
        "answers must be one of yes, no (task 'q3'), or nothing, got 'maybe'",
    ),
    "a label outside the answer set, in one line": (
        {"answers": "q1=yes; q3=maybe"},
        "answers must be one of yes, no (task 'q3'), or nothing, got 'maybe'",
    ),
    "a task that nobody is asked": (
        {"answers": "q1=yes; q9=no"},
        "answers must be one of the tasks: q1, q2, q3, got 'q9'",
    ),
    "a task answered twice in one line": (
        {"answers": "q1=yes; q2=no; q1=no"},
        "answers must be each task named once, got 'q1'",
    ),
    "no pairs": ({"answers": "yes; no"}, "answers must be of the form task=label; task=label, got 'yes'"),
    "other tasks than the server's": (
        {"tasks": "q1; q2", "answers": "q1=yes"},
        "tasks must be the tasks that the server has: q1; q2; q3, got 'q1; q2'",
    ),
    "no answers": ({"tasks": "q1; q2; q3"}, "answers must be a column of the table, got 'no such column'"),
    "an unknown column": (
        {"answer": "q1=yes"},
        "column 'answer' must be one of tasks, answers (did you mean 'answers'?), got 'unknown'",
    ),
}


@pytest.mark.bad_input(
    "a label outside the task's answer set",
    "a worker who answers a task twice with different labels",
)
@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_answer_is_refused_and_nothing_leaves(quiz: str, tmp_path: Path, case: str) -> None:
    entries, sentence = WRONG[case]
    invitation = invitations_to(quiz)["ann"]
    # Held against the invitation alone, before anybody is called.
    assert refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, entries=entries, invitation=invitation) == sentence
    written = (tmp_path / "as-ann" / "run.json").read_text(encoding="utf-8")
    assert "maybe" not in written
    assert read_json(tmp_path / "as-ann" / "run.json")["failure"]["error"] == "ConfigurationError"


@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_answer_gets_one_sentence_and_status_2(
    psephos: Psephos, quiz: str, write: Write, tmp_path: Path, case: str
) -> None:
    entries, sentence = WRONG[case]
    assert psephos("roster", quiz, "--make-keys", "--out", "drawn").status == 0
    if isinstance(entries.get("answers"), dict):
        write("own.csv", "task,label\n" + "".join(f"{task},{label}\n" for task, label in entries["answers"].items()))
    else:
        write("own.csv", f"{','.join(entries)}\n{','.join(entries.values())}\n")
    words = ("--as", "ann", "--input", "own.csv", "--invitation", "drawn/invitations", "--out", "out")
    ended = psephos("join", NOBODY_LISTENS, *PLAIN, *words)
    assert (ended.status, ended.out, ended.err) == (2, "", f"psephos: {sentence}\n")
    assert not (tmp_path / "out").exists()


def test_an_answer_to_a_task_that_the_worker_was_not_asked_stays_at_home(quiz: str, tmp_path: Path) -> None:
    """Bob is asked q1 and q2: what it thinks of q3 is neither reported nor paid for."""
    told: list[Agreement] = []
    more = {"entries": {"answers": {"q1": "yes", "q2": "", "q3": "yes"}}, "on_agreed": told.append}
    with serving(quiz) as session:
        heard = all_join(session, tmp_path, bob=more)
        assert session.result().outcome == heard["bob"].outcome
    (agreement,) = told
    assert agreement.row == (0, NO_ANSWER, NO_ANSWER)
    assert agreement.cost == 4
    record = run_session(resolve(load_scenario(quiz)), seed=SEED)
    own = record.own_outcomes[PLACES["bob"]]
    assert heard["bob"] == Heard(outcome=record.outcome, own=own, transcript=session.result().transcript)


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
    with serving(write_quiz(other, tasks={**TASKS, "bob": "q1; q2; q3", "ann": own}, lines=SAME)) as session:
        said = refusal(session.address, tmp_path, RemoteProtocolError, invitation=invitation)
        assert said == "server's public row for ann is not the one agreed to"


def test_a_server_with_another_price_than_agreed_to_is_refused(quiz: str, tmp_path: Path) -> None:
    invitation = invitations_to(quiz)["ann"]
    with serving(quiz, "epsilon=3") as session:
        said = refusal(session.address, tmp_path, RemoteProtocolError, invitation=invitation)
    assert "parameters" in said


def test_a_budget_below_a_workers_own_price_is_refused_and_one_at_it_is_not(quiz: str, tmp_path: Path) -> None:
    with serving(quiz) as session:
        said = refusal(session.address, tmp_path, BudgetExceededError, budget=5.99)
        assert "6" in said
        assert "5.99" in said
        (tmp_path / "as-ann").rename(tmp_path / "refused")
        heard = all_join(session, tmp_path, ann={"budget": 6.0}, bob={"budget": 4.0})
        assert heard["ann"].outcome == session.result().outcome
    assert [entry.proven for entry in read_ledger(tmp_path / "as-ann")] == [6.0]


def test_without_an_invitation_the_usual_budget_is_kept_by_whom_it_would_not_do(quiz: str, tmp_path: Path) -> None:
    """At 4 an answer, three answers cost 12 and two cost 8: ann is asked too much, bob is not."""
    assert DEFAULT_BUDGET == 10
    with serving(quiz, "epsilon=4") as session:
        said = refusal(session.address, tmp_path, BudgetExceededError)
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
SETS = "task,worker,label,answer_set\n10,ann,yes,yes|no\n9,ann,red,red|green|blue\n10,bob,no,yes|no\n"


@pytest.mark.parametrize("is_drawn", ["a roster", "the file"])
def test_a_server_takes_from_a_file_who_answers_what(write: Write, tmp_path: Path, is_drawn: str) -> None:
    write_quiz(tmp_path)
    source = f"workers={write('answers.csv', CROWD)}"
    roster = None
    if is_drawn == "a roster":
        rows = ["ann,q1; q2; q3", "bob,q1", "cid,q2; q3", "dee,q1; q2; q3"]
        roster = write("roster.csv", "worker,tasks\n" + "".join(f"{row}\n" for row in rows))
    record = run_session(resolve(load_scenario("crowd", [source])), seed=SEED)
    with serving("crowd", source, roster=roster) as session:
        assert session.side.protocol.parameters.answer_sets == (("no", "yes"),)
        heard = all_join(session, tmp_path)
        assert session.result().outcome == record.outcome
    assert {PLACES[party]: each.own for party, each in heard.items()} == record.own_outcomes


@pytest.mark.parametrize("content", [CROWD, SETS], ids=["one answer set", "several"])
def test_a_roster_says_again_who_is_asked_what(psephos: Psephos, write: Write, content: str) -> None:
    write("answers.csv", content)
    assert psephos("roster", "crowd", "--set", "workers=answers.csv", "--make-keys", "--out", "drawn").status == 0
    scenario = load_scenario("crowd", ["workers=answers.csv"])
    own, drawn = resolve(scenario, is_served=True), resolve(scenario, is_served=True, roster=Path("drawn/roster.csv"))
    assert drawn.protocol.parameters == own.protocol.parameters
    assert drawn.roster.names == own.roster.names
    assert drawn.roster.public.tolist() == own.roster.public.tolist()
    invitations = [read_json(path) for path in sorted(Path("drawn/invitations").iterdir())]
    assert [invitation["public"] for invitation in invitations] == own.roster.public.tolist()
    for path in Path("drawn").rglob("*.csv"):
        assert "label" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "field", "allowed"),
    [
        ("worker,tasks\nann,q1; q9\n", "tasks (roster.csv line 2, ann)", "one of the tasks: q1, q2, q3"),
        ("worker,tasks\nann,q1\nbob,q1; q2; q1\n", "tasks (roster.csv line 3, bob)", ""),
        ("worker,tasks\nann,\nbob,\n", "tasks (roster.csv line 1)", "at least one task"),
        ("worker\nann\n", None, "a column of the table"),
        ("worker,task\nann,q1\n", None, ""),
        ("worker,tasks,answers\nann,q1,yes\n", "answers (roster.csv line 1)", "left out"),
        ("worker,tasks\nann,q1\nann,q2\n", "worker (roster.csv line 3)", "also in line 2"),
    ],
)
def test_a_fault_in_a_roster_of_workers_is_named_with_its_line(
    quiz: str, write: Write, content: str, field: str | None, allowed: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(quiz, ["tasks=['q1', 'q2', 'q3']"]), is_served=True, roster=write("roster.csv", content))
    assert field in {None, caught.value.field}
    assert allowed in caught.value.allowed
