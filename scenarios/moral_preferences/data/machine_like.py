"""Made-up voters who answer dilemmas like the Moral Machine's: 13 each, with the published 23 features.

What is made up and what is taken from elsewhere:

- The scenario types and their numbers in thirteen are the published ones: two each of gender, age, fitness, social
  value, species and utilitarian, and one random. With other numbers of records a voter's types go round the thirteen.
- What stands on the two sides follows the published types: characters that are exchanged one for one (men for women,
  younger for older, fitter for larger, higher for lower standing, humans for pets), one to five of them; some of five
  characters against all five; or one to five of any on either side.
- How often the sides are passengers or pedestrians, and what their signals show, has the shares of the public sample.
- A voter's preferences are β_i ~ N(m, s²·I) with a mean m whose signs are those of the published effects (more lives,
  humans over pets, the young, the lawful, pedestrians and inaction slightly); its sizes are made up. The voter spares
  side a rather than b with probability Φ(β_i·(x_a − x_b)).

So this is a stand-in where the true file cannot be had: its pairs look like the published ones, its preferences do not
say what anybody thinks.

Source: Awad et al. (2018) for types, characters and signs; Wang et al. (2019), Section 5.2, for n = 13 and d = 23.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ....protocol.arrays import FloatArray, IntArray
from .dilemmas import CHARACTERS, FEATURES, features_of_rows
from .generators import SyntheticVoters, check_range, dot, draw_normals, draw_uniforms, synthetic_survey
from .survey import Survey

_GENERATOR: Final = "moral-machine-like"
_MAX_A_SIDE: Final = 5
_SLOTS: Final = 16
"""Uniforms for one dilemma: 5 + 5 characters, two numbers, relation, signal, who stands where, the choice."""

SCENARIO_TYPES: Final = ("Gender", "Age", "Fitness", "Social Value", "Species", "Utilitarian", "Random")
"""As the column ScenarioType says them."""
_GENDER, _AGE, _FITNESS, _VALUE, _SPECIES, _UTILITARIAN, _RANDOM = range(7)
_ROUND: Final = np.array([*[_GENDER, _AGE, _FITNESS, _VALUE, _SPECIES, _UTILITARIAN] * 2, _RANDOM])
"""The types of thirteen dilemmas. Thirteen is prime, so every step from 1 to 12 goes through all of them."""

_RELATION_SHARES: Final = (0.46, 0.33)
"""Pedestrians on both sides; passengers who die if the car swerves. The rest: passengers who die if it does not."""
_SIGNAL_SHARES: Final = (0.42, 0.24)
"""No signal; pedestrians cross legally. The rest: illegally. Of pedestrians on both sides one side crosses so, the
other one the other way."""

_MALE: Final = ("Man", "OldMan", "Boy", "LargeMan", "MaleExecutive", "MaleAthlete", "MaleDoctor")
_FEMALE: Final = ("Woman", "OldWoman", "Girl", "LargeWoman", "FemaleExecutive", "FemaleAthlete", "FemaleDoctor")
_HIGH: Final = ("Pregnant", "MaleExecutive", "FemaleExecutive", "MaleDoctor", "FemaleDoctor")
_NEUTRAL: Final = ("Man", "Woman")
_LOW: Final = ("Homeless", "Criminal")
_HUMANS: Final = CHARACTERS[:-2]
_PETS: Final = CHARACTERS[-2:]


def _pairs(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, str]]:
    return [(a, b) for a in first for b in second]


# Exchanges that are listed twice or three times are as much likelier; the shares come near those of the public sample.
_EXCHANGES: Final[dict[int, list[tuple[str, str]]]] = {
    _GENDER: list(zip(_FEMALE, _MALE, strict=True)),
    _AGE: [
        *[("Boy", "Man"), ("Boy", "OldMan"), ("Man", "OldMan"), ("Man", "OldMan")],
        *[("Girl", "Woman"), ("Girl", "OldWoman"), ("Woman", "OldWoman"), ("Woman", "OldWoman")],
    ],
    _FITNESS: [
        *[("MaleAthlete", "Man"), ("FemaleAthlete", "Woman")] * 3,
        *[("Man", "LargeMan"), ("Woman", "LargeWoman")] * 2,
        *[("MaleAthlete", "LargeMan"), ("FemaleAthlete", "LargeWoman")] * 3,
    ],
    _VALUE: _pairs(_HIGH, _LOW) + _pairs(_HIGH, _NEUTRAL) + _pairs(_NEUTRAL, _LOW),
    _SPECIES: _pairs(_HUMANS, _PETS),
    _UTILITARIAN: [(name, name) for name in CHARACTERS],
    _RANDOM: [(name, name) for name in CHARACTERS],
}


_NUM_EXCHANGES: Final = np.array([len(_EXCHANGES[kind]) for kind in range(len(SCENARIO_TYPES))], dtype=np.int64)


def _exchange_table() -> IntArray:
    """Return the two characters of each exchange: int64, shape (types, most exchanges, 2)."""
    table = np.zeros((len(_NUM_EXCHANGES), int(_NUM_EXCHANGES.max()), 2), dtype=np.int64)
    for kind, exchanges in _EXCHANGES.items():
        for place, names in enumerate(exchanges):
            table[kind, place] = [CHARACTERS.index(name) for name in names]
    return table


_EXCHANGE: Final = _exchange_table()

_MEANS: Final = {
    **dict.fromkeys(_HUMANS, 0.45),
    "Pregnant": 0.55,
    "Stroller": 0.7,
    "Boy": 0.65,
    "Girl": 0.7,
    "OldMan": 0.2,
    "OldWoman": 0.25,
    "LargeMan": 0.3,
    "LargeWoman": 0.35,
    "Homeless": 0.3,
    "Criminal": 0.1,
    "MaleAthlete": 0.5,
    "FemaleAthlete": 0.55,
    "MaleDoctor": 0.5,
    "FemaleDoctor": 0.55,
    "Woman": 0.5,
    "FemaleExecutive": 0.5,
    "Dog": 0.08,
    "Cat": 0.06,
    "intervention": -0.1,
    "passengers": -0.15,
    "legality": 0.4,
}
MEAN_PREFERENCES: Final[FloatArray] = np.array([_MEANS[name] for name in FEATURES])  # m, by feature


class MoralMachineLike(SyntheticVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent voters who answer dilemmas like the Moral Machine's, which are their records.

    Examples:
        >>> survey = make_machine_like(MoralMachineLike(voters=2, records=3, seed=1))
        >>> survey.records.num_features, len(survey.records)
        (23, 2)
    """

    records: int = 13
    spread: float = 0.2

    @property
    def feature_names(self) -> Sequence[str]:
        return FEATURES


@dataclasses.dataclass(frozen=True, eq=False)
class Dilemmas:
    """One dilemma of each of some voters, and what they chose.

    Side 0 dies if the car stays in its lane, side 1 if it swerves.
    """

    kinds: IntArray  # int64, shape (voters,): places in `SCENARIO_TYPES`
    # Uint8, shape (voters, 2, 23): for each side the counts of characters, then Intervention, Barrier and
    # CrossingSignal as the published files have them.
    entries: Any
    features: FloatArray  # float64, shape (voters, 2, 23): the alternatives to spare either side
    spared: IntArray  # int64, shape (voters,): the side that was spared, 0 or 1


def voter_names(start: int, stop: int) -> list[str]:
    """Return the names of voters: sixteen digits, as the published file's users have.

    Examples:
        >>> voter_names(0, 2)
        ['0000000000000001', '0000000000000002']
    """
    return [f"{number:016d}" for number in range(start + 1, stop + 1)]


def draw_preferences(spec: MoralMachineLike, *, start: int, stop: int) -> FloatArray:
    """Return the voters' true preferences: float64, shape (stop − start, 23).

    Examples:
        >>> draw_preferences(MoralMachineLike(voters=5, seed=1), start=0, stop=2).shape
        (2, 23)
    """
    normals = draw_normals(_GENERATOR, spec.seed, "preferences", start=start, stop=stop, slots=len(FEATURES))
    return MEAN_PREFERENCES + spec.spread * normals


def draw_dilemmas(
    spec: MoralMachineLike, record: int, *, start: int, stop: int, preferences: FloatArray | None = None
) -> Dilemmas:
    """Return the dilemma that voters in [start, stop) answer in one place, from 0, and what they choose.

    Preferences are theirs, if they have been drawn before.
    """
    betas = draw_preferences(spec, start=start, stop=stop) if preferences is None else preferences
    order = draw_uniforms(_GENERATOR, spec.seed, "order", start=start, stop=stop, slots=2)
    firsts, steps = np.floor(13 * order[:, 0]).astype(np.int64), 1 + np.floor(12 * order[:, 1]).astype(np.int64)
    kinds = _ROUND[(firsts + steps * record) % 13]
    uniforms = draw_uniforms(_GENERATOR, spec.seed, f"dilemma {record}", start=start, stop=stop, slots=_SLOTS)
    entries = np.zeros((stop - start, 2, len(FEATURES)), dtype=np.uint8)
    # The favored group (female, young, fit, high, human, all) stands on either side.
    side = (uniforms[:, 12] >= 0.5).astype(np.int64)  # noqa: PLR2004  a fair coin
    counts = _counts(kinds, uniforms)
    rows = np.arange(stop - start)
    for group in range(2):
        entries[rows, np.where(group == 0, side, 1 - side), : len(CHARACTERS)] = counts[:, group]
    entries[:, :, len(CHARACTERS) :] = _circumstances(uniforms[:, 13], uniforms[:, 14])
    features = features_of_rows(entries.reshape(-1, len(FEATURES))).reshape(entries.shape)
    spares_first: FloatArray = ndtr(dot(features[:, 0] - features[:, 1], betas))
    return Dilemmas(kinds, entries, features, (uniforms[:, 15] >= spares_first).astype(np.int64))


def make_machine_like(spec: MoralMachineLike, *, start: int = 0, stop: int | None = None) -> Survey:
    """Return made-up voters in [start, stop); the same ones for the same description, on every machine.

    Examples:
        >>> survey = make_machine_like(MoralMachineLike(voters=5, records=2, seed=1), start=3, stop=5)
        >>> survey.voters
        ['0000000000000004', '0000000000000005']
    """
    stop = check_range(start, stop, spec.voters)
    voters = stop - start
    truth = draw_preferences(spec, start=start, stop=stop)
    chosen = np.empty((voters, spec.records, len(FEATURES)))
    rejected = np.empty_like(chosen)
    rows = np.arange(voters)
    for record in range(spec.records):
        dilemmas = draw_dilemmas(spec, record, start=start, stop=stop, preferences=truth)
        chosen[:, record] = dilemmas.features[rows, dilemmas.spared]
        rejected[:, record] = dilemmas.features[rows, 1 - dilemmas.spared]
    return synthetic_survey(
        voter_names(start, stop),
        chosen,
        rejected,
        features=FEATURES,
        truth=truth,
        source=f"made-up voters with dilemmas like the Moral Machine's (seed {spec.seed})",
    )


def _counts(kinds: IntArray, uniforms: FloatArray) -> NDArray[np.int64]:
    """Return the counts of characters of the favored group and of the other one: shape (voters, 2, 20)."""
    picks = np.floor(uniforms[:, :10] * _NUM_EXCHANGES[kinds][:, None]).astype(np.int64)
    characters = _EXCHANGE[kinds[:, None], picks]  # (voters, 10, 2)
    numbers = 1 + np.floor(uniforms[:, 10:12] * _MAX_A_SIDE).astype(np.int64)
    is_utilitarian, is_random = kinds == _UTILITARIAN, kinds == _RANDOM
    num_fewer = 1 + np.floor(uniforms[:, 10] * (_MAX_A_SIDE - 1)).astype(np.int64)
    favored_number = np.where(is_utilitarian, _MAX_A_SIDE, numbers[:, 0])
    other_number = np.where(is_utilitarian, num_fewer, np.where(is_random, numbers[:, 1], numbers[:, 0]))
    favored = characters[:, :_MAX_A_SIDE, 0]
    other_characters = np.where(is_random[:, None], characters[:, _MAX_A_SIDE:, 1], characters[:, :_MAX_A_SIDE, 1])
    groups = np.stack([favored, other_characters], axis=1)  # (voters, 2, 5)
    is_there = np.arange(_MAX_A_SIDE) < np.stack([favored_number, other_number], axis=1)[:, :, None]
    width = len(CHARACTERS) + 1  # one more, for those who are not there
    cells = np.where(is_there, groups, len(CHARACTERS)) + width * np.arange(2 * len(kinds)).reshape(-1, 2, 1)
    return np.bincount(cells.ravel(), minlength=2 * len(kinds) * width).reshape(-1, 2, width)[:, :, :-1]


def _circumstances(relations: FloatArray, signals: FloatArray) -> NDArray[np.uint8]:
    """Return Intervention, Barrier and CrossingSignal of both sides: uint8, shape (voters, 2, 3)."""
    are_pedestrians = relations < _RELATION_SHARES[0]
    dies_on_swerve = ~are_pedestrians & (relations < sum(_RELATION_SHARES))  # the passengers
    dies_on_stay = ~are_pedestrians & ~dies_on_swerve
    signal = np.where(signals < _SIGNAL_SHARES[0], 0, np.where(signals < sum(_SIGNAL_SHARES), 1, 2))
    result = np.zeros((len(relations), 2, 3), dtype=np.uint8)
    result[:, 1, 0] = 1
    result[:, 0, 1], result[:, 1, 1] = dies_on_stay, dies_on_swerve
    result[:, 0, 2] = np.where(dies_on_stay, 0, signal)
    opposite = np.array([0, 2, 1])[signal]
    result[:, 1, 2] = np.where(dies_on_swerve, 0, np.where(dies_on_stay, signal, opposite))
    return result
