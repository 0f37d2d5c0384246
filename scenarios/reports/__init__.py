"""Pages that a browser opens from disk: of a run, of several beside each other, of an audit, of a reproduction.

A page is computed from the files in a folder alone, so that it can be made again at any time (`psephos report`).
"""

from pathlib import Path
from typing import Final

from ..running.reader import read_run, read_votes
from .page import write_page
from .run_page import page_of_run
from .series_page import MOST_VOTES
from .study_pages import page_of_study, sections_of_studies

__all__ = ["REPORT", "write_report"]

REPORT: Final = "report.html"  # the name of a page in the folder that it is of


def write_report(folder: Path, path: Path | None = None) -> Path:
    """Write the page of what a run, a series, an audit, trials or a reproduction left; by default in its folder.

    Raises:
        ConfigurationError: it is no run's folder, something in it is damaged, or the file cannot be written.
    """
    path = folder / REPORT if path is None else path
    page = page_of_study(folder)
    if page is None:
        left = read_run(folder)
        page = page_of_run(left, read_votes(left, MOST_VOTES), list(sections_of_studies(folder)))
    write_page(page, path)
    return path
