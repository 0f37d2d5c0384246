"""One voter's own records, from a file that is its alone."""

from collections.abc import Mapping
from typing import Any, Final

from ...deployment.own_entries import INPUT, OwnEntries, OwnFile
from .files import read_own_records

__all__ = ["OWN_RECORDS"]


def _read(file: OwnFile) -> Mapping[str, Any]:
    """Return `records`, pairs of alternatives by feature, the chosen one first, of a file with two lines for each."""
    pairs, features = read_own_records(file.path, field=INPUT)
    alternatives: list[list[list[float]]] = pairs.tolist()
    return {"records": [[dict(zip(features, each, strict=True)) for each in pair] for pair in alternatives]}


OWN_RECORDS: Final = OwnEntries(columns=frozenset({"record", "choice"}), read=_read)
