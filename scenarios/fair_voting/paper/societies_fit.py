"""Which societies give the published table: a search over the laws that the paper leaves open.

The paper names Mallows models, not their centers and dispersions. In large groups a vote's means follow from the laws'
expected utilities: the least ΔW is what Algorithm 1's rows show, since its noise is small there, and what Algorithm 2
elects follows from its binomial numbers, exactly. Each candidate is judged by both.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.fair_voting.sampling_bounds import num_samples
from ....protocol.mechanisms.binomial import binomial_law
from ...experiments.measurements import mean_square
from ..data.mallows import mallows_probabilities
from .published import EPSILONS, TABLE_1
from .settings import FITTED, READ, Setting

SocietyRow: TypeAlias = Mapping[str, Any]
DELTAS: Final = (4.6e-3, 1e-3, 5.5e-6)
"""Between the ends all give the published N/A cells (reading F2)."""
_GAMMAS: Final = (0.0, 0.05)
_SCALES: Final = ("unbiased", "printed")
_STEPS: Final = 100
"""Of each dispersion between 0 and 1."""
_NEAR: Final = 0.03
"""A candidate's ΔW and W are that near to the Laplace rows'."""
_LEAST_LEAD: Final = 0.02
"""Of the least ΔW over the next one; with less the noise of voters would show in rows that are all alike."""
_MOST_SHOWN: Final = 6
_WELFARE_SHARES: Final = (2 / 3, 1 / 3)
"""All of the paper's electorates have n₁ = 2·n₂."""
_IDENTITY: Final = (0, 1, 2, 3)
_LAPLACE: Final = (0.45, 0.68)


def find_societies() -> Iterator[SocietyRow]:
    """Yield the best society of each pair of centers, the best first, and reading F5's last.

    The first center is 0>1>2>3, without loss of generality.
    """
    best: list[SocietyRow] = []
    for center in itertools.permutations(_IDENTITY):
        rows = _rows(_candidates(center), (1e-3,))
        if rows:
            nearest = min(rows, key=_distance)
            setting = Setting("", (_IDENTITY, center), (nearest["dispersion_1"], nearest["dispersion_2"]))
            best.append(min(_rows((setting,), DELTAS), key=_distance))
    best.sort(key=_distance)
    yield from best[:_MOST_SHOWN]
    for setting in (FITTED, READ):
        yield society_row(setting, delta=1e-3, gamma=0.05, scale="unbiased")


def society_row(setting: Setting, *, delta: float, gamma: float, scale: str) -> SocietyRow:
    """Return what a society gives in large groups, and how far that is from the published table."""
    utilities = expected_utilities(setting)
    disparities = np.abs(utilities[0] - utilities[1])
    welfares = _WELFARE_SHARES[0] * utilities[0] + _WELFARE_SHARES[1] * utilities[1]
    winner = int(disparities.argmin())
    least, following, *_ = np.sort(disparities).tolist()
    told: dict[float, tuple[float, float]] = {}
    for epsilon in EPSILONS:
        law = sampling_law(utilities, samples=num_samples(epsilon, delta, 4), scale=scale)
        law = gamma / len(law) + (1 - gamma) * law
        told[epsilon] = math.fsum((law * disparities).tolist()), math.fsum((law * welfares).tolist())
    differences = [least - _LAPLACE[0], float(welfares[winner]) - _LAPLACE[1]]
    for epsilon, (disparity, welfare) in told.items():
        printed = _published(epsilon)
        differences += [disparity - printed[0], welfare - printed[1]]
    return {
        "center_1": "".join(map(str, setting.centers[0])),
        "center_2": "".join(map(str, setting.centers[1])),
        "dispersion_1": setting.dispersions[0],
        "dispersion_2": setting.dispersions[1],
        "delta": delta,
        "gamma": gamma,
        "scale": scale,  # of Algorithm 2's line 17
        "winner": winner,  # the alternative with the least ΔW
        "lead": following - least,  # of the least ΔW over the next one
        "laplace_disparity": least,
        "laplace_welfare": float(welfares[winner]),
        **{
            f"sampling_{name}_{place}": value
            for place, epsilon in enumerate(EPSILONS, start=1)
            for name, value in zip(("disparity", "welfare"), told[epsilon], strict=True)
        },
        # From the published means over sizes.
        "distance": math.sqrt(mean_square(differences)),
    }


def expected_utilities(setting: Setting) -> FloatArray:
    """Return the groups' expected utilities under their laws: float64, shape (G, m)."""
    positions = np.array(list(itertools.permutations(range(len(setting.centers[0])))), dtype=np.int64)
    points = positions.shape[1] - 1 - positions
    rows: list[list[float]] = []
    for center, dispersion in zip(setting.centers, setting.dispersions, strict=True):
        chances = mallows_probabilities(positions, center=center, dispersion=dispersion)
        rows.append([math.fsum((chances * column).tolist()) for column in points.T])
    return np.array(rows)


def sampling_law(utilities: FloatArray, *, samples: int, scale: str) -> FloatArray:
    """Return Algorithm 2's law of winners without γ, of two groups with n₁ = 2·n₂: float64, shape (m,).

    On the printed scale S₁/n₁ is compared with S₂/n₂, which is S₁ with 2·S₂; else S₁ with S₂.
    """
    size = utilities.shape[1]
    factor = 2 if scale == "printed" else 1
    laws = np.zeros((size, (1 + factor) * samples + 1))
    for alternative in range(size):
        chances = [Fraction(2 * float(own[alternative]) / (size * (size - 1))) for own in utilities]
        (first, of_first), (second, of_second) = (binomial_law(samples, chance) for chance in chances)
        counts = np.arange(first, first + len(of_first)), factor * np.arange(second, second + len(of_second))
        apart = np.abs(counts[0][:, None] - counts[1])
        joint = np.array(of_first)[:, None] * np.array(of_second)
        laws[alternative] = np.bincount(apart.reshape(-1), joint.reshape(-1), minlength=laws.shape[1])
    return np.array([_wins(laws, alternative) for alternative in range(size)])


def _wins(laws: FloatArray, alternative: int) -> float:
    """Return the probability that an alternative's number is the least; ties are broken at random."""
    above = 1 - np.cumsum(laws, axis=1)
    # Row j: that j others are alike, and all the rest larger.
    alike = [np.ones(laws.shape[1])]
    for other in range(len(laws)):
        if other == alternative:
            continue
        more = [np.zeros(laws.shape[1]), *(row * laws[other] for row in alike)]
        alike = [
            row + shifted for row, shifted in zip([*(row * above[other] for row in alike), 0.0], more, strict=True)
        ]
    shares = sum((row / (number + 1) for number, row in enumerate(alike)), np.zeros(laws.shape[1]))
    return math.fsum((laws[alternative] * shares).tolist())


def _candidates(center: Sequence[int]) -> Iterator[Setting]:
    """Yield the societies of two centers that come near to the Laplace rows."""
    grid = [step / _STEPS for step in range(_STEPS + 1)]
    firsts, seconds = (
        np.array([expected_utilities(Setting("", (tuple(own),), (dispersion,)))[0] for dispersion in grid])
        for own in (_IDENTITY, center)
    )
    disparities = np.abs(firsts[:, None] - seconds[None])
    welfares = _WELFARE_SHARES[0] * firsts[:, None] + _WELFARE_SHARES[1] * seconds[None]
    ordered = np.sort(disparities, axis=2)
    of_winner = np.take_along_axis(welfares, disparities.argmin(axis=2)[..., None], axis=2)[..., 0]
    is_near = (np.abs(ordered[..., 0] - _LAPLACE[0]) <= _NEAR) & (np.abs(of_winner - _LAPLACE[1]) <= _NEAR)
    is_near &= ordered[..., 1] - ordered[..., 0] >= _LEAST_LEAD
    for first, second in np.argwhere(is_near).tolist():
        yield Setting("", (_IDENTITY, tuple(center)), (grid[first], grid[second]))


def _rows(settings: Iterable[Setting], deltas: Sequence[float]) -> list[SocietyRow]:
    kinds = itertools.product(settings, deltas, _GAMMAS, _SCALES)
    return [society_row(setting, delta=delta, gamma=gamma, scale=scale) for setting, delta, gamma, scale in kinds]


def _distance(row: SocietyRow) -> float:
    return row["distance"]


def _published(epsilon: float) -> tuple[float, float]:
    """Return the sampling rows' ΔW and W, on average over the sizes."""
    cells = [cell for (_, mechanism, own), cell in TABLE_1.items() if (mechanism, own) == ("sampling", epsilon)]
    told = [cell.disparity for cell in cells if cell.disparity is not None]
    return math.fsum(told) / len(told), math.fsum(cell.welfare for cell in cells) / len(cells)
