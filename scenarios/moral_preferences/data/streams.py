"""Surveys too large for memory, as batches of voters: from a file of responses, or from a generator.

A scenario asks for it by `stream = true` in its table of voters; such a session runs by arrays.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Final

from ....protocol.errors import ConfigurationError, did_you_mean, refuse
from ....protocol.phases import PhasedProtocol
from ...reading.conversion import convert
from ...reading.frames import Frame
from ...running.streams import Batch, PartyStream
from . import made_up
from .csv_numbers import header_of
from .dilemmas import FEATURES
from .moral_machine_stream import check_outofcore, stream_moral_machine
from .options import MAX_VOTERS
from .parties import GENERATORS, ResponsesFile
from .privacy_groups import PrivacyGroups, draw_epsilons
from .responses import Limits, check_header
from .survey import Reading, Survey

__all__ = ["StreamedResponses", "SurveyStream", "open_stream", "stream_voters"]

_FIELD: Final = "voters"
_BATCH_VOTERS: Final = 10_000
_GENERATORS: Final = ("normal", "moral_machine")


class StreamedResponses(ResponsesFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Moral Machine file that does not fit into memory."""

    max_records: int = 13  # of each voter's complete responses the first ones count; it bounds what a voter pays


@dataclasses.dataclass(frozen=True)
class SurveyStream:
    """A survey in batches."""

    features: tuple[str, ...]  # of every alternative
    max_records: int  # the most of one voter
    groups: PrivacyGroups | None  # by which voters have an ε of their own; None where everybody has the session's
    num_voters: int | None  # how many there are, where that is known beforehand
    open: Callable[[Path], Generator[Survey]]  # makes the batches anew; its argument is a folder for temporary files


def open_stream(parties: Mapping[str, Any]) -> SurveyStream:
    """Return a table of voters with `stream = true` as a stream; of a file only the header is read yet.

    It is one of `StreamedResponses`, or of a generator's options beside its name, and maybe groups of privacy concern.
    """
    options = {name: value for name, value in parties.items() if name != "stream"}
    convert(parties["stream"], bool, f"{_FIELD}.stream")
    for name in ("data", "choices", "epsilons", *(("generator",) if "responses" in options else ())):
        if name in options:
            allowed = "left out: streamed voters come from responses or from a generator"
            raise ConfigurationError(field=f"{_FIELD}.{name}", value=options[name], allowed=allowed)
    if options.get("society"):
        allowed = "left out: societies are known once all voters are"
        raise ConfigurationError(field=f"{_FIELD}.society", value=options["society"], allowed=allowed)
    given = options.pop("groups", None)
    groups: PrivacyGroups | None = None if given is None else convert(given, PrivacyGroups, f"{_FIELD}.groups")
    if "responses" in options:
        return _of_responses(convert(options, StreamedResponses, _FIELD), groups)
    name: str = convert(options.pop("generator", "normal"), str, f"{_FIELD}.generator")
    if name not in _GENERATORS:
        allowed = f"one of {', '.join(_GENERATORS)}, where voters are streamed{did_you_mean(name, _GENERATORS)}"
        raise ConfigurationError(field=f"{_FIELD}.generator", value=name, allowed=allowed)
    return _of_generator(GENERATORS[name], options, groups)


def _of_responses(file: StreamedResponses, groups: PrivacyGroups | None) -> SurveyStream:
    allowed = "a file: a frame is in memory, and need not be streamed"
    refuse(isinstance(file.responses, Frame), f"{_FIELD}.responses", file.responses, allowed)
    path = Path(file.responses)
    # What can be said before the file is grouped, which takes long, is said now.
    check_outofcore()
    Limits(file.min_records, file.max_records)
    header_of(path, check_header, field=f"{_FIELD}.responses")

    def read(folder: Path) -> Generator[Survey]:
        return stream_moral_machine(
            path,
            folder=folder,
            batch_voters=_BATCH_VOTERS,
            min_records=file.min_records,
            max_records=file.max_records,
            field=f"{_FIELD}.responses",
        )

    return SurveyStream(tuple(FEATURES), file.max_records, groups, None, open=read)


def _of_generator(
    generator: made_up.Generator, options: Mapping[str, Any], groups: PrivacyGroups | None
) -> SurveyStream:
    spec = convert(options, generator.options, _FIELD)

    def make(folder: Path) -> Generator[Survey]:
        del folder
        yield from made_up.in_batches(generator.make, spec, batch_voters=_BATCH_VOTERS)

    return SurveyStream(tuple(spec.feature_names), spec.records, groups, spec.voters, open=make)


def stream_voters(parties: Mapping[str, Any]) -> PartyStream:
    """Return the voters of a table that asks to be streamed, as the parties of a session; as `open_stream`."""
    stream = open_stream(parties)
    said: dict[str, Any] = {"max_records": stream.max_records, "features": list(stream.features)}
    if stream.groups is not None:
        said["epsilons"] = list(stream.groups.levels)

    def check(protocol: PhasedProtocol[Any, Any]) -> None:
        if protocol.parameters.max_records < stream.max_records:
            allowed = f"at least {stream.max_records}, the most records of a streamed voter"
            raise ConfigurationError(field="max_records", value=protocol.parameters.max_records, allowed=allowed)

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
        parameters=said,
        fixed=frozenset({"features"}),
        check=check,
        num_parties=stream.num_voters,
        most_parties=MAX_VOTERS,
        pays_alike=stream.groups is None,
        open=batches,
    )
