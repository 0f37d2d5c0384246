"""Uniforms: what k-RR and tables make of values by them, for whoever draws in another language."""

import itertools
import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from psephos.protocol.mechanisms import FiniteChannel, GeneralizedRandomizedResponse, optimal, two_point

from . import partners

UNIFORMS: Final = "uniforms"
"""The name of their file."""
SESSIONS: Final = ("good_joint", "good_printed", "good_public_weights", "good_per_candidate")
_EPSILONS: Final = (1e-9, 0.1, 0.5, math.log(3), 1.0, 2.5, 30.0)
_CHOICES: Final = (2, 3, 5, 100)
_NUMBERS: Final = tuple(map(Fraction, (-3, -1, 1, 3)))


def uniforms() -> list[dict[str, Any]]:
    """Return what is in the file, as plain data."""
    responses = itertools.starmap(GeneralizedRandomizedResponse, itertools.product(_EPSILONS, _CHOICES))
    tables = [kind(_NUMBERS, epsilon=epsilon).mechanism for kind in (two_point, optimal) for epsilon in (0.5, 2.0, 8.0)]
    return [*map(_of_law, (*responses, *tables)), *_of_sessions()]


def _of_law(mechanism: Any) -> dict[str, Any]:
    """Return reports of a law by uniforms at the ends, around where they change, and between."""
    choices: int = mechanism.value_range[1] + 1
    keep: float = mechanism.channel_matrix()[0][0]
    ends = [0.0, keep - 2.0**-53, keep, keep + 2.0**-53, 1 - 2.0**-53]
    drawn = np.random.default_rng([choices, int(mechanism.epsilon * 1000)]).random(15).tolist()
    given = [*ends, *drawn]
    values = [place % choices for place in range(len(given))]
    about = f"{type(mechanism).__name__} of {choices} values at {mechanism.epsilon:g}"
    return _entry(about, mechanism, [values], [given])


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
    about: str,
    mechanism: GeneralizedRandomizedResponse | FiniteChannel,
    values: list[list[int]],
    given: list[list[float]],
) -> dict[str, Any]:
    rows = zip(values, given, strict=True)
    is_table = isinstance(mechanism, FiniteChannel)
    return {
        "about": about,
        "epsilon": mechanism.epsilon,
        "choices": mechanism.value_range[1] + 1,
        "keep_probability": None if is_table else mechanism.keep_probability,
        "masses": mechanism.masses if is_table else None,
        "values": values,
        "uniforms": given,
        "reports": [mechanism.randomize_row(row, own) for row, own in rows],
    }
