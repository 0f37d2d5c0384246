"""The exact channel from one party's rows to all of its reports, if there are few enough outputs."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.phases import PhasedProtocol

_MOST_OUTPUTS: Final = 50_000  # possible reports of a session, each a column of the channel
_ROUNDING: Final = 1e-9


def session_channel(
    protocol: PhasedProtocol[Any, Any], rows: IntArray, *, public: Sequence[int], votes: int = 1
) -> FloatArray | None:
    """Return P[reports | row] of whole sessions with fresh noise, as the server sees one party.

    Rows are int64, shape (c, private columns). A memoized report counts once over all sessions.

    Returns:
        Shape (c, outputs); rows sum to 1. None if there are too many outputs, or a law is unknown.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1.0,), public_weights=True, epsilon=1.0))
        >>> session_channel(vote, np.array([[0], [1]]), public=[0, 0]).round(3).tolist()
        [[0.731, 0.269], [0.269, 0.731]]
    """
    channel = np.ones((len(rows), 1))
    repeated_phases = [phase for phase in protocol.phases if phase.memo_scope is None] * (votes - 1)
    for phase in (*protocol.phases, *repeated_phases) if votes else ():
        mechanism = phase.mechanism_of(public)
        low, high = mechanism.report_range
        number = (high - low + 1) ** phase.num_reported
        if phase.model.bounds_release or channel.shape[1] * number > _MOST_OUTPUTS:
            return None
        outputs = np.array(list(itertools.product(range(low, high + 1), repeat=phase.num_reported)), dtype=np.int64)
        try:
            law = np.exp(mechanism.log_likelihoods(outputs, rows[:, phase.columns])).T
        except NotImplementedError:
            return None
        if not np.allclose(law.sum(axis=1), 1, rtol=0, atol=_ROUNDING):  # a density, not the law of these outputs
            return None
        channel = (channel[:, :, None] * law[:, None, :]).reshape(len(rows), -1)
    return channel
