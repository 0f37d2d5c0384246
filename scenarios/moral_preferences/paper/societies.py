"""The societies of the experiments: made-up voters, drawn afresh for each repetition, and what is right for them.

Section 5.1's voters are judged by isotropic Gaussian pairs, for which 1 − angle/π is exactly the share of pairs on
which two preferences agree (reading M1). Voters like the Moral Machine's are judged by held-out dilemmas, which belong
to nobody. Either way the truth is the mean of the voters' own true preferences.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.errors import refuse
from ....protocol.moral_preferences import Records
from ...experiments.reproductions import as_option
from ..data.machine_like import MoralMachineLike, make_machine_like
from ..data.made_up import dot, draw_uniforms
from ..data.parties import load_voters
from ..data.survey import Survey
from ..data.synthetic import SyntheticPreferences, make_preferences

SYNTHETIC: Final = "synthetic"
MACHINE_LIKE: Final = "machine-like"
OWN: Final = "own"
_HELD_OUT: Final = 2_000
_DILEMMAS: Final = 20_000  # of which the public covariance is computed
_SEED_OF_DILEMMAS: Final = 0
"""Dilemmas in general are no experiment's own: they have one seed, and nobody's choices count."""
_GENERATOR: Final = "moral-own-data"
_DILEMMAS_OF_A_VOTER: Final = 13  # Section 5.2: n
_ENOUGH_VOTERS: Final = 400  # of whom 200 are drawn, and as many are held out
_FEWEST_VOTERS: Final = 16
_SEEDS: Final = 1_000_000  # more than there are repetitions, so that no two seeds share a society


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of society."""

    kind: str = SYNTHETIC  # SYNTHETIC, MACHINE_LIKE, or OWN, of a file
    records: int = 50  # n, of each voter
    features: int = 10  # d
    file: str = ""  # somebody's own
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
    # Of a file, in which nobody's true preferences are known, for each society what other voters chose: float64, shape
    # (pairs, d), chosen less rejected.
    held_out: tuple[FloatArray, ...] = ()


def seed_of(seed: int, repetition: int, *, is_fixed: bool) -> int:
    """Return the generators' seed of a repetition."""
    return seed * _SEEDS + (0 if is_fixed else repetition)


def draw_society(setting: Setting, *, num_voters: int, seed: int, start: int, stop: int) -> Society:
    """Return the voters of the repetitions from `start` up to `stop`."""
    repetitions = [start] if setting.is_fixed else range(start, stop)
    if setting.kind == OWN:
        return _draw_own_society(
            setting, num_voters=num_voters, seeds=[seed_of(seed, each, is_fixed=False) for each in repetitions]
        )
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


def _draw_own_society(setting: Setting, *, num_voters: int, seeds: Sequence[int]) -> Society:
    """Return voters of a file, drawn anew for each repetition, and what those chose who were not drawn (M1)."""
    chosen, rejected = _read_own_records(setting.file, setting.records)
    number, width = len(chosen), setting.features
    nobody = np.zeros((len(seeds), num_voters, width))
    orders = [
        np.argsort(draw_uniforms(_GENERATOR, seed, "voters", start=0, stop=1, slots=number)[0], kind="stable")
        for seed in seeds
    ]
    drawn = np.concatenate([order[:num_voters] for order in orders])
    others = [order[num_voters : num_voters + max(1, _HELD_OUT // setting.records)] for order in orders]
    return Society(
        setting=setting,
        num_voters=num_voters,
        records=Records(
            np.arange(0, len(drawn) * setting.records + 1, setting.records, dtype=np.int64),
            chosen[drawn].reshape(-1, width),
            rejected[drawn].reshape(-1, width),
        ),
        truth=nobody,
        means=nobody,
        held_out=tuple((chosen[each] - rejected[each]).reshape(-1, width) for each in others),
    )


def own_setting(path: str) -> tuple[Setting, int]:
    """Return the setting of a file, with as many records as enough of its voters have, at most 13; and their number."""
    records, features = _records_in(path)
    numbers = np.bincount(np.minimum(records.num_records, _DILEMMAS_OF_A_VOTER), minlength=_DILEMMAS_OF_A_VOTER + 1)
    with_so_many = numbers[::-1].cumsum()[::-1]  # at place n, the voters with n records or more
    most = max(len(records), 1)
    enough = [n for n in range(1, _DILEMMAS_OF_A_VOTER + 1) if with_so_many[n] >= min(_ENOUGH_VOTERS, most / 2)]
    num_records = max(enough, default=0)
    number = int(with_so_many[num_records]) if num_records else 0
    allowed = f"a file with at least {_FEWEST_VOTERS} voters with choices"
    refuse(number < _FEWEST_VOTERS, "--responses", f"{Path(path).name} with {number} of them", allowed)
    return Setting(kind=OWN, records=num_records, features=len(features), file=path), number


@functools.lru_cache(maxsize=1)
def _read_own_records(path: str, num_records: int) -> tuple[FloatArray, FloatArray]:
    """Return the first records of the voters of a file who have so many: chosen and rejected, shape (voters, n, d)."""
    records, _ = _records_in(path)
    starts = records.offsets[:-1][records.num_records >= num_records]
    places = starts[:, None] + np.arange(num_records)
    return records.chosen[places], records.rejected[places]


@functools.lru_cache(maxsize=1)
def _records_in(path: str) -> tuple[Records, Sequence[str]]:
    with as_option("--responses", "voters"):
        table = load_voters(path)
    return cast("Records", table.table["records"]), table.parameters["features"]


def right_choices(estimates: FloatArray, held_out: Sequence[FloatArray]) -> FloatArray:
    """Return the share of others' choices that each estimate makes as they did, shape (m,); 0 tosses a coin."""
    signs = [np.sign(dot(pairs, own[None, :])) for pairs, own in zip(held_out, estimates, strict=True)]
    return np.array([math.fsum(np.where(each == 0, 0.5, each > 0).tolist()) / len(each) for each in signs])


def make_survey(setting: Setting, *, num_voters: int, seed: int) -> Survey:
    """Return one society's voters."""
    if setting.kind == SYNTHETIC:
        spec = SyntheticPreferences(voters=num_voters, records=setting.records, features=setting.features, seed=seed)
        return make_preferences(spec)
    return make_machine_like(MoralMachineLike(voters=num_voters, records=setting.records, seed=seed))


def agreement(setting: Setting, estimates: FloatArray, truth: FloatArray) -> FloatArray:
    """Return the share of pairs on which each estimate decides as the truth beside it: shape (m,); of 0 by a coin.

    Both have shape (m, d), and no truth is 0 (reading M1).
    """
    if setting.kind == SYNTHETIC:
        cosines = dot(estimates, truth) / np.sqrt(dot(truth, truth))
        lengths = np.sqrt(dot(estimates, estimates))
        cosines /= np.where(lengths > 0, lengths, 1.0)
        return 1 - np.arccos(np.clip(cosines, -1, 1)) / math.pi
    pairs = _dilemmas()[:_HELD_OUT]
    ours = np.sign(dot(pairs[:, None, :], estimates))
    theirs = np.sign(dot(pairs[:, None, :], truth))
    return np.mean(np.where(ours * theirs == 0, 0.5, ours * theirs > 0), axis=0)


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
    """Return the differences of dilemmas in general, shape (dilemmas, 23): the first are held out."""
    spec = MoralMachineLike(voters=_HELD_OUT + _DILEMMAS, records=1, seed=_SEED_OF_DILEMMAS)
    return make_machine_like(spec).records.differences
