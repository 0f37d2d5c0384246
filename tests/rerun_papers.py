"""A paper that is run again with few trials, and what was found with other numbers in its tables, for its verdicts."""

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from psephos.scenarios.experiments.findings import Finding
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.paper import Paper
from psephos.scenarios.experiments.reproductions import Experiments, page_of, reproduce, show_reproduction
from psephos.scenarios.presentation.drawing import Picture, save_pictures
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.verdicts import Judgement
from rich.console import Console

Reproduced = tuple[Any, Path, list[tuple[str, float, float]]]
Change = Callable[[Any], dict[str, Any]]
Flip = tuple[str, str, Change, Change]
"""How a claim begins, the table that it is judged by, and numbers there of which it is true, and of which not."""


def run_small(paper: Paper, path: Path, **options: Any) -> Reproduced:
    """Reproduce a paper without pictures; return what was found, its folder, and what was told on the way."""
    told: list[tuple[str, float, float]] = []

    def tell(said: str, done: float, total: float) -> None:
        told.append((said, done, total))

    return reproduce(paper, RunFolder(path), pictures=False, on_progress=tell, **options), path, told


def check_folder(paper: Paper, reproduced: Reproduced, tables: Iterable[str]) -> None:
    """Check that a folder holds a CSV for each table, the whole and the summary."""
    found, path, _ = reproduced
    of_all = {"claims.csv", "reproduction.json", "study.json", "summary.md"}
    assert {file.name for file in path.iterdir()} == {*(f"{table}.csv" for table in tables), *of_all}
    assert (path / "summary.md").read_text(encoding="utf-8") == page_of(paper, found)


def check_pictures(pictures: Mapping[str, Picture], names: Iterable[str], folder: Path) -> None:
    """Draw pictures into a folder, and check that they are these."""
    drawn = {path.name for path in save_pictures(pictures, folder)}
    assert drawn == {f"{name}.{kind}" for name in names for kind in ("svg", "png")}


def shown(paper: Paper, reproduction: Any, *, width: int) -> str:
    """Return what a terminal shows."""
    console = Console(width=width, file=io.StringIO(), record=True)
    show_reproduction(console, paper, reproduction)
    return console.export_text()


def exactly(**numbers: float) -> dict[str, Any]:
    """Return numbers with hardly an error."""
    return {name: Measurement(value, 1e-5) for name, value in numbers.items()}


def where(number: str, own: float, others: float, /, **fields: object) -> Change:
    """Give the rows with these fields a number, and the others another one."""
    return lambda row: exactly(**{number: own if fields.items() <= row.items() else others})


def swapped(claim: str, table: str, number: str, own: float, others: float, /, **fields: object) -> Flip:
    """Return a claim that is true of these numbers, and not when the others have them."""
    return claim, table, where(number, own, others, **fields), where(number, others, own, **fields)


def replace_rows(reproduction: Any, table: str, change: Change) -> Any:
    """Change rows; errors are those of many trials, so that values alone decide."""
    rows = tuple({**row, **change(row)} for row in getattr(reproduction, table))
    return msgspec.structs.replace(reproduction, trials=100_000, **{table: rows})


def findings_of(experiments: Experiments[Any], reproduction: Any) -> list[Finding]:
    """Return what is found of the paper's claims and of ours, in their order."""
    assert experiments.additions is not None
    return [*experiments.on_paper(reproduction), *experiments.additions(reproduction)]


def finding_of(experiments: Experiments[Any], reproduction: Any, claim: str) -> Finding:
    """Return what is found of the claim that begins so."""
    (own,) = (each for each in findings_of(experiments, reproduction) if each.claim.startswith(claim))
    return own


def check_flip(flip: Flip, reproduction: Any, find: Callable[[Any], Finding], otherwise: Judgement | None) -> None:
    """Check that a claim holds of the one numbers, and has another verdict of the others: this one, if one is given."""
    _, table, *changes = flip
    held, failed = (find(replace_rows(reproduction, table, change)) for change in changes)
    assert held.judgement is Judgement.HOLDS, held.numbers
    assert failed.judgement is (otherwise or failed.judgement) is not Judgement.HOLDS, failed.numbers
