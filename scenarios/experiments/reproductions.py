"""Run a reproduction: check its options, compute rows part by part, judge claims, and write the results.

Each paper declares its options as a `Paper`, and its experiments and their page as `Experiments`.
"""

import contextlib
import dataclasses
import importlib.metadata
import platform
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.errors import ConfigurationError, list_choices, refuse, require
from ..plugins import load
from ..presentation.drawing import Picture, save_pictures
from ..presentation.numbers import pluralize
from ..presentation.terminal import show_sheet, title_of
from ..running.folder import RunFolder
from ..running.progress import OnStep
from ..running.studies import Study, StudyTable, write_study
from ..tables import Rows, Table, markdown_of
from ..verdicts import Judgement
from .findings import ON_OWN_DATA, ON_PAPER, ON_STAND_IN, Finding, group_findings
from .findings_shown import count_in_words, findings_in_markdown, show_findings
from .paper import Paper
from .sheets import Row, flat

_STAND_IN: Final = "The paper's data are not there. Data of our own making stand in for them, and count neither way."
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_OWN: Final = (
    "Claims are judged on your data here, and not on the paper's: they count neither way. Every number is of the file "
    "as it is, without privacy: unless everybody may know the file, keep this folder as you keep it."
)
_KEPT: Final = ("trials", "seed", "versions", "paper_findings", "own_findings")
"""The fields of `reproduction.json` in addition to tables, in order."""
_CLAIMS: Final = "claims"
_FOLDER: Final = "A folder is named by --data FOLDER or PSEPHOS_DATA, and has a folder for each data set."


class PaperReproduction(msgspec.Struct, frozen=True, kw_only=True):
    """All numbers and findings of one reproduction; a subclass has a field of rows for each table."""

    trials: int  # trials of each cell
    seed: int  # the seed of everything drawn
    versions: Mapping[str, str]  # versions of the software
    missing: Mapping[str, str] = {}  # missing parts by data set, with the reason; empty if there are none
    own: str = ""  # name of the user's file, if all rows are from it
    settings: tuple[str, ...] = ()  # settings instead of the paper's values, as key=value
    only: tuple[str, ...] = ()  # the requested tables, if not all
    paper_findings: tuple[Finding, ...] = ()  # findings on the paper's claims
    own_findings: tuple[Finding, ...] = ()  # findings on claims of Psephos

    @property
    def findings(self) -> dict[str, tuple[Finding, ...]]:
        """All findings, by their heading."""
        return group_findings(self.paper_findings, self.own_findings, is_own_data=bool(self.own))

    @property
    def tables(self) -> dict[str, tuple[Row, ...]]:
        """The rows of each file, by its name."""
        return {_file_of(name): getattr(self, name) for name in _tables_of(type(self))}

    @property
    def is_part(self) -> bool:
        """Whether it has only a part of the paper's experiments, or others instead."""
        return bool(self.settings or self.only)


_FoundT = TypeVar("_FoundT", bound=PaperReproduction)


def _tables_of(kind: type[PaperReproduction]) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in PaperReproduction.__struct_fields__]


def _file_of(table: str) -> str:
    return table.replace("_", "-")


class Asked(NamedTuple):
    """The options that experiments receive."""

    trials: int
    seed: int
    data: str
    """The folder of data sets; empty for none."""
    workers: int
    """Number of processes; 0 for one for each core. The result does not depend on it."""
    tell: Callable[[str], None]
    """Called with a text when a sub-part begins."""
    own: Mapping[str, str] = _NOTHING
    """The user's files and further options for them, by option name."""
    grids: Any = None
    """The grids of experiments, if the paper has settable ones."""
    tables: Mapping[str, Sequence[Any]] = {}
    """The rows computed so far."""


class PaperPart(NamedTuple):
    """A part of a paper's experiments.

    Rows are computed while they are iterated over, after `told` is shown.
    """

    told: str = ""
    """A text of one line when the part begins; may be empty."""
    rows: Mapping[str, Iterable[Row]] = {}
    """Rows by table; several parts may have rows of one table."""
    missing: Mapping[str, str] = {}
    """Reasons why data sets are missing, by name."""
    number: int = 0
    """The number of rows; 0 if unknown."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiments(Generic[_FoundT]):
    """A paper's experiments, and the page that shows them."""

    found: type[_FoundT]  # type of the results
    parts: Callable[[Asked], Iterable[PaperPart]]  # returns the parts, in order
    on_paper: Callable[[_FoundT], Iterable[Finding]]  # findings on the paper's claims, in its order
    additions: Callable[[_FoundT], Iterable[Finding]] | None = None  # findings on claims of Psephos
    sheets: Callable[[_FoundT], Iterable[Table]]  # tables for the page
    pictures: Callable[[_FoundT], Mapping[str, Picture]]  # available pictures, by name
    captions: Mapping[str, str]  # captions of all possible pictures, by name
    title: str  # title of the page
    introduction: str  # first paragraph of the page; {run} stands for the results
    cells: str  # text on the number of trials, for the terminal; {run} as above
    remarks: Sequence[str]  # paragraphs on deviations from the paper, and on the readings
    # Number of progress steps with all data sets, including pictures; 0 if unknown.
    steps: int = 0
    # tables that each table is computed from
    needs: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict[str, Sequence[str]])
    grids: Callable[[Sequence[str]], Any] | None = None  # maps settings to grids, if they can be set

    def wanted(self, only: Sequence[str]) -> set[str]:
        """Return the tables to compute for these files, with the tables that those need."""
        files = {_file_of(name): name for name in _tables_of(self.found)}
        for file in only:
            require(file in files, "--table", file, list_choices(sorted(files), file))
        chosen_tables = {files[file] for file in only} or {*files.values()}
        return chosen_tables | {needed_table for name in chosen_tables for needed_table in self.needs.get(name, ())}


def check_options(
    paper: Paper, *, trials: int, seed: int, data: str = "", workers: int = 0, own: Mapping[str, str] = _NOTHING
) -> None:
    """Raise ConfigurationError unless a paper supports these options of `reproduce`."""
    allowed = f"from {paper.least_trials} to {paper.most_trials:,}"
    require(paper.least_trials <= trials <= paper.most_trials, "--trials", trials, allowed)
    refuse(seed < 0, "--seed", seed, "an integer >= 0")
    refuse(data and not Path(data).is_dir(), "data", data, "a folder of data sets")
    refuse(workers < 0, "--workers", workers, "at least 1, or 0 for one each core")
    first = next(iter(paper.own), "")
    for name, value in own.items():
        require(first in own, f"--{first}", "left out", f"given beside --{name.replace('_', '-')}")
        require(name in paper.own_words or Path(value).is_file(), f"--{name}", value, "a file that is there")


def check_part(
    paper: Paper, *, settings: Sequence[str] = (), only: Sequence[str] = (), own: Mapping[str, str] = _NOTHING
) -> tuple[set[str], Any]:
    """Return the tables that these options of `reproduce` select, and the grids.

    Raises:
        ConfigurationError: there is no such table or setting.
    """
    experiments = _experiments_of(paper, is_own=bool(own))
    tables_to_make = experiments.wanted(only)
    if experiments.grids is not None:
        return tables_to_make, experiments.grids(settings)
    refuse(settings, "--set", ", ".join(settings), "left out: here are no grids")
    return tables_to_make, None


@contextlib.contextmanager
def rename_fields(**options: str) -> Generator[None]:
    """Replace a scenario's field in errors by the first of `options` that matches it."""
    try:
        yield
    except ConfigurationError as error:
        option = next((options[part] for part in error.field.split(".") if part in options), "")
        if not option:
            raise
        raise ConfigurationError(field=option, value=error.value, allowed=error.allowed) from None


def find_missing(folder: str, data_sets: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons why data sets are missing, by name; the folder uses other names."""
    if not folder:
        return dict.fromkeys(data_sets, "no folder of data sets was named")
    missing_names = [name for name, own in data_sets.items() if not (Path(folder) / own).is_dir()]
    return dict.fromkeys(missing_names, "not in the folder of data sets")


def reproduce(
    paper: Paper,
    folder: RunFolder,
    *,
    trials: int | None = None,
    seed: int = 1,
    data: str = "",
    workers: int = 0,
    own: Mapping[str, str] = _NOTHING,
    settings: Sequence[str] = (),
    only: Sequence[str] = (),
    pictures: bool = True,
    on_progress: OnStep = lambda _said, _done, _total: None,
) -> Any:
    """Run a paper's experiments again, with further ones, and write the results into a folder.

    The folder gets a CSV file for each table with rows, `reproduction.json` with all results and software versions,
    `summary.md` with the findings, and a PNG and an SVG file for each picture.

    Args:
        folder: a new or empty folder.
        trials: number of trials of each cell; by default the paper's.
        seed: the seed of everything drawn; the same seed gives the same files.
        data: the folder of data sets; empty for none.
        workers: number of processes; 0 for one for each core. The result does not depend on it.
        own: the user's files, by option of `Paper.own`, which replace the paper's data, and further options for them,
            by option of `Paper.own_words`.
        settings: values that replace those of the paper's grids, as key=value.
        only: names of the tables to compute; by default all.
        pictures: whether to draw pictures, if matplotlib is installed.
        on_progress: called when a part begins, and for each row if their number is known.

    Returns:
        The `PaperReproduction` of the paper's `Experiments`.

    Raises:
        ConfigurationError: an option or a data set is invalid; nothing was written.
        BaseException: any interruption; the rows computed until then are in the folder.
    """
    trials = paper.trials if trials is None else trials
    check_options(paper, trials=trials, seed=seed, data=data, workers=workers, own=own)
    experiments = _experiments_of(paper, is_own=bool(own))
    tables_to_make, grids = check_part(paper, settings=settings, only=only, own=own)
    tables_begun: list[str] = []

    def tell(text: str) -> None:
        on_progress(text, len(tables_begun), experiments.steps)
        tables_begun.append(text)

    tables: dict[str, list[Row]] = {name: [] for name in _tables_of(experiments.found)}
    missing: dict[str, str] = {}
    try:
        for part in experiments.parts(Asked(trials, seed, data, workers, tell, own, grids, tables)):
            chosen_rows = {name: rows for name, rows in part.rows.items() if name in tables_to_make}
            if part.told and len(chosen_rows) == len(part.rows):
                tell(part.told)
            missing |= part.missing
            for name, rows in chosen_rows.items():
                for row in rows:
                    tables[name].append(row)
                    if part.number:
                        done = len(tables_begun) - 1 + min(len(tables[name]) / part.number, 1.0)
                        on_progress(part.told, done, experiments.steps)
    except BaseException:
        _write_tables(folder, {_file_of(name): rows for name, rows in tables.items()})
        raise
    made_tables: dict[str, Any] = {name: tuple(rows) for name, rows in tables.items()}
    file = Path(next(iter(own.values()), "")).name
    run_facts: dict[str, Any] = {"missing": missing, "own": file, "settings": tuple(settings), "only": tuple(only)}
    reproduction = experiments.found(trials=trials, seed=seed, versions=_versions(), **run_facts, **made_tables)
    own_findings = () if experiments.additions is None else tuple(experiments.additions(reproduction))
    reproduction = msgspec.structs.replace(
        reproduction, paper_findings=tuple(experiments.on_paper(reproduction)), own_findings=own_findings
    )
    _write(folder, reproduction, page=page_of(paper, reproduction))
    drawn_pictures: Mapping[str, Picture] = experiments.pictures(reproduction) if pictures else {}
    write_study(folder, _study_of(experiments, reproduction, picture_names=drawn_pictures))
    if pictures:
        tell("pictures")
        save_pictures(drawn_pictures, folder.path)
    return reproduction


def _experiments_of(paper: Paper, *, is_own: bool) -> Experiments[Any]:
    target = paper.own_experiments if is_own else paper.experiments
    return load(target, Experiments, field="experiments", name=target)


def _versions() -> dict[str, str]:
    versions = {name: importlib.metadata.version(name) for name in ("psephos", "numpy")}
    return {**versions, "python": platform.python_version()}


def _write_tables(folder: RunFolder, tables: Mapping[str, Sequence[Row]]) -> dict[str, Rows]:
    """Write a CSV file for each table with rows, and return the rows as written."""
    flat_tables = {name: flat(rows) for name, rows in tables.items() if rows}
    for name, rows in flat_tables.items():
        folder.write_table(f"{name}.csv", rows)
    return flat_tables


def _write(folder: RunFolder, reproduction: PaperReproduction, *, page: str) -> None:
    tables = _write_tables(folder, reproduction.tables)
    kept_fields = (*_KEPT, *(name for name in ("missing", "own", "settings", "only") if getattr(reproduction, name)))
    folder.write_json(
        "reproduction.json", {**{name: getattr(reproduction, name) for name in kept_fields}, "tables": tables}
    )
    folder.write_text("summary.md", page)
    claims = [
        {"of": heading, "claim": each.claim, "verdict": each.judgement, "numbers": each.numbers, "source": each.source}
        for heading, findings in reproduction.findings.items()
        for each in findings
    ]
    if claims:
        folder.write_table(f"{_CLAIMS}.csv", claims)


def _study_of(
    experiments: Experiments[Any], reproduction: PaperReproduction, *, picture_names: Collection[str]
) -> Study:
    """Return the content of a reproduction's page."""
    introduction = experiments.introduction.format(run=reproduction)
    findings = reproduction.findings.get(ON_OWN_DATA if reproduction.own else ON_PAPER, ())
    num_holding = sum(finding.judgement is Judgement.HOLDS for finding in findings)
    of_rows = [
        StudyTable(name=name, caption=title_of(name.replace("-", " ")), is_mixed=True)
        for name, rows in reproduction.tables.items()
        if rows
    ]
    return Study(
        kind="Reproduction",
        title=experiments.title,
        facts=[
            pluralize(reproduction.trials, "trial"),
            f"seed {reproduction.seed}",
            *(f"{name} {each}" for name, each in reproduction.versions.items()),
        ],
        verdict=[
            (
                f"{num_holding:,} of {pluralize(len(findings), 'claim')} of the paper "
                f"hold{' on this data' * bool(reproduction.own)}."
            )
        ],
        tables=[
            StudyTable(name=_CLAIMS, caption="What was claimed", is_mixed=True),
            *(StudyTable(name=name, picture=experiments.captions[name]) for name in picture_names),
            *of_rows,
        ],
        notes=[" ".join(part.replace("`", "").split()) for part in (introduction, *experiments.remarks)],
    )


def page_of(paper: Paper, reproduction: PaperReproduction, *, pictures: bool = True, prefix: str = "") -> str:
    """Return a reproduction's page: findings, pictures with a path prefix, and all tables."""
    experiments = _experiments_of(paper, is_own=bool(reproduction.own))
    parts = [f"# {experiments.title}", experiments.introduction.format(run=reproduction), *experiments.remarks]
    parts += [*_describe_missing(reproduction), *_describe_left_out(reproduction)]
    for heading, findings in reproduction.findings.items():
        parts += [f"## {heading}", *_remark_on(heading), count_in_words(findings), findings_in_markdown(findings)]
    if pictures:
        captions = {name: experiments.captions[name] for name in experiments.pictures(reproduction)}
        parts.append("## Pictures")
        parts += [f"![{words}]({prefix}{name}.png)\n\n{words}" for name, words in captions.items()]
    parts.append("## Tables")
    parts += [markdown_of(sheet) for sheet in experiments.sheets(reproduction) if sheet.rows]
    return "\n\n".join(parts) + "\n"


def _remark_on(heading: str) -> list[str]:
    return [{ON_STAND_IN: _STAND_IN, ON_OWN_DATA: _OWN}[heading]] if heading in {ON_STAND_IN, ON_OWN_DATA} else []


def show_reproduction(console: Console, paper: Paper, reproduction: PaperReproduction) -> None:
    """Print all tables, the findings, and what is missing."""
    experiments = _experiments_of(paper, is_own=bool(reproduction.own))
    for sheet in experiments.sheets(reproduction):
        if sheet.rows:
            show_sheet(console, sheet)
    for heading, findings in reproduction.findings.items():
        show_findings(console, heading, findings)
    console.print()
    cells = experiments.cells.format(run=reproduction)
    notes = (f"{cells}, seed {reproduction.seed}; ± is one standard error", *experiments.remarks)
    warned = [
        *_describe_missing(reproduction),
        *_describe_left_out(reproduction),
        *_remark_on(ON_OWN_DATA if reproduction.own else ""),
    ]
    for style, lines in (("yellow", warned), ("dim", notes)):
        for line in lines:
            console.print(Text(line, style=style))


def _describe_left_out(reproduction: PaperReproduction) -> Iterator[str]:
    """Yield a sentence if only some of the paper's experiments were run, or others instead."""
    if reproduction.is_part:
        settings = [f"--set {setting}" for setting in reproduction.settings]
        options = ", ".join([*settings, *(f"--table {name}" for name in reproduction.only)])
        yield f"A part of the paper's experiments, or others: {options}. Claims whose rows are not there are left out."


def _describe_missing(reproduction: PaperReproduction) -> Iterator[str]:
    """Yield a sentence for each reason why parts are missing."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reproduction.missing.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield f"Not run on {', '.join(names)}: {reason}. {_FOLDER}"
