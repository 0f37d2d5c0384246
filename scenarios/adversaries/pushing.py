"""What some parties of a scene can do to an estimate by their reports: measured, and bounded.

Shifts are taken between two sessions of one seed, in which everybody else reports the same.
"""

import functools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.phases import CentralPhase
from ..attacks.poisoning import Poisoning, StrategyName, outcome_of, reports_of
from .role import Scene

__all__ = [
    "bound_of",
    "estimate_of",
    "honest_error",
    "order_of",
    "poisoned_reports",
    "spreads_of",
    "truthful_range_of",
]

# Honest votes from which the error of one is estimated: to 10 % of itself.
_HONEST_VOTES: Final = 50


def honest_error(scene: Scene, poisoning: Poisoning, *, votes: int = _HONEST_VOTES) -> float:
    """Return the standard deviation of what is pushed over honest votes of the same parties, each with fresh noise.

    Args:
        scene: what is run.
        poisoning: what is pushed.
        votes: of how many votes, at least 2.
    """
    honest = reports_of(poisoning, scene.inputs, noise=scene.noise())
    if all(isinstance(phase, CentralPhase) for phase in scene.protocol.phases):
        outcome = outcome_of(scene.protocol, honest, scene.inputs.public, noise=scene.noise())
        return poisoning.error_of_release(outcome)
    estimates = [
        estimate_of(scene, poisoning, reports_of(poisoning, scene.inputs, noise=scene.noise(rerun=rerun)))
        for rerun in range(1, votes + 1)
    ]
    return float(np.std(estimates, ddof=1))


def poisoned_reports(
    scene: Scene, poisoning: Poisoning, places: IntArray, strategy: StrategyName, *, rerun: int = 0
) -> list[IntArray]:
    """Return everybody's reports of the session in which these parties poison. See `reports_of`.

    Args:
        scene: what is run.
        poisoning: what is pushed.
        places: whose reports are chosen.
        strategy: how.
        rerun: how many votes later; 0 for this one.
    """
    noise = scene.noise(rerun=rerun)
    return reports_of(poisoning, scene.inputs, noise=noise, poisoners=places, strategy=strategy)


def estimate_of(scene: Scene, poisoning: Poisoning, reports: Sequence[IntArray]) -> float:
    """Return what is pushed, as these reports have it; a fixed quota, which nobody moves, is left out."""
    told = poisoning.contributions(reports, scene.inputs.public, num_parties=len(scene.names))
    return math.fsum(told.tolist())


def bound_of(scene: Scene, poisoning: Poisoning, places: IntArray) -> float:
    """Return the most by which parties move the estimate, whatever they report."""
    return math.fsum(spreads_of(scene, poisoning)[places].tolist())


def truthful_range_of(scene: Scene, poisoning: Poisoning, places: IntArray) -> float:
    """Return the most by which parties move its expectation by their values."""
    public: list[list[int]] = scene.inputs.public[places].tolist()
    return math.fsum(poisoning.truthful_range(row, num_parties=len(scene.names)) for row in public)


def spreads_of(scene: Scene, poisoning: Poisoning) -> FloatArray:
    """Return for each party the greatest contribution less the least, shape (n,)."""

    @functools.cache
    def spread(public: tuple[int, ...]) -> float:
        if not poisoning.is_concerned(public):
            return 0.0
        least, greatest = poisoning.extremes(public, num_parties=len(scene.names))
        return greatest - least

    public: list[list[int]] = scene.inputs.public.tolist()
    return np.array([spread(tuple(row)) for row in public])


def order_of(scene: Scene, poisoning: Poisoning, places: IntArray) -> IntArray:
    """Return all parties in the order in which they poison in the picture: the members, then others by lot."""
    uniforms = scene.noise().uniforms(
        protocol="adversary", phase="further poisoners", start=0, stop=len(scene.names), slots=1
    )
    lots = np.argsort(uniforms[:, 0], kind="stable")
    public: list[list[int]] = scene.inputs.public.tolist()
    members: list[int] = places.tolist()
    drawn: list[int] = lots.tolist()
    others = [place for place in drawn if place not in members and poisoning.is_concerned(public[place])]
    return np.array([*members, *others], dtype=np.int64)
