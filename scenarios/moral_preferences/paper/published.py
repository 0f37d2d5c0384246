"""What the paper's text says of its experiments; the curves themselves are pictures, and have no numbers.

Source: Wang et al. (2019), Section 5; reading M11 where numbers are lost.
"""

from collections.abc import Mapping
from typing import Final

EPSILONS: Final = (0.01, 0.02, 0.03, 0.05, 0.07, 0.09, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Section 5.1."""
AXIS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Of these, what the figures' axes name."""
BOUND: Final = 2.0
"""Section 5.1: B."""
DIMENSIONS: Final = (5, 15, 25)
"""Figure 5."""
SHARES_CONSERVATIVE: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Figure 6(a): f_C."""
SHARE_MODERATE: Final = 0.36
"""Figure 6(a): f_M, which stays."""
EPSILONS_CONSERVATIVE: Final = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Figures 6(b) and 9(a): ε_C, with ε_M = .5."""
EPSILONS_MODERATE: Final = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Figures 6(c) and 9(b): ε_M, with ε_C = .01. The paper has also .25, .35 and .45, as it seems."""
BOUNDS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0)
"""Figure 7: B,"""
NAMED_BOUNDS: Final = (2.0, 3.0)
"""of which the paper's text names these."""
EPSILON_OF_BOUNDS: Final = 0.1
"""Figure 7."""
BASELINES: Final[Mapping[str, float]] = {"synthetic": 0.924, "machine-like": 0.982}
"""Section 5.3: the accuracy without privacy, N = 50 and n = 100, and N = 200 and n = 13."""
RATIO: Final = (0.3, 0.8)
"""Section 5.3: Algorithms 1 and 3 are above 80 % for ε > .3,"""
HIGH_RATIO: Final = (1.0, 0.9)
"""and above 90 % for ε > 1."""
