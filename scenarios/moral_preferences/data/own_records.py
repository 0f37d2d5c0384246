"""One voter's own records, from a file that is its alone, or into one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ....protocol.moral_preferences import MoralPreferences
from ....protocol.phases import PhasedProtocol
from ...deployment.own_entries import INPUT, OwnEntries, OwnFile
from .files import read_own_records


def _read(file: OwnFile) -> Mapping[str, Any]:
    """Return `records`, pairs of alternatives by feature, the chosen one first, of a file with two lines for each."""
    pairs, features = read_own_records(file.path, field=INPUT)
    alternatives: list[list[list[float]]] = pairs.tolist()
    return {"records": [[dict(zip(features, each, strict=True)) for each in pair] for pair in alternatives]}


def _write(protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """Return two lines for each record, the chosen alternative first."""
    features = cast("MoralPreferences", protocol).parameters.features
    lines: list[Sequence[str]] = [("record", "choice", *features)]
    for number, pair in enumerate(entries["records"], start=1):
        for choice, alternative in zip("10", pair, strict=True):
            by_name = isinstance(alternative, Mapping)
            values: Sequence[Any] = [alternative[name] for name in features] if by_name else alternative
            lines.append((str(number), choice, *(repr(float(value)) for value in values)))
    return lines


OWN_RECORDS: Final = OwnEntries(columns=frozenset({"record", "choice"}), read=_read, write=_write)
