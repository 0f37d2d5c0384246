"""Reports of a deployment that are counted again: the tallies and the outcome of the session that took them."""

import csv
import hashlib
import inspect
import json
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import Psephos, refuses
from psephos.agents.session_journal import SessionJournal
from psephos.protocol.errors import ConfigurationError, QuorumError
from psephos.protocol.population import PopulationResult, draw_reports, run_population
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.records import Accepted, Chosen, PhaseClosed, ServerRecord
from psephos.scenarios import load_scenario, resolve, resolve_served
from psephos.scenarios.deployment.recount import read_journaled, read_reports, recount, write_reports
from psephos.scenarios.deployment.server import JOURNAL_FILE
from psephos.scenarios.reading import batches
from psephos.scenarios.reading.columns import RowBatch
from psephos.scenarios.running.resolution import ServerRun
from psephos.scenarios.running.rosters import ROSTER_FILE

Report = tuple[object, object, object]
HEADER: Report = ("place", "phase", "payload")
SETTINGS = {"consortium": (), "crowd": (), "two-societies": ("mechanism=sampled_pair",)}


def side_of(name: str, *settings: str) -> ServerRun:
    return resolve_served(load_scenario(name, settings))


def session_of(name: str, *settings: str) -> tuple[list[Report], PopulationResult[Any]]:
    """Return the reports of a session of arrays, party by party, and what it left."""
    local = resolve(load_scenario(name, (*settings, "transport=array")))
    noise = SimulatedNoise(7, session=name)
    protocol = local.protocol
    drawn = [
        draw_reports(phase, local.inputs, noise=noise, protocol=protocol.name, start=0).tolist()
        for phase in protocol.phases
    ]
    rows: list[Report] = [
        (place, phase.name, bytes(phase.codec.encode(own[place])).hex())
        for place in range(len(local.names))
        for phase, own in zip(protocol.phases, drawn, strict=True)
    ]
    return rows, run_population(protocol, local.inputs, noise=noise)


def write(path: Path, rows: Sequence[Report]) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        arrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
        places, phases, payloads = zip(*rows, strict=True)
        columns = {"place": places, "phase": phases, "payload": [bytes.fromhex(str(each)) for each in payloads]}
        parquet.write_table(arrow.table(columns), path, row_group_size=45)
        return
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batches, "_ROWS", 51)  # some party's reports come in two batches


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_reports_in_files_have_the_tallies_and_the_outcome_of_their_session(name: str, end: str) -> None:
    rows, expected = session_of(name, *SETTINGS[name])
    for number, (start, stop) in enumerate([(0, 1), (1, 6), (6, len(rows))]):
        write(Path(f"parts/{number}.{end}"), rows[start:stop])
    left = recount(side_of(name, *SETTINGS[name]), read_reports("parts"))
    assert left.tallies == expected.tallies
    assert left.outcome == expected.outcome
    assert left.num_received == tuple(tally.num_reports for tally in expected.tallies)


def test_who_left_counts_in_the_phases_before() -> None:
    rows, _ = session_of("consortium")
    side = side_of("consortium", "quorum=0.5")
    first, *rest = (phase.name for phase in side.protocol.phases)
    last = rest[-1]
    write(Path("r.csv"), [row for row in rows if not (row[1] == last and row[0] in {0, 5, len(side.names) - 1})])
    left = recount(side, read_reports("r.csv"))
    everybody = len(side.names)
    assert left.num_received == (*[everybody] * len(rest), everybody - 3)
    stayed = np.array([place for place in range(everybody) if place not in {0, 5, everybody - 1}])
    by_phase = [
        np.array([phase.codec.decode(bytes.fromhex(str(row[2]))) for row in rows if row[1] == phase.name])
        for phase in side.protocol.phases
    ]
    *earlier, own = (reports[stayed] for reports in by_phase)
    assert left.tallies[-1] == side.protocol.phases[-1].tally(own, earlier=earlier, public=side.inputs.public[stayed])
    assert first != last
    write(Path("r.csv"), [row for row in rows if row[1] != last])
    with pytest.raises(QuorumError, match=last):
        recount(side, read_reports("r.csv"))


def _at(row: int, column: int, value: object) -> Callable[[list[Report]], list[Report]]:
    def change(rows: list[Report]) -> list[Report]:
        changed = [*rows[row]]
        changed[column] = value
        return [*rows[:row], (changed[0], changed[1], changed[2]), *rows[row + 1 :]]

    return change


WRONG: Sequence[tuple[Callable[[list[Report]], list[Report]], str, str]] = (
    (_at(4, 0, "x"), "place (r.csv line 6)", "a place on the roster"),
    (_at(4, 0, "2.5"), "place (r.csv line 6)", "a place on the roster"),
    (_at(4, 0, "-1"), "place (r.csv line 6)", "a place on the roster"),
    (_at(4, 0, "2000"), "place (r.csv line 6)", "from 0 to 1999"),
    (_at(4, 1, "wieghts"), "phase (r.csv line 6)", "one of weights, opinions"),
    (_at(4, 2, "9"), "payload (r.csv line 6)", "a report in phase 'weights'"),
    (_at(4, 2, "917f"), "payload (r.csv line 6)", "a report in phase 'weights'"),
    (_at(4, 2, ""), "payload (r.csv line 6)", "a report in phase 'weights'"),
    (lambda rows: [*rows[:4], rows[3], *rows[4:]], "place (r.csv line 6)", "each once"),
    (lambda rows: [*rows, *rows[:2]], "place (r.csv line 4002)", "in the order of places"),
    (lambda rows: rows[1:], "place (r.csv line 2)", "none left out"),
    (lambda rows: [rows[1], rows[0], *rows[2:]], "place (r.csv line 2)", "in that of phases"),
    (lambda rows: rows[:0], "r.csv", "a file with rows"),
)


@pytest.mark.parametrize(("change", "field", "allowed"), WRONG)
def test_a_wrong_row_is_named(change: Callable[[list[Report]], list[Report]], field: str, allowed: str) -> None:
    rows, _ = session_of("consortium")
    assert len(rows) == 4_000
    write(Path("r.csv"), change(rows))
    reports: Generator[RowBatch] | None = None
    with refuses(field, allowed=allowed):
        recount(side_of("consortium"), reports := read_reports("r.csv"))
    assert reports is None or inspect.getgeneratorstate(reports) == inspect.GEN_CLOSED  # and so is the file


def are_in_order(rows: Sequence[Report], phases: Sequence[str]) -> bool:
    """Return whether parties come in the order of places, each with its phases from the first on, none twice."""
    places = [int(str(place)) for place, _, _ in rows]
    own = {place: [phase for each, phase, _ in rows if each == place] for place in dict.fromkeys(places)}
    return places == sorted(places) and all(told == [*phases[: len(told)]] for told in own.values())


FEW: dict[str, Sequence[str]] = {
    "consortium": ["count=5"],
    "crowd": ["workers.workers=5", "workers.tasks=4", "workers.answers_per_task=2"],
}


@pytest.mark.parametrize("name", FEW)
def test_whatever_is_repeated_moved_or_left_out_is_refused_and_nothing_else_is(name: str) -> None:
    rows, _ = session_of(name, *FEW[name])
    side = side_of(name, *FEW[name], "quorum=1")
    phases, last = [phase.name for phase in side.protocol.phases], len(rows) - 1
    changed = [
        *([*rows[: at + 1], *rows[at:]] for at in range(len(rows))),
        *([*rows[:at], *rows[at + 1 :]] for at in range(len(rows))),
        *([*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]] for at in range(last)),
        [*rows, rows[0]],
        [*rows, *rows],
        rows,
    ]
    taken = 0
    for each in changed:
        Path("r.csv").unlink(missing_ok=True)
        write(Path("r.csv"), each)
        if are_in_order(each, phases):
            taken += 1
            num_received = recount(side, read_reports("r.csv")).num_received
            assert sum(number or 0 for number in num_received) == len(each)
        else:
            with pytest.raises(ConfigurationError, match="each once, and none left out"):
                recount(side, read_reports("r.csv"))
    assert 1 < taken < len(changed) / 2


@pytest.mark.parametrize(
    ("quorum", "least"),
    [("", 6), ("quorum=1", 1), ("quorum=4", 4), ("quorum=0.5", 3), ("quorum=0.51", 4), ("phases.opinions.quorum=2", 6)],
)
def test_a_recount_has_the_quorum_of_its_session(quorum: str, least: int) -> None:
    settings = ("count=6", *filter(None, [quorum]))
    rows, _ = session_of("consortium", *settings)
    for number in range(1, 7):
        Path("r.csv").unlink(missing_ok=True)
        write(Path("r.csv"), [row for row in rows if int(str(row[0])) < number])
        if number >= least:
            assert recount(side_of("consortium", *settings), read_reports("r.csv")).num_received == (number, number)
        else:
            with pytest.raises(QuorumError, match=str(number)):
                recount(side_of("consortium", *settings), read_reports("r.csv"))


def test_an_answer_to_a_task_that_was_not_asked_is_named() -> None:
    rows, _ = session_of("crowd")
    side = side_of("crowd")
    (phase,) = side.protocol.phases
    numbers = list(phase.codec.decode(bytes.fromhex(str(rows[1][2]))))
    numbers[-1] = phase.mechanism.report_range[1] if numbers[-1] < 0 else -1
    odd = bytes(phase.codec.encode(numbers)).hex()
    with pytest.raises(ValueError, match=r".+"):
        phase.check_report(numbers, side.inputs.public[1].tolist())
    write(Path("r.csv"), _at(1, 2, odd)(rows))
    with refuses("payload (r.csv line 3)"):
        recount(side, read_reports("r.csv"))


@pytest.mark.parametrize("header", ["place,phase", "place,round,payload"])
def test_files_of_other_columns_are_refused(header: str) -> None:
    Path("r").mkdir()
    Path("r/0.csv").write_text(f"{header}\n{header}\n")
    with pytest.raises(ConfigurationError) as caught:
        read_reports("r")
    assert (caught.value.field, caught.value.allowed) == ("columns of 0.csv", "place, phase, payload, at least")
    Path("r/0.csv").rename("r/37.csv")
    write(Path("r/0.csv"), [(0, "weights", "9100")])
    with pytest.raises(ConfigurationError, match=r"column '(phase|payload)' of 37\.csv"):
        read_reports("r/*.csv")


@pytest.mark.parametrize(
    ("name", "settings"),
    [("two-societies", ("mechanism=laplace",)), ("trusted-count", ())],
)
def test_what_a_trusted_server_draws_is_not_drawn_again(name: str, settings: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="draws its own only once"):
        recount(side_of(name, *settings), iter(()))


def journaled(
    side: ServerRun, rows: Sequence[Report], folder: Path, *, is_over: bool = True, chosen: Sequence[Sequence[int]] = ()
) -> Path:
    """Write the journal of a session as its server leaves it; reports came in any order."""
    folder.mkdir()
    names = [phase.name for phase in side.protocol.phases]
    records: list[ServerRecord] = [Chosen(place, tuple(own)) for place, own in enumerate(chosen)]
    records += [
        Accepted(names.index(str(row[1])), int(str(row[0])), bytes.fromhex(str(row[2]))) for row in reversed(rows)
    ]
    records += [PhaseClosed(step, ()) for step in range(len(names) - (not is_over))]
    own = {"parameters": hashlib.sha256(side.protocol.encoded_parameters).hexdigest(), "roster": side.roster.digest}
    path = folder / JOURNAL_FILE
    with SessionJournal.open(path, configuration={"session": side.scenario.name, **own}) as journal:
        journal.keep(records)
    return path


def test_a_journal_is_counted_and_written_as_a_file_of_reports() -> None:
    rows, expected = session_of("consortium")
    side = side_of("consortium")
    path = journaled(side, rows, Path("vote"))
    held = list(read_journaled(side, path))
    assert recount(side, held).outcome == expected.outcome
    write_reports(Path("reports.csv"), held)
    assert Path("reports.csv").stat().st_mode & 0o777 == 0o600
    with Path("reports.csv").open(newline="") as file:
        assert [tuple(row) for row in csv.reader(file)] == [tuple(map(str, row)) for row in (HEADER, *rows)]
    with pytest.raises(ConfigurationError, match="File exists"):
        write_reports(Path("reports.csv"), held)
    with pytest.raises(ConfigurationError, match=r"a file of \.csv"):
        write_reports(Path("reports.xls"), held)


def test_a_session_whose_parties_chose_is_counted_by_their_choices_and_from_no_file(psephos: Psephos) -> None:
    rows, expected = session_of("own-epsilon")
    side, chosen = side_of("own-epsilon"), resolve(load_scenario("own-epsilon", ("transport=array",))).inputs.public
    left = recount(side, read_journaled(side, journaled(side, rows, Path("vote"), chosen=chosen[:, -1:].tolist())))
    assert (left.outcome, left.tallies) == (expected.outcome, expected.tallies)
    write(Path("r.csv"), rows)
    assert "files do not say what" in psephos("tally", "own-epsilon", "--reports", "r.csv").err


def test_a_journal_of_another_session_or_of_one_under_way_is_refused() -> None:
    rows, _ = session_of("consortium")
    side = side_of("consortium")
    path = journaled(side, rows, Path("vote"))
    others = {
        name: side_of("consortium", setting) for name, setting in (("session", "name=a"), ("parameters", "epsilon=2"))
    }
    for name, other in (*others.items(), ("roster", msgspec.structs.replace(side, names=side.names[::-1]))):
        with pytest.raises(ConfigurationError, match=f"of a session of this {name}: that one is of another"):
            list(read_journaled(other, path))
    with pytest.raises(ConfigurationError, match="This session is not over"):
        list(read_journaled(side, journaled(side, rows, Path("open"), is_over=False)))


def test_the_command_says_what_the_session_said(psephos: Psephos) -> None:
    rows, expected = session_of("consortium")
    side = side_of("consortium")
    write(Path("r.csv"), rows)
    ended = psephos("tally", "consortium", "--reports", "r.csv", "--json", "--no-pictures", "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    result = json.loads(ended.out)
    assert result["tallies"] == [tally.totals.tolist() for tally in expected.tallies]
    assert (result["kind"], result["num_parties"]) == ("deployment", len(side.names))
    assert json.loads(Path("out/result.json").read_text()) == result
    assert "ledger.jsonl" not in [path.name for path in Path("out").iterdir()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Add --roster with the session's folder"),
        (("--reports", "none/*.csv"), "There is no file 'none/*.csv'"),
        (("--reports", "r.csv", "--export", "r.csv"), "File exists"),
        (("--roster", "vote"), ROSTER_FILE),
    ],
)
def test_a_wrong_command_is_one_line(psephos: Psephos, words: Sequence[str], said: str) -> None:
    write(Path("r.csv"), session_of("consortium")[0])
    Path("vote").mkdir()
    assert said in psephos("tally", "consortium", *words).refusal
