"""Compare the paradigms and mechanisms of moral preferences at one ε of a voter, by trials.

The error is the fraction of pairs of alternatives whose choice the noise changes, compared with the same mechanism
without noise. Next to it is the agreement with the mean of the voters' preferences, since some mechanisms lose
information even without noise.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from ...protocol.errors import refuse
from ...protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from ...protocol.moral_preferences.parameters import MAX_EPSILON, MIN_EPSILON
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import TrustModel
from ..experiments.variants import SimulatedVariants, Unit, VariantOffer
from ..running.resolution import Local
from ..verdicts import at_most
from .agreement import agreement_of

_NAMES: Final = (
    "VLCP/laplace",
    "RLCP/laplace",
    "RLCP/pooled",
    "RLCP/direction",
    "VLDP/laplace",
    "VLDP/direction",
    "VLMP/laplace",
    "VLMP/direction",
    "RLMP/pooled",
    "RLMP/direction",
    "RLDP/laplace",
    "RLDP/functional",
    "RLDP/pooled",
    "RLDP/direction",
)
_REFERENCE: Final = "VLCP/laplace"
_NOTE: Final = (
    "other choices: the share of pairs of alternatives of which noise changes the choice; ± is one standard error of "
    "{:,} trials. ε in all is proven, of all that a voter says. Before noise: the share of pairs on which the "
    "mechanism itself, before there is any noise, chooses as the mean of voters' own preferences"
)


class PreferenceVariants(SimulatedVariants):
    """The mechanisms of the central paradigms, then those of the local ones."""

    error: str = "Other choices"
    measure: str = "choices as without noise"
    is_lack: ClassVar[bool] = True
    of_price: ClassVar[frozenset[str]] = frozenset({"epsilon"})
    dropped: ClassVar[Sequence[str]] = ("ε a record", "Trusted")
    parameters: Parameters

    def __init__(self, setup: Local, *, trials: int) -> None:
        super().__init__(setup, trials=trials)
        allowed = (
            "left out in the file, and with it chosen_by and the voters' own epsilon: variants are compared at one "
            "ε of all voters (epsilon = ...)"
        )
        refuse(self.parameters.is_personal, "epsilons", list(self.parameters.epsilons), allowed)

    @property
    def names(self) -> Sequence[str]:
        """The names: paradigm and mechanism."""
        return _NAMES

    @property
    def unit(self) -> Unit:
        """The unit: a fraction of pairs."""
        return Unit(of="choices that noise changes", sign="")

    def model_of(self, name: str) -> TrustModel:
        return Paradigm(name.partition("/")[0]).model

    def parties_of(self, parties: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
        """Return a generator's table for a number of voters."""
        return {**parties, "voters": number} if "generator" in parties else None

    def settings(self, name: str, price: float) -> Mapping[str, Any] | None:
        """Return a mechanism's parameters at a total ε of a voter."""
        paradigm, _, mechanism = name.partition("/")
        sizes = self.sizes_of(is_masked=Paradigm(paradigm).model.is_masked)
        parameters: dict[str, Any] = {"paradigm": Paradigm(paradigm), "mechanism": mechanism, **sizes}
        if mechanism != "direction":
            parameters["covariance"] = ()
        settings_found = self.with_epsilon(parameters, price, low=MIN_EPSILON, high=MAX_EPSILON)
        return None if settings_found is None else {**settings_found, "paradigm": paradigm}

    def have_equal_rows(self, protocol: PhasedProtocol[Any, Any], other: PhasedProtocol[Any, Any]) -> bool:
        """Return whether summaries have the same grid; that of masked sums depends on their noise, and so on ε."""
        assert isinstance(protocol, MoralPreferences)  # noqa: S101  of this table
        assert isinstance(other, MoralPreferences)  # noqa: S101  likewise
        return protocol.summary.step == other.summary.step

    @functools.cached_property
    def _reference(self) -> Sequence[float]:
        """The mean of the voters' preferences, without noise."""
        settings = self.settings(_REFERENCE, self.price) or {}
        return self.clean_of(settings)

    def clean_of(self, settings: Mapping[str, Any]) -> list[float]:
        """Return a variant's release without noise."""
        setup = self.setup_with(settings)
        truth = setup.protocol.truth(setup.inputs) or {}
        return [float(truth[feature]) for feature in self.parameters.features]

    def cells(self, offer: VariantOffer, protocol: PhasedProtocol[Any, Any]) -> dict[str, str]:
        """Return the trusted party, the ε of a record, and the agreement with the voters' mean."""
        (loss,) = protocol.losses
        same = agreement_of(self.clean_of(offer.settings), self._reference)
        return {
            "Trusted": self.trusted(loss.model),
            "ε a record": at_most(loss.finest_loss.proven, 4),
            "Before noise": "" if same is None else f"{100 * same:.1f} %",
        }

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        missing = [name for name in self.names if name not in {offer.name for offer in offers}]
        return (_NOTE.format(self.trials), *([f"not at this price: {', '.join(missing)}"] if missing else []))
