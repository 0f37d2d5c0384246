"""Probabilities that are claimed, held against what is found: each system's part of one page.

A system whose outcomes say how probably they are wrong brings a `Calibration`: it draws societies, lets the protocol's
own estimators make their claims, and counts how often these are wrong. `psephos calibrate` prints all of them, and the
manual keeps its page.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from ...protocol.arrays import FloatArray
from ...protocol.errors import ConfigurationError, one_of, require
from ..presentation.terminal import show_sheet
from ..running.folder import RunFolder
from ..running.progress import OnStep
from ..system import load_each, names_with
from ..tables import Table, markdown_of

__all__ = [
    "ALL",
    "SMALL",
    "Calibration",
    "Claims",
    "Drawn",
    "calibrate",
    "check_calibration",
    "claims_of",
    "page_of_calibration",
    "show_calibration",
]

ALL: Final = "all"
"""Every system that has the part."""
SMALL: Final = 0.05
"""Claims of errors below this are counted by themselves: they are the ones that people act on."""
_LEAST_TRIALS: Final = 10
_MOST_TRIALS: Final = 1_000_000


class Drawn(NamedTuple):
    """What a calibration is asked for."""

    trials: int
    """Societies of each cell."""
    seed: int
    """Of everything drawn."""
    tell: Callable[[str], None]
    """Is told what begins."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
    """How well a system's claims hold: its part `calibration`.

    Args:
        title: the section's.
        about: its first paragraphs: what is claimed, under which prior, and how it is held against what is true.
        tables: makes the tables, one by one, each with the name of its file.
        steps: how often it tells what begins; 0 where that is not known.
    """

    title: str
    about: str
    tables: Callable[[Drawn], Iterable[Table]]
    steps: int = 0


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """Claimed probabilities of errors beside the share that was wrong; nan where there is none.

    Args:
        number: of claims.
        claimed: their mean.
        found: the share of them that was wrong.
        deviation: by how many standard errors what was found exceeds the claims, if these are right.
        small_number: of claims below `SMALL`.
        small_claimed: their mean.
        small_found: the share of these that was wrong.
        small_deviation: as `deviation`.
    """

    number: int
    claimed: float
    found: float
    deviation: float
    small_number: int
    small_claimed: float
    small_found: float
    small_deviation: float


def claims_of(claimed: FloatArray, wrong: NDArray[np.bool_]) -> Claims:
    """Return claims held against what was found.

    Args:
        claimed: the probability of an error that each of some outcomes claims.
        wrong: whether it was wrong.
    """
    of_all = _held_against(claimed, wrong)
    small = claimed < SMALL
    of_small = _held_against(claimed[small], wrong[small])
    return Claims(
        number=len(claimed),
        claimed=of_all[0],
        found=of_all[1],
        deviation=of_all[2],
        small_number=int(np.count_nonzero(small)),
        small_claimed=of_small[0],
        small_found=of_small[1],
        small_deviation=of_small[2],
    )


def _held_against(claimed: FloatArray, wrong: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the mean claim, the share that was wrong, and by how many standard errors of the claims it is more."""
    number = len(claimed)
    if not number:
        return math.nan, math.nan, math.nan
    expected, errors = math.fsum(claimed.tolist()), int(np.count_nonzero(wrong))
    spread = math.sqrt(math.fsum((claimed * (1 - claimed)).tolist()))
    deviation = (errors - expected) / spread if spread else (0.0 if errors == expected else math.inf)
    return expected / number, errors / number, deviation


def check_calibration(name: str, *, trials: int) -> tuple[str, ...]:
    """Return the systems that a name stands for.

    Raises:
        ConfigurationError: there is none with this part, or the number of trials is out of range.
    """
    known = names_with("calibration")
    if name != ALL and name not in known:
        raise ConfigurationError(field="system", value=name, allowed=one_of((ALL, *known), name))
    require(_LEAST_TRIALS <= trials <= _MOST_TRIALS, "--trials", trials, f"from {_LEAST_TRIALS} to {_MOST_TRIALS:,}")
    return known if name == ALL else (name,)


def calibrate(
    name: str,
    *,
    trials: int,
    seed: int = 1,
    folder: RunFolder | None = None,
    on_progress: OnStep = lambda _said, _done, _total: None,
) -> dict[str, list[Table]]:
    """Hold the claims of a system, or of all, against what is found.

    Args:
        name: the system's, or `ALL`.
        trials: societies of each cell.
        seed: of everything drawn; the same seed gives the same numbers.
        folder: gets `calibration.md` and a CSV for each table.
        on_progress: told of each part as it begins.

    Returns:
        The tables of each system.

    Raises:
        ConfigurationError: see `check_calibration`.
    """
    wanted = check_calibration(name, trials=trials)
    parts = {system: part for system, part in load_each("calibration", Calibration) if system in wanted}
    known = [part.steps for part in parts.values()]
    total, begun = sum(known) if all(known) else 0, itertools.count()

    def tell(said: str) -> None:
        on_progress(said, next(begun), total)

    found = {system: list(part.tables(Drawn(trials, seed, tell))) for system, part in parts.items()}
    if folder is not None:
        for system, tables in found.items():
            for table in tables:
                folder.write_table(f"{system}-{table.name}.csv", table.full)
        folder.write_text("calibration.md", page_of_calibration(found, trials=trials, seed=seed))
    return found


def page_of_calibration(found: Mapping[str, Sequence[Table]], *, trials: int, seed: int) -> str:
    """Return the page: a section for each system.

    Args:
        found: what `calibrate` returned.
        trials: of each cell.
        seed: of everything drawn.
    """
    parts = [
        "# Calibration: claimed and counted errors",
        (
            "This page is for everybody who wants to know how far a claimed probability of an error can be trusted. "
            f"`psephos calibrate all` draws {trials:,} societies for each cell (seed {seed}), lets the protocols "
            "decide and claim, and counts how often they were wrong. *Claimed* is the mean of the claimed "
            "probabilities of an error, and *found* is the share that was wrong. *Small* are claims below "
            f"{100 * SMALL:g} %, which people act on. A claim holds under the prior that it names. Under another prior "
            "it may be too low or too high, and the tables say by how much. A *verdict* needs no prior: whatever the "
            "truth is, it is wrong in at most the stated share of cases."
        ),
    ]
    for system, part in _parts(found):
        parts += [f"## {part.title}", part.about]
        parts += [markdown_of(table) for table in found[system]]
    return "\n\n".join(parts) + "\n"


def show_calibration(console: Console, found: Mapping[str, Sequence[Table]]) -> None:
    """Print all tables."""
    for system, part in _parts(found):
        console.print()
        console.print(Text(part.title, style="bold underline"))
        console.print(Text(part.about))
        for table in found[system]:
            show_sheet(console, table)


def _parts(found: Mapping[str, Sequence[Table]]) -> Iterator[tuple[str, Calibration]]:
    return ((system, part) for system, part in load_each("calibration", Calibration) if system in found)
