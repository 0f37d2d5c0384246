"""One voter's own ranking, and its group where that is private, into a file that is its alone.

It is read as any line of text.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import FairVoting
from ....protocol.fair_voting.entries import names_of, text_of
from ....protocol.fair_voting.parameters import SEPARATOR
from ....protocol.phases import PhasedProtocol
from ...deployment.own_entries import OwnEntries


def _write(protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """Return a header and the ranking; the voter's group is the server's to say, unless it is private."""
    parameters = cast("FairVoting", protocol).parameters
    alternatives = parameters.alternatives
    ranking: Any = entries["ranking"]
    if isinstance(ranking, np.ndarray):  # the position of each alternative
        ranking = text_of(cast("IntArray", ranking).tolist(), alternatives)
    ranking_text = f" {SEPARATOR} ".join(names_of(ranking))
    if not parameters.is_joint:
        return [("ranking",), (ranking_text,)]
    group: Any = entries["group"]
    is_place = not isinstance(group, str)
    return [("group", "ranking"), (parameters.groups[int(group)] if is_place else group, ranking_text)]


OWN_RANKING: Final = OwnEntries(write=_write)
