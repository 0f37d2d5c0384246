"""The paper's numbers, each with its table.

Source: Yan, Liu and Liu (2018), Section 5.2.3; prototypes' numbers are those of reading W8.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

RUNS: Final = 2000
"""Section 5.1.1: "the protocol is executed 2000 times, and its average score is reported"."""
EPSILONS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PARTNERS_OF_TABLES: Final = (10, 50, 100)
PARTNERS_OF_FIGURE: Final = (10, 100, 500)

TABLE_3: Final[Mapping[tuple[str, int], tuple[float, ...]]] = {
    ("laplace", 10): (0.49440, 0.50120, 0.50125, 0.50128, 0.50140, 0.51145, 0.51185, 0.51995, 0.52025, 0.52695),
    ("printed", 10): (0.50680, 0.51265, 0.51665, 0.52675, 0.53345, 0.53700, 0.54660, 0.55505, 0.55540, 0.56840),
    ("laplace", 50): (0.50060, 0.50043, 0.50105, 0.50415, 0.50500, 0.50985, 0.51103, 0.51120, 0.51790, 0.52135),
    ("printed", 50): (0.50795, 0.50920, 0.51725, 0.52370, 0.52550, 0.53820, 0.54690, 0.55195, 0.56060, 0.56265),
    ("laplace", 100): (0.49840, 0.50053, 0.50150, 0.50260, 0.50450, 0.50890, 0.51195, 0.51225, 0.51300, 0.52010),
    ("printed", 100): (0.50800, 0.51340, 0.51070, 0.52335, 0.53110, 0.53630, 0.54345, 0.54510, 0.55700, 0.56310),
}
"""Accuracy by variant and number of partners, over `EPSILONS`."""

TABLE_4: Final[Mapping[tuple[str, int], tuple[float, ...]]] = {
    ("laplace", 10): (20.80675, 5.18172, 2.34181, 1.31362, 0.82597, 0.59720, 0.42769, 0.33390, 0.26256, 0.20914),
    ("printed", 10): (15.82780, 3.79594, 1.68442, 0.92401, 0.59020, 0.39621, 0.28239, 0.21623, 0.16892, 0.13490),
    ("laplace", 50): (4.00614, 1.00797, 0.44805, 0.25437, 0.16142, 0.11203, 0.08213, 0.06390, 0.04941, 0.04070),
    ("printed", 50): (3.01404, 0.74125, 0.31822, 0.17802, 0.11303, 0.07640, 0.05671, 0.04168, 0.03253, 0.02548),
    ("laplace", 100): (1.97664, 0.50439, 0.22056, 0.12592, 0.08012, 0.05566, 0.04160, 0.03130, 0.02509, 0.01985),
    ("printed", 100): (1.48116, 0.36118, 0.16328, 0.08678, 0.05549, 0.03759, 0.02717, 0.02070, 0.01608, 0.01292),
}
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
