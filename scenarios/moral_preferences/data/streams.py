"""Surveys too large for memory, as batches of voters: from files of choices or of responses, or from a generator.

A scenario asks for it by `stream = true` in its table of voters, or names files that cannot be read at once; such a
session runs by arrays.
"""

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Final

from ....protocol.errors import did_you_mean, refuse, require
from ....protocol.phases import PhasedProtocol
from ...reading.batches import TableFiles, is_columnar, is_in_batches
from ...reading.conversion import convert
from ...reading.frames import FrameText
from ...reading.manifests import remembered
from ...reading.sources import Batch, OpenStream, PartyStream, RowFiles
from . import generators
from .dilemmas import FEATURES
from .files import BATCH_VOTERS, RECORD, VOTER, ChoiceFiles
from .moral_machine import ResponseFiles
from .parties import GENERATORS, ChoicesFile, ResponsesFile
from .privacy_groups import PrivacyGroups, draw_epsilons
from .responses import RESPONSE, Limits
from .survey import Reading, Survey

_FIELD: Final = "voters"

_GENERATORS: Final = ("normal", "moral_machine")


@dataclasses.dataclass(frozen=True)
class SurveyStream:
    """A survey in batches."""

    features: tuple[str, ...]  # of every alternative
    max_records: int  # the most of one voter
    groups: PrivacyGroups | None  # by which voters have an ε of their own; None where everybody has the session's
    num_voters: int | None  # how many there are, where that is known beforehand
    open: Callable[[Path], Generator[Survey]]  # makes the batches anew; its argument is a folder for temporary files


class StreamedResponses(ResponsesFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Moral Machine file that does not fit into memory."""

    max_records: int = 13  # of each voter's complete responses the first ones count; it bounds what a voter pays


def open_stream(parties: Mapping[str, Any]) -> SurveyStream:
    """Return a table of voters as a stream; of a file of responses only the header is read yet.

    It is one of `ChoicesFile`, of which a pass finds the voter with most records, of `StreamedResponses`, or of a
    generator's options beside its name; and maybe groups of privacy concern.
    """
    options = {name: value for name, value in parties.items() if name != "stream"}
    convert(parties.get("stream", True), bool, f"{_FIELD}.stream")
    sources = [name for name in ("choices", "responses", "generator") if name in options]
    for name in ("data", "epsilons", *sources[1:]):
        allowed = "left out: streamed voters come from choices, responses or a generator"
        refuse(name in options, f"{_FIELD}.{name}", options.get(name), allowed)
    society = options.get("society")
    refuse(society, f"{_FIELD}.society", society, "left out: societies are known once all voters are")
    group_options = options.pop("groups", None)
    groups: PrivacyGroups | None = (
        None if group_options is None else convert(group_options, PrivacyGroups, f"{_FIELD}.groups")
    )
    if "choices" in options:
        return _stream_choices(convert(options, ChoicesFile, _FIELD), groups)
    if "responses" in options:
        file: StreamedResponses = convert(options, StreamedResponses, _FIELD)
        allowed = "a file: a frame is in memory, and need not be streamed"
        refuse(isinstance(file.responses, FrameText), f"{_FIELD}.responses", file.responses, allowed)
        # What can be said before the file is grouped, which takes long, is said now.
        limits = Limits(file.min_records, file.max_records)
        files = ResponseFiles(file.responses, limits, field=f"{_FIELD}.responses")
        read_surveys = functools.partial(files.surveys, batch_voters=BATCH_VOTERS)
        return SurveyStream(tuple(FEATURES), file.max_records, groups, None, open=read_surveys)
    name: str = convert(options.pop("generator", "normal"), str, f"{_FIELD}.generator")
    allowed = f"one of {', '.join(_GENERATORS)}, where voters are streamed{did_you_mean(name, _GENERATORS)}"
    require(name in _GENERATORS, f"{_FIELD}.generator", name, allowed)
    spec = convert(options, GENERATORS[name].options, _FIELD)

    def make(_: Path) -> Generator[Survey]:
        yield from generators.split_batches(GENERATORS[name].make, spec, batch_voters=BATCH_VOTERS)

    return SurveyStream(tuple(spec.feature_names), spec.records, groups, spec.voters, open=make)


def _stream_choices(file: ChoicesFile, groups: PrivacyGroups | None) -> SurveyStream:
    """Return the voters of files; a pass finds the most records of one, which bound what each pays."""
    choices = ChoiceFiles(file.choices, field=f"{_FIELD}.choices", alike_voters=file.alike_voters, options=file)

    def find() -> dict[str, int]:
        max_records = number = 0
        with tempfile.TemporaryDirectory() as folder:
            for survey in choices.surveys(Path(folder), batch_voters=BATCH_VOTERS):
                max_records = max(max_records, int(survey.records.num_records.max()))
                number += len(survey.voters)
        return {"max_records": max_records, "voters": number}

    facts = remembered(file.manifest, choices.files, find, facts_asked={"alike_voters": file.alike_voters})
    max_records: int = facts["max_records"]
    read_surveys = functools.partial(choices.surveys, batch_voters=BATCH_VOTERS, max_records=max_records)
    return SurveyStream(choices.features, max_records, groups, facts["voters"], open=read_surveys)


def stream_voters(parties: str | Mapping[str, Any]) -> OpenStream | RowFiles | None:
    """Return what opens the voters of files that cannot be read at once, or of a table that asks to be streamed.

    It is None for all others. A table is as `open_stream` has it.
    """
    if isinstance(parties, str):
        if not is_in_batches(parties):
            return None
        names = TableFiles(parties, field=_FIELD).names
        if VOTER in names and RECORD not in names:
            return RowFiles(path=parties)  # a line for each voter
        parties = {"responses" if RESPONSE in names else "choices": parties}
        return functools.partial(_party_stream, parties)
    choices, responses = parties.get("choices"), parties.get("responses")
    is_large = (isinstance(choices, str) and is_in_batches(choices)) or (
        isinstance(responses, str) and is_columnar(responses)
    )
    return functools.partial(_party_stream, parties) if is_large or parties.get("stream") else None


def _party_stream(parties: Mapping[str, Any]) -> PartyStream:
    """Return a stream of voters as the parties of a session."""
    stream = open_stream(parties)
    parameters: dict[str, Any] = {"max_records": stream.max_records, "features": list(stream.features)}
    if stream.groups is not None:
        parameters["epsilons"] = list(stream.groups.levels)

    def check(protocol: PhasedProtocol[Any, Any]) -> None:
        max_records: int = protocol.parameters.max_records
        allowed = f"at least {stream.max_records}, the most records of a streamed voter"
        require(max_records >= stream.max_records, "max_records", max_records, allowed)

    def batches(folder: Path) -> Generator[Batch]:
        reading: Reading | None = None
        start = 0
        with contextlib.closing(stream.open(folder)) as surveys:
            for survey in surveys:
                table: dict[str, Any] = {"records": survey.records}
                number = len(survey.voters)
                if stream.groups is not None:
                    table["epsilon"] = draw_epsilons(stream.groups, num_voters=number, start=start)
                start += number
                reading = survey.reading if reading is None else reading + survey.reading
                yield Batch(table, number, reading.description)

    return PartyStream(
        parameters=parameters,
        fixed=frozenset({"features"}),
        check=check,
        num_parties=stream.num_voters,
        most_parties=generators.MAX_VOTERS,
        pays_alike=stream.groups is None,
        open=batches,
    )
