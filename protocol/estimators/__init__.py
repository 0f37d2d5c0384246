"""Estimators: unbiased numbers from randomized tallies, each with its standard error."""

from .estimate import Estimate, probability_of_other_sign
from .frequencies import debiased_values, estimate_counts, project_to_simplex
from .linear import LinearEstimator
from .verdict import DEFAULT_LEVEL, Verdict, check_level

__all__ = [
    "DEFAULT_LEVEL",
    "Estimate",
    "LinearEstimator",
    "Verdict",
    "check_level",
    "debiased_values",
    "estimate_counts",
    "probability_of_other_sign",
    "project_to_simplex",
]
