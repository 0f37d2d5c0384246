"""Findings on a paper's claims; every verdict is computed from numbers.

A `Finding` judges a claim by a reproduction's rows. A `BoundedFinding` compares a claim on one number with that number,
computed exactly or with bounds. `psephos audit papers` shows the latter as rows, and a reproduction as sentences.
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
"""The manual's page that explains every reading by its identifier."""

ON_PAPER: Final = "What the paper says"
ON_STAND_IN: Final = "On a stand-in"
"""The heading of claims that were judged on synthetic data instead of the paper's, which decide nothing."""

ON_OWN_DATA: Final = "On your data"
"""The heading of claims that were judged on the user's data, which decide nothing about the paper either."""

_ROUNDING: Final = 1e-6  # laws are computed in floating point


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, judged by a reproduction's rows.

    Args:
        claim: the claim, as one sentence.
        source: the claim's source: a section of the paper, or a reading.
        judgement: the verdict; if trials decide it, by confidence intervals (`judging`).
        numbers: a sentence or two with the verdict's numbers.
        on_stand_in: whether it was judged on synthetic data instead of the paper's, and so decides nothing.

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
    """Group findings on a paper's claims, and other findings, by heading.

    Findings on a stand-in have a separate heading, and so do all of a paper's claims that were judged on the user's
    data.

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
    """How certain a computed number is."""

    EXACT = "exact"
    """The exact number, by a law or formula."""
    PROVEN = "proven"
    """A proven upper bound; the number may be less."""
    FOUND = "at least"
    """A lower bound: the exact number of one pair of neighbors, or of one case."""
    NORMAL = "normal law"
    """An approximation by the central limit theorem, with a term for skewness."""
    SAMPLED = "99.9 %"
    """The end of a 99.9 % confidence interval that is nearer to the claim."""


_CERTAINTIES: Final = {
    Certainty.EXACT: "exact",
    Certainty.PROVEN: "a proven bound",
    Certainty.FOUND: "one case reaches it",
    Certainty.NORMAL: "by the normal law",
    Certainty.SAMPLED: "sampled, 99.9 % confidence",
}


class BoundedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A claim on one number, with the number that was computed.

    Args:
        key: the reading's identifier in the documentation, with a letter if the reading has several findings.
        paper: a short citation.
        claim: the paper's claim, paraphrased: a sentence without its full stop.
        place: the claim's place in the paper.
        words: some of the paper's words, by which to find the place. A sentence of the paper gets one verdict from all
            its findings (`sentences`).
        quantity: the quantity that both numbers measure, and the case.
        claimed: the paper's number; None if it has none.
        bound: the kind of the paper's bound.
        found: the computed number.
        certainty: how certain the computed number is.
        command: a command that shows the number; by default one that shows this finding.
        only: where a contradicted claim still holds, as a phrase after "the claim holds only".
        note: the correct statement, in a sentence or two.
        compared: the meaning of `claimed` if the paper does not claim a number, but that two are equal or ordered.
        tolerance: the largest difference that counts as agreement, absolute or relative to the claimed number,
            whichever is more. It is larger if that number was sampled, or has few digits.
        undecided: why the two numbers do not decide the paper's statement, as a sentence: for example, they measure
            different things. The verdict is then open.
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
        """The interval that contains the true number."""
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
        """The verdict, from the two numbers."""
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
        """The correct statement, in sentences; may be empty."""
        limitation = f"The claim holds only {self.only}." if self.judgement is Judgement.IN_PART else ""
        return " ".join(filter(None, (self.note, limitation, self.undecided)))

    @property
    def numbers(self) -> str:
        """A sentence with the quantity, the paper's number and the computed one."""
        claimed = "the paper gives no number"
        if self.claimed is not None:
            claimed = f"claimed {self.claimed_text}" + (f" ({self.compared})" if self.compared else "")
        return f"{self.quantity}: {claimed}, found {self.found_text} ({_CERTAINTIES[self.certainty]})."

    @property
    def to_finding(self) -> Finding:
        """The finding as a `Finding`."""
        numbers = f"{self.truth} {self.numbers[0].upper()}{self.numbers[1:]}".strip()
        source = f"reading {self.key.rstrip(string.ascii_lowercase)}"
        return Finding(claim=f"{self.claim} ({self.place}).", source=source, judgement=self.judgement, numbers=numbers)

    @property
    def reading(self) -> str:
        """The manual's page and anchor that explain the reading."""
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
        """The computed number, as a bound if it is one."""
        sign = {Certainty.PROVEN: "≤ ", Certainty.FOUND: "≥ ", Certainty.NORMAL: "≈ "}.get(self.certainty, "")
        if self.certainty is Certainty.SAMPLED:
            sign = "≤ " if self._bounds_below else "≥ "
        return f"{sign}{_number(self.found)}"


@functools.cache
def _claims_of(module: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the claims in a module's package that laws judge, by the findings' keys.

    Place, words and claim are from `claims.csv`; the other fields are from `page.toml`.
    """
    from .paper_files import rows_beside, text_beside  # noqa: PLC0415  a run has no claims

    field_names, laws = ("place", "words", "claim"), msgspec.toml.decode(text_beside(module, "page.toml"))["laws"]
    rows = rows_beside(module, "claims.csv")
    return {
        key: {**{name: row[name] for name in field_names}, **laws[key]} for row in rows for key in row["keys"].split()
    }


def make_finder(module: str, *, paper: str) -> Callable[..., BoundedFinding]:
    """Return a function that makes findings from keys, computed numbers, and values that the paper's files lack.

    Such values are a claimed number that follows from others, and numbers in braces in the paper's texts.
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
    """A sentence of a paper with all findings on it, and their joint verdict."""

    judgement: Judgement
    findings: Sequence[BoundedFinding]

    @property
    def to_finding(self) -> Finding:
        """One `Finding` on the sentence, with the joint verdict and the numbers of all findings."""
        sentences = [finding.to_finding for finding in self.findings]
        first, *other_keys = sorted({finding.key.rstrip(string.ascii_lowercase) for finding in self.findings})
        return msgspec.structs.replace(
            sentences[0],
            source=f"readings {' and '.join([first, *other_keys])}" if other_keys else f"reading {first}",
            judgement=self.judgement,
            numbers=" ".join(finding.numbers for finding in sentences),
        )


def sentences(findings: Iterable[BoundedFinding]) -> list[Sentence]:
    """Return each sentence of the papers once, with its joint verdict, in the order of their first findings.

    If verdicts differ, the sentence holds in part if it holds in any finding. Otherwise it is refuted if any finding
    refutes it, and else open.
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
    """Yield the findings with these keys, as `Finding` objects."""
    by_key = {finding.key: finding for finding in findings}
    yield from (by_key[key].to_finding for key in keys)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def findings_on_papers() -> list[BoundedFinding]:
    """Compute the findings on all papers' claims, paper by paper; takes some seconds."""
    return [finding for _, find in load_each("claims", Callable) for finding in find()]
