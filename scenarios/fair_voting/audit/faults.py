"""Faults planted into votes: samplers that draw wrong, and a group that is charged half of what it loses."""

from collections.abc import Iterator, Sequence

import msgspec

from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.privacy import Ledger, LedgerEntry
from ...audit.exposures import charge
from ...audit.fault import Fault
from ...audit.planting import Sessions, alike, planted
from .sampler_faults import coin_fault, subsample_fault

__all__ = ["planted_faults"]

_SAMPLES = 5_000
_SECOND = (1,)
"""The public row of a voter of the second group."""


def planted_faults() -> Iterator[Fault]:
    """Yield the wrong sub-sample and the wrong coin, and a loss that is halved for the second group."""
    yield subsample_fault()
    yield coin_fault()
    vote = FairVoting(
        Parameters(
            alternatives=("a", "b", "c"),
            groups=("left", "right"),
            group_sizes=(1, 1),
            mechanism="whole_ranking",
            epsilon=2.0,
        )
    )
    rankings = [0, 1, 2], [2, 1, 0]
    rosters = alike(vote, rankings[0], _SECOND), alike(vote, rankings[1], _SECOND)
    entries = (charge(vote, rankings[0], _SECOND, num_sessions=1, ledger=ledger) for ledger in _ledgers())
    halved, right = (Sessions(rosters, own) for own in entries)
    yield planted(
        vote,
        "loss halved for the second group",
        "The ledgers of one group's voters are charged half of what leaves them; the first group's are right.",
        halved,
        ("loss of the second group", right),
        source="simulated",
        samples=_SAMPLES,
    )


class _HalvedLedger(Ledger):
    """A ledger that records half of each loss."""

    __slots__ = ()

    @property
    def entries(self) -> Sequence[LedgerEntry]:
        """All entries so far, halved."""
        return [
            msgspec.structs.replace(entry, claimed=entry.claimed / 2, proven=entry.proven / 2)
            for entry in super().entries
        ]


def _ledgers() -> tuple[Ledger, Ledger]:
    return _HalvedLedger("voter"), Ledger("voter")
