"""What all generators of voters share: descriptions, streams of numbers, records as a survey, voters in batches.

A generator's numbers are rows of Philox streams that belong to it alone, so voter i is the same whichever voters are
made with it. Normal draws are quantiles of these uniforms by scipy's functions, whose bits no processor changes.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np
from scipy.special import ndtri

from ....protocol.arrays import FloatArray
from ....protocol.errors import require
from ....protocol.moral_preferences.records import Records
from ....protocol.randomness import philox_rows, stream_key
from .survey import Reading, Survey

MAX_VOTERS: Final = 100_000_000
_NAME_DIGITS: Final = 9  # enough for `MAX_VOTERS`, so that the order of made-up names is that of their numbers
_LEAST: Final = 2.0**-54  # in place of 0, whose quantile is no number: half the least step of the uniforms


class SyntheticVoters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent voters, whose preferences lie around a mean; ConfigurationError where a value is not allowed."""

    most: ClassVar[Mapping[str, int]] = {"voters": MAX_VOTERS, "records": 10_000}
    """How large a number may be."""

    voters: int  # how many, at least 1
    records: int  # of each voter, at least 1
    spread: float  # the standard deviation s ≥ 0 of a voter's preferences around the mean, in each coordinate
    seed: int = 0  # of the voters, not of the noise

    def __post_init__(self) -> None:
        for field, max_value in self.most.items():
            value = getattr(self, field)
            require(0 < value <= max_value, field, value, f"in [1, {max_value}]")
        is_allowed = self.spread >= 0 and math.isfinite(self.spread)
        require(is_allowed, "spread", self.spread, "a number of at least 0")
        require(self.seed >= 0, "seed", self.seed, "at least 0")

    @property
    def feature_names(self) -> Sequence[str]:
        """What each number of an alternative is."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Generator:
    """What makes up voters: how they are described, and what makes those from one place to another."""

    options: type[SyntheticVoters]
    make: Callable[..., Survey]


def check_range(start: int, stop: int | None, voters: int) -> int:
    """Return the end of a range of voters; ValueError where it is no range of at least one of them.

    Examples:
        >>> check_range(2, None, voters=5)
        5
    """
    end = voters if stop is None else stop
    if not 0 <= start < end <= voters:
        raise ValueError(f"voters are {start} to {end}: use a range within 0 to {voters}")
    return end


def draw_uniforms(generator: str, seed: int, purpose: str, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return rows `start` to `stop` of one of a generator's streams: float64 in [0, 1), shape (stop − start, slots).

    Examples:
        >>> draw_uniforms("mine", 1, "choices", start=0, stop=2, slots=3).shape
        (2, 3)
    """
    key = stream_key(seed=seed, session="", round_number=0, protocol=generator, phase="", purpose=purpose)
    return philox_rows(key, start=start, stop=stop, slots=slots)


def draw_normals(generator: str, seed: int, purpose: str, *, start: int, stop: int, slots: int) -> FloatArray:
    """Return the same as standard normal draws."""
    uniforms = draw_uniforms(generator, seed, purpose, start=start, stop=stop, slots=slots)
    normals: FloatArray = ndtri(np.maximum(uniforms, _LEAST))
    return normals


def dot(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return inner products over the last axis, summed in its order, so that their bits do not depend on the batch.

    Examples:
        >>> dot(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])).tolist()
        [11.0]
    """
    total = first[..., 0] * second[..., 0]
    for place in range(1, first.shape[-1]):
        total = total + first[..., place] * second[..., place]
    return total


def names_of(word: str, start: int, stop: int) -> list[str]:
    """Return the names of made-up voters: a word and a number, from 1.

    Examples:
        >>> names_of("voter", 0, 2)
        ['voter 000000001', 'voter 000000002']
    """
    return [f"{word} {number:0{_NAME_DIGITS}d}" for number in range(start + 1, stop + 1)]


def synthetic_survey(
    voters: Sequence[str],
    chosen: FloatArray,
    rejected: FloatArray,
    *,
    features: Sequence[str],
    truth: FloatArray,
    source: str,
    societies: Sequence[str] = (),
) -> Survey:
    """Return made-up choices, float64, shape (voters, records, d), as a survey.

    The truth, shape (voters, d), are the preferences by which they were made.
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
        societies=societies,
    )


def split_batches(make: Callable[..., Survey], spec: SyntheticVoters, *, batch_voters: int) -> Iterator[Survey]:
    """Yield a generator's voters, at most so many at a time; the last batch may be smaller.

    Examples:
        >>> from psephos.scenarios.moral_preferences.data.synthetic import SyntheticPreferences, make_preferences
        >>> spec = SyntheticPreferences(voters=5, records=1, features=2)
        >>> [len(survey.voters) for survey in split_batches(make_preferences, spec, batch_voters=2)]
        [2, 2, 1]
    """
    if batch_voters < 1:
        raise ValueError(f"batch_voters is {batch_voters}: use at least 1")
    for start in range(0, spec.voters, batch_voters):
        yield make(spec, start=start, stop=min(start + batch_voters, spec.voters))
