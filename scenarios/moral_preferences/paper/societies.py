"""The societies of the experiments: made-up voters, drawn afresh for each repetition, and what is right for them.

Section 5.1's voters are judged by isotropic Gaussian pairs, for which 1 − angle/π is exactly the share of pairs on
which two preferences agree (reading M1). Voters like the Moral Machine's are judged by held-out dilemmas, which belong
to nobody. Either way the truth is the mean of the voters' own true preferences.
"""

import dataclasses
import functools
import math
from typing import Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.moral_preferences import Records
from ..data.machine_like import MoralMachineLike, make_machine_like
from ..data.options import dot
from ..data.survey import Survey
from ..data.synthetic import SyntheticPreferences, make_preferences

__all__ = [
    "MACHINE_LIKE",
    "SYNTHETIC",
    "Setting",
    "Society",
    "agreement",
    "covariance_of_dilemmas",
    "draw_society",
    "make_survey",
    "seed_of",
]

SYNTHETIC: Final = "synthetic"
MACHINE_LIKE: Final = "machine-like"
_HELD_OUT: Final = 2_000
_DILEMMAS: Final = 20_000
"""Of which the public covariance is computed."""
_SEED_OF_DILEMMAS: Final = 0
"""Dilemmas in general are no experiment's own: they have one seed, and nobody's choices count."""
_SEEDS: Final = 1_000_000
"""More than there are repetitions, so that no two seeds share a society."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of society."""

    kind: str = SYNTHETIC  # SYNTHETIC or MACHINE_LIKE
    records: int = 50  # n, of each voter
    features: int = 10  # d
    is_fixed: bool = False  # all repetitions have the same voters; only the noise is drawn afresh
    times: int = 1  # as many repetitions as of others, where what is asked is small beside the noise

    @property
    def name(self) -> str:
        """Of its noise's sessions: the same however many records there are, so that their number is compared alone."""
        return f"{self.kind}/{self.features}/{self.is_fixed}"


@dataclasses.dataclass(frozen=True, eq=False)
class Society:
    """The voters of some repetitions, one repetition after the other."""

    setting: Setting  # what they are
    num_voters: int  # of each repetition
    records: Records  # of all voters
    # float64, shape (societies, voters, d): each voter's true preferences; one society where it is fixed
    truth: FloatArray
    means: FloatArray  # float64, shape (societies, voters, d): at place i those of the first i + 1 voters together


def seed_of(seed: int, repetition: int, *, is_fixed: bool) -> int:
    """Return the generators' seed of a repetition."""
    return seed * _SEEDS + (0 if is_fixed else repetition)


def draw_society(setting: Setting, *, num_voters: int, seed: int, start: int, stop: int) -> Society:
    """Return the voters of the repetitions from `start` up to `stop`."""
    repetitions = [start] if setting.is_fixed else range(start, stop)
    surveys = [
        make_survey(setting, num_voters=num_voters, seed=seed_of(seed, repetition, is_fixed=setting.is_fixed))
        for repetition in repetitions
    ]
    total = num_voters * setting.records * len(surveys)
    truth = np.stack([survey.truth for survey in surveys if survey.truth is not None])
    counts = np.arange(1, num_voters + 1)[:, None]
    return Society(
        setting=setting,
        num_voters=num_voters,
        records=Records(
            np.arange(0, total + 1, setting.records, dtype=np.int64),
            np.concatenate([survey.records.chosen for survey in surveys]),
            np.concatenate([survey.records.rejected for survey in surveys]),
        ),
        truth=truth,
        means=np.cumsum(truth, axis=1) / counts,
    )


def make_survey(setting: Setting, *, num_voters: int, seed: int) -> Survey:
    """Return one society's voters."""
    if setting.kind == SYNTHETIC:
        spec = SyntheticPreferences(voters=num_voters, records=setting.records, features=setting.features, seed=seed)
        return make_preferences(spec)
    return make_machine_like(MoralMachineLike(voters=num_voters, records=setting.records, seed=seed))


def agreement(setting: Setting, estimates: FloatArray, truth: FloatArray) -> FloatArray:
    """Return the share of pairs on which each estimate decides as the truth beside it.

    Args:
        setting: whose pairs.
        estimates: float64, shape (m, d).
        truth: float64, shape (m, d), none of them 0.

    Returns:
        float64, shape (m,). An estimate of 0 tosses a coin.

    Source:
        Reading M1.
    """
    if setting.kind == SYNTHETIC:
        cosines = dot(estimates, truth) / np.sqrt(dot(truth, truth))
        lengths = np.sqrt(dot(estimates, estimates))
        cosines /= np.where(lengths > 0, lengths, 1.0)
        return 1 - np.arccos(np.clip(cosines, -1, 1)) / math.pi
    pairs = _held_out_differences()
    ours = np.sign(dot(pairs[:, None, :], estimates))
    theirs = np.sign(dot(pairs[:, None, :], truth))
    return np.mean(np.where(ours * theirs == 0, 0.5, ours * theirs > 0), axis=0)


@functools.cache
def _held_out_differences() -> FloatArray:
    """Return the differences of held-out dilemmas: float64, shape (dilemmas, 23)."""
    return _dilemmas()[:_HELD_OUT]


@functools.cache
def covariance_of_dilemmas() -> FloatArray:
    """Return the covariance of the differences that dilemmas in general have: float64, shape (23, 23).

    Which side a voter chose changes a difference's sign alone, and so not the covariance: it is a fact on dilemmas, not
    on voters. Those that are held out are not in it.
    """
    differences = _dilemmas()[_HELD_OUT:]
    products = np.zeros((differences.shape[1], differences.shape[1]))
    for row, column in enumerate(differences.T):
        products[row] = [np.cumsum(column * other)[-1] for other in differences.T]  # added in order
    return products / len(differences)


@functools.cache
def _dilemmas() -> FloatArray:
    spec = MoralMachineLike(voters=_HELD_OUT + _DILEMMAS, records=1, seed=_SEED_OF_DILEMMAS)
    return make_machine_like(spec).records.differences
