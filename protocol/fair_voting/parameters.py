"""The public parameters of a fair and private vote."""

import dataclasses
import math
from fractions import Fraction
from typing import Final, Literal

import msgspec
import numpy as np

from ..arguments import check_names
from ..arrays import IntArray
from ..errors import ConfigurationError, list_choices, refuse, require
from ..estimators import DEFAULT_LEVEL, check_level
from ..mechanisms import MAX_ALTERNATIVES, MAX_JOINT_GROUPS, MAX_RANKED
from ..phases import check_sizes
from ..privacy import NeighboringRelation, TrustModel
from ..privacy_levels import PrivacyLevels
from .choices import SampleScale
from .features import Feature, check_features
from .kinds import LOCAL, MECHANISMS, MechanismKind, MechanismName
from .objective import OBJECTIVES, Objective
from .pairwise import MAX_KEMENY, PAIRWISE
from .rankings import are_strict
from .sampling_bounds import SampleReading, is_feasible, label_of, num_samples
from .sampling_plans import SamplingPlan, plan_for
from .scoring import MAX_SCORE, MOST_BITS, ScoreName, Scoring, make_scores

MIN_EPSILON: Final = 1e-4
"""The least ε. Below it, Laplace noise would not fit into reports of 64 bits."""
MAX_EPSILON: Final = 30.0
"""The greatest ε. Above it, a simulation's uniforms of 53 bits cannot represent the flip probability."""
DEFAULT_EPSILON: Final = 1.0
MAX_LEVELS: Final = 20
MAX_GROUPS: Final = 1_000
MAX_VOTERS: Final = 1 << 32
MAX_SAMPLES: Final = 1 << 20
"""The most samples of Algorithm 2, for each group and alternative."""
MAX_DRAWS: Final = 1 << 26
"""The most draws of Algorithm 2 in all. Exact sampling of this many draws, one by one, takes about a minute."""
MAX_SAMPLED_FROM: Final = 20
"""The most alternatives of Algorithm 2 if it samples voters first, whose rankings are stored as numbers of 64 bits."""

_MOST_SCALE: Final = 2**20
"""The greatest scale of masked noise, in grid steps."""
_LEAST_BITS: Final = 8
_SPARE_BITS: Final = 5
_MOST_MASKED: Final = 4_096

DEFAULT_GAMMA: Final = 0.05
DEFAULT_WELFARE_SHARE: Final = 0.9
SEPARATOR: Final = ">"
"""The separator between the names of a ranking as text."""
TIE: Final = " = "
"""The separator between tied names."""


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of an election, on which both sides of a session agree.

    Args:
        alternatives: 2 to `MAX_ALTERNATIVES` distinct names without ">", which voters rank.
        groups: the groups' names; a single one in a plain election without comparison (objectives "welfare", "copeland"
            and "kemeny").
        group_sizes: the number of voters of each group on the roster, at least one. If groups are private, these are
            public numbers from another source; the roster is not counted.
        mechanism: the mechanism that makes the outcome private (see the package); "pairwise" has only the objectives
            "copeland" and "kemeny".
        epsilon: ε in nats, per voter. For Algorithm 2 it is the paper's label, and the proven ε may be greater or
            smaller; with calibration "proven" it is proven.
        epsilons: instead of `epsilon`, the public levels of ε, ascending, one of which each voter has; only if voters
            randomize their rankings, and groups are public. `epsilon` becomes the greatest. On the wire only if set, as
            is `chosen_by`.
        chosen_by: who chooses a voter's level: the `roster`, with a column for it (default), or each `voter` as it
            joins.
        scores: the name of a rule, or a score for each position, the best first.
        objective: the objective (reading F5), or the name of a registered one, for mechanisms that estimate utilities.
            "welfare": the greatest welfare, for any disparity. "copeland": the most pairwise contests won. "kemeny":
            the first in the ranking that agrees with voters on most pairs, for at most `MAX_KEMENY` alternatives.
        max_disparity: t of objective "constrained", in units of the scores.
        fairness_weight: λ of "penalized". In mechanisms that choose by quality ("exponential", "permute_and_flip"): for
            "constrained", λ for each unit of disparity above t; for "welfare_constrained", λ for each unit of welfare
            below the floor.
        welfare_share: β in (0, 1] of objective "welfare_constrained": the share of the greatest welfare that a winner
            needs, counted from the least score; by default 0.9. On the wire only if set.
        relation: the neighboring relation: one voter's ranking is replaced, or one voter is added or removed while the
            sizes of the groups stay. Algorithm 2 and the local mechanisms have only the first.
        calibration: for Algorithm 1: the noise as printed in the paper, or the least that the relation needs (reading
            F1), which is the default. For Algorithm 2: "proven" chooses γ and n_s so that ε is proven (`plan_for`); by
            default, and with "printed", they follow from ε as a label.
        gamma: for Algorithm 2: γ in [0, 1), the probability of a random winner.
        delta: for Algorithm 2: δ in (0, 1), which determines the number of samples (reading F2).
        num_samples: for Algorithm 2: n_s; by default ⌈(m/ε²)·ln(m/δ)⌉, refused if it exceeds ε·min n_k; with
            calibration "proven" the best number.
        reading: for Algorithm 2, line 9: a voter is drawn from the group, or from the sub-sample of line 4 (reading
            F4).
        scale: for Algorithm 2, line 17: as printed, or unbiased (reading F3).
        level: the level of the verdict on the winner, in (0, ½); see `Assurance`.
        features: overlapping protected features; the groups are their crossings, and disparities are between the groups
            of each feature. Omit it to compare the groups themselves.
        ties: "mean" if rankings may have ties, which then have the mean score of their positions; "local" and "joint"
            take the best mechanism that allows ties. Omit it for strict rankings.
        threshold: for "masked": T, the number of voters that must take part to the end; with fewer, nothing is
            released. On the wire only there, as is `colluders`.
        colluders: for "masked": c, the greatest number of voters that collude with the aggregator.

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> parameters = Parameters(alternatives=("park", "pool"), groups=("north", "south"), group_sizes=(20, 10))
        >>> parameters.num_voters, parameters.model.value
        (30, 'central')
    """

    alternatives: tuple[str, ...]
    groups: tuple[str, ...]
    group_sizes: tuple[int, ...]
    mechanism: MechanismName = "laplace"
    epsilon: float = DEFAULT_EPSILON
    scores: ScoreName | tuple[float, ...] = "borda"
    objective: str = "parity"
    max_disparity: float = 0.0
    fairness_weight: float = 1.0
    relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE
    calibration: Literal["tight", "printed", "proven"] = "tight"
    gamma: float = DEFAULT_GAMMA
    delta: float = 1e-3
    num_samples: int | None = None
    reading: SampleReading = "group"
    scale: SampleScale = "unbiased"
    level: float = DEFAULT_LEVEL
    epsilons: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET
    chosen_by: Literal["roster", "voter"] | msgspec.UnsetType = msgspec.UNSET
    welfare_share: float | msgspec.UnsetType = msgspec.UNSET
    features: tuple[Feature, ...] | msgspec.UnsetType = msgspec.UNSET
    ties: Literal["mean"] | msgspec.UnsetType = msgspec.UNSET
    threshold: int | msgspec.UnsetType = msgspec.UNSET
    colluders: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        _check_number("alternative", self.alternatives, MAX_ALTERNATIVES)
        check_names("alternatives", self.alternatives, without=SEPARATOR)
        self._check_groups()
        self._check_levels()
        in_range = MIN_EPSILON <= self.epsilon <= MAX_EPSILON
        require(in_range, "epsilon", self.epsilon, f"in [{MIN_EPSILON:g}, {MAX_EPSILON:g}]")
        make_scores(self.scores, len(self.alternatives))
        for field, value in (("max_disparity", self.max_disparity), ("fairness_weight", self.fairness_weight)):
            require(0 <= value <= MAX_SCORE, field, value, f"in [0, {MAX_SCORE:g}]")
        if self.features is not msgspec.UNSET:
            check_features(self.features, self.groups)
        self._check_objective()
        self._check_welfare_share()
        self._check_relation()
        self._check_calibration()
        self._check_local()
        self._check_sampling()
        self._check_masked()
        self._check_pairwise()
        check_level(self.level)

    @property
    def kind(self) -> MechanismKind:
        """The properties of the mechanism."""
        return MECHANISMS[self.mechanism]

    @property
    def own_levels(self) -> PrivacyLevels:
        """The levels among which voters have their own ε; none where all have the same."""
        return PrivacyLevels(self.epsilons or (), self.chosen_by == "voter", "voter")

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of ε, ascending: one where all voters have the same."""
        return self.own_levels.epsilons or (self.epsilon,)

    @property
    def samples_voters_first(self) -> bool:
        """Whether Algorithm 2 draws from a sub-sample of the voters (reading F4)."""
        return self.kind.is_sampled and self.reading == "subsample"

    @property
    def model(self) -> TrustModel:
        """The trust model in which losses are bounded."""
        return self.kind.model

    @property
    def is_masked(self) -> bool:
        """Whether voters' rankings are added up under masks."""
        return self.model.is_masked

    @property
    def is_joint(self) -> bool:
        """Whether a voter's group is private, and reported together with its ranking."""
        return self.kind.is_joint

    @property
    def is_centered(self) -> bool:
        """Whether utilities are counted from where a voter changes them least: not in Algorithm 1 as printed."""
        return not self.kind.releases_sums or self.calibration != "printed"

    @property
    def num_voters(self) -> int:
        """How many voters are on the roster."""
        return sum(self.group_sizes)

    def make_scoring(self, *, is_centered: bool) -> Scoring:
        """Return the utilities of rankings; see `Scoring`."""
        scores = make_scores(self.scores, len(self.alternatives))
        return Scoring(scores, is_centered, self._masked_bits) if self.is_masked else Scoring(scores, is_centered)

    @property
    def _masked_bits(self) -> int:
        """Bits of the scores' range in masked sums: as many as make noise nearly continuous, and no scale huge."""
        scores = make_scores(self.scores, len(self.alternatives))
        exact_bits = (bits for bits in range(MOST_BITS) if Scoring(scores, bits=bits).is_exact)
        room = math.frexp(_MOST_SCALE * self.epsilon / len(self.alternatives))[1] - 1
        return min(next(exact_bits, MOST_BITS) + _SPARE_BITS, room, MOST_BITS)

    @property
    def _takes_ties(self) -> bool:
        is_best = self.kind.is_choice and bool(self.ties)
        return is_best or (self.kind.takes_ties and not self.samples_voters_first)

    def check_ties(self, positions: IntArray) -> None:
        """Raise ConfigurationError for a tie that the mechanism does not allow, or whose mean score is not exact.

        Args:
            positions: rankings, int64, shape (n, m).
        """
        tied = np.flatnonzero(~are_strict(positions))
        if not tied.size:
            return
        field = f"ranking in row {tied[0] + 1}"
        setting = f"reading {self.reading!r}" if self.samples_voters_first else f"mechanism {self.mechanism!r}"
        instead = "reading 'group'" if self.kind.is_sampled else f"{'joint' if self.is_joint else 'noisy'}_scores"
        require(
            self._takes_ties, field, "a tie", f"a strict order with {setting}; {instead} counts the mean score of ties"
        )
        scoring, rows = self.make_scoring(is_centered=True), positions[tied]
        for position in range(0 if self.kind.counts_pairs else len(self.alternatives)):
            numbers = (rows == position).sum(axis=1)
            for number in np.unique(numbers).tolist():
                is_exact = number <= 1 or scoring.has_means(position, number)
                row = tied[(numbers == number).argmax()] + 1
                allowed = f"'borda', or multiples of {number}: the ranking in row {row} has {number} tied in one place"
                require(is_exact, "scores", self.scores, allowed)

    def make_objective(self) -> Objective:
        """Return the objective of the election."""
        partitions = tuple(feature.partition for feature in self.features or ())
        limit, weight = Fraction(self.max_disparity), Fraction(self.fairness_weight)
        if self.objective in ("welfare", "copeland", "kemeny"):
            return Objective("penalized", fairness_weight=Fraction(0), partitions=partitions)
        objective = Objective(self.objective, limit, weight, partitions)
        if self.objective != "welfare_constrained":
            return objective
        scoring = self.make_scoring(is_centered=False)
        share = DEFAULT_WELFARE_SHARE if isinstance(self.welfare_share, msgspec.UnsetType) else self.welfare_share
        least = scoring.steps[-1] * Fraction(scoring.step)
        return dataclasses.replace(objective, welfare_share=Fraction(share), least_utility=least)

    @property
    def plan(self) -> SamplingPlan:
        """γ and n_s of Algorithm 2: as set, by ε as a label, or so that ε is proven.

        Raises:
            ConfigurationError: the calibration is "proven", and no plan has this ε.
        """
        size = len(self.alternatives)
        if self.calibration == "proven":
            return plan_for(
                self.make_scoring(is_centered=True),
                group_sizes=tuple(self.group_sizes),
                epsilon=self.epsilon,
                reading=self.reading,
                objective=self.make_objective(),
                scale=self.scale,
                most_samples=self._most_samples,
                num_samples=self.num_samples,
            )
        samples = num_samples(self.epsilon, self.delta, size) if self.num_samples is None else self.num_samples
        return SamplingPlan(self.gamma, samples)

    @property
    def samples(self) -> int:
        """n_s of Algorithm 2."""
        return self.plan.num_samples

    @property
    def claimed_epsilon(self) -> float:
        """The loss that the paper claims for a voter: ε, or the label of the samples that make ε hold."""
        if not self.kind.is_sampled or self.calibration != "proven":
            return self.epsilon
        return label_of(self.samples, self.delta, len(self.alternatives))

    @property
    def _most_samples(self) -> int:
        draws = MAX_DRAWS // (len(self.groups) * len(self.alternatives))
        most = max(min(MAX_SAMPLES, draws), 1)
        return min(most, *self.group_sizes) if self.reading == "subsample" else most

    def _check_groups(self) -> None:
        _check_number("group", self.groups, MAX_GROUPS, least=1)
        if len(self.groups) == 1:
            is_plain = self.objective in ("welfare", *PAIRWISE) or self.objective not in OBJECTIVES
            allowed = "one of welfare, copeland, kemeny: there is one group, and nobody to compare it with"
            require(is_plain, "objective", self.objective, allowed)
            allowed = "Use another mechanism: there is one group, and all voters are in it, so that it is no secret."
            refuse(self.is_joint, "mechanism", self.mechanism, allowed)
        check_names("groups", self.groups)
        allowed = f"{len(self.groups)} numbers of voters, one for each of {', '.join(self.groups[:12])}"
        require(len(self.group_sizes) == len(self.groups), "group_sizes", list(self.group_sizes), allowed)
        for group, size in zip(self.groups, self.group_sizes, strict=True):
            require(size >= 1, f"group {group!r}", f"{size} voters", "at least one voter")
        refuse(self.num_voters > MAX_VOTERS, "group_sizes", self.num_voters, f"{MAX_VOTERS} voters at most")

    def _check_levels(self) -> None:
        """Refuse levels where a voter cannot be kept to its own; set `epsilon` to the greatest."""
        if isinstance(self.epsilons, msgspec.UnsetType):
            allowed_levels = "given: the levels of ε among which voters have their own (chosen_by says who chooses)"
            require(isinstance(self.chosen_by, msgspec.UnsetType), "epsilons", [], allowed_levels)
            return
        reason = "what it releases has one ε for all, and to leave out voters by chance would bend the result"
        if self.is_joint:
            reason = "groups are private in it, and a voter's ε is public and may tell its group"
        allowed = f"left out in mechanism {self.mechanism!r}: {reason} ('local', {', '.join(map(repr, LOCAL))} can)"
        is_taken = not self.model.bounds_release and not self.is_joint
        require(is_taken, "epsilons", list(self.epsilons[:12]), allowed)
        greatest = self.own_levels.settle(
            self.epsilon, default=DEFAULT_EPSILON, least=MIN_EPSILON, greatest=MAX_EPSILON, most=MAX_LEVELS
        )
        msgspec.structs.force_setattr(self, "epsilon", greatest)

    def _check_relation(self) -> None:
        is_exact = self.model.trusts_server and not self.kind.is_sampled
        is_had = is_exact or self.relation is NeighboringRelation.REPLACE_ONE
        allowed = f"{NeighboringRelation.REPLACE_ONE.value!r} for mechanism {self.mechanism!r}"
        require(is_had, "relation", self.relation.value, allowed)

    def _check_masked(self) -> None:
        kind = f"mechanism {self.mechanism!r}"
        check_sizes(self.threshold, self.colluders, kind=kind, is_masked=self.is_masked)
        if self.is_masked:
            size = len(self.alternatives)
            least = size * 2**_LEAST_BITS / _MOST_SCALE
            allowed = f"at least {least:g} in {kind} on {size} alternatives"
            require(self.epsilon >= least, "epsilon", self.epsilon, allowed)
            numbers = size * len(self.groups)
            allowed = f"at most {_MOST_MASKED} with the alternatives of all of them: each is a number of a masked row"
            refuse(numbers > _MOST_MASKED, "groups", numbers, allowed)

    def _check_objective(self) -> None:
        check_names("objective", (self.objective,), without=SEPARATOR)
        names = [name for name, kind in MECHANISMS.items() if kind.estimates_utilities]
        allowed = f"{list_choices(OBJECTIVES, self.objective)}, or another mechanism: somebody's own objective is for "
        allowed += f"those that estimate utilities ({', '.join(names)})"
        require(self.objective in OBJECTIVES or self.kind.estimates_utilities, "objective", self.objective, allowed)

    def _check_welfare_share(self) -> None:
        share = self.welfare_share
        if isinstance(share, msgspec.UnsetType):
            return
        has_floor = self.objective == "welfare_constrained"
        require(has_floor, "welfare_share", share, "left out, except with objective 'welfare_constrained'")
        require(0 < share <= 1, "welfare_share", share, "in (0, 1]")

    def _check_calibration(self) -> None:
        allowed = "'tight' or 'printed' with mechanism 'laplace': the tight noise is proven"
        if len(self.kind.calibrations) == 1:
            allowed = f"'tight', the only one of mechanism {self.mechanism!r}"
        require(self.calibration in self.kind.calibrations, "calibration", self.calibration, allowed)
        is_chosen = self.calibration == "proven" and self.gamma != DEFAULT_GAMMA
        refuse(is_chosen, "gamma", self.gamma, "left out with calibration 'proven', which chooses it")

    def _least_label(self) -> float:
        """Return the least ε, in thousandths, at which Algorithm 2 has enough voters for its samples."""
        size = len(self.alternatives)
        low, high = 0, round(1000 * MAX_EPSILON)
        while high - low > 1:
            label = (low + high) // 2
            needed = num_samples(label / 1000, self.delta, size)
            low, high = (low, label) if is_feasible(needed, label / 1000, self.group_sizes) else (label, high)
        return high / 1000

    def _check_local(self) -> None:
        size = len(self.alternatives)
        allowed = f"at most {MAX_JOINT_GROUPS} with mechanism {self.mechanism!r}: each report tells of every group"
        are_too_many = self.is_joint and len(self.groups) > MAX_JOINT_GROUPS
        refuse(are_too_many, "groups", _name_count(self.groups, "group"), allowed)
        allowed = f"another one for more than {MAX_RANKED} alternatives: there are {size}"
        refuse(self.kind.ranks_whole and size > MAX_RANKED, "mechanism", self.mechanism, allowed)
        allowed = "another one, or equally spaced scores: comparisons of pairs estimate no other scores"
        is_spaced = not self.kind.compares_pairs or self.make_scoring(is_centered=False).is_equally_spaced
        require(is_spaced, "mechanism", self.mechanism, allowed)
        names = [name for name, kind in MECHANISMS.items() if kind.takes_ties and kind.is_joint == self.is_joint]
        allowed = f"one that takes ties: {', '.join(names)}"
        require(self._takes_ties or not self.ties, "mechanism", self.mechanism, allowed)

    def _check_sampling(self) -> None:
        require(0 <= self.gamma < 1, "gamma", self.gamma, "in [0, 1)")
        require(0 < self.delta < 1, "delta", self.delta, "in (0, 1)")
        if self.num_samples is not None:
            in_range = 1 <= self.num_samples <= MAX_SAMPLES
            require(in_range, "num_samples", self.num_samples, f"in [1, {MAX_SAMPLES}]")
        if not self.kind.is_sampled:
            return
        samples = self.samples
        allowed = f"larger: this one takes {samples} samples of at most {MAX_SAMPLES}"
        require(samples <= MAX_SAMPLES, "epsilon", self.epsilon, allowed)
        draws = samples * len(self.groups) * len(self.alternatives)
        allowed = f"fewer: with these groups and alternatives they take {draws} draws of at most {MAX_DRAWS}"
        require(draws <= MAX_DRAWS, "num_samples", samples, allowed)
        least = min(self.group_sizes)
        is_label = self.num_samples is None and self.calibration != "proven"
        if is_label and not is_feasible(samples, self.epsilon, self.group_sizes):
            allowed = (
                f"at least {self._least_label():g} for a group of {least} (N/A below): this label takes {samples} "
                f"samples, and ε·min n_k = {math.floor(self.epsilon * least)}"
            )
            raise ConfigurationError(field="epsilon", value=self.epsilon, allowed=allowed)
        if self.samples_voters_first:
            allowed = f"at most {least}, the voters of the smallest group, since they are sampled first"
            require(samples <= least, "num_samples", samples, allowed)
            allowed = f"'group' for more than {MAX_SAMPLED_FROM} alternatives"
            require(len(self.alternatives) <= MAX_SAMPLED_FROM, "reading", self.reading, allowed)

    def _check_pairwise(self) -> None:
        by_pairs = self.objective in PAIRWISE
        if not by_pairs and not self.kind.counts_pairs:
            return
        allowed = f"'pairwise' with objective {self.objective!r}, which is read from pairwise counts"
        require(self.kind.counts_pairs, "mechanism", self.mechanism, allowed)
        require(by_pairs, "objective", self.objective, "'copeland' or 'kemeny' with mechanism 'pairwise'")
        allowed = "one alone with mechanism 'pairwise': it compares alternatives, and no groups"
        require(len(self.groups) == 1, "groups", _name_count(self.groups, "group"), allowed)
        allowed = "'borda' with mechanism 'pairwise', whose counts tell no other"
        require(self.scores == "borda", "scores", self.scores, allowed)
        are_few = self.objective != "kemeny" or len(self.alternatives) <= MAX_KEMENY
        allowed = f"{MAX_KEMENY} at most with objective 'kemeny', of which all rankings are tried"
        require(are_few, "alternatives", _name_count(self.alternatives, "alternative"), allowed)


def _name_count(names: tuple[str, ...], what: str) -> str:
    return f"1 {what}: {names[0]}" if len(names) == 1 else f"{len(names)} {what}s"


def _check_number(what: str, names: tuple[str, ...], most: int, least: int = 2) -> None:
    """Raise ConfigurationError unless there are so many: one alternative is no choice."""
    require(least <= len(names) <= most, f"{what}s", _name_count(names, what), f"{least} to {most}")
