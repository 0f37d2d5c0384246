"""The paper's numbers, those of its tables from `published.csv`.

Source: Yan, Liu and Liu (2018), Section 5.2.3; prototypes' numbers are those of reading W8.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ...experiments.paper_files import rows_beside

RUNS: Final = 2000
"""Section 5.1.1: "the protocol is executed 2000 times, and its average score is reported"."""
PARTNERS_OF_FIGURE: Final = (10, 100, 500)

_ROWS: Final = rows_beside(__name__, "published.csv")
EPSILONS: Final = tuple(float(name) for name in list(_ROWS[0])[3:])
PARTNERS_OF_TABLES: Final = tuple(dict.fromkeys(int(row["partners"]) for row in _ROWS))


def _table(number: str) -> Mapping[tuple[str, int], tuple[float, ...]]:
    return {
        (row["variant"], int(row["partners"])): tuple(map(float, list(row.values())[3:]))
        for row in _ROWS
        if row["table"] == number
    }


TABLE_3: Final = _table("3")
"""Accuracy by variant and number of partners, over `EPSILONS`."""
TABLE_4: Final = _table("4")
"""MSE_q by variant and number of partners, over `EPSILONS`."""

# Half of the last decimal that is printed, with room for a number that lies on the border.
_ROUNDING = 0.5e-5 + 1e-9
_MOST_REPETITIONS = 25


class Prototype(msgspec.Struct, frozen=True):
    """What reading W8 gives, from a prototype that shares nothing with Psephos."""

    second_moment: float  # E[t²] of the optimal mechanism, averaged over uniform signed weights ±1, ±2, ±3
    optimal: float | None  # its accuracy with 100 partners on uniform data; None where not given
    printed: float | None  # the printed protocol's


PROTOTYPES: Final[Mapping[float, Prototype]] = {
    0.5: Prototype(148.4, None, None),
    1.0: Prototype(40.07, 0.608, 0.565),
    2.0: Prototype(12.07, 0.713, 0.634),
    3.0: Prototype(7.20, 0.802, 0.699),
    5.0: Prototype(5.054, 0.915, 0.803),
}


def shares_of(variant: str) -> list[float]:
    """Return all accuracies of a variant."""
    return [share for (of, _), shares in TABLE_3.items() if of == variant for share in shares]


def runs_behind(shares: Iterable[float]) -> int:
    """Return the least multiple of `RUNS` of which all these shares can be whole numbers of runs.

    A share that is printed with five decimals tells how many runs it can be of: 0.49440 is no share of 2,000. Where no
    multiple up to 25 fits, the decimals tell nothing, and it is `RUNS`.
    """
    printed = list(shares)
    for repetitions in range(1, _MOST_REPETITIONS + 1):
        runs = RUNS * repetitions
        if all(abs(share - round(share * runs) / runs) <= _ROUNDING for share in printed):
            return runs
    return RUNS
