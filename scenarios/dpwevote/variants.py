"""Compare a vote's unbiased variants at one ε, with the paper's split at its ε, by exact variances.

The error is the standard error of a candidate's margin if all partners had the row with the greatest variance. It does
not depend on private values. With public weights, there is one local variant, whose error is exact: "yes" and "no" have
the same variance. `central` trusts the server, which adds noise once, however many partners there are. `masked` trusts
no single party, and has the same noise, apart from additional shares that make up for drop-outs and colluders.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import msgspec
import numpy as np

from ...protocol.dpwevote import (
    OPTIMAL_LIMITS,
    DPWeVote,
    Offer,
    Parameters,
    chances_of_decisions,
    make_central_offer,
    make_offers,
    make_paper_offer,
    make_public_offer,
)
from ...protocol.dpwevote.choice import worst_variance_of
from ...protocol.dpwevote.masked import MaskedVariant
from ...protocol.dpwevote.parameters import VARIANTS
from ...protocol.elementary import square
from ...protocol.errors import ConfigurationError, refuse
from ...protocol.privacy import TrustModel
from ..experiments.counting import CountedValues
from ..experiments.measurements import Measurement
from ..experiments.variants import OF_MASKS, SIZES, Unit, VariantOffer, VariantTable, price_of
from ..presentation.numbers import format_number
from ..running.resolution import ServerRun
from ..verdicts import at_most

_PAPERS: Final = "joint, the paper's split"
_OWN: Final = "joint, own matrices"
_OF_SOME: Final = (
    *(
        "prior",
        "weight_matrix",
        "opinion_matrix",
        "weight_collection",
        "game",
        "project_counts",
        "release",
        "noise_weight",
    ),
    *SIZES,
)
"""Parameters that only some variants have, which are removed for comparison."""
_CENTRAL: Final = "central"
_MASKED: Final = "masked"
_RIGHT: Final = "Right decisions"
_SUMS: Final = frozenset({_MASKED, _CENTRAL})
_OF_SERVER: Final = "central: the server sees the votes, and adds noise once, however many partners there are"
_OF_DECISIONS: Final = (
    "right decisions: the exact chance if each partner says yes as probably as the quota's share is; central takes the "
    "noise weight with the greatest"
)
_UNBIASED: Final = tuple(name for name, kind in VARIANTS.items() if kind.has_finite_reports and not kind.is_biased)


class VoteVariants(VariantTable):
    """The variants of a vote; the best one is that which `auto` takes."""

    mark: ClassVar[str] = " <- auto"
    dropped: ClassVar[Sequence[str]] = ("ε weight",)
    error: str = "± of a margin"
    parameters: Parameters

    def __init__(self, setup: ServerRun, *, trials: int) -> None:
        super().__init__(setup, trials=trials)
        levels = self.parameters.own_levels.epsilons
        allowed = "left out, and with it chosen_by and the partners' own epsilon: variants are compared at one ε of all"
        refuse(levels, "epsilons", list(levels), allowed)
        self._found: dict[tuple[str, float, int], Offer | None] = {}
        if not self.parameters.public_weights:
            self.price = len(self.parameters.candidates) * self.parameters.epsilon

    @property
    def names(self) -> Sequence[str]:
        """The paper's split and the unbiased variants; with public weights, only variants without a report of them."""
        local = ("joint",) if self.parameters.public_weights else (_PAPERS, *_UNBIASED)
        return *local, _MASKED, _CENTRAL

    def model_of(self, name: str) -> TrustModel:
        return VARIANTS[_MASKED if name == _MASKED else _CENTRAL].model if name in _SUMS else TrustModel.LOCAL

    @property
    def unit(self) -> Unit:
        """The unit of errors: votes of a margin, or a share of all votes."""
        parameters, weights = self.parameters, self._own_weights
        explanation = (
            f"Weights are private: a share is of all votes if every partner had the least weight, "
            f"{parameters.weights[0]:g}, and the error is that of partners who are all the worst."
        )
        # The number of all votes; if weights are private, the least possible one.
        mean = math.fsum(weights) / len(weights) if weights else parameters.weights[0]
        return Unit(
            of="of all votes on a candidate's margin",
            whole=self.people * mean,
            noun="votes",
            explained="" if parameters.public_weights else explanation,
        )

    @property
    def _square(self) -> float:
        """The sum of the squared factors of partners' variances."""
        own_weights = self._own_weights
        if own_weights:
            return self.people * math.fsum(map(square, own_weights)) / len(own_weights)
        return self.people * (square(self.parameters.weights[-1]) if self.parameters.public_weights else 1.0)

    @property
    def _own_weights(self) -> Sequence[float]:
        """The partners' weights; empty if they are private."""
        public = self.resolved.inputs.public
        if not self.parameters.public_weights or not public.shape[1]:
            return ()
        places: list[int] = public[:, 1].tolist()
        return [self.parameters.weights[place] for place in places]

    @property
    def _numbers(self) -> Sequence[int]:
        """The number of `people` with each weight, in the partners' proportions; empty if weights are private."""
        if not self._own_weights:
            return ()
        counts = np.bincount(self.resolved.inputs.public[:, 1], minlength=len(self.parameters.weights))
        return np.diff(np.rint(np.cumsum(counts) * (self.people / counts.sum())), prepend=0).astype(np.int64).tolist()

    @property
    def counted(self) -> CountedValues | None:
        """The weights' counts, at the session's ε of a weight, or that of `joint` at its best split."""
        parameters = self.parameters
        if parameters.public_weights or parameters.has_matrices:
            return None
        price = parameters.loss_of_weight or next(
            (o.epsilon_weight for o in make_offers(parameters) if o.variant == "joint"), 0.0
        )
        if not price:
            return None
        note = "the weights phase takes k-RR: a margin needs the weight as a number, and `two_point` gains more there"
        return CountedValues(what="each weight", epsilon=price, num_choices=len(parameters.group_means), note=note)

    def simplify(self) -> Mapping[str, Self]:
        """Return simpler votes: on one candidate, and with public weights."""
        simpler: dict[str, Parameters] = {}
        if len(self.parameters.candidates) > 1:
            simpler["ask of one candidate"] = self._plain(candidates=self.parameters.candidates[:1])
        if not self.parameters.public_weights:
            simpler["make weights public"] = self._plain(public_weights=True, groups=())
        return {do: self.changed(parameters=parameters, _found={}) for do, parameters in simpler.items()}

    def _plain(self, **settings: Any) -> Parameters:
        """Return the vote's parameters without those that only some variants have."""
        return self.parameters.with_variant("joint", **{"epsilon": 1.0, **settings})

    def offer(self, name: str, price: float) -> VariantOffer | None:
        if name == _MASKED:
            return self._masked(price / len(self.parameters.candidates))
        key = name, price, self.people
        if key not in self._found:
            self._found[key] = self._offer(name, price)
        offer_found = self._found[key]
        return None if offer_found is None else self._make_offered(offer_found, name)

    def _offer(self, name: str, price: float) -> Offer | None:
        number = len(self.parameters.candidates)
        try:
            parameters = self._plain(epsilon=price / ((number + 1) / 2 if name == _PAPERS else number))
            if name == _CENTRAL:
                return make_central_offer(parameters, self._numbers)
            if parameters.public_weights:
                return make_public_offer(parameters)
            if name == _PAPERS:
                return make_paper_offer(parameters)
            return next(kind for kind in VARIANTS.values() if kind.name == name).offer_of(parameters)
        except (ConfigurationError, ValueError):  # no mechanism has this ε
            return None

    def offers(self, tell: Callable[[str], object] = lambda _: None) -> list[VariantOffer]:
        """Return offers at k·ε, after those of a user-defined variant and the paper's split, which may cost less."""
        del tell  # offers are computed quickly
        own_offers = self._own_offers()
        if self.parameters.public_weights:
            return [*own_offers, *super().offers()]
        offers_found = [(make_paper_offer(self.parameters), _PAPERS)]
        offers_found += [(offer, offer.variant) for offer in make_offers(self.parameters)]
        masked = self._masked(self.parameters.epsilon)
        central = self._make_offered(make_central_offer(self.parameters, self._numbers), _CENTRAL)
        return [
            *own_offers,
            *(self._make_offered(offer, name) for offer, name in offers_found),
            *([masked] if masked else []),
            central,
        ]

    def _masked(self, epsilon: float) -> VariantOffer | None:
        """Return the offer of a masked session of `people`; None if there is none."""
        sizes = self.sizes_of(is_masked=True)
        try:
            parameters = self._plain(epsilon=epsilon).with_variant(_MASKED, **sizes)
            MaskedVariant(parameters).phase.check_parties(self.people)
            offer = MaskedVariant.offer_of(parameters)
        except ConfigurationError:  # the variant does not have this ε, or this number of people
            return None
        assert offer is not None  # noqa: S101  of this variant
        of_sum = self.people * offer.worst_variance
        masked_offer = self._make_offered(
            msgspec.structs.replace(offer, worst_variance=0.0, server_variance=of_sum), _MASKED
        )
        return msgspec.structs.replace(masked_offer, settings={**masked_offer.settings, **sizes})

    @property
    def _own_name(self) -> str:
        """The name of the session's user-defined variant or matrices; empty if it has neither."""
        protocol = self.resolved.protocol
        if isinstance(protocol, DPWeVote) and protocol.own_variant is not None:
            return protocol.name
        return _OWN if self.parameters.has_matrices else ""

    def _own_offers(self) -> Iterator[VariantOffer]:
        """Yield the offer of the session itself, if it has unbiased matrices or a user-defined unbiased variant."""
        parameters, protocol = self.parameters, self.resolved.protocol
        variant = protocol.own_variant if isinstance(protocol, DPWeVote) else None
        if (variant or parameters.kind).is_biased or not self._own_name:
            return
        if variant is None:
            prices = parameters.loss_of_weight, parameters.loss_of_opinion, parameters.epsilon_total
        else:
            total = price_of(protocol)
            prices = 0.0, total / len(parameters.candidates), total
        offer = Offer(
            variant=parameters.variant,
            epsilon_weight=prices[0],
            epsilon_opinion=prices[1],
            epsilon_total=prices[2],
            worst_variance=worst_variance_of(parameters) if variant is None else variant.worst_variance,
        )
        yield msgspec.structs.replace(self._make_offered(offer, self._own_name), settings={})

    def _make_offered(self, offer: Offer, name: str) -> VariantOffer:
        error = offer.error(self._square)
        losses = ("epsilon", "epsilon_weight", "epsilon_opinion")
        settings: dict[str, Any] = {"variant": offer.variant, **dict.fromkeys(losses)}
        plain = self._plain()
        changed_fields = (field for field in _OF_SOME if getattr(self.parameters, field) != getattr(plain, field))
        settings |= dict.fromkeys(changed_fields)
        if offer.epsilon_weight:
            settings |= {"epsilon_weight": offer.epsilon_weight, "epsilon_opinion": offer.epsilon_opinion}
        else:
            settings["epsilon"] = offer.epsilon_opinion
        return VariantOffer(
            name=name,
            epsilon=offer.epsilon_total,
            error=Measurement(error, 0.0),
            settings=settings,
            cells={
                "ε weight": f"{offer.epsilon_weight:.4g}" if offer.epsilon_weight else "",
                "ε a candidate": f"{offer.epsilon_opinion:.4g}",
                "ε in all": f"{offer.epsilon_total:.4g}",
                "Worst variance": format_number(offer.worst_variance, 5) if offer.worst_variance else "",
                self.error: format_number(error, 4),
                **self._right_decisions(offer, name),
            },
        )

    def _right_decisions(self, offer: Offer, name: str) -> dict[str, str]:
        """Return a cell with the variant's probability of a right decision, if weights are public and it is known."""
        if not self._own_weights:
            return {}
        chances = chances_of_decisions(self._plain(epsilon=offer.epsilon_opinion), self._numbers)
        chance = {"joint": chances[0.0], _CENTRAL: max(chances.values())}.get(name)
        return {_RIGHT: "" if chance is None else f"{100 * chance:.1f} %"}

    def best(self, offers: Sequence[VariantOffer]) -> VariantOffer:
        local = [offer for offer in offers if offer.name not in {_PAPERS, self._own_name, *_SUMS}]
        return super().best(local or offers)

    def notes(self, offers: Sequence[VariantOffer]) -> Sequence[str]:
        partners, of_server = self.people, [_OF_SERVER, *self._decisions_alone(offers)]
        of_own = [f"{self._own_name}: the session itself, at its own price"] if offers[0].name == self._own_name else []
        of_masks = [OF_MASKS] if any(offer.name == _MASKED for offer in offers) else []
        if self.parameters.public_weights:
            note = "weights are public, and only opinions are reported; ± is the standard error of a margin"
            of_decisions = [_OF_DECISIONS] if self._own_weights else []
            return [note, *of_decisions, *of_masks, *of_server, *of_own]
        notes = [
            "worst variance: the most of one partner's contribution to the margin of one candidate",
            *of_masks,
            *of_server,
            f"± is the standard error of a margin if all {partners:,} partners were the worst",
            "`auto` takes the one that is marked",
            *of_own,
        ]
        if all(offer.name != "optimal" for offer in offers):
            number = len(self.parameters.group_means)
            notes.append(f"`optimal` is not computed for these {number} weights: {OPTIMAL_LIMITS}")
        return notes

    def _decisions_alone(self, offers: Sequence[VariantOffer]) -> Iterator[str]:
        """Yield a sentence on the risk of wrong decisions if `central` releases only decisions."""
        for offered in offers:
            if offered.name == _CENTRAL:
                epsilon = offered.epsilon / len(self.parameters.candidates)
                near, further = (100 * math.exp(-blocks * epsilon) / (1 + math.exp(epsilon)) for blocks in (0, 1))
                yield (
                    f'central with release = "decision" tells decisions alone: wrong in at most {at_most(near, 4)} % '
                    f"of votes, and in {at_most(further, 4)} % where a margin is more than "
                    f"{self.parameters.weights[-1]:g} from the quota"
                )
