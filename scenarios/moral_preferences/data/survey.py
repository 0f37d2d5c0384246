"""Surveys: many voters' pairwise choices, from a file or made up, and what became of the rows that were read.

Every row that a reader accepts is a part of a record in the survey, or is counted in its `Reading`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

from ....protocol.arrays import FloatArray
from ....protocol.moral_preferences.records import Records

_WORDS: Final = {
    "num_incomplete": "without a second row",
    "num_repeated": "given again",
    "num_surplus": "beyond the most for each voter",
    "num_records_dropped": "of voters with too few",
    "num_small": "of small societies",
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """What became of a file's rows.

    Each response is a record of the survey or is counted as dropped, for one reason.

    Examples:
        >>> first = Reading(num_rows=4, num_responses=2, num_voters=1, num_records=2)
        >>> (first + first).description
        '4 records of 2 voters, from 8 rows'
    """

    num_rows: int  # read, without the header
    num_responses: int  # dilemmas that they answer, complete or not
    num_voters: int  # in the survey
    num_records: int  # in the survey
    num_incomplete: int = 0  # responses dropped since their second row is missing
    num_repeated: int = 0  # responses dropped since the voter answered the same dilemma before
    num_surplus: int = 0  # complete responses dropped since the voter has as many as were asked for
    num_voters_dropped: int = 0  # voters who have fewer complete responses than were asked for
    num_records_dropped: int = 0  # their complete responses
    num_rows_without_voter: int = 0  # rows dropped since they name no voter; they are no responses
    num_voters_small: int = 0  # voters of societies with fewer voters than were asked for
    num_small: int = 0  # their complete responses

    def __add__(self, other: "Reading") -> "Reading":
        """Return what became of the rows of both, which have no voter in common."""
        names = (field.name for field in dataclasses.fields(self))
        return Reading(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def description(self) -> str:
        """One line for people."""
        kept_text = f"{self.num_records:,} records of {self.num_voters:,} voters"
        dropped_texts = [f"{number:,} {word}" for name, word in _WORDS.items() if (number := getattr(self, name))]
        line = f"{kept_text}, from {self.num_rows:,} rows"
        if dropped_texts:
            line += f"; responses dropped: {', '.join(dropped_texts)}"
        if dropped_voters := self.num_voters_dropped + self.num_voters_small:
            line += f"; voters dropped: {dropped_voters:,}"
        if self.num_rows_without_voter:
            line += f"; rows without a voter: {self.num_rows_without_voter:,}"
        return line


@dataclasses.dataclass(frozen=True, eq=False)
class Survey:
    """Many voters' records of pairwise choices; ValueError where the parts do not fit together."""

    voters: Sequence[str]  # their names
    features: tuple[str, ...]  # what each number of an alternative is
    records: Records  # theirs, in the same order
    source: str  # where they come from, for people
    reading: Reading  # what became of the rows
    lines: Sequence[int] = ()  # the first line of each voter in the source; empty where there is no such thing
    is_generated: bool = False  # the voters are made up
    # Float64, shape (voters, d): the preferences by which a generator made the choices; None for real data.
    truth: FloatArray | None = None
    societies: Sequence[str] = ()  # whose society each voter belongs to; empty where all are one

    def __post_init__(self) -> None:
        if len(self.voters) != len(self.records) or (len(self.lines) and len(self.lines) != len(self.voters)):
            numbers = f"{len(self.voters)}, {len(self.records)} and {len(self.lines)} voters"
            raise ValueError(
                f"names, records and lines are of {numbers}: give each voter a name, and all or none a line"
            )
        if len(self.features) != self.records.num_features:
            raise ValueError(f"the number of features' names is {len(self.features)}: give {self.records.num_features}")
        if len(self.societies) and len(self.societies) != len(self.voters):
            numbers = f"{len(self.voters)} voters and {len(self.societies)} societies"
            raise ValueError(f"there are {numbers}: give each voter a society, or none")
        shape = (len(self.voters), len(self.features))
        if self.truth is not None and self.truth.shape != shape:
            raise ValueError(f"the true preferences have shape {self.truth.shape}: give shape {shape}")
