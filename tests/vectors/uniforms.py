"""Uniforms: what k-RR makes of values by them, for whoever draws in another language."""

import itertools
import math
from typing import Any, Final

import numpy as np
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse

from . import partners

UNIFORMS: Final = "uniforms"
"""The name of their file."""
SESSIONS: Final = ("good_joint", "good_printed", "good_public_weights", "good_per_candidate")
_EPSILONS: Final = (1e-9, 0.1, 0.5, math.log(3), 1.0, 2.5, 30.0)
_CHOICES: Final = (2, 3, 5, 100)


def uniforms() -> list[dict[str, Any]]:
    """Return what is in the file, as plain data."""
    return [*itertools.starmap(_of_law, itertools.product(_EPSILONS, _CHOICES)), *_of_sessions()]


def _of_law(epsilon: float, choices: int) -> dict[str, Any]:
    """Return reports of a law by uniforms at the ends, around where they change, and between."""
    mechanism = GeneralizedRandomizedResponse(epsilon, choices)
    keep = mechanism.keep_probability
    ends = [0.0, math.nextafter(keep, 0.0), keep, math.nextafter(keep, 1.0), math.nextafter(1.0, 0.0)]
    drawn = np.random.default_rng([choices, int(epsilon * 1000)]).random(15).tolist()
    given = [*ends, *drawn]
    values = [place % choices for place in range(len(given))]
    return _entry(f"k-RR of {choices} values at {epsilon:g}", mechanism, [values], [given])


def _of_sessions() -> list[dict[str, Any]]:
    """Return what the parties of vectors draw, step by step."""
    entries: list[dict[str, Any]] = []
    for name in SESSIONS:
        session = partners.VECTORS[name]().session
        protocol, noise = session.protocol, session.fresh_noise()
        for step in protocol.steps:
            mechanism, values = step.phase.mechanism, session.inputs.private[:, step.phase.columns]
            assert isinstance(mechanism, GeneralizedRandomizedResponse)
            address = {"protocol": protocol.name, "phase": step.phase.name}
            slots = mechanism.slots_of(values.shape[1])
            given = noise.uniforms(**address, start=0, stop=len(values), slots=slots)
            entries.append(_entry(f"{name}, {step.name}", mechanism, values.tolist(), given.tolist()))
    return entries


def _entry(
    about: str, mechanism: GeneralizedRandomizedResponse, values: list[list[int]], given: list[list[float]]
) -> dict[str, Any]:
    rows = zip(values, given, strict=True)
    return {
        "about": about,
        "epsilon": mechanism.epsilon,
        "choices": mechanism.num_choices,
        "keep_probability": mechanism.keep_probability,
        "values": values,
        "uniforms": given,
        "reports": [mechanism.randomize_row(row, own) for row, own in rows],
    }
