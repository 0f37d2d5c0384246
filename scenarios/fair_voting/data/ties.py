"""From ballots to rankings: how those who are not told apart by a voter come to be ranked.

A ranking of the protocol is strict and complete. Alternatives that a ballot does not list stand after all that it
lists, tied with each other. Tied alternatives are ranked by one of three rules:

- random: in a random order, each as probable as any other and independently for each voter, from a seed of its own. A
  tied alternative then gets, in expectation, the mean of the scores of the tied positions.
- listed: in the order in which the ballot has them; those that it does not list, in the order of the file. What stands
  first in the file gains by this.
- refuse: not at all; a tie is an error.

Row i of the random numbers is voter i's and has a number for each alternative of the file. So a voter's ranking does
not depend on who else votes after it or is left out, nor the order of two alternatives on which others are kept.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.fair_voting.rankings import positions_of_orders
from ....protocol.randomness import philox_rows, stream_key
from .ballots import FileBallots

__all__ = ["TieRule", "break_ties"]

TieRule: TypeAlias = Literal["random", "listed", "refuse"]  # the rules

_BATCH_ROWS: Final = 1 << 14
_MAX_NAMED: Final = 4


def break_ties(
    ballots: FileBallots, *, ties: TieRule, seed: int, kept: Sequence[int], skipped: IntArray | None = None
) -> tuple[IntArray, int]:
    """Return the ranking of each voter over the kept alternatives, in their order, and how many voters had a tie.

    Voters who are left out are skipped: their ties are of no account. A rule may refuse ties: ConfigurationError.

    Returns:
        int64, shape (n, k): positions, from 0, the best; and the number.
    """
    columns = np.array(kept, dtype=np.int64)
    classes = ballots.classes[:, columns]
    listed = ballots.listed[:, columns]
    in_order = np.sort(classes, axis=1)
    is_tied = np.any(in_order[:, 1:] == in_order[:, :-1], axis=1)[ballots.ballot_of_voter]
    if skipped is not None:
        is_tied[skipped] = False
    if ties == "refuse" and np.any(is_tied):
        raise _refusal(ballots, int(np.argmax(is_tied)), columns)
    key = stream_key(seed=seed, session="", round_number=0, protocol="fair-voting", phase="", purpose="ties of ballots")
    positions = np.empty((len(ballots), len(columns)), dtype=np.int64)
    for start in range(0, len(ballots), _BATCH_ROWS):
        stop = min(start + _BATCH_ROWS, len(ballots))
        rows = ballots.ballot_of_voter[start:stop]
        if ties == "random" and np.any(is_tied[start:stop]):
            # Halved, so that no number can lift an alternative into the next class by rounding.
            uniforms = philox_rows(key, start=start, stop=stop, slots=len(ballots.alternatives))[:, columns]
            orders = np.argsort(classes[rows] + 0.5 * uniforms, axis=1, kind="stable")
        else:
            width = len(ballots.alternatives) + 1
            orders = np.argsort(classes[rows].astype(np.int64) * width + listed[rows], axis=1, kind="stable")
        positions[start:stop] = positions_of_orders(orders.astype(np.int64, copy=False))
    return positions, int(np.count_nonzero(is_tied))


def _refusal(ballots: FileBallots, voter: int, columns: IntArray) -> ConfigurationError:
    classes = ballots.classes[ballots.ballot_of_voter[voter], columns]
    values, counts = np.unique(classes, return_counts=True)
    tied = values[np.argmax(counts > 1)]
    places: list[int] = columns[classes == tied].tolist()
    names = [ballots.alternatives[place] for place in places]
    named = ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")
    how = "not ranked" if tied == len(ballots.alternatives) else "tied"
    allowed = 'a strict order of all alternatives, or ties = "random" or "listed"'
    return ConfigurationError(field=f"ballot ({ballots.where(voter)})", value=f"{how}: {named}", allowed=allowed)
