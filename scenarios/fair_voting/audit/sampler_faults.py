"""Planted faults: Algorithm 2 draws its sub-sample wrong in deployments, or tosses another coin than is proven."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import SampledChoice
from ....protocol.fair_voting.subsample import Subsample
from ....protocol.mechanisms import Below
from ....protocol.privacy import TrustModel
from ...audit.fault import Fault
from ...audit.sampler_faults import sampler_fault

__all__ = ["coin_fault", "subsample_fault"]

_SIZES: Final = (3, 4)
_NUM_SAMPLES: Final = 2
_COIN_SIZES: Final = (3, 4)
_COIN_NUM_SAMPLES: Final = 40
_PROVEN: Final = 1.5
_COIN_SAMPLES: Final = 3_000
"""An election takes a fifth of a millisecond."""
_LAST: Final = 1 - 2.0**-53
_FIELDS: Final = tuple(field.name for field in dataclasses.fields(SampledChoice))


def subsample_fault() -> Fault:
    """Return the sub-sample that is off by one."""
    return sampler_fault(
        "sub-sample off by one",
        "sub-sample",
        "With the noise of deployments a group's last voter is never sampled: each draw is one too narrow.",
        (_NarrowSubsample(_SIZES, _NUM_SAMPLES), Subsample(_SIZES, _NUM_SAMPLES)),
        [[0]],
        unit="voter",
        proven=0.0,
        source="secure",
        model=TrustModel.CENTRAL,
    )


def coin_fault() -> Fault:
    """Return the election to a proven ε whose winner is random half as often as the proof has it."""
    vote = FairVoting(
        Parameters(
            alternatives=("a", "b", "c"),
            groups=("left", "right"),
            group_sizes=_COIN_SIZES,
            mechanism="sampling",
            calibration="proven",
            epsilon=_PROVEN,
            num_samples=_COIN_NUM_SAMPLES,
        )
    )
    right = vote.disclosed.elects_by(SampledChoice)
    wrong = _HalvedCoin(**{name: getattr(right, name) for name in _FIELDS})
    utilities = np.array(list(itertools.permutations(right.scoring.steps)), dtype=np.int64)
    few, many = _COIN_SIZES
    others, reverse = (few - 1) * utilities[0], many * utilities[-1]  # who agree on the middle alone
    rows = [np.concatenate([others + own, reverse]).tolist() for own in (utilities[0], utilities[-1])]
    return sampler_fault(
        "γ halved",
        "γ as it is proven",
        "A random winner is half as likely as the proof of a wanted ε needs.",
        (wrong, right),
        rows,
        unit="voter",
        proven=right.proven[0],
        model=TrustModel.CENTRAL,
        samples=_COIN_SAMPLES,
    )


class _HalvedCoin(SampledChoice):
    """An election whose coin shows a random winner half as often."""

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        coin, *others = uniforms
        return super().randomize_row(values, [min(2 * coin, _LAST), *others])


class _NarrowSubsample(Subsample):
    """A sub-sample whose exact draws leave out the last of the places that are left."""

    def randomize_exactly(self, values: Sequence[int], below: Below) -> list[int]:
        return super().randomize_exactly(values, lambda number: below(max(number - 1, 1)))
