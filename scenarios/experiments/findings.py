"""Findings on a paper's claims: every verdict is computed from numbers, and none is typed in.

A `Finding` is drawn from the rows of a reproduction, in sentences. A `BoundedFinding` is a claim that bounds or names
one number, held against that number as it is computed here and now; `psephos audit papers` shows those, and a
reproduction tells them in sentences.
"""

import enum
import functools
import math
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ..system import load_each
from ..verdicts import Judgement

READINGS: Final = "docs/readings.md"
"""The page of the manual that explains every reading by its identifier."""

ON_PAPER: Final = "What the paper says"
ON_STAND_IN: Final = "On a stand-in"
"""The heading of claims that were judged on data of our own making, which count neither way."""

ON_OWN_DATA: Final = "On your data"
"""The heading of claims that were judged on somebody's own data, which count neither way either."""

_ROUNDING: Final = 1e-6  # laws are written in floats


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, held against the rows of a reproduction.

    Args:
        claim: one sentence.
        source: who says so: a section of the paper, or a reading.
        judgement: the verdict; where trials decide it, by intervals (`judging`).
        numbers: a sentence or two that give the numbers behind it.
        on_stand_in: whether it was judged on data of our own making, in place of the paper's: it counts neither way.

    Examples:
        >>> held = Finding(claim="It is exact.", source="Section 3", judgement=Judgement.HOLDS, numbers="1 of 1.")
        >>> held.judgement.tone
        'good'
    """

    claim: str
    source: str
    judgement: Judgement
    numbers: str
    on_stand_in: bool = False


def group_findings(
    on_paper: Iterable[Finding], own_findings: Iterable[Finding], *, is_own_data: bool = False
) -> dict[str, tuple[Finding, ...]]:
    """Return what was found of a paper's claims, and beside them, by headings.

    Those on a stand-in have their own, and so have all of a paper's claims where they were judged on own data.

    Examples:
        >>> held = Finding(claim="It is exact.", source="Section 3", judgement=Judgement.HOLDS, numbers="1 of 1.")
        >>> list(group_findings([held], []))
        ['What the paper says']
    """
    paper_findings = tuple(on_paper)
    findings_by_heading = (
        {ON_OWN_DATA: paper_findings}
        if is_own_data
        else {
            ON_PAPER: tuple(finding for finding in paper_findings if not finding.on_stand_in),
            ON_STAND_IN: tuple(finding for finding in paper_findings if finding.on_stand_in),
        }
    )
    findings_by_heading["What we add"] = tuple(own_findings)
    return {heading: findings for heading, findings in findings_by_heading.items() if findings}


class Certainty(enum.Enum):
    """What a number that was found is."""

    EXACT = "exact"
    """The number itself, by an exact law or formula."""
    PROVEN = "proven"
    """An upper bound that is proven; the number may be less."""
    FOUND = "at least"
    """A lower bound: what one pair of neighbors, or one case, has exactly."""
    NORMAL = "normal law"
    """By the central limit theorem with the term of the skewness."""
    SAMPLED = "99.9 %"
    """The end of a confidence interval that is nearer to the claim."""


_CERTAINTIES: Final = {
    Certainty.EXACT: "exact",
    Certainty.PROVEN: "a proven bound",
    Certainty.FOUND: "one case reaches it",
    Certainty.NORMAL: "by the normal law",
    Certainty.SAMPLED: "sampled, 99.9 % confidence",
}


class BoundedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A claim and what was found.

    Args:
        key: the reading's, as the documentation has it, with a letter where it has several.
        paper: a short citation.
        claim: what the paper says, in our words: a sentence without its full stop.
        place: where the paper says it.
        words: some of its own words, by which the place is found; a sentence of the paper has one verdict
            (`sentences`), however many entries judge it.
        quantity: what both numbers measure, and in which case.
        claimed: the paper's number; None where it has none.
        bound: how the paper bounds it.
        found: ours.
        certainty: what ours is.
        command: a command line that shows it; by default the one that shows what nothing else does.
        only: where a contradicted claim holds nevertheless, as a phrase that goes on from "the claim holds only".
        note: what is true, in a sentence or two.
        compared: what the claimed number is, where the paper claims no number but that two are equal or ordered.
        tolerance: what is no difference, in units or as a part of the claimed number, whichever is more: larger where
            that one was sampled, or has few digits.
        undecided: why the two numbers do not decide whether the paper's own words hold, as a sentence: that they are
            not of one thing, for one. The verdict is then that nobody can tell.
    """

    key: str
    paper: str
    claim: str
    place: str = ""
    words: str = ""
    quantity: str
    claimed: float | None
    bound: Literal["<", "≤", "=", "≥", ">"] = "≤"
    found: float
    certainty: Certainty = Certainty.EXACT
    command: str = "psephos audit papers"
    only: str = ""
    note: str = ""
    compared: str = ""
    tolerance: float = _ROUNDING
    undecided: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.found) or (self.claimed is not None and math.isnan(self.claimed)):
            raise ValueError(f"finding {self.key} has no number")

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true number is known to be."""
        match self.certainty:
            case Certainty.EXACT | Certainty.NORMAL:
                return self.found, self.found
            case Certainty.PROVEN:
                return -math.inf, self.found
            case Certainty.FOUND:
                return self.found, math.inf
            case Certainty.SAMPLED:
                return (-math.inf, self.found) if self._bounds_below else (self.found, math.inf)

    @property
    def judgement(self) -> Judgement:
        """The verdict, of the two numbers."""
        if self.claimed is None or self.undecided:
            return Judgement.OPEN
        low, high = self.interval
        slack = 0.0 if math.isinf(self.claimed) else self.tolerance * max(abs(self.claimed), 1.0)
        match self.bound:
            case "<":
                refuted, confirmed = low >= self.claimed - slack, high < self.claimed - slack
            case "≤":
                refuted, confirmed = low > self.claimed + slack, high <= self.claimed + slack
            case "=":
                refuted = low > self.claimed + slack or high < self.claimed - slack
                confirmed = low >= self.claimed - slack and high <= self.claimed + slack
            case "≥":
                refuted, confirmed = high < self.claimed - slack, low >= self.claimed - slack
            case ">":
                refuted, confirmed = high <= self.claimed + slack, low > self.claimed + slack
        if refuted:
            return Judgement.IN_PART if self.only else Judgement.REFUTED
        return Judgement.HOLDS if confirmed else Judgement.OPEN

    @property
    def truth(self) -> str:
        """What is true, in sentences; may be empty."""
        limitation = f"The claim holds only {self.only}." if self.judgement is Judgement.IN_PART else ""
        return " ".join(filter(None, (self.note, limitation, self.undecided)))

    @property
    def numbers(self) -> str:
        """The quantity with the paper's number and ours, in a sentence."""
        claimed = "the paper gives no number"
        if self.claimed is not None:
            claimed = f"claimed {self.claimed_text}" + (f" ({self.compared})" if self.compared else "")
        return f"{self.quantity}: {claimed}, found {self.found_text} ({_CERTAINTIES[self.certainty]})."

    @property
    def to_finding(self) -> Finding:
        """The finding as a reproduction tells it."""
        numbers = f"{self.truth} {self.numbers[0].upper()}{self.numbers[1:]}".strip()
        source = f"reading {self.key.rstrip(string.ascii_lowercase)}"
        return Finding(claim=f"{self.claim} ({self.place}).", source=source, judgement=self.judgement, numbers=numbers)

    @property
    def reading(self) -> str:
        """Where the manual explains the reading: a page and the place in it."""
        return f"{READINGS}#{self.key.rstrip(string.ascii_lowercase).lower()}"

    @property
    def _bounds_below(self) -> bool:
        return self.bound in {"≥", ">"}

    @property
    def claimed_text(self) -> str:
        """The paper's number with its bound."""
        if self.claimed is None:
            return "-"
        return f"{'' if self.bound == '=' else f'{self.bound} '}{_number(self.claimed)}"

    @property
    def found_text(self) -> str:
        """The number that was found, as a bound where it is one."""
        sign = {Certainty.PROVEN: "≤ ", Certainty.FOUND: "≥ ", Certainty.NORMAL: "≈ "}.get(self.certainty, "")
        if self.certainty is Certainty.SAMPLED:
            sign = "≤ " if self._bounds_below else "≥ "
        return f"{sign}{_number(self.found)}"


@functools.cache
def _claims_of(module: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what a module's package says of claims that laws judge, by the keys of what judges them.

    Each is a sentence of the paper in `claims.csv`: where it stands, some of its own words, and the claim; the rest is
    in `page.toml`.
    """
    from .paper_files import rows_beside, text_beside  # noqa: PLC0415  a run has no claims

    field_names, laws = ("place", "words", "claim"), msgspec.toml.decode(text_beside(module, "page.toml"))["laws"]
    rows = rows_beside(module, "claims.csv")
    return {
        key: {**{name: row[name] for name in field_names}, **laws[key]} for row in rows for key in row["keys"].split()
    }


def make_finder(module: str, *, paper: str) -> Callable[..., BoundedFinding]:
    """Return what makes findings on a paper's claims: of their keys, what was found, and what the paper's files lack.

    That is the number that the paper claims, where it follows from others, and numbers that its words have in braces.
    """

    def find(
        key: str, found_value: float, claimed: float | None = None, **claimed_value: float | str
    ) -> BoundedFinding:
        numbers = {"key": key, "found": float(found_value), "claimed": claimed}
        words = {
            name: value.format(**claimed_value) if isinstance(value, str) else value
            for name, value in _claims_of(module)[key].items()
        }
        return msgspec.convert({"paper": paper, **numbers, **words}, BoundedFinding)

    return find


class Sentence(NamedTuple):
    """A sentence of a paper, and all that judges it."""

    judgement: Judgement
    findings: Sequence[BoundedFinding]

    @property
    def to_finding(self) -> Finding:
        """The sentence as a reproduction tells it: all that judges it, behind the one verdict."""
        sentences = [finding.to_finding for finding in self.findings]
        first, *other_keys = sorted({finding.key.rstrip(string.ascii_lowercase) for finding in self.findings})
        return msgspec.structs.replace(
            sentences[0],
            source=f"readings {' and '.join([first, *other_keys])}" if other_keys else f"reading {first}",
            judgement=self.judgement,
            numbers=" ".join(finding.numbers for finding in sentences),
        )


def sentences(findings: Iterable[BoundedFinding]) -> list[Sentence]:
    """Return each sentence of the papers once, with its verdict, in the order of the first finding on each.

    It is that of all of its entries. Where they differ, the sentence holds in part if it does anywhere, and elsewhere
    what is open leaves it open unless something refutes it.
    """
    findings_by_claim: dict[tuple[str, str, str], list[BoundedFinding]] = {}
    for finding in findings:
        findings_by_claim.setdefault((finding.paper, finding.place, finding.claim), []).append(finding)
    return [
        Sentence(_of_all({each.judgement for each in claim_findings}), claim_findings)
        for claim_findings in findings_by_claim.values()
    ]


def _of_all(judgements: AbstractSet[Judgement]) -> Judgement:
    if len(judgements) == 1:
        (judgement,) = judgements
        return judgement
    if Judgement.IN_PART in judgements or {Judgement.HOLDS, Judgement.REFUTED} <= judgements:
        return Judgement.IN_PART
    return Judgement.REFUTED if Judgement.REFUTED in judgements else Judgement.OPEN


def to_finding(findings: Iterable[BoundedFinding], *keys: str) -> Iterator[Finding]:
    """Yield those of these keys as a reproduction tells them."""
    by_key = {finding.key: finding for finding in findings}
    yield from (by_key[key].to_finding for key in keys)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def findings_on_papers() -> list[BoundedFinding]:
    """Compute what is found of all papers' claims, paper by paper; some seconds."""
    return [finding for _, find in load_each("claims", Callable) for finding in find()]
