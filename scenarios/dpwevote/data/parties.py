"""Partners in a file, as somebody saved it: yes and no in words, columns by other names, weights or none."""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ....protocol.columns import CodedColumn
from ....protocol.dpwevote import DPWeVote
from ....protocol.dpwevote.protocol import OPINIONS
from ....protocol.errors import ConfigurationError, did_you_mean, one_of, refuse
from ....protocol.phases import Entries
from ...reading.conversion import convert
from ...reading.sources import PartiesTable, PartySources
from ...running.parties import read_parties_file
from ...running.rosters import FINGERPRINT_COLUMN
from .made_up import make_partners

__all__ = ["SOURCES", "VoteFile", "load_partners"]

_FIELD: Final = "partners"
_WEIGHT: Final = "weight"
_ONE_VOTE: Final[Mapping[str, Any]] = {"public_weights": True, "weights": [1.0]}


class VoteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with a line for each partner, of whatever form; one without weights is one person, one vote.

    Raises:
        ConfigurationError: a value is not allowed.
    """

    file: str  # a CSV of partner, weight and a column for each candidate
    columns: dict[str, str] = {}  # what the file calls `partner` or `weight`, where it calls them otherwise
    yes: tuple[str, ...] = ()  # words for yes, beside yes, y, true and 1; in any case
    no: tuple[str, ...] = ()  # words for no, beside no, n, false and 0
    numbered: bool = False  # it has no names: partners are called by their number in it

    def __post_init__(self) -> None:
        known = (DPWeVote.client_role, _WEIGHT)
        for name in self.columns:
            if name not in known:
                allowed = one_of(known, name)
                raise ConfigurationError(field=f"{_FIELD}.columns", value=name, allowed=allowed)
        meanings = {**OPINIONS, "1": 1.0, "0": 0.0}
        for key, opinion in (("yes", 1.0), ("no", 0.0)):
            for word in getattr(self, key):
                if meanings.setdefault(word.strip().casefold(), opinion) != opinion or not word.strip():
                    allowed = "words that do not mean the other answer already"
                    raise ConfigurationError(field=f"{_FIELD}.{key}", value=word, allowed=allowed)

    @property
    def words(self) -> Mapping[str, int]:
        """The file's own words for opinions, in small letters."""
        return {
            **{word.strip().casefold(): 1 for word in self.yes},
            **{word.strip().casefold(): 0 for word in self.no},
        }


def load_partners(parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return the partners of a file, by its path or a table of `VoteFile`, or made-up ones of `made_up.WeightedVotes`.

    Beside a table of `VoteFile` that names candidates, the file's other columns are left out.
    """
    if isinstance(parties, Mapping) and "file" not in parties:
        return make_partners(parties, parameters=parameters)
    options: VoteFile = VoteFile(file=parties) if isinstance(parties, str) else convert(dict(parties), VoteFile, _FIELD)
    path = Path(options.file)
    read = read_parties_file(path, DPWeVote.client_role, options.columns, numbered=options.numbered)
    candidates: list[str] = convert(parameters.get("candidates", []), list[str], "candidates")
    table = {name: _opinions(entries, options.words) for name, entries in read.table.items() if name != _WEIGHT}
    if candidates and not isinstance(parties, str):
        table = {name: entries for name, entries in table.items() if name in candidates}
    if _WEIGHT in read.table:
        return dataclasses.replace(read, table={_WEIGHT: read.table[_WEIGHT], **table})
    if not any(name in candidates if candidates else name != FINGERPRINT_COLUMN for name in table):
        return read  # of names, and no opinion: whoever holds the rest says it
    _check_without_weights(read, candidates, parameters)
    note = f"{path.name} has no column {_WEIGHT!r}: one person, one vote, and nothing is spent on weights."
    return dataclasses.replace(
        read,
        table={_WEIGHT: np.ones(len(read.names)), **table},
        parameters=_ONE_VOTE,
        note=f"{read.note} {note}".strip(),
    )


def _opinions(entries: Entries, words: Mapping[str, int]) -> Entries:
    """Return opinions with the file's own words as numbers, and what is none of them as it is."""
    if words and isinstance(entries, CodedColumn):
        return CodedColumn(list(map(str, _opinions(entries.names, words))), entries.codes)
    return [words.get(str(entry).strip().casefold(), entry) for entry in entries] if words else entries


def _check_without_weights(read: PartiesTable, candidates: Collection[str], parameters: Mapping[str, Any]) -> None:
    """Raise ConfigurationError if partners cannot all have weight 1, or a column may be meant for weights."""
    others = {name.casefold(): name for name in read.table if name not in candidates}
    if did_you_mean(_WEIGHT, others) or _WEIGHT in others:
        close = next(name for folded, name in others.items() if did_you_mean(_WEIGHT, [folded]))
        allowed = f"called {_WEIGHT!r}, if it holds weights; or named among the candidates, if it is voted on"
        raise ConfigurationError(field=f"a column of {read.source} (line 1)", value=close, allowed=allowed)
    if parameters.get("public_weights") is False:
        allowed = f"left out, or true: {read.source} has no column {_WEIGHT!r}, and one person, one vote is no secret"
        raise ConfigurationError(field="public_weights", value=False, allowed=allowed)
    weights: list[float] = convert(parameters.get("weights", [1.0]), list[float], "weights")
    allowed = f"with 1 among them, or left out: {read.source} has no column {_WEIGHT!r}, so each partner weighs 1"
    refuse(1.0 not in weights, "weights", weights, allowed)


SOURCES: Final = PartySources(
    read=load_partners,
    paths=("file",),
    published=frozenset({"file"}),
    parameters_of_table=frozenset({"candidates"}),
    implied_parameters=frozenset(_ONE_VOTE),
)
