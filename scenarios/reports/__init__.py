"""HTML pages on disk: of runs, series, audits, trials and reproductions.

A page is computed only from the files in a folder, so it can be made again at any time (`psephos report`).
"""

from pathlib import Path
from typing import Final

from ..running.reader import read_run
from .page import write_page
from .run_page import page_of_run
from .study_pages import page_of_study, sections_of_studies

__all__ = ["REPORT", "write_report"]

REPORT: Final = "report.html"  # file name of a page in its folder


def write_report(folder: Path, path: Path | None = None) -> Path:
    """Write the page of a run, a series, an audit, trials or a reproduction; by default into its folder.

    Raises:
        ConfigurationError: the folder is none of these, a file in it is damaged, or the page cannot be written.
    """
    path = folder / REPORT if path is None else path
    page = page_of_study(folder)
    if page is None:
        page = page_of_run(read_run(folder), list(sections_of_studies(folder)))
    write_page(page, path)
    return path
