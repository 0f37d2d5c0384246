"""The public outcomes of a moral preferences session."""

import math
from typing import Literal

import msgspec

from ..arguments import check_aligned
from ..errors import ConfigurationError, list_choices, refuse, require
from ..estimators import Estimate
from ..shown import Shown
from .parameters import MechanismName, Paradigm, Remedy


class Ball(msgspec.Struct, frozen=True, kw_only=True):
    """A ball about 0 that contains the preferences without noise.

    Args:
        radius: > 0, in units of the released preferences.

    Examples:
        >>> Ball(norm="l1", radius=1.0).radius
        1.0
    """

    norm: Literal["l1", "l2"]
    radius: float


class NoisyMaxima(msgspec.Struct, frozen=True, kw_only=True):
    """The public law by which noisy objectives were maximized, so that anybody can simulate the noise.

    Args:
        num_records: the most records of one voter.
        radius: the radius of the ball that was searched for maxima.
        scale: the scale of the Laplace noise in each coefficient at ε = 1; in general it is scale/ε.
        remedy: the treatment of an objective without a maximum.

    Examples:
        >>> NoisyMaxima(num_records=8, radius=1.0, scale=6.0, remedy="project").scale
        6.0
    """

    num_records: int
    radius: float
    scale: float
    remedy: Remedy


class LevelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the voters with one level of ε.

    Args:
        num_voters: the number of voters that reported.
        weight: the weight of one of their reports in the mean, relative to a plain mean, where it is 1.

    Examples:
        >>> LevelOutcome(epsilon=1.0, num_voters=900, weight=1.0).num_voters
        900
    """

    epsilon: float
    num_voters: int
    weight: float


class SocietyOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one of several societies, from only its voters, with independent noise.

    Args:
        num_voters: the number of its voters that reported.
        preferences: as in `Outcome`; None without reports.
        errors: as in `Outcome`. The noise of two societies is independent.
        levels: as in `Outcome`, for its voters; empty without reports.
        ball: as in `Outcome`.

    Examples:
        >>> north = SocietyOutcome(name="north", num_voters=0, preferences=None, errors=None, levels=())
        >>> north.preferences is None  # nobody reported
        True
    """

    name: str
    num_voters: int
    preferences: tuple[float, ...] | None
    errors: tuple[float, ...] | None
    levels: tuple[LevelOutcome, ...]
    ball: Ball | None = None


class Outcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The public outcome: the society's preferences.

    With several societies, it has the preferences of all voters, and those of each society.

    Args:
        preferences: the weight of each feature: the society's β; or, with `is_direction`, a vector of ℓ₂ norm 1 in its
            direction (of norm 0 if the reports cancel out).
        errors: the standard error of each feature, over the draws of noise only; None if it has no closed form. It is
            the error before any projection, which makes it smaller. For a direction, it is the error before
            normalization, divided by the norm; normalization removes the error along the direction. For a mean of noisy
            maxima, it is the spread of reports, which includes differences between voters and so is rather too large;
            it does not include a shift of all reports by noise.
        is_direction: whether only the direction of the preferences is meaningful.
        num_voters: the number of reports; if it is private, the public number by which their sum is divided.
        paradigm: VLCP, RLCP, VLDP or RLDP.
        mechanism: the perturbed quantity.
        levels: the levels of ε with reports, ascending.
        is_projected: whether the mean was projected to the ball of the bound.
        is_whitened: whether records were whitened, so that errors are correlated.
        epsilon_record: the proven loss of one record, for the voter with the greatest loss, in nats.
        epsilon_voter: the proven loss of all that a voter reports, for the voter with the greatest loss, in nats.
        ball: a ball that contains the preferences without noise, for any voters; None if the errors are unknown or
            correlated.
        relation: `add-remove-one` if participation, and so the number of voters, is private; else unset, and in no
            file.
        maxima: for means of noisy maxima, their law; else unset, and in no file.
        societies: the outcome of each society, if there are several; else unset, and in no file.
        planned: for a masked sum, the number of shares that add up to one draw of noise; else unset, and in no file.

    Examples:
        >>> from psephos.protocol import SimulatedNoise, run_population
        >>> from psephos.protocol.moral_preferences import MoralPreferences, Parameters
        >>> survey = MoralPreferences(Parameters(features=("lives", "age"), epsilon=30.0))
        >>> inputs = survey.encode({"records": [[[[2.0, 0.0], [1.0, 0.0]]]] * 50})
        >>> outcome = run_population(survey, inputs, noise=SimulatedNoise(1, session="survey")).outcome
        >>> outcome.num_voters, outcome.preferences[0] > 0.5
        (50, True)
    """

    features: tuple[str, ...]
    preferences: tuple[float, ...]
    errors: tuple[float, ...] | None
    is_direction: bool
    num_voters: int
    paradigm: str
    mechanism: MechanismName
    levels: tuple[LevelOutcome, ...]
    is_projected: bool
    epsilon_record: float
    epsilon_voter: float
    is_whitened: bool = False
    ball: Ball | None = None
    maxima: NoisyMaxima | msgspec.UnsetType = msgspec.UNSET
    relation: Literal["add-remove-one"] | msgspec.UnsetType = msgspec.UNSET
    societies: tuple[SocietyOutcome, ...] | msgspec.UnsetType = msgspec.UNSET
    planned: int | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        """Raise ConfigurationError unless each vector has an entry for each feature."""
        paradigm_names = [paradigm.value for paradigm in Paradigm]
        require(self.paradigm in paradigm_names, "paradigm", self.paradigm, list_choices(paradigm_names, self.paradigm))
        for released in (self, *self.society_outcomes):
            vectors = {"preferences": released.preferences, "errors": released.errors}
            vectors_present = {name: vector for name, vector in vectors.items() if vector is not None}
            check_aligned(features=self.features, **vectors_present)

    @property
    def society_outcomes(self) -> tuple[SocietyOutcome, ...]:
        """The outcomes of the societies; none if all voters are one society."""
        return () if isinstance(self.societies, msgspec.UnsetType) else self.societies

    def society_outcome(self, name: str) -> "Outcome":
        """Return the outcome of one society as an `Outcome`, for decisions.

        Raises:
            ConfigurationError: there is no such society, or none of its voters reported.
        """
        society_found = next((society for society in self.society_outcomes if society.name == name), None)
        if society_found is None:
            names = ", ".join(society.name for society in self.society_outcomes[:30])
            allowed = f"one of {names}" if names else "left out: all voters are one society"
            raise ConfigurationError(field="society", value=name, allowed=allowed)
        refuse(society_found.preferences is None, "society", name, "one of which somebody reported")
        return msgspec.structs.replace(
            self,
            preferences=society_found.preferences,
            errors=society_found.errors,
            num_voters=society_found.num_voters,
            levels=society_found.levels,
            ball=society_found.ball,
            societies=msgspec.UNSET,
        )

    def differences(self, first: str, second: str) -> tuple[Estimate, ...] | None:
        """Return each feature's difference in weight between two societies, with standard errors.

        The noise of two societies is independent, so their variances add up. The errors cover only the noise, not the
        sampling of voters.

        Returns:
            First minus second; None if errors have no closed form.

        Raises:
            ConfigurationError: there is no such society, both are the same, or one has no reports.
        """
        refuse(first == second, "society", second, f"another one than {first!r}")
        ours, theirs = (self.society_outcome(name).estimates for name in (first, second))
        if ours is None or theirs is None:
            return None
        return tuple(
            Estimate(preference.value - other.value, math.hypot(preference.standard_error, other.standard_error))
            for preference, other in zip(ours, theirs, strict=True)
        )

    @property
    def estimates(self) -> tuple[Estimate, ...] | None:
        """The preferences with their errors; None where there are none."""
        if self.errors is None:
            return None
        return tuple(Estimate(value, error) for value, error in zip(self.preferences, self.errors, strict=True))
