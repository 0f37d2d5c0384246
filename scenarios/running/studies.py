"""What a command leaves that holds no single run: trials, an audit, a reproduction, a series, a table of power.

It writes `study.json` beside its tables and before its pictures: what these are, and what came of them. The page of
such a folder is made of that alone (`psephos report`), and a run's page shows the studies in its folder.
"""

from typing import Final

import msgspec

from ..tables import Tone
from .folder import RunFolder

STUDY: Final = "study.json"


class StudyTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A CSV file and the picture of the same name, of which one may be missing.

    Args:
        name: of the file, without its end.
        caption: what the table shows.
        picture: what the picture shows.
        columns: what columns are called on the page, by the file's names.
        left_out: columns that are in the file alone.
        is_mixed: whether each row has numbers of another size.
    """

    name: str
    caption: str = ""
    picture: str = ""
    columns: dict[str, str] = {}
    left_out: list[str] = []
    is_mixed: bool = False


class Study(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of a study's page: what it is, of what, what came of it in sentences, its tables, and what else is said."""

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
