"""Faults planted into votes: samplers that draw wrong, a group charged half its loss, a private group told in clear."""

import functools
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import structs

from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.mechanisms import RowMechanism
from ...audit.fault import Drawing, Fault, WrongNoise
from ...audit.machines import one_source
from ...audit.planting import Sessions
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
    right = Sessions.of_rows(vote, ([0, 1, 2], [2, 1, 0]), _SECOND)
    halves = [structs.replace(own, claimed=own.claimed / 2, proven=own.proven / 2) for own in right.entries]
    yield right.planted(
        "loss halved for the second group",
        "The ledgers of one group's voters are charged half of what leaves them; the first group's are right.",
        "loss of the second group",
        samples=_SAMPLES,
        entries=halves,
    )


def _in_clear(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return the report with its sign moved to the voter's own group: the answer is randomized, the group is not."""
    question, *signs = rightly(mechanism, values)
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
    return Sessions.of_rows(vote, rows).planted(
        "a group told in clear",
        "Voters whose group is private randomize their answer, and report it as their own group's.",
        "group and answer randomized together",
        source="secure",
        samples=_FEW_SAMPLES,
        make_noise=one_source(functools.partial(WrongNoise, _in_clear)),
    )
