"""Local randomizers: each a sampler with its exact law and its privacy event beside it."""

from .certificate import Certificate
from .discrete_laplace import CLAMP_IN_SCALES, DiscreteLaplace, laplace_grid
from .finite_channel import FiniteChannel
from .mechanism import FiniteMechanism, Mechanism
from .randomized_response import MAX_EPSILON, MIN_EPSILON, GeneralizedRandomizedResponse, check_epsilon
from .unbiased import UnbiasedReport, has_optimal, optimal, randomized_response, two_point

__all__ = [
    "CLAMP_IN_SCALES",
    "MAX_EPSILON",
    "MIN_EPSILON",
    "Certificate",
    "DiscreteLaplace",
    "FiniteChannel",
    "FiniteMechanism",
    "GeneralizedRandomizedResponse",
    "Mechanism",
    "UnbiasedReport",
    "check_epsilon",
    "has_optimal",
    "laplace_grid",
    "optimal",
    "randomized_response",
    "two_point",
]
