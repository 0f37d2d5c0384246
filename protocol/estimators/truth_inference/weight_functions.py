"""Weights of workers as an increasing function g of p, the fraction of right answers.

There are two built-in functions. "log_odds" is log(p(s − 1)/(1 − p)) for a task with s labels, the optimal weight of
independent workers. "linear" is (s·p − 1)/(s − 1), which is 1 for a worker who is always right, 0 for a worker who
guesses, and negative for a worse worker. A custom function g(p) is the same for all sizes of answer sets. It is checked
at the fractions that workers have, and rejected if it does not increase there.

Source: Li et al. (2018), equation (3): "g(·) is a monotonically increasing function".
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from ...errors import ConfigurationError, refuse
from .elementwise import log, log_odds, snap_weights

WeightFunction: TypeAlias = str | Callable[[float], float]
"""A name in `WEIGHT_FUNCTIONS`, or a function of a worker's fraction of right answers in (0, 1)."""

WEIGHT_FUNCTIONS: Final = ("log_odds", "linear")
"""The built-in weight functions, by name."""

# The greatest absolute weight: sums of weights are exact below 2²⁰, which allows hundreds of votes for a task.
_MOST_WEIGHT: Final = 1000.0
_FIELD: Final = "weight_function"
# A function is tried at all fractions of workers with at most this many answers, and at evenly spaced ones.
_FEW_ANSWERS: Final = 64
_NUM_PLACES: Final = 1024


def weigh(shares: FloatArray, sizes: IntArray, function: WeightFunction) -> FloatArray:
    """Return the weight of each worker for each kind of task, a multiple of 2⁻³².

    Args:
        shares: fractions of right answers, of any shape.
        sizes: the size of the answer set of each kind, shape (kinds,).

    Returns:
        The weights, with one more axis than the shares, of kinds.

    Raises:
        ConfigurationError: g is an unknown name, does not increase over the shares, or has a value that is not a number
            or exceeds 1000 in absolute value.
    """
    if function == "log_odds":
        return snap_weights(log_odds(shares)[..., None] + log(sizes - 1.0))
    if function == "linear":
        return snap_weights((shares[..., None] * sizes - 1.0) / (sizes - 1.0))
    if isinstance(function, str):
        allowed = f"one of {', '.join(WEIGHT_FUNCTIONS)}, or given as a function"
        raise ConfigurationError(field=_FIELD, value=function, allowed=allowed)
    distinct, places = np.unique(shares, return_inverse=True)
    weights = np.array(_checked_weights(function, distinct.tolist()), dtype=np.float64)
    return np.repeat(weights[places.reshape(shares.shape)][..., None], len(sizes), axis=-1)


@exact_arguments
def check_weight_function(function: Callable[[float], float], *, num_answers: int, clamp: float) -> None:
    """Raise ConfigurationError unless a function increases over the shares that workers may have, or on a bad argument.

    Args:
        num_answers: the greatest number of answers of a worker, at least 1.
        clamp: shares are clipped to [clamp, 1 − clamp]; in (0, 1/2).

    Examples:
        >>> check_weight_function(math.sqrt, num_answers=5, clamp=0.05)
    """
    refuse(num_answers < 1, "num_answers", num_answers, "at least 1")
    if not 0 < clamp < 0.5:  # noqa: PLR2004  1/2 would leave one share
        raise ConfigurationError(field="clamp", value=clamp, allowed="in (0, 1/2)")
    _checked_weights(function, shares_of_answers(num_answers, clamp))


def shares_of_answers(num_answers: int, clamp: float) -> list[float]:
    """Return ascending shares at which a function is tried: k/n for n up to 64 and 1,025 others, clipped."""
    most = min(num_answers, _FEW_ANSWERS)
    fractions = {k / n for n in range(1, most + 1) for k in range(n + 1)}
    fractions |= {clamp + (1 - 2 * clamp) * place / _NUM_PLACES for place in range(_NUM_PLACES + 1)}
    return sorted({min(max(share, clamp), 1 - clamp) for share in fractions})


def _checked_weights(function: Callable[[float], Any], shares: Sequence[float]) -> list[float]:
    """Return g of ascending shares, rounded to the grid of weights; raise ConfigurationError unless it increases."""
    weights = [_weight_at(function, share) for share in shares]
    for (low, high), (weight, next_weight) in zip(itertools.pairwise(shares), itertools.pairwise(weights), strict=True):
        # Nearly equal shares may have the same weight on the grid.
        if not (next_weight > weight or (next_weight == weight and high - low < 2.0**-20)):
            value = f"one with g({low:.6g}) = {weight:.6g} and g({high:.6g}) = {next_weight:.6g}"
            raise ConfigurationError(field=_FIELD, value=value, allowed="increasing in the share of right answers")
    return weights


def _weight_at(function: Callable[[float], Any], share: float) -> float:
    allowed = f"a function from a share to a number of at most {_MOST_WEIGHT:g} in size"
    try:
        weight = float(function(share))
    except Exception as error:
        value = f"one that fails at {share:.6g} with {type(error).__name__}: {error}"
        raise ConfigurationError(field=_FIELD, value=value, allowed=allowed) from error
    if not math.isfinite(weight) or abs(weight) > _MOST_WEIGHT:
        raise ConfigurationError(field=_FIELD, value=f"one with g({share:.6g}) = {weight:g}", allowed=allowed)
    return float(snap_weights(np.array(weight)))
