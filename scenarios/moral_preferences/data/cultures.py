"""Made-up voters of several societies, whose dilemmas differ in the Moral Machine's nine attributes.

An alternative has or has not each attribute (those who are spared are young, are humans, ...), by the toss of a fair
coin. A voter of society g has preferences β_i ~ N(m_g, s²·I), and spares side a rather than b with probability
Φ(β_i·(x_a − x_b)).

A society's mean m_g follows from effects: an effect Δ is how much likelier those are spared who have the attribute
than those who have not, in dilemmas that differ in it alone, so that m = Φ⁻¹((1 + Δ)/2). The effects of made-up
societies lie around the rounded means of 130 countries'; `moral_machine_countries` has each country's own, as
published. Either way the voters are made up, and published effects are of dilemmas that differ in more than one
attribute: the result is a stand-in, and does not say what anybody thinks.

Source: Awad et al. (2018), Figure 2 and the published country-level effects.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, did_you_mean, require
from ...reading.batches import TableFiles
from .generators import SyntheticVoters, check_range, dot, draw_normals, draw_uniforms, names_of, synthetic_survey
from .numbers import read_numbers
from .survey import Survey

_GENERATOR: Final = "moral-cultures"
_COLUMNS: Final = {
    "commission": "[Omission -> Commission]",
    "pedestrians": "[Passengers -> Pedestrians]",
    "lawful": "Law [Illegal -> Legal]",
    "female": "Gender [Male -> Female]",
    "fit": "Fitness [Large -> Fit]",
    "high status": "Social Status [Low -> High]",
    "young": "Age [Elderly -> Young]",
    "more lives": "No. Characters [Less -> More]",
    "humans": "Species [Pets -> Humans]",
}
_CODE: Final = "column 1"  # of the country, which has no name in the file
ATTRIBUTES: Final = tuple(_COLUMNS)
"""What each number of an alternative is: 1 where those who are spared have it, else 0."""
_EFFECTS: Final = np.array([0.05, 0.10, 0.35, 0.12, 0.15, 0.35, 0.47, 0.49, 0.57])
"""The means of the countries' published effects, rounded."""
_MOST_SOCIETIES: Final = 256
_MOST_EFFECT: Final = 0.95
_ROUNDING: Final = 1e-9


class _AttributeVoters(SyntheticVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    records: int = 20
    spread: float = 0.3

    @property
    def feature_names(self) -> Sequence[str]:
        return ATTRIBUTES


class CultureVoters(_AttributeVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voters of made-up societies."""

    societies: Mapping[str, float]  # each society's share of the voters, by its name; together 1
    distance: float = 0.12  # ≥ 0: the standard deviation of a society's effects around those of all countries

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = list(self.societies.values())
        are_shares = all(share > 0 for share in shares) and abs(math.fsum(shares) - 1) <= _ROUNDING
        allowed = f"2 to {_MOST_SOCIETIES} names with shares above 0 that add up to 1"
        require(1 < len(shares) <= _MOST_SOCIETIES and are_shares, "societies", dict(self.societies), allowed)
        require(0 <= self.distance <= 1, "distance", self.distance, "in [0, 1]")
        numbers = np.diff(self.bounds)
        if not np.all(numbers):
            empty = list(self.societies)[int(np.argmin(numbers))]
            allowed = f"a share of {self.voters:,} voters with at least one of them"
            raise ConfigurationError(field=f"societies.{empty}", value=self.societies[empty], allowed=allowed)

    @property
    def bounds(self) -> IntArray:
        """Where each society's voters begin, and where the last one's end: int64, shape (societies + 1,)."""
        ends = [0.0, *itertools.accumulate(self.societies.values())]
        return np.floor(np.array(ends) * self.voters + 0.5).astype(np.int64)


class CountryVoters(_AttributeVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voters of some countries, made up by the countries' published effects."""

    voters: int = 400  # how many of each country
    countries: tuple[str, ...] = ("BRA", "CHN", "FRA", "JPN", "USA")  # their codes of three letters, two at least

    def __post_init__(self) -> None:
        super().__post_init__()
        number = len(self.countries)
        if not 1 < number <= _MOST_SOCIETIES or len(set(self.countries)) < number:
            allowed = f"2 to {_MOST_SOCIETIES} distinct countries"
            raise ConfigurationError(field="countries", value=list(self.countries[:12]), allowed=allowed)


def make_cultures(spec: CultureVoters, *, start: int = 0, stop: int | None = None) -> Survey:
    """Return voters of made-up societies, in [start, stop), one society after another; the same on every machine."""
    stop = check_range(start, stop, spec.voters)
    names = list(spec.societies)
    normals = draw_normals(_GENERATOR, spec.seed, "societies", start=0, stop=len(names), slots=len(ATTRIBUTES))
    effects = np.clip(_EFFECTS + spec.distance * normals, -_MOST_EFFECT, _MOST_EFFECT)
    codes = np.searchsorted(spec.bounds, np.arange(start, stop), side="right") - 1
    source = f"made-up voters of {len(names)} societies (seed {spec.seed})"
    return _make(spec, effects, codes, names, start=start, source=source)


def read_countries(path: Path, spec: CountryVoters) -> Survey:
    """Return voters of some countries, one country after another, by the published effects in a file of all of them.

    It has a line for each country, with an effect for each attribute.
    """
    columns = [f"{column}: Estimates" for column in _COLUMNS.values()]
    files = TableFiles(path, field="data", wanted=[_CODE, *columns])
    for column in (_CODE, *columns):
        require(column in files.names, f"{path.name} line 1", files.names, f"a header with {column!r}")
    countries, numbers = read_numbers(files, [_CODE], columns)
    if len(wrong := np.argwhere(~(np.abs(numbers) < 1))):
        row, place = wrong[0].tolist()
        field = f"{columns[place]} ({countries.where(row + 1)})"
        raise ConfigurationError(field=field, value=float(numbers[row, place]), allowed="in (-1, 1)")
    rows = {code: row for row, code in enumerate(countries.column(_CODE))}
    for country in spec.countries:
        if country not in rows:
            allowed = f"codes of three letters in {path.name}{did_you_mean(country, rows)}"
            raise ConfigurationError(field="voters.countries", value=country, allowed=allowed)
    effects = numbers[[rows[country] for country in spec.countries]]
    codes = np.repeat(np.arange(len(spec.countries)), spec.voters)
    source = f"voters made up by {path.name} (seed {spec.seed})"
    return _make(spec, effects, codes, spec.countries, start=0, source=source)


def _make(
    spec: SyntheticVoters, effects: FloatArray, codes: IntArray, names: Sequence[str], *, start: int, source: str
) -> Survey:
    """Return voters by the effects of their societies, shape (societies, attributes), and the society of each."""
    number, records, width = len(codes), spec.records, len(ATTRIBUTES)
    rows = {"start": start, "stop": start + number}
    means: FloatArray = ndtri((1 + effects) / 2)
    truth = means[codes] + spec.spread * draw_normals(_GENERATOR, spec.seed, "preferences", **rows, slots=width)
    coins = draw_uniforms(_GENERATOR, spec.seed, "alternatives", **rows, slots=records * 2 * width)
    pairs = np.floor(2 * coins).reshape(number, records, 2, width)
    spares_first: FloatArray = ndtr(dot(pairs[:, :, 0] - pairs[:, :, 1], truth[:, None, :]))
    uniforms = draw_uniforms(_GENERATOR, spec.seed, "choices", **rows, slots=records)
    is_second = (uniforms >= spares_first)[:, :, None]
    voter_codes: list[int] = codes.tolist()
    return synthetic_survey(
        names_of("voter", start, start + number),
        np.where(is_second, pairs[:, :, 1], pairs[:, :, 0]),
        np.where(is_second, pairs[:, :, 0], pairs[:, :, 1]),
        features=ATTRIBUTES,
        truth=truth,
        source=source,
        societies=[names[code] for code in voter_codes],
    )
