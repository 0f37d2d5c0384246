"""Compare the mechanisms of a fair vote at one ε.

By trials, the error is the fraction of elections whose winner differs from the noiseless one; all mechanisms have this
error, regardless of what they release and of the trust model. A plan's error is exact: the standard error of a mean
utility in the smallest group, as a fraction of the range of scores, for each mechanism that releases it. It depends on
the groups' sizes, not on rankings, so you can plan before there are any.
"""

import bisect
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self, cast

import msgspec
import numpy as np

from ...protocol.errors import ConfigurationError, refuse
from ...protocol.fair_voting import FairVoting, MaskedRankings, Parameters
from ...protocol.fair_voting.joint_reports import make_joint_report
from ...protocol.fair_voting.kinds import BY_QUALITY, JOINT, LOCAL, MECHANISMS, MechanismName
from ...protocol.fair_voting.objective import OBJECTIVES
from ...protocol.fair_voting.parameters import MAX_EPSILON, MIN_EPSILON
from ...protocol.fair_voting.reports import make_reports
from ...protocol.fair_voting.utility_noise import error_of_levels
from ...protocol.mechanisms import NoiseShare, VectorLaplace
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from ..experiments.measurements import Measurement
from ..experiments.variants import SimulatedVariants, Unit, VariantOffer, VariantTable
from ..verdicts import round_up
from .attack.misreporter_role import bound_of_gain
from .comparisons import PRICED

_NAMES: Final[Sequence[MechanismName]] = tuple(
    name for name, each in MECHANISMS.items() if not each.is_joint and not each.is_choice and not each.counts_pairs
)
_NOTE: Final = (
    "other winners: the share of elections with another winner than without noise, by this objective; ± is one "
    "standard error of {:,} trials. ε in all is proven"
)
_OF_LEVELS: Final = "each voter has the ε of its own in all of these; ε in all is the greatest"
_FALSE: Final = (
    "no false ranking gains a voter more than {:.3g} of a utility from 0 to 1, whatever all others report: "
    "(e^ε − 1)/(e^ε + 1). What it gains in one vote: the adversary misreporter"
)


_LAPLACE: Final = "laplace"
_MASKED: Final = "masked"


def model_of(name: str) -> TrustModel:
    """Return a mechanism's trust model.

    Examples:
        >>> model_of("laplace").name, model_of("sampled_pair").name
        ('CENTRAL', 'LOCAL')
    """
    return next(each for each in MECHANISMS.values() if each.name == name).model


def _names_of(parameters: Parameters, other_names: Sequence[str]) -> Sequence[str]:
    """Return the mechanisms that are compared with a session's.

    Pairwise counts have only one mechanism. With personalized ε, all have the session's levels. If groups are private,
    only mechanisms that keep them private are compared, since others reveal more at the same ε.
    """
    if parameters.kind.counts_pairs:
        return (parameters.mechanism,)
    if parameters.own_levels.epsilons:
        return LOCAL
    return JOINT if parameters.is_joint else other_names


class ElectionVariants(SimulatedVariants):
    """The mechanisms in the central model, then those in the local model."""

    error: str = "Other winners"
    measure: str = "equal winners"
    is_lack: ClassVar[bool] = True
    parameters: Parameters

    @property
    def names(self) -> Sequence[str]:
        """All mechanisms for the session's kind of groups and counts."""
        is_ours = self.parameters.objective in OBJECTIVES
        other_names = [name for name in _NAMES if is_ours or MECHANISMS[name].estimates_utilities]
        return _names_of(self.parameters, other_names)

    @property
    def unit(self) -> Unit:
        """The unit: a fraction of elections."""
        return Unit(of="other winners", sign="")

    def model_of(self, name: str) -> TrustModel:
        return model_of(name)

    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return a mechanism's parameters at a proven ε; with levels, only at the session's ε."""
        if self.parameters.own_levels.epsilons:
            return {"mechanism": name} if price == self.price else None
        sizes = self.sizes_of(is_masked=name == _MASKED)
        if name == "sampling" and self.parameters.calibration == "proven":
            parameters = {"mechanism": name, "epsilon": price, "num_samples": None, **sizes}
            return parameters if MIN_EPSILON <= price <= MAX_EPSILON else None
        if name == "sampling":
            parameters = {"mechanism": name, "num_samples": None, **sizes}
            # The most samples, with the session's γ, whose proven loss is at most the given ε.
            possible = range(1, min(self.parameters.group_sizes) + 1)
            max_samples = bisect.bisect_right(
                possible, price, key=lambda num_samples: self.proven({**parameters, "num_samples": num_samples})
            )
            return {**parameters, "num_samples": max_samples} if max_samples else None
        parameters = {"mechanism": name, "calibration": "tight", "num_samples": None, **sizes}
        return self.with_epsilon(parameters, price, low=MIN_EPSILON, high=MAX_EPSILON)

    def cells(self, offer: VariantOffer, protocol: PhasedProtocol[Any, Any]) -> dict[str, str]:
        del protocol
        return {"Trusted": self.trusted(model_of(offer.name))}

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        parameters, missing = self.parameters, self.missing(offers)
        of_samples = "Algorithm 2 has as many samples as it allows, with this γ"
        if parameters.calibration == "proven":
            of_samples = "Algorithm 2 has the γ and the samples that serve best of those it allows"
        is_replaced = parameters.relation is NeighboringRelation.REPLACE_ONE
        # a replacement is one removal and one addition
        bound = bound_of_gain(self.price if is_replaced else 2 * self.price)
        is_priced = any(offer.name in BY_QUALITY for offer in offers)
        return (
            _NOTE.format(self.trials) + (f"; {of_samples}" if "sampling" in self.names else ""),
            *([_OF_LEVELS] if parameters.own_levels.epsilons else []),
            *(["groups are private in all of these, as they are in the session"] if parameters.is_joint else []),
            *([PRICED[parameters.objective]] if parameters.objective in PRICED and is_priced else []),
            _FALSE.format(round_up(bound)),
            *([f"not at this price, or not here: {', '.join(missing)}"] if missing else []),
        )


class WelfareErrors(VariantTable):
    """The mechanisms that release mean utilities."""

    error: str = "± of a utility"
    mark: ClassVar[str] = " <- least"
    parameters: Parameters

    @property
    def names(self) -> Sequence[str]:
        """Algorithm 1, secure aggregation and the local mechanisms, if they have the session's kind."""
        return _names_of(self.parameters, (_LAPLACE, _MASKED, *LOCAL))

    @property
    def unit(self) -> Unit:
        """The unit: a fraction of the range of scores."""
        own_levels, explanation = (
            self.parameters.own_levels,
            "The scores' range is the way from the worst score to the best.",
        )
        if own_levels.epsilons:
            owners_text = (
                "all voters choose the smallest" if own_levels.is_chosen else "voters have the ε that the roster says"
            )
            explanation += f" ε is the greatest of the levels, to which the others are in proportion; {owners_text}."
        return Unit(of="of the scores' range on a mean utility in the smallest group", explained=explanation)

    def model_of(self, name: str) -> TrustModel:
        return model_of(name)

    def with_people(self, number: int) -> Self:
        """Return the table of the same vote with another number of voters, in the same proportions of groups."""
        sizes = sizes_of(number, self.parameters.group_sizes)
        return (
            super().with_people(number).changed(parameters=msgspec.structs.replace(self.parameters, group_sizes=sizes))
        )

    def simplify(self) -> Mapping[str, Self]:
        """Return simpler votes: on two alternatives, and with one ε for all voters."""
        simpler: dict[str, Parameters] = {}
        if self.parameters.own_levels.epsilons:
            unset_levels = dict.fromkeys(("epsilons", "chosen_by"), msgspec.UNSET)
            simpler["give all voters one ε"] = msgspec.structs.replace(self.parameters, **unset_levels)
        if len(self.parameters.alternatives) > 2 and isinstance(self.parameters.scores, str):  # noqa: PLR2004  the fewest
            two = msgspec.structs.replace(self.parameters, alternatives=self.parameters.alternatives[:2])
            simpler = {"rank two alternatives": two, **simpler}
        return {do: self.changed(parameters=settings) for do, settings in simpler.items()}

    def offer(self, name: str, price: float) -> VariantOffer | None:
        """Return a mechanism's offer at an ε, its parameter, which is the proven loss for all of these."""
        sizes = self.sizes_of(is_masked=name == _MASKED)
        settings: dict[str, Any] = {"mechanism": name, "calibration": "tight", "num_samples": None, "epsilon": price}
        if levels := self.parameters.own_levels.epsilons:
            settings["epsilons"] = [*(level * price / levels[-1] for level in levels[:-1]), price]
        settings |= sizes
        try:
            error = _error_of(self.parameters_with(settings), self._shares)
        except ConfigurationError:  # the mechanism does not support this ε, or these alternatives
            return None
        cells = {
            "Trusted": self.trusted(model_of(name)),
            "ε in all": f"{price:.4g}",
            self.error: self.unit.short(error),
        }
        return VariantOffer(name=name, epsilon=price, error=Measurement(error, 0.0), settings=settings, cells=cells)

    def losses_of(self, offer: VariantOffer) -> Sequence[PrivacyLoss]:
        """Return a session's losses; the roster's levels may not exist at another ε."""
        if self.parameters.own_levels.epsilons:
            return FairVoting(self.parameters_with(offer.settings)).losses
        return super().losses_of(offer)

    @property
    def _shares(self) -> Sequence[float]:
        """The fraction of the smallest group at each level; all at the smallest ε if voters choose when they join."""
        own_levels, public = self.parameters.own_levels, self.resolved.inputs.public
        if own_levels.is_chosen or not own_levels.epsilons:
            return [1.0, *[0.0] * (len(self.parameters.levels) - 1)]
        sizes: list[int] = np.bincount(public[:, 0]).tolist()
        of_smallest = public[public[:, 0] == sizes.index(min(sizes)), 1]
        numbers: list[int] = np.bincount(of_smallest, minlength=len(own_levels.epsilons)).tolist()
        return [number / len(of_smallest) for number in numbers]


def _error_of(parameters: Parameters, shares: Sequence[float]) -> float:
    """Return the standard error of a mean utility in the smallest group, as a fraction of the scores' range.

    `shares` are the fractions of its voters at each level of ε.
    """
    sizes, scoring = parameters.group_sizes, parameters.make_scoring(is_centered=True)
    smallest = sizes.index(min(sizes))
    if parameters.is_joint:
        error = make_joint_report(parameters).error_of(smallest, sum(sizes))
    elif parameters.kind.counts_pairs:
        laplace = cast("VectorLaplace", FairVoting(parameters).disclosed_phase.tally_mechanism)
        error = math.sqrt(laplace.noise_variance * (len(parameters.alternatives) - 1)) / (2 * sizes[smallest])
    elif parameters.kind.releases_sums:
        phase = FairVoting(parameters).phase
        mechanism = phase.mechanism_faced((0,))
        assert isinstance(mechanism, (VectorLaplace, NoiseShare))  # noqa: S101  of sums
        if isinstance(phase, MaskedRankings):
            phase.check_parties(sum(sizes))
        error = math.sqrt(phase.num_draws(sum(sizes)) * mechanism.noise_variance) * scoring.step / sizes[smallest]
    else:
        error = error_of_levels(make_reports(parameters), [share * sizes[smallest] for share in shares])
    return error / (scoring.range * scoring.step)


def sizes_of(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return group sizes in the same proportions with sum `number`, each at least 1.

    Examples:
        >>> sizes_of(30, [2, 1])
        (20, 10)
    """
    refuse(number < len(sizes), "--people", number, f"at least {len(sizes)}: one voter in each group")
    total = sum(sizes)
    scaled_sizes = [max(number * size // total, 1) for size in sizes]
    # A rounding remainder goes to the groups with the greatest shortfall; an excess is taken from the largest.
    while (num_remaining := number - sum(scaled_sizes)) > 0:
        shortfalls = [
            size * number / total - scaled_size for size, scaled_size in zip(sizes, scaled_sizes, strict=True)
        ]
        scaled_sizes[shortfalls.index(max(shortfalls))] += 1
    while num_remaining < 0:
        scaled_sizes[scaled_sizes.index(max(scaled_sizes))] -= 1
        num_remaining += 1
    return tuple(scaled_sizes)
