"""Estimators: unbiased numbers from randomized tallies, each with its standard error."""

from .estimate import Estimate, probability_of_other_sign
from .frequencies import debiased_values, estimate_counts, project_to_simplex
from .linear import LinearEstimator

__all__ = [
    "Estimate",
    "LinearEstimator",
    "debiased_values",
    "estimate_counts",
    "probability_of_other_sign",
    "project_to_simplex",
]
