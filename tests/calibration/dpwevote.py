"""What DPWeVote states: verdicts for every truth, probabilities of errors under their priors, and standard errors.

Sessions of one truth are drawn together by the protocol's own randomizers. A verdict depends on the margin alone, and
the surer the farther off that is, so that the protocol's outcome is asked where it turns, and not of every session.
"""

import bisect
import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from calibration.engine import LADDER, Axes, Calibration, Case, Held, Statement, draw_sessions
from numpy.typing import NDArray
from psephos.protocol import Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import Verdict
from psephos.protocol.mechanisms import MAX_EPSILON, RowMechanism
from psephos.protocol.phases import MaskedPhase
from vote_margins import margin_of

_DIGITS: Final = 15
"""Of entries of matrices, whose rows must add up to 1 as they are written."""
_MOST_ROWS: Final = 200_000
"""Of all parties of all sessions that are drawn at once."""
_LEAVING: Final = 10
"""Of so many partners one may leave a masked vote, and one be with its server."""
_QUOTAS: Final[dict[str, dict[str, Any]]] = {
    "half": {},
    "more than half": {"passes": "more_than"},
    "two thirds": {"quota_fraction": 2 / 3},
    "all": {"quota_fraction": 1.0},
    "fixed": {"quota": 1.5},
}
_SESSIONS: Final[Axes] = {
    "variant": ("joint", "joint, split", "laplace", "two_point", "signed_rr", "optimal", "public", "public laplace",
                "matrices", "public matrices", "central", "public central", "central, decisions", "masked",
                "public masked"),
    "epsilon": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0),
    "level": (0.2, 0.05, 0.01, 0.001),
    "partners": (*LADDER, 200, 1000),
    "weights": ("even", "geometric", "two scales", "decimals"),
    "light": (1, 2, 3, 5, 8, 16, 31, 53, 65, 95),
    "heavy": (0, 1, 2, 3, 5),
    "ratio": (2, 3, 10, 30, 100, 1_000, 1_000_000),
    "held": ("all kinds", "the lightest", "the heaviest", "one heavy", "three heavy", "half heavy"),
    "yes": ("light ones", "heavy ones", "every other one"),
    "quota": tuple(_QUOTAS),
    "wrong": ("passes", "fails"),
    "candidates": (1, 2, 5),
}  # fmt: skip
_FEW_WEIGHTS: Final[Axes] = {"light": (1, 2, 3), "heavy": (0, 1)}
"""The optimal mechanism is designed for a set of weights: seconds for few, minutes for many."""
_OF_LEVELS: Final = ("two_point, levels", "signed_rr, levels")
"""One partner in twenty has a tenth of the price as its own ε, a fifth the price, the others three times as much."""
_OF_HEAVY: Final = "public central, heavy"
"""Opinions of the upper half of all weights pass randomized response one by one."""


def vote_of(case: Case) -> DPWeVote | None:
    """Return a session's protocol; None where nobody can have its parameters."""
    given: dict[str, Any] = dict(_QUOTAS[case.get("quota", "half")])
    variant, _, kind = case["variant"].partition(", ")
    is_public = variant.startswith("public")
    variant = variant.removeprefix("public").strip() or "joint"
    given |= {"public_weights": is_public, "weights": _weights_of(case), "epsilon": case["epsilon"]}
    if variant == "matrices":
        given |= matrices_of(case["epsilon"], len(given["weights"]), is_public=is_public)
        variant = "joint"
    if variant == "masked":
        leaving = case["partners"] // _LEAVING
        given |= {"threshold": case["partners"] - leaving, "colluders": leaving}
    if kind == "heavy":  # the upper half of all weights, or all
        light = given["weights"][: len(given["weights"]) // 2]
        given |= {"noise_weight": light[-1] if light else 0.0}
    if kind == "decisions":
        given |= {"release": "decision"}
    if kind == "split":
        given |= {"epsilon_weight": case["epsilon"] / 5, "epsilon_opinion": 4 * case["epsilon"] / 5}
    if kind == "levels":
        greatest = min(3 * case["epsilon"], MAX_EPSILON)
        given |= {"epsilon": 1.0, "epsilons": tuple(sorted({case["epsilon"] / 10, case["epsilon"], greatest}))}
    names = tuple(f"c{place}" for place in range(case.get("candidates", 1)))
    try:
        vote = DPWeVote(Parameters(candidates=names, variant=variant, level=case.get("level", 0.05), **given))
        # The optimal mechanism refuses many weights, a masked vote a single partner.
        for phase in vote.phases:
            if isinstance(phase, MaskedPhase):
                phase.check_parties(case["partners"])
    except ConfigurationError:
        return None
    return vote


def matrices_of(epsilon: float, num_weights: int = 3, *, is_public: bool = False) -> dict[str, Any]:
    """Return matrices that are not k-RR's, nor alike in all values, at a price: half of it for each report.

    Opinions: a yes is told half as often as randomized response does, so that who reports one says more by it than who
    reports a no. Weights: the nearer a group is to the true one, the likelier it is reported, each step by e^(ε/4).

    Args:
        epsilon: the price of a candidate.
        is_public: whether weights are, so that there is no matrix for them.
    """
    half = math.exp(epsilon / 2)
    yes = 0.5 / (1 + half)
    opinions = [(round(1 - own, _DIGITS), round(own, _DIGITS)) for own in (yes, yes * half)]
    if is_public:
        return {"epsilon": 1.0, "opinion_matrix": tuple(opinions)}
    steps = np.abs(np.subtract.outer(range(num_weights), range(num_weights)))
    decays = np.exp(-epsilon / 2 / max(num_weights - 1, 1) * steps)
    rows: list[list[float]] = (decays / decays.sum(axis=1, keepdims=True)).round(_DIGITS).tolist()
    told = tuple((round(1 - math.fsum(row[1:]), _DIGITS), *row[1:]) for row in rows)
    return {"epsilon": 1.0, "weight_matrix": told, "opinion_matrix": tuple(opinions)}


def _weights_of(case: Case) -> tuple[float, ...]:
    """Return a public set: so many light weights, and heavy ones above them."""
    if "weights" not in case:
        return (1.0, 2.0, 3.0)
    light, heavy, ratio = case["light"], case["heavy"], case["ratio"]
    match case["weights"]:
        case "even":
            weights = [float(place) for place in range(1, light + heavy + 1)]
        case "geometric":
            weights = [ratio ** (place / max(light - 1, 1)) for place in range(light)]
            weights += [ratio * (2.0 + place) for place in range(heavy)]
        case "two scales":
            weights = [float(place) for place in range(1, light + 1)]
            weights += [float(ratio * light * place) for place in range(1, heavy + 1)]
        case _:
            weights = [round(1 + place * 0.37 + 0.01 * place * place, 2) for place in range(light)]
            weights += [round(weights[-1] * ratio * place + 0.1, 2) for place in range(1, heavy + 1)]
    return tuple(dict.fromkeys(weights))


class Truth(NamedTuple):
    """Who holds what, shape (partners,), and whether the candidate passes."""

    weights: FloatArray
    opinions: IntArray  # the same of all candidates
    passes: bool


def truth_of(case: Case, parameters: Parameters) -> Truth | None:
    """Return partners whose "yes" is as near to the quota as adding them up one by one brings it, on the wrong side."""
    number, every = case["partners"], parameters.weights
    heavy = every[-max(case["heavy"], 1) :]
    light = [weight for weight in every if weight not in heavy] or every
    of_kind: dict[str, tuple[Sequence[float], int]] = {
        "the lightest": (every[:1], 0),
        "the heaviest": (every[-1:], number),
        "one heavy": (light, 1),
        "three heavy": (light, 3),
        "half heavy": (light, number // 2),
        "all kinds": (every, 0),
    }
    kinds, num_heavy = of_kind[case["held"]]
    held = [*itertools.islice(itertools.cycle(heavy), min(num_heavy, number))]
    held += itertools.islice(itertools.cycle(kinds), number - len(held))
    held.sort(reverse=case["yes"] == "heavy ones")
    if case["yes"] == "every other one":
        held = held[::2] + held[1::2]
    exact = [Fraction(str(weight)) for weight in held]
    quota = parameters.exact_fraction * sum(exact) + Fraction(str(parameters.quota or 0))

    def passes(support: Fraction) -> bool:
        return support >= quota if parameters.passes == "at_least" else support > quota

    # "Passes" is wrong of as much "yes" as fails; "fails" of as much "no" as does not.
    is_failing, total, told = case["wrong"] == "passes", sum(exact), Fraction(0)
    opinions: list[int] = []
    for weight in exact:
        support = told + weight if is_failing else total - told - weight
        is_told = passes(support) is not is_failing
        told += weight if is_told else 0
        opinions.append(int(is_told == is_failing))
    support = told if is_failing else total - told
    if passes(support) is is_failing:
        return None
    return Truth(np.array(held), np.array(opinions, dtype=np.int64), not is_failing)


def _draw_row(generator: np.random.Generator, mechanism: RowMechanism, row: Sequence[int]) -> list[int]:
    uniforms = generator.random((1, mechanism.slots_of(len(row))))
    drawn: list[int] = mechanism.randomize_rows(np.array([row], dtype=np.int64), uniforms)[0].tolist()
    return drawn


class Sessions:
    """Sessions of one truth, whose outcomes are made when they are asked for."""

    def __init__(self, vote: DPWeVote, truth: Truth, number: int, generator: np.random.Generator) -> None:
        self.vote, self.number, self._size = vote, number, len(truth.weights)
        columns = dict.fromkeys(vote.parameters.candidates, truth.opinions)
        table: dict[str, Any] = {"weight": truth.weights, **columns}
        if levels := vote.parameters.own_levels.epsilons:
            # Few have the smallest, and with it nearly all of the noise.
            held = np.full(self._size, levels[-1])
            held[1::5], held[::20] = levels[1], levels[0]
            table["epsilon"] = held
        inputs = vote.encode(table)
        self._public = inputs.public
        self._reports, self._released = list[IntArray](), list[Tally]()
        if vote.trusts_server:
            (phase,) = vote.phases
            clear = phase.tally(inputs.private[:, phase.columns], earlier=[], public=inputs.public)
            draw = functools.partial(_draw_row, generator)
            self._released = [phase.randomize_tally(clear, draw) for _ in range(number)]
        else:
            self._reports = [draw_sessions(phase, inputs, number, generator) for phase in vote.phases]

    def outcome(self, session: int) -> Outcome:
        """Return what a session releases."""
        if self._released:
            return self.vote.outcome([self._released[session]])
        own = slice(session * self._size, (session + 1) * self._size)
        tallies: list[Tally] = []
        for place, phase in enumerate(self.vote.phases):
            earlier = [reports[own] for reports in self._reports[:place]]
            tallies.append(phase.tally(self._reports[place][own], earlier=earlier, public=self._public))
        return self.vote.outcome(tallies)

    def margins(self) -> FloatArray:
        """Return each session's margins, shape (sessions, candidates), or what they are but for a number of all."""
        if self._released:
            num_candidates = len(self.vote.parameters.candidates)
            return np.array([tally.totals[:num_candidates] for tally in self._released], dtype=np.float64)
        public = np.tile(self._public, (self.number, 1))
        each = self.vote.contributions(self._reports, public)
        return each.reshape(self.number, self._size, -1).sum(axis=1)

    def share_of(self, verdict: Verdict) -> NDArray[np.bool_]:
        """Return in which sessions any candidate has this verdict."""
        margins = self.margins()
        farthest = margins.max(axis=1) if verdict is Verdict.PASSES else -margins.min(axis=1)
        order: list[int] = np.argsort(-farthest, kind="stable").tolist()

        def is_other(session: int) -> bool:
            return all(candidate.verdict.verdict is not verdict for candidate in self.outcome(session).candidates)

        found = np.zeros(self.number, dtype=np.bool_)
        found[order[: bisect.bisect_left(order, x=True, key=is_other)]] = True
        return found


def _hold_verdicts(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    vote = vote_of(case)
    if vote is None or (truth := truth_of(case, vote.parameters)) is None:
        return None
    verdict = Verdict.FAILS if truth.passes else Verdict.PASSES
    most = max(_MOST_ROWS // len(truth.weights), 1)
    found = [
        Sessions(vote, truth, min(most, sessions - start), generator).share_of(verdict)
        for start in range(0, sessions, most)
    ]
    stated = min(1.0, vote.parameters.level * len(vote.parameters.candidates))
    return Held(np.full(sessions, stated), np.concatenate(found).astype(np.float64))


def _hold_errors(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold the squared errors of margin and support against their squared standard errors."""
    vote = vote_of(case)
    if vote is None or (truth := truth_of(case, vote.parameters)) is None:
        return None
    held, parameters = Sessions(vote, truth, sessions, generator), vote.parameters
    support = float((truth.weights * truth.opinions).sum())
    margin = support - parameters.fraction * float(truth.weights.sum()) - (parameters.quota or 0.0)
    candidates = [held.outcome(session).candidates[0] for session in range(sessions)]
    stated = [margin_of(candidate).standard_error ** 2 for candidate in candidates]
    errors = [margin_of(candidate).value - candidate.bias - margin for candidate in candidates]
    return Held(np.array(stated), np.array([error**2 for error in errors]))


def _statements() -> list[Statement]:
    verdicts = [
        Statement(
            name=f"verdict: {variant}",
            about=(
                "no verdict of a session is wrong with more probability than the level, times the candidates. Truths "
                "are as near to the quota as partners can be, on the side that the verdict denies."
            ),
            axes={**_SESSIONS, "variant": (variant,), **(_FEW_WEIGHTS if variant == "optimal" else {})},
            hold=_hold_verdicts,
            times=5,
        )
        for variant in _SESSIONS["variant"]
    ]
    return [
        *verdicts,
        Statement(
            name="verdicts in a game",
            about=(
                "of several votes in which the same reports of weights count, any verdict is wrong with no more "
                "probability than the level, times the votes."
            ),
            axes={**_SESSIONS, "variant": ("joint", "joint, split", "laplace"), "candidates": (2, 3, 5, 8)},
            hold=_hold_verdicts,
            times=5,
        ),
        Statement(
            name="standard error of a margin",
            about="the mean squared error of a margin is no more than the mean of its squared standard error.",
            axes={axis: values for axis, values in _SESSIONS.items() if axis not in {"level", "candidates"}}
            | {"variant": tuple(own for own in _SESSIONS["variant"] if own not in {"optimal", "central, decisions"})},
            hold=_hold_errors,
            kind="error",
        ),
        Statement(
            name="verdict: levels",
            about=verdicts[0].about,
            axes={**_SESSIONS, "variant": _OF_LEVELS},
            hold=_hold_verdicts,
            times=5,
        ),
        Statement(
            name=f"verdict: {_OF_HEAVY}",
            about=verdicts[0].about,
            axes={**_SESSIONS, "variant": (_OF_HEAVY,)},
            hold=_hold_verdicts,
            times=5,
        ),
    ]


CALIBRATION: Final = Calibration(
    title="DPWeVote",
    about=(
        "A verdict needs no prior. `joint, split` spends a fifth on the weight; `public` is with "
        "public weights; `matrices` have a yes told half as often as by randomized response, and weights the likelier "
        "the nearer they are to the true one; with `levels` few partners have a small ε of their own, most a large "
        "one; in `central` a trusted server adds noise once, or tells `decisions` alone, or randomizes `heavy` "
        "partners' opinions one by one; in `masked` each partner a share of it, and a tenth of them may leave or be "
        "with the server."
    ),
    statements=_statements,
)
