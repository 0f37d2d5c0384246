"""What a server knows of a scenario, what it never looks at, and what it leaves."""

import csv
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from deployments import ENTRIES, SEED, serving, write_vote
from psephos.protocol import ConfigurationError, SessionKind
from psephos.protocol.dpwevote import Parameters
from psephos.protocol.errors import QuorumError
from psephos.protocol.messages import SessionDescriptor
from psephos.protocol.records import Accepted, PhaseOpened
from psephos.scenarios import ServerRun, load_scenario, resolve_served
from psephos.scenarios.deployment import Serving, draw_session, serve_in_folder, write_session
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.deployment.server import open_sitting, roster_rows
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.rosters import FINGERPRINT_COLUMN as OWN_COLUMN
from psephos.scenarios.system import find_protocol
from psephos.transports.addresses import format_address
from runs import read_json

Write = Callable[[str, str | bytes], Path]

PUBLIC = """
protocol = "dpwevote"
partners = [
    { partner = "ann", weight = 4, merger = "a secret" },
    { partner = "bob", weight = 2, merger = 3.7 },
    { partner = "cid", weight = 4, merger = "" },
]

[parameters]
candidates = ["merger"]
public_weights = true
"""
DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def public(write: Write) -> str:
    """A vote with public weights, whose private column holds what no opinion is; its path."""
    return str(write("public.toml", PUBLIC))


def refusal(scenario: str, *settings: str, roster: Path | None = None) -> ConfigurationError:
    """Return why a server refuses."""
    with pytest.raises(ConfigurationError) as caught:
        resolve_served(load_scenario(scenario, settings), roster=roster)
    return caught.value


def test_private_columns_may_hold_anything_since_a_server_looks_at_none(public: str, write: Write) -> None:
    side = resolve_served(load_scenario(public))
    assert (side.roster.names, side.roster.fingerprints) == (("ann", "bob", "cid"), None)
    parameters = side.protocol.parameters
    assert isinstance(parameters, Parameters)
    assert (parameters.candidates, parameters.weights) == (("merger",), (2.0, 4.0))
    assert list(side.public_table) == ["weight"]
    mine = write("mine.csv", "partner,weight,merger\nann,heavy,\nbob,nan,maybe\n")
    side = resolve_served(load_scenario(public, [f"partners={mine}", "public_weights=false"]))
    assert (side.roster.names, side.public_table) == (("ann", "bob"), {})
    assert side.roster.public.shape == (2, 0)


def test_garbage_in_private_columns_changes_nothing_of_a_session(public: str) -> None:
    with serving(public) as session:
        own = {"ann": "1", "bob": "0", "cid": "1"}
        heard = [session.join(name, entries={"merger": opinion}) for name, opinion in own.items()]
        result = session.result()
    assert [future.result() for future in heard] == [result.outcome] * 3
    assert result.num_received == (3,)


def test_a_public_weight_that_is_none_is_refused_with_its_party(write: Write) -> None:
    text = PUBLIC.replace("weight = 2", 'weight = "two"').replace("public_weights", "weights = [4]\npublic_weights")
    error = refusal(str(write("bad.toml", text)))
    assert (error.field, error.value, error.allowed) == ("weight (bob)", "two", "one of 4")


def write_roster(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write a roster's file as `psephos roster` does."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def draw_folder(side: ServerRun, path: Path) -> Path:
    """Draw up a session as `psephos roster` does, with what was agreed beside the roster."""
    drawn = draw_session(side.protocol, side.roster, session="public", kind=SessionKind.DEPLOYMENT)
    path.mkdir()
    write_session(path, drawn)
    write_roster(path / "roster.csv", roster_rows(side, drawn.roster))
    return path


def draw(side: ServerRun, path: Path) -> Path:
    """Draw up a session, and write the roster's file."""
    drawn = draw_session(side.protocol, side.roster, session="public", kind=SessionKind.DEPLOYMENT)
    return write_roster(path, roster_rows(side, drawn.roster))


FILES = {
    "dpwevote": "partner,weight,merger\nann,2,x\nbob,1,x\n",
    "truth-discovery": "task,worker,label\nq,bob,yes\nq,ann,no\nr,ann,yes\n",
    "moral-preferences": "voter,record,choice,lives\nbob,1,1,3\nbob,1,0,1\nann,1,1,2\nann,1,0,0\n",
    "fair-voting": "voter,group,ranking\nbob,town,b > a\nann,village,a > b\n",
}


TIED = "fair-voting with ties"  # of which a table of strict rankings says nothing


@pytest.mark.parametrize("named", [*FILES, TIED])
def test_a_folder_of_a_roster_says_all_that_the_parties_file_said(tmp_path: Path, write: Write, named: str) -> None:
    """The server needs no such file, which may hold what only the parties are to know."""
    protocol = named.partition(" ")[0]
    file, word = write("mine.csv", FILES[protocol]), f"{find_protocol(protocol).client_role}s"
    text = f'protocol = "{protocol}"\n{word} = "{file}"\n'
    if protocol == "truth-discovery":  # no server reads labels off answers
        text = f'protocol = "{protocol}"\n[workers]\nanswers = "{file}"\nlabels = ["no", "yes"]\n'
    if named == TIED:
        text = f'protocol = "{protocol}"\n[voters]\nfile = "{file}"\nties = "mean"\nalternatives = ["a", "b"]\n'
    scenario = load_scenario(str(write("mine.toml", text)))
    side = resolve_served(scenario)
    drawn = draw_folder(side, tmp_path / "drawn")
    file.unlink()
    again = resolve_served(scenario, roster=drawn)
    assert again.protocol.parameters == side.protocol.parameters
    assert (getattr(again.protocol.parameters, "ties", None) == "mean") == (named == TIED)
    assert again.roster.public.tolist() == side.roster.public.tolist()
    assert tuple(again.roster.names) == tuple(side.roster.names)


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
def test_a_bare_roster_without_the_parties_file_says_what_to_set(tmp_path: Path, write: Write) -> None:
    file = write("mine.csv", FILES["fair-voting"])
    scenario = str(write("mine.toml", f'protocol = "fair-voting"\nvoters = "{file}"\n'))
    roster = draw(resolve_served(load_scenario(scenario)), tmp_path / "roster.csv")
    file.unlink()
    error = refusal(scenario, roster=roster)
    assert (error.field, error.value) == ("alternatives", "left out")
    assert error.allowed.startswith("set, in the scenario or by --set, or agreed in a folder of `psephos roster`")
    assert "There is no file " in error.allowed
    again = resolve_served(load_scenario(scenario, ["alternatives=['a', 'b']"]), roster=roster)
    assert again.protocol.parameters.alternatives == ("a", "b")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_roster_that_a_spreadsheet_saved_is_read_and_its_form_is_said(
    tmp_path: Path, write: Write, encoding: str
) -> None:
    text = """
        protocol = "dpwevote"
        deadline_seconds = 0.01
        parameters = { candidates = ["merger"], weights = [1, 2], public_weights = true }
    """
    roster = write("list.csv", "partner;weight\nbjörn;2\nann;1\n".encode(encoding))
    side = resolve_served(load_scenario(str(write("mine.toml", text))), roster=roster)
    assert (list(side.roster.names), side.roster.public.tolist()) == (["björn", "ann"], [[1, 1], [0, 0]])
    form = {"cp1252": "Windows-1252, since it is not UTF-8", "utf-16": "UTF-16"}[encoding]
    assert side.note == f"list.csv is read as {form}, with semicolons between entries."
    assert served_folder(side, tmp_path / "out", address="127.0.0.1:0")["parties"] == side.note


def test_a_rosters_file_holds_names_public_columns_and_fingerprints_and_can_be_read(
    public: str, tmp_path: Path
) -> None:
    side = resolve_served(load_scenario(public))
    path = draw(side, tmp_path / "roster.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"partner,weight,{OWN_COLUMN}"
    assert [line.split(",")[:2] for line in lines[1:]] == [["ann", "4"], ["bob", "2"], ["cid", "4"]]
    again = resolve_served(load_scenario(public), roster=path)
    assert again.roster.names == side.roster.names
    assert again.roster.fingerprints == tuple(line.split(",")[2] for line in lines[1:])
    assert again.roster.public.tolist() == side.roster.public.tolist()
    assert again.protocol.parameters == side.protocol.parameters


def test_a_roster_without_certificates_has_no_column_of_them(public: str) -> None:
    side = resolve_served(load_scenario(public))
    assert [list(row) for row in roster_rows(side, side.roster)] == [["partner", "weight"]] * 3


def test_a_roster_leaves_it_to_the_scenario_what_is_voted_on(tmp_path: Path, write: Write) -> None:
    # The candidates are the columns of the scenario's own table, and a roster has none of them.
    write("mine.csv", "partner,weight,merger,move\nann,x,x,x\nbob,x,x,x\n")
    scenario = str(write("mine.toml", 'protocol = "dpwevote"\npartners = "mine.csv"\n'))
    side = resolve_served(load_scenario(scenario))
    again = resolve_served(load_scenario(scenario), roster=draw(side, tmp_path / "roster.csv"))
    assert again.protocol.parameters == side.protocol.parameters
    assert again.protocol.parameters.candidates == ("merger", "move")
    alone = str(write("alone.toml", 'protocol = "dpwevote"\n'))
    error = refusal(alone, roster=tmp_path / "roster.csv")
    assert (error.field, error.value) == ("candidates", "left out")
    settings = ["candidates=['merger', 'move']"]
    again = resolve_served(load_scenario(alone, settings), roster=tmp_path / "roster.csv")
    assert again.protocol.parameters == side.protocol.parameters


HEADER = f"partner,weight,{OWN_COLUMN}\n"


@pytest.mark.bad_input("a missing, doubled or unknown partner or column, with its line")
@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        (
            f"partner,{OWN_COLUMN}\nann,{DIGEST}\n",
            "weight (r.csv line 1)",
            "no such column",
            "a column of the table",
        ),
        (
            f"weight,{OWN_COLUMN}\n4,{DIGEST}\n",
            "r.csv line 1",
            ["weight", OWN_COLUMN],
            "the column 'partner'",
        ),
        (
            f"partner,weight,fingerprint\nann,4,{DIGEST}\n",
            "fingerprint (r.csv line 1)",
            "an unknown column",
            OWN_COLUMN,
        ),
        (
            "partner,weight,merger\nann,4,1\n",
            "merger (r.csv line 1)",
            "an unknown column",
            "left out",
        ),  # it is private
        (f"{HEADER}ann,4,{DIGEST}\n\nann,2,{DIGEST}\n", "partner (r.csv line 4)", "ann", "also in line 2"),
        (f"{HEADER}ann,4,{DIGEST}\nbob,3,{DIGEST}\n", "weight (r.csv line 3, bob)", "3", "one of 2, 4"),
        (
            f"{HEADER}ann,4,{DIGEST}\nbob,2,{DIGEST[:-1]}\n",
            f"{OWN_COLUMN} (r.csv line 3)",
            DIGEST[:-1],
            "64 hexa",
        ),
        (f"{HEADER}ann,4,\n", f"{OWN_COLUMN} (r.csv line 2)", "", "as `psephos roster` writes"),
        (f"{HEADER}ann,4,{DIGEST.upper()}\n", f"{OWN_COLUMN} (r.csv line 2)", DIGEST.upper(), "64 hexadecimal"),
        (
            f"{HEADER}ann,4,{DIGEST}\nbob,2\n",
            "r.csv line 3",
            "2 entries",
            "This line has 2 entries, and the header 3: partner, weight, ",
        ),
        (f"{HEADER}", "--roster", None, "There is no row in r.csv. "),
    ],
)
def test_a_fault_in_a_rosters_file_is_named_with_its_line(
    public: str, write: Write, content: str, field: str, value: object, allowed: str
) -> None:
    error = refusal(public, "weights=[2, 4]", roster=write("r.csv", content))
    assert error.field == field
    assert allowed in error.allowed
    if value is not None:
        assert error.value == value


def test_a_roster_that_is_not_there_is_named_by_its_option(public: str, tmp_path: Path) -> None:
    error = refusal(public, roster=tmp_path / "nowhere.csv")
    assert (error.field, error.value) == ("--roster", str(tmp_path / "nowhere.csv"))


def test_a_column_that_nobody_knows_is_refused_by_a_server_too(tmp_path: Path, write: Write) -> None:
    """Where the file is named alone: a table of it with candidates leaves other columns out."""
    scenario = Path(write_vote(tmp_path))
    scenario.write_text(scenario.read_text(encoding="utf-8").replace("partners.file", "partners"), encoding="utf-8")
    write("three.csv", "partner,weight,merger,marger\nann,1,1,1\n")
    error = refusal(str(scenario))
    assert (error.field, error.value) == ("marger (three.csv line 1)", "an unknown column")


def served_folder(side: ServerRun, path: Path, *, address: str, seed: int | None = SEED) -> Mapping[str, object]:
    """Serve in a folder until the session fails, and return what `run.json` says."""
    serving = Serving(side=side, address=address, transport="tcp", mode=make_mode("vote", seed=seed))
    with pytest.raises((ConfigurationError, QuorumError)):
        serve_in_folder(serving, RunFolder(path))
    return read_json(path / "run.json")


def test_a_taken_address_is_named_and_leaves_no_result(tmp_path: Path) -> None:
    side = resolve_served(load_scenario(write_vote(tmp_path)))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = format_address(*taken.getsockname())
        run = served_folder(side, tmp_path / "out", address=address)
    reason = f"--listen: Another program listens at {address}. End it, or choose another port."
    assert run["failure"] == {"error": "ConfigurationError", "reason": reason}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"events.jsonl", "run.json", "scenario.json"}


@pytest.mark.parametrize(
    ("field", "change", "lines", "parties"),
    [
        ("session", {"mode": make_mode("other", seed=None)}, "", "abc"),
        ("session id", {"descriptor": SessionDescriptor("2" * 32)}, "", "abc"),
        ("kind", {"mode": make_mode("vote", seed=SEED)}, "", "abc"),
        ("parameters", {}, "parameters.epsilon = 2.0", "abc"),
        ("roster", {}, "", "acb"),
        ("quorum of join", {}, "phases.join.quorum = 2", "abc"),
        ("quorum of opinions", {}, "phases.opinions.quorum = 2", "abc"),
    ],
)
def test_a_journal_is_no_other_sessions_than_it_was_begun_as(
    tmp_path: Path, field: str, change: Mapping[str, Any], lines: str, parties: str
) -> None:
    def sitting(lines: str = "", parties: str = "abc", **change: Any) -> AbstractContextManager[object]:
        entries = {name: ENTRIES[name] for letter in parties for name in ENTRIES if name[0] == letter}
        side = resolve_served(
            load_scenario(write_vote(tmp_path, entries=entries), [lines.replace(" ", "")] if lines else ())
        )
        given: dict[str, Any] = {
            "mode": make_mode("vote", seed=None),
            "descriptor": SessionDescriptor("1" * 32),
            **change,
        }
        return open_sitting(Serving(side=side, address="", transport="tcp", journal=tmp_path / "a.sqlite", **given))

    with sitting():
        pass
    with (
        pytest.raises(ConfigurationError, match="was begun with another") as caught,
        sitting(lines, parties, **change),
    ):
        pass
    assert caught.value.field == field
    with sitting():
        pass


@pytest.mark.parametrize(("hides", "counted"), [(False, ", 2 reports are kept"), (True, "")])
def test_a_session_that_goes_on_says_how_far_it_is_and_counts_nobody_where_that_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, hides: bool, counted: str
) -> None:
    side = resolve_served(load_scenario(write_vote(tmp_path)))
    serving = Serving(
        side=side, address="", transport="tcp", mode=make_mode("vote", seed=None), journal=tmp_path / "a.sqlite"
    )
    told: list[str] = []
    with open_sitting(serving, on_resuming=told.append) as journal:
        assert journal is not None
        journal.keep([PhaseOpened(0, (0, 1, 2)), Accepted(0, 0, b"report"), Accepted(0, 1, b"report")])
    monkeypatch.setitem(vars(side.protocol), "hides_participation", hides)  # as it is known from the first time on
    with open_sitting(serving, on_resuming=told.append):
        pass
    assert told == [f"going on with this session: 0 of 2 phases are closed{counted}"]


@pytest.mark.parametrize("seed", [None, SEED])
def test_a_session_without_its_quorum_leaves_its_failure_and_no_result(tmp_path: Path, seed: int | None) -> None:
    side = resolve_served(load_scenario(write_vote(tmp_path, lines="deadline_seconds = 0.01")))
    run = served_folder(side, tmp_path / "out", address="127.0.0.1:0", seed=seed)
    assert run["kind"] == ("deployment" if seed is None else "simulation")
    failure = run["failure"]
    assert isinstance(failure, dict)
    assert failure["error"] == "QuorumError"
    assert "missing: ann, bob, cid" in failure["reason"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"events.jsonl", "run.json", "scenario.json"}


def test_what_a_folder_says_was_served_can_be_served_again_with_a_roster(tmp_path: Path) -> None:
    scenario = write_vote(tmp_path, lines='deadline_seconds = 0.01\nquorum = 2\ntitle = "A vote"')
    side = resolve_served(load_scenario(scenario, ["epsilon=3"]))
    served_folder(side, tmp_path / "out", address="127.0.0.1:0")
    written = read_json(tmp_path / "out" / "scenario.json")
    assert written.keys().isdisjoint({"parties", "partners", "seed", "data"})
    roster = draw(side, tmp_path / "roster.csv")
    again = resolve_served(load_scenario(str(tmp_path / "out" / "scenario.json"), ["name=vote"]), roster=roster)
    assert again.protocol.parameters == side.protocol.parameters
    assert again.rules == side.rules
    assert (again.roster.names, again.scenario.title) == (side.roster.names, "A vote")


@pytest.mark.skipif(not socket.has_ipv6, reason="this system has no IPv6")
@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:0", "localhost:0"])
def test_port_0_is_the_systems_choice_and_it_is_told(tmp_path: Path, address: str) -> None:
    with serving(write_vote(tmp_path), address=address) as session:
        host, _, port = session.address.rpartition(":")
        assert host == address.rpartition(":")[0] or address.startswith("localhost")
        assert int(port) > 0
        heard = [session.join(name) for name in ENTRIES]
        assert [future.result() for future in heard] == [session.result().outcome] * 3
