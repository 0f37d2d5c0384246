"""Made-up voters with normal preferences, by the law of Section 5.1.

Voter i's preferences are β_i ~ N(m, s²·I), with m_j ~ U(−1, 1) and s = 1 as printed. Each of its records compares two
alternatives x₁, x₂ ~ N(0, I) by utilities U₁ ~ N(β_i·x₁, ½), U₂ ~ N(β_i·x₂, ½), where ½ is the variance; the one with
the larger utility is chosen, so x₁ is chosen with probability Φ(β_i·(x₁ − x₂)).

A generator has a seed of its own, so that the noise's seed changes the noise and not the voters.

Source: Wang et al. (2019), Section 5.1.
"""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from ....protocol.arrays import FloatArray
from .generators import SyntheticVoters, check_range, dot, draw_normals, draw_uniforms, names_of, synthetic_survey
from .survey import Survey

_GENERATOR: Final = "moral-synthetic"


class SyntheticPreferences(SyntheticVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent voters with normal preferences.

    Examples:
        >>> spec = SyntheticPreferences(voters=2, records=3, features=2, seed=1)
        >>> make_preferences(spec).records.chosen.shape
        (6, 2)
    """

    most: ClassVar[Mapping[str, int]] = {**SyntheticVoters.most, "records": 100_000, "features": 1000}

    records: int = 50
    features: int = 10  # d, of each alternative, at least 1
    spread: float = 1.0

    @property
    def feature_names(self) -> Sequence[str]:
        return tuple(f"x{place}" for place in range(1, self.features + 1))


def mean_preferences(spec: SyntheticPreferences) -> FloatArray:
    """Return m, around which the voters' preferences lie: float64, shape (d,).

    Examples:
        >>> mean_preferences(SyntheticPreferences(voters=1, records=1, features=3)).shape
        (3,)
    """
    return 2 * draw_uniforms(_GENERATOR, spec.seed, "mean", start=0, stop=1, slots=spec.features)[0] - 1


def make_preferences(spec: SyntheticPreferences, *, start: int = 0, stop: int | None = None) -> Survey:
    """Return made-up voters in [start, stop); the same ones for the same description, on every machine.

    Examples:
        >>> survey = make_preferences(SyntheticPreferences(voters=3, records=2, features=2))
        >>> survey.voters[0], len(survey.records), survey.truth.shape
        ('voter 000000001', 3, (3, 2))
    """
    stop = check_range(start, stop, spec.voters)
    voters, records, features = stop - start, spec.records, spec.features
    rows = {"start": start, "stop": stop}
    truth = mean_preferences(spec) + spec.spread * draw_normals(
        _GENERATOR, spec.seed, "preferences", **rows, slots=features
    )
    pairs = draw_normals(_GENERATOR, spec.seed, "alternatives", **rows, slots=records * 2 * features)
    pairs = pairs.reshape(voters, records, 2, features)
    noise = draw_normals(_GENERATOR, spec.seed, "utilities", **rows, slots=records * 2).reshape(voters, records, 2)
    utilities = dot(pairs, truth[:, None, None, :]) + math.sqrt(0.5) * noise
    is_second = (utilities[:, :, 1] > utilities[:, :, 0])[:, :, None]
    chosen = np.where(is_second, pairs[:, :, 1], pairs[:, :, 0])
    rejected = np.where(is_second, pairs[:, :, 0], pairs[:, :, 1])
    return synthetic_survey(
        names_of("voter", start, stop),
        chosen,
        rejected,
        features=spec.feature_names,
        truth=truth,
        source=f"made-up voters with normal preferences (seed {spec.seed})",
    )
