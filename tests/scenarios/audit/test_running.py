"""Runs of audits: which cases, at which joint confidence, in one process or several; rows, tables, files."""

import collections
import dataclasses
import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from audits import case_of
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.audit import AuditVerdict, Case, Pair, running
from psephos.scenarios.audit.running import AuditReport, Job, audit_all, audit_cases, cases_of, sources_of
from psephos.scenarios.audit.showing import show_report, write_report
from psephos.scenarios.audit.size_grid import SizeGrid
from psephos.scenarios.presentation import make_console
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.system import load_each
from runs import read_rows

Psephos = Callable[..., Any]

LAWS = np.array([[0.75, 0.25], [0.25, 0.75]])
ONE = math.log(3)


def draw(number: int, stream: int) -> Any:
    return np.random.default_rng(stream).integers(0, 2, size=(number, 1))


def make_case(
    name: str, *, group: str = "coins", proven: float = ONE, claimed: float = ONE, drawn: bool = False
) -> Case:
    """Return a case whose law has ε = ln 3, or that draws the same of both neighbors."""
    pair = Pair("alike", draws=(draw, draw)) if drawn else Pair("0 and 1", laws=LAWS)
    return case_of(pair, name=name, group=group, claimed=claimed, proven=proven)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts cases in the place of all that there are."""

    def nothing(*_: object) -> list[Case]:
        return []

    def put(*cases: Case) -> None:
        monkeypatch.setattr(running, "_mechanism_cases", lambda: cases)
        monkeypatch.setattr(running, "session_cases", nothing)
        monkeypatch.setattr(running, "systems", dict)
        monkeypatch.setattr(running, "size_cases", nothing)

    return put


def run(name: str = "all", **given: Any) -> AuditReport:
    options: dict[str, Any] = {"samples": {"simulated": 1_000}, "workers": 1, **given}
    return audit_all(name, **options)


def names(cases: Sequence[Case]) -> list[str]:
    return [case.name for case in cases]


def test_a_name_stands_for_its_group_and_all_for_all(known: Callable[..., None]) -> None:
    known(make_case("one"), make_case("two", group="dice"), make_case("three"))
    assert names(cases_of("all")) == ["one", "two", "three"]
    assert names(cases_of("coins")) == ["one", "three"]
    with pytest.raises(
        ConfigurationError,
        match="is 'cards': use one of all, papers, coins, dice, a registered protocol or a scenario",
    ):
        cases_of("cards")
    assert sources_of("both") == ["simulated", "secure"]
    assert sources_of("secure") == ["secure"]


def test_sessions_of_no_other_protocol_are_made_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def noting(part: str, kind: Any) -> Iterator[tuple[str, Callable[[], list[Case]]]]:
        for name, make in load_each(part, kind):
            yield name, lambda name=name, make=make: (made.append(f"{part} of {name}"), list(make()))[1]

    monkeypatch.setattr(running, "load_each", noting)
    names = running.group_names()
    made.clear()
    assert {case.group for case in cases_of("laplace")} == {"laplace"}
    assert running.size_cases(SizeGrid(is_quick=True), "laplace") == made == []
    assert {case.group for case in cases_of("truth-discovery")} == {"truth-discovery"}
    assert made == ["session_cases of truth-discovery"]
    assert [*dict.fromkeys(case.group for case in cases_of("all"))] == names


def test_the_risk_is_shared_by_all_audits(known: Callable[..., None]) -> None:
    known(make_case("one"), make_case("two"))
    report = run(samples={"simulated": 1_000, "secure": 1_000}, confidence=0.96)
    assert report.risk_each == pytest.approx(0.01)
    assert [row.audits[0].confidence for row in report.rows] == pytest.approx([0.99, 0.99])


def test_a_row_holds_the_worst_verdict_and_the_greatest_bound(known: Callable[..., None]) -> None:
    known(
        make_case("sound"),
        make_case("claimed too little", claimed=0.5),
        make_case("unproven", proven=0.5),
        make_case("alike", drawn=True),
    )
    report = run()
    assert [row.verdict for row in report.rows] == [
        AuditVerdict.CONSISTENT,
        AuditVerdict.CLAIM_REFUTED,
        AuditVerdict.PROOF_REFUTED,
        AuditVerdict.NO_STATEMENT,
    ]
    assert report.is_refuted
    assert report.rows[0].audited == pytest.approx(ONE)
    assert report.rows[2].tightness == pytest.approx(2 * ONE)
    assert (report.rows[3].audited, report.rows[3].tightness) == (None, None)


def test_a_table_says_what_it_means_within_its_width(
    known: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    known(make_case("sound"), make_case("unbounded", proven=math.inf), make_case("alike", drawn=True))
    show_report(make_console(), run())
    shown = capsys.readouterr().out
    assert "3 losses" in shown
    assert "2 consistent, 1 no statement" in shown
    assert "alike: 1,000 simulated outputs tell nothing; fewer than " in shown
    assert "∞" in shown
    assert "Not refuting proves nothing" in shown
    assert "sound: nothing was drawn; this is of the law alone." in shown
    assert max(map(len, shown.splitlines())) <= 110


def test_files_hold_every_audit(known: Callable[..., None], tmp_path: Path) -> None:
    known(make_case("sound"), make_case("alike", drawn=True))
    write_report(RunFolder(tmp_path / "out"), run())
    found = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert [row["verdict"] for row in found["rows"]] == ["consistent", "no statement"]
    lines = read_rows(tmp_path / "out" / "audit.csv")
    assert [(line["name"], line["source"], line["verdict"]) for line in lines] == [
        ("sound", "law", "consistent"),
        ("alike", "simulated", "no statement"),
    ]
    assert float(lines[0]["audited"]) == pytest.approx(ONE)
    assert lines[1]["audited"] == ""
    assert [(line["inputs"], line["unnoticed"], line["follows_law"]) for line in lines] == [("0", "1.0", "")] * 2


def test_what_departs_from_its_law_is_told(known: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    biased = Pair("0 and 1", laws=LAWS, draws=(draw, draw))
    known(dataclasses.replace(make_case("biased"), pairs=lambda: [biased]))
    show_report(make_console(), run())
    shown = " ".join(capsys.readouterr().out.split())
    assert "biased: simulated outputs do not follow the law that the proof is of (0 and 1, one: " in shown
    assert "law+sim" not in shown  # the law is not the sampler's, so that nothing is said by it


@pytest.mark.full("a process that makes its cases itself")
def test_processes_find_what_one_finds() -> None:
    """One case here, and one in a process that makes its cases itself."""
    job = Job({"simulated": 200}, 1e-6, 1)
    cases = cases_of("k-rr")[:2]
    rows = list(audit_cases(cases, job, 2))
    alone = list(audit_cases(cases, job, 1))
    assert {row.name: row.audits for row in rows} == {row.name: row.audits for row in alone}


class Here:
    """A pool that does a task in this process, or leaves it to whoever asks."""

    num_workers, least_seconds = 1, 0.0

    def __init__(self, *, fails: bool) -> None:
        self.fails, self.num_tasks = fails, 0

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        assert module == running.__name__
        for number, task in enumerate(tasks):
            self.num_tasks += 1
            yield number, None if self.fails else running.work(task)


@pytest.mark.full("processes once more")
@pytest.mark.parametrize("fails", [False, True])
def test_a_pool_finds_what_one_process_finds(*, fails: bool) -> None:
    pool = Here(fails=fails)
    found, alone = (
        running.audit_all("channels", samples={"simulated": 4_000}, workers=1, pool=each) for each in (pool, None)
    )
    assert pool.num_tasks == math.ceil(len(alone.rows) / 8)
    assert [(row.name, row.audits) for row in found.rows] == [(row.name, row.audits) for row in alone.rows]


def test_the_command_prints_a_table_and_progress_beside_it(known: Callable[..., None], psephos: Psephos) -> None:
    known(make_case("sound"))
    ended = psephos("audit", "coins", "--samples", 100, "--out", "out")
    assert ended.status == 0
    assert "1 loss in" in ended.out
    assert "Everything is in out" in ended.out
    assert "1/1  coins: sound" in ended.err


def test_the_command_ends_with_1_where_a_proof_is_refuted_and_prints_json(
    known: Callable[..., None], psephos: Psephos
) -> None:
    known(make_case("unproven", proven=0.5), make_case("claimed too little", claimed=0.5))
    ended = psephos("audit", "all", "--samples", 100, "--source", "simulated", "--thorough", "--json")
    assert ended.status == 1
    report = json.loads(ended.out)
    assert report["samples"] == {"simulated": 1_000}
    assert [row["verdict"] for row in report["rows"]] == ["proof refuted", "claim refuted"]


@pytest.mark.bad_input("a confidence outside (0, 1)")
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("nothing",),
            "mechanism or protocol is nothing: use one of all, papers, coins, a registered protocol or a scenario",
        ),
        (("all", "--confidence", 1), "confidence is 1.0: use a value above 0 and below 1"),
        (("all", "--confidence", "nan"), "confidence is nan: use a value above 0 and below 1"),
        (("all", "--samples", 5), "samples is 5: use at least"),
        (("all", "--cluster", "local"), "leave out --cluster, but for --source simulated"),
        (("papers", "--cluster", "local"), "leave out --cluster of an audit of papers"),
        (("papers", "--out", "folder"), "leave out --out of an audit of papers"),
        (("papers", "--quick"), "leave out --quick of an audit of papers"),
        (("all", "--quick", "--thorough"), "give one of --quick and --thorough at a time"),
        (("all", "--quick", "--samples", 100), "samples is 10: use at least"),
        (("papers", "--set", "epsilon=1"), "leave out --set of an audit of papers"),
        (("all", "--set", "epsilon=1"), "leave out --set of an audit of all, whose parameters are fixed"),
        (("coins", "--data", "folder"), "leave out --data of an audit of coins, whose parameters are fixed"),
        (("nowhere.toml",), "scenario: There is no file and no shipped scenario 'nowhere.toml'"),
        (
            ("consortium",),
            "scenario: The protocol of this scenario has audits of its own. Run them: psephos audit dpwevote",
        ),
        (("papers", "--confidence", 0.5), "leave out --confidence of an audit of papers"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    known: Callable[..., None], psephos: Psephos, words: tuple[object, ...], error: str
) -> None:
    known(make_case("sound"))
    assert error in psephos("audit", *words).refusal


def test_a_quick_audit_takes_a_tenth_of_the_outputs(known: Callable[..., None], psephos: Psephos) -> None:
    known(make_case("alike", drawn=True))
    ended = psephos("audit", "all", "--quick", "--json")
    assert json.loads(ended.out)["samples"] == {"simulated": 50_000, "secure": 2_000}
    ended = psephos("audit", "all", "--quick", "--samples", 40_000, "--source", "simulated", "--json")
    assert json.loads(ended.out)["samples"] == {"simulated": 4_000}


def test_an_audit_that_somebody_ends_keeps_what_it_has_found(known: Callable[..., None]) -> None:
    known(*(make_case(name) for name in ("one", "two", "three")))

    def end(said: str, done: int, total: int) -> None:
        assert total == 3
        if done == 2:
            raise KeyboardInterrupt(said)

    report = run(on_progress=end)
    assert [row.name for row in report.rows] == ["one", "two"]
    assert report.num_left == 1


def test_an_audit_that_somebody_ends_before_anything_was_found_has_no_report(known: Callable[..., None]) -> None:
    known(make_case("one"))

    def end(said: str, done: int, total: int) -> None:
        if done:
            return
        raise KeyboardInterrupt(said, total)

    with pytest.raises(KeyboardInterrupt):
        run(on_progress=end)


def test_the_command_shows_the_table_of_an_audit_that_was_ended(
    known: Callable[..., None], psephos: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(*(make_case(name) for name in ("one", "two")))
    audited = running._audit_case  # pyright: ignore[reportPrivateUsage]  in whose midst the key is pressed

    def pressed(each: Case, job: running.Job) -> Any:
        if each.name == "two":
            raise KeyboardInterrupt
        return audited(each, job)

    monkeypatch.setattr(running, "_audit_case", pressed)
    ended = psephos("audit", "coins", "--samples", 100, "--workers", 1, "--out", "out")
    assert ended.status == 130
    said = " ".join(ended.out.split())
    assert said.startswith("No proof is refuted. 1 loss in 0 s: ")
    assert "The run was ended before 1 more case came to be audited." in said
    assert (
        ended.err.splitlines()[-1]
        == "psephos: interrupted; out keeps audit.csv, audit.json, command.json, report.html, study.json"
    )


def test_a_whole_audit_says_nothing_of_cases_that_are_left(known: Callable[..., None]) -> None:
    known(make_case("one"))
    assert b"num_left" not in msgspec.json.encode(run())


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_cases_side_by_side_and_at_even_distances_are_shared(workers: int) -> None:
    for step in (1, 2, 4):
        counts = collections.Counter(running._turn(number, workers) for number in range(0, 512 * step, step))  # pyright: ignore[reportPrivateUsage]  how long the slowest share takes depends on it
        assert set(counts) == set(range(workers))
        assert max(counts.values()) - min(counts.values()) <= 512 / 8
