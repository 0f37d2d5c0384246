"""Show findings: sentences with their numbers on a page and in a terminal."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from ..presentation.numbers import join_words
from ..presentation.terminal import STYLES, show_facts
from ..verdicts import Judgement
from .findings import READINGS, BoundedFinding, Finding, sentences

_MEANINGS: Final = {
    Judgement.HOLDS: "the claim is true",
    Judgement.IN_PART: "the claim is true only in the cases that the entry names",
    Judgement.REFUTED: "the claim is not true",
    Judgement.OPEN: "what is known does not decide, or the paper gives no number",
    Judgement.NO_DATA: "the data set by which it is judged is not there",
}

_COUNTED: Final = {  # phrases for one finding, and for several
    Judgement.HOLDS: ("holds", "hold"),
    Judgement.IN_PART: ("holds in part", "hold in part"),
    Judgement.REFUTED: ("does not hold", "do not hold"),
    Judgement.OPEN: ("cannot be told", "cannot be told"),
    Judgement.NO_DATA: ("lacks its data", "lack their data"),
}


def _count(findings: Iterable[Finding]) -> Counter[Judgement]:
    return Counter(finding.judgement for finding in findings)


def findings_in_markdown(findings: Iterable[Finding]) -> str:
    """Return findings as a list in Markdown."""
    return "\n".join(
        f"- **{finding.judgement.capitalize()}.** {finding.claim} ({finding.source}) {finding.numbers}"
        for finding in findings
    )


def count_in_words(findings: Sequence[Finding]) -> str:
    """Return a sentence that counts findings by verdict."""
    counts = _count(findings)
    parts = [
        f"{counts[judgement]} {words[counts[judgement] != 1]}"
        for judgement, words in _COUNTED.items()
        if counts[judgement]
    ]
    return f"Of {len(findings)} {'claim' if len(findings) == 1 else 'claims'} {join_words(parts)}."


def show_findings(console: Console, heading: str, findings: Sequence[Finding]) -> None:
    """Print findings to a terminal, after their counts."""
    console.print()
    console.print(Text(heading, style="bold"))
    console.print(Text(count_in_words(findings)))
    for finding in findings:
        verdict = f"{finding.judgement}: ", STYLES[finding.judgement.tone]
        words = Text.assemble(verdict, finding.claim, (f" ({finding.source})", "cyan"))
        console.print()
        console.print(words)
        console.print(Text(finding.numbers, style="dim"))


def show_bounded_findings(console: Console, findings: Sequence[BoundedFinding]) -> None:
    """Print findings paper by paper: each claim, the correct statement, the numbers, and the command."""
    judged_sentences = sentences(findings)
    counts = Counter(sentence.judgement for sentence in judged_sentences)
    present = [judgement for judgement in Judgement if counts[judgement]]
    counts_text = ", ".join(f"{judgement} {counts[judgement]}" for judgement in present)
    console.print(Text(f"{len(judged_sentences)} sentences of papers, by {len(findings)} entries: {counts_text}."))
    show_facts(console, {judgement: _MEANINGS[judgement] for judgement in present})
    console.print(Text(f"{READINGS} explains each entry under its letter and number, such as W1."))
    for paper, of_paper in itertools.groupby(findings, key=lambda finding: finding.paper):
        console.print()
        console.print(Text(paper, style="bold"))
        for finding in of_paper:
            console.print()
            judgement = finding.judgement
            console.print(Text.assemble((finding.key, "bold"), "  ", (judgement, STYLES[judgement.tone])))
            facts = {
                "paper": f"{finding.claim} ({finding.place}: “{finding.words}”).",
                "truth": finding.truth,
                "numbers": finding.numbers,
                "command": finding.command,
            }
            show_facts(console, facts, spaced=False)


def bounded_finding_to_dict(finding: BoundedFinding) -> Mapping[str, object]:
    """Return a finding as a dictionary: its fields, the verdict, and the manual's page on the reading."""
    return msgspec.structs.asdict(finding) | {"judgement": finding.judgement, "reading": finding.reading}


def sentences_as_rows(findings: Sequence[BoundedFinding]) -> list[dict[str, str]]:
    """Return a row for each sentence of the papers: its words, its place, the deciding findings, and the verdict."""
    return [
        {
            "paper": group_findings[0].paper,
            "entries": " ".join(each.key for each in group_findings),
            "words": group_findings[0].words,
            "place": group_findings[0].place,
            "claim": f"{group_findings[0].claim}.",
            "decided by": "; ".join(each.quantity for each in group_findings),
            "verdict": str(judgement),
            "shown by": ", ".join(dict.fromkeys(each.command for each in group_findings)),
        }
        for judgement, group_findings in sentences(findings)
    ]
