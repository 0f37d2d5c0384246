"""Roll calls: how each state voted is public record, and so is the truth.

Every state has one vote, so weights are public and all 1. What becomes of an abstention is for the scenario to say.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from ....protocol.errors import ConfigurationError, refuse, require
from ...datasets import DataSet
from ...reading.sources import PartiesTable
from ...reading.text_forms import read_rows
from .synthetic import read_ballot

_VOTES: Final = ("yes", "no", "abstain")


class RollCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One recorded vote of the General Assembly."""

    roll_call: int  # its number (`rcid`)
    # What becomes of a state that abstains: it is absent, as rule 86 of the Assembly's rules of procedure has it, which
    # takes such members as not voting; or it votes no, or yes.
    abstentions: Literal["absent", "no", "yes"] = "absent"


def _load_assembly(options: RollCall, folder: Path, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return the states that voted; who was not there has no row. More than half of them pass a resolution."""
    number = str(options.roll_call)
    path = folder / "un_votes.csv.gz"
    opinions = {"yes": 1, "no": 0}
    if options.abstentions != "absent":
        opinions["abstain"] = opinions[options.abstentions]
    suggested = {
        "public_weights": True,
        "weights": [1.0],
        "passes": "more_than",
        "candidates": [_name_of(number, folder / "un_roll_calls.csv")],
    }
    candidates = read_ballot({**suggested, **parameters}).candidates
    refuse(len(candidates) != 1, "candidates", list(candidates)[:10], "one, as a roll call has")
    names: list[str] = []
    lines: list[int] = []
    votes: list[int] = []
    # By name, since three states of the past have no code, and Namibia's reads like a missing value.
    for line, (resolution_id, country, vote) in read_rows(path, "rcid", "country", "vote"):
        if resolution_id != number:
            continue
        if vote not in _VOTES:
            place_text = f"vote ({path.name} line {line})"
            raise ConfigurationError(field=place_text, value=vote, allowed=f"one of {', '.join(_VOTES)}")
        if vote in opinions:
            names.append(country.strip())
            lines.append(line)
            votes.append(opinions[vote])
    allowed = f"the number of a roll call in which at least one state of {path.name} votes yes or no"
    require(names, "roll_call", options.roll_call, allowed)
    return PartiesTable(
        names=names,
        table={"weight": np.ones(len(names)), candidates[0]: votes},
        lines=lines,
        source=path.name,
        parameters=suggested,
        is_public_record=True,
    )


def _name_of(number: str, path: Path) -> str:
    """Return what a roll call was on: its resolution, or its number where none came of it."""
    known_numbers: list[int] = []
    for line, entries in read_rows(path, "rcid", "unres"):
        session, resolution = map(str.strip, entries)
        if session == number:
            return resolution or f"roll call {number}"
        require(re.fullmatch(r"\d{1,9}", session, re.ASCII), f"rcid ({path.name} line {line})", session, "a number")
        known_numbers.append(int(session))
    range_note = f", between {min(known_numbers)} and {max(known_numbers)}" if known_numbers else ""
    allowed = f"the number (rcid) of one of the {len(known_numbers):,} roll calls in {path.name}{range_note}"
    raise ConfigurationError(field="roll_call", value=int(number), allowed=allowed)


UN_GENERAL_ASSEMBLY: Final = DataSet(RollCall, _load_assembly, "github.com/dgrtwo/unvotes, as CSV", 3_009_083)
"""Every recorded vote of the General Assembly of the United Nations, 1946 to 2020."""
