"""How noisy maxima answer the society's objective, by simulating the law of their noise, which is public.

The place where a noisy objective is greatest is no unbiased report: noise draws it towards 0, and not in every
direction alike. Societies are drawn as a prior says, their objectives get the mechanism's own noise, and what is
released is held against where the objectives without noise are greatest: released = slope · that + something beside it
+ noise. Slope and variance are estimated, so that what is computed from them has an error, which is told from parts of
the simulation that are drawn apart.

Nothing here looks at a report, and nothing is released by it: its randomness is that of a numerical integral.

Source: Algorithm 3 for the noise; the prior's objectives are the expansion of Eq. (14) for records whose clipped
differences have length 1 and spread equally, and of whose maximum the prior says where it is.
"""

import dataclasses
import functools
import math
from typing import Final

import numpy as np

from ..arrays import FloatArray
from ..elementary import exp
from ..randomness import stream_key
from .functional import maximize_noisy
from .outcome import NoisyMaxima
from .sensitivity import num_coefficients

NUM_PARTS: Final = 8
"""The number of independent parts of a simulation: their differences show its error."""
MAX_SIMULATED_LEVELS: Final = 8
"""Levels of ε, each of which is simulated by itself."""
_NUM_COORDINATES: Final = 512
"""Coordinates of the societies that are drawn, all parts together: the more features, the fewer societies."""
_NUM_REPEATS: Final = 8
"""Draws of noise for each society, each with its mirror image: shifts show in what two of them share."""
_PER_UNIT: Final = 64
_BLOCK_NUMBERS: Final = 1 << 22
"""Entries of the matrices that are in memory together."""


@dataclasses.dataclass(frozen=True)
class NoiseOfLevel:
    """The noise of those who have one ε.

    Args:
        scale: of the Laplace noise in each coefficient.
        share: of these voters in the mean of the places.
    """

    scale: float
    share: float


@dataclasses.dataclass(frozen=True)
class Answer:
    """The best linear answer: a release is slope · (the maximum without noise) + a residual + noise.

    Args:
        slope: of the best linear answer.
        residual_variance: the variance, in a coordinate, of the mean over the noise about that line; an unbiased
            estimate, so that its error may bring it below 0.
    """

    slope: float
    residual_variance: float


EXACT: Final = Answer(1.0, 0.0)
"""The answer under additive noise, whose errors are known."""


@functools.lru_cache(maxsize=64)
def simulate_answers(
    law: NoisyMaxima, *, num_features: int, noises: tuple[NoiseOfLevel, ...], size: float
) -> tuple[Answer, ...]:
    """Return the answer that each part of the simulation finds.

    Args:
        noises: of each level of ε; shares add up to 1.
        size: of the ball in which the objectives without noise are greatest, uniformly, as a share of the radius.

    Returns:
        `NUM_PARTS` answers, from draws that are independent.
    """
    per_part = math.ceil(_NUM_COORDINATES / (num_features * NUM_PARTS))
    purpose = f"size {size!r}"
    key = stream_key(seed=0, session="", round_number=0, protocol="moral-preferences", phase="maxima", purpose=purpose)
    generator = np.random.Generator(np.random.Philox(key=key))
    answers: list[Answer] = []
    for _ in range(NUM_PARTS):
        points = size * law.radius * _draw_in_ball(generator, per_part, num_features)
        pairs = np.zeros((2, per_part, _NUM_REPEATS, num_features))
        for noise in noises:
            pairs += noise.share * _places(law, points, noise.scale, generator)
        answers.append(_answer(points, pairs))
    return tuple(answers)


def _draw_in_ball(generator: np.random.Generator, number: int, dimension: int) -> FloatArray:
    """Return points that are uniform in the ℓ₁ ball of radius 1, shape (number, dimension)."""
    shares = _exponential(generator, (number, dimension + 1))
    signs = np.where(generator.random((number, dimension)) < 0.5, -1.0, 1.0)  # noqa: PLR2004  as often as not
    return signs * shares[:, :dimension] / shares.sum(axis=1, keepdims=True)


def _exponential(generator: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    """Return draws of the exponential law of mean 1 without a logarithm, whose last bit would be the processor's.

    Between the points of a table, 1/64 apart, the law is taken as uniform: its moments are then too large by 4e-5 of
    themselves at most. Beyond the last point, 32, there are 1e-14 of it.
    """
    tails = _tails()
    uniforms = 1.0 - generator.random(size)  # above 0
    above = np.minimum(np.searchsorted(-tails, -uniforms, side="right"), len(tails) - 1)
    part = np.minimum((tails[above - 1] - uniforms) / (tails[above - 1] - tails[above]), 1.0)
    return (above - 1 + part) / _PER_UNIT


@functools.cache
def _tails() -> FloatArray:
    return np.cumprod([1.0] + [exp(-1 / _PER_UNIT)] * (32 * _PER_UNIT), dtype=np.float64)


def _places(law: NoisyMaxima, points: FloatArray, scale: float, generator: np.random.Generator) -> FloatArray:
    """Return the maxima of noisy objectives, shape (2, societies, repeats, d).

    The two are of noise that differs in the sign of its linear part alone: as likely, and where there is no signal the
    one is the other's negative, so that their mean has little of the noise.
    """
    number, dimension = points.shape
    width = num_coefficients(dimension)
    # Of r records V of length 1 that spread equally, -(1/π) Σ VVᵀ is -κ times the identity, and 2κ times a point is the
    # linear part by which the objective is greatest there.
    curvature = law.num_records / (math.pi * dimension)
    rows, columns = np.triu_indices(dimension)
    clear = np.zeros((number, 1, width))
    clear[:, 0, :dimension] = 2 * curvature * points
    clear[:, 0, dimension + np.flatnonzero(rows == columns)] = -curvature
    size = (number, _NUM_REPEATS, width)
    noise = scale * (_exponential(generator, size) - _exponential(generator, size))
    mirrored = noise.copy()
    mirrored[:, :, :dimension] *= -1
    noisy = np.stack([clear + noise, clear + mirrored]).reshape(-1, width)
    block = max(1, _BLOCK_NUMBERS // (dimension * dimension))
    maximize = functools.partial(
        maximize_noisy, num_features=dimension, radius=law.radius, remedy=law.remedy, noise_scale=scale
    )
    maxima = [maximize(noisy[start : start + block]) for start in range(0, len(noisy), block)]
    return np.concatenate(maxima).reshape(2, number, _NUM_REPEATS, dimension)


def _answer(points: FloatArray, pairs: FloatArray) -> Answer:
    """Fit the best linear answer by least squares, with the variance of its residuals."""
    means = pairs.mean(axis=0)  # of a draw and its mirror image
    repeats, size = means.shape[1], points.size
    slope = float((means.mean(axis=1) * points).sum() / (points * points).sum())
    residuals = means - slope * points[:, None]
    # Different draws for one society share what their mean is beside the line, and nothing else.
    total = residuals.sum(axis=1)
    return Answer(
        slope, float((total * total).sum() - (residuals * residuals).sum()) / (repeats * (repeats - 1) * size)
    )
