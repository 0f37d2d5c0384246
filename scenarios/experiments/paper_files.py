"""A paper's published tables and the grids of its experiments, from the files of its package."""

import csv
import importlib.resources
from collections.abc import Sequence


def rows_beside(module: str, file: str) -> Sequence[dict[str, str]]:
    """Read the rows of a CSV file in a module's package, as dictionaries by column."""
    return list(csv.DictReader(text_beside(module, file).splitlines()))


def text_beside(module: str, file: str) -> str:
    """Read the text of a file in a module's package."""
    return importlib.resources.files(module.rpartition(".")[0]).joinpath(file).read_text(encoding="utf-8")
