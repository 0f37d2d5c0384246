"""A planted fault: the sub-sample of Algorithm 2 is drawn wrong by deployments."""

from collections.abc import Sequence
from typing import Final

from ....protocol.fair_voting.subsample import Subsample
from ....protocol.mechanisms import Below
from ....protocol.privacy import TrustModel
from ...audit.fault import Fault
from ...audit.sampler_faults import sampler_fault

__all__ = ["subsample_fault"]

_SIZES: Final = (3, 4)
_NUM_SAMPLES: Final = 2


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


class _NarrowSubsample(Subsample):
    """A sub-sample whose exact draws leave out the last of the places that are left."""

    def randomize_exactly(self, values: Sequence[int], below: Below) -> list[int]:
        """Draw each place below one less."""
        return super().randomize_exactly(values, lambda number: below(max(number - 1, 1)))
