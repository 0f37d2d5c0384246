"""How sure the mean utilities of a fair vote are, by each mechanism that releases them: by exact variances.

The error is the standard error of a mean utility in the smallest group, as a share of the way from the worst score to
the best. It depends on the groups' sizes and on nobody's ranking, so that a plan can be made before there is any. What
elects without telling utilities has no such error; `psephos variants` compares it by how often it elects another one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final, Self, cast

import msgspec

from ...protocol.errors import ConfigurationError, refuse
from ...protocol.fair_voting import FairVoting, Parameters
from ...protocol.fair_voting.joint_reports import make_joint_report
from ...protocol.fair_voting.parameters import JOINT, LOCAL
from ...protocol.fair_voting.reports import make_report
from ...protocol.mechanisms import VectorLaplace
from ...protocol.privacy import TrustModel
from ..experiments.measurements import Measurement
from ..experiments.variants import Offered, Unit, VariantTable
from .variants import model_of

__all__ = ["WelfareErrors", "sizes_of"]

_LAPLACE: Final = "laplace"


class WelfareErrors(VariantTable):
    """The mechanisms that release mean utilities."""

    error: str = "± of a utility"
    parameters: Parameters

    @property
    def names(self) -> Sequence[str]:
        """Algorithm 1 and the local mechanisms; where groups are private those that keep them so."""
        return JOINT if self.parameters.is_joint else (_LAPLACE, *LOCAL)

    @property
    def unit(self) -> Unit:
        """A share of the way from the worst score to the best."""
        return Unit(
            of="of the scores' range on a mean utility in the smallest group",
            explained="The scores' range is the way from the worst score to the best.",
        )

    def model_of(self, name: str) -> TrustModel:
        return model_of(name)

    def of_people(self, number: int) -> Self:
        """Return the same vote with more voters, or fewer, in groups of the same shares."""
        sizes = sizes_of(number, self.parameters.group_sizes)
        return super().of_people(number).changed(parameters=msgspec.structs.replace(self.parameters, group_sizes=sizes))

    def coarser(self) -> Mapping[str, Self]:
        """Return the vote on two alternatives."""
        if len(self.parameters.alternatives) == 2 or not isinstance(self.parameters.scores, str):  # noqa: PLR2004  the fewest
            return {}
        two = msgspec.structs.replace(self.parameters, alternatives=self.parameters.alternatives[:2])
        return {"rank two alternatives": self.changed(parameters=two)}

    def offer(self, name: str, price: float) -> Offered | None:
        """Return what a mechanism offers at a price, which is its ε: that is proven of all of these."""
        settings = {"mechanism": name, "calibration": "tight", "num_samples": None, "epsilon": price}
        try:
            error = _error_of(msgspec.structs.replace(self.parameters, **settings))
        except ConfigurationError:  # this mechanism cannot have this price, or not with these alternatives
            return None
        return Offered(name=name, epsilon=price, error=Measurement(error, 0.0), settings=settings)


def _error_of(parameters: Parameters) -> float:
    """Return the standard error of a mean utility in the smallest group, as a share of the scores' range."""
    sizes, scoring = parameters.group_sizes, parameters.make_scoring(is_centered=True)
    smallest = sizes.index(min(sizes))
    if parameters.is_joint:
        error = make_joint_report(parameters).error_of(smallest, sum(sizes))
    elif parameters.kind.releases_sums:
        laplace = cast("VectorLaplace", FairVoting(parameters).disclosed.tally_mechanism)
        error = math.sqrt(laplace.noise_variance) * scoring.step / sizes[smallest]
    else:
        error = math.sqrt(make_report(parameters).mean_variance / sizes[smallest])
    return error / (scoring.range * scoring.step)


def sizes_of(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return groups of the same shares that are so many together, each of one voter at least."""
    refuse(number < len(sizes), "--people", number, f"at least {len(sizes)}: one voter in each group")
    total = sum(sizes)
    found = [max(number * size // total, 1) for size in sizes]
    # What rounding left over goes to the groups that lack most, and what is too much comes from the largest.
    while (rest := number - sum(found)) > 0:
        lacks = [size * number / total - own for size, own in zip(sizes, found, strict=True)]
        found[lacks.index(max(lacks))] += 1
    while rest < 0:
        found[found.index(max(found))] -= 1
        rest += 1
    return tuple(found)
