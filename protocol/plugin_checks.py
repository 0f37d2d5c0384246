"""Checks of what a protocol's code declares and returns: columns, rows, reports, tallies, outcomes.

The server machine and the array path both call them, so that the same faults stop both. Unless stated otherwise they
raise PluginError if the protocol's code raises an exception or breaks its contract.
"""

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec
import numpy as np

from .arrays import IntArray
from .columns import Column, Observed
from .errors import ConfigurationError, PluginError, UnusablePluginError, quote, refuse
from .phases import Inputs, Phase, PhasedProtocol, Truth
from .plugin_faults import blaming, plugin_of
from .tally import Tally, describe_earlier

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)

# The most clients whose reports are also tallied in two parts, to check that the parts merge into the whole.
_MOST_SPLIT: Final = 16
# The most reports of a batch that are checked against their senders' public rows, if a phase has such a check.
_MOST_HELD: Final = 16


def check_declared(kind: type[PhasedProtocol[Any, Any]]) -> None:
    """Refuse a protocol class without the required declarations.

    Raises:
        ConfigurationError: it has no name, or its parameters or its outcome are no structs.
    """
    name: object = getattr(kind, "name", None)
    if not isinstance(name, str) or not name:
        field = f"the name of protocol class {kind.__qualname__}"
        raise ConfigurationError(field=field, value=name, allowed="a text, such as name = 'my-vote'")
    for declared in ("parameters_type", "outcome_type"):
        attribute: object = getattr(kind, declared, None)
        if not (isinstance(attribute, type) and issubclass(attribute, msgspec.Struct)):
            field = f"{declared} of {plugin_of(kind)}"
            value = "nothing" if attribute is None else _kind_name(attribute)
            raise ConfigurationError(field=field, value=value, allowed="a subclass of msgspec.Struct")


def check_own_columns(protocol: PhasedProtocol[Any, Any]) -> None:
    """Refuse a protocol whose columns are no columns, or share a name.

    Raises:
        ConfigurationError: they are or do. The caller turns exceptions of the protocol into `UnusablePluginError`
            (`plugin_faults`).
    """
    columns_told = cast("object", protocol.columns())
    field = f"columns() of {plugin_of(protocol)}"
    columns_made = list(cast("Sequence[object]", columns_told)) if isinstance(columns_told, Sequence) else [None]
    columns = [column for column in columns_made if isinstance(column, Column)]
    refuse(len(columns) < len(columns_made), field, cast("object", columns_told), "a tuple of Columns")
    names = [column.name for column in columns]
    refuse(len(set(names)) < len(names), field, names, "columns of distinct names")


def check_completed(protocol: PhasedProtocol[Any, Any], table: Observed) -> None:
    """Refuse a protocol whose public parameters were derived from a private column.

    Args:
        protocol: the protocol, made from what its `complete` returned for the table.
        table: the table, which recorded the columns that `complete` read.

    Raises:
        ConfigurationError: `complete` read a private column that `completes_from` does not name.
    """
    private = {column.name for column in protocol.columns() if column.private}
    for name in sorted(private & table.seen - protocol.completes_from)[:1]:
        allowed = "public columns alone: what it returns is told everybody (completes_from names what may be told)"
        field = f"what complete() of {plugin_of(protocol)} looks at"
        raise ConfigurationError(field=field, value=name, allowed=allowed)


def checked_inputs(protocol: PhasedProtocol[Any, Any], encoded: object, *, num_parties: int) -> Inputs:
    """Check and return the result of `encode`: a row for each party, or else UnusablePluginError."""
    if isinstance(encoded, Inputs) and len(encoded) == num_parties:
        return encoded
    reason = f"it returned {_a(encoded)}, and not Inputs"
    if isinstance(encoded, Inputs):
        reason = f"it returned {len(encoded)} rows for {num_parties} entries of each column"
    raise UnusablePluginError(plugin=plugin_of(protocol), step="encode", reason=reason)


def checked_truth(protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> Truth | None:
    """Check and return the true values by name, as plain numbers and texts; None if the protocol offers none."""
    with blaming(protocol, "truth"):
        truths = cast("object", protocol.truth(inputs))
    if truths is None:
        return None
    if not isinstance(truths, Mapping):
        raise _fault(protocol, "truth", f"it returned {_a(truths)}, and not a mapping of names to numbers or texts")
    plain: dict[str, float | str] = {}
    for name, truth_value in cast("Mapping[object, object]", truths).items():
        value: object = cast("Any", truth_value).item() if isinstance(truth_value, np.generic) else truth_value
        if not isinstance(name, str) or not isinstance(value, (numbers.Real, str)):
            raise _fault(protocol, "truth", f"of {quote(name)} it told {_a(value)}, and not a number or a text by name")
        plain[name] = cast("float | str", value)
    return plain


def check_reports(protocol: PhasedProtocol[Any, Any], phase: Phase, reports: IntArray, public: IntArray) -> None:
    """Refuse reports whose senders a server would drop.

    All reports, int64 of shape (n, num_reported), must be in the mechanism's range. The first few are also checked
    against their senders' public rows.
    """
    shape = (len(public), phase.num_reported)
    if np.shape(reports) != shape or not np.issubdtype(np.asarray(reports).dtype, np.integer):
        array = f"{np.asarray(reports).dtype} of shape {np.shape(reports)}"
        reason = f"{type(phase.mechanism).__name__} reported {array}, and its reports are integers of shape {shape}"
        raise _fault(protocol, f"phase {phase.name!r}", reason)
    if not reports.size:
        return
    low, high = phase.mechanism.report_range
    least, greatest = int(reports.min()), int(reports.max())
    if not low <= least <= greatest <= high:
        wrong = least if least < low else greatest
        reason = f"{type(phase.mechanism).__name__} reported {wrong}, and its reports are in [{low}, {high}]"
        raise _fault(protocol, f"phase {phase.name!r}", reason)
    if type(phase).check_report is Phase.check_report:
        return
    step = f"check_report of phase {phase.name!r}"
    for report, public_row in zip(reports[:_MOST_HELD].tolist(), public[:_MOST_HELD].tolist(), strict=True):
        with blaming(protocol, step):
            phase.check_report(report, public_row)


def checked_tally(
    protocol: PhasedProtocol[Any, Any],
    phase: Phase,
    reports: IntArray,
    earlier: Sequence[IntArray],
    public: IntArray,
    *,
    is_first: bool = True,
) -> Tally:
    """Return the tally of some clients; of the first ones see as well whether tallies of a few of them add up."""
    step, earlier = f"tally of phase {phase.name!r}", protocol.retained_reports(earlier)
    earlier_text = describe_earlier([named_phase.name for named_phase in protocol.phases], earlier)

    def tally_of(rows: slice) -> Tally:
        with blaming(protocol, step, inputs_text=earlier_text):
            tally = phase.tally(reports[rows], earlier=[past[rows] for past in earlier], public=public[rows])
        if not isinstance(tally, Tally):  # pyright: ignore[reportUnnecessaryIsInstance]  somebody's code, which may have no types
            raise _fault(protocol, step, f"it returned {_a(tally)}, and not a Tally")
        if tally.num_reports != len(reports[rows]):
            raise _fault(protocol, step, "it is of another number of reports than it was given")
        return tally

    num_first = min(len(reports), _MOST_SPLIT)
    if is_first and num_first > 1:
        half = num_first // 2
        whole_tally, first, second = map(tally_of, (slice(num_first), slice(half), slice(half, num_first)))
        with blaming(protocol, step):
            merged = first.merge(second)
        if merged != whole_tally:
            # The number of clients may be private, so the message has no numbers.
            reason = "the tallies of two halves of some clients do not add up to that of all of them"
            raise _fault(protocol, step, reason)
    return tally_of(slice(None))


def checked_outcome(protocol: PhasedProtocol[Any, OutcomeT], tallies: Sequence[Tally]) -> OutcomeT:
    """Check and return the outcome: of the declared type, finite, unchanged by encoding, the same when asked twice."""
    step = "outcome"
    outcome = _call(protocol, step, lambda: protocol.outcome(tallies))
    return cast("OutcomeT", _check(protocol, step, outcome, protocol.outcome_type))


def checked_phase_outcome(
    protocol: PhasedProtocol[Any, Any], phase: Phase, tallies: Sequence[Tally]
) -> msgspec.Struct | None:
    """Check and return the public outcome of a phase, likewise."""
    if type(phase).outcome is Phase.outcome:
        return None
    step = f"outcome of phase {phase.name!r}"
    outcome = _call(protocol, step, lambda: phase.outcome(tallies))
    if outcome is None:
        return None
    kind = type(outcome) if isinstance(outcome, msgspec.Struct) else msgspec.Struct
    return _check(protocol, step, outcome, kind)


def checked_own_outcomes(protocol: PhasedProtocol[Any, Any], tallies: Sequence[Tally]) -> Mapping[int, msgspec.Struct]:
    """Check and return the outcomes for single clients, by place: of `own_outcome_type`, and finite."""
    step = "own_outcomes"
    with blaming(protocol, step):
        own_outcomes = protocol.own_outcomes(tallies)
        outcomes = tuple(own_outcomes.values())
    if not outcomes:
        return own_outcomes
    if protocol.own_outcome_type is None:
        raise _fault(protocol, step, f"it returned {_a(outcomes[0])}, and own_outcome_type is None")
    for outcome in outcomes:
        if type(outcome) is not protocol.own_outcome_type:
            raise _fault(
                protocol, step, f"it returned {_a(outcome)}, and not a {_kind_name(protocol.own_outcome_type)}"
            )
    _check_travels(protocol, step, outcomes, tuple[protocol.own_outcome_type, ...])
    return own_outcomes


def _call(protocol: PhasedProtocol[Any, Any], step: str, call: Callable[[], object]) -> object:
    """Call the protocol's code; where it may be asked twice, check that both results agree."""
    with blaming(protocol, step):
        outcome = call()
        again = call() if protocol.computes_twice else outcome
    if again is not outcome and _encode_value(protocol, step, again) != _encode_value(protocol, step, outcome):
        raise _fault(protocol, step, "asked twice for the same tallies, it returned two different outcomes")
    return outcome


def _check(
    protocol: PhasedProtocol[Any, Any], step: str, outcome: object, kind: type[msgspec.Struct]
) -> msgspec.Struct:
    if not isinstance(outcome, kind):
        raise _fault(protocol, step, f"it returned {_a(outcome)}, and not a {_kind_name(kind)}")
    _check_travels(protocol, step, outcome, kind)
    return outcome


def _check_travels(protocol: PhasedProtocol[Any, Any], step: str, value: object, kind: Any) -> None:
    """Refuse what is not finite, or another value once it was encoded and decoded."""
    encoded = _encode_value(protocol, step, value)
    try:
        decoded: object = msgspec.msgpack.decode(encoded, type=kind)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise _fault(protocol, step, f"what it returned is no {_kind_name(kind)}: {error}") from error
    if not _survives_json(value, kind) and (place := _find_infinite(msgspec.to_builtins(value))):
        raise _fault(protocol, step, f"a number is not finite, {place}: return None where there is none")
    if decoded != value:
        fields = getattr(type(value), "__struct_fields__", ())
        wrong = [f"$.{name}" for name in fields if getattr(decoded, name) != getattr(value, name)]
        place = f" at {wrong[0]}" if wrong else ""
        raise _fault(protocol, step, f"what it returned is not equal to what arrives of it{place}")


def _encode_value(protocol: PhasedProtocol[Any, Any], step: str, value: object) -> bytes:
    try:
        return msgspec.msgpack.encode(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _fault(protocol, step, f"what it returned does not fit into a message: {error}") from error


def _survives_json(value: object, kind: Any) -> bool:
    """Return whether JSON, which has no number that is not finite, holds a value of this type as it is."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(value), type=kind) == value)
    except (msgspec.ValidationError, TypeError, ValueError):
        return False


def _find_infinite(value: object, path: str = "") -> str:
    """Return the first number that is not finite, and where it is; empty where all are."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{path.lstrip('.')} = {value}"
    named: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        named = [(f"{path}.{key}", item) for key, item in cast("Mapping[object, object]", value).items()]
    elif isinstance(value, (list, tuple)):
        named = [(f"{path}[{place}]", item) for place, item in enumerate(cast("Sequence[object]", value))]
    return next((problem for name, item in named if (problem := _find_infinite(item, name))), "")


def _fault(protocol: PhasedProtocol[Any, Any], step: str, reason: str) -> PluginError:
    return PluginError(plugin=plugin_of(protocol), step=step, reason=reason)


def _a(value: object) -> str:
    """Return a value's type with an article."""
    return "None" if value is None else f"a {type(value).__name__}"


def _kind_name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
