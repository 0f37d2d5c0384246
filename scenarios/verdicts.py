"""Verdicts on claims, proofs and candidates: a value, its words, and the tone in which it is shown."""

import copy
import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final, Self

import msgspec

from ..protocol.estimators import Verdict as Decision
from .system import load_each
from .tables import Cell, Tone

_ROUNDING: Final = 1e-12  # of what is computed in floats, which is not more for that
UNDECIDED: Final = "undecided"
"""Of whatever cannot be told at a level."""


class VerdictKind(enum.StrEnum):
    """A verdict: each member has its words, which are its value, and its tone.

    Examples:
        >>> Judgement.HOLDS.value, Judgement.HOLDS.tone
        ('holds', 'good')
    """

    tone: Tone

    def __new__(cls, words: str, tone: Tone = "") -> Self:
        """Make a member of its words and its tone."""
        member = str.__new__(cls, words)
        member._value_ = words
        member.tone = tone
        return member

    @property
    def cell(self) -> Cell:
        """The verdict in a table."""
        return Cell(self.value, tone=self.tone)


class AuditVerdict(VerdictKind):
    """What an audit says of a loss.

    Examples:
        >>> AuditVerdict.CLAIM_REFUTED.cell.words
        'claim refuted'
    """

    CONSISTENT = "consistent"
    """Nothing was found that is more than claimed or proven; which is no proof."""
    CLAIM_REFUTED = "claim refuted", "warning"
    """The loss is more than the paper claims, and no more than is proven."""
    PROOF_REFUTED = "proof refuted", "poor"
    """The loss is more than is proven, or the sampler does not have the law of which it is proven."""
    NO_STATEMENT = "no statement", "quiet"
    """The outputs were too few to tell the neighbors apart at all."""


class Judgement(VerdictKind):
    """What becomes of a claim.

    Examples:
        >>> Judgement("cannot tell") is Judgement.OPEN
        True
    """

    HOLDS = "holds", "good"
    """It is as claimed."""
    IN_PART = "holds in part", "warning"
    """It is not, and there are cases in which it is."""
    REFUTED = "does not hold", "poor"
    """It is not."""
    OPEN = "cannot tell", "open"
    """What is known decides nothing: too few trials, bounds that are too wide, or a paper that names no number."""
    NO_DATA = "no data", "quiet"
    """The data set by which it is judged is not there."""


_DECISIONS: Final[Mapping[str, Tone]] = {
    "passes": "good",
    "fails": "poor",
    "undecided, leaning yes": "warning",
    "undecided, leaning no": "warning",
    UNDECIDED: "warning",
    Decision.TOO_CLOSE.value: "warning",  # as an earlier Psephos wrote it
}


@dataclasses.dataclass(frozen=True)
class FileForm:
    """How a system's outcomes stand in files, where messages have something that a reader would take for a verdict.

    Args:
        kind: the outcomes' type.
        write: changes an outcome's plain data from the form of messages to that of files.
        read: changes it back; what an earlier Psephos wrote is left as it is.
    """

    kind: type[msgspec.Struct]
    write: Callable[[dict[str, Any]], None]
    read: Callable[[dict[str, Any]], None]


def outcome_to_dict(outcome: msgspec.Struct) -> dict[str, Any]:
    """Return a session's outcome as `result.json` and `outcome.json` have it, with one verdict."""
    outcome_fields: dict[str, Any] = msgspec.to_builtins(outcome)
    for form in _forms_of(type(outcome)):
        form.write(outcome_fields)
    return outcome_fields


def from_written(kind: type[msgspec.Struct], outcome_fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return such an outcome, of a type, as messages have it."""
    fields = copy.deepcopy(dict(outcome_fields))
    for form in _forms_of(kind):
        form.read(fields)
    return fields


def _forms_of(kind: type[msgspec.Struct]) -> list[FileForm]:
    forms: list[FileForm] = [form for _, form in load_each("file_form", FileForm, is_imported=True)]
    return [form for form in forms if issubclass(kind, form.kind)]


def cell_of_decision(decision: object) -> Cell:
    """Return what a file has of a decision, for people; anything else has no tone.

    Examples:
        >>> cell_of_decision("passes").tone
        'good'
    """
    words = "–" if decision is None else str(decision)
    return Cell(words, tone=_DECISIONS.get(words, ""))


def round_up(bound: float, digits: int = 3, *, decimals: int | None = None) -> float:
    """Return the least number with so many digits, or decimals, that is not less: an upper bound stays one as written.

    What people read of a number that something is at most, such as a proven ε, goes through it; of a lower bound
    through `round_down`.

    Examples:
        >>> round_up(1.23401), round_up(0.7311, decimals=2)
        (1.24, 0.74)
    """
    if not bound or not math.isfinite(bound):
        return bound
    places = digits - 1 - math.floor(math.log10(abs(bound))) if decimals is None else decimals
    return float(
        Decimal(repr(bound - abs(bound) * _ROUNDING)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)
    )


def at_most(bound: float, digits: int = 6) -> str:
    """Return an upper bound with so many digits at most, as people read it: see `round_up`.

    Examples:
        >>> at_most(2 / 3, 4)
        '0.6667'
    """
    return f"{round_up(bound, digits):g}"


def round_down(bound: float, digits: int = 3, *, decimals: int | None = None) -> float:
    """Return the greatest number with so many digits, or decimals, that is not more.

    Examples:
        >>> round_down(1.23499)
        1.23
    """
    return -round_up(-bound, digits, decimals=decimals)
