"""How well decisions of a society hold: certainties under both priors, verdicts, and how often these decide.

A society is drawn in the ball of its release, and all its voters hold its preferences, so that the release without
noise is known. The protocol's own outcome and its own `decide` then choose, claim and give a verdict.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import RowMechanism
from ...protocol.moral_preferences import (
    DIFFERS,
    PRIORS,
    MoralPreferences,
    Outcome,
    Paradigm,
    Parameters,
    PerturbedPhase,
    PriorName,
    compare_societies,
    decide,
)
from ..experiments.calibration import Calibration, Claims, Drawn, claims_of
from ..experiments.pooling import pool_by, verdict_columns, written_share
from ..experiments.sheets import flat
from ..tables import Table, listed

__all__ = [
    "CALIBRATION",
    "DIVISIONS",
    "SOCIETIES",
    "WAYS",
    "Cell",
    "DifferencesCell",
    "Way",
    "measure",
    "measure_differences",
]

_VOTERS: Final = 100
_BOUND: Final = 2.0
_RECORDS: Final = 10
_FEATURES: Final = (3, 10, 23)
_NAMES: Final = ("a", "b", "c")
_SIZES: Final = (100, 50, 25)
"""Of societies that are compared, by which their noise differs."""
_FEATURES_COMPARED: Final = (3, 10)
_TIMES_DEARER: Final = 10
"""Of the societies that are compared: they have few voters, and a price at which nothing is decided shows nothing."""
_ROUNDING: Final = 1e-9


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to release preferences.

    Args:
        mechanism: what is perturbed.
        paradigm: whom voters trust.
        epsilons: prices, from much noise to little.
    """

    mechanism: str
    paradigm: Paradigm
    epsilons: tuple[float, ...]


WAYS: Final = {
    "laplace, VLCP": Way("laplace", Paradigm.VLCP, (0.1, 0.3, 1.0)),
    "laplace, VLDP": Way("laplace", Paradigm.VLDP, (1.0, 3.0, 10.0)),
    "direction, RLCP": Way("direction", Paradigm.RLCP, (0.01, 0.03, 0.1)),
    "direction, RLDP": Way("direction", Paradigm.RLDP, (0.1, 0.3, 1.0)),
    "functional, RLDP": Way("functional", Paradigm.RLDP, (1.0, 3.0, 10.0)),
}

Society = Callable[[FloatArray, float, np.random.Generator], FloatArray]
"""From a point that is uniform in the ball of radius 1, and its norm there, to the society, in the same ball."""


def _single(point: FloatArray, norm: float, generator: np.random.Generator) -> FloatArray:
    del norm
    single = np.zeros_like(point)
    single[generator.integers(len(point))] = 0.5
    return single


SOCIETIES: Final[dict[str, tuple[str, Society]]] = {
    "ball": ("anywhere in the ball: the prior `ball`", lambda point, _norm, _generator: point),
    "size": (
        "anywhere in a ball of any size: the prior `size`",
        lambda point, _norm, generator: point * float(generator.random()),
    ),
    "weak": ("anywhere in a ball of a tenth of the size", lambda point, _norm, _generator: point / 10),
    "strong": ("on the ball's surface", lambda point, norm, _generator: point / norm),
    "single": ("half of the bound, on one feature", _single),
}
"""By name, with words; the named priors first."""


DIVISIONS: Final = {
    "alike": "all of them prefer the same, so that whatever differs is noise",
    "one feature": "one of them differs, in one feature",
    "apart": "each is anywhere in the ball by itself",
}
"""How three societies differ, by name."""


class Cell(Claims, frozen=True, kw_only=True):
    """Claims and verdicts of one way, number of features, price, law of societies and prior.

    Args:
        way: the mechanism and the paradigm.
        num_features: d.
        epsilon: the price.
        society: by which societies were drawn.
        prior: under which certainties are claimed; what is claimed here is 1 less the certainty.
        decided: the share of verdicts that are not too close to tell; nan where there are none.
        verdicts_wrong: the share of all verdicts that are wrong; nan where there are none.
    """

    way: str
    num_features: int
    epsilon: float
    society: str
    prior: str
    decided: float
    verdicts_wrong: float


def measure(
    way: str, *, num_features: int, epsilon: float, society: str, trials: int, seed: int, level: float | None = None
) -> list[Cell]:
    """Return a cell for each prior, of the same sessions.

    Args:
        way: one of `WAYS`.
        num_features: d.
        epsilon: the price.
        society: one of `SOCIETIES`.
        trials: societies, each with one session and one pair of alternatives.
        seed: of everything drawn.
        level: of the verdicts; by default the protocol's own default.
    """
    features = tuple(f"f{place}" for place in range(num_features))
    given: dict[str, Any] = {"mechanism": WAYS[way].mechanism, "paradigm": WAYS[way].paradigm}
    protocol = MoralPreferences(
        Parameters(features=features, epsilon=epsilon, bound=_BOUND, max_records=_RECORDS, **given)
    )
    places = list(WAYS).index(way), num_features, round(1000 * epsilon), list(SOCIETIES).index(society)
    generator = np.random.default_rng([seed, *places])
    claimed: dict[PriorName, FloatArray] = {prior: np.empty(trials) for prior in PRIORS}
    wrong, decided, misled = (np.zeros(trials, dtype=np.bool_) for _ in range(3))
    for trial in range(trials):
        row = _draw_society(protocol, society, generator)
        outcome = _session(protocol, row, generator)
        change: list[float] = generator.normal(size=num_features).tolist()
        pair = dict(zip(features, change, strict=True))
        is_first = math.fsum(own * value for own, value in zip(row.tolist(), change, strict=True)) > 0
        for prior, claims in claimed.items():
            decision = decide(outcome, pair, {}, level=level, prior=prior)
            claims[trial] = 1 - (decision.certainty or 0.0)
            wrong[trial] = (decision.choice == "first") != is_first
            decided[trial] = decision.verdict == decision.choice
        misled[trial] = decided[trial] and wrong[trial]
    has_verdicts = given["mechanism"] != "functional"
    return [
        Cell(
            **msgspec.structs.asdict(claims_of(claims, wrong)),
            way=way,
            num_features=num_features,
            epsilon=epsilon,
            society=society,
            prior=prior,
            decided=float(decided.mean()) if has_verdicts else math.nan,
            verdicts_wrong=float(misled.mean()) if has_verdicts else math.nan,
        )
        for prior, claims in claimed.items()
    ]


class DifferencesCell(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts on all differences between three societies, of one way, number of features, price and division.

    Args:
        way: the mechanism and the paradigm.
        num_features: d.
        epsilon: the price.
        division: how the societies differ.
        number: of sessions.
        compared: differences in each session, in all of which verdicts and intervals hold at once.
        decided: the share of all differences that are said to hold.
        wrong: the share of sessions in which any verdict is wrong.
        missed: the share of sessions in which any interval is without the difference that there is without noise.
    """

    way: str
    num_features: int
    epsilon: float
    division: str
    number: int
    compared: int
    decided: float
    wrong: float
    missed: float


def measure_differences(
    way: str, *, num_features: int, epsilon: float, division: str, trials: int, seed: int, level: float | None = None
) -> DifferencesCell:
    """Return a cell of differences between societies.

    Args:
        way: one of `WAYS`, but Algorithm 3, which has no verdicts.
        num_features: d.
        epsilon: the price.
        division: one of `DIVISIONS`.
        trials: sessions, each of three societies.
        seed: of everything drawn.
        level: of all verdicts of a session together; by default the protocol's own default.
    """
    features = tuple(f"f{place}" for place in range(num_features))
    given: dict[str, Any] = {"mechanism": WAYS[way].mechanism, "paradigm": WAYS[way].paradigm}
    protocol = MoralPreferences(
        Parameters(features=features, epsilon=epsilon, bound=_BOUND, max_records=_RECORDS, societies=_NAMES, **given)
    )
    places = list(WAYS).index(way), num_features, round(1000 * epsilon), list(DIVISIONS).index(division)
    generator = np.random.default_rng([seed, *places])
    decided, wrong, missed = 0, 0, 0
    compared = num_features * math.comb(len(_NAMES), 2)
    for _ in range(trials):
        rows = _divided(protocol, division, generator)
        clean = {name: _clean(protocol, row) for name, row in zip(_NAMES, rows, strict=True)}
        found = compare_societies(_session_of_societies(protocol, rows, generator), level=level)
        errs, misses = False, False
        for each in found:
            true = clean[each.more][each.feature] - clean[each.less][each.feature]
            holds = each.verdict == DIFFERS
            decided += holds
            errs |= holds and true <= 0
            low, high = each.low, each.high
            misses |= low is not None and high is not None and not low - _ROUNDING <= true <= high + _ROUNDING
        wrong += errs
        missed += misses
    return DifferencesCell(
        way=way,
        num_features=num_features,
        epsilon=epsilon,
        division=division,
        number=trials,
        compared=compared,
        decided=decided / (trials * compared),
        wrong=wrong / trials,
        missed=missed / trials,
    )


def _divided(protocol: MoralPreferences, division: str, generator: np.random.Generator) -> list[FloatArray]:
    """Return the row that all voters of each society hold, in steps of the summary's grid."""
    rows = [_draw_society(protocol, "ball", generator) for _ in _NAMES]
    if division == "apart":
        return rows
    same = [rows[0].copy() for _ in _NAMES]
    if division == "one feature":
        same[1][generator.integers(len(rows[0]))] = 0
    return same


def _clean(protocol: MoralPreferences, row: FloatArray) -> dict[str, float]:
    """Return what would be released of a society without noise."""
    preferences = protocol.summary.preferences_of(row * protocol.summary.step, 0.0)
    return dict(zip(protocol.parameters.features, preferences.tolist(), strict=True))


def _session_of_societies(
    protocol: MoralPreferences, rows: Sequence[FloatArray], generator: np.random.Generator
) -> Outcome:
    """Return what a session releases in which all voters of a society hold the same."""
    phase = protocol.phase
    public = np.repeat(np.arange(len(_SIZES)), _SIZES)[:, None]
    held = np.stack([_row_of(protocol, row) for row in rows])[public[:, 0]]

    def drawn(mechanism: RowMechanism, held: IntArray) -> IntArray:
        return mechanism.randomize_rows(held, generator.random((len(held), mechanism.slots_of(held.shape[1]))))

    if isinstance(phase, PerturbedPhase):
        return protocol.outcome([phase.tally(drawn(phase.mechanism, held), earlier=[], public=public)])
    tally = phase.tally(held, earlier=[], public=public)
    return protocol.outcome(
        [phase.randomize_tally(tally, lambda mechanism, sums: drawn(mechanism, np.array([sums]))[0].tolist())]
    )


def _draw_society(protocol: MoralPreferences, society: str, generator: np.random.Generator) -> FloatArray:
    """Return the row that all voters of a society hold, in steps of the summary's grid."""
    summary, size = protocol.summary, protocol.parameters.num_features
    if protocol.parameters.mechanism == "direction":
        point = generator.normal(size=size)
        norm = generator.random() ** (1 / size)
        point *= norm / math.sqrt(float(point @ point))
    else:
        shares = generator.exponential(size=size + 1)
        point = shares[:size] / shares.sum() * generator.choice([-1.0, 1.0], size=size)
        norm = float(np.abs(point).sum())
    drawn = SOCIETIES[society][1](point, norm * (1 + 1e-12), generator)
    return np.trunc(drawn * summary.bound)


def _row_of(protocol: MoralPreferences, society: FloatArray) -> IntArray:
    """Return what a voter of a society discloses or perturbs.

    Of an objective these are the coefficients of as many records as a voter may have, of length 1 and spread equally,
    whose maximum is where the society is.
    """
    if protocol.parameters.mechanism != "functional":
        return society.astype(np.int64)
    size, summary = len(society), protocol.summary
    curvature = _RECORDS / (math.pi * size)
    rows, columns = np.triu_indices(size)
    place = society * (_BOUND / summary.bound)
    coefficients = np.concatenate([2 * curvature * place, np.where(rows == columns, -curvature, 0.0)])
    return np.rint(coefficients / summary.step).astype(np.int64)


def _session(protocol: MoralPreferences, row: FloatArray, generator: np.random.Generator) -> Outcome:
    """Return what a session of voters releases who all hold the same."""
    phase = protocol.phase
    size = protocol.summary.num_values
    rows = np.tile(_row_of(protocol, row), (_VOTERS, 1))
    public = np.empty((_VOTERS, 0), dtype=np.int64)
    if isinstance(phase, PerturbedPhase):
        rows = phase.mechanism.randomize_rows(rows, generator.random((_VOTERS, phase.mechanism.slots_of(size))))
        return protocol.outcome([phase.tally(rows, earlier=[], public=public)])
    sums = phase.tally(rows, earlier=[], public=public).totals
    uniforms = generator.random((1, phase.tally_mechanism.slots_of(size)))
    return protocol.outcome([Tally(_VOTERS, phase.tally_mechanism.randomize_rows(sums[None], uniforms)[0])])


def _tables(asked: Drawn) -> Iterator[Table]:
    cells: list[Cell] = []
    for way, of_way in WAYS.items():
        asked.tell(f"moral-preferences: {way}")
        for size in _FEATURES:
            for epsilon in of_way.epsilons:
                for society in SOCIETIES:
                    cells += measure(
                        way,
                        num_features=size,
                        epsilon=epsilon,
                        society=society,
                        trials=asked.trials,
                        seed=asked.seed,
                    )
    for society, (words, _) in SOCIETIES.items():
        rows = [cell for cell in cells if cell.society == society]
        yield listed(
            pool_by(rows, "way", "prior"),
            verdict_columns(release="way", prior="prior"),
            caption=f"Societies: `{society}`",
            note=f"{words}. Over {', '.join(map(str, _FEATURES))} features and three prices each; {_VOTERS} voters.",
            labels=2,
            name=society,
            full=flat(rows),
        )
    yield _table_of_differences(asked)


def _table_of_differences(asked: Drawn) -> Table:
    """Return how verdicts on differences between societies hold, all of a session's at once."""
    asked.tell("moral-preferences: differences between societies")
    cells = [
        measure_differences(
            way,
            num_features=size,
            epsilon=_TIMES_DEARER * of_way.epsilons[-1],
            division=division,
            trials=asked.trials,
            seed=asked.seed,
        )
        for way, of_way in WAYS.items()
        if of_way.mechanism != "functional"
        for division in DIVISIONS
        for size in _FEATURES_COMPARED
    ]
    return listed(
        cells,
        [
            ("release", lambda cell: cell.way),
            ("societies", lambda cell: cell.division),
            ("ε", lambda cell: f"{cell.epsilon:g}"),
            ("differences", lambda cell: f"{cell.compared}"),
            ("said to hold", lambda cell: written_share(cell.decided)),
            ("sessions with a wrong verdict", lambda cell: written_share(cell.wrong)),
            ("sessions with a missed interval", lambda cell: written_share(cell.missed)),
        ],
        caption="Differences between three societies: all verdicts at once",
        note=f"{'; '.join(f'{name}: {words}' for name, words in DIVISIONS.items())}. Societies of "
        f"{', '.join(map(str, _SIZES))} voters. By design at most 0.05 of sessions have a wrong verdict or a missed "
        f"interval; shares of {asked.trials:,} sessions scatter by {math.sqrt(0.05 * 0.95 / asked.trials):.3f}.",
        labels=2,
        name="differences",
        full=flat(cells),
    )


CALIBRATION: Final = Calibration(
    title="Moral preferences",
    about=(
        "What is claimed is 1 less a decision's certainty: the probability that the release without noise would choose "
        "otherwise, under the prior that the decision names, `ball` unless told otherwise. Pairs of alternatives "
        "differ in each feature by a normal law. Where a society is weak for its ball, `ball` claims too few errors, "
        "and `size` less so; of strong ones `size` claims too many. *Verdicts given* is the share that is not too "
        "close to tell at 5 %, *verdicts wrong* the share of all pairs whose verdict is wrong; Algorithm 3 "
        "(`functional`) has none, and its certainties are from a simulation of its noise. Verdicts on differences "
        "between societies are held to 5 % for all of a session's differences together."
    ),
    tables=_tables,
    steps=len(WAYS) + 1,
)
"""The part of moral preferences of `psephos calibrate`."""
