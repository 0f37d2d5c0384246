"""Compare the mechanisms and estimators of truth discovery at one ε of all answers of a worker, by trials.

The error is the fraction of wrong truths if some are known; else the fraction of truths that noise changes.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...protocol.errors import refuse
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import TrustModel
from ...protocol.truth_discovery import Parameters, TruthDiscovery
from ...protocol.truth_discovery.estimators import ESTIMATORS, Estimator
from ...protocol.truth_discovery.parameters import PRICES
from ..experiments.variants import OF_MASKS, SimulatedVariants, Unit, VariantOffer
from ..plugins import names_in
from ..running.resolution import Local
from ..verdicts import at_most

_MECHANISMS: Final = ("one_layer", "two_layer", "fresh_two_layer")
_CENTRAL: Final = "central"
_MASKED: Final = "masked"
_ESTIMATORS: Final[Mapping[str, Estimator]] = {**ESTIMATORS}
_OFFERED: Final = [name for name, each in ESTIMATORS.items() if not each.is_baseline]
_OF_SOME: Final = ("rounds", "weight_function", "normalization")  # parameters that only some estimators take
_KNOWN: Final = "wrong truths: the share of truths that are not those known"
_UNKNOWN: Final = (
    "changed truths: the share that the same estimator finds otherwise without noise, since no truth is known"
)
_NOTE: Final = (
    "{}; ± is one standard error of {:,} trials. ε in all is proven, of all answers of a worker; an estimator costs "
    "nothing, and `auto` takes one for the crowd at hand"
)
_OF_SERVER: Final = "central: the server sees the answers, and adds noise once to how many each label has"
_OWN_LAW: Final = "own law"
_LAWS: Final = "own law: the session's own hyper-distribution; two_layer draws from a uniform one of the same price"


class CrowdVariants(SimulatedVariants):
    """Each mechanism with the session's estimator, each other estimator with its mechanism, and noisy counts."""

    parameters: Parameters

    def __init__(self, setup: Local, *, trials: int) -> None:
        super().__init__(setup, trials=trials)
        levels = self.parameters.own_levels.epsilons
        allowed = "left out, and with it chosen_by and the workers' own epsilon: variants are compared at one ε of all"
        refuse(levels, "epsilons", list(levels), allowed)
        self.measure = "error rate" if setup.gold else "changed truths"
        self.error = "Wrong truths" if setup.gold else "Changed truths"

    @property
    def names(self) -> Sequence[str]:
        """The names: mechanism and estimator."""
        protocol = self.resolved.protocol
        assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
        own_names = protocol.noise.name, self.parameters.estimator
        mechanisms = [
            (name, own_names[1]) for name in (*[_OWN_LAW] * (self.parameters.hyper is not None), *_MECHANISMS)
        ]
        offered_names = (*_OFFERED, *names_in("psephos.estimators"))
        estimators = [
            (own_names[0], name)
            for name in offered_names
            if name != own_names[1] and own_names[0] not in {_CENTRAL, _MASKED}
        ]
        pairs = (*mechanisms, *estimators, (_MASKED, "majority"), (_CENTRAL, "majority"))
        return [f"{mechanism}, {estimator}" for mechanism, estimator in pairs]

    def model_of(self, name: str) -> TrustModel:
        own_settings = {"mechanism": name.partition(",")[0]}
        return next(
            (
                model
                for model, settings_of_model in TruthDiscovery.settings_by_trust
                if settings_of_model == own_settings
            ),
            TrustModel.LOCAL,
        )

    @property
    def unit(self) -> Unit:
        """The unit: a fraction of truths."""
        return Unit(of="wrong truths" if self.resolved.gold else "truths that noise changes", sign="")

    def parties_of(self, parties: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
        """Return a generator's table for a number of workers, with the same number of answers for each."""
        if "workers" not in parties or "qualities" in parties:
            return None
        per_task = parties.get("answers_per_task")
        if per_task is None:
            return {**parties, "workers": number}
        return {**parties, "workers": number, "answers_per_task": max(round(per_task * number / parties["workers"]), 1)}

    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return a variant's parameters at an ε of all answers of a worker; a user-defined law has a fixed ε."""
        mechanism, _, estimator = name.partition(", ")
        taken_fields = _ESTIMATORS[estimator].takes if estimator in _ESTIMATORS else ()
        unset_fields = dict.fromkeys(field for field in _OF_SOME if field not in taken_fields)
        unset_fields |= self.sizes_of(is_masked=mechanism == _MASKED)
        if mechanism == _OWN_LAW:
            return {"estimator": estimator, **unset_fields} if math.isclose(price, self.price) else None
        priced_settings = {**dict.fromkeys(sorted(PRICES)), "mechanism": mechanism, "epsilon_worker": price}
        return {**priced_settings, "estimator": estimator, **unset_fields}

    def cells(self, offer: VariantOffer, protocol: PhasedProtocol[Any, Any]) -> dict[str, str]:
        """Return the ε of one answer with the others known, and the trusted party."""
        (loss,) = protocol.losses
        return {
            "ε an answer": at_most(loss.finest_loss.proven, 4),
            "Trusted": self.trusted(self.model_of(offer.name)),
        }

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        """Return explanations of the numbers, and of missing variants."""
        missing = self.missing(offers)
        return (
            _NOTE.format(_KNOWN if self.resolved.gold else _UNKNOWN, self.trials),
            OF_MASKS,
            _OF_SERVER,
            *([] if self.parameters.hyper is None else [_LAWS]),
            *([f"not at this price: {'; '.join(missing)}"] if missing else []),
        )
