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

_ROUNDING: Final = 1e-12  # rounding of floats, which does not count as a greater value
UNDECIDED: Final = "undecided"
"""The word for what cannot be decided at a confidence level."""


class VerdictKind(enum.StrEnum):
    """A verdict: each member has words, which are its value, and a tone.

    Examples:
        >>> Judgement.HOLDS.value, Judgement.HOLDS.tone
        ('holds', 'good')
    """

    tone: Tone

    def __new__(cls, words: str, tone: Tone = "") -> Self:
        """Make a member from words and a tone."""
        member = str.__new__(cls, words)
        member._value_ = words
        member.tone = tone
        return member

    @property
    def cell(self) -> Cell:
        """The verdict as a table's cell."""
        return Cell(self.value, tone=self.tone)


class AuditVerdict(VerdictKind):
    """The conclusion of an audit.

    Examples:
        >>> AuditVerdict.CLAIM_REFUTED.cell.words
        'claim refuted'
    """

    CONSISTENT = "consistent"
    """No bound exceeds the claimed or the proven loss; this is not a proof."""
    CLAIM_REFUTED = "claim refuted", "warning"
    """The loss is greater than claimed, but not greater than proven."""
    PROOF_REFUTED = "proof refuted", "poor"
    """The loss is greater than proven, or the sampler does not follow the law that the proof assumes."""
    NO_STATEMENT = "no statement", "quiet"
    """There were too few outputs to distinguish the neighbors."""


class Judgement(VerdictKind):
    """The judgement of a claim.

    Examples:
        >>> Judgement("cannot tell") is Judgement.OPEN
        True
    """

    HOLDS = "holds", "good"
    """The claim is true."""
    IN_PART = "holds in part", "warning"
    """The claim is false, but true in some cases."""
    REFUTED = "does not hold", "poor"
    """The claim is false."""
    OPEN = "cannot tell", "open"
    """Undecided: too few trials, too wide bounds, or no number in the paper."""
    NO_DATA = "no data", "quiet"
    """The data set for the claim is missing."""


_DECISIONS: Final[Mapping[str, Tone]] = {
    "passes": "good",
    "fails": "poor",
    "undecided, leaning yes": "warning",
    "undecided, leaning no": "warning",
    UNDECIDED: "warning",
    Decision.TOO_CLOSE.value: "warning",  # written by earlier versions
}


@dataclasses.dataclass(frozen=True)
class FileForm:
    """The form of a system's outcomes in files, if messages contain values that could be mistaken for a verdict.

    Args:
        kind: the type of the outcomes.
        write: converts an outcome's plain data from the form of messages to that of files, in place.
        read: converts it back; data of earlier versions stay unchanged.
    """

    kind: type[msgspec.Struct]
    write: Callable[[dict[str, Any]], None]
    read: Callable[[dict[str, Any]], None]


def outcome_to_dict(outcome: msgspec.Struct) -> dict[str, Any]:
    """Return a session's outcome in the form of `result.json` and `outcome.json`, with one verdict."""
    outcome_fields: dict[str, Any] = msgspec.to_builtins(outcome)
    for form in _forms_of(type(outcome)):
        form.write(outcome_fields)
    return outcome_fields


def from_written(kind: type[msgspec.Struct], outcome_fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return such an outcome as a type, in the form of messages."""
    fields = copy.deepcopy(dict(outcome_fields))
    for form in _forms_of(kind):
        form.read(fields)
    return fields


def _forms_of(kind: type[msgspec.Struct]) -> list[FileForm]:
    forms: list[FileForm] = [form for _, form in load_each("file_form", FileForm, is_imported=True)]
    return [form for form in forms if issubclass(kind, form.kind)]


def cell_of_decision(decision: object) -> Cell:
    """Return a decision from a file as a cell with a tone; other values have no tone.

    Examples:
        >>> cell_of_decision("passes").tone
        'good'
    """
    words = "–" if decision is None else str(decision)
    return Cell(words, tone=_DECISIONS.get(words, ""))


def round_up(bound: float, digits: int = 3, *, decimals: int | None = None) -> float:
    """Round an upper bound up to a number of digits or decimals, so that it stays an upper bound.

    Use it for every displayed upper bound, such as a proven ε, and `round_down` for lower bounds.

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
    """Format an upper bound with at most a number of digits. See `round_up`.

    Examples:
        >>> at_most(2 / 3, 4)
        '0.6667'
    """
    return f"{round_up(bound, digits):g}"


def round_down(bound: float, digits: int = 3, *, decimals: int | None = None) -> float:
    """Round a lower bound down to a number of digits or decimals.

    Examples:
        >>> round_down(1.23499)
        1.23
    """
    return -round_up(-bound, digits, decimals=decimals)
