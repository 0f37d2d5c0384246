"""Show trials' results: a short table in a terminal, CSV and JSON files, and a picture.

| file | holds |
|---|---|
| `trials.csv`, `trials.parquet` | a row for each trial of each cell: its settings, its number, all of its measures |
| `summary.csv` | a row for each measure of each cell: mean, intervals, quantiles, difference from the first cell |
| `traffic.csv` | a row for each phase of each cell: messages and bytes of one party, on average |
| `summary.json` | both, with explanations of the measures |
| `trials.svg`, `trials.png` | the leading measures: their distribution, or over a grid the means with their intervals |
"""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.errors import refuse
from ..presentation.drawing import save_picture
from ..presentation.numbers import decimals_of, pluralize, rounded
from ..presentation.numbers import format_number as digits_of
from ..presentation.terminal import show_note, show_table, title_of
from ..running.folder import RunFolder
from ..running.studies import Study, StudyTable, write_study
from ..tables import Table, listed, snapped
from ..verdicts import round_up
from .measured import BYTES, MESSAGES, MeasuredCell, RefusedCell, Wanted
from .measurements import Measurement, error_of_unseen, separating_errors
from .measures import Measure
from .summaries import QUANTILES, MeasureSummary, Refined
from .trials_drawn import picture_of

_MOST_DECIMALS: Final = 5
_EXACT_DECIMALS: Final = 3  # decimals of an exact fraction in percent
_ROUNDING: Final = 1e-9  # in sums of losses
_SHARES: Final = {0.05: "1 in 20 below", 0.5: "Median", 0.95: "1 in 20 above"}  # names of quantiles
_WITHIN: Final = "Mean within, 95 %"
_REFINED: Final = "Refined"
_WORTH: Final = "Worth, trials"


def measures_in(cells: Sequence[MeasuredCell]) -> list[Measure]:
    """Return the measures of all cells, in order."""
    return list({measure.name: measure for cell in cells for measure in cell.measures}.values())


def _told(measures: Iterable[Measure]) -> list[Measure]:
    """Return all measures except those of traffic, which has a separate table."""
    return [measure for measure in measures if measure.name not in {BYTES.name, MESSAGES.name}]


def write_trials(
    folder: RunFolder,
    cells: Sequence[MeasuredCell],
    *,
    name: str,
    title: str,
    pictures: bool,
    setting: str = "",
    form: str = "csv",
    precision: Wanted | None = None,
    refused_cells: Sequence[RefusedCell] = (),
) -> None:
    """Write all results of a scenario's trials, and a picture if requested."""
    measures = measures_in(cells)
    rows = [
        snapped(
            {
                **dict(cell.settings),
                **_columns(losses),
                "trial": number,
                **({"draw": number // cell.redraw} if cell.redraw else {}),
                **{each.name: trial.measures.get(each.name) for each in measures},
            }
        )
        for cell, losses in zip(cells, losses_of(cells), strict=True)
        for number, trial in enumerate(cell.trials)
    ]
    if form == "csv":
        folder.write_table("trials.csv", rows)
    else:
        folder.write_bytes("trials.parquet", _write_parquet(rows))
    has_refined = any(cell.refined for cell in cells)
    summaries = [
        {
            **dict(cell.settings),
            **_columns(losses),
            **_summary_to_row(summary),
            **_difference(differences.get(name)),
            **(_refined_to_dict(cell.refined.get(name)) if has_refined else {}),
        }
        for cell, losses in zip(cells, losses_of(cells), strict=True)
        for differences in [_differences(cell, cells)]
        for name, summary in cell.summaries.items()
    ]
    if summaries:
        folder.write_table("summary.csv", summaries)
    traffic = [{**dict(cell.settings), **msgspec.structs.asdict(phase)} for cell in cells for phase in cell.traffic]
    if traffic:
        folder.write_table("traffic.csv", traffic)
    folder.write_json(
        "summary.json", summary_in_json(cells, name=name, precision=precision, refused_cells=refused_cells)
    )
    write_study(folder, _study_of(cells, measures, name=name, refused_cells=refused_cells))
    if pictures:
        picture = picture_of(cells, _told(measures))
        if picture is not None:
            setting = " · ".join(filter(None, (setting, _worth_of_all(cells))))
            save_picture(picture, folder=folder.path, name="trials", title=title, setting=setting)


def _study_of(
    cells: Sequence[MeasuredCell], measures: Sequence[Measure], *, name: str, refused_cells: Sequence[RefusedCell]
) -> Study:
    """Return the content of the trials' page."""
    notes_on_refused = [
        f"{', '.join(f'{key} = {value}' for key, value in cell.settings)}: N/A, since {cell.reason}."
        for cell in refused_cells
    ]
    hidden_columns = [f"quantile_{level:g}_{end}" for level in QUANTILES for end in ("low", "high")]
    return Study(
        kind="Trials",
        title=f"Trials of {name}",
        facts=[f"{number_of_trials(cells)} trials of each cell"],
        verdict=[verdict_of_trials(cells) or "Nothing was measured.", *notes_on_refused],
        tables=[
            StudyTable(name="trials", picture="The leading measures over all trials"),
            StudyTable(
                name="summary",
                caption="What was measured; low and high bound the mean with 95 % confidence",
                columns={"standard_error": "mean_standard_error", "epsilon_proven": "ε proven"},
                left_out=["trials", *hidden_columns],
                is_mixed=True,
            ),
            StudyTable(name="traffic", caption="Messages and bytes of one party, on average", is_mixed=True),
        ],
        notes=["± is one standard error of the mean.", *(f"{measure.name}: {measure.about}" for measure in measures)],
    )


def check_form(form: str) -> None:
    """Raise ConfigurationError unless the package that writes this format is installed."""
    allowed = "csv; or pip install 'psephos[columnar]', which writes Parquet"
    refuse(form == "parquet" and importlib.util.find_spec("pyarrow") is None, "--format", form, allowed)


def _write_parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Write rows to a Parquet file; settings that are numbers in all cells become numeric columns."""
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    columns: dict[str, list[Any]] = {}
    for name in rows[0]:
        columns[name] = [row[name] for row in rows]
        with contextlib.suppress(TypeError, ValueError):
            columns[name] = [float(each) if isinstance(each, str) else each for each in columns[name]]
    file = arrow.BufferOutputStream()
    parquet.write_table(arrow.table(columns), file)
    return file.getvalue().to_pybytes()


def number_of_trials(cells: Sequence[MeasuredCell]) -> str:
    """Return the cells' number of trials, as a phrase."""
    numbers = [len(cell.trials) for cell in cells]
    return f"{min(numbers):,}" if min(numbers) == max(numbers) else f"{min(numbers):,} to {max(numbers):,}"


def _unreached(cells: Sequence[MeasuredCell], precision: Wanted) -> int:
    return sum(not precision.is_reached(cell) for cell in cells)


def summary_in_json(
    cells: Sequence[MeasuredCell],
    *,
    name: str,
    precision: Wanted | None = None,
    refused_cells: Sequence[RefusedCell] = (),
) -> dict[str, Any]:
    """Return the content of `summary.json`."""
    aim = (
        {}
        if precision is None
        else {"wanted": {**msgspec.structs.asdict(precision), "missed_in": _unreached(cells, precision)}}
    )
    content = {
        "scenario": name,
        "trials": max(len(cell.trials) for cell in cells),
        **aim,
        "verdict": verdict_of_trials(cells),
        "measures": {measure.name: measure.about for measure in measures_in(cells)},
        "cells": [
            {
                "settings": dict(cell.settings),
                "num_parties": cell.num_parties,
                **_columns(losses),
                "relation": cell.total.relation,
                "against": cell.total.against,
                "summaries": list(cell.summaries.values()),
                "differences": _differences(cell, cells),
                **({"refined": cell.refined} if cell.refined else {}),
                "traffic": cell.traffic,
            }
            for cell, losses in zip(cells, losses_of(cells), strict=True)
        ],
        "refused": [{"settings": dict(cell.settings), "reason": cell.reason} for cell in refused_cells],
        "versions": {name: importlib.metadata.version(name) for name in ("psephos", "numpy")},
    }
    format_number: dict[str, Any] = snapped(msgspec.to_builtins(content))
    return format_number


def _differences(cell: MeasuredCell, cells: Sequence[MeasuredCell]) -> dict[str, Measurement]:
    """Return the differences of a cell's means from the first cell's; empty for the first cell."""
    return {} if cell is cells[0] else cell.differences_from(cells[0])


def _difference(difference: Measurement | None) -> dict[str, object]:
    return {
        "difference": None if difference is None else difference.value,
        "difference_standard_error": None if difference is None else difference.standard_error,
    }


def _refined_to_dict(refinement: Refined | None) -> dict[str, object]:
    names = ("mean", "standard_error", "low", "high", "by", "worth")
    values = {name: None if refinement is None else getattr(refinement, name) for name in names}
    return {("worth_trials" if name == "worth" else f"refined_{name}"): value for name, value in values.items()}


def _worth(refinement: Refined) -> str:
    """Return the equivalent number of plain trials, in words."""
    worth = refinement.worth
    return "exact" if refinement.is_exact else "" if worth is None else f"{float(f'{worth:.2g}'):,.0f}"


def _worth_of_all(cells: Sequence[MeasuredCell]) -> str:
    """Return the equivalent number of trials for the first measure refined in all cells; empty without one."""
    for measure in measures_in(cells):
        refinements = [cell.refined[measure.name] for cell in cells if measure.name in cell.refined]
        if len(refinements) == len(cells):
            least_refined = min(refinements, key=lambda refinement: refinement.worth or math.inf)
            if least_refined.worth:
                return (
                    f"{measure.name} worth {_worth(least_refined)} plain trials{' or more' if len(cells) > 1 else ''}"
                )
            return f"{measure.name} exact" if least_refined.is_exact else ""
    return ""


def _summary_to_row(summary: MeasureSummary) -> dict[str, object]:
    """Return a summary as a row, with empty cells for missing numbers."""
    row: dict[str, object] = {}
    for name, value in msgspec.structs.asdict(summary).items():
        if isinstance(value, Measurement):
            row |= {name: value.value, f"{name}_standard_error": value.standard_error}
        elif name != "quantiles" and value is not msgspec.UNSET:
            row[name] = value
    quantile_of_level = {quantile.level: quantile for quantile in summary.quantiles}
    for level in QUANTILES:
        quantile = quantile_of_level.get(level)
        name = f"quantile_{level:g}"
        row[name] = None if quantile is None else quantile.value
        row[f"{name}_low"] = None if quantile is None else quantile.low
        row[f"{name}_high"] = None if quantile is None else quantile.high
    return row


def verdict_of_trials(cells: Sequence[MeasuredCell]) -> str:
    """Return the verdict of trials as a sentence, by the first measure that has a sentence, else by the first.

    For several cells at the same proven loss, it names the least and the greatest mean, and whether they differ
    significantly: if all cells are equal, they are said to differ with probability 5 % at most. Cells with different
    losses are not ranked, and the sentence says so. It is empty if nothing was measured.
    """
    for measure in sorted(_told(measures_in(cells)), key=lambda measure: not measure.said):
        if known_cells := [cell for cell in cells if measure.name in cell.summaries]:
            return _verdict(measure, known_cells)
    return ""


def _verdict(measure: Measure, cells: Sequence[MeasuredCell]) -> str:
    template = measure.said or f"{title_of(measure.name)} is {{}}"
    trials = f"{number_of_trials(cells)} trials"
    sorted_cells = sorted(cells, key=lambda cell: cell.best_summaries[measure.name].mean)
    least_summary, greatest_summary = (
        cell.best_summaries[measure.name] for cell in (sorted_cells[0], sorted_cells[-1])
    )
    if len(cells) == 1:
        if isinstance(least_summary, Refined) and least_summary.is_exact:
            return (
                f"{template.format(format_number(least_summary, measure))}, on average over all noise: by its exact "
                "law."
            )
        interval_text = " and ".join(
            _format_like_mean([least_summary.low, least_summary.high], measure, least_summary)
        ) + (" %" if measure.is_share else "")
        certainty_text = f"with 95 % certainty the mean is between {interval_text}"
        if isinstance(least_summary, Refined) and (worth := _worth(least_summary)):
            trials += f" that are worth {worth}"
        return f"{template.format(format_number(least_summary, measure))}, on average over {trials}; {certainty_text}."
    differ = _losses_differ(cells)
    if least_summary.mean == greatest_summary.mean:
        each = f"on average over {trials}, in each of {len(cells):,} cells{differ and f'; {differ}'}"
        return f"{template.format(format_number(least_summary, measure))}, {each}."
    range_text = template.format(
        f"{format_number(least_summary, measure)} to {format_number(greatest_summary, measure)}"
    )
    if differ:
        return f"{range_text}; no cell is the best, since {differ}."
    extremes_text = f"least with {_named(sorted_cells[0])}, most with {_named(sorted_cells[-1])}"
    by_law = (
        isinstance(least_summary, Refined)
        and isinstance(greatest_summary, Refined)
        and least_summary.by == greatest_summary.by == "law"
    )
    source = "expected" if by_law else "measures"
    difference = (
        sorted_cells[-1].differences_from(sorted_cells[0], field=source).get(measure.name, Measurement(0.0, 0.0))
    )
    least_error = (
        2 * error_of_unseen(least_summary.num_independent) if measure.is_share and not by_law else 0.0
    )  # its range is −1 to 1
    error = difference.standard_error or least_error
    is_told = difference.value > separating_errors(len(cells)) * error
    end = "" if is_told else f"; but {trials} of each do not tell these apart"
    return f"{range_text}: {extremes_text}{end}."


def losses_of(cells: Sequence[MeasuredCell]) -> list[dict[str, float]]:
    """Return the proven losses of each cell's session, by column: of one party in total, and of each unit.

    If a cell has no loss for a unit that other cells have, its total loss applies.
    """
    units = dict.fromkeys(unit for cell in cells for unit in cell.parts)
    return [
        {"ε proven": cell.total.proven}
        | {f"ε proven of {unit}": cell.parts.get(unit, cell.total.proven) for unit in units}
        for cell in cells
    ]


def _columns(losses: Mapping[str, float]) -> dict[str, float]:
    """Return losses by the names of columns in files."""
    return {header.replace("ε", "epsilon").replace(" ", "_"): proven for header, proven in losses.items()}


def _losses_differ(cells: Sequence[MeasuredCell]) -> str:
    """Return the differences in cells' losses, in words; empty if there are none."""
    losses = losses_of(cells)
    for header in losses[0]:
        proven = [loss[header] for loss in losses]
        if min(proven) < max(proven) * (1 - _ROUNDING):
            return f"their losses differ: {header} is {_epsilon(min(proven))} to {_epsilon(max(proven))}"
    if len({cell.total.relation for cell in cells}) > 1:
        return "their losses are of different neighbors"
    return "their losses hold against different people" if len({cell.total.against for cell in cells}) > 1 else ""


def _epsilon(proven: float) -> str:
    return f"{round_up(proven, 4):g}" if math.isfinite(proven) else "not bounded"


def _named(cell: MeasuredCell | RefusedCell) -> str:
    """Return a cell's settings, as a phrase."""
    return " and ".join(f"{key} = {value}" for key, value in cell.settings)


def show_trials(
    console: Console,
    cells: Sequence[MeasuredCell],
    *,
    precision: Wanted | None = None,
    refused_cells: Sequence[RefusedCell] = (),
) -> None:
    """Print a verdict, then all measures of one cell, or the leading ones of several cells that fit."""
    if verdict := verdict_of_trials(cells):
        console.print(Text(verdict, style="bold"))
        console.print()
    if precision is not None and (number := _unreached(cells, precision)):
        cells_text = f"{number:,} of {len(cells):,} cells have" if len(cells) > 1 else "The trials have"
        console.print(
            Text(f"{cells_text} not reached the error that is wanted, ±{precision.error:g} of {precision.measure}.")
        )
        console.print()
    if len(cells) + len(refused_cells) == 1:
        _show_cell(console, cells[0])
    else:
        _show_grid(console, cells, refused_cells)
    if traffic := cells[0].traffic:
        console.print()
        table = listed(
            traffic,
            [
                ("Phase", lambda phase: phase.phase),
                ("Messages sent", lambda phase: _plain(phase.messages_up)),
                ("Bytes sent", lambda phase: _plain(phase.bytes_up)),
                ("Messages received", lambda phase: _plain(phase.messages_down)),
                ("Bytes received", lambda phase: _plain(phase.bytes_down)),
            ],
        )
        show_table(console, table)
        cell_note = "" if len(cells) == 1 else f", in the first of the {len(cells):,} cells"
        show_note(
            console, f"of one party, on average{cell_note}; over TCP a frame adds 4 bytes to each, and TLS its own"
        )


def _show_cell(console: Console, cell: MeasuredCell) -> None:
    rows: list[list[str]] = []
    for measure in _told(cell.measures):
        if (summary := cell.summaries.get(measure.name)) is None:
            continue
        value_of_level = {quantile.level: quantile.value for quantile in summary.quantiles}
        interval_texts = _format_like_mean([summary.low, summary.high], measure, summary)
        places = iter(
            _format_like_mean(
                [value_of_level[level] for level in QUANTILES if level in value_of_level], measure, summary
            )
        )
        cells = [next(places) if level in value_of_level else "" for level in QUANTILES]
        unit = " %" if measure.is_share else ""
        refinement = cell.refined.get(measure.name)
        refined_entries = ["", ""] if refinement is None else [format_number(refinement, measure), _worth(refinement)]
        refined_entries = refined_entries if cell.refined else []
        rows.append(
            [
                title_of(measure.name),
                format_number(summary, measure),
                *refined_entries,
                " to ".join(interval_texts) + unit,
                *cells,
            ]
        )
    refined_by = (_REFINED, _WORTH) if cell.refined else ()
    columns = ("Measure", "Mean", *refined_by, _WITHIN, *(_SHARES[level] for level in QUANTILES))
    drop = (_SHARES[0.05], _SHARES[0.95], "Median", _WITHIN)
    show_table(console, Table(columns=columns, rows=rows), drop=drop, whole="summary.csv")
    words = f"over {len(cell.trials):,} trials {_whose([cell])} with fresh noise; ± is one standard error"
    show_note(console, f"{words}; summary.csv has the intervals of quantiles as well")
    _show_refined(console, [cell])
    _show_losses(console, [cell])
    _show_spread(console, cell)


def _whose(cells: Sequence[MeasuredCell]) -> str:
    size = cells[0].redraw
    return f"of parties drawn anew every {pluralize(size, 'trial')}," if size else "of the same parties"


def _show_spread(console: Console, cell: MeasuredCell) -> None:
    """Print the part of each measure's variance that is between draws of the parties, if it is known."""
    rows: list[Sequence[str]] = []
    for measure in _told(cell.measures):
        summary = cell.summaries.get(measure.name)
        if summary is None or not isinstance(summary.between, Measurement):
            continue
        parts = (part for part in (summary.between, summary.within) if isinstance(part, Measurement))
        cells = (" ± ".join(digits_of(number, 2) for number in (part.value, part.standard_error)) for part in parts)
        rows.append([title_of(measure.name), *(each.removesuffix(" ± 0") for each in cells)])
    if rows:
        console.print()
        show_table(console, Table(columns=("Variance", "Between draws", "Within one"), rows=rows))
        draws = f"{len(cell.trials) // cell.redraw:,} draws of the parties, {cell.redraw} trials each"
        note = "between: of the mean over all noise; within: by the noise alone; of shares as numbers"
        show_note(console, f"{draws}; {note}")


def _show_grid(console: Console, cells: Sequence[MeasuredCell], refused_cells: Sequence[RefusedCell]) -> None:
    keys = [key for key, _ in cells[0].settings]
    grid_measures = [measure for measure in measures_in(cells) if measure.name != MESSAGES.name]
    grid_measures.sort(key=lambda measure: measure.is_detail)
    rows: list[list[str]] = []
    losses = losses_of(cells)
    for cell, losses_of_cell in zip(cells, losses, strict=True):
        measure_summaries = [(measure, cell.best_summaries.get(measure.name)) for measure in grid_measures]
        written_ = [
            "" if summary is None else format_number(summary, measure) for measure, summary in measure_summaries
        ]
        rows.append([*(value for _, value in cell.settings), *map(_epsilon, losses_of_cell.values()), *written_])
    numbers = [*losses[0], *(title_of(measure.name) for measure in grid_measures)]
    rows += [[*(value for _, value in cell.settings), *(["N/A"] * len(numbers))] for cell in refused_cells]
    grid_table = Table(columns=[*keys, *numbers], rows=rows, labels=len(keys))
    show_table(console, grid_table, drop=numbers[: len(losses[0]) : -1], whole="summary.csv")
    words = f"means over {number_of_trials(cells)} trials of each cell {_whose(cells)} with fresh noise; ± is one "
    words += "standard error, and missing where all trials agree; summary.csv has intervals, and differences from the "
    words += "first cell"
    show_note(console, words)
    _show_refined(console, cells)
    _show_losses(console, cells)
    for cell in refused_cells:
        show_note(console, f"N/A with {_named(cell)}: {cell.reason}")


def _show_refined(console: Console, cells: Sequence[MeasuredCell]) -> None:
    """Print which means are refined, and how."""
    kinds = {refinement.by for cell in cells for refinement in cell.refined.values()}
    if not kinds:
        return
    words_of_method = {
        "law": "by the exact law of the noise",
        "control": "by a like number whose mean is known exactly",
    }
    methods_text = ", or ".join(words_of_method[kind] for kind in words_of_method if kind in kinds)
    worth = "" if len(cells) == 1 else f" ({_worth_of_all(cells) or 'where it is known'}; summary.csv has both)"
    show_note(console, f"refined {methods_text}{worth}: so many trials alone would have its error")


def _show_losses(console: Console, cells: Sequence[MeasuredCell]) -> None:
    """Print the relation and trust model of the proven ε; for each cell if cells differ in them."""
    kinds: dict[str, list[MeasuredCell]] = {}
    for cell in cells:
        kinds.setdefault(f"{cell.total.relation.value} neighbors, against {cell.total.against}", []).append(cell)
    losses_text = ", ".join(f"{header} = {_epsilon(proven)}" for header, proven in losses_of(cells)[0].items())
    for kind, equal_cells in kinds.items():
        cells_note = f" with {' or '.join(map(_named, equal_cells))}" if len(kinds) > 1 else ""
        show_note(
            console,
            f"{'ε proven' if len(cells) > 1 else losses_text}: of what one party says in a session{cells_note}, {kind}",
        )


def format_number(summary: MeasureSummary, measure: Measure) -> str:
    """Format a mean with its standard error, for tables."""
    times, unit = (100, " %") if measure.is_share else (1, "")
    mean, error = times * summary.mean, times * summary.standard_error
    if not error:
        usual_decimals = _EXACT_DECIMALS if isinstance(summary, Refined) else 1
        decimals = usual_decimals if measure.is_share else min(decimals_of([mean], []), _MOST_DECIMALS)
        return f"{rounded(mean, decimals)}{unit}"
    decimals = decimals_of([mean], [error])
    if decimals > _MOST_DECIMALS:
        return f"{mean:.3g} ± {error:.2g}{unit}"
    return f"{rounded(mean, decimals)} ± {error:,.{decimals}f}{unit}"


def _format_like_mean(values: Sequence[float], measure: Measure, summary: MeasureSummary) -> list[str]:
    """Format numbers of one measure with the decimals of its mean."""
    times = 100 if measure.is_share else 1
    decimals = decimals_of([times * summary.mean], [times * summary.standard_error])
    if measure.is_share:
        decimals = max(decimals, 1)
    if decimals > _MOST_DECIMALS:
        return [f"{times * value:.3g}" for value in values]
    return [rounded(times * value, decimals) for value in values]


def _plain(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")
