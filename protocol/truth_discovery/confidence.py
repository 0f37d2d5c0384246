"""What a confidence is worth on average: an estimator's own, drawn towards chance.

Estimators are too sure. Their models take workers as independent, and real ones err on the same tasks. What the model
says beyond chance is therefore multiplied by a number below 1, one for each estimator, such that confidences are right
on average over the published crowds: least squares of right or wrong on the model's confidence, each crowd with one
weight, over ε from 0.5 to 4 and both mechanisms. `psephos calibrate truth-discovery` fits them anew, and shows what
they are worth on crowds that were left out.

It is an average: a crowd may be better than most, and of one that errs together nothing here knows.
"""

from collections.abc import Mapping
from typing import Final

from ..arrays import FloatArray, IntArray
from .estimators import ESTIMATORS

__all__ = ["CREDITS", "average_confidences"]

CREDITS: Final[Mapping[str, float]] = {name: each.credit for name, each in ESTIMATORS.items()}
"""How much of what an estimator says beyond chance is kept; shares of votes or weights (a majority's, CRH's) claim no
probability, and stay."""


def average_confidences(estimator: str, confidences: FloatArray, sizes: IntArray) -> FloatArray:
    """Return confidences that hold on average over published crowds.

    Args:
        estimator: which one found the truths; not "auto".
        confidences: its own, shape (tasks,); nan for a task without answers, and so it stays.
        sizes: of the tasks' answer sets, the same shape.
    """
    chance = 1 / sizes
    return chance + CREDITS[estimator] * (confidences - chance)
