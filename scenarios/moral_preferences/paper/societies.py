"""The experiments' societies: synthetic voters, redrawn for each repetition, and the truth for them.

Accuracy on Section 5.1's voters uses isotropic Gaussian pairs, for which 1 − angle/π is exactly the fraction of pairs
on which two preferences agree (reading M1). Accuracy on voters like the Moral Machine's uses held-out dilemmas, which
no voter answered. In both cases the truth is the mean of the voters' true preferences.
"""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.errors import refuse
from ....protocol.moral_preferences import Records
from ...experiments.reproductions import rename_fields
from ..agreement import agreement_of
from ..data.generators import dot, draw_uniforms
from ..data.machine_like import MoralMachineLike, make_machine_like
from ..data.parties import load_voters
from ..data.survey import Survey
from ..data.synthetic import SyntheticPreferences, make_preferences

MACHINE_LIKE: Final = "machine-like"
OWN: Final = "own"
_HELD_OUT: Final = 2_000
_FEWEST_VOTERS: Final = 16


class Kind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of society."""

    kind: str = "synthetic"  # or MACHINE_LIKE, or OWN for a file
    records: int = 50  # number n of records of each voter
    features: int = 10  # number of features d
    file: str = ""  # the user's file


@dataclasses.dataclass(frozen=True, eq=False)
class RepeatedSociety:
    """The voters of some repetitions, concatenated."""

    records: Records  # the records of all voters
    # float64, shape (repetitions, voters, d): at index i the mean of the first i + 1 voters' true preferences; None if
    # unknown
    means: FloatArray | None
    # Differences of alternatives for accuracy, float64, shape (repetitions or 1, pairs, d): chosen minus rejected if
    # the truth is unknown. None for isotropic pairs.
    pairs: FloatArray | None

    def accuracies(self, estimates: FloatArray, voters: int) -> FloatArray:
        """Return the fraction of pairs on which repetitions' estimates, shape (repetitions, d), agree with the truth.

        The truth is that of the first `voters` voters (reading M1). An estimate of 0 counts ½.
        """
        truth = np.zeros_like(estimates) if self.means is None else self.means[:, voters - 1]
        if self.pairs is None:
            estimate_and_truth = zip(estimates.tolist(), truth.tolist(), strict=True)
            return np.array([0.5 if (same := agreement_of(*each)) is None else same for each in estimate_and_truth])
        estimated_signs = np.sign(dot(self.pairs, estimates[:, None]))
        are_right = estimated_signs * (1.0 if self.means is None else np.sign(dot(self.pairs, truth[:, None])))
        return np.mean((are_right + 1) / 2, axis=1)


def seed_of(seed: int, repetition: int) -> int:
    """Return the generators' seed of a repetition; all are distinct, since there are fewer than 10⁶ repetitions."""
    return seed * 1_000_000 + repetition


def draw_society(kind: Kind, seed: int, repetitions: range, *, num_voters: int) -> RepeatedSociety:
    """Return the voters of some repetitions."""
    seeds = [seed_of(seed, repetition) for repetition in repetitions]
    if kind.kind == OWN:
        return _draw_own_society(kind, num_voters, seeds)
    surveys = [make_survey(kind, num_voters=num_voters, seed=each) for each in seeds]
    truth = np.stack([survey.truth for survey in surveys if survey.truth is not None])
    chosen, rejected = (
        np.concatenate([getattr(survey.records, name) for survey in surveys]) for name in ("chosen", "rejected")
    )
    return RepeatedSociety(
        records=_records(kind, chosen, rejected),
        means=np.cumsum(truth, axis=1) / np.arange(1, num_voters + 1)[:, None],
        pairs=_dilemmas()[None, :_HELD_OUT] if kind.kind == MACHINE_LIKE else None,
    )


def make_survey(kind: Kind, *, num_voters: int, seed: int) -> Survey:
    """Return one synthetic society's voters."""
    if kind.kind == MACHINE_LIKE:
        return make_machine_like(MoralMachineLike(voters=num_voters, records=kind.records, seed=seed))
    spec = SyntheticPreferences(voters=num_voters, records=kind.records, features=kind.features, seed=seed)
    return make_preferences(spec)


def _records(kind: Kind, chosen: FloatArray, rejected: FloatArray) -> Records:
    return Records(np.arange(0, len(chosen) + 1, kind.records, dtype=np.int64), chosen, rejected)


def _draw_own_society(kind: Kind, num_voters: int, seeds: Sequence[int]) -> RepeatedSociety:
    """Return voters drawn from a file for each repetition, and the choices of those who were not drawn (M1)."""
    records = _read_records(kind.file)
    # Indices of the first n records of voters who have at least n, shape (voters, n).
    indices = records.offsets[:-1][records.num_records >= kind.records][:, None] + np.arange(kind.records)
    uniforms = [draw_uniforms("moral-own-data", seed, "voters", start=0, stop=1, slots=len(indices)) for seed in seeds]
    orders = np.argsort(np.concatenate(uniforms), axis=1, kind="stable")
    drawn_rows = indices[orders[:, :num_voters].reshape(-1)].reshape(-1)
    other_rows = indices[orders[:, num_voters : num_voters + max(1, _HELD_OUT // kind.records)]]
    return RepeatedSociety(
        records=_records(kind, records.chosen[drawn_rows], records.rejected[drawn_rows]),
        means=None,
        pairs=(records.chosen[other_rows] - records.rejected[other_rows]).reshape(len(seeds), -1, kind.features),
    )


def kind_of_file(path: str) -> tuple[Kind, int]:
    """Return the kind of a file, with the number of records (at most 13) that enough voters have, and their number."""
    records = _read_records(path)
    counts = np.sort(records.num_records)[::-1]
    # With 400 voters, 200 are drawn and 200 held out; in Section 5.2 a voter has n = 13 records.
    max_own = min(400, (len(records) + 1) // 2)
    num_records = min(int(counts[max_own - 1]), 13)
    number = num_records and int(np.sum(counts >= num_records))
    allowed = f"a file with at least {_FEWEST_VOTERS} voters with choices"
    refuse(number < _FEWEST_VOTERS, "--responses", f"{Path(path).name} with {number} of them", allowed)
    return Kind(kind=OWN, records=num_records, features=records.num_features, file=path), number


@functools.lru_cache(maxsize=1)
def _read_records(path: str) -> Records:
    with rename_fields(voters="--responses"):
        return cast("Records", load_voters(path).table["records"])


@functools.cache
def covariance_of_dilemmas() -> FloatArray:
    """Return the covariance of dilemmas' differences, float64, shape (23, 23).

    A voter's choice changes only a difference's sign, and so not the covariance: it depends on dilemmas, not on voters.
    Held-out dilemmas are excluded.
    """
    differences = _dilemmas()[_HELD_OUT:]
    # Summed in a fixed order, so that bits are the same on all processors.
    sums = [[np.cumsum(one * other)[-1] for other in differences.T] for one in differences.T]
    return np.array(sums) / len(differences)


@functools.cache
def _dilemmas() -> FloatArray:
    """Return the differences of generated dilemmas, shape (dilemmas, 23), of which the first are held out.

    The other 20,000 give the public covariance. They have the default seed, do not belong to an experiment, and do not
    depend on choices.
    """
    return make_machine_like(MoralMachineLike(voters=_HELD_OUT + 20_000, records=1)).records.differences
