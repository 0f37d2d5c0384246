"""Blocks of a run's page: estimates with their errors, and the exchange of messages."""

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Final

from ..presentation import rows_of, sheet_of
from ..presentation.numbers import capitalize, pluralize
from ..presentation.presenter import error_of
from ..presentation.rows import column_of, table_of_rows
from ..presentation.terminal import title_of
from ..running.reader import RunArtifacts
from ..running.session_facts import PhaseLosses, SessionFacts
from ..tables import Cell, Rows, Table
from ..words import say_number
from .page import SequenceStep, SequenceSteps, epsilon_text

_ERROR: Final = "_standard_error"
# columns that are omitted if all rows share them, since the verdict has them
_UNSAID: Final = frozenset({"level", "bias"})


def estimates_in(artifacts: RunArtifacts, *, is_whole: bool = False) -> tuple[Table | None, str]:
    """Return the table of estimates, and a sentence with values that all rows share, which the table omits.

    The table is None without estimates. If it is whole, it omits only columns that are empty in all rows.
    """
    rows = _estimates(artifacts)
    if not rows:
        return None, ""
    if not is_whole and artifacts.outcome is not None:
        truth, gold = None if artifacts.result is None else artifacts.result.truth, _known_in(rows)
        # If the outcome was edited, its file's rows are shown as they are.
        with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError):
            if (sheet := sheet_of(artifacts.outcome, truth=truth, gold=gold)) is not None:
                return dataclasses.replace(sheet, caption="What was estimated", name="estimates", full=rows), ""
    left_out: Mapping[str, Cell] = {} if is_whole else _same_in_all(rows)
    unknown = [key for key in rows[0] if all(row.get(key) is None for row in rows)]
    table = table_of_rows(rows, caption="What was estimated", name="estimates", left_out=[*left_out, *unknown])
    shared_texts = (f"{title_of(key)} {cell.words}" for key, cell in left_out.items() if key not in _UNSAID)
    return table, ", ".join(shared_texts)


def _same_in_all(rows: Rows) -> Mapping[str, Cell]:
    """Return the exact numbers that all rows share, by column, to be stated once."""
    if len(rows) < 2:  # noqa: PLR2004  a single row has nothing to share
        return {}
    columns = {key: [row.get(key) for row in rows] for key in list(rows[0])[1:]}
    return {
        key: column_of(key, rows)[0]
        for key, values in columns.items()
        if isinstance(values[0], (int, float))
        and not isinstance(values[0], bool)
        and len(set(map(str, values))) == 1
        and not any(row.get(error_of(key)) for row in rows)
        and _ERROR not in key
    }


def _known_in(rows: Rows) -> Mapping[str, str] | None:
    """Return the gold standard in a table of tasks; None if it has none."""
    key = next(iter(rows[0]))
    truth_of_name = {str(row[key]): str(row["gold"]) for row in rows if row.get("gold") is not None}
    return truth_of_name or None


def _estimates(artifacts: RunArtifacts) -> Rows:
    if artifacts.estimates is not None:
        return artifacts.estimates
    if artifacts.outcome is None:
        return []
    return rows_of(artifacts.outcome, truth=None if artifacts.result is None else artifacts.result.truth)


def exchange_of(artifacts: RunArtifacts, facts: SessionFacts) -> SequenceSteps:
    """Return a session's messages between parties and server, in order."""
    num_received = {} if artifacts.result is None else artifacts.result.received
    num = (
        None
        if artifacts.result is None or (artifacts.is_deployment and facts.hides_participation)
        else artifacts.result.num_parties
    )
    server = facts.server_role.replace("-", " ")
    parties = say_number(facts.client_role, f"{facts.client_role}s", 2)
    hello = "who I am, and which session" if num is None else f"{num:,} on the roster"
    steps = [
        SequenceStep(way="up", title="Hello", words=hello),
        SequenceStep(way="down", title="Welcome", words="the agreed parameters"),
    ]
    for phase in facts.phases:
        prices_text = "; ".join(_price_text(loss) for loss in phase.losses)
        steps.append(SequenceStep(way="down", title=f"Request: {phase.name}"))
        number = "who reports is private" if phase.hides_participation else _counted(num_received.get(phase.name))
        if phase.is_central:
            steps.append(SequenceStep(way="up", title="values as they are", words=number))
            steps.append(SequenceStep(way="server", title="adds the noise", words=prices_text))
        else:
            words = f"{prices_text}; kept in {phase.kept}" if phase.kept else prices_text
            steps.append(SequenceStep(way="parties", title="randomize, each on its own", words=words))
            steps.append(SequenceStep(way="up", title=phase.name, words=number))
        if phase.publishes:
            steps.append(SequenceStep(way="down", title="what the phase publishes", words="to all who take part"))
    steps.append(SequenceStep(way="server", title="adds up and estimates"))
    is_released = artifacts.outcome is not None or (
        artifacts.result is not None and artifacts.result.outcome is not None
    )
    if is_released:
        steps.append(SequenceStep(way="down", title="Release", words="the outcome, to all who take part"))
    elif artifacts.run is not None and artifacts.run.failure is not None:
        steps[-1] = SequenceStep(way="server", title="ends without an outcome", words=artifacts.run.failure.reason)
    return SequenceSteps(parties=capitalize(parties), server=capitalize(server), steps=steps)


def _price_text(loss: PhaseLosses) -> str:
    unit = loss.unit if loss.unit.startswith(("one ", "all ")) else f"one {loss.unit}"
    epsilon = epsilon_text(loss.proven)
    if loss.number == 1:
        return f"{loss.mechanism}, {unit}, ε ≤ {epsilon}"
    return f"{loss.mechanism}, {loss.number:,} times {unit}, ε ≤ {epsilon} in all"


def _counted(number: int | None) -> str:
    return "" if number is None else pluralize(number, "report")
