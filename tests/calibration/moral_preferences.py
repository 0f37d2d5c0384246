"""What moral preferences state: verdicts and intervals for every society, certainties under their priors, errors.

All voters of a society hold its preferences, so that the release without noise is known. The protocol's own outcome,
`decide` and `compare_societies` then choose, claim and give verdicts.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from calibration.engine import LADDER, Axes, Calibration, Case, Held, Statement
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import RowMechanism
from psephos.protocol.moral_preferences import (
    DIFFERS,
    PRIORS,
    DisclosedPhase,
    MaskedPreferences,
    MoralPreferences,
    Outcome,
    Paradigm,
    Parameters,
    compare_societies,
    decide,
)
from psephos.protocol.moral_preferences.parameters import MechanismName
from psephos.protocol.tally import TallyBlock

_BOUND: Final = 2.0
_RECORDS: Final = 10
_NAMES: Final = ("a", "b", "c")
_LEAVING: Final = 10  # of so many voters one may leave a masked session, and one be with its server
_ROUNDING: Final = 1e-9


@dataclasses.dataclass(frozen=True)
class _Way:
    """One way to release preferences: what is perturbed, whom voters trust, and a price with much noise."""

    mechanism: MechanismName
    paradigm: Paradigm
    price: float


WAYS: Final = {
    "laplace, VLCP": _Way("laplace", Paradigm.VLCP, 0.1),
    "laplace, VLDP": _Way("laplace", Paradigm.VLDP, 1.0),
    "direction, RLCP": _Way("direction", Paradigm.RLCP, 0.01),
    "direction, RLDP": _Way("direction", Paradigm.RLDP, 0.1),
    "laplace, VLMP": _Way("laplace", Paradigm.VLMP, 0.1),
    "direction, RLMP": _Way("direction", Paradigm.RLMP, 0.01),
    "functional, RLDP": _Way("functional", Paradigm.RLDP, 1.0),
}
_ADDITIVE: Final = tuple(way for way in WAYS if not way.startswith("functional"))
SOCIETIES: Final[dict[str, Callable[[FloatArray, float], FloatArray]]] = {
    "none": lambda point, _norm: 0 * point,
    "size": lambda point, norm: point * (norm * 7 % 1),
    "ball": lambda point, _norm: point,
    "weak": lambda point, _norm: point / 10,
    "strong": lambda point, norm: point / (norm * (1 + 1e-12)),
    "single": lambda point, _norm: np.where(np.arange(len(point)) == 0, 0.5, 0.0),
}
"""From a point that is uniform in the ball of radius 1, and its norm there, to the society, in the same ball."""
_AT_ONCE: Final = 16  # sessions
_SESSIONS: Final[Axes] = {
    "way": _ADDITIVE,
    "features": (1, 2, 3, 5, 8, 10, 23),
    "voters": LADDER,
    "times the price": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    "levels": ("one", "two", "one voter pays ten times"),
    "level": (0.2, 0.05, 0.01, 0.001),
    "society": tuple(SOCIETIES),
    "point": tuple(range(16)),
}
_CERTAINTIES: Final[Axes] = {
    "way": tuple(WAYS),
    "features": (3, 10, 23),
    "voters": (100,),
    "times the price": (1.0, 3.0, 10.0),
    "society": PRIORS,
}
_DIFFERENCES: Final[Axes] = {
    "way": tuple(way for way in _ADDITIVE if not WAYS[way].paradigm.model.is_masked),
    "features": (1, 2, 3, 5, 10),
    "sizes": ((1, 1, 1), (2, 1, 1), (5, 3, 1), (20, 10, 5), (100, 1, 1), (100, 50, 25)),
    "times the price": (1.0, 10.0, 100.0, 1_000.0),
    "level": (0.2, 0.05, 0.01, 0.001),
    "societies": ("alike", "one feature", "apart"),
    "society": ("none", "ball", "weak", "strong", "single"),
    "point": tuple(range(16)),
}


def protocol_of(case: Case, **given: Any) -> MoralPreferences | None:
    """Return a session's protocol; None where nobody can have its parameters."""
    way = WAYS[case["way"]]
    price = round(way.price * case["times the price"], 6)
    levels = case.get("levels", "one")
    if levels != "one":
        given["epsilons"] = tuple(round(price * times, 2) for times in ((1, 2) if levels == "two" else (1, 10)))
    else:
        given["epsilon"] = price
    if way.paradigm.model.is_masked:
        leaving = case["voters"] // _LEAVING
        given |= {"threshold": case["voters"] - leaving, "colluders": leaving}
    try:
        protocol = MoralPreferences(
            Parameters(
                features=tuple(f"f{place}" for place in range(case["features"])),
                bound=_BOUND,
                max_records=_RECORDS,
                mechanism=way.mechanism,
                paradigm=way.paradigm,
                **given,
            )
        )
        if isinstance(protocol.phase, MaskedPreferences):  # refuses a single voter
            protocol.phase.check_parties(case["voters"])
    except ConfigurationError:
        return None
    return protocol


def society_of(protocol: MoralPreferences, kind: str, generator: np.random.Generator) -> FloatArray:
    """Return the row that all voters of a society hold, in steps of the summary's grid."""
    size = protocol.parameters.num_features
    if protocol.parameters.mechanism == "direction":
        point = generator.normal(size=size)
        norm = generator.random() ** (1 / size)
        point *= norm / math.sqrt(float(point @ point))
    else:
        shares = generator.exponential(size=size + 1)
        point = shares[:size] / shares.sum() * generator.choice([-1.0, 1.0], size=size)
        norm = float(np.abs(point).sum())
    drawn = point * float(generator.random()) if kind == "size" else SOCIETIES[kind](point, norm)
    return np.trunc(drawn * protocol.summary.bound)


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


def _draws(
    protocol: MoralPreferences, row: IntArray, public: IntArray, generator: np.random.Generator
) -> Iterator[list[FloatArray]]:
    """Yield what sessions are drawn by, one after another: numbers for each mechanism of voters, or of the server.

    Public are voters' society and level of ε, where there are several; each has a row as wide as this one.
    """
    phase, shapes = protocol.phase, list[tuple[int, int]]()
    if isinstance(phase, DisclosedPhase):

        def count(mechanism: RowMechanism, sums: Sequence[int]) -> Sequence[int]:
            shapes.append((1, mechanism.slots_of(len(sums))))
            return sums

        rows = np.tile(row, (len(public), 1))
        phase.randomize_tally(phase.tally(rows, earlier=[], public=public), count)  # a draw for each society
    else:
        shapes += [(len(public[at]), mechanism.slots_of(len(row))) for mechanism, at in phase.mechanism_groups(public)]
    while True:
        yield [generator.random(shape) for shape in shapes]


def _releases(
    protocol: MoralPreferences, rows: IntArray, public: IntArray, drawn: Sequence[Sequence[FloatArray]]
) -> Iterator[Outcome]:
    """Yield what sessions release.

    Args:
        rows: the voters' rows in each session, or in all of them, shape (sessions or 1, voters, numbers).
        public: the voters' public rows.
        drawn: of `_draws`, for each session.
    """
    phase, sessions = protocol.phase, len(drawn)
    uniforms = [np.concatenate(own) for own in zip(*drawn, strict=True)]
    if isinstance(phase, DisclosedPhase):
        clear = TallyBlock.from_tallies([phase.tally(own, earlier=[], public=public) for own in rows]).broadcast(
            sessions
        )
        parts = iter(uniforms)
        tallies = phase.randomize_tallies(clear, lambda mechanism, held: mechanism.randomize_rows(held, next(parts)))
    else:
        rows = np.broadcast_to(rows, (sessions, *rows.shape[1:]))
        reports = np.empty((*rows.shape[:2], phase.num_reported), dtype=np.int64)
        for (mechanism, places), own in zip(phase.mechanism_groups(public), uniforms, strict=True):
            held = rows[:, places]
            told = mechanism.randomize_rows(held.reshape(-1, held.shape[2]), own)
            reports[:, places] = told.reshape(*held.shape[:2], -1)
        tallies = phase.tally_block(reports, earlier=[], public=public)
    yield from (protocol.outcome([tallies.tally(number)]) for number in range(sessions))


def _public_of(protocol: MoralPreferences, case: Case) -> IntArray:
    """Return the voters' levels of ε, where there are several."""
    voters = case["voters"]
    own = [place % 2 if case.get("levels") == "two" else int(place == 0) for place in range(voters)]
    levels = np.array(own, dtype=np.int64)
    return levels[:, None] if protocol.parameters.is_personal else np.empty((voters, 0), dtype=np.int64)


def sessions_of(
    protocol: MoralPreferences, society: FloatArray, case: Case, sessions: int, generator: np.random.Generator
) -> Iterator[Outcome]:
    """Yield what sessions release in which all voters hold the same."""
    row, public = _row_of(protocol, society), _public_of(protocol, case)
    drawn = [*itertools.islice(_draws(protocol, row, public, generator), sessions)]
    return _releases(protocol, np.tile(row, (1, case["voters"], 1)), public, drawn)


def _pair(protocol: MoralPreferences, change: FloatArray) -> dict[str, float]:
    """Return an alternative that differs by so much in each feature from one that has none."""
    values: list[float] = change.tolist()
    return dict(zip(protocol.parameters.features, values, strict=True))


def _prefers_first(society: FloatArray, change: FloatArray) -> bool:
    pairs: list[tuple[float, float]] = np.stack([society, change], axis=1).tolist()
    return math.fsum(own * value for own, value in pairs) > 0


def _hold_verdicts(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold verdicts on pairs between which a society is nearly indifferent."""
    protocol = protocol_of(case)
    if protocol is None:
        return None
    fixed = np.random.default_rng([case["point"], case["features"]])
    society = society_of(protocol, case["society"], fixed)
    change: FloatArray = fixed.normal(size=protocol.parameters.num_features)
    if length := float(society @ society):
        change -= society * (float(change @ society) / length)  # nobody prefers either
        change -= society * (1e-9 / math.sqrt(length))  # all prefer the second, by next to nothing
    pair = _pair(protocol, change)
    is_first = _prefers_first(society, change)
    wrong = np.zeros(sessions)
    for session, outcome in enumerate(sessions_of(protocol, society, case, sessions, generator)):
        decision = decide(outcome, pair, {}, level=case["level"])
        # Where nobody prefers either, each verdict is wrong, and has the level.
        denied = {"second"} if is_first else {"first"}
        wrong[session] = decision.verdict in denied
    return Held(np.full(sessions, case["level"]), wrong)


def _hold_certainties(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    protocol = protocol_of(case)
    if protocol is None:
        return None
    public = _public_of(protocol, case)
    draws = _draws(protocol, _row_of(protocol, np.zeros(protocol.parameters.num_features)), public, generator)

    def drawn() -> tuple[FloatArray, list[FloatArray], FloatArray]:
        society = society_of(protocol, case["society"], generator)
        return society, next(draws), generator.normal(size=protocol.parameters.num_features)

    stated, wrong = list[float](), list[bool]()
    for start in range(0, sessions, _AT_ONCE):
        societies, uniforms, changes = zip(
            *(drawn() for _ in range(start, min(start + _AT_ONCE, sessions))), strict=True
        )
        rows = np.stack([np.tile(_row_of(protocol, society), (case["voters"], 1)) for society in societies])
        outcomes = _releases(protocol, rows, public, uniforms)
        for society, change, outcome in zip(societies, changes, outcomes, strict=True):
            decision = decide(outcome, _pair(protocol, change), {}, prior=case["society"])
            stated.append(1 - (decision.certainty or 0.0))
            wrong.append((decision.choice == "first") != _prefers_first(society, change))
    return Held(np.array(stated), np.array(wrong, dtype=np.float64))


def _hold_differences(case: Case, sessions: int, generator: np.random.Generator, *, of_intervals: bool) -> Held | None:
    """Hold all verdicts on differences between three societies at once, or all intervals."""
    protocol = protocol_of(case, societies=_NAMES)
    if protocol is None:
        return None
    fixed = np.random.default_rng([case["point"], case["features"]])
    rows = [society_of(protocol, case["society"], fixed) for _ in _NAMES]
    if case["societies"] != "apart":
        rows = [rows[0].copy() for _ in _NAMES]
        rows[1][0] *= case["societies"] == "alike"
    clean = {name: _clean(protocol, row) for name, row in zip(_NAMES, rows, strict=True)}
    public = np.repeat(np.arange(len(_NAMES)), case["sizes"])[:, None]
    held = np.stack([_row_of(protocol, row) for row in rows])[public[:, 0]]
    drawn = [*itertools.islice(_draws(protocol, held[0], public, generator), sessions)]
    wrong = np.zeros(sessions)
    for session, outcome in enumerate(_releases(protocol, held[None], public, drawn)):
        for each in compare_societies(outcome, level=case["level"]):
            true = clean[each.more][each.feature] - clean[each.less][each.feature]
            if of_intervals:
                low, high = each.low, each.high
                misses = low is not None and high is not None and not low - _ROUNDING <= true <= high + _ROUNDING
            else:
                misses = each.verdict == DIFFERS and true <= 0
            wrong[session] = max(wrong[session], float(misses))
    return Held(np.full(sessions, case["level"]), wrong)


def _clean(protocol: MoralPreferences, row: FloatArray) -> dict[str, float]:
    """Return what would be released of a society without noise."""
    (preferences,) = protocol.summary.preferences_of(row[None] * protocol.summary.step, 0.0)
    return dict(zip(protocol.parameters.features, preferences.tolist(), strict=True))


def _hold_errors(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold squared errors of preferences that are not projected against their stated errors."""
    protocol = protocol_of(case)
    if protocol is None or protocol.parameters.mechanism == "direction":
        return None
    society = society_of(protocol, case["society"], np.random.default_rng([case["point"], case["features"]]))
    true = list(_clean(protocol, society).values())
    pairs: list[tuple[float, float]] = []
    for outcome in sessions_of(protocol, society, case, sessions, generator):
        if outcome.errors is not None and not outcome.is_projected:
            ratios = [
                ((own - value) / error) ** 2
                for own, value, error in zip(outcome.preferences, true, outcome.errors, strict=True)
            ]
            pairs.append((1.0, math.fsum(ratios) / len(ratios)))
    return Held(*map(np.array, zip(*pairs, strict=True))) if pairs else None


def _statements() -> Sequence[Statement]:
    return [
        Statement(
            name="verdict on a pair",
            about=(
                "a verdict names the alternative that the release without noise does not prefer with no more "
                "probability than the level; the society prefers the other one by next to nothing."
            ),
            axes=_SESSIONS,
            hold=_hold_verdicts,
        ),
        Statement(
            name="certainty",
            about=(
                "a choice is another one without noise with 1 less the stated certainty, under the prior that it "
                "names: the society anywhere in its ball, or in a ball of any size. Of Algorithm 3 (`functional`) it "
                "is from a simulation."
            ),
            axes=_CERTAINTIES,
            hold=_hold_certainties,
            kind="on average",
        ),
        Statement(
            name="verdicts on differences",
            about="verdicts on differences between three societies are wrong with no more probability than the level.",
            axes=_DIFFERENCES,
            hold=functools.partial(_hold_differences, of_intervals=False),
        ),
        Statement(
            name="intervals of differences",
            about="any interval misses the difference without noise with no more probability than the level.",
            axes=_DIFFERENCES,
            hold=functools.partial(_hold_differences, of_intervals=True),
        ),
        Statement(
            name="standard error of preferences",
            about="squared errors, in squared standard errors, over features, are 1 at most on average.",
            axes={axis: values for axis, values in _SESSIONS.items() if axis != "level"},
            hold=_hold_errors,
            kind="error",
        ),
    ]


CALIBRATION: Final = Calibration(
    title="Moral preferences",
    about=(
        "Verdicts and intervals need no prior. A certainty does: where a society is weak for its ball, `ball` states "
        "too few errors, and `size` less so; of strong ones `size` states too many. Near indifference half of all "
        "choices are wrong, whatever is stated. Algorithm 3 has no verdict. In VLMP and RLMP each voter adds a share "
        "of the noise, and a tenth of them may leave or be with the server."
    ),
    statements=_statements,
)
