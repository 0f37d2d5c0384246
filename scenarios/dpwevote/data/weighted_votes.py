"""Weighted votes of states: how many votes each has is public, how they vote is made up.

Neither file holds an opinion, so opinions are drawn as a generator draws them.
"""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ....protocol.errors import ConfigurationError, list_choices, refuse, require
from ...datasets import DataSet
from ...reading.sources import PartiesTable
from ...reading.text_forms import read_rows
from .synthetic import SyntheticOpinions, make_opinions, read_ballot


@dataclasses.dataclass(frozen=True)
class Treaty:
    """A time in which the Council's weights were the same."""

    column: str  # of the file, with the votes of each member
    num_members: int  # how many states are members
    total: int  # of their votes
    quota: int  # how many votes pass a proposal
    others: frozenset[str] = frozenset()  # who stands in the column, but was no member then


_SINCE_2013: Final = frozenset({"Croatia"})
_SINCE_2007: Final = frozenset({"Bulgaria", "Romania"})
TREATIES: Final[Mapping[str, Treaty]] = {
    "EU-10": Treaty("v10", 10, 63, 45),
    "EU-12": Treaty("v12", 12, 76, 54),
    "EU-15": Treaty("v15", 15, 87, 62),
    "EU-25-transitional": Treaty("v25t", 25, 124, 88),
    "EU-25": Treaty("v25", 25, 321, 232, _SINCE_2007 | _SINCE_2013),
    "EU-27": Treaty("v25", 27, 345, 255, _SINCE_2013),
    "EU-28": Treaty("v25", 28, 352, 260),
}
"""By the name that a scenario gives it."""

_ROUNDING_OF_SHARES: Final = 0.005  # each share was rounded to two decimals before it was published


class CouncilVotes(SyntheticOpinions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Members of the Council of the European Union, beside `SyntheticOpinions`."""

    treaty: str  # by whose weights, of `TREATIES`

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse(self.treaty not in TREATIES, "treaty", self.treaty, list_choices(TREATIES, self.treaty))


def _load_council(options: CouncilVotes, folder: Path, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return the members under a treaty, whose quota holds where the scenario has none."""
    path = folder / "eucouncil_weights.csv"
    treaty = TREATIES[options.treaty]
    members: list[_Member] = []
    for line, entries in read_rows(path, "country", treaty.column):
        name, votes = map(str.strip, entries)
        if not votes or name in treaty.others:
            continue
        place_text, allowed = f"{treaty.column} ({path.name} line {line})", "a number of votes, or empty for no member"
        require(re.fullmatch(r"[1-9]\d{0,8}", votes, re.ASCII), place_text, votes, allowed)
        members.append(_Member(name, float(votes), line))
    total_found = f"{len(members)} members with {sum(member.weight for member in members):g} votes"
    expected = f"{treaty.num_members} members with {treaty.total} votes"
    refuse(
        total_found != expected,
        f"{path.name}, column {treaty.column}",
        total_found,
        f"{expected} under {options.treaty}",
    )
    has_quota = any(parameters.get(name) is not None for name in ("quota", "quota_fraction"))
    return _vote(
        members,
        options,
        source=path.name,
        parameters=parameters,
        scenario_parameters={} if has_quota else {"quota": treaty.quota},
    )


def _load_fund(options: SyntheticOpinions, folder: Path, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return the members of the Fund; a weight is a share of all votes in percent."""
    path = folder / "votes.csv"
    members: list[_Member] = []
    for line, entries in read_rows(path, "country", "vote_percentage"):
        name, share = map(str.strip, entries)
        try:
            weight = float(share)
        except ValueError:
            weight = math.nan
        place_text = f"vote_percentage ({path.name} line {line})"
        require(0 < weight <= 100, place_text, share, "a share in percent, in (0, 100]")  # noqa: PLR2004  percent
        members.append(_Member(re.sub(r"\d$", "", _repair_mojibake(name)), weight, line))
    total = math.fsum(member.weight for member in members)
    if abs(total - 100) > _ROUNDING_OF_SHARES * len(members) + 1e-9:
        place_text = f"{path.name}, column vote_percentage"
        total_found = f"{len(members)} shares with the sum {total:.2f}"
        raise ConfigurationError(field=place_text, value=total_found, allowed="shares of all members, whose sum is 100")
    return _vote(members, options, source=path.name, parameters=parameters, scenario_parameters={})


EU_COUNCIL_WEIGHTS: Final = DataSet(CouncilVotes, _load_council, "github.com/sumtxt/coresize", 2_523)
"""Votes of each state in the Council of the European Union under successive treaties."""
IMF_VOTES: Final = DataSet(SyntheticOpinions, _load_fund, "github.com/yukiw997/PLSC31101-finalproject-YukiWang", 3_198)
"""Share of all votes of each member of the International Monetary Fund (2016)."""


@dataclasses.dataclass(frozen=True)
class _Member:
    name: str
    weight: float
    line: int


def _vote(
    members: Sequence[_Member],
    options: SyntheticOpinions,
    *,
    source: str,
    parameters: Mapping[str, Any],
    scenario_parameters: Mapping[str, Any],
) -> PartiesTable:
    """Return members with public weights and made-up opinions."""
    weights = [member.weight for member in members]
    suggested = {"public_weights": True, "weights": sorted(set(weights)), **scenario_parameters}
    candidates = read_ballot({**suggested, **parameters}).candidates
    return PartiesTable(
        names=[member.name for member in members],
        table={"weight": weights, **make_opinions(options, num_partners=len(members), candidates=candidates)},
        lines=[member.line for member in members],
        source=source,
        parameters=suggested,
        is_generated=True,
    )


def _repair_mojibake(name: str) -> str:
    """Return a name whose UTF-8 was once taken for Latin-1 as it was before; any other as it is."""
    try:
        return name.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return name
