"""The societies of the experiments: made-up voters, drawn afresh for each repetition, and what is right for them.

Section 5.1's voters are judged by isotropic Gaussian pairs, for which 1 − angle/π is exactly the share of pairs on
which two preferences agree (reading M1). Voters like the Moral Machine's are judged by held-out dilemmas, which belong
to nobody. Either way the truth is the mean of the voters' own true preferences.
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
from ...experiments.reproductions import as_option
from ..agreement import agreement_of
from ..data.generators import dot, draw_uniforms
from ..data.machine_like import MoralMachineLike, make_machine_like
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


class Kind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of society."""

    kind: str = SYNTHETIC  # or MACHINE_LIKE, or OWN, of a file
    records: int = 50  # n, of each voter
    features: int = 10  # d
    file: str = ""  # somebody's own


@dataclasses.dataclass(frozen=True, eq=False)
class Society:
    """The voters of some repetitions, one repetition after the other."""

    records: Records  # of all voters
    # float64, shape (repetitions, voters, d): at place i the mean of the first i + 1 voters' true preferences; None
    # where nobody knows them
    means: FloatArray | None
    # Differences of alternatives on which preferences are judged, float64, shape (repetitions or 1, pairs, d): chosen
    # less rejected where nobody knows the truth. None stands for pairs that spread alike in all directions.
    pairs: FloatArray | None

    def accuracies(self, estimates: FloatArray, voters: int) -> FloatArray:
        """Return the share of pairs on which each repetition's estimate, shape (repetitions, d), decides rightly.

        That is as the truth of the first so many voters does (reading M1); an estimate of 0 tosses a coin.
        """
        truth = np.zeros_like(estimates) if self.means is None else self.means[:, voters - 1]
        if self.pairs is None:
            both = zip(estimates.tolist(), truth.tolist(), strict=True)
            return np.array([0.5 if (same := agreement_of(*each)) is None else same for each in both])
        ours = np.sign(dot(self.pairs, estimates[:, None]))
        are_right = ours * (1.0 if self.means is None else np.sign(dot(self.pairs, truth[:, None])))
        return np.mean((are_right + 1) / 2, axis=1)


def seed_of(seed: int, repetition: int) -> int:
    """Return the generators' seed of a repetition."""
    return seed * _SEEDS + repetition


def draw_society(kind: Kind, seed: int, repetitions: range, *, num_voters: int) -> Society:
    """Return the voters of some repetitions."""
    seeds = [seed_of(seed, repetition) for repetition in repetitions]
    if kind.kind == OWN:
        return _draw_own_society(kind, num_voters=num_voters, seeds=seeds)
    surveys = [make_survey(kind, num_voters=num_voters, seed=each) for each in seeds]
    truth = np.stack([survey.truth for survey in surveys if survey.truth is not None])
    chosen, rejected = (
        np.concatenate([getattr(survey.records, name) for survey in surveys]) for name in ("chosen", "rejected")
    )
    return Society(
        records=_records(kind, chosen, rejected),
        means=np.cumsum(truth, axis=1) / np.arange(1, num_voters + 1)[:, None],
        pairs=_dilemmas()[None, :_HELD_OUT] if kind.kind == MACHINE_LIKE else None,
    )


def make_survey(kind: Kind, *, num_voters: int, seed: int) -> Survey:
    """Return one made-up society's voters."""
    if kind.kind == MACHINE_LIKE:
        return make_machine_like(MoralMachineLike(voters=num_voters, records=kind.records, seed=seed))
    spec = SyntheticPreferences(voters=num_voters, records=kind.records, features=kind.features, seed=seed)
    return make_preferences(spec)


def _records(kind: Kind, chosen: FloatArray, rejected: FloatArray) -> Records:
    return Records(np.arange(0, len(chosen) + 1, kind.records, dtype=np.int64), chosen, rejected)


def _draw_own_society(kind: Kind, *, num_voters: int, seeds: Sequence[int]) -> Society:
    """Return voters of a file, drawn anew for each repetition, and what those chose who were not drawn (M1)."""
    chosen, rejected = _read_own_records(kind.file, kind.records)
    orders = np.stack(
        [
            np.argsort(draw_uniforms(_GENERATOR, seed, "voters", start=0, stop=1, slots=len(chosen))[0], kind="stable")
            for seed in seeds
        ]
    )
    drawn = orders[:, :num_voters].reshape(-1)
    others = orders[:, num_voters : num_voters + max(1, _HELD_OUT // kind.records)]
    return Society(
        records=_records(kind, *(each[drawn].reshape(-1, kind.features) for each in (chosen, rejected))),
        means=None,
        pairs=(chosen[others] - rejected[others]).reshape(len(seeds), -1, kind.features),
    )


def own_kind(path: str) -> tuple[Kind, int]:
    """Return the kind of a file, with as many records as enough of its voters have, at most 13; and their number."""
    records, features = _records_in(path)
    # By n, the voters with n records or more.
    voters = {n: int(np.sum(records.num_records >= n)) for n in range(1, _DILEMMAS_OF_A_VOTER + 1)}
    enough = [n for n, own in voters.items() if own >= max(min(_ENOUGH_VOTERS, len(records) / 2), 1)]
    num_records = max(enough, default=0)
    number = voters.get(num_records, 0)
    allowed = f"a file with at least {_FEWEST_VOTERS} voters with choices"
    refuse(number < _FEWEST_VOTERS, "--responses", f"{Path(path).name} with {number} of them", allowed)
    return Kind(kind=OWN, records=num_records, features=len(features), file=path), number


@functools.lru_cache(maxsize=1)
def _read_own_records(path: str, num_records: int) -> tuple[FloatArray, FloatArray]:
    """Return the first records of the voters of a file who have so many: chosen and rejected, shape (voters, n, d)."""
    records, _ = _records_in(path)
    starts = records.offsets[:-1][records.num_records >= num_records]
    places = starts[:, None] + np.arange(num_records)
    return records.chosen[places], records.rejected[places]


@functools.lru_cache(maxsize=1)
def _records_in(path: str) -> tuple[Records, Sequence[str]]:
    with as_option(voters="--responses"):
        table = load_voters(path)
    return cast("Records", table.table["records"]), table.parameters["features"]


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
