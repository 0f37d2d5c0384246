"""The page of a study that is not a single run: its verdict, tables and pictures (`running.studies`)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ...protocol.errors import require
from ..presentation.rows import table_of_rows
from ..reading.cells import rows_in
from ..reading.files import check_files
from ..running.reader import pictures_in, read_as, read_command
from ..running.studies import STUDY, Study
from .page import Block, Page, Section, Text, drawn, repeat_section

_NAME: Final = re.compile(r"[\w-]+")  # a table's name, which is also its file's, and so must not contain a path


def page_of_study(folder: Path) -> Page | None:
    """Return the page of a study; None if the folder has no study."""
    if not (folder / STUDY).exists():
        return None
    study = _study_in(folder)
    findings_section = Section(title="What was found", blocks=[*_blocks_of(study, folder)])
    return Page(
        kind=study.kind,
        title=study.title,
        facts=study.facts,
        verdict=study.verdict,
        tone=study.tone,
        sections=[*([findings_section] if findings_section.blocks else ()), *repeat_section(read_command(folder))],
    )


def sections_of_studies(folder: Path) -> Iterator[Section]:
    """Yield the sections of studies in subfolders of a run's folder."""
    for file in sorted(folder.glob(f"*/{STUDY}")):
        study = _study_in(file.parent)
        summary = Text(" ".join([f"{study.title}: {', '.join(study.facts)}.", *study.verdict]))
        yield Section(title=study.kind, blocks=[summary, *_blocks_of(study, file.parent)])


def _study_in(folder: Path) -> Study:
    check_files(folder)
    study: Study = read_as(folder / STUDY, Study)
    return study


def _blocks_of(study: Study, folder: Path) -> Iterator[Block]:
    """Yield a study's pictures, tables and notes."""
    pictures = pictures_in(folder)
    for table in study.tables:
        require(_NAME.fullmatch(table.name), f"{STUDY}.tables", table.name, "names of letters, digits, - and _ alone")
        if table.picture:
            yield from drawn(pictures, table.name, table.picture)
        file = folder / f"{table.name}.csv"
        file_rows = rows_in(file) if table.caption and file.exists() else []
        rows = [{table.columns.get(key, key): value for key, value in row.items()} for row in file_rows]
        if rows:
            hidden_keys = [key for key in rows[0] if all(row[key] is None for row in rows)]
            hidden_keys += [table.columns.get(key, key) for key in table.left_out]
            yield table_of_rows(
                rows, caption=table.caption, name=table.name, left_out=hidden_keys, is_mixed=table.is_mixed
            )
    yield from (Text(note, "quiet") for note in study.notes)
