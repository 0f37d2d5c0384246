"""How truths are found from reports: the estimators by name, and what each is told of the perturbation."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from scipy import special

from ..arrays import FloatArray, IntArray
from ..estimators.truth_inference import (
    Answers,
    Inference,
    KnownNoise,
    OwnNoise,
    WeightFunction,
)
from ..mechanisms import Beta, Discrete, HyperDistribution, Moments, Piecewise, PointMass, TruncatedNormal, Uniform
from .estimators import AUTO, ESTIMATORS, EstimatorName
from .noise import Noise
from .parameters import Parameters

# Equally likely values that stand for a hyper-distribution; points of a discrete one with a share below half of such a
# part are left out.
_NUM_VALUES: Final = 15


def find_truths(
    answers: Answers,
    *,
    parameters: Parameters,
    noise: Noise | OwnNoise | None,
    weight_function: WeightFunction | None = None,
) -> tuple[EstimatorName, Inference]:
    """Return which estimator the session has, and what it finds.

    Args:
        answers: as they were reported.
        noise: how they were perturbed, or how each worker's were; None for clean answers.
        weight_function: what the parameters' name stands for; by default one of ours.

    Raises:
        ConfigurationError: nobody said what the parameters' weight function is, or it does not increase.
    """
    name = AUTO if parameters.estimator == "auto" else parameters.estimator
    estimator, named, divisor = ESTIMATORS[name], parameters.weight_function, parameters.normalization
    own = "log_odds" if isinstance(named, msgspec.UnsetType) else named
    given = {
        "max_iterations": parameters.max_iterations,
        "rounds": None if isinstance(parameters.rounds, msgspec.UnsetType) else parameters.rounds,
        "clamp": parameters.quality_clamp,
        "weight_function": own if weight_function is None else weight_function,
        "normalization": "answered" if isinstance(divisor, msgspec.UnsetType) else divisor,
    }
    told = noise if isinstance(noise, OwnNoise) else known_noise(noise, parameters.sizes)
    known = (told,) if estimator.knows_noise else ()
    taken = {field: given[field] for field in estimator.takes}
    return name, estimator.find(answers, *known, ties=parameters.ties, **taken)


def known_noise(noise: Noise | None, sizes: Sequence[int]) -> KnownNoise:
    """Return what an estimator is told of the perturbation.

    Args:
        noise: the session's; None where nothing was perturbed.
        sizes: of the answer sets.
    """
    if noise is None:
        return KnownNoise.fixed(dict.fromkeys(sizes, 0.0))
    if noise.hyper is None:
        return KnownNoise.fixed(dict(zip(noise.sizes, noise.flip_probabilities, strict=True)))
    return KnownNoise(dict.fromkeys(noise.sizes, _quantiles(noise.hyper)))


def _quantiles(hyper: HyperDistribution) -> tuple[float, ...]:
    """Return equally likely values, each the middle one of its part of the distribution."""
    middles: FloatArray = (np.arange(_NUM_VALUES) + 0.5) / _NUM_VALUES
    places: FloatArray
    match hyper:
        case PointMass(probability):
            return (probability,)
        case Uniform(low, high):
            places = middles
        case Beta(alpha, beta, low, high):
            places = special.betaincinv(alpha, beta, middles)
        case TruncatedNormal() | Piecewise():
            return tuple(hyper.draw(middles[:, None]).tolist())
        case Discrete() | Moments():
            probabilities, shares = hyper.points
            order = np.argsort(probabilities)
            ends: FloatArray = np.cumsum(np.array(shares)[order])
            found: IntArray = np.searchsorted(ends[:-1], middles * float(ends[-1]))
            return tuple(np.array(probabilities)[order][found].tolist())
    return tuple((low + (high - low) * places).tolist())
