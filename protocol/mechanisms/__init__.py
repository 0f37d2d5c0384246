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
from .exact import Below, ExactMechanism, has_happened, has_happened_exp
from .finite_channel import FiniteChannel
from .hyper import Beta, Discrete, HyperDistribution, PointMass, Uniform, uniform_for
from .hyper_prices import LossUnit, least_uniform_loss, uniform_of_loss
from .joint_law import (
    HyperLosses,
    compare_hypers,
    hypers_of_mean,
    loss_of_all_answers,
    loss_of_flip_probability,
    loss_of_longest_row,
    loss_of_one_answer,
)
from .joint_rankings import MAX_JOINT_GROUPS, JointPair, JointPosition, JointRanking, JointScores
from .mechanism import FiniteMechanism, Mechanism, PostProcessed, Prepared, RowMechanism
from .randomized_response import MAX_EPSILON, MIN_EPSILON, GeneralizedRandomizedResponse, check_epsilon
from .rankings import (
    MAX_ALTERNATIVES,
    MAX_RANKED,
    NoisyScores,
    SampledPair,
    SampledPosition,
    WholeRanking,
    code_of_rankings,
    rankings_of_codes,
)
from .spherical_laplace import MAX_DIMENSION, SphericalLaplace
from .unbiased import (
    MOST_SYMMETRIC_VALUES,
    MOST_VALUES,
    UnbiasedReport,
    has_optimal,
    optimal,
    randomized_response,
    two_point,
)
from .vector_laplace import VectorLaplace

__all__ = [
    "CLAMP_IN_SCALES",
    "MAX_ALTERNATIVES",
    "MAX_DIMENSION",
    "MAX_EPSILON",
    "MAX_JOINT_GROUPS",
    "MAX_RANKED",
    "MIN_EPSILON",
    "MIN_FLIP_PROBABILITY",
    "MOST_SYMMETRIC_VALUES",
    "MOST_VALUES",
    "NO_ANSWER",
    "Below",
    "Beta",
    "Certificate",
    "Disclosure",
    "Discrete",
    "DiscreteLaplace",
    "ExactMechanism",
    "FiniteChannel",
    "FiniteMechanism",
    "FreshTwoLayer",
    "GeneralizedRandomizedResponse",
    "HyperDistribution",
    "HyperLosses",
    "JointPair",
    "JointPosition",
    "JointRanking",
    "JointScores",
    "LossUnit",
    "Mechanism",
    "NoisyScores",
    "OneLayer",
    "PointMass",
    "PostProcessed",
    "Prepared",
    "RowMechanism",
    "SampledPair",
    "SampledPosition",
    "SphericalLaplace",
    "TwoLayer",
    "UnbiasedReport",
    "Uniform",
    "VectorLaplace",
    "WholeRanking",
    "block_offsets",
    "check_epsilon",
    "code_of_rankings",
    "compare_hypers",
    "epsilon_of",
    "flip_probability_of",
    "has_happened",
    "has_happened_exp",
    "has_optimal",
    "hypers_of_mean",
    "laplace_grid",
    "least_uniform_loss",
    "loss_of_all_answers",
    "loss_of_flip_probability",
    "loss_of_longest_row",
    "loss_of_one_answer",
    "optimal",
    "randomized_response",
    "rankings_of_codes",
    "two_point",
    "uniform_for",
    "uniform_of_loss",
]
