"""Calibration of confidences: an estimator's confidence is shrunk towards chance, by factors from published crowds.

Estimators are overconfident. Their models assume independent workers, while real workers err on the same tasks. So the
part of the model's confidence above chance is multiplied by a *credit*. A crowd's credit hardly depends on ε and the
mechanism, but crowds differ: for `cautious` it ranges from .2, if workers err together, to nearly 1 on published
crowds. We found nothing in the answers that predicts a crowd's credit. So a range is stated, from the worst to the best
published crowd, and an average: the least-squares fit to right and wrong labels over all crowds, each with the same
weight.

`tests/calibrate.py truth-discovery` fits the credits again, and tests the range on each crowd, with credits from crowds
of other families.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from ..arrays import FloatArray, IntArray
from .estimators import ESTIMATORS, Credit

CREDITS: Final[Mapping[str, Credit]] = {name: each.credit for name, each in ESTIMATORS.items()}
"""The credits by estimator. Shares of votes or weights (of majority and CRH) are no probabilities, and stay
unchanged."""


def average_confidences(estimator: str, confidences: FloatArray, sizes: IntArray) -> FloatArray:
    """Return confidences that hold on average over published crowds.

    Args:
        estimator: the name of the estimator; not "auto".
        confidences: the estimator's confidences, shape (tasks,); NaN for tasks without answers, which stay NaN.
        sizes: the sizes of the tasks' answer sets, shape (tasks,).

    Returns:
        Calibrated confidences, shape (tasks,); NaN for a registered estimator, which was not calibrated.

    Examples:
        >>> average_confidences("cautious", np.array([1.0, 0.5]), np.array([2, 2])).round(2).tolist()
        [0.87, 0.5]
    """
    chance = 1 / sizes
    if estimator not in CREDITS:
        return np.full_like(chance, np.nan)
    return chance + CREDITS[estimator].average * (confidences - chance)
