"""Show variants' errors and ε: in sentences, as tables in a terminal, and as JSON.

By trials, several variants may be best: those that do not differ significantly from the best are called equally good.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.privacy import TrustModel
from ..presentation.numbers import format_number, pluralize
from ..presentation.terminal import show_note, show_table
from ..running.statements import meaning_of
from ..tables import Cell, Entry, Table, snapped
from .counting import counting_errors
from .measurements import Measurement, deviation, error_of_unseen, separating_errors
from .variants import VariantOffer, VariantTable

Prices: TypeAlias = Mapping[str, VariantOffer | None]
"""Maps each variant to its offer at approximately the least ε for an error; None if no ε is known to suffice."""
_NO_PRICES: Final[Prices] = {}


def describe_trusted(model: TrustModel, table: VariantTable, *, people: int | None = None) -> str:
    """Return the trust statement of a variant with a number of people, as the beginning of a sentence."""
    return f"Trusting {table.trusted(model, people=people)}{', under masks' * model.is_masked}"


def verdict_of_variants(
    table: VariantTable, offers: Sequence[VariantOffer], prices: Prices = _NO_PRICES, *, error: float | None = None
) -> list[str]:
    """Return the verdict in sentences: for each trust model the best variant at the ε, and for the error.

    `error` is the aimed error, in the table's unit.
    """
    people, s = pluralize(table.people, table.resolved.protocol.client_role), "s" * (table.people == 1)
    sentences: list[str] = []
    for model, of_model in _group_by_model(table, offers):
        best = table.best(of_model)
        error_there = f"{best.cells[table.error]} {table.unit.of}"
        if not table.needs_values:
            error_there = table.unit.long(best.error.value / table.unit.whole)
        offer_text = f"{describe_trusted(model, table)}, {people} at ε = {best.epsilon:.4g} in all"
        sentence = f"{offer_text} get{s} {error_there}, with variant {best.name}"
        sentences.append(f"{sentence}{_ties(best, offers, of_model, table)}.")
    if error is None:
        return sentences
    aim = table.unit.long(error / table.unit.whole)
    known_offers = [offer for offer in prices.values() if offer is not None]
    for model, of_model in _group_by_model(table, known_offers):
        least_offer = min(of_model, key=lambda offer: offer.epsilon)
        need_text = f"{people} need{s} ε = {least_offer.epsilon:.4g} in all for {aim}"
        sentences.append(f"{describe_trusted(model, table)}, {need_text}, with variant {least_offer.name}.")
    return (
        sentences if known_offers else [*sentences, f"No variant is known to bring {aim}, at any price that was tried."]
    )


def _group_by_model(table: VariantTable, offers: Sequence[VariantOffer]) -> list[tuple[TrustModel, list[VariantOffer]]]:
    """Return the offers by trust model; the local model first."""
    offers_of_models = [
        (model, [each for each in offers if table.model_of(each.name) is model]) for model in TrustModel
    ]
    return [(model, of_model) for model, of_model in offers_of_models if of_model]


def _ties(
    best: VariantOffer, offers: Sequence[VariantOffer], of_model: Sequence[VariantOffer], table: VariantTable
) -> str:
    """Return words for the variants of a trust model that do not differ significantly from its best."""
    if not table.needs_values:
        return ""
    is_as_good = find_equally_good(best.error, [each.error for each in offers], trials=table.trials)
    names = [each.name for each, is_alike in zip(offers, is_as_good, strict=True) if is_alike and each in of_model]
    other_names = [name for name in names if name != best.name]
    if not other_names:
        return ""
    words = other_names[0] if len(other_names) == 1 else f"{len(other_names)} other variants"
    return f", though {table.trials:,} trials do not tell it from {words}"


def find_equally_good(best: Measurement, errors: Sequence[Measurement], *, trials: int) -> list[bool]:
    """Return for each error whether it does not differ significantly from the best one.

    Errors are fractions, from trials. If all variants are equally good, some variant is called worse in at most 1 of 20
    comparisons.

    Examples:
        >>> errors = [Measurement(0.10, 0.01), Measurement(0.11, 0.01), Measurement(0.30, 0.01)]
        >>> find_equally_good(errors[0], errors, trials=50)
        [True, True, False]
    """
    max_distance = separating_errors(len(errors))

    def compare_surely(error: Measurement) -> Measurement:
        return error if error.standard_error else Measurement(error.value, error_of_unseen(trials))

    return [deviation(compare_surely(each), compare_surely(best)) <= max_distance for each in errors]


def show_variants(
    console: Console,
    table: VariantTable,
    offers: Sequence[VariantOffer],
    prices: Prices = _NO_PRICES,
    *,
    error: float | None = None,
) -> None:
    """Print the variants' errors at the session's ε: in sentences, and as a table with the best marked.

    If `error` is given, in the table's unit, the ε that each variant needs follows.
    """
    console.print()
    for sentence in verdict_of_variants(table, offers, prices, error=error):
        console.print(Text(sentence, style="bold"))
    best = table.best(offers)
    for line in meaning_of(table.losses_of(best), party=table.resolved.protocol.client_role):
        show_note(console, line)
    console.print()
    headers = list(dict.fromkeys(header for offer in offers for header in offer.cells))
    rows: list[Sequence[Entry]] = []
    for offer in offers:
        cells = [offer.name, *(offer.cells.get(header, "") for header in headers)]
        if offer is best:
            cells[0] += table.mark
        rows.append(best_of(cells) if offer is best else cells)
    show_table(console, Table(columns=["Variant", *headers], rows=rows), drop=table.dropped)
    for note in table.notes(offers):
        show_note(console, note)
    _show_counting(console, table)
    if error is not None:
        _show_prices(console, table, prices, error=error)


def _show_counting(console: Console, table: VariantTable) -> None:
    """Print the standard error of counts by mechanism, if a phase counts the holders of values."""
    if (counted_values := table.counted) is None:
        return
    errors = counting_errors(counted_values, people=table.people)
    least_name = next(name for name, error in errors.items() if error <= min(errors.values()) * (1 + 1e-9))
    rows: list[Sequence[Entry]] = []
    for name, error in errors.items():
        cells = [name, format_number(error, 4), f"{format_number(100 * error / table.people)} %"]
        rows.append(best_of([f"{name} <- least", *cells[1:]]) if name == least_name else cells)
    people = pluralize(table.people, table.resolved.protocol.client_role)
    columns = [f"Who has {counted_values.what}", "± of a number", "of all"]
    console.print()
    show_table(console, Table(columns=columns, rows=rows))
    scope = f"{counted_values.num_choices:,} values at ε = {counted_values.epsilon:.4g}"
    show_note(console, f"{scope}; ± is the standard error of one that few of {people} have")
    show_note(console, counted_values.note)


def best_of(words: Sequence[str]) -> list[Cell]:
    """Return the best variant's row.

    Examples:
        >>> best_of(["joint", "0.05"])[0].tone
        'good'
    """
    return [Cell(each, tone="good") for each in words]


def _show_prices(console: Console, table: VariantTable, prices: Prices, *, error: float) -> None:
    """Print the ε that each variant needs for an error, with the least marked."""
    known_offers = [offer for offer in prices.values() if offer is not None]
    least_offer = min(known_offers, key=lambda offer: offer.epsilon, default=None)
    console.print()
    rows: list[Sequence[Entry]] = []
    for name, offer in prices.items():
        cells = [name, "", ""]
        if offer is not None:
            cells[1:] = [f"{offer.epsilon:.4g}", offer.cells[table.error]]
        rows.append(best_of(cells) if offer is least_offer and least_offer else cells)
    show_table(console, Table(columns=("Variant", f"ε in all for {error:g}", table.error), rows=rows))
    words = f"the least price at which the error is {error:g} or less, within half a percent of it, and the error there"
    show_note(console, f"{words}; empty where no price is known to suffice")


def variants_in_json(
    table: VariantTable, offers: Sequence[VariantOffer], prices: Prices, *, error: float | None
) -> dict[str, Any]:
    """Return errors and ε of variants as plain data."""
    format_number: dict[str, Any] = {
        "session": table.resolved.scenario.name,
        "protocol": table.resolved.protocol.name,
        "epsilon": table.price,
        "error": table.error,
        "verdict": verdict_of_variants(table, offers, prices, error=error),
        "variants": [_plain(offer) for offer in offers],
    }
    if (counted_values := table.counted) is not None:
        errors = counting_errors(counted_values, people=table.people)
        format_number["counting"] = {**msgspec.to_builtins(counted_values), "errors": errors}
    if error is not None:
        format_number["wanted"] = error
        format_number["prices"] = [
            {"name": name, "offered": None if offer is None else _plain(offer)} for name, offer in prices.items()
        ]
    return snapped(format_number)


def _plain(offer: VariantOffer) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(offer).items() if name != "cells"}
