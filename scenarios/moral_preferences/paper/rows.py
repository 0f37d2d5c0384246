"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

from typing import Any

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction

__all__ = [
    "BaselineRow",
    "CurvePoint",
    "EffectRow",
    "ProjectionRow",
    "Reproduction",
    "SensitivityRow",
    "VariantRow",
    "WeightRow",
]


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a figure.

    Args:
        figure: its number.
        panel: its letter, or empty.
        setting: "synthetic" or "machine-like".
        method: how; an algorithm of the paper, or that with the weighted mean.
        voters: N.
        records: n.
        features: d.
        bound: B.
        varied: what the horizontal axis has.
        at: the place there.
        epsilon: everybody's ε; None where voters have their own, or there is no noise.
        conservative: f_C, where voters have their own.
        epsilon_conservative: ε_C, likewise.
        epsilon_moderate: ε_M, likewise.
        epsilon_voter: what all records of a voter cost at that ε; None where ε is None.
        accuracy: the share of pairs on which the release decides as the mean of the true preferences.
        ratio: over the accuracy without privacy.
    """

    figure: int
    panel: str
    setting: str
    method: str
    voters: int
    records: int
    features: int
    bound: float
    varied: str
    at: float
    epsilon: float | None
    conservative: float | None
    epsilon_conservative: float | None
    epsilon_moderate: float | None
    epsilon_voter: float | None
    accuracy: Measurement
    ratio: Measurement


class EffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one thing changes with all else equal.

    Args:
        figure: the figure's number.
        panel: its letter; empty for all.
        what: more of it, or the first instead of the second.
        number: of pairs of points.
        difference: of the accuracies, repetition by repetition: the mean over pairs, or, where the axis itself is what
            changes, from its one end to the other.
        least: the smallest difference of a pair, in its standard errors.
        most: the largest.
    """

    figure: int
    panel: str
    what: str
    number: int
    difference: Measurement
    least: float
    most: float


class VariantRow(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one paradigm at one ε.

    Args:
        setting: "synthetic" or "machine-like".
        paradigm: VLCP, VLDP, RLCP or RLDP.
        method: its name.
        title: for people.
        epsilon: of the paradigm's unit; None without noise.
        epsilon_voter: what it costs a voter; None without noise.
        accuracy: see `CurvePoint`.
        ratio: likewise.
        lead: over the paper's method in this paradigm, repetition by repetition; None for that one itself.
        lead_in_errors: the same in standard errors.
    """

    setting: str
    paradigm: str
    method: str
    title: str
    epsilon: float | None
    epsilon_voter: float | None
    accuracy: Measurement
    ratio: Measurement
    lead: Measurement | None
    lead_in_errors: float | None


class WeightRow(msgspec.Struct, frozen=True, kw_only=True):
    """Plain and weighted means over voters with an ε of their own (reading M9).

    Args:
        setting: "synthetic" or "machine-like".
        is_fixed: all repetitions have the same voters.
        voters: N.
        method: without weights.
        plain: the accuracy of the plain mean.
        weighted: of the weighted one.
        gain: repetition by repetition.
    """

    setting: str
    is_fixed: bool
    voters: int
    method: str
    plain: Measurement
    weighted: Measurement
    gain: Measurement


class ProjectionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A released mean with and without projection to the ball.

    Args:
        setting: "synthetic" or "machine-like".
        method: without projection.
        epsilon: ε.
        error: the squared ℓ₂ distance from what would be released without noise.
        error_projected: the same of the projected mean.
        accuracy: see `CurvePoint`.
        gain: in accuracy, repetition by repetition.
    """

    setting: str
    method: str
    epsilon: float
    error: Measurement
    error_projected: Measurement
    accuracy: Measurement
    gain: Measurement


class BaselineRow(msgspec.Struct, frozen=True, kw_only=True):
    """What there is without noise (reading M2).

    Args:
        setting: "synthetic" or "machine-like".
        voters: N.
        records: n.
        features: d.
        bound: B of the fits.
        society: the accuracy of the mean of all fits, against the mean of the true preferences.
        voter: the mean accuracy of a voter's own fit, against its own true preferences.
        published: the paper's number; None where it has none.
    """

    setting: str
    voters: int
    records: int
    features: int
    bound: float
    society: Measurement
    voter: Measurement
    published: float | None


class SensitivityRow(msgspec.Struct, frozen=True, kw_only=True):
    """The functional mechanism's sensitivity (reading M6).

    Args:
        features: d.
        printed: Δ as printed.
        tight: the lower bound that is proven.
        found: the greatest change that a search found, which no bound can be below.
    """

    features: int
    printed: float
    tight: float
    found: float


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them; `trials` are repetitions of each cell.

    Args:
        curves: Figures 1 to 10.
        effects: what the paper's claims on the figures are judged by.
        baselines: without noise.
        variants: all methods at equal ε.
        weights: plain and weighted means.
        projections: released means, projected or not.
        sensitivities: of the functional mechanism.
    """

    curves: tuple[CurvePoint, ...]
    effects: tuple[EffectRow, ...]
    baselines: tuple[BaselineRow, ...]
    variants: tuple[VariantRow, ...]
    weights: tuple[WeightRow, ...]
    projections: tuple[ProjectionRow, ...]
    sensitivities: tuple[SensitivityRow, ...]

    @property
    def tables(self) -> dict[str, tuple[msgspec.Struct, ...]]:
        """The rows of each file, by its name."""
        tables = super().tables
        del tables["curves"]
        return {**{f"figure-{number}": self.of_figure(number) for number in range(1, 11)}, **tables}

    def of_figure(self, number: int, panel: str = "", **given: Any) -> tuple[CurvePoint, ...]:
        """Return the points of a figure, and of one panel where it is named, whose fields are what is given."""
        if panel:
            given["panel"] = panel
        return tuple(
            point
            for point in self.curves
            if point.figure == number and all(getattr(point, name) == value for name, value in given.items())
        )
