"""The public parameters of a moral preferences session."""

import enum
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np

from ..arguments import check_names
from ..arrays import FloatArray
from ..errors import refuse, require
from ..phases import check_sizes
from ..privacy import TrustModel
from ..privacy_levels import PrivacyLevels
from .whitening import GREATEST_FACTOR, Whitening

MechanismName: TypeAlias = Literal["laplace", "functional", "pooled", "direction"]
Remedy: TypeAlias = Literal["project", "trim", "nonconvex"]

MIN_EPSILON: Final = 1e-4
"""The least ε. Below it, Laplace noise would not fit into reports of 64 bits."""
MAX_EPSILON: Final = 100.0
MAX_LEVELS: Final = 1_000
"""The most levels of ε, for example hundredths up to 10."""
MAX_FEATURES: Final = 512
MAX_FEATURES_OF_COEFFICIENTS: Final = 128
"""The most features for reports with a number for each pair of features."""
MAX_RECORDS: Final = 1 << 20
MAX_VOTERS: Final = 1 << 32
MIN_BOUND: Final = 1e-3
"""The least bound. Below it, the solver can hardly distinguish points of the ball; far below, squares underflow."""
MAX_BOUND: Final = 1e6
MAX_SOCIETIES: Final = 256
"""The most societies of one release, more than there are countries."""


class Level(enum.Enum):
    """The unit of privacy: the change between two neighboring data sets.

    Examples:
        >>> Level.VOTER.value
        'voter'
    """

    VOTER = "voter"
    RECORD = "record"


class Paradigm(enum.Enum):
    """The trust model and the unit of privacy: the paper's four paradigms, and two with masks.

    - *Central*: voters send the aggregator their summaries, and it perturbs its release. It is trusted, and its view
      has every voter's summary.
    - *Local* (called distributed in the paper): voters perturb, and no party is trusted.
    - *Masked*: no party is trusted, either; the aggregator learns one noisy sum (`phases.MaskedPhase`).
    - *Voter level*: neighbors differ in all data of one voter.
    - *Record level*: neighbors differ in one record.

    Source: Wang et al. (2019), Section 4.1.

    Examples:
        >>> Paradigm.VLDP.level, Paradigm.VLDP.model.value
        (<Level.VOTER: 'voter'>, 'local')
    """

    VLCP = "VLCP"
    RLCP = "RLCP"
    VLDP = "VLDP"
    RLDP = "RLDP"
    VLMP = "VLMP"
    RLMP = "RLMP"

    @property
    def level(self) -> Level:
        """The unit of protection that ε is stated for."""
        return Level.VOTER if self.value.startswith("VL") else Level.RECORD

    @property
    def model(self) -> TrustModel:
        """The trust model in which losses are bounded."""
        return TrustModel(_MODELS[self.value[2:]])


_MODELS: Final = {"CP": "central", "DP": "local", "MP": "distributed"}
PAPERS: Final = tuple(paradigm for paradigm in Paradigm if not paradigm.model.is_masked)
"""The paper's four paradigms, in which one party draws the noise."""
_LEVELS_OF: Final[dict[MechanismName, frozenset[Level]]] = {
    "laplace": frozenset(Level),
    "functional": frozenset({Level.RECORD}),
    "pooled": frozenset({Level.RECORD}),
    "direction": frozenset(Level),
}


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a study, on which both sides of a session agree.

    Args:
        features: distinct names of the features that describe alternatives.
        paradigm: the trust model, and the unit that ε protects (see `Paradigm`).
        mechanism: the perturbed quantity (see the package).
        epsilon: ε of all voters in nats, per voter or per record, depending on the paradigm. By default 1.
        epsilons: instead of `epsilon`, the public levels of ε, ascending, one of which each voter has; only in local
            paradigms.
        chosen_by: who chooses a voter's level: the `roster`, with a column for it (default), or each `voter` as it
            joins.
        bound: B > 0, the greatest ℓ₁ norm of a preference vector. Clipping shortens records and so lengthens
            preferences; with clipped records, B only limits the search for a maximum.
        max_records: the greatest number of records of one voter, which bounds a voter's loss at record level.
        sensitivity: the sensitivity of coefficients: as printed in the paper, or a smaller proven bound (reading M6).
        clipping: the preprocessing of records for coefficients (reading M4): each alternative separately to ℓ₂ norm 1/2
            as in the paper ("items"), or their difference to norm 1, which preserves its direction.
        remedy: the treatment of a noisy objective without a maximum (reading M3).
        mean: the mean over voters of different ε: plain as in the paper, or by inverse variance (reading M9).
        project: whether a released mean is projected to the ball of the bound.
        relation: the neighboring relation: `replace-one` by default; or `add-remove-one` for VLCP with `laplace`, which
            makes participation private, and halves the noise.
        num_voters: N, by which the sum is divided if the number of voters is private; public, and at least as large as
            the roster.
        societies: two or more public groups; each voter belongs to one, and each has a release. By default all voters
            are one society.
        threshold: in VLMP and RLMP: T, the number of voters that must take part to the end; with fewer, nothing is
            released.
        colluders: in VLMP and RLMP: c, the greatest number of voters that collude with the aggregator.
        covariance: the public covariance of the differences between alternatives, d rows of d numbers, by which records
            are whitened before directions are computed. By default the identity.

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> parameters = Parameters(features=("lives", "age"), epsilon=2.0)
        >>> parameters.num_features, parameters.paradigm.value
        (2, 'VLDP')
    """

    features: tuple[str, ...]
    paradigm: Paradigm = Paradigm.VLDP
    mechanism: MechanismName = "laplace"
    epsilon: float | None = None
    epsilons: tuple[float, ...] = ()
    bound: float = 2.0
    max_records: int = 100
    sensitivity: Literal["tight", "printed"] = "tight"
    clipping: Literal["items", "difference"] = "difference"
    remedy: Remedy = "project"
    mean: Literal["weighted", "plain"] = "weighted"
    project: bool = False
    covariance: tuple[tuple[float, ...], ...] = ()
    chosen_by: Literal["roster", "voter"] | msgspec.UnsetType = msgspec.UNSET
    relation: Literal["replace-one", "add-remove-one"] | msgspec.UnsetType = msgspec.UNSET
    num_voters: int | msgspec.UnsetType = msgspec.UNSET
    societies: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    threshold: int | msgspec.UnsetType = msgspec.UNSET
    colluders: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        self._check_features()
        self._check_epsilon()
        allowed = f"'laplace' or 'direction' in {self.paradigm.value}: this one protects records, not voters"
        require(self.paradigm.level in _LEVELS_OF[self.mechanism], "mechanism", self.mechanism, allowed)
        kind = f"paradigm {self.paradigm.value!r}"
        check_sizes(self.threshold, self.colluders, kind=kind, is_masked=self.is_masked)
        is_shown = self.mechanism == "functional" and not self.is_local
        allowed = f"'pooled' in {self.paradigm.value}, where the server has all voters' coefficients, or their sum"
        refuse(is_shown, "mechanism", self.mechanism, allowed)
        require(MIN_BOUND <= self.bound <= MAX_BOUND, "bound", self.bound, f"in [{MIN_BOUND:g}, {MAX_BOUND:g}]")
        require(1 <= self.max_records <= MAX_RECORDS, "max_records", self.max_records, f"in [1, {MAX_RECORDS}]")
        if self.covariance:
            self._check_covariance()
        self._check_relation()
        self._check_societies()

    @property
    def num_features(self) -> int:
        """How many features there are: d."""
        return len(self.features)

    @property
    def is_local(self) -> bool:
        """Whether voters perturb, and nobody is trusted."""
        return self.paradigm in {Paradigm.VLDP, Paradigm.RLDP}

    @property
    def is_masked(self) -> bool:
        """Whether voters' summaries are added up under masks."""
        return self.paradigm.model.is_masked

    @property
    def is_personal(self) -> bool:
        """Whether voters have an ε of their own."""
        return bool(self.epsilons)

    @property
    def is_chosen(self) -> bool:
        """Whether voters choose their ε as they join."""
        return self.chosen_by == "voter"

    @property
    def own_levels(self) -> PrivacyLevels:
        """The levels among which voters have their own ε; none where all have the same."""
        return PrivacyLevels(self.epsilons, self.is_chosen, "voter")

    @property
    def public_number(self) -> int | None:
        """N, by which sums are divided where a voter may be there or not; None where neighbors replace one."""
        return None if isinstance(self.num_voters, msgspec.UnsetType) else self.num_voters

    @property
    def names_of_societies(self) -> tuple[str, ...]:
        """The societies; none where all voters are one."""
        return () if isinstance(self.societies, msgspec.UnsetType) else self.societies

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of ε, ascending: one where everybody has the same."""
        return self.epsilons or (1.0 if self.epsilon is None else self.epsilon,)

    @property
    def covariance_matrix(self) -> FloatArray:
        """The covariance, shape (d, d)."""
        return np.array(self.covariance, dtype=np.float64) if self.covariance else np.eye(self.num_features)

    def _check_features(self) -> None:
        most = MAX_FEATURES if self.mechanism in {"laplace", "direction"} else MAX_FEATURES_OF_COEFFICIENTS
        number = len(self.features)
        require(1 <= number <= most, "features", f"{number} features", f"1 to {most} for {self.mechanism}")
        check_names("features", self.features)

    def _check_epsilon(self) -> None:
        allowed = f"in [{MIN_EPSILON:g}, {MAX_EPSILON:g}]"
        if self.epsilon is not None:
            require(MIN_EPSILON <= self.epsilon <= MAX_EPSILON, "epsilon", self.epsilon, allowed)
        if not self.epsilons:
            allowed_levels = "given: the levels of ε among which voters have their own (chosen_by says who chooses)"
            require(isinstance(self.chosen_by, msgspec.UnsetType), "epsilons", [], allowed_levels)
            return
        refuse(self.epsilon is not None, "epsilon and epsilons", "given", "given one of them alone")
        local = "left out: noise on a sum of all has one ε for all (VLDP and RLDP can)"
        require(self.is_local, "epsilons", list(self.epsilons), local)
        self.own_levels.check(least=MIN_EPSILON, greatest=MAX_EPSILON, most=MAX_LEVELS)

    def _check_relation(self) -> None:
        is_given = self.public_number is not None
        if self.relation != "add-remove-one":
            allowed = "left out: with replace-one neighbors the reports say how many voters there are"
            refuse(is_given, "num_voters", self.num_voters, allowed)
            return
        why = "a report shows that its sender is there, and records may come or go as it is"
        is_hidden = self.paradigm is Paradigm.VLCP and self.mechanism == "laplace"
        require(is_hidden, "relation", self.relation, f"'replace-one', but for 'laplace' in VLCP ({why})")
        allowed = f"given, in [1, {MAX_VOTERS}]: N is public, and how many come is not"
        value = self.public_number if is_given else "left out"
        require(1 <= (self.public_number or 0) <= MAX_VOTERS, "num_voters", value, allowed)

    def _check_societies(self) -> None:
        if isinstance(self.societies, msgspec.UnsetType):
            return
        first_names = list(self.societies[:12])
        allowed = f"2 to {MAX_SOCIETIES} societies (left out, all voters are one)"
        require(1 < len(self.societies) <= MAX_SOCIETIES, "societies", first_names, allowed)
        check_names("societies", self.societies)
        refuse(
            self.is_masked,
            "societies",
            first_names,
            f"left out in {self.paradigm.value}: masked sums are of all voters",
        )
        allowed = "left out with add-remove-one: how many voters each society has would have to be private"
        refuse(self.relation == "add-remove-one", "societies", first_names, allowed)

    def _check_covariance(self) -> None:
        refuse(self.mechanism != "direction", "covariance", "given", "left out: only directions are whitened")
        size = self.num_features
        is_square = len(self.covariance) == size and all(len(row) == size for row in self.covariance)
        require(is_square, "covariance", f"{len(self.covariance)} rows", f"{size} rows of {size} numbers")
        matrix = self.covariance_matrix
        is_usable = np.isfinite(matrix).all() and np.array_equal(matrix, matrix.T) and _is_positive_definite(matrix)
        allowed = f"a symmetric, positive definite matrix that changes no number more than {GREATEST_FACTOR:g} times"
        require(is_usable, "covariance", "another matrix", allowed)


def _is_positive_definite(matrix: FloatArray) -> bool:
    # Checked by making the whitening itself, so that every accepted covariance works.
    try:
        Whitening(matrix)
    except ValueError:
        return False
    return True
