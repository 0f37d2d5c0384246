"""Estimators: unbiased estimates from randomized tallies, each with its standard error."""

from ..estimate import Estimate, Estimates
from .frequencies import debiased_values, estimate_counts, project_to_simplex
from .linear import LinearEstimator
from .sum_tests import binomial_bounds
from .verdict import DEFAULT_LEVEL, UNDECIDED, Verdict, check_level

__all__ = [
    "DEFAULT_LEVEL",
    "UNDECIDED",
    "Estimate",
    "Estimates",
    "LinearEstimator",
    "Verdict",
    "binomial_bounds",
    "check_level",
    "debiased_values",
    "estimate_counts",
    "project_to_simplex",
]
