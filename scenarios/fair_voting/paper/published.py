"""The paper's numbers: Table 1, from `published.csv`.

Source: Mohsin, Fair and Private Voting Rules, project report, Table 1.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from ...experiments.paper_files import rows_beside

RUNS: Final = 1000
""""Each value in the table represents the average of 1000 sample elections.\""""
MECHANISMS: Final = ("laplace", "sampling")


class PrintedCell(msgspec.Struct, frozen=True):
    """One cell as printed."""

    disparity: float | None  # ΔW; None where "N/A" is printed
    welfare: float  # W, which is printed even there


TABLE_1: Final[Mapping[tuple[tuple[int, int], str, float], PrintedCell]] = {
    ((int(row["n_1"]), int(row["n_2"])), row["mechanism"], float(row["epsilon"])): PrintedCell(
        None if row["disparity"] == "N/A" else float(row["disparity"]), float(row["welfare"])
    )
    for row in rows_beside(__name__, "published.csv")
}
"""By (n₁, n₂), mechanism and ε."""
SIZES: Final = tuple(dict.fromkeys(sizes for sizes, _, _ in TABLE_1))
"""n₁ and n₂."""
EPSILONS: Final = tuple(dict.fromkeys(epsilon for _, _, epsilon in TABLE_1))
