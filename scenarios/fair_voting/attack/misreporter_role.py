"""The misreporter: a strategic voter who knows all other rankings, and reports the ranking that is worth most to it.

It follows the protocol with the reported ranking, so nobody can detect it. (A voter who instead chooses its randomized
report is a poisoner.) It compares its expected utility of every ranking that it could report. Its utility of a winner
is the score of the winner's position in its true ranking, normalized to 1 for the best and 0 for the worst. If a choice
mechanism elects the winner, the winner's law is exact. If estimates are released, elections are simulated; the best
misreport is chosen on one half of them and evaluated on the other.

**The bound.** Let P and Q be the laws of the winner under the truth and a misreport, each at most e^ε times the other
on every set, and let A be the set of winners that are likelier under Q. Then Q(A) ≤ e^ε·P(A) and 1 − P(A) ≤ e^ε·(1 −
Q(A)), so that Q(A) − P(A) ≤ (e^ε − 1)/(e^ε + 1); and Σu(Q − P) ≤ Q(A) − P(A) for u in [0, 1]. So an ε-DP vote is
approximately strategy-proof for all reports of the others. The usual bound, e^ε − 1, is weaker.

Source: McSherry and Talwar (2007), Section 3, for approximate truthfulness; Lee (2015), Efficient, private, and
ε-strategyproof elicitation of tournament voting rules, for voting rules.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import ClassVar, Final, cast

import numpy as np

from ....agents.adversaries import SERVER
from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, list_choices, refuse, require
from ....protocol.fair_voting import (
    DisclosedRankings,
    FairVoting,
    JointRankings,
    MaskedRankings,
    Objective,
    RandomizedRankings,
    Rankings,
)
from ....protocol.fair_voting.objective import OBJECTIVES, merits_of
from ....protocol.fair_voting.rankings import cells_of_members
from ....protocol.phases import Inputs
from ...adversaries.role import AttackContext, AttackReport, Role, SessionTrace, check_between
from ...attacks.coalition_view import Coalition
from ...verdicts import at_most, round_up
from ..comparisons import with_mechanism
from .inference import RANKING, FairVotingAttack

MOST_ALTERNATIVES: Final = 5
"""Most alternatives whose rankings are all tried: 120 rankings, or as many for each group if groups are private."""
WITHOUT_PRIVACY: Final = "without privacy"
COMPARED: Final = ("exponential", "permute_and_flip", "sampling, by label", "sampling, proven", "laplace", "local")
"""Mechanisms (`comparisons.MECHANISMS`) to compare with the session's, at its ε; sampling by label if feasible."""

_MOST_TRIALS: Final = 100_000
_LEAST_TRIALS: Final = 10


@dataclasses.dataclass(frozen=True)
class MisreportGain:
    """A voter's gain by a false ranking, if it knows all others."""

    mechanism: str  # the mechanism that elects
    truthful: float  # the expected utility of reporting the truth, in [0, 1]
    gain: float  # the expected gain of the best misreport; 0 if there is none
    error: float  # the standard error of the gain; 0 if it is exact
    misreport: tuple[str, ...]  # the alternatives in the best reported order; the true order if no other is better
    epsilon: float  # the proven ε between any two rankings of this voter; ∞ without privacy

    @property
    def bound(self) -> float:
        """The greatest gain of a voter with this loss, for all reports of the others."""
        return bound_of_gain(self.epsilon)


def bound_of_gain(epsilon: float) -> float:
    """Return (e^ε − 1)/(e^ε + 1), the greatest gain of a misreport in a utility in [0, 1]; 1 for ∞.

    Examples:
        >>> round(bound_of_gain(1.0), 3)
        0.462
    """
    return math.tanh(epsilon / 2)


def gains_of(vote: FairVoting, inputs: Inputs, place: int, *, trials: int, seed: int) -> list[MisreportGain]:
    """Return a voter's gains without privacy, and with each mechanism at the session's ε, first the session's.

    The voter's row in `inputs` is the truth. If the winner's law is unknown, `trials` elections are simulated.
    """
    gains = [gain_of(vote, inputs, place, trials=trials, seed=seed), _gain_without_privacy(vote, inputs, place)]
    parameters = vote.parameters
    for name in () if parameters.is_joint else COMPARED:
        try:
            other = with_mechanism(parameters, name, epsilon=parameters.epsilon)
            is_proven = [each.calibration == "proven" for each in (other, parameters)]
            if other.mechanism == parameters.mechanism and is_proven[0] == is_proven[1]:
                continue  # the session's mechanism
            gain = gain_of(FairVoting(other), inputs, place, trials=trials, seed=seed)
        except (ConfigurationError, NotImplementedError):
            continue  # it does not support these parameters, or its law takes too long
        gain = dataclasses.replace(gain, mechanism=name) if other.mechanism == "sampling" else gain
        gains += [gain] if gain.mechanism not in {each.mechanism for each in gains} else []
    return gains


def gain_of(vote: FairVoting, inputs: Inputs, place: int, *, trials: int, seed: int) -> MisreportGain:
    """Return a voter's gain under the session's mechanism. See `gains_of`.

    Raises:
        ConfigurationError: there are more than `MOST_ALTERNATIVES`.
        NotImplementedError: the law of the winner takes too long.
    """
    phase = vote.phase
    assert not isinstance(phase, MaskedRankings)  # noqa: S101  a session with adversaries
    name = vote.parameters.mechanism if isinstance(phase, DisclosedRankings) else phase.report.name
    proven = FairVotingAttack(vote).loss(RANKING, inputs.public, np.array([place]), Coalition((), has_server=False))
    rows, utilities, true = _choices_of(vote, inputs, place)
    if isinstance(phase, DisclosedRankings) and phase.choice is not None:
        check_law(vote, inputs)
        sums = _sums(vote, phase, inputs, place, rows)
        expected = np.exp(phase.choice.log_laws(sums)) @ utilities
        return _exact(vote, name, rows, expected, true, proven)
    winners = np.stack(list(_simulate_winners(vote, inputs, place, rows, trials=trials, seed=seed)))
    worth = utilities[winners]  # shape (rows, trials)
    half = trials // 2
    best = int(worth[:, :half].mean(axis=1).argmax())
    differences = worth[best, half:] - worth[true, half:]
    return MisreportGain(
        mechanism=name,
        truthful=float(worth[true, half:].mean()),
        gain=float(differences.mean()),
        error=float(differences.std() / math.sqrt(len(differences))),
        misreport=_names(vote, rows[best]),
        epsilon=proven,
    )


def check_law(vote: FairVoting, inputs: Inputs) -> None:
    """Raise NotImplementedError if only a winner is released, and its law takes too long."""
    phase = vote.phase
    if not isinstance(phase, DisclosedRankings) or phase.choice is None:
        return
    if vote.parameters.samples_voters_first:
        raise NotImplementedError("the law of a sample's winner takes too long")
    groups, positions = vote.members_of(inputs)
    phase.choice.log_laws(phase.sums_of(positions, groups).reshape(1, -1))


def _gain_without_privacy(vote: FairVoting, inputs: Inputs, place: int) -> MisreportGain:
    """Return a voter's gain without privacy, where the best alternative wins, and ties are broken by lot."""
    plain = FairVoting(with_mechanism(vote.parameters, "exponential", epsilon=vote.parameters.epsilon))
    groups, positions = vote.members_of(inputs)
    public = Inputs(positions, groups[:, None])
    rows, utilities, true = _choices_of(plain, public, place)
    disclosed = plain.disclosed_phase
    objective, sizes = plain.parameters.make_objective(), plain.parameters.group_sizes
    expected: list[float] = []
    for row_sums in _sums(plain, disclosed, public, place, rows).tolist():
        sums = np.array(row_sums, dtype=np.int64).reshape(-1, rows.shape[1])
        best = objective.best_alternatives(disclosed.scoring.mean_utilities(sums, sizes), sizes)
        expected.append(math.fsum(utilities[best].tolist()) / len(best))
    return _exact(plain, WITHOUT_PRIVACY, rows, np.array(expected), true, math.inf)


def _choices_of(vote: FairVoting, inputs: Inputs, place: int) -> tuple[IntArray, FloatArray, int]:
    """Return the rows that a voter may report, its utility of each winner, and the index of its true row."""
    size = len(vote.parameters.alternatives)
    refuse(size > MOST_ALTERNATIVES, "alternatives", f"{size} alternatives", f"at most {MOST_ALTERNATIVES}")
    rows = np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    _, positions = vote.members_of(inputs)
    scores = np.array(vote.parameters.make_scoring(is_centered=True).steps, dtype=np.float64)
    utilities = ((scores - scores[-1]) / (scores[0] - scores[-1]))[positions[place]]
    own_ranking = inputs.private[place]
    if vote.parameters.is_joint:
        group_range = range(len(vote.parameters.groups))
        rows = np.concatenate([cells_of_members(np.full(len(rows), group), rows) for group in group_range])
    return rows, utilities, int(np.flatnonzero((rows == own_ranking).all(axis=1))[0])


def _exact(
    vote: FairVoting, name: str, rows: IntArray, expected: FloatArray, true: int, epsilon: float
) -> MisreportGain:
    best = int(expected.argmax())
    gain = max(float(expected[best] - expected[true]), 0.0)
    best = best if gain > 0 else true
    return MisreportGain(name, float(expected[true]), gain, 0.0, _names(vote, rows[best]), epsilon)


def _sums(vote: FairVoting, phase: DisclosedRankings, inputs: Inputs, place: int, rows: IntArray) -> IntArray:
    """Return the groups' sums for each row that the voter may report, shape (c, G·m)."""
    groups, positions = vote.members_of(inputs)
    size, group = rows.shape[1], int(groups[place])
    sums_of_others = phase.sums_of(np.delete(positions, place, axis=0), np.delete(groups, place)).reshape(-1)
    sums = np.tile(sums_of_others, (len(rows), 1))
    sums[:, group * size : (group + 1) * size] += phase.scoring.utilities_of(Rankings(rows))
    return sums


def _simulate_winners(
    vote: FairVoting, inputs: Inputs, place: int, rows: IntArray, *, trials: int, seed: int
) -> Iterator[IntArray]:
    """Yield for each row the winners of simulated elections, shape (trials,), which differ only in that row."""
    phase, parameters = vote.phase, vote.parameters
    assert not isinstance(phase, MaskedRankings)  # noqa: S101  see `gain_of`
    sizes = np.array(parameters.group_sizes, dtype=np.float64)
    objective = parameters.make_objective()
    generator = np.random.default_rng([seed, place])
    if isinstance(phase, DisclosedRankings):
        mechanism, scoring = phase.tally_mechanism, phase.scoring
        width = len(sizes) * rows.shape[1]
        noise = mechanism.randomize_rows(
            np.zeros((trials, width), dtype=np.int64), generator.random((trials, mechanism.slots_of(width)))
        )
        for row_sums in _sums(vote, phase, inputs, place, rows):
            totals = (noise + row_sums).reshape(trials, len(sizes), -1)
            yield _winners_of((totals / sizes[:, None] + scoring.center) * scoring.step, objective, sizes)
        return
    mechanism = phase.mechanism
    other_rankings = np.delete(inputs.private, place, axis=0)
    slots = mechanism.slots_of(phase.num_values)
    other_public = np.delete(inputs.public, place, axis=0)
    noisy_reports = (
        mechanism.randomize_rows(other_rankings, generator.random((len(other_rankings), slots))) for _ in range(trials)
    )
    tallied = np.stack([phase.tally(reports, earlier=(), public=other_public).totals for reports in noisy_reports])
    slopes, start = _linear(phase)
    uniforms = generator.random((trials, slots))
    for row in rows:
        reports = mechanism.randomize_rows(np.tile(row, (trials, 1)), uniforms)
        public = inputs.public[place : place + 1]
        totals = tallied + [phase.tally(report[None], earlier=(), public=public).totals for report in reports]
        if isinstance(phase, RandomizedRankings):
            counts = np.maximum(totals[:, :, :1], 1)
            utilities = totals[:, :, 1:] @ slopes.T / counts + start
        else:
            utilities = totals @ slopes.T / sizes[:, None] + start
        yield _winners_of(utilities, objective, sizes)


def _winners_of(utilities: FloatArray, objective: Objective, sizes: FloatArray) -> IntArray:
    """Return the winners; in a tie, which is very unlikely with noise, the first."""
    return merits_of(utilities, objective, sizes).argmax(axis=1).astype(np.int64)


def _linear(phase: RandomizedRankings | JointRankings) -> tuple[FloatArray, FloatArray]:
    """Return the affine map from a group's tally to its estimates: the coefficients, and the constant."""
    report = phase.report
    width, mean = report.width, float(report.mean)
    start = np.array([float(value) for value in report.estimates([0] * width, 1)])
    singles: list[list[int]] = np.eye(width, dtype=np.int64).tolist()
    units = np.array([[float(value) for value in report.estimates(single, 1)] for single in singles])
    return (units - start).T, start + mean


def _names(vote: FairVoting, row: IntArray) -> tuple[str, ...]:
    """Return a row's ranking in words, with the group if it is part of the row."""
    size = len(row)
    order: list[int] = np.argsort(row % size).tolist()
    ranked_names = tuple(vote.parameters.alternatives[place] for place in order)
    if vote.parameters.is_joint:
        return (f"as {vote.parameters.groups[int(row[0]) // size]}: {ranked_names[0]}", *ranked_names[1:])
    return ranked_names


class MisreporterRole(Role, frozen=True, kw_only=True):
    """A voter who searches the most valuable false ranking."""

    trials: int = 400  # simulated elections for each mechanism that releases more than the winner

    name: ClassVar[str] = "misreporter"
    refused_if_masked: ClassVar[str] = "what a false ranking is worth is worked out for a winner alone"
    protocols: ClassVar[frozenset[str]] = frozenset({"fair-voting"})

    def check(self, context: AttackContext) -> None:
        coalition = context.coalition(self.members)
        value = SERVER if coalition.has_server else f"{len(self.members)} voters"
        refuse(len(self.members) != 1 or coalition.has_server, "members", value, "one voter")
        check_between("trials", self.trials, _LEAST_TRIALS, _MOST_TRIALS)
        vote = _vote_of(context)
        levels = vote.parameters.own_levels.epsilons
        allowed = "left out: what a lie is worth is worked out where all voters have one epsilon"
        refuse(levels, "epsilons", list(levels), allowed)
        objective = vote.parameters.objective
        allowed = f"{list_choices(OBJECTIVES, objective)}: what a lie is worth is worked out for these"
        require(objective in OBJECTIVES, "objective", objective, allowed)
        allowed = "another one: what a lie is worth is worked out from utilities alone"
        refuse(vote.parameters.kind.counts_pairs, "mechanism", vote.parameters.mechanism, allowed)
        size = len(vote.parameters.alternatives)
        refuse(size > MOST_ALTERNATIVES, "alternatives", f"{size} alternatives", f"at most {MOST_ALTERNATIVES}")
        try:
            check_law(vote, context.inputs)
        except NotImplementedError:
            allowed = "another one, or fewer samples: the winner's law takes too long"
            raise ConfigurationError(field="mechanism", value=vote.parameters.mechanism, allowed=allowed) from None

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        del trace
        vote = _vote_of(context)
        (place,) = context.coalition(self.members).members
        gains = gains_of(vote, context.inputs, place, trials=self.trials, seed=context.seed)
        own_gain, plain = gains[:2]
        may_show, sentence = context.may_show_truth, "no false ranking is worth more than the truth"
        if own_gain.gain or own_gain.error:
            error = misreport = ""
            if own_gain.error:
                error = f" ± {own_gain.error:.2g} (in {self.trials - self.trials // 2:,} simulated elections)"
            if may_show and own_gain.gain > 0:
                misreport = f", by {' > '.join(own_gain.misreport)}"
            sentence = f"its best misreport is worth {own_gain.gain:.4g}{error} more than the truth{misreport}"
        return self.attack_report(
            who=f"{context.names[place]}, who would report a false ranking",
            trust=(
                "It knows the rankings of all other voters, which nobody tells it here, and follows the protocol with "
                "whatever ranking it reports. A utility is the score of the winner's position in its true ranking, "
                "from 0 to 1."
            ),
            sentences=(
                f"With {own_gain.mechanism!r} {sentence}.",
                (
                    f"The proven ε = {at_most(own_gain.epsilon, 4)} allows any voter "
                    f"{round_up(own_gain.bound, 4):.4g} at most, "
                    "(e^ε − 1)/(e^ε + 1), whatever all others report."
                ),
                f"Without privacy it would gain {plain.gain:.4g}.",
            ),
            rows=(
                {
                    "mechanism": gain.mechanism,
                    "truthful": gain.truthful,
                    "gain": gain.gain,
                    "standard_error": gain.error,
                    "bound": gain.bound,
                    "epsilon": f"{gain.epsilon:.6g}" if math.isfinite(gain.epsilon) else "unbounded",
                    "misreport": " > ".join(gain.misreport) if may_show else "",
                }
                for gain in gains
            ),
        )


def _vote_of(context: AttackContext) -> FairVoting:
    return cast("FairVoting", context.protocol)  # by `protocols`
