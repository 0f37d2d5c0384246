"""Local randomizers: each a sampler with its exact law and its privacy event beside it."""

from .answer_perturbation import (
    MIN_FLIP_PROBABILITY,
    NO_ANSWER,
    FreshTwoLayer,
    OneLayer,
    TwoLayer,
    block_offsets,
    epsilon_of,
    flip_probability_of,
)
from .certificate import Certificate
from .disclosure import Disclosure
from .discrete_laplace import CLAMP_IN_SCALES, DiscreteLaplace, laplace_grid
from .finite_channel import FiniteChannel
from .hyper import Beta, Discrete, HyperDistribution, PointMass, Uniform, uniform_for
from .joint_law import (
    HyperLosses,
    compare_hypers,
    hypers_of_mean,
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_one_answer,
    loss_of_one_answer_bound,
    loss_of_some_answers,
    uniform_of_loss,
)
from .mechanism import FiniteMechanism, Mechanism, PostProcessed, RowMechanism
from .randomized_response import MAX_EPSILON, MIN_EPSILON, GeneralizedRandomizedResponse, check_epsilon
from .spherical_laplace import MAX_DIMENSION, SphericalLaplace
from .unbiased import UnbiasedReport, has_optimal, optimal, randomized_response, two_point
from .vector_laplace import VectorLaplace

__all__ = [
    "CLAMP_IN_SCALES",
    "MAX_DIMENSION",
    "MAX_EPSILON",
    "MIN_EPSILON",
    "MIN_FLIP_PROBABILITY",
    "NO_ANSWER",
    "Beta",
    "Certificate",
    "Disclosure",
    "Discrete",
    "DiscreteLaplace",
    "FiniteChannel",
    "FiniteMechanism",
    "FreshTwoLayer",
    "GeneralizedRandomizedResponse",
    "HyperDistribution",
    "HyperLosses",
    "Mechanism",
    "OneLayer",
    "PointMass",
    "PostProcessed",
    "RowMechanism",
    "SphericalLaplace",
    "TwoLayer",
    "UnbiasedReport",
    "Uniform",
    "VectorLaplace",
    "block_offsets",
    "check_epsilon",
    "compare_hypers",
    "epsilon_of",
    "flip_probability_of",
    "has_optimal",
    "hypers_of_mean",
    "laplace_grid",
    "loss_of_all_answers",
    "loss_of_flip_probability",
    "loss_of_longest_row",
    "loss_of_one_answer",
    "loss_of_one_answer_bound",
    "loss_of_some_answers",
    "optimal",
    "randomized_response",
    "two_point",
    "uniform_for",
    "uniform_of_loss",
]
