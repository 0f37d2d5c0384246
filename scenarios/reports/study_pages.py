"""Pages of what is no single run: an audit, trials, a reproduction of a paper; from the files that they left.

A page begins with what holds and what does not. All tables are the files' own. A system's command whose table and
picture need no page of their own leaves `study.json` beside them, which says what they are; a run in whose folder such
a study lies shows it too.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ...protocol.errors import require
from ..experiments.findings import ON_OWN_DATA, ON_PAPER, Finding, by_heading
from ..presentation.numbers import decimals_of, rounded, some
from ..presentation.rows import table_of_rows
from ..presentation.terminal import title_of
from ..reading.cells import rows_in
from ..reading.files import check_files, readable
from ..running.reader import Audit, pictures_in, read_as, read_command
from ..tables import Rows, Table, listed
from ..verdicts import AuditVerdict, Judgement, round_up
from .blocks import audited_losses
from .page import Block, Page, Section, Text, drawn, repeated

_PICTURE: Final = re.compile(r"!\[(.*?)\]\((?:.*/)?([\w.-]+)\.png\)", re.DOTALL)
_STUDY: Final = "study.json"
_PROVEN: Final = "ε proven"
_NAME: Final = re.compile(r"[\w-]+")  # of a table, whose file is called so: it names no other folder's
_MOST_CELLS: Final = 6  # whose leading measures a verdict says


class _Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of `reproduction.json`."""

    trials: int
    seed: int
    versions: dict[str, str] = {}
    paper_findings: list[Finding] = []
    own_findings: list[Finding] = []
    own: str = ""
    tables: dict[str, list[dict[str, Any]]] = {}


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of a study, a CSV file beside it, and the picture that is called so: what they show, and its columns."""

    name: str
    caption: str
    picture: str = ""
    columns: dict[str, str] = {}


class _Study(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of `study.json`."""

    kind: str
    title: str
    facts: list[str] = []
    verdict: list[str]
    tables: list[_Table]
    notes: list[str] = []


class _Trials(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of `summary.json`."""

    scenario: str
    trials: int
    verdict: str = ""
    measures: dict[str, str] = {}
    refused: list["_Refused"] = []


class _Refused(msgspec.Struct, frozen=True):
    """A cell that could not be tried."""

    settings: dict[str, str]
    reason: str


def page_of_study(folder: Path) -> Page | None:
    """Return the page of an audit, of trials or of a reproduction; None where the folder is of none of them."""
    for name, make in _PAGES.items():
        if (folder / name).exists():
            check_files(folder)
            page = make(folder)
            return dataclasses.replace(page, sections=[*page.sections, *repeated(read_command(folder))])
    return None


def sections_of_studies(folder: Path) -> Iterator[Section]:
    """Yield what studies say that lie in the folder of a run, each in a folder of its own."""
    for file in sorted(folder.glob(f"*/{_STUDY}")):
        check_files(file.parent)
        study = _study_in(file.parent)
        told = Text(" ".join([f"{study.title}: {', '.join(study.facts)}.", *study.verdict]))
        yield Section(title=study.kind, blocks=[told, *_blocks_of(study, file.parent)])


def _of_study(folder: Path) -> Page:
    study = _study_in(folder)
    sections = [Section(title="What was found", blocks=[*_blocks_of(study, folder)])]
    return Page(kind=study.kind, title=study.title, facts=study.facts, verdict=study.verdict, sections=sections)


def _study_in(folder: Path) -> _Study:
    study: _Study = read_as(folder / _STUDY, _Study)
    return study


def _blocks_of(study: _Study, folder: Path) -> Iterator[Block]:
    """Yield the pictures, the tables and the notes of a study."""
    pictures = pictures_in(folder)
    for table in study.tables:
        if table.picture:
            yield from drawn(pictures, table.name, table.picture)
        found = _table_in(folder, table.name, file=_STUDY)
        rows = [{table.columns.get(key, key): value for key, value in row.items()} for row in found]
        if rows:
            empty = [key for key in rows[0] if all(row[key] is None for row in rows)]
            yield table_of_rows(rows, caption=table.caption, name=table.name, left_out=empty)
    yield from (Text(note, "quiet") for note in study.notes)


def _of_audit(folder: Path) -> Page:
    audit: Audit = read_as(folder / "audit.json", Audit)
    table, sure = audited_losses(audit)
    counts = Counter(row.verdict for row in audit.rows)
    refuted = counts[AuditVerdict.PROOF_REFUTED]
    said = ", ".join(f"{number:,} {verdict}" for verdict, number in counts.items())
    head = f"{some(refuted, 'proof')} {'is' if refuted == 1 else 'are'} refuted." if refuted else "No proof is refuted."
    return Page(
        kind="Audit",
        title=f"Audit of {', '.join(audit.names) or folder.resolve().name}",
        facts=[f"{number:,} {source} outputs" for source, number in audit.samples.items()],
        verdict=[head, f"{len(table.rows):,} audited: {said}."],
        tone="poor" if refuted else "good",
        sections=[Section(title="What was found", blocks=[table, Text(sure, "quiet")])],
    )


def _of_trials(folder: Path) -> Page:
    trials: _Trials = read_as(folder / "summary.json", _Trials)
    summary = folder / "summary.csv"
    rows = [
        {_header_of(key): value for key, value in row.items()} for row in (rows_in(summary) if summary.exists() else ())
    ]
    blocks: list[Block] = [*drawn(pictures_in(folder), "trials", "The leading measures over all trials")]
    if rows:
        hidden = [key for key in rows[0] if key.startswith("quantile_") and key.endswith(("_low", "_high"))]
        hidden += [key for key in rows[0] if all(row[key] is None for row in rows)]
        caption = "What was measured; low and high bound the mean with 95 % confidence"
        blocks.append(table_of_rows(rows, caption=caption, name="summary", left_out=[*hidden, "trials"], is_mixed=True))
        blocks.append(Text("± is one standard error of the mean.", "quiet"))
    sections = [Section(title="What was measured", blocks=blocks)]
    if (folder / "traffic.csv").exists() and (traffic := rows_in(folder / "traffic.csv")):
        table = table_of_rows(
            traffic, caption="Messages and bytes of one party, on average", name="traffic", is_mixed=True
        )
        sections.append(Section(title="What was sent", blocks=[table]))
    if trials.measures:
        columns, listing = ("Measure", "What it is"), list(trials.measures.items())
        table = Table(caption="The measures", name="measures", columns=columns, rows=listing)
        sections.append(Section(title="What the measures are", blocks=[table]))
    return Page(
        kind="Trials",
        title=f"Trials of {trials.scenario}",
        facts=[some(trials.trials, "trial") + " of each cell"],
        verdict=_verdict_of_trials(trials, rows),
        sections=sections,
    )


def _header_of(key: str) -> str:
    """Return what a column of `summary.csv` is called on the page."""
    proven = key.replace("epsilon", "ε").replace("_", " ")
    return proven if proven.startswith(_PROVEN) else "mean_standard_error" if key == "standard_error" else key


def _verdict_of_trials(trials: _Trials, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what trials came to, and of a grid the first measure of each cell."""
    leading = list(_leading(rows))
    refused = [
        f"{', '.join(f'{key} = {value}' for key, value in each.settings.items())}: N/A, since {each.reason}."
        for each in trials.refused
    ]
    if trials.verdict:
        return [trials.verdict, *(leading if len(leading) > 1 else ()), *refused]
    return [*(leading or ["Nothing was measured."]), *refused]


def _leading(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the first measure of each cell in a sentence."""
    first = rows[0]["measure"] if rows else None
    of_cells = [row for row in rows if row["measure"] == first]
    for row in of_cells[:_MOST_CELLS]:
        names = list(row)
        own = {key: row[key] for key in names[: names.index("measure")]}
        own |= {key: f"{round_up(float(proven), 4):g}" for key, proven in own.items() if key.startswith(_PROVEN)}
        settings = ", ".join(f"{key} = {value}" for key, value in own.items())
        mean, error = row.get("mean"), row.get("mean_standard_error")
        if not isinstance(mean, float):
            continue
        decimals = decimals_of([mean], [error])
        said = f"{title_of(str(first))} {rounded(mean, decimals)}{f' ± {rounded(error, decimals)}' if error else ''}"
        yield f"{settings}: {said}." if settings else f"{said}."
    if len(of_cells) > _MOST_CELLS:
        yield f"And {some(len(of_cells) - _MOST_CELLS, 'more cell')} below."


def _of_reproduction(folder: Path) -> Page:
    found: _Reproduction = read_as(folder / "reproduction.json", _Reproduction)
    summary = _text_of(folder / "summary.md")
    title, _, rest = summary.partition("\n")
    introduction = [part.strip() for part in rest.partition("\n## ")[0].split("\n\n") if part.strip()]
    captions = {name: " ".join(words.split()) for words, name in _PICTURE.findall(summary)}
    told = by_heading(found.paper_findings, found.own_findings, is_own_data=bool(found.own))
    claims = told.get(ON_OWN_DATA if found.own else ON_PAPER, ())
    holds = sum(finding.judgement is Judgement.HOLDS for finding in claims)
    found_pictures = pictures_in(folder)
    pictures = [block for name, words in captions.items() for block in drawn(found_pictures, name, words)]
    sections = [
        Section(title="What it is", blocks=[Text(" ".join(part.replace("`", "").split())) for part in introduction]),
        *(Section(title=heading, blocks=[_findings(findings, heading)]) for heading, findings in told.items()),
        Section(title="Pictures", blocks=pictures),
        Section(
            title="Tables",
            blocks=[
                table_of_rows(rows, caption=title_of(name.replace("-", " ")), name=name, is_mixed=True)
                for name in found.tables
                if (rows := _table_in(folder, name, file="reproduction.json"))
            ],
        ),
    ]
    return Page(
        kind="Reproduction",
        title=title.removeprefix("# ") or folder.resolve().name,
        facts=[
            some(found.trials, "trial"),
            f"seed {found.seed}",
            *(f"{name} {each}" for name, each in found.versions.items()),
        ],
        verdict=[f"{holds:,} of {some(len(claims), 'claim')} of the paper hold{' on this data' * bool(found.own)}."],
        sections=[section for section in sections if section.blocks],
    )


def _table_in(folder: Path, name: str, *, file: str) -> Rows:
    """Return the rows of a table that a file names; ConfigurationError for a name that leads elsewhere."""
    require(_NAME.fullmatch(name), f"{file}.tables", name, "tables whose names have letters, digits, - and _ alone")
    return rows_in(folder / f"{name}.csv")


def _findings(findings: Sequence[Finding], caption: str) -> Table:
    return listed(
        findings,
        [
            ("Claim", lambda each: each.claim),
            ("Verdict", lambda each: each.judgement.cell),
            ("Numbers", lambda each: each.numbers),
            ("Source", lambda each: each.source),
        ],
        caption=caption,
        name=caption.lower().replace(" ", "-"),
    )


def _text_of(path: Path) -> str:
    if not path.exists():
        return ""
    with readable(path, field="RUN", value=path.parent):
        return path.read_text(encoding="utf-8")


_PAGES: Final[Mapping[str, Callable[[Path], Page]]] = {
    "audit.json": _of_audit,
    "reproduction.json": _of_reproduction,
    "summary.json": _of_trials,
    _STUDY: _of_study,
}
"""By the file that a command leaves."""
