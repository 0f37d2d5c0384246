"""What a paper says and is run again with, as data: tables and grids that stand in its package as files."""

import csv
import importlib.resources
from collections.abc import Sequence


def rows_beside(module: str, file: str) -> Sequence[dict[str, str]]:
    """Return the lines of a CSV file in a module's package, by the names of its header."""
    return list(csv.DictReader(text_beside(module, file).splitlines()))


def text_beside(module: str, file: str) -> str:
    """Return what a file in a module's package holds."""
    return importlib.resources.files(module.rpartition(".")[0]).joinpath(file).read_text(encoding="utf-8")
