"""What a confidence is worth: an estimator's own, drawn towards chance, on average and on the best and worst crowds.

Estimators are too sure. Their models take workers as independent, and real ones err on the same tasks. What the model
says beyond chance is therefore multiplied by a *credit*. A crowd has one, hardly touched by ε and the mechanism, and
crowds differ: on published ones `cautious` deserves from .2, where workers err together, to nearly 1. Nothing in the
answers was found that tells a crowd's credit beforehand. So a range is said, from the worst published crowd to the
best, and an average, which is least squares of right or wrong over all crowds of one weight each.

`tests/calibrate.py truth-discovery` fits credits anew, and holds the range against each crowd by crowds of other
families.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from ..arrays import FloatArray, IntArray
from .estimators import ESTIMATORS, Credit

CREDITS: Final[Mapping[str, Credit]] = {name: each.credit for name, each in ESTIMATORS.items()}
"""The credits by estimator; shares of votes or weights (a majority's, CRH's) claim no probability, and stay."""


def average_confidences(estimator: str, confidences: FloatArray, sizes: IntArray) -> FloatArray:
    """Return confidences that hold on average over published crowds.

    Args:
        estimator: which one found the truths; not "auto".
        confidences: its own, shape (tasks,); nan for a task without answers, and so it stays.
        sizes: of the tasks' answer sets, the same shape.

    Returns:
        nan for all tasks of an estimator that is not ours: no crowd was held against what it says.

    Examples:
        >>> average_confidences("cautious", np.array([1.0, 0.5]), np.array([2, 2])).round(2).tolist()
        [0.87, 0.5]
    """
    chance = 1 / sizes
    if estimator not in CREDITS:
        return np.full_like(chance, np.nan)
    return chance + CREDITS[estimator].average * (confidences - chance)
