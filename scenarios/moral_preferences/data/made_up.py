"""What all generators of voters share: their records as a survey, and the same voters in batches."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.moral_preferences.records import Records
from .options import NAME_DIGITS
from .survey import Reading, Survey

__all__ = ["in_batches", "made_up_survey", "names_of"]


class _Voters(Protocol):
    """A description of voters that says how many there are."""

    @property
    def voters(self) -> int: ...


SpecT = TypeVar("SpecT", bound=_Voters)
SpecT_contra = TypeVar("SpecT_contra", bound=_Voters, contravariant=True)


class _Make(Protocol[SpecT_contra]):
    """Makes the voters of a description from one place up to another."""

    def __call__(self, spec: SpecT_contra, /, *, start: int, stop: int) -> Survey: ...


def names_of(word: str, start: int, stop: int) -> list[str]:
    """Return the names of made-up voters: a word and a number, from 1."""
    return [f"{word} {number:0{NAME_DIGITS}d}" for number in range(start + 1, stop + 1)]


def made_up_survey(
    voters: Sequence[str],
    chosen: FloatArray,
    rejected: FloatArray,
    *,
    features: Sequence[str],
    truth: FloatArray,
    source: str,
) -> Survey:
    """Return made-up choices as a survey.

    Args:
        voters: their names.
        chosen: float64, shape (voters, records, d).
        rejected: likewise.
        features: what each number of an alternative is.
        truth: shape (voters, d): the preferences by which the choices were made.
        source: where they come from, for people.
    """
    _, records, width = chosen.shape
    total = len(voters) * records
    return Survey(
        voters=voters,
        features=tuple(features),
        records=Records(
            np.arange(0, total + 1, records, dtype=np.int64),
            chosen.reshape(total, width),
            rejected.reshape(total, width),
        ),
        source=source,
        reading=Reading(num_rows=2 * total, num_responses=total, num_voters=len(voters), num_records=total),
        is_generated=True,
        truth=truth,
    )


def in_batches(make: _Make[SpecT], spec: SpecT, *, batch_voters: int) -> Iterator[Survey]:
    """Yield a generator's voters, at most so many at a time; the last batch may be smaller.

    Args:
        make: the generator.
        spec: the voters' description.
        batch_voters: at least 1.

    Raises:
        ValueError: it is less.
    """
    if batch_voters < 1:
        raise ValueError(f"batch_voters must be at least 1, got {batch_voters}")
    for start in range(0, spec.voters, batch_voters):
        yield make(spec, start=start, stop=min(start + batch_voters, spec.voters))
