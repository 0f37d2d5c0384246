"""What a moral preferences session releases to all voters."""

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
        radius: of the ball in which maxima were looked for.
        scale: of the Laplace noise in each coefficient at ε = 1; at another ε it is that over ε.
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
    """The outcome of the voters with one ε.

    Args:
        num_voters: how many reported.
        weight: the share of one of their reports in the mean, times the number of all reports: 1 in a plain mean.

    Examples:
        >>> LevelOutcome(epsilon=1.0, num_voters=900, weight=1.0).num_voters
        900
    """

    epsilon: float
    num_voters: int
    weight: float


class SocietyOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one of several societies: of its own voters alone, with its own noise.

    Args:
        num_voters: the number of its voters that reported.
        preferences: as in `Outcome`; None where nobody reported.
        errors: likewise. The noise of two societies is independent.
        levels: likewise, of its own voters; none where nobody reported.
        ball: likewise.

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

    Where voters belong to several societies, it has those of all voters, and beside them each society's own.

    Args:
        preferences: for each feature how much it speaks for an alternative; the society's β, or, where `is_direction`,
            a vector of ℓ₂ norm 1 in its direction (of norm 0 where the reports cancel out).
        errors: for each feature the standard error, over the noise's draws alone; None where it has no closed form. It
            is that from before a projection, which makes it smaller; and of a direction, that from before it was
            brought to norm 1, in proportion to the norm: along the direction itself the error is gone. Of a mean of
            noisy maxima it is how far reports spread, in which voters' differences are as well, so that it is rather
            too large; what noise shifts all reports by is no part of it.
        is_direction: whether only the direction means anything.
        num_voters: the number of reports; if it is private, the public number by which their sum is divided.
        paradigm: VLCP, RLCP, VLDP or RLDP.
        mechanism: the perturbed quantity.
        levels: the levels of ε at which somebody reported, ascending.
        is_projected: whether the mean was projected to the ball of the bound.
        is_whitened: whether directions were taken of whitened records, so that errors are correlated.
        epsilon_record: the proven loss of one record, for the voter who pays most.
        epsilon_voter: the proven loss of all that a voter reports, for the voter who pays most.
        ball: a ball that contains the preferences without noise, for any voters; None if the errors are not known or
            are correlated.
        relation: `add-remove-one` where it is private who takes part, and so how many did; else unset, and in no file.
        maxima: where they are means of noisy maxima, the law of these; else unset, and in no file.
        societies: the outcome of each society, if there are several; else unset, and in no file.
        planned: for how many shares of noise each was drawn, of a masked sum; else unset, and in no file.

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
        """Return one society's part as a release by itself, which decisions can be made by.

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

        The noise of two societies is independent, so the squares of their errors add up. What differs between voters is
        no part of them: they say how far noise may have moved the difference, and not how far other voters would.

        Returns:
            First minus second; None where errors have no closed form.

        Raises:
            ConfigurationError: there is no such society, both are the same, or nobody of one reported.
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
