"""The mechanisms of fair voting, and a table of their properties, which all other modules use."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from ..privacy import TrustModel

MechanismName: TypeAlias = Literal[
    "laplace",
    "sampling",
    "exponential",
    "permute_and_flip",
    "pairwise",
    "masked",
    "local",
    "sampled_pair",
    "sampled_position",
    "whole_ranking",
    "noisy_scores",
    "joint",
    "joint_pair",
    "joint_position",
    "joint_ranking",
    "joint_scores",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MechanismKind:
    """The properties of a mechanism.

    Args:
        name: the value of the parameter `mechanism`.
        is_joint: whether a voter's group is private as well, and reported together with its ranking.
        releases_sums: whether noisy sums are released, from which anybody can compute the winner.
        is_sampled: whether it is Algorithm 2, with the parameters γ, δ and n_s.
        counts_pairs: whether the sums are differences of pairwise counts, instead of utilities.
        is_by_quality: whether only the winner is released, chosen by a quality in which an objective's limit has a
            price (`Objective.qualities`).
        compares_pairs: whether reports are comparisons, which can estimate only equally spaced scores.
        ranks_whole: whether reports are whole rankings, which are too many for many alternatives.
        is_choice: whether it stands for the best of several others.
        takes_ties: whether a ranking may have ties: it uses scores, of which tied alternatives share the mean. Reports
            of pairs, positions and whole rankings cannot express ties.
        calibrations: the allowed values of the parameter `calibration`.
    """

    name: MechanismName
    model: TrustModel = TrustModel.LOCAL
    is_joint: bool = False
    releases_sums: bool = False
    counts_pairs: bool = False
    is_sampled: bool = False
    is_by_quality: bool = False
    compares_pairs: bool = False
    ranks_whole: bool = False
    is_choice: bool = False
    takes_ties: bool = False
    calibrations: tuple[str, ...] = ("tight",)

    @property
    def estimates_utilities(self) -> bool:
        """Whether utilities are estimated, by which anybody elects as they like: what is private is so before that."""
        return not (self.is_by_quality or self.is_sampled or self.counts_pairs)


MECHANISMS: Final[Mapping[MechanismName, MechanismKind]] = {
    each.name: each
    for each in (
        MechanismKind(
            name="laplace",
            model=TrustModel.CENTRAL,
            releases_sums=True,
            calibrations=("tight", "printed"),
            takes_ties=True,
        ),
        MechanismKind(
            name="sampling",
            model=TrustModel.CENTRAL,
            is_sampled=True,
            calibrations=("tight", "printed", "proven"),
            takes_ties=True,
        ),
        MechanismKind(name="exponential", model=TrustModel.CENTRAL, is_by_quality=True, takes_ties=True),
        MechanismKind(name="permute_and_flip", model=TrustModel.CENTRAL, is_by_quality=True, takes_ties=True),
        MechanismKind(
            name="pairwise", model=TrustModel.CENTRAL, releases_sums=True, counts_pairs=True, takes_ties=True
        ),
        MechanismKind(name="masked", model=TrustModel.DISTRIBUTED, releases_sums=True, takes_ties=True),
        MechanismKind(name="local", is_choice=True),
        MechanismKind(name="sampled_pair", compares_pairs=True),
        MechanismKind(name="sampled_position"),
        MechanismKind(name="whole_ranking", ranks_whole=True),
        MechanismKind(name="noisy_scores", takes_ties=True),
        MechanismKind(name="joint", is_joint=True, is_choice=True),
        MechanismKind(name="joint_pair", is_joint=True, compares_pairs=True),
        MechanismKind(name="joint_position", is_joint=True),
        MechanismKind(name="joint_ranking", is_joint=True, ranks_whole=True),
        MechanismKind(name="joint_scores", is_joint=True, takes_ties=True),
    )
}


def _mechanism_names(is_such: Callable[[MechanismKind], bool]) -> tuple[MechanismName, ...]:
    return tuple(kind.name for kind in MECHANISMS.values() if is_such(kind) and not kind.is_choice)


CENTRAL: Final = frozenset(_mechanism_names(lambda each: each.model.trusts_server))
"""The mechanisms that trust the aggregator with the rankings."""
BY_QUALITY: Final = frozenset(_mechanism_names(lambda each: each.is_by_quality))
LOCAL: Final = _mechanism_names(lambda each: not each.model.bounds_release and not each.is_joint)
"""The mechanisms without a trusted party: voters randomize their rankings."""
JOINT: Final = _mechanism_names(lambda each: each.is_joint)
"""The mechanisms without a trusted party in which a voter's group is private as well."""
