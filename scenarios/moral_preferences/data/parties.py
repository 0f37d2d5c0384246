"""Surveys as the voters of a moral preferences session."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ....protocol.errors import list_choices, refuse, require
from ....protocol.phases import Entries
from ...reading.conversion import convert
from ...reading.frames import path_of
from ...reading.headers import USUAL, TableOptions
from ...reading.sources import PartiesTable
from ...reading.text_forms import header_of, note_of
from .cultures import CultureVoters, make_cultures
from .fairness import FairnessJudgements, make_fairness
from .files import VOTER, Voters, read_survey
from .generators import Generator
from .machine_like import MoralMachineLike, make_machine_like
from .moral_machine import read_moral_machine
from .privacy_groups import PrivacyGroups, draw_epsilons, read_epsilons
from .responses import RESPONSE
from .responses import VOTER as USER
from .societies import open_societies, with_societies
from .survey import Survey
from .synthetic import SyntheticPreferences, make_preferences

_FIELD: Final = "voters"


class OwnSocieties(msgspec.Struct, frozen=True, kw_only=True):
    """Whose society each voter belongs to; without a column, all are one."""

    society: str = ""  # the column of the voters' file that says it
    min_society: int = 1  # voters of societies with fewer are dropped and counted

    def divide(self, survey: Survey, path: Path, *, voter: str, options: TableOptions = USUAL) -> Survey:
        """Return a survey of a file, with a column that names voters, whose voters have their societies."""
        if self.society:
            min_voters = self.min_society
            return with_societies(
                survey, path, voter=voter, society=self.society, min_voters=min_voters, options=options
            )
        allowed = f"left out, unless {_FIELD}.society names a column"
        refuse(self.min_society != 1, f"{_FIELD}.min_society", self.min_society, allowed)
        return survey


class ChoicesFile(TableOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A survey in a CSV file with two lines for each record."""

    choices: str  # the file: voter, record, choice (1 or 0), features
    manifest: str = ""  # keeps what a pass over files of any size finds (`reading.manifests`)
    society: str = ""  # as `OwnSocieties` has it
    min_society: int = 1
    alike_voters: Voters = "refuse"  # whether names that differ in case or blanks alone are one voter's

    def __post_init__(self) -> None:
        allowed = "left out beside voters.society, which names each voter's as it stands there"
        refuse(self.society and self.alike_voters == "one", f"{_FIELD}.alike_voters", self.alike_voters, allowed)


class ResponsesFile(OwnSocieties, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A survey in the Moral Machine's own format."""

    responses: str  # the file
    min_records: int = 1  # voters with fewer complete responses are dropped and counted
    max_records: int | None = None  # of each voter's the first ones count; by default all


class OwnEpsilons(msgspec.Struct, frozen=True, kw_only=True):
    """Where voters' own ε are from; without either, everybody has the session's."""

    groups: PrivacyGroups | None = None  # drawn by groups of more and less concern
    epsilons: str = ""  # a CSV file of voter, epsilon

    def __post_init__(self) -> None:
        field = f"{_FIELD}.groups and {_FIELD}.epsilons"
        refuse(self.groups is not None and self.epsilons, field, "given", "given one of them alone")


GENERATORS: Final[Mapping[str, Generator]] = {
    "normal": Generator(SyntheticPreferences, make_preferences),
    "moral_machine": Generator(MoralMachineLike, make_machine_like),
    "fairness": Generator(FairnessJudgements, make_fairness),
    "cultures": Generator(CultureVoters, make_cultures),
}
"""What makes up voters, by the name that a scenario gives (`generator`)."""


def load_voters(parties: str | Mapping[str, Any]) -> PartiesTable:
    """Return the voters of a file, or made-up ones.

    They are the path of a file of choices or of Moral Machine responses; or a table of `ChoicesFile`, of
    `ResponsesFile`, or of a generator's options beside its name; each with those of `OwnEpsilons`.
    """
    options: dict[str, Any] = {}
    if isinstance(parties, str):  # which kind of file it is, its header says; whoever reads it says what is wrong
        options["responses" if RESPONSE in header_of(path_of(parties)) else "choices"] = parties
    else:
        options |= parties
    is_streamed = convert(options.pop("stream", False), bool, f"{_FIELD}.stream")
    allowed = "left out, or false: only `psephos run` streams voters"
    refuse(is_streamed, f"{_FIELD}.stream", is_streamed, allowed)
    epsilon_options = {name: options.pop(name) for name in OwnEpsilons.__struct_fields__ if name in options}
    own_epsilons: OwnEpsilons = convert(epsilon_options, OwnEpsilons, _FIELD)
    sources = sorted({"choices", "responses", "generator"} & options.keys())
    field = " and ".join(f"{_FIELD}.{name}" for name in sources)
    refuse(len(sources) > 1, field, "given", "given one of them alone")
    if "choices" in options:
        file: ChoicesFile = convert(options, ChoicesFile, _FIELD)
        path = path_of(file.choices)
        if file.society:
            open_societies(path, voter=VOTER, society=file.society, options=file)
        survey = read_survey(
            path,
            field=f"{_FIELD}.choices",
            society=file.society,
            alike_voters=file.alike_voters,
            options=file,
        )
        societies = OwnSocieties(society=file.society, min_society=file.min_society)
        voters = survey_to_parties(societies.divide(survey, path, voter=VOTER, options=file), own_epsilons)
        return dataclasses.replace(voters, note=f"{voters.note} {note_of(path, file)}".strip())
    if "responses" in options:
        of_machine: ResponsesFile = convert(options, ResponsesFile, _FIELD)
        path = path_of(of_machine.responses)
        min_records, max_records = of_machine.min_records, of_machine.max_records
        survey = read_moral_machine(path, min_records=min_records, max_records=max_records, field=f"{_FIELD}.responses")
        return survey_to_parties(of_machine.divide(survey, path, voter=USER), own_epsilons)
    name: str = convert(options.pop("generator", "normal"), str, f"{_FIELD}.generator")
    require(name in GENERATORS, f"{_FIELD}.generator", name, list_choices(GENERATORS, name))
    generator = GENERATORS[name]
    return survey_to_parties(generator.make(convert(options, generator.options, _FIELD)), own_epsilons)


def survey_to_parties(
    survey: Survey, own_epsilons: OwnEpsilons | None = None, *, is_public_record: bool = False
) -> PartiesTable:
    """Return a survey as the parties of a session: each voter with its records, and with its ε where it has its own."""
    table: dict[str, Entries] = {"records": survey.records}
    parameters: dict[str, Any] = {
        "features": list(survey.features),
        "max_records": int(survey.records.num_records.max(initial=1)),
    }
    if own_epsilons is not None and own_epsilons.groups is not None:
        table["epsilon"] = draw_epsilons(own_epsilons.groups, num_voters=len(survey.voters))
        parameters["epsilons"] = list(own_epsilons.groups.levels)
    elif own_epsilons is not None and own_epsilons.epsilons:
        table["epsilon"] = read_epsilons(
            path_of(own_epsilons.epsilons), voters=survey.voters, field=f"{_FIELD}.epsilons"
        )
    if survey.societies:
        table["society"] = survey.societies
        parameters["societies"] = sorted(set(survey.societies))
    gold: dict[str, str] = {}
    if survey.truth is not None:
        columns: list[list[float]] = survey.truth.T.tolist()
        gold = {
            feature: repr(math.fsum(column) / len(column))
            for feature, column in zip(survey.features, columns, strict=True)
        }
    return PartiesTable(
        names=survey.voters,
        table=table,
        lines=survey.lines,
        source=survey.source,
        parameters=parameters,
        is_generated=survey.is_generated,
        is_public_record=is_public_record,
        fixed=frozenset({"features", "societies"} & parameters.keys()),
        gold=gold,
        note="" if survey.is_generated else survey.reading.description,
    )
