"""From ballots to rankings: how to treat alternatives that a voter ranks equally or not at all.

Alternatives that a ballot does not list stand after all that it lists, tied with each other. Ties are counted by one of
three rules:

- mean: tied alternatives share the scores of the places that they take up, each the mean of them. No lot is drawn.
- refuse: a tie is an error.
- listed: they stand in the order in which the ballot has them, and those that it does not list in the order of the
  file. What stands first in the file gains by this, so that whoever wants it has to write it.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.fair_voting.rankings import are_strict, positions_of_classes
from .ballots import FileBallots

TieRule: TypeAlias = Literal["mean", "refuse", "listed"]  # the rules

_MAX_NAMED: Final = 4


def break_ties(
    ballots: FileBallots, *, ties: TieRule, columns_kept: Sequence[int], skipped: IntArray | None = None
) -> tuple[IntArray, int]:
    """Return the ranking of each voter over the kept alternatives, in their order, and how many voters had a tie.

    Voters who are left out are skipped: their ties are of no account. A rule may refuse ties: ConfigurationError.

    Returns:
        int64, shape (n, k): positions, as `Rankings` has them; and the number.
    """
    columns = np.array(columns_kept, dtype=np.int64)
    classes = ballots.classes[:, columns].astype(np.int64)
    positions = positions_of_classes(classes)
    is_tied = ~are_strict(positions)[ballots.ballot_of_voter]
    if skipped is not None:
        is_tied[skipped] = False
    if ties == "refuse" and np.any(is_tied):
        raise _refusal(ballots, int(np.argmax(is_tied)), columns)
    if ties == "listed":
        width = len(ballots.alternatives)
        rank_table = ballots.listed[:, columns] + (ballots.listed[:, columns] == width) * np.arange(len(columns))
        positions = positions_of_classes(classes * 2 * (width + 1) + rank_table)
    return positions[ballots.ballot_of_voter], int(np.count_nonzero(is_tied))


def _refusal(ballots: FileBallots, voter: int, columns: IntArray) -> ConfigurationError:
    classes = ballots.classes[ballots.ballot_of_voter[voter], columns]
    values, counts = np.unique(classes, return_counts=True)
    tied_value = values[np.argmax(counts > 1)]
    places: list[int] = columns[classes == tied_value].tolist()
    names = [ballots.alternatives[place] for place in places]
    names_text = ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")
    tie_kind = "not ranked" if tied_value == len(ballots.alternatives) else "tied"
    allowed = 'a strict order of all alternatives, or ties = "mean"'
    return ConfigurationError(
        field=f"ballot ({ballots.where(voter)})", value=f"{tie_kind}: {names_text}", allowed=allowed
    )
