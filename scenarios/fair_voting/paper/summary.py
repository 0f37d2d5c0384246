"""The page that a reproduction leaves: what holds and what does not, the pictures, all tables."""

from collections.abc import Iterator

from ...experiments.reproductions import page_of
from .cells import DELTA, GAMMA
from .pictures import pictures_of
from .profiles import FITTED, READ
from .rows import Reproduction
from .tables import sheets_of

__all__ = ["READINGS", "SOCIETIES", "missing_in_words", "summary_in_markdown"]

READINGS = (
    "F1 to F6 are readings: the questions that the paper leaves open or has wrong, each with the answer taken here, as "
    "the manual's page on fair and private voting lists them by number."
)
"""What the numbers of readings mean."""
SOCIETIES = (
    "The paper's voters are drawn from two Mallows models, whose centers and dispersions it does not give. Two pairs "
    f"stand in for them: {FITTED.title}, which comes nearest to the whole table ({FITTED.name}), and {READ.title}, "
    f"which reading F5 found for its Laplace rows ({READ.name}). Voters are drawn anew in every election. Algorithm 2 "
    f"has n_s = ⌈(m/ε²)·ln(m/δ)⌉ with δ = {DELTA:g}, and γ = {GAMMA:g}; the paper has no value of either."
)
"""What is not the paper's own."""


def missing_in_words(reproduction: Reproduction) -> Iterator[str]:
    """Yield a sentence for each reason why something is not there."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reproduction.missing.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield (
            f"Fairness, welfare and proven ε of {', '.join(names)} are not measured: {reason}. A folder is named by "
            "--data FOLDER or PSEPHOS_DATA, and has a folder for each data set."
        )


def summary_in_markdown(reproduction: Reproduction, *, pictures: bool = True, prefix: str = "") -> str:
    """Return a page: what holds and what does not, the pictures, all tables.

    Args:
        reproduction: what was measured.
        pictures: show them.
        prefix: of the pictures' names.
    """
    opening = [
        "# The paper on fair and private voting rules, run again",
        (
            f"`psephos reproduce fair-voting` runs Table 1 again, {reproduction.trials:,} elections a cell (seed "
            f"{reproduction.seed}), N/A cells included, and what the paper does not show: proven losses, other "
            "objectives, better mechanisms at equal proven loss, and published profiles. Every number and every "
            "verdict here comes from that run; ± is one standard error. ΔW is the difference of the groups' mean "
            "utilities of the winner, W its mean utility to all voters; both are of the true profile."
        ),
        SOCIETIES,
        READINGS,
        *missing_in_words(reproduction),
    ]
    captions = {name: _CAPTIONS[name] for name in pictures_of(reproduction)} if pictures else {}
    return page_of(reproduction, opening, captions=captions, sheets=sheets_of(reproduction), prefix=prefix)


_CAPTIONS = {
    "table-1": "Table 1 again: diamonds are published, hollow marks are cells that the paper has as N/A. Electorates "
    "of one ε stand side by side.",
    "equal-loss": "Right winners, those without privacy, by each objective, at equal loss that is proven for replacing "
    "a voter's ranking; sampling has the γ and n_s that suit it best.",
    "local": "The variance of one voter's estimated utilities, over the least of all local mechanisms.",
    "real": "Three published profiles under the paper's objective: ΔW and W of the winners over proven ε.",
    "trade-off": "Where the winners of three objectives are on three published profiles, as ε grows; stars are what "
    'there is without privacy. Permute-and-flip has a soft bound on ΔW in "constrained" (see the tables).',
}
