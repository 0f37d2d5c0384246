"""The paper's numbers: Table 1.

Source: Mohsin, Fair and Private Voting Rules, project report, Table 1.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

RUNS: Final = 1000
""""Each value in the table represents the average of 1000 sample elections.\""""
SIZES: Final[Sequence[tuple[int, int]]] = ((1000, 500), (2000, 1000), (4000, 2000))
"""n₁ and n₂."""
EPSILONS: Final = (0.3, 0.6, 1.0)
MECHANISMS: Final = ("laplace", "sampling")


class PrintedCell(msgspec.Struct, frozen=True):
    """One cell as printed."""

    disparity: float | None  # ΔW; None where "N/A" is printed
    welfare: float  # W, which is printed even there


TABLE_1: Final[Mapping[tuple[tuple[int, int], str, float], PrintedCell]] = {
    **{(sizes, "laplace", epsilon): PrintedCell(0.45, 0.68) for sizes in SIZES for epsilon in EPSILONS},
    ((1000, 500), "sampling", 0.3): PrintedCell(None, 0.74),
    ((1000, 500), "sampling", 0.6): PrintedCell(0.57, 0.95),
    ((1000, 500), "sampling", 1.0): PrintedCell(0.68, 1.06),
    ((2000, 1000), "sampling", 0.3): PrintedCell(None, 0.77),
    ((2000, 1000), "sampling", 0.6): PrintedCell(0.55, 0.94),
    ((2000, 1000), "sampling", 1.0): PrintedCell(0.58, 1.04),
    ((4000, 2000), "sampling", 0.3): PrintedCell(0.47, 0.77),
    ((4000, 2000), "sampling", 0.6): PrintedCell(0.56, 0.97),
    ((4000, 2000), "sampling", 1.0): PrintedCell(0.65, 1.05),
}
"""By (n₁, n₂), mechanism and ε."""
