"""Summarize ledgers of any size, read line by line, with 12 bytes of memory for each line.

Persons whose lines differ only in their names are counted, and one represents them, which suffices to show a ledger. A
person is identified by a keyed 64-bit hash of its name. Among a million persons, a collision, which adds up the losses
of two, has a probability of 1 in 40 million.
"""

import array
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.errors import refuse
from ...protocol.privacy import LedgerEntry
from .folder import entries_in, ledger_lines, read_entry, to_json

_BEGINNING: Final = b'{"person":"'
_NUM_PARTS: Final = 64
"""Persons are processed in this number of parts, so that sorting needs little memory."""
_MOST_ENDS: Final = 1 << 14
_KEY: Final = hash(_BEGINNING) % 2**63
_OF_A_GROUP: Final = re.compile(r"each of \d+ ")


@dataclasses.dataclass(frozen=True)
class LedgerSummary:
    """A summary of a ledger, with one representative for all persons with equal losses.

    Args:
        entries: entries of one representative for each distinct list of losses. The representative has no person's
            name, except for the requested party, or a unique person.
        num_alike: maps each representative's name to the number of persons.
    """

    entries: Sequence[LedgerEntry]
    num_alike: Mapping[str, int]


def summarize_ledgers(runs: Sequence[Path], *, party: str | None) -> LedgerSummary:
    """Summarize the ledgers of several runs of the same persons, whose losses add up by name.

    If runs by arrays have one line for all persons, these are assumed to be the same in all runs, which never
    understates a person's loss.

    Args:
        runs: the runs' folders.
        party: a party that is not merged with others.

    Raises:
        ConfigurationError: as `read_ledger`; a run is given twice; or a person's entries cannot be separated from
            others'.
    """
    lines = _LedgerLines()
    first_reported: tuple[Path, dict[str, int]] | None = None
    for number, run in enumerate(runs):
        is_again = run.resolve() in {other.resolve() for other in runs[:number]}
        refuse(is_again, "RUN", str(run), "named once: its losses would count twice")
        num_before = len(lines)
        groups = lines.read(run, suffix=_suffix_of(run, runs))
        if len(lines) == num_before:
            continue
        first, expected = first_reported = first_reported or (run, groups)
        allowed = f"one for {_said(expected)}, as {first} has: else nobody knows whose losses add up"
        refuse(groups != expected, f"the ledger of {run}", f"one for {_said(groups)}", allowed)
    return lines.summary(party)


def entries_of(runs: Sequence[Path]) -> Iterator[LedgerEntry]:
    """Yield the entries of several runs; with several, session names include the run."""
    for run in runs:
        suffix = _suffix_of(run, runs)
        for entry in entries_in(run):
            yield msgspec.structs.replace(entry, session=entry.session + suffix) if suffix else entry


def _suffix_of(run: Path, runs: Sequence[Path]) -> str:
    return f" ({run})" if len(runs) > 1 else ""


def _said(groups: Mapping[str, int]) -> str:
    return " and ".join(groups) or "each person by name"


class _LedgerLines:
    """For each line, its person and its kind, which consists of everything but the person."""

    def __init__(self) -> None:
        self._persons = array.array("q")
        self._numbers = array.array("i")
        self._kinds: dict[bytes, int] = {}
        self._entries: list[LedgerEntry] = []
        self._first = ""

    def __len__(self) -> int:
        return len(self._numbers)

    def read(self, run: Path, *, suffix: str) -> dict[str, int]:
        """Read the lines of a run's ledger; return the numbers of unnamed persons by the name in their line.

        Psephos writes the person first, so a line whose rest has occurred before is parsed only for its name.
        """
        ends: dict[bytes, int] = {}
        groups: dict[str, int] = {}
        start = len(_BEGINNING)
        add_person, add_number, end_of_entry = self._persons.append, self._numbers.append, ends.get
        for number, line in ledger_lines(run):
            place = line.find(b'"', start)
            name, kind = line[start:place], end_of_entry(line[place:])
            if kind is not None and line.startswith(_BEGINNING) and _is_plain(name):
                add_person(hash(name))
                add_number(kind)
                continue
            entry = read_entry(line, number)
            if _OF_A_GROUP.match(entry.person):
                groups[entry.person] = entry.num_persons
            if suffix:
                entry = msgspec.structs.replace(entry, session=entry.session + suffix)
            kind = self._kind_of(entry)
            if line.startswith(_BEGINNING) and name == entry.person.encode() and not groups and len(ends) < _MOST_ENDS:
                ends[line[place:]] = kind
            add_person(hash(entry.person.encode()))
            add_number(kind)
        return groups

    def _kind_of(self, entry: LedgerEntry) -> int:
        self._first = self._first or entry.person
        kind = msgspec.structs.replace(entry, person="")
        number = self._kinds.setdefault(to_json(kind), len(self._entries))
        if number == len(self._entries):
            self._entries.append(kind)
        return number

    def summary(self, party: str | None) -> LedgerSummary:
        """Return the summary of all lines."""
        persons, numbers = np.frombuffer(self._persons, dtype=np.int64), np.frombuffer(self._numbers, dtype=np.int32)
        own_hash = None if party is None else hash(party.encode())
        # By being requested and by losses: the first line of persons with equal losses, and their number.
        first_and_count: dict[tuple[bool, bytes], tuple[int, int]] = {}
        for part in range(_NUM_PARTS):
            part_places = np.flatnonzero(persons & (_NUM_PARTS - 1) == part)
            if not len(part_places):
                continue
            part_places = part_places[np.argsort(persons[part_places], kind="stable")]
            part_persons, kinds = persons[part_places], numbers[part_places]
            begins = np.flatnonzero(np.diff(part_persons, prepend=~part_persons[:1]))
            lengths = np.diff(begins, append=len(part_places))
            places = np.arange(len(part_places)) - np.repeat(begins, lengths)
            ways = np.add.reduceat(_mix(places) * (kinds + 1).astype(np.uint64), begins)
            if own_hash is not None:
                ways[part_persons[begins] == own_hash] = 0
            _, examples, kind_of_person, counts = np.unique(
                ways, return_index=True, return_inverse=True, return_counts=True
            )
            firsts = np.full(len(counts), len(persons))
            np.minimum.at(firsts, kind_of_person, part_places[begins])
            for example, first, count in zip(examples.tolist(), firsts.tolist(), counts.tolist(), strict=True):
                begin = begins[example]
                way = bool(part_persons[begin] == own_hash), kinds[begin : begin + lengths[example]].tobytes()
                earliest, number = first_and_count.get(way, (first, 0))
                first_and_count[way] = min(first, earliest), number + count
        is_alone = sum(number for _, number in first_and_count.values()) == 1
        entries: list[LedgerEntry] = []
        num_alike: dict[str, int] = {}
        for (is_own, kind_bytes), (first, number) in sorted(first_and_count.items(), key=lambda item: item[1]):
            name = (is_own and party) or (self._first if is_alone else f"\0{first}")
            num_alike[name] = number
            kind_numbers: list[int] = np.frombuffer(kind_bytes, dtype=np.int32).tolist()
            entries += [msgspec.structs.replace(self._entries[kind], person=name) for kind in kind_numbers]
        return LedgerSummary(entries, num_alike)


def _is_plain(name: bytes) -> bool:
    """Return whether a name needs no escapes in JSON."""
    try:
        return name.decode().isprintable() and b"\\" not in name
    except UnicodeDecodeError:
        return False


def _mix(numbers: IntArray) -> Any:
    """Return 64-bit hashes that a ledger's writer cannot predict: SplitMix64 with a key of this process."""
    hashes = (numbers.astype(np.uint64) + np.uint64(_KEY)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
