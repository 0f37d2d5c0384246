"""Voters' own ε: drawn by groups of more and less concern, or from a file.

The paper's groups are conservative, moderate and liberal voters: a conservative voter's ε is uniform between ε_C and
ε_M, a moderate one's between ε_M and ε_L, both rounded to hundredths, and a liberal one's is ε_L. Voters fall into
groups at random, whatever they prefer.

Source: Wang et al. (2019), Section 5.1; reading M11.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from ....protocol.errors import ConfigurationError, refuse, require
from ....protocol.moral_preferences.parameters import MAX_EPSILON
from ...reading.text_forms import read_rows
from .generators import draw_uniforms

_GENERATOR: Final = "moral-privacy-groups"
_HUNDREDTHS: Final = 100
_GREATEST: Final = 10.0  # a thousand hundredths, as many as there may be levels
_ROUNDING: Final = 1e-9


class PrivacyGroups(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Three groups of voters with privacy concern of their own; ConfigurationError where a value is not allowed.

    Examples:
        >>> PrivacyGroups(epsilon_conservative=0.1, epsilon_moderate=0.12, epsilon_liberal=0.13).levels
        (0.1, 0.11, 0.12, 0.13)
    """

    conservative: float = 0.54  # their fraction, f_C
    moderate: float = 0.36  # f_M
    liberal: float = 0.10  # f_L; the three add up to 1
    epsilon_conservative: float = 0.01  # ε_C, at least .01
    epsilon_moderate: float = 0.2  # ε_M, at least ε_C
    epsilon_liberal: float = 1.0  # ε_L, at least ε_M
    seed: int = 0  # of who falls into which group, not of the noise

    def __post_init__(self) -> None:
        fractions = [self.conservative, self.moderate, self.liberal]
        if not all(fraction >= 0 for fraction in fractions) or abs(math.fsum(fractions) - 1) > _ROUNDING:
            allowed = "fractions of at least 0 that add up to 1"
            raise ConfigurationError(field="conservative, moderate, liberal", value=fractions, allowed=allowed)
        epsilons = [self.epsilon_conservative, self.epsilon_moderate, self.epsilon_liberal]
        if not 1 / _HUNDREDTHS <= epsilons[0] <= epsilons[1] <= epsilons[2] <= _GREATEST:
            field = "epsilon_conservative, epsilon_moderate, epsilon_liberal"
            raise ConfigurationError(field=field, value=epsilons, allowed=f"ascending, in [0.01, {_GREATEST:g}]")
        refuse(self.seed < 0, "seed", "negative", "at least 0")

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of ε that voters may have, whoever they are: all hundredths from ε_C to ε_L."""
        first, last = (math.floor(_HUNDREDTHS * end + 0.5) for end in (self.epsilon_conservative, self.epsilon_liberal))
        return tuple(number / _HUNDREDTHS for number in range(first, last + 1))


def draw_epsilons(groups: PrivacyGroups, *, num_voters: int, start: int = 0) -> list[float]:
    """Return each voter's ε, in hundredths; the same ones for the same groups, on every machine.

    The first of so many voters is at this place among all.

    Examples:
        >>> draw_epsilons(PrivacyGroups(seed=1), num_voters=3)
        [0.68, 0.66, 0.59]
    """
    uniforms = draw_uniforms(_GENERATOR, groups.seed, "epsilons", start=start, stop=start + num_voters, slots=2)
    is_conservative = uniforms[:, 0] < groups.conservative
    is_liberal = uniforms[:, 0] >= groups.conservative + groups.moderate
    low = np.where(is_conservative, groups.epsilon_conservative, groups.epsilon_moderate)
    high = np.where(is_conservative, groups.epsilon_moderate, groups.epsilon_liberal)
    drawn_epsilons = np.where(is_liberal, groups.epsilon_liberal, low + (high - low) * uniforms[:, 1])
    hundredths: list[int] = np.floor(drawn_epsilons * _HUNDREDTHS + 0.5).astype(np.int64).tolist()
    return [number / _HUNDREDTHS for number in hundredths]


def read_epsilons(path: Path, *, voters: Sequence[str], field: str) -> list[float]:
    """Return each of these voters' ε from a CSV file with the columns `voter` and `epsilon`, which may have others."""
    epsilons: dict[str, float] = {}
    for line, (name, entry) in read_rows(path, "voter", "epsilon", field=field):
        place_text = f"{path.name} line {line}"
        refuse(name in epsilons, f"voter ({place_text})", name, "named once")
        try:
            epsilons[name] = float(entry)
        except ValueError:
            epsilons[name] = math.nan
        allowed = f"a number in (0, {MAX_EPSILON:g}]"
        require(0 < epsilons[name] <= MAX_EPSILON, f"epsilon ({place_text})", entry, allowed)
    missing = next((voter for voter in voters if voter not in epsilons), None)
    refuse(missing is not None, path.name, missing, f"There is no line of {missing!r}. Add one.")
    return [epsilons[voter] for voter in voters]
