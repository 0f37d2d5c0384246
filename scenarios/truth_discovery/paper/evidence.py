"""How verdicts read the rows: selections and pairs."""

from collections.abc import Iterable, Iterator, Sequence

from .rows import ChoiceRow, ComparisonRow, PublishedCell

__all__ = ["behind", "cell_pairs", "compared", "of_method"]


def of_method(cells: Iterable[PublishedCell], estimator: str, mechanism: str) -> list[PublishedCell]:
    """Return the cells of one method, in the order of ε."""
    return [cell for cell in cells if (cell.estimator, cell.mechanism) == (estimator, mechanism)]


def cell_pairs(
    cells: Sequence[PublishedCell], one: tuple[str, str], other: tuple[str, str]
) -> Iterator[tuple[PublishedCell, PublishedCell]]:
    """Yield the cells of two methods (estimator, mechanism), ε by ε."""
    return zip(of_method(cells, *one), of_method(cells, *other), strict=True)


def compared(rows: Iterable[ComparisonRow], *, unit: str, mechanism: str, estimator: str) -> list[ComparisonRow]:
    """Return the rows of one estimator on one mechanism at the prices of one unit."""
    return [row for row in rows if (row.unit, row.mechanism, row.estimator) == (unit, mechanism, estimator)]


def behind(choices: Iterable[ChoiceRow]) -> list[ChoiceRow]:
    """Return the choices in which "auto" is behind the paper's method by more than one standard error."""
    return [choice for choice in choices if choice.auto_lead.value < -choice.auto_lead.standard_error]
