"""Show a plan in a terminal, as JSON and as CSV: what is needed, the meaning of ε, and further options."""

import math
import shlex
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.masking import LEAST_FOR_CIRCLE
from ..presentation.drawing import save_picture
from ..presentation.numbers import join_words, pluralize
from ..presentation.terminal import show_note, show_table
from ..running.folder import RunFolder
from ..running.parties import sources_of
from ..running.statements import certainty_of, describe_bound, meaning_of, private_data_of, warning_of
from ..tables import Entry, Table, snapped
from .plans import Plan, PlannedVariant
from .plans_drawn import picture_of
from .variants import VariantOffer, VariantTable
from .variants_shown import best_of, describe_trusted

_TABLE: Final = "plan.csv"
_HEADINGS: Final = {
    "epsilon": "If that is too much",
    "error": "If that is not enough",
    "people": "If these are too many",
}
_ERRORS: Final = "± is one standard error: at least 3 of 4 results are within two of them, 19 of 20 within 4.5"
"""By Chebyshev's inequality; with few reports and rare flips, two standard errors cover as little as 79 %."""


def verdict_of_plan(plan: Plan, table: VariantTable) -> list[str]:
    """Return a plan's verdict, as a sentence for each trust model."""
    role = table.resolved.protocol.client_role
    people, s = pluralize(plan.people, role), "s" * (plan.people == 1)
    sentences: list[str] = []
    for each in plan.best:
        assert each.offered is not None  # noqa: S101  it is met
        epsilon = f"ε = {each.offered.epsilon:.4g} in all"
        if plan.sought == "epsilon":
            sentence = f"{people} need{s} {epsilon} for {_aim_of(plan)}"
        elif plan.sought == "error":
            sentence = f"{people} at {epsilon} get{s} {plan.unit.long(each.share)}"
        else:
            sentence = f"it takes {pluralize(each.people or 0, role)} at {epsilon} for {_aim_of(plan)}"
        sentences.append(
            f"{describe_trusted(each.model, table, people=each.people)}, {sentence}, with variant {each.name}."
        )
    return sentences


def _aim_of(plan: Plan) -> str:
    """Return the aimed error in words, with its number only for the scenario's people."""
    unit = plan.unit if plan.sought == "epsilon" else msgspec.structs.replace(plan.unit, noun="")
    return unit.long(plan.aim or 0.0)


def show_plan(console: Console, plan: Plan, table: VariantTable, *, source: str) -> None:
    """Print a plan; `source` names the scenario on the command line."""
    for each, sentence in zip(plan.best, verdict_of_plan(plan, table), strict=True):
        assert each.offered is not None  # noqa: S101  it is met
        console.print(Text(sentence, style="bold"))
        losses = table.losses_of(each.offered)
        for line in meaning_of(losses, party=table.resolved.protocol.client_role):
            show_note(console, line)
        if warning := warning_of(losses):
            show_note(console, warning, style="yellow")
    console.print()
    _show_variants(console, plan, table)
    if plan.options:
        console.print()
        _show_options(console, plan, table)
    console.print()
    for note in _notes(plan, table):
        show_note(console, note)
    _show_command(console, plan, table, source=source)


def _headers(table: VariantTable) -> tuple[str, str, str, str]:
    return f"{table.resolved.protocol.client_role.capitalize()}s", "ε in all", "Certainty", table.error


def _show_variants(console: Console, plan: Plan, table: VariantTable) -> None:
    best = {each.name for each in plan.best}
    is_trust_told = len({each.model for each in plan.variants}) > 1
    numbers = _headers(table)[plan.sought != "people" :]  # otherwise the number would be the same in each row
    rows: list[Sequence[Entry]] = []
    for each in plan.variants:
        texts = [each.name, table.trusted(each.model, people=each.people)] if is_trust_told else [each.name]
        cells = [*texts, *_cells(each, plan, table)[-len(numbers) :]]
        rows.append(best_of(cells) if each.name in best else cells)
    texts = ("Variant", "Trusted") if is_trust_told else ("Variant",)
    show_table(
        console, Table(columns=(*texts, *numbers), rows=rows, labels=len(texts)), drop=("Certainty",), whole=_TABLE
    )


def _cells(each: PlannedVariant, plan: Plan, table: VariantTable) -> list[str]:
    """Return the cells of people, ε, certainty and error; for a variant that cannot reach the aim, only that fact."""
    if not each.is_tried:
        return ["", f"over {each.too_little:.4g}" if each.too_little else "", "", "no time"]
    if each.offered is None or each.people is None:
        return ["", "", "", "not known" if table.needs_values and plan.sought == "people" else "out of reach"]
    unit = plan.unit if each.people == plan.people else msgspec.structs.replace(plan.unit, noun="")
    error = unit.short(each.share)
    return _numbers(each.people, each.offered.epsilon, error)


def _numbers(people: int, epsilon: float, error: str) -> list[str]:
    return [f"{people:,}", f"{epsilon:.4g}", describe_bound(certainty_of(epsilon)), error]


def _show_options(console: Console, plan: Plan, table: VariantTable) -> None:
    unit = msgspec.structs.replace(plan.unit, noun="")  # only fractions, which also apply to more people
    rows: list[Sequence[Entry]] = []
    for option in plan.options:
        error = unit.short(option.share)
        do = option.do if option.name == plan.best[0].name else f"{option.do} ({option.name})"
        rows.append([do, *_numbers(option.people or 0, option.epsilon, error)])
    options_table = Table(columns=(_HEADINGS[plan.sought], *_headers(table)), rows=rows)
    show_table(console, options_table, drop=("Certainty",), whole="plan.json")


def _notes(plan: Plan, table: VariantTable) -> list[str]:
    role = table.resolved.protocol.client_role
    notes = [f"certainty: how sure someone who had no idea (50 : 50) can become of {private_data_of(role)}"]
    if any(each.model.is_masked and (each.people or math.inf) >= LEAST_FOR_CIRCLE for each in plan.variants):
        notes.append("masked: where more than 1,000 have to take part, ε holds against a semi-honest server only")
    if table.needs_values:
        error_note = f"errors are the upper limits, at 99 %, of what {table.trials:,} trials of these {role}s find"
        return [
            *notes,
            f"{error_note}. An ε or a number of {role}s so found is up to a third above the least",
            *([_describe_missed(plan)] if plan.is_cut else []),
        ]
    unit_notes = [plan.unit.explained] if plan.unit.explained else []
    if any(each.offered is not None and each.share > 1 for each in plan.variants):
        unit_notes.append("an error above 100 % is larger than the whole: such a result tells next to nothing")
    return [*notes, f"{_ERRORS}; exact, and of nobody's values", *unit_notes]


def _describe_missed(plan: Plan) -> str:
    """Return a sentence on what was not tried in time, and what would help."""
    untried = [each.name for each in plan.variants if not each.is_tried]
    untried_text = join_words(untried) if untried else "some of what else could be done"
    return f"there was not time enough for {untried_text}: more --minutes, or fewer --trials, would do"


def _show_command(console: Console, plan: Plan, table: VariantTable, *, source: str) -> None:
    """Print the command that runs the best plan."""
    if not plan.best:
        return
    offer = plan.best[0].offered
    assert offer is not None  # noqa: S101  it is met
    role = table.resolved.protocol.client_role
    words, levels = ["psephos", "run", source], offer.settings.get("epsilons")
    for key, value in offer.settings.items():
        if value is not None and value != ():
            value_text = f"{value:.6g}" if isinstance(value, float) and not levels else str(value)  # the greatest level
            words += ["--set", f"{key}={value_text}"]
    if table.resolved.scenario.model not in {None, plan.best[0].model}:
        words += ["--set", f"trust={plan.best[0].model.value}"]
    own_epsilons = list(table.resolved.protocol.parameters.own_levels.epsilons) if levels else levels
    if plan.best[0].people != len(table.resolved.names) or levels != own_epsilons:  # the current file has other levels
        words += ["--set", f"{role}s=FILE"]
    console.print()
    command_text = shlex.join(words)
    if left_out := _parameters_left_out(offer, table):
        command_text += f", and leave out {join_words(left_out)}"
    console.print(Text.assemble(("To hold it: ", "bold"), command_text), soft_wrap=True)


def _parameters_left_out(offer: VariantOffer, table: VariantTable) -> list[str]:
    """Return the scenario's parameters that a variant does not have, and that none of its settings replaces."""
    setting_names = {key for key, value in offer.settings.items() if value is not None}
    alternatives = sources_of(type(table.resolved.protocol)).alternatives
    replaced_names = {key for group in alternatives if group & setting_names for key in group}
    own_parameters = table.resolved.scenario.parameters
    return [key for key in offer.settings if key in own_parameters and key not in setting_names | replaced_names]


def plan_in_json(plan: Plan, table: VariantTable) -> dict[str, Any]:
    """Return a plan as plain data."""
    protocol = table.resolved.protocol
    content = {
        "scenario": table.resolved.scenario.name,
        "protocol": protocol.name,
        "sought": plan.sought,
        "wanted": plan.aim,
        "epsilon": plan.epsilon,
        "people": plan.people,
        "error": table.error,
        "unit": {
            "of": plan.unit.of,
            "whole": plan.unit.whole,
            "noun": plan.unit.noun,
            "is_standard_error": bool(plan.unit.sign),
        },
        "verdict": verdict_of_plan(plan, table),
        "variants": [
            {
                "name": each.name,
                "trusted": table.trusted(each.model, people=each.people),
                "people": each.people,
                "tried": each.is_tried,
                "too_little": each.too_little or None,
                "offered": None
                if each.offered is None
                else _plain(each.offered.epsilon, each.share, each.standard_error),
                "settings": {} if each.offered is None else each.offered.settings,
                "curve": [_point(offer, plan) for offer in each.curve],
            }
            for each in plan.variants
        ],
        "options": [_option(option) for option in plan.options],
        "is_cut": plan.is_cut,
    }
    content_as_json: dict[str, Any] = snapped(msgspec.to_builtins(content))
    return content_as_json


def _plain(epsilon: float, share: float, standard_error: float) -> dict[str, float]:
    return {
        "epsilon": epsilon,
        "certainty": certainty_of(epsilon),
        "error": share,
        "standard_error_of_error": standard_error,
    }


def _point(offer: VariantOffer, plan: Plan) -> dict[str, float]:
    """Return the offer to the scenario's people."""
    whole = plan.unit.whole
    return _plain(offer.epsilon, offer.quoted / whole, offer.error.standard_error / whole)


def _option(option: PlannedVariant) -> dict[str, Any]:
    numbers = _plain(option.epsilon, option.share, option.standard_error)
    return {"do": option.do, "name": option.name, "people": option.people, **numbers}


def write_plan(folder: RunFolder, plan: Plan, table: VariantTable, *, pictures: bool) -> None:
    """Write `plan.json`, `plan.csv` with a row for each variant and ε, and possibly a picture into a new folder."""
    folder.write_json("plan.json", plan_in_json(plan, table))
    rows = [
        {"variant": each.name, "trusted": table.trusted(each.model), "people": plan.people, **_point(offer, plan)}
        for each in plan.variants
        for offer in each.curve
    ]
    folder.write_table(_TABLE, rows)
    if pictures:
        scenario, role = table.resolved.scenario, table.resolved.protocol.client_role
        title = f"{scenario.title or scenario.name}: {pluralize(plan.people, role)}"
        trust = {each.model: describe_trusted(each.model, table, people=plan.people) for each in plan.variants}
        save_picture(picture_of(plan, error=table.error, trust=trust), folder=folder.path, name="plan", title=title)
