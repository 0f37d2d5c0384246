"""Show objects in a REPL and a notebook: as text, as a pandas frame, and as an HTML table.

Objects are outcomes, ledgers, adversaries' reports, and laws of mechanisms. pandas is imported when a frame is needed.
All names and texts are escaped in HTML.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...protocol.errors import printable
from ...protocol.estimators import Estimates
from ...protocol.mechanisms import FiniteMechanism
from ...protocol.phases import Truth
from ...protocol.privacy import SEMI_HONEST, Ledger, LedgerEntry, NeighboringRelation, PureAccountant, is_semi_honest
from ...protocol.views import View, describe
from ..adversaries.role import AttackReport
from ..tables import Rows, Table
from ..verdicts import at_most, round_down
from . import briefs_of, rows_of, verdict_of
from .numbers import pluralize
from .presenter import error_of
from .rows import table_of_rows

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS: Final = 40  # most rows of a table in a notebook; the frame has all
_MOST_LINES: Final = 12  # most lines printed below a verdict
_PLUS_MINUS: Final = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
_MOST_ENTRIES: Final = 1024  # most entries of a mechanism's matrix that is shown by default


def text_of(value: object) -> str:
    """Return an object as one or a few sentences; for an outcome its verdict.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> text_of(Survey(Estimate(2998.2, 12.3), "Bern"))
        'Town is Bern and mean is 2,998 ± 12. Each ± is one standard error.'
    """
    match value:
        case Ledger():
            budget_note = (
                "" if value.remaining == float("inf") else f"; the budget leaves {round_down(value.remaining, 6):g}"
            )
            relation = f"{value.relation.value} neighbors{mark_of(value.entries)}"
            losses = pluralize(len(value.entries), "loss", "losses")
            text = f"{losses}, ε = {at_most(value.spent)} in all (proven, {relation}){budget_note}"
            return printable(f"{value.person}: {text}")
        case Estimates():
            rows = _rows_of_estimates(value)[:_MOST_LINES]
            lines = [
                f"  {value.of} {place.words}: {text.words}"
                for place, text in (table_of_rows(rows).cells if rows else ())
            ]
            return "\n".join(
                [f"{pluralize(len(value), 'estimate')}:", *lines, _describe_omitted(len(value) - len(lines))]
            )
        case AttackReport():
            return "\n".join(map(printable, [f"{value.role}, {value.who}", *value.sentences]))
        case msgspec.Struct():
            verdict = verdict_of(value)
            return verdict if "±" in verdict else "\n".join([verdict, *_lines_of(value)])
        case _:
            return repr(value)


def _lines_of(outcome: msgspec.Struct) -> Iterator[str]:
    """Yield the first numbers behind an outcome's verdict, one on each line."""
    briefs = [brief for brief in briefs_of(outcome) if brief.estimate is not None]
    if not briefs:
        return
    for brief in briefs[:_MOST_LINES]:
        yield printable(f"  {brief.name} {brief.told}" if brief.told else f"  {brief.name}: {brief.said.plain}")
    yield _describe_omitted(len(briefs) - _MOST_LINES)


def _describe_omitted(num_more: int) -> str:
    """Return a line that states how many estimates were omitted."""
    left_out = f"and {num_more:,} more, which to_frame() has; " if num_more > 0 else ""
    return f"  ({left_out}± is one standard error)"


def _rows_of_estimates(estimates: Estimates) -> Rows:
    return [
        {estimates.of: place, "estimate": each.value, error_of("estimate"): each.standard_error}
        for place, each in enumerate(estimates)
    ]


def frame_of(value: object) -> "pd.DataFrame":
    """Return an object as a frame.

    Args:
        value: an outcome of any type, whose frame has the rows of `estimates.csv`; a ledger, with a row for each loss;
            an adversary's report, with the rows of its table; a finite mechanism, with P[report | value]; or estimates
            from a mechanism's reports.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> list(frame_of(Survey(Estimate(2998.2, 12.3), "Bern")).columns)
        ['mean', 'mean_standard_error', 'town']
    """
    match value:
        case Ledger():
            return frame_of_entries(value.entries)
        case AttackReport():
            return frame_of_lessons([value])
        case Estimates():
            return frame_of_rows(_rows_of_estimates(value))
        case FiniteMechanism():
            import pandas as pd  # noqa: PLC0415  only frames need it

            (low, high), (least_report, greatest_report) = value.value_range, value.report_range
            index = pd.RangeIndex(low, high + 1, name="value")
            columns = pd.RangeIndex(least_report, greatest_report + 1, name="report")
            return pd.DataFrame(value.channel_matrix(), index=index, columns=columns)
        case msgspec.Struct():
            return frame_of_rows(rows_of(value, truth=None))
        case _:
            raise TypeError(f"{type(value).__name__} has no frame")


def html_of(value: object) -> str:
    """Return an object as an HTML paragraph and table, with all content escaped.

    Examples:
        >>> import msgspec
        >>> from psephos.protocol.estimators import Estimate
        >>> Survey = msgspec.defstruct("Survey", [("mean", Estimate), ("town", str)])
        >>> html_of(Survey(Estimate(2998.2, 12.3), "<b>"))[:30]
        '<p><strong>Town is &lt;b&gt; a'
    """
    match value:
        case FiniteMechanism():
            return _html_of_law(value)
        case Estimates():
            return _html_of_rows(_rows_of_estimates(value))
        case AttackReport() if not value.rows:
            return paragraph(text_of(value))
        case Ledger() | AttackReport():
            return paragraph(text_of(value)) + table_of(frame_of(value))
        case msgspec.Struct():
            return html_of_outcome(value)
        case _:
            return paragraph(repr(value))


def html_of_outcome(
    outcome: msgspec.Struct, *, truth: Truth | None = None, gold: Mapping[str, str] | None = None
) -> str:
    """Return an outcome's verdict and its table of estimates with errors. See `Known`."""
    verdict = html.escape(verdict_of(outcome))
    return f"<p><strong>{verdict}</strong></p>{_html_of_rows(rows_of(outcome, truth=truth, gold=gold))}"


def _html_of_rows(rows: Rows) -> str:
    """Return a table of estimates with errors, and below it the meaning of ±."""
    unknown = [key for key in (rows[0] if rows else ()) if all(row[key] is None for row in rows)]
    table = table_of_rows(rows, left_out=unknown) if rows else Table(columns=(), rows=())
    words = [[cell.words.replace(" ± ", _PLUS_MINUS) for cell in row] for row in table.cells]
    is_uncertain = any(cell.is_part for row in table.cells for cell in row)
    note = "± is one standard error of the randomization." if is_uncertain else ""
    frame = frame_of_rows([dict(zip(table.columns, row, strict=True)) for row in words])
    return table_of(frame, num_rows=table.num_rows) + paragraph(note)


def _html_of_law(value: FiniteMechanism) -> str:
    (low, high), (least_report, greatest_report) = value.value_range, value.report_range
    rows, columns = high - low + 1, greatest_report - least_report + 1
    law = f"{type(value).__name__}: P[report | value] of {pluralize(rows, 'value')} and {pluralize(columns, 'report')}."
    if rows * columns > _MOST_ENTRIES:
        return paragraph(f"{law} The matrix is large: to_frame() returns it.")
    frame = frame_of(value)
    return paragraph(f"{law} {_say_loss(value, has_zeros=bool((frame == 0).any(axis=None)))}") + table_of(
        frame, has_index=True
    )


def _say_loss(mechanism: FiniteMechanism, *, has_zeros: bool) -> str:
    """Return a phrase on the loss of one value, with its unit and relation."""
    among = " among those with the same possible reports" if has_zeros else ""
    epsilon = PureAccountant.epsilon_of(mechanism.event, NeighboringRelation.REPLACE_ONE)
    return f"ε = {at_most(epsilon)} for one value{among}: proven, replace-one neighbors, local model."


def frame_of_rows(rows: Sequence[Mapping[str, object]]) -> "pd.DataFrame":
    """Return rows as a frame, with their keys as columns.

    Examples:
        >>> frame_of_rows([{"vote": 1, "yes": 12}, {"vote": 2, "yes": 7}])["yes"].tolist()
        [12, 7]
    """
    import pandas as pd  # noqa: PLC0415  only frames need it

    return pd.DataFrame(list(rows))


def frame_of_entries(entries: Iterable[LedgerEntry]) -> "pd.DataFrame":
    """Return a row for each loss; losses of a part of the unit, if any, are in separate columns."""
    rows = [_row_of_entry(entry) for entry in entries]
    columns = [*LedgerEntry.__struct_fields__]
    columns.remove("event")
    columns.remove("part")
    frame = frame_of_rows(rows)
    return frame if rows else frame.reindex(columns=columns)


def _row_of_entry(entry: LedgerEntry) -> dict[str, object]:
    row: dict[str, Any] = msgspec.structs.asdict(entry)
    del row["event"], row["part"]
    row |= {"relation": entry.relation.value, "model": entry.model.value}
    if entry.part is not None:
        row |= {f"part_{name}": value for name, value in msgspec.structs.asdict(entry.part).items()}
    return row


def frame_of_lessons(attack_reports: Iterable[AttackReport]) -> "pd.DataFrame":
    """Return the rows of adversaries' reports, after each one's number and role; one row if it has no table."""
    rows = [
        {"adversary": number, "role": attack_report.role, **row}
        for number, attack_report in enumerate(attack_reports, start=1)
        for row in (attack_report.rows or ({},))
    ]
    return frame_of_rows(rows)


def frame_of_views(views: Iterable[View]) -> "pd.DataFrame":
    """Return a row for each step of parties' views, in order."""
    return frame_of_rows([row for view in views for row in _rows_of_view(view)])


def _rows_of_view(view: View) -> Iterator[dict[str, object]]:
    for step, observation in enumerate(view.observations):
        content = None if observation.message is None else describe(observation.message)
        yield {
            "party": view.party,
            "side": view.side.value,
            "step": step,
            "happening": observation.happening.value,
            "peer": observation.peer,
            "message": None if content is None else content.pop("type"),
            "content": content,
        }


def paragraph(text: str) -> str:
    """Return a text as an HTML paragraph with its line breaks; empty for an empty text.

    Examples:
        >>> paragraph("1 < 2")
        '<p>1 &lt; 2</p>'
    """
    return text and f"<p>{'<br>'.join(map(html.escape, text.splitlines()))}</p>"


def table_of(frame: "pd.DataFrame", *, has_index: bool = False, num_rows: int = 0) -> str:
    """Return a frame's first rows as an HTML table, with its index if `has_index`.

    `num_rows` is the number of all rows, if the frame does not have all.
    """
    shown_rows = frame.head(_MOST_ROWS)
    table_html: str = shown_rows.to_html(
        index=has_index, border=0, float_format="{:.4g}".format, na_rep="", escape=True
    )
    num_more = max(len(frame), num_rows) - len(shown_rows)
    return table_html + (
        paragraph(f"… and {pluralize(num_more, 'more row')}: to_frame() returns all.") if num_more else ""
    )


def mark_of(entries: Iterable[LedgerEntry]) -> str:
    """Return a remark on losses' trust model: that some do not hold against a malicious server."""
    return f", {SEMI_HONEST}" if any(is_semi_honest(entry.mechanism) for entry in entries) else ""
