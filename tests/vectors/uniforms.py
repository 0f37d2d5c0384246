"""Uniforms: what k-RR, flips and tables make of values by them, for whoever draws in another language."""

import itertools
import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from psephos.protocol.mechanisms import (
    FiniteChannel,
    GeneralizedRandomizedResponse,
    OneLayer,
    RowMechanism,
    optimal,
    two_point,
)

from . import ballots, crowds, partners

UNIFORMS: Final = "uniforms"
"""The name of their file."""
SESSIONS: Final = ("good_joint", "good_printed", "good_public_weights", "good_per_candidate")
OTHER_SESSIONS: Final = (
    "good_one_layer",
    "good_mixed_answer_sets",
    "good_rankings_pair",
    "good_rankings_position",
    "good_rankings_whole",
)
"""Of the other systems, whose rows are drawn in one."""
_EPSILONS: Final = (1e-9, 0.1, 0.5, math.log(3), 1.0, 2.5, 30.0)
_CHOICES: Final = (2, 3, 5, 100)
_NUMBERS: Final = tuple(map(Fraction, (-3, -1, 1, 3)))


def uniforms() -> list[dict[str, Any]]:
    """Return what is in the file, as plain data."""
    responses = itertools.starmap(GeneralizedRandomizedResponse, itertools.product(_EPSILONS, _CHOICES))
    tables = [kind(_NUMBERS, epsilon=epsilon).mechanism for kind in (two_point, optimal) for epsilon in (0.5, 2.0, 8.0)]
    flips = [OneLayer.from_epsilon((size,), epsilon) for epsilon in _EPSILONS for size in _CHOICES]
    flips += [OneLayer.from_flip_probability((size,), 0.3) for size in _CHOICES]
    return [*map(_of_law, (*responses, *tables, *flips)), *_of_sessions()]


def _of_law(mechanism: Any) -> dict[str, Any]:
    """Return reports of a law by uniforms at the ends, around where they change, and between."""
    choices: int = mechanism.value_range[1] + 1
    keep: float = mechanism.channel_matrix()[0][0]
    if isinstance(mechanism, OneLayer):
        (keep,) = mechanism.flip_probabilities  # at which a report changes
    ends = [0.0, max(keep - 2.0**-53, 0.0), keep, keep + 2.0**-53, 1 - 2.0**-53]
    drawn = np.random.default_rng([choices, int(mechanism.epsilon * 1000)]).random(15).tolist()
    given = [*ends, *drawn]
    values = [place % choices for place in range(len(given))]
    about = f"{type(mechanism).__name__} of {choices} values at {mechanism.epsilon:g}"
    return _entry(about, mechanism, [values], [given])


def _of_sessions() -> list[dict[str, Any]]:
    """Return what the parties of vectors draw, step by step."""
    entries: list[dict[str, Any]] = []
    recorders = {**partners.VECTORS, **crowds.VECTORS, **ballots.VECTORS}
    for name in (*SESSIONS, *OTHER_SESSIONS):
        session = recorders[name]().session
        protocol, noise = session.protocol, session.fresh_noise()
        for step in protocol.steps:
            mechanism, values = step.phase.mechanism, session.inputs.private[:, step.phase.columns]
            address = {"protocol": protocol.name, "phase": step.phase.name}
            slots = mechanism.slots_of(values.shape[1])
            given = noise.uniforms(**address, start=0, stop=len(values), slots=slots)
            about, is_law = f"{name}, {step.name}", name in SESSIONS
            entries.append(_entry(about, mechanism, values.tolist(), given.tolist(), is_law=is_law))
    return entries


def _entry(
    about: str,
    mechanism: RowMechanism,
    values: list[list[int]],
    given: list[list[float]],
    *,
    is_law: bool = True,
) -> dict[str, Any]:
    """Return an entry; without its law where rows are drawn by others than one law for each value."""
    law: dict[str, Any] = dict.fromkeys(("epsilon", "choices", "keep_probability", "flip_probability", "masses"))
    if is_law and isinstance(mechanism, GeneralizedRandomizedResponse | FiniteChannel | OneLayer):
        law |= {"epsilon": mechanism.epsilon, "choices": mechanism.value_range[1] + 1}
    if isinstance(mechanism, GeneralizedRandomizedResponse):
        law["keep_probability"] = mechanism.keep_probability
    elif isinstance(mechanism, FiniteChannel):
        law["masses"] = mechanism.masses
    elif is_law and isinstance(mechanism, OneLayer):
        (law["flip_probability"],) = mechanism.flip_probabilities
    rows = zip(values, given, strict=True)
    reports = [mechanism.randomize_row(row, own) for row, own in rows]
    return {"about": about, **law, "values": values, "uniforms": given, "reports": reports}
