"""Read a run's folder, which `running.folder` and `running.writing` wrote, into typed values.

`private/` and files outside the folder are never opened. Damaged files and other schemas are refused, and the error
names the file. The result contains everything, including pictures, so that making a page opens no files.
"""

import contextlib
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.privacy import LedgerEntry
from ..presentation.seals import SEALS, Seal, is_sealed
from ..reading.cells import rows_in
from ..reading.conversion import convert
from ..reading.files import CUT_SHORT, check_files, readable
from ..system import find_protocol
from ..tables import Rows
from ..verdicts import from_written
from .folder import COMMAND, check_schema, read_ledger
from .session_facts import SessionFacts

_RUN: Final = "RUN"
_FOLDER: Final = "the folder of a run"
_BEGUN: Final = ("scenario.json", "events.jsonl", "ledger.jsonl")
"""The only files that a killed run may have left."""
_DROPPED: Final = b'"event":"party_dropped"'

Kind: TypeAlias = Literal["run", "party"]


class Failure(msgspec.Struct, frozen=True):
    """Why a run has no outcome, or why no party received it."""

    error: str
    reason: str


class TrafficOfPhase(msgspec.Struct, frozen=True, kw_only=True):
    """Traffic to and from the server in a phase."""

    phase: str
    messages_up: int
    bytes_up: int
    messages_down: int
    bytes_down: int


class NamedParty(msgspec.Struct, frozen=True, kw_only=True):
    """A party that was detected tampering, and the folder's evidence file, if it could be written."""

    party: str
    deed: str
    evidence: str = ""


class RunJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of `run.json` that are read."""

    schema: int
    title: str = ""
    transport: str = ""
    noise: str = ""
    kind: str = ""
    at: str = ""
    seconds: float | None = None
    psephos: str = ""
    numpy: str = ""
    parties: str = ""
    about: SessionFacts | None = None
    traffic: tuple[TrafficOfPhase, ...] = ()
    parties_without_outcome: dict[str, str] = {}
    failure: Failure | None = None
    late_phase: str = ""
    named: tuple[NamedParty, ...] = ()
    kept: dict[str, str] = {}
    events_lost: dict[str, int] = {}
    transcript: str | None = None


class PersonLoss(msgspec.Struct, frozen=True, kw_only=True):
    """The greatest loss of a person in a session; None if it is unbounded or not stated."""

    claimed: float | None = None
    proven: float | None = None
    relation: str = ""
    certainty: float | None = None


class PrivacyLeft(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a result's losses that are read."""

    person: PersonLoss = PersonLoss()


class ResultJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of `result.json` that are read; `series` is the name if it is a series, not a single run."""

    schema: int
    session: str = ""
    series: str = ""
    protocol: str = ""
    kind: str = ""
    num_parties: int | None = None
    received: dict[str, int] = {}
    outcome: dict[str, Any] | None = None
    privacy: PrivacyLeft = PrivacyLeft()
    truth: dict[str, Any] | None = None


class _Command(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of `command.json` that are read."""

    command: str


class _Tables(msgspec.Struct, frozen=True):
    """The tables of a scenario that are read."""

    parameters: dict[str, Any] = {}
    network: dict[str, Any] | None = None


class AttackReportJSON(msgspec.Struct, frozen=True, kw_only=True):
    """One adversary's report in a run's folder; infinite numbers are None."""

    role: str
    who: str
    trust: str
    sentences: tuple[str, ...] = ()
    rows: tuple[dict[str, str | float | None], ...] = ()
    refutes_ledger: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunArtifacts:
    """The content of a run's folder."""

    path: Path  # the folder
    kind: Kind  # a session's folder, or a party's in a deployment
    protocol: str  # the protocol's name; empty if unknown
    title: str  # the title; by default the session's name
    scenario: Mapping[str, Any] | None  # the scenario as plain data; None if the folder has none
    run: RunJSON | None  # how it ran; None if the run is still running or was killed
    about: SessionFacts | None  # trust and privacy cost; None if the folder does not state them
    result: ResultJSON | None  # the result; None if nothing was released, and for a party
    # The outcome in the protocol's type; None if there is none, or the protocol is not installed.
    outcome: msgspec.Struct | None
    missing_protocol: str  # why an outcome is not decoded; empty otherwise
    entries: Sequence[LedgerEntry] | None  # the ledger; None if the folder has none
    estimates: Rows | None  # the outcome's table; None if the folder has none
    learnt: Sequence[AttackReportJSON]  # reports of its adversaries
    dropped: Sequence[Mapping[str, Any]]  # dropped parties of a simulation, with time and reason
    pictures: Mapping[str, bytes]  # pictures, as in `pictures_in`
    is_deployment: bool  # whether participants may be real: its noise is secure, or processes took part
    command: str  # the command that repeats it; empty if unknown

    @property
    def person(self) -> PersonLoss:
        """The greatest loss of a person."""
        if self.result is not None and self.result.privacy.person.relation:
            return self.result.privacy.person
        if (facts := self.about) is not None:
            return PersonLoss(claimed=facts.claimed, proven=facts.proven, relation=facts.relation)
        return PersonLoss()


def read_run(path: Path) -> RunArtifacts:
    """Read the folder of a run, a server or a party.

    Raises:
        ConfigurationError: it is not a run's folder, a file in it is damaged, or a later Psephos wrote it.
    """
    with readable(path, field=_RUN, what=_FOLDER):
        names = {each.name for each in path.iterdir()}
    allowed = f"{_FOLDER}: this one has neither run.json nor result.json, nor anything else of a run"
    require(names & {"run.json", "result.json", "outcome.json", *_BEGUN}, _RUN, str(path), allowed)
    check_files(path)
    run: RunJSON | None = read_as(path / "run.json", RunJSON) if "run.json" in names else None
    result: ResultJSON | None = read_as(path / "result.json", ResultJSON) if "result.json" in names else None
    allowed = "a single run, such as the folder of one of its votes"
    refuse(result is not None and result.series, _RUN, f"{path}, a series of votes", allowed)
    scenario = _read_json(path / "scenario.json") if "scenario.json" in names else None
    command = read_command(path)
    outcome_fields = result.outcome if result is not None else None
    if outcome_fields is None and "outcome.json" in names:
        outcome_fields = _read_json(path / "outcome.json")
    settings, facts = scenario or {}, None if run is None else run.about
    convert(settings, _Tables, "scenario.json")
    kind, is_deployment = _kind_of(names, scenario, run, result)
    protocol_name = ("" if result is None else result.protocol) or str(settings.get("protocol", ""))
    protocol = protocol_name or ("" if facts is None else facts.protocol)
    outcome, missing = _decode_outcome(protocol, outcome_fields, path)
    entries = read_ledger(path) if "ledger.jsonl" in names else None
    name = entries[0].session if entries else f"A session of {protocol or 'votes'}"
    if kind != "party":  # a party's folder may have the party's name
        name = settings.get("name") or (result and result.session) or path.resolve().name
    return RunArtifacts(
        path=path,
        kind=kind,
        protocol=protocol,
        title=str(settings.get("title") or (run and run.title) or name),
        scenario=scenario,
        run=run,
        about=facts,
        result=result,
        outcome=outcome,
        missing_protocol=missing,
        entries=entries,
        estimates=rows_in(path / "estimates.csv") if "estimates.csv" in names else None,
        learnt=_parse(path / "adversaries.json", list[AttackReportJSON]) if "adversaries.json" in names else (),
        dropped=_read_dropped(path / "events.jsonl") if "events.jsonl" in names and not is_deployment else (),
        pictures=pictures_in(path),
        is_deployment=is_deployment,
        command=command,
    )


def read_command(folder: Path) -> str:
    """Return the command that repeats a folder's run; empty if the folder does not state it."""
    file = folder / COMMAND
    return read_as(file, _Command).command if file.exists() else ""


def pictures_in(folder: Path) -> dict[str, bytes]:
    """Return the pictures in a folder: SVG by file name without suffix.

    A picture without a valid seal of this user for the folder's results has empty content.
    """
    seals: Mapping[str, Seal] = _parse(folder / SEALS, dict[str, Seal]) if (folder / SEALS).exists() else {}
    content_of_picture: dict[str, bytes] = {}
    for path in sorted(folder.glob("*.svg")):
        with readable(path, field=_RUN, value=folder, what=f"{_FOLDER} with a readable {path.name}"):
            content = path.read_bytes()
            is_ours = path.name in seals and is_sealed(path, content, seals[path.name])
            content_of_picture[path.stem] = content if is_ours else b""
    return content_of_picture


def read_as(path: Path, kind: type[Any]) -> Any:
    """Read a command's JSON file as a struct; errors are those of `read_run`."""
    return convert(_read_json(path), kind, path.name)


def _read_json(path: Path) -> dict[str, Any]:
    fields: dict[str, Any] = _parse(path, dict[str, Any])
    check_schema(fields, path.name)
    return fields


def _parse(path: Path, kind: Any) -> Any:
    with readable(path, field=_RUN, what=_FOLDER):
        content = path.read_bytes()
    refuse(not content, _RUN, str(path.parent), f"{_FOLDER} whose {path.name} is {CUT_SHORT}")
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        allowed = f"The file {path} is damaged ({error}). Run it again, or restore the file."
        raise ConfigurationError(field=_RUN, value=str(path.parent), allowed=allowed) from None


def _kind_of(
    names: Collection[str], scenario: Mapping[str, Any] | None, run: RunJSON | None, result: ResultJSON | None
) -> tuple[Kind, bool]:
    """Return a folder's kind by its files' names, and whether it is a deployment's."""
    is_party = "outcome.json" in names or (scenario is None and run is not None and not run.transport)
    kind: Kind = "party" if is_party else "run"
    kinds = {run.kind if run is not None else "", result.kind if result is not None else ""}
    is_served = run is not None and bool(run.kind)
    has_secure_noise = scenario is not None and scenario.get("noise") == "secure"
    return kind, is_party or is_served or "deployment" in kinds or has_secure_noise


def _decode_outcome(
    protocol: str, outcome_fields: Mapping[str, Any] | None, path: Path
) -> tuple[msgspec.Struct | None, str]:
    """Return an outcome in its protocol's type, or the reason why not; neither if there is none."""
    if outcome_fields is None:
        return None, ""
    if not protocol:
        return None, "The folder does not say which protocol was run."
    try:
        kind = find_protocol(protocol).outcome_type
    except ConfigurationError:
        return None, f"The protocol {protocol!r} is not installed here, so its outcome is shown as it was written."
    try:
        fields_read = from_written(kind, outcome_fields)
        return msgspec.json.decode(msgspec.json.encode(fields_read), type=kind), ""
    except (LookupError, TypeError, AttributeError, msgspec.ValidationError) as error:
        allowed = f"{_FOLDER} with an outcome of protocol {protocol!r} ({error})"
        raise ConfigurationError(field=_RUN, value=str(path), allowed=allowed) from None


def _read_dropped(path: Path) -> Sequence[Mapping[str, Any]]:
    with readable(path, field=_RUN, value=path.parent), path.open("rb") as file:
        lines = [line for line in file if _DROPPED in line]
    dropped_lines: list[Mapping[str, Any]] = []
    for line in lines:
        # the file of a killed process
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            dropped_lines.append(msgspec.json.decode(line, type=dict[str, Any]))
    return dropped_lines
