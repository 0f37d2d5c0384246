"""Pages that a browser opens from disk: of a run, and of whatever is none.

A page is computed from the files in a folder alone, so that it can be made again at any time (`psephos report`).
"""

from pathlib import Path
from typing import Final

from ..running.reader import read_run
from .page import write_page
from .run_page import page_of_run
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
        page = page_of_run(read_run(folder), list(sections_of_studies(folder)))
    write_page(page, path)
    return path
