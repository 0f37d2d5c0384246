"""The bias and variance of noisy maxima, by simulation of the public law of their noise.

The maximum of a noisy objective is no unbiased report: noise shrinks it towards 0, not equally in all directions. So
societies are drawn from a prior, their objectives get the mechanism's noise, and the noisy maxima are regressed on the
maxima without noise: released = slope · (maximum without noise) + residual + noise. Slope and variance are estimates,
whose error follows from independent parts of the simulation.

The simulation uses no report and releases nothing; its randomness is only that of a numerical integral.

Source: Algorithm 3 for the noise. The prior's objectives are the expansion of Eq. (14) for records whose clipped
differences have length 1 and are isotropic, with a maximum that is drawn from the prior.
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
"""The number of independent parts of a simulation, whose differences show its error."""
MAX_SIMULATED_LEVELS: Final = 8
"""The most levels of ε, each of which is simulated separately."""
_NUM_COORDINATES: Final = 512
"""The number of coordinates of all drawn societies in all parts: with more features, fewer societies are drawn."""
_NUM_REPEATS: Final = 8
"""The draws of noise for each society, each with its mirror image; shifts are what two draws have in common."""
_PER_UNIT: Final = 64
_BLOCK_NUMBERS: Final = 1 << 22
"""The most matrix entries in memory at a time."""


@dataclasses.dataclass(frozen=True)
class NoiseOfLevel:
    """The noise of the voters with one level of ε.

    Args:
        scale: the scale of the Laplace noise in each coefficient.
        share: the weight of these voters in the mean of the maxima.
    """

    scale: float
    share: float


@dataclasses.dataclass(frozen=True)
class Answer:
    """The best linear answer: a release is slope · (the maximum without noise) + a residual + noise.

    Args:
        slope: the slope of the regression.
        residual_variance: the variance of a coordinate's mean over the noise about the regression line: an unbiased
            estimate, which may be negative.
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
        law: the law of the noisy maxima.
        num_features: d.
        noises: the noise of each level of ε; shares sum to 1.
        size: the radius of the ball in which the maxima without noise are uniform, as a share of the law's radius.

    Returns:
        `NUM_PARTS` independent answers.
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
    """Return draws of the exponential law of mean 1, without a logarithm whose last bit may depend on the processor.

    Between the points of a table at distances of 1/64, the law is approximated as uniform, which makes its moments too
    large by a factor of at most 1 + 4e-5. Beyond the last point, 32, is a probability of 1e-14.
    """
    tails = _tails()
    uniforms = 1.0 - generator.random(size)  # in (0, 1]
    above = np.minimum(np.searchsorted(-tails, -uniforms, side="right"), len(tails) - 1)
    part = np.minimum((tails[above - 1] - uniforms) / (tails[above - 1] - tails[above]), 1.0)
    return (above - 1 + part) / _PER_UNIT


@functools.cache
def _tails() -> FloatArray:
    return np.cumprod([1.0] + [exp(-1 / _PER_UNIT)] * (32 * _PER_UNIT), dtype=np.float64)


def _places(law: NoisyMaxima, points: FloatArray, scale: float, generator: np.random.Generator) -> FloatArray:
    """Return the maxima of noisy objectives, shape (2, societies, repeats, d).

    The first axis is for two draws of noise whose linear parts have opposite signs. They are equally likely, and
    without a signal one maximum is the negative of the other, so their mean contains little noise.
    """
    number, dimension = points.shape
    width = num_coefficients(dimension)
    # For r isotropic records V of length 1, -(1/π) Σ VVᵀ is -κ times the identity. An objective with the linear part 2κ
    # times a point has its maximum at this point.
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
    means = pairs.mean(axis=0)  # the mean of a draw and its mirror image
    repeats, size = means.shape[1], points.size
    slope = float((means.mean(axis=1) * points).sum() / (points * points).sum())
    residuals = means - slope * points[:, None]
    # Different draws for one society have only the residual of their mean in common.
    total = residuals.sum(axis=1)
    return Answer(
        slope, float((total * total).sum() - (residuals * residuals).sum()) / (repeats * (repeats - 1) * size)
    )
