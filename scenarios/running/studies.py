"""Results that are not a single run: trials, an audit, a reproduction, a series, or a table of power.

A command writes `study.json` with its tables, before its pictures; it describes them and has the verdict. The page of
such a folder is computed only from it (`psephos report`), and a run's page shows the studies in its folder.
"""

from typing import Final

import msgspec

from ..tables import Tone
from .folder import RunFolder

STUDY: Final = "study.json"


class StudyTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A CSV file and the picture of the same name, of which one may be missing.

    Args:
        name: the file's name, without suffix.
        caption: the table's caption.
        picture: the picture's description.
        columns: headings on the page, by the file's columns.
        left_out: columns that only the file has.
        is_mixed: whether magnitudes of numbers differ by row.
    """

    name: str
    caption: str = ""
    picture: str = ""
    columns: dict[str, str] = {}
    left_out: list[str] = []
    is_mixed: bool = False


class Study(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a study's page: kind, title, verdict sentences, tables and notes."""

    kind: str
    title: str
    verdict: list[str]
    tables: list[StudyTable]
    facts: list[str] = []
    notes: list[str] = []
    tone: Tone = ""


def write_study(folder: RunFolder, study: Study) -> None:
    """Write `study.json`."""
    folder.write_json(STUDY, study)
