"""The page that a reproduction leaves: what holds and what does not, the pictures, all tables."""

from collections.abc import Iterator

from ...experiments.reproductions import page_of
from .pictures import pictures_of
from .rows import Reproduction
from .tables import sheets_of

__all__ = ["READINGS", "missing_in_words", "summary_in_markdown"]

READINGS = (
    "T1 to T9 are readings: the questions that the paper leaves open or has wrong, each with the answer taken here, "
    "as the manual's page on truth discovery lists them by number."
)
"""What the numbers of readings mean."""


def missing_in_words(reproduction: Reproduction) -> Iterator[str]:
    """Yield a sentence for each reason why something is not there."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reproduction.missing.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        table = "Table 3 and Figure 4, and the " if "duchenne" in names else "The "
        yield (
            f"{table}comparisons on {', '.join(names)} are not made: {reason}. A folder is named by --data FOLDER or "
            "PSEPHOS_DATA, and has a folder for each data set."
        )


def summary_in_markdown(reproduction: Reproduction, *, pictures: bool = True, prefix: str = "") -> str:
    """Return a page: what holds and what does not, the pictures, all tables.

    Args:
        reproduction: what was measured.
        pictures: show them.
        prefix: of the pictures' names.
    """
    opening = [
        "# The truth discovery paper, run again",
        (
            f"`psephos reproduce truth-discovery` runs Tables 2 and 3 and Figures 1 to 4 again, "
            f"{reproduction.trials:,} trials a cell (seed {reproduction.seed}), and what the paper does not show: "
            "absolute errors, proven losses, the mechanisms at equal proven loss, and better estimators "
            f"({reproduction.comparison_trials:,} trials a cell). Every number and every verdict here comes from "
            "that run; ± is one standard error. The peer grading data are not published: Table 2 and Figure 3 are of "
            "a made-up stand-in of the same size, and say nothing of the paper's own data."
        ),
        READINGS,
        *missing_in_words(reproduction),
    ]
    captions = {name: _CAPTIONS[name] for name in pictures_of(reproduction)} if pictures else {}
    return page_of(reproduction, opening, captions=captions, sheets=sheets_of(reproduction), prefix=prefix)


_CAPTIONS = {
    "figure-1": "Figure 1 again: the density of Δ as printed; the paper's text does not give b and n. Dotted is one "
    "layer's change, which is two layers' mean as well.",
    "figure-2": "Figure 2 again: the weights of the workers with most answers, from the answers and from the reports.",
    "figure-3": "Figure 3 again, on the stand-in; diamonds are Table 2.",
    "figure-4": "Figure 4 again; diamonds are Table 3.",
    "equal-loss": "What the second layer gains with the paper's truth discovery: at equal claimed ε, and where all "
    "answers of the worker with most answers have the same proven loss (reading T4).",
    "estimators": "What `auto` gains over the paper's truth discovery on the same reports.",
}
