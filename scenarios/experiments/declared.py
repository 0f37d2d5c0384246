"""Read a paper's experiments and their page from the files of its package.

- `page.toml`: the page's texts, the grids that are run, texts on laws, tables and figures (`PaperPage`).
- `claims.csv`: each judged sentence of the paper: its place, some of its words, the claim, and how rows decide it
  (`comparing`), or the key of the law that decides it.
- `additions.csv`: claims of Psephos, in the same form.
- `published.csv`: the paper's numbers.

Only simulations and laws are Python code.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import msgspec

from ...protocol.errors import ConfigurationError, list_choices, require
from ..reading.conversion import convert
from ..reading.settings import read_settings
from ..tables import Table
from ..verdicts import Judgement
from .comparing import ClaimRule, Row, Tables, compare, select
from .figures import Figure, figure_of, has_rows
from .findings import BoundedFinding, Finding, sentences
from .paper_files import rows_beside, text_beside
from .reproductions import Asked, Experiments, PaperPart, PaperReproduction
from .sheets import list_rows_of, pivot


class Block(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Rows of a table, and how they become lines (`sheets.pivoting`)."""

    rows: str
    cells: str


class PaperTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table's layout on the page.

    Args:
        caption: the text above the table; its fields are those of the first row.
        lines: headings and labels; without blocks, all columns of `rows`.
        note: the text below the table.
        rows: the rows of a table with a line for each row.
        blocks: the blocks of a table whose rows are side by side.
        each: a field for whose values there are separate tables.
        labels: number of columns at the left that are not numbers.
        missing: the text of a cell without a row.
    """

    caption: str
    lines: str
    note: str = ""
    rows: str = ""
    blocks: Sequence[Block] = ()
    each: str = ""
    labels: int = 1
    missing: str = ""


class PaperPage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `page.toml`.

    Args:
        title, introduction, cells, remarks: as in `reproductions.Experiments`.
        tables: maps each table's name to its description, in the order of their files.
        axes: headings of the fields that distinguish rows.
        needs: maps a table to those from whose rows its rows are computed.
        grids: the grids that are run.
        limits: allowed values of settings, by the last part of their key: all words, or the least and possibly the
            greatest number.
        laws: for claims that laws judge, by key, fields of a `findings.BoundedFinding`.
        words: names of fields' values, by field.
        colors: colors of values, by field. sheets, figures: the page's tables and figures, in order.
    """

    title: str
    introduction: str
    cells: str
    remarks: Sequence[str]
    tables: Mapping[str, str]
    axes: Mapping[str, str]
    needs: Mapping[str, Sequence[str]] = {}
    grids: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    limits: Mapping[str, Sequence[Any]] = {}
    laws: Mapping[str, Mapping[str, Any]] = {}
    words: Mapping[str, Mapping[str, str]] = {}
    colors: Mapping[str, Mapping[str, str]] = {}
    sheets: Sequence[PaperTable] = ()
    figures: Sequence[Figure] = ()

    def word_for(self, field: str, value: str) -> str:
        """Return a value's name in a legend: its word, or a number with its field's letter."""
        is_number = value.replace(".", "").isdecimal()
        return self.words.get(field, {}).get(value, f"{self.axes[field]} = {value}" if is_number else value)


def experiments_of(
    module: str,
    *,
    parts: Callable[[Asked], Iterable[PaperPart]],
    laws: Callable[[], Iterable[BoundedFinding]],
    steps: int = 0,
    data: str = "",
    claims: str = "claims.csv",
) -> Experiments[Any]:
    """Return a paper's experiments from the files of a module's package.

    Args:
        module: name of a module in the package.
        parts: computes the rows of the page's tables.
        laws: returns findings by laws on the paper's claims.
        steps: as in `Experiments`.
        data: the page's file if all experiments use the user's data, to which laws do not apply.
        claims: the file of the claims that are judged first.
    """
    page = page_of(module, data or "page.toml")
    rows = msgspec.defstruct(
        "Rows",
        [(name, tuple[Mapping[str, Any], ...]) for name in page.tables],
        bases=(PaperReproduction,),
        kw_only=True,
    )
    rows_class = cast("type[PaperReproduction]", rows)

    def tables_of(run: Any) -> Tables:
        return {name: getattr(run, name) for name in page.tables}

    def judge_findings(file: str) -> Callable[[Any], Iterator[Finding]]:
        return lambda run: _judge_lines(rows_beside(module, file), tables_of(run), run, page.axes, laws)

    return Experiments(
        found=rows_class,
        parts=parts,
        steps=steps,
        needs=page.needs,
        grids=functools.partial(grids_of, module) if page.grids else None,
        on_paper=judge_findings(claims),
        additions=None if data else judge_findings("additions.csv"),
        sheets=lambda run: _sheets(page, tables_of(run), run),
        pictures=lambda run: {
            figure.name: figure_of(figure, tables_of(run), page.colors, page.word_for, run)
            for figure in page.figures
            if has_rows(figure, tables_of(run))
        },
        captions={figure.name: figure.caption for figure in page.figures},
        title=page.title,
        introduction=page.introduction,
        cells=page.cells,
        remarks=page.remarks,
    )


def page_of(module: str, file: str = "page.toml") -> PaperPage:
    """Read a paper's page from a module's package."""
    return msgspec.toml.decode(text_beside(module, file), type=PaperPage)


def grids_of(module: str, settings: Sequence[str] = ()) -> dict[str, Any]:
    """Return the grids of experiments: the paper's values, overridden by settings.

    A setting is a number, a word, or a list of these.

    Raises:
        ConfigurationError: there is no such key, or the page's limits do not allow the value.
    """
    page = page_of(module)
    tables = dict(_leaves_of(page.grids))
    for key, value in read_settings(settings):
        require(key in tables, "--set", key, list_choices(list(tables), key))
        table, (*_, name) = tables[key], (parts := key.split("."))
        limits = next((page.limits[part] for part in reversed(parts) if part in page.limits), ())
        try:
            table[name] = convert(value, _kind_of(table[name], limits), "")
        except ConfigurationError as error:
            raise ConfigurationError(field=key, value=value, allowed=error.allowed) from None
    return page.grids


def _kind_of(reproduction: Any, limits: Sequence[Any]) -> Any:
    """Return the type of values that may replace a value: one of some words, or a number between limits."""
    annotated, literal = cast("Any", Annotated), cast("Any", Literal)
    if isinstance(reproduction, list):
        items = cast("list[Any]", reproduction)
        kind = _kind_of(next(iter(items), ""), limits)
        return annotated[Sequence[kind], msgspec.Meta(min_length=min(len(items), 1))]
    if isinstance(reproduction, str):
        return literal[*limits] if limits else str
    return annotated[type(reproduction), msgspec.Meta(**dict(zip(("ge", "le"), limits, strict=False)))]


def _leaves_of(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the key of each value that can be set, and its table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves_of(cast("dict[str, Any]", value), f"{prefix}{name}.")
        elif not (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield f"{prefix}{name}", table


def _judge_lines(
    lines: Sequence[Mapping[str, str]],
    tables: Tables,
    run: PaperReproduction,
    axes: Mapping[str, str],
    laws: Callable[[], Iterable[BoundedFinding]],
) -> Iterator[Finding]:
    """Yield each line's verdict by rows, or by a law if the line has none."""
    if not run.own:
        keys = {key for line in lines for key in line["keys"].split()}
        yield from (each.to_finding for each in sentences(law for law in laws() if law.key in keys)) if keys else ()
    for line in lines:
        if not line["rows"]:
            continue
        on_stand_in = bool(line.get("stand_in"))
        rule = ClaimRule(line["rows"], line["against"], line["measure"], line["judge"])
        try:
            comparison = compare(rule, tables, trials=run.trials, axes=axes)
        except ValueError:  # rows without others to compare with
            if not run.is_part:
                raise
            comparison = None
        if comparison is None and (run.own or run.is_part):
            continue
        judgement, numbers = (Judgement.NO_DATA, "Its data set is not there.") if comparison is None else comparison
        yield Finding(
            claim=f"{line['claim']}.",
            source=line["place"],
            judgement=judgement,
            numbers=f"{numbers} {line['remark']}".strip(),
            on_stand_in=on_stand_in,
        )


def _sheets(page: PaperPage, tables: Tables, run: PaperReproduction) -> Iterator[Table]:
    """Yield the tables that have rows."""
    for sheet in page.sheets:
        blocks = [(select(tables, block.rows), block.cells) for block in sheet.blocks]
        sheet_rows = blocks[0][0] if blocks else select(tables, sheet.rows)
        if not sheet.each:
            if sheet_rows:
                yield _table(sheet, blocks, sheet_rows, page.words, run)
            continue
        for value in dict.fromkeys(row[sheet.each] for row in sheet_rows):
            parts = [([row for row in rows if row[sheet.each] == value], cells) for rows, cells in blocks]
            yield _table(sheet, parts, [row for row in sheet_rows if row[sheet.each] == value], page.words, run)


def _table(
    sheet: PaperTable,
    blocks: Sequence[tuple[Sequence[Row], str]],
    sheet_rows: Sequence[Row],
    words: Mapping[str, Mapping[str, str]],
    run: PaperReproduction,
) -> Table:
    names_of_values = {name: words.get(name, {}).get(value, value) for name, value in sheet_rows[0].items()}
    caption, note = sheet.caption.format(run=run, **names_of_values), sheet.note.format(run=run)
    table_fields: dict[str, Any] = {"caption": caption, "note": note, "labels": sheet.labels, "words": words}
    if blocks:
        return pivot(sheet.lines, *blocks, missing=sheet.missing, **table_fields)
    return list_rows_of(sheet_rows, sheet.lines, **table_fields)
