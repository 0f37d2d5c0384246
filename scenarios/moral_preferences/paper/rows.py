"""What a reproduction consists of: typed rows, from which files, pictures and sentences are made."""

from typing import Any

import msgspec

from ...experiments.measurements import Measurement
from ...experiments.reproductions import PaperReproduction
from ...experiments.sheets import Row, where


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a figure."""

    figure: int  # its number
    panel: str  # its letter, N in Figure 7, or empty
    setting: str  # "synthetic", "machine-like" or "own"
    method: str  # how; an algorithm of the paper, or that with the weighted mean
    voters: int  # N
    records: int  # n
    features: int  # d
    bound: float  # B
    varied: str  # what the horizontal axis has
    at: float  # the place there
    epsilon: float | None  # everybody's ε; None where voters have their own, or there is no noise
    conservative: float | None  # f_C, where voters have their own
    epsilon_conservative: float | None  # ε_C, likewise
    epsilon_moderate: float | None  # ε_M, likewise
    epsilon_voter: float | None  # what all records of a voter cost at that ε; None where ε is None
    accuracy: Measurement  # the share of pairs on which the release decides as the mean of the true preferences
    ratio: Measurement  # over the accuracy without privacy


class EffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one thing changes with all else equal."""

    figure: int  # the figure's number
    panel: str  # its letter, or N in Figure 7; empty for all
    what: str  # more of it, or the first instead of the second
    number: int  # of pairs of points
    trials: int  # repetitions of each point, the fewer where they differ
    # of the accuracies, repetition by repetition: the mean over pairs, or, where the axis itself is what changes,
    # from its one end to the other
    difference: Measurement
    least: float  # the smallest difference of a pair, in its standard errors
    most: float  # the largest


class VariantRow(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one paradigm at one ε."""

    setting: str  # "synthetic" or "machine-like"
    paradigm: str  # VLCP, VLDP, RLCP or RLDP
    method: str  # its name
    title: str  # for people
    epsilon: float | None  # of the paradigm's unit; None without noise
    epsilon_voter: float | None  # what it costs a voter; None without noise
    accuracy: Measurement  # see `CurvePoint`
    ratio: Measurement  # likewise
    # over the paper's method in this paradigm, repetition by repetition; None for that one itself
    lead: Measurement | None
    lead_in_errors: float | None  # the same in standard errors


class WeightRow(msgspec.Struct, frozen=True, kw_only=True):
    """Plain and weighted means over voters with an ε of their own (reading M9)."""

    setting: str  # "synthetic" or "machine-like"
    is_fixed: bool  # all repetitions have the same voters
    voters: int  # N
    method: str  # without weights
    plain: Measurement  # the accuracy of the plain mean
    weighted: Measurement  # of the weighted one
    gain: Measurement  # repetition by repetition


class ProjectionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A released mean with and without projection to the ball."""

    setting: str  # "synthetic" or "machine-like"
    method: str  # without projection
    epsilon: float  # ε
    error: Measurement  # the squared ℓ₂ distance from what would be released without noise
    error_projected: Measurement  # the same of the projected mean
    accuracy: Measurement  # see `CurvePoint`
    gain: Measurement  # in accuracy, repetition by repetition


class BaselineRow(msgspec.Struct, frozen=True, kw_only=True):
    """What there is without noise (reading M2)."""

    setting: str  # "synthetic" or "machine-like"
    voters: int  # N
    records: int  # n
    features: int  # d
    bound: float  # B of the fits
    society: Measurement  # the accuracy of the mean of all fits, against the mean of the true preferences
    # the mean accuracy of a voter's own fit, against its own true preferences, if these are known
    voter: Measurement | None
    published: float | None  # the paper's number; None where it has none


class SensitivityRow(msgspec.Struct, frozen=True, kw_only=True):
    """The functional mechanism's sensitivity (reading M6)."""

    features: int  # d
    printed: float  # Δ as printed
    tight: float  # the lower bound that is proven
    found: float  # the greatest change that a search found, which no bound can be below


class Reproduction(PaperReproduction, frozen=True, kw_only=True):
    """All numbers of one reproduction, and what follows from them; `trials` are repetitions of each cell."""

    curves: tuple[CurvePoint, ...]  # the points of Figures 1 to 10, each with its ratio to the accuracy without privacy
    effects: tuple[EffectRow, ...]  # what ε, N, n, d and the algorithm change, repetition by repetition
    baselines: tuple[BaselineRow, ...]  # what there is without noise, of the society and of single voters (reading M2)
    variants: tuple[VariantRow, ...]  # all methods of each paradigm at equal ε (readings M3, M4, M6, M8)
    weights: tuple[WeightRow, ...]  # plain and weighted means where voters have an ε of their own (reading M9)
    projections: tuple[ProjectionRow, ...]  # released means, projected to the ball or not
    sensitivities: tuple[SensitivityRow, ...]  # of the functional mechanism: printed, proven, found (reading M6)

    @property
    def tables(self) -> dict[str, tuple[Row, ...]]:
        tables = super().tables
        del tables["curves"]
        return {**{f"figure-{number}": tuple(self.of_figure(number)) for number in range(1, 11)}, **tables}

    def of_figure(self, number: int, panel: str = "", **given: Any) -> list[CurvePoint]:
        """Return the points of a figure, and of one panel where it is named, whose fields are what is given."""
        return where(self.curves, figure=number, **given, **({"panel": panel} if panel else {}))
