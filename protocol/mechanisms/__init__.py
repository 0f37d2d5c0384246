"""Local randomizers: each a sampler with its exact law and its privacy event beside it."""

from .discrete_laplace import CLAMP_IN_SCALES, DiscreteLaplace, laplace_grid
from .mechanism import FiniteMechanism, Mechanism
from .randomized_response import MAX_EPSILON, MIN_EPSILON, GeneralizedRandomizedResponse, check_epsilon

__all__ = [
    "CLAMP_IN_SCALES",
    "MAX_EPSILON",
    "MIN_EPSILON",
    "DiscreteLaplace",
    "FiniteMechanism",
    "GeneralizedRandomizedResponse",
    "Mechanism",
    "check_epsilon",
    "laplace_grid",
]
