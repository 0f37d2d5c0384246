"""The public parameters of a DPWeVote session."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal, Self, TypeAlias

import msgspec

from ..errors import refuse, require
from ..estimators import DEFAULT_LEVEL, check_level
from ..mechanisms import MAX_EPSILON, MIN_EPSILON, FiniteChannel, GeneralizedRandomizedResponse, check_epsilon
from ..mechanisms.own_matrix import Matrix, channel_of
from ..memoized_reports import Scope
from ..phases import check_sizes
from ..privacy_levels import PrivacyLevels
from .central import CentralVariant
from .decision import DecisionVariant
from .finite import JointVariant, PrintedVariant
from .heavy_votes import HeavyVariant
from .laplace import LaplaceVariant
from .masked import MaskedVariant
from .quotas import SIMPLE
from .signed import OptimalVariant, SignedResponseVariant, SignedVariant, TwoPointVariant
from .variant import Variant

VariantName: TypeAlias = Literal[
    "joint", "printed", "laplace", "two_point", "signed_rr", "optimal", "central", "masked", "auto"
]
VARIANTS: Final[Mapping[VariantName, type[Variant]]] = {
    kind.name: kind
    for kind in (
        JointVariant,
        PrintedVariant,
        LaplaceVariant,
        TwoPointVariant,
        SignedResponseVariant,
        OptimalVariant,
        CentralVariant,
        MaskedVariant,
    )
}
"""The variants by name; "auto" stands for one of the local ones."""
_OPINIONS: Final = 2
LEFT_OUT: Final = "left out beside weight_matrix or opinion_matrix: the price is the sum of what both reports cost"
DEFAULT_EPSILON: Final = 1.0

# The most candidates whose release fits into one message.
MAX_CANDIDATES = 1_000
MAX_WEIGHTS = 1_000
MAX_LEVELS = 20
# For private weights, since the tables of estimates have (2 * groups)**2 entries.
MAX_GROUPS = 100
MAX_NAME_LENGTH = 128
# Names with another meaning in tables of partners or results, so that no candidate may have them.
RESERVED_NAMES = frozenset({"partner", "quota", "total weight", "weight"})
# Quotients and squares of weights in this range are far from the limits of floats.
LEAST_WEIGHT, GREATEST_WEIGHT = 1e-9, 1e15
LEAST_ROUNDING, MOST_ROUNDING = 1e-6, 0.5


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a vote, on which both sides of a session agree.

    Args:
        candidates: distinct names of the proposals.
        weights: the public finite set of weights that a partner may have; positive, increasing.
        groups: a partition of `weights` into the groups that are reported, each a run of consecutive weights; by
            default each weight is a group. A group's mean represents its members (reading W7).
        weights_within: a relative tolerance ρ that allows any weights: each is rounded to the weight of the set with
            the smallest relative difference, which must be at most ρ. Verdicts are about the weights before rounding.
            On the wire only if set.
        public_weights: whether the weights are public; then they cost nothing, and only opinions are reported.
        variant: the kind of reports and the estimator (see the package). "auto" takes the local variant with the least
            worst-case variance at the same total cost. "central" trusts the server. "masked" trusts no party; the
            server learns only a noisy sum.
        prior: the distribution of signed weights over which "optimal" averages its variance: "uniform", or a
            probability for each signed weight in increasing order. By default "optimal" has the least worst-case
            variance.
        epsilon: the paper's ε in nats: the cost of one candidate with its weight. Omit it with a matrix: it becomes the
            sum of both losses.
        epsilon_weight: the cost of a weight report in nats; by default ε/2, and 0 if weights are public.
        epsilon_opinion: the cost of an opinion report in nats; by default ε/2, and ε if weights are public. Omit both
            in variants that report signed weights, in "central", "masked" and "auto", and with a matrix for the same
            report.
        epsilons: instead of `epsilon`, the public levels of ε, ascending, one of which each partner has; in variants
            that report signed weights. `epsilon` becomes the greatest. On the wire only if set, as is `chosen_by`.
        chosen_by: who chooses a partner's level: the `roster`, with a column for it (default), or each `partner` as it
            joins.
        weight_matrix: the probabilities of weight reports instead of k-RR: a row for each true group, a column for each
            reported one, in the format of `mechanisms.own_matrix`, which computes the loss.
        opinion_matrix: the same for opinions: a row for the true "no", then for "yes", and columns in this order.
        quota: a fixed quota; by default the quota is a share of all weight.
        quota_fraction: that share; 1/2 is the majority.
        passes: whether a candidate whose support equals the quota passes (reading W4).
        weight_collection: once per session, or again for each candidate as in the paper (reading W5).
        level: the greatest probability that the verdict on a candidate is wrong, whatever the truth is.
        release: in "central": "margin" releases each candidate's margin with noise; "decision" releases only its
            decision, with the least worst-case error (`decision`). On the wire only if set.
        noise_weight: in "central" with public weights and margins: the greatest weight whose votes the server's noise
            protects. Opinions of heavier partners pass through randomized response (`heavy`); with 0, all do. If unset,
            the noise protects all; a scenario that knows the partners' weights chooses the best.
        threshold: in "masked": T, the number of partners that must take part to the end; with fewer, nothing is
            released. On the wire only if set, as is `colluders`.
        colluders: in "masked": c, the greatest number of partners that collude with the server.
        game: the weighted game to which the vote belongs (the paper's Section 4.1). A partner draws its weight's report
            in the first vote of the game, and repeats it in later ones, which cost only their opinions. Weights,
            groups, ε_weight and the kind of report are the same in the whole game. On the wire only if set.
        project_counts: whether to publish also estimated group sizes projected to possible ones (reading W6).

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> parameters = Parameters(candidates=("merger", "budget"), weights=(1.0, 2.0, 3.0), epsilon=2.0)
        >>> (parameters.loss_of_weight, parameters.loss_of_opinion, parameters.epsilon_total)
        (1.0, 1.0, 3.0)
    """

    candidates: tuple[str, ...]
    weights: tuple[float, ...] = (1.0, 2.0, 3.0)
    groups: tuple[tuple[float, ...], ...] = ()
    # Unset by default, so that the encoded bytes of other votes do not change.
    weights_within: float | msgspec.UnsetType = msgspec.UNSET
    public_weights: bool = False
    variant: VariantName = "joint"
    prior: Literal["uniform"] | tuple[float, ...] | None = None
    epsilon: float = DEFAULT_EPSILON
    epsilon_weight: float | None = None
    epsilon_opinion: float | None = None
    epsilons: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    chosen_by: Literal["roster", "partner"] | msgspec.UnsetType = msgspec.UNSET
    weight_matrix: Matrix | msgspec.UnsetType = msgspec.UNSET
    opinion_matrix: Matrix | msgspec.UnsetType = msgspec.UNSET
    quota: float | None = None
    quota_fraction: float | None = None
    passes: Literal["at_least", "more_than"] = "at_least"
    weight_collection: Literal["once", "per_candidate"] = "once"
    release: Literal["margin", "decision"] | msgspec.UnsetType = msgspec.UNSET
    noise_weight: float | msgspec.UnsetType = msgspec.UNSET
    threshold: int | msgspec.UnsetType = msgspec.UNSET
    colluders: int | msgspec.UnsetType = msgspec.UNSET
    game: str | msgspec.UnsetType = msgspec.UNSET
    project_counts: bool = False
    level: float = DEFAULT_LEVEL

    def __post_init__(self) -> None:
        self._check_candidates()
        self._check_weights()
        self._check_variant()
        self._check_levels()
        self._check_matrices()
        self._check_game()
        self._check_losses()
        self._check_quota()
        is_masked = self.variant == MaskedVariant.name
        check_sizes(self.threshold, self.colluders, kind=f"variant {self.variant!r}", is_masked=is_masked)
        check_level(self.level)

    def with_variant(self, variant: VariantName, **fields: Any) -> Self:
        """Return the same vote by another variant; fields that the new variant lacks are dropped unless given."""
        only_some = dict.fromkeys(("prior", "epsilon_weight", "epsilon_opinion"))
        absent = (
            "epsilons",
            "chosen_by",
            "weight_matrix",
            "opinion_matrix",
            "game",
            "release",
            "noise_weight",
            "threshold",
            "colluders",
        )
        only_some |= dict.fromkeys(absent, msgspec.UNSET)
        only_some |= {"weight_collection": "once", "project_counts": False}
        return msgspec.structs.replace(self, variant=variant, **(only_some | fields))

    @property
    def own_levels(self) -> PrivacyLevels:
        """The levels among which partners have their own ε; none where all have the same."""
        return PrivacyLevels(self.epsilons or (), self.chosen_by == "partner", "partner")

    @property
    def level_parameters(self) -> tuple[Self, ...]:
        """The vote with a single ε for all, once for each level; the vote itself if there are no levels."""
        of_all = dict.fromkeys(("epsilons", "chosen_by"), msgspec.UNSET)
        levels = self.own_levels.epsilons
        return tuple(msgspec.structs.replace(self, epsilon=level, **of_all) for level in levels) or (self,)

    @property
    def group_of_weight(self) -> tuple[int, ...]:
        """The group of each weight, by its place in `weights`."""
        if not self.groups:
            return tuple(range(len(self.weights)))
        return tuple(number for number, group in enumerate(self.groups) for _ in group)

    @property
    def group_means(self) -> tuple[float, ...]:
        """The public weight that stands for each group."""
        if not self.groups:
            return self.weights
        return tuple(math.fsum(group) / len(group) for group in self.groups)

    @property
    def group_deviation(self) -> float:
        """The most by which a partner's weight can differ from what stands for it."""
        means = self.group_means
        groups = zip(self.weights, self.group_of_weight, strict=True)
        return max(abs(weight - means[group]) for weight, group in groups)

    @property
    def rounding(self) -> float:
        """The greatest share of the weight that stands for a partner's by which its own differs; 0 where none does."""
        return self.weights_within or 0.0

    @property
    def kind(self) -> type[Variant]:
        """The variant's class; "auto" is priced as one that reports signed weights."""
        if self.noise_weight is not msgspec.UNSET:
            return HeavyVariant
        return DecisionVariant if self.release == "decision" else VARIANTS.get(self.variant, SignedVariant)

    @property
    def reports_signed_weights(self) -> bool:
        """Whether weight and opinion are reported together."""
        return self.kind.reports_signed_weights

    @property
    def loss_of_weight(self) -> float:
        """ε of one weight report; 0 where there is none."""
        if self.public_weights or self.kind.has_one_price:
            return 0.0
        if (channel := self._channel_of("weight")) is not None:
            return channel.epsilon
        return self.epsilon / 2 if self.epsilon_weight is None else self.epsilon_weight

    @property
    def loss_of_opinion(self) -> float:
        """ε of one opinion report, or of one report of a signed weight."""
        if (channel := self._channel_of("opinion")) is not None:
            return channel.epsilon
        if self.epsilon_opinion is not None:
            return self.epsilon_opinion
        return self.epsilon if self.public_weights or self.kind.has_one_price else self.epsilon / 2

    @property
    def has_matrices(self) -> bool:
        """Whether weights or opinions are reported by a matrix of one's own."""
        return self.weight_matrix is not msgspec.UNSET or self.opinion_matrix is not msgspec.UNSET

    def make_weight_mechanism(self) -> GeneralizedRandomizedResponse | FiniteChannel:
        """Return the mechanism for a group: k-RR, or the matrix (of "joint" and "printed", with private weights)."""
        return self._channel_of("weight") or GeneralizedRandomizedResponse(self.loss_of_weight, len(self.group_means))

    def make_opinion_mechanism(self) -> GeneralizedRandomizedResponse | FiniteChannel:
        """Return the mechanism for an opinion: randomized response, or the matrix (of "joint" and "printed")."""
        return self._channel_of("opinion") or GeneralizedRandomizedResponse(self.loss_of_opinion, _OPINIONS)

    def _channel_of(self, report: Literal["weight", "opinion"]) -> FiniteChannel | None:
        field = f"{report}_matrix"
        if (matrix := getattr(self, field)) is msgspec.UNSET:
            return None
        return channel_of(matrix, num_values=len(self.group_means) if report == "weight" else _OPINIONS, field=field)

    @property
    def scope(self) -> Scope | None:
        """The scope of memoized weight reports, with all that their law depends on; None outside of a game."""
        if self.game is msgspec.UNSET:
            return None
        law = self.kind.law_of_weights if self.weight_matrix is msgspec.UNSET else f"the matrix {self.weight_matrix!r}"
        fields = {
            "protocol": "dpwevote",
            "mechanism of the weights": law,
            "weights": ", ".join(map(repr, self.weights)),
            "groups": " | ".join(", ".join(map(repr, group)) for group in self.groups) or "one for each weight",
            "epsilon_weight": repr(self.loss_of_weight),
        }
        return Scope(kind="game", name=self.game, law=tuple(fields.items()))

    @property
    def epsilon_total(self) -> float:
        """The privacy cost of a whole session to one partner; in a game, of the first that it takes part in."""
        rounds = 1 if self.weight_collection == "once" else len(self.candidates)
        return rounds * self.loss_of_weight + len(self.candidates) * self.loss_of_opinion

    @property
    def fraction(self) -> float:
        """The quota as a share of all weight; 0 where it is fixed."""
        if self.quota is not None:
            return 0.0
        return 0.5 if self.quota_fraction is None else self.quota_fraction

    @property
    def exact_fraction(self) -> Fraction:
        """The quota as a share of all weight: the simple fraction that is written so, as 2/3, or what is written."""
        simple = Fraction(self.fraction).limit_denominator(SIMPLE)
        return simple if float(simple) == self.fraction else Fraction(str(self.fraction))

    def _check_candidates(self) -> None:
        are_distinct = len(set(self.candidates)) == len(self.candidates) and 0 < len(self.candidates) <= MAX_CANDIDATES
        require(are_distinct, "candidates", list(self.candidates)[:10], f"1 to {MAX_CANDIDATES} distinct names")
        names_of_columns = RESERVED_NAMES | {column.name for column in self.own_levels.columns}
        reserved = ", ".join(sorted(names_of_columns))
        allowed = f"names of up to {MAX_NAME_LENGTH} printable characters, other than {reserved}"
        for name in self.candidates:
            require(_is_name(name) and name not in names_of_columns, "candidates", name, allowed)

    def _check_weights(self) -> None:
        is_rising = all(a < b for a, b in itertools.pairwise(self.weights))
        are_some = is_rising and 0 < len(self.weights) <= MAX_WEIGHTS
        are_weights = are_some and LEAST_WEIGHT <= self.weights[0] <= self.weights[-1] <= GREATEST_WEIGHT
        allowed = f"1 to {MAX_WEIGHTS} numbers from {LEAST_WEIGHT:g} to {GREATEST_WEIGHT:g} in increasing order"
        require(are_weights, "weights", list(self.weights)[:10], allowed)
        if self.weights_within is not msgspec.UNSET:
            allowed = f"a share of a weight, from {LEAST_ROUNDING:g} to {MOST_ROUNDING:g}"
            is_share = LEAST_ROUNDING <= self.weights_within <= MOST_ROUNDING
            require(is_share, "weights_within", self.weights_within, allowed)
        if self.groups:
            members = tuple(weight for group in self.groups for weight in group)
            allowed = "a partition of weights into non-empty groups of neighbors, in order"
            is_partition = members == self.weights and all(self.groups)
            require(is_partition, "groups", [list(group) for group in self.groups], allowed)
            refuse(self.public_weights, "groups", "given", "left out where weights are public")
            require(self.kind.takes_groups, "groups", "given", f"left out in variant {self.variant!r}")
        if not self.public_weights:
            number = len(self.group_means)
            allowed = f"at most {MAX_GROUPS} groups, since weights are private"
            require(number <= MAX_GROUPS, "weights", f"{number} groups", allowed)
            require(number > 1, "weights", list(self.weights), "at least two groups, or public_weights = true")

    def _check_variant(self) -> None:
        is_idle = self.prior is not None and not self.kind.takes_prior
        refuse(is_idle, "prior", self.prior, "left out but in variant 'optimal'")
        is_central, is_decision = self.variant == CentralVariant.name, self.release == "decision"
        allowed = "It is for variant 'central', which trust = \"central\" takes. Set that, or leave release out."
        require(is_central or self.release is msgspec.UNSET, "release", self.release, allowed)
        allowed = "left out beside release = 'decision', which tells no margin that rounding could be held against"
        refuse(is_decision and self.rounding, "weights_within", self.weights_within, allowed)
        if self.noise_weight is not msgspec.UNSET:
            allowed = "left out but in variant 'central' with public_weights = true, of margins"
            is_taken = is_central and self.public_weights and not is_decision
            require(is_taken, "noise_weight", self.noise_weight, allowed)
            allowed = "0 or a weight of the set, and not the greatest: then noise protects all, and it is left out"
            require(self.noise_weight in {0.0, *self.weights[:-1]}, "noise_weight", self.noise_weight, allowed)
        if not self.kind.has_one_price:
            return
        left_out = {
            "epsilon_weight": self.epsilon_weight is not None,
            "epsilon_opinion": self.epsilon_opinion is not None,
            "weight_collection": self.weight_collection != "once",
            "project_counts": self.project_counts,
        }
        for field, is_given in left_out.items():
            refuse(is_given, field, getattr(self, field), f"left out in variant {self.variant!r}")
        allowed = "'joint' or 'auto', since weights are public and only opinions are reported"
        is_idle = self.public_weights and self.reports_signed_weights and self.variant != "auto"
        refuse(is_idle, "variant", self.variant, allowed)

    def _check_levels(self) -> None:
        """Refuse levels in variants without them, or together with a loss; set `epsilon` to the greatest level."""
        if self.epsilons is msgspec.UNSET:
            allowed_levels = "given: the levels of ε among which partners have their own (chosen_by says who chooses)"
            require(self.chosen_by is msgspec.UNSET, "epsilons", [], allowed_levels)
            return
        names = " or ".join(repr(name) for name, kind in VARIANTS.items() if kind.takes_levels)
        allowed = f"left out in variant {self.variant!r}: an ε of a partner's own is for {names}"
        is_taken = self.variant in VARIANTS and self.kind.takes_levels
        require(is_taken, "epsilons", list(self.epsilons[:12]), allowed)
        greatest = self.own_levels.settle(
            self.epsilon, default=DEFAULT_EPSILON, least=MIN_EPSILON, greatest=MAX_EPSILON, most=MAX_LEVELS
        )
        msgspec.structs.force_setattr(self, "epsilon", greatest)

    def _check_matrices(self) -> None:
        """Refuse a matrix that is ignored or none, and a loss stated beside it; set `epsilon` to what matrices cost."""
        if not self.has_matrices:
            return
        matrices = {"weight": self.weight_matrix, "opinion": self.opinion_matrix}
        for kind, matrix in matrices.items():
            if matrix is msgspec.UNSET:
                continue
            allowed = f"left out in variant {self.variant!r}: 'joint' and 'printed' report by a matrix"
            require(self.kind.counts_by_group, f"{kind}_matrix", "given", allowed)
            is_idle = kind == "weight" and self.public_weights
            refuse(is_idle, "weight_matrix", "given", "left out where weights are public")
            loss = getattr(self, f"epsilon_{kind}")
            require(loss is None, f"epsilon_{kind}", loss, f"left out beside {kind}_matrix, whose loss is its own")
        for kind, is_reported in (("weight", not self.public_weights), ("opinion", True)):
            is_unset = matrices[kind] is msgspec.UNSET and getattr(self, f"epsilon_{kind}") is None
            other_kind = "opinion" if kind == "weight" else "weight"
            allowed = f"given beside {other_kind}_matrix, whose loss is its own, unless there is {kind}_matrix"
            refuse(is_reported and is_unset, f"epsilon_{kind}", "left out", allowed)
        price = self.loss_of_weight + self.loss_of_opinion
        require(self.epsilon in {DEFAULT_EPSILON, price}, "epsilon", self.epsilon, LEFT_OUT)
        msgspec.structs.force_setattr(self, "epsilon", price)

    def _check_game(self) -> None:
        if self.game is msgspec.UNSET:
            return
        require(_is_name(self.game), "game", self.game, f"1 to {MAX_NAME_LENGTH} printable characters")
        allowed = "left out where weights are public: nothing is paid for them, and nothing need be kept"
        refuse(self.public_weights, "game", self.game, allowed)
        reason = "weight and opinion have one price, new in each vote"
        if self.variant == MaskedVariant.name:
            reason = "a masked sum is never kept"
        allowed = f"left out in variant {self.variant!r}: {reason}"
        refuse(self.kind.has_one_price, "game", self.game, allowed)
        is_once = self.weight_collection == "once"
        allowed = "'once' in a game, which draws each weight once"
        require(is_once, "weight_collection", self.weight_collection, allowed)

    def _check_losses(self) -> None:
        if self.public_weights:
            is_free = self.epsilon_weight in {None, 0.0}
            require(is_free, "epsilon_weight", self.epsilon_weight, "left out where weights are public")
            is_once = self.weight_collection == "once"
            require(is_once, "weight_collection", self.weight_collection, "'once' where weights are public")
        if not self.has_matrices:
            check_epsilon(self.epsilon)
        # The halves of a small epsilon may be too small, so the resulting costs are checked.
        paid, least = {"epsilon_opinion": self.loss_of_opinion}, self.kind.least_epsilon
        if not self.public_weights and not self.kind.has_one_price:
            paid["epsilon_weight"] = self.loss_of_weight
        for field, loss in paid.items():
            check_epsilon(loss, field=field)
            require(loss >= least, field, loss, f"at least {least} in variant {self.variant!r}")

    def _check_quota(self) -> None:
        if self.quota is not None:
            require(self.quota_fraction is None, "quota_fraction", self.quota_fraction, "left out beside quota")
            require(0 < self.quota < math.inf, "quota", self.quota, "positive and finite")
        if self.quota_fraction is not None:
            require(0 < self.quota_fraction <= 1, "quota_fraction", self.quota_fraction, "in (0, 1]")


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable() and name.strip() == name
