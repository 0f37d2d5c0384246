"""Faults planted into votes: samplers that draw wrong, a group charged half its loss, a private group told in clear."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from ....agents.noise import SecureNoise
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.mechanisms import RowMechanism
from ....protocol.privacy import Ledger, LedgerEntry
from ...audit.fault import Fault
from ...audit.machines import one_source
from ...audit.planting import Sessions, alike, planted
from ...audit.whole_sessions import charge
from .sampler_faults import coin_fault, subsample_fault

__all__ = ["planted_faults"]

_SAMPLES = 5_000
_FEW_SAMPLES: Final = 600
"""With secure noise; what is told in clear shows at once."""
_SECOND = (1,)
"""The public row of a voter of the second group."""


def planted_faults() -> Iterator[Fault]:
    """Yield wrong samplers, a loss that is halved for the second group, and a private group told in clear."""
    yield subsample_fault()
    yield coin_fault()
    yield _group_in_clear()
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


class _GroupInClear(SecureNoise):
    """Noise of voters who report a sign for their own group alone: the answer is randomized, and the group is not."""

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return the report with its sign moved to the voter's own group."""
        report = super().randomize(mechanism, values, protocol=protocol, phase=phase, place=place)
        question, *signs = report
        (sign,) = filter(None, signs)
        group = values[0] // len(values)
        return [question, *(sign if other == group else 0 for other in range(len(signs)))]


def _group_in_clear() -> Fault:
    vote = FairVoting(
        Parameters(
            alternatives=("a", "b", "c"),
            groups=("left", "right"),
            group_sizes=(16, 16),
            mechanism="joint_pair",
            epsilon=2.0,
        )
    )
    rows: list[list[int]] = vote.encode({"group": ["left", "right"], "ranking": ["a>b>c"] * 2}).private.tolist()
    entries = charge(vote, rows[0], (), num_sessions=1)
    right = Sessions((alike(vote, rows[0], ()), alike(vote, rows[1], ())), entries)
    return planted(
        vote,
        "a group told in clear",
        "Voters whose group is private randomize their answer, and report it as their own group's.",
        dataclasses.replace(right, make_noise=one_source(_GroupInClear)),
        ("group and answer randomized together", right),
        source="secure",
        samples=_FEW_SAMPLES,
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
