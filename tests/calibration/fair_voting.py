"""What fair voting states: confirmed winners and shortfalls for every profile, probabilities and errors.

Votes of one profile are drawn together by the protocol's own randomizers. Their estimates are sums of what single
reports stand for, which the protocol's own estimators say; its own objective elects, and its own test confirms.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from calibration.engine import Axes, Calibration, Case, Held, Statement, draw_sessions
from numpy.typing import NDArray
from psephos.protocol import Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.fair_voting import FairVoting, Outcome, Parameters
from psephos.protocol.fair_voting.choices import ExponentialChoice
from psephos.protocol.fair_voting.confirmation import Confirming
from psephos.protocol.fair_voting.joint_reports import JointReport
from psephos.protocol.fair_voting.kinds import BY_QUALITY, JOINT, LOCAL
from psephos.protocol.fair_voting.objective import merits_of
from psephos.protocol.fair_voting.phases import DisclosedRankings, JointRankings, MaskedRankings, RandomizedRankings
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.protocol.fair_voting.reports import RankingReport
from psephos.protocol.fair_voting.utility_noise import UtilityNoise, share_quantiles
from psephos.protocol.mechanisms import NoiseShare
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.phases import Inputs
from psephos.protocol.tally import TallyBlock

_LEAVING: Final = 10  # of so many voters one may leave a masked vote, and one be with its server
_MOST_SCALE: Final = 1 << 10
_MOST_NUMBERS: Final = 4_000_000
"""That all reports of all votes stand for, of those that are drawn at once."""
_ROSTERS: Final = (
    (1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 4), (5, 3), (8, 8), (10, 1), (16, 10), (31, 20), (64, 31), (100, 1),
    (100, 100), (1, 1, 1), (3, 2, 1), (8, 5, 3), (20, 20, 20), (4, 3, 2, 1),
)  # fmt: skip
VOTES: Final[Axes] = {
    "mechanism": ("laplace", "masked", *LOCAL, *JOINT),
    "objective": ("parity", "penalized", "constrained", "welfare_constrained"),
    "groups": _ROSTERS,
    "alternatives": (2, 3, 4, 5, 6, 8, 13, 20, 31, 50),
    "epsilon": (0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 2.0, 4.0, 8.0),
    "level": (0.2, 0.05, 0.01, 0.001),
    "rankings": ("arbitrary", "unanimous", "opposed", "halves", "one apart", "alike"),
    "profile": tuple(range(16)),
    "weight": (0.0, 0.1, 0.3, 1.0, 3.0),
    "limit": (0.0, 0.25, 0.5, 1.0, 3.0),
    "share": (0.5, 0.9, 1.0),
    "scores": ("borda", "plurality", "veto"),
}
_WINNERS: Final[Axes] = {**VOTES, "mechanism": tuple(sorted(BY_QUALITY))}
_LEVELS: Final[Axes] = {**VOTES, "mechanism": LOCAL, "spread": (1.5, 3.0, 5.0)}
"""Of voters with an ε of their own: so many times the smallest is the next one."""
_PLAIN: Final[Axes] = {
    **{name: VOTES[name] for name in ("alternatives", "epsilon", "level", "rankings", "profile", "scores")},
    "mechanism": ("laplace", *LOCAL),
    "objective": ("welfare",),
    "groups": ((1,), (2,), (3,), (5,), (8,), (16,), (31,), (100,), (1_000,)),
}
_PAIRS: Final[Axes] = {
    **{name: own for name, own in _PLAIN.items() if name != "scores"},
    "mechanism": ("pairwise",),
    "objective": ("copeland", "kemeny"),
}
_PRIORS: Final[Axes] = {
    "mechanism": ("laplace", "masked"),
    "objective": ("parity", "penalized", "constrained", "welfare_constrained"),
    "groups": ((8, 5), (200, 100), (1_000, 500), (300, 200, 100)),
    "alternatives": (2, 3, 4, 8),
    "epsilon": (0.2, 0.5, 1.0, 2.0),
}


def vote_of(case: Case) -> FairVoting | None:
    """Return a vote's protocol; None where nobody can have its parameters."""
    sizes: tuple[int, ...] = case["groups"]
    given: dict[str, Any] = {}
    if case.get("mechanism") == "masked":
        voters = sum(sizes)
        given |= {"threshold": voters - voters // _LEAVING, "colluders": voters // _LEAVING}
    if case["objective"] == "welfare_constrained":
        given["welfare_share"] = case.get("share", 0.9)
    if "spread" in case:
        given["epsilons"] = tuple(case["epsilon"] * case["spread"] ** power for power in range(3))
    else:
        given["epsilon"] = case["epsilon"]
    try:
        return FairVoting(
            Parameters(
                alternatives=tuple(f"a{place}" for place in range(case["alternatives"])),
                groups=tuple(f"g{place}" for place in range(len(sizes))),
                group_sizes=sizes,
                mechanism=case.get("mechanism", "laplace"),
                objective=case["objective"],
                max_disparity=case.get("limit", 0.5),
                fairness_weight=case.get("weight", 1.0),
                level=case.get("level", 0.05),
                scores=case.get("scores", "borda"),
                **given,
            )
        )
    except ConfigurationError:
        return None


class Profile(NamedTuple):
    """Rankings as positions, shape (voters, alternatives), and their voters' groups."""

    positions: IntArray
    groups: IntArray


def profile_of(case: Case) -> Profile:
    """Return rankings in which alternatives are as good as each other, or far from it."""
    sizes, size = case["groups"], case["alternatives"]
    generator = np.random.default_rng([case["profile"], size, *sizes])
    voters = sum(sizes)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    positions = np.array([generator.permutation(size) for _ in range(voters)])
    one = positions[0]
    match case["rankings"]:
        case "unanimous":
            positions[:] = one
        case "opposed":
            positions[:] = np.where(groups[:, None] % 2, size - 1 - one, one)
        case "halves" | "one apart":
            positions[:] = np.where(np.arange(voters)[:, None] % 2, size - 1 - one, one)
            if case["rankings"] == "one apart":
                first, second = np.argsort(positions[-1])[:2]
                positions[-1, [first, second]] = positions[-1, [second, first]]
        case "alike":
            positions = positions[[place for own in sizes for place in range(own)]]
        case _:
            pass
    return Profile(positions.astype(np.int64), groups.astype(np.int64))


def estimates_of(vote: FairVoting, profile: Profile, votes: int, generator: np.random.Generator) -> FloatArray:
    """Return each vote's estimated mean utilities, shape (votes, groups, alternatives)."""
    phase, sizes = vote.phase, vote.parameters.group_sizes
    if isinstance(phase, DisclosedRankings | MaskedRankings):
        if isinstance(phase, MaskedRankings):
            sums = phase.rows_for(profile.positions, profile.groups).sum(axis=0).reshape(len(sizes), -1)
            drawn = sums + _shares(phase.share, len(profile.groups), generator.random((votes, *sums.shape)))
        else:
            sums = phase.sums_of(profile.positions, profile.groups)
            rows = np.tile(sums.reshape(1, -1), (votes, 1))
            drawn = phase.tally_mechanism.randomize_rows(rows, generator.random(rows.shape)).reshape(votes, *sums.shape)
        return (drawn / np.array(sizes)[:, None] + phase.scoring.center) * phase.scoring.step
    inputs = inputs_of(vote, profile)
    reports, voters = draw_sessions(phase, inputs, votes, generator), len(profile.groups)
    if isinstance(phase, JointRankings):
        told = _told(phase.report, reports).reshape(votes, voters, len(sizes), -1)
        means: FloatArray = told.sum(axis=1) / np.array(sizes)[:, None]
    else:
        each = np.empty((len(reports), phase.report.size))
        for level, places in phase.level_places(np.tile(inputs.public, (votes, 1))):
            each[places] = _told(phase.reports[level], reports[places])
        each = each.reshape(votes, voters, -1)
        means = np.stack([own.mean(axis=1) for own in np.split(each, np.cumsum(sizes)[:-1], axis=1)], axis=1)
    return means + _zero(phase.report) + float(phase.report.mean)


def _shares(share: NoiseShare, number: int, uniforms: FloatArray) -> IntArray:
    """Return the noise of so many shares, by its exact law unless that takes long."""
    if share.scale > _MOST_SCALE:
        drawn = share_quantiles(uniforms, planned=share.planned, number=number)
        return np.rint(drawn * math.sqrt(number * share.noise_variance)).astype(np.int64)
    side = share_masses(scale=share.scale, planned=share.planned, num_shares=number)
    below = np.cumsum(np.concatenate([side[:0:-1], side]))
    return np.minimum(np.searchsorted(below, uniforms, side="right"), len(below) - 1) - (len(side) - 1)


def _zero(report: RankingReport | JointReport) -> float:
    """Return what a group's estimate is of reports that are 0 throughout, about the mean."""
    return float(next(report.estimates([0] * report.width, 1)))


def _told(report: RankingReport | JointReport, reports: IntArray) -> FloatArray:
    """Return what each report adds to an alternative's utility, or to each group's sum for it, above that of zeros."""
    if report.laplace is not None:
        return _weights(report) * reports
    rows, places = np.unique(reports, axis=0, return_inverse=True)
    weights = _weights(report)
    totals = np.array([report.totals_of(row[None]) for row in rows])
    is_joint = isinstance(report, JointReport)
    if weights.size > 1:
        shape = (len(rows), report.num_groups, report.size) if is_joint else (len(rows), report.size)
        told = totals.reshape(*shape, -1) @ weights
    elif is_joint:
        told = np.stack([_won(own, report.size, weights) for own in totals.swapaxes(0, 1)], axis=1)
    else:
        told = _won(totals[:, ::2] - totals[:, 1::2], report.size, weights)
    return told[places.reshape(-1)]


def _weights(report: RankingReport | JointReport) -> FloatArray:
    """Return what one report counts for its alternative at each position, or one preference, or each number alike."""
    number = 1 if report.laplace is not None or report.name.endswith("pair") else report.size
    units = np.eye(number, report.width, dtype=np.int64).tolist()
    return np.array([float(next(report.estimates(unit, 1))) for unit in units]) - _zero(report)


def _won(signs: IntArray, size: int, weight: FloatArray) -> FloatArray:
    """Return what preferences count, shape (reports, alternatives), of signs for each pair, shape (reports, pairs)."""
    first, second = np.triu_indices(size, 1)
    told = np.zeros((len(signs), size))
    for place, own in enumerate(np.argmax(np.abs(signs), axis=1).tolist()):
        told[place, first[own]] += float(weight[0]) * signs[place, own]
        told[place, second[own]] -= float(weight[0]) * signs[place, own]
    return told


def inputs_of(vote: FairVoting, profile: Profile) -> Inputs:
    """Return a profile's voters; of several levels of ε few have the smallest, and with it most of the noise."""
    table: dict[str, Any] = {"group": profile.groups, "ranking": Rankings(profile.positions)}
    if levels := vote.parameters.own_levels.epsilons:
        held = np.full(len(profile.groups), levels[-1])
        held[1::5], held[::7] = levels[1], levels[0]
        table["epsilon"] = held
    return vote.encode(table)


def noise_of(vote: FairVoting, profile: Profile) -> UtilityNoise:
    phase, sizes = vote.phase, vote.parameters.group_sizes
    counts = ((sum(sizes),),)
    if isinstance(phase, RandomizedRankings):
        number = len(phase.reports)
        cells = np.bincount(phase.cells_of(inputs_of(vote, profile).public), minlength=number * len(sizes))
        counts = tuple(map(tuple, cells.reshape(-1, number).tolist()))
    noise = phase.noise_of(counts)
    assert noise is not None
    return noise


def _hold_verdicts(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    vote = vote_of(case)
    if vote is None:
        return None
    profile, objective = profile_of(case), vote.parameters.make_objective()
    inputs = inputs_of(vote, profile)
    best = objective.best_alternatives(vote.utilities_in(inputs), vote.parameters.group_sizes)
    sizes, noise = np.array(vote.parameters.group_sizes, dtype=np.float64), noise_of(vote, profile)
    most = max(_MOST_NUMBERS // (profile.positions.size * len(sizes)), 1)
    size, level = case["alternatives"], vote.parameters.level
    confirming = Confirming(noise, objective, sizes, num_alternatives=size, level=level)
    found: list[NDArray[np.bool_]] = []
    for start in range(0, sessions, most):
        estimates = estimates_of(vote, profile, min(most, sessions - start), generator)
        winners = merits_of(estimates, objective, sizes).argmax(axis=1)
        wrong = ~np.isin(winners, best)
        suspects = estimates[wrong]
        wrong[wrong] = confirming.are_confirmed(suspects, winners[wrong], suspects.__getitem__)
        found.append(wrong)
    return Held(np.full(sessions, level), np.concatenate(found).astype(np.float64))


def _hold_pairs(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold winners by noisy pairwise counts."""
    vote = vote_of(case)
    if vote is None:
        return None
    profile, number = profile_of(case), vote.parameters.num_voters
    best = vote.best_in(vote.encode({"ranking": Rankings(profile.positions)}))
    names = vote.parameters.alternatives
    sums = vote.disclosed_phase.sums_of(*profile).repeat(sessions, axis=0)
    drawn = vote.disclosed_phase.tally_mechanism.randomize_rows(sums, generator.random(sums.shape))
    tables = np.zeros((sessions, len(names), len(names)), dtype=np.int64)
    tables[:, *np.triu_indices(len(names), 1)] = drawn
    tables -= tables.swapaxes(1, 2)
    # Whoever is confirmed seems to beat all others: of the rest nobody is, and no outcome is needed.
    beats_all = (tables > 0).sum(axis=2) == len(names) - 1
    suspects = np.delete(beats_all, best, axis=1).any(axis=1)
    wrong = np.zeros(sessions)
    if suspects.any():
        held = vote.decisions([TallyBlock(number, drawn[suspects][:, None])])
        wrong[suspects] = held.kinds()[:, 1] * ~np.isin(held.winners, best)
    return Held(np.full(sessions, vote.parameters.level), wrong)


def _hold_shortfalls(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    vote = vote_of(case)
    if vote is None:
        return None
    choice = vote.disclosed_phase.choice
    assert isinstance(choice, ExponentialChoice)
    row = vote.disclosed_phase.sums_of(*profile_of(case)).reshape(1, -1)
    law = np.exp(choice.log_likelihoods(np.arange(choice.num_alternatives)[:, None], row))[:, 0]
    winners = generator.choice(choice.num_alternatives, size=sessions, p=law / law.sum())
    shortfall = vote.outcome([Tally(vote.parameters.num_voters, winners[:1])]).assurance.shortfall
    if shortfall is None:
        return None
    qualities = choice.qualities(row[0].tolist())
    lacks = np.array([float(max(qualities) - own) * choice.scoring.step >= shortfall for own in qualities])
    return Held(np.full(sessions, vote.parameters.level), lacks[winners].astype(np.float64))


def _hold_probabilities(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold probabilities of winners against utilities as the prior has them."""
    vote = vote_of(case)
    if vote is None:
        return None
    phase, sizes = vote.phase, np.array(vote.parameters.group_sizes)
    assert isinstance(phase, DisclosedRankings | MaskedRankings)
    size, objective = case["alternatives"], vote.parameters.make_objective()
    stated, wrong = np.empty(sessions), np.empty(sessions)
    for session in range(sessions):
        shares = generator.random((len(sizes), size))
        is_disclosed = isinstance(phase, DisclosedRankings)
        if case["objective"] == "parity" and len(sizes) == 2 and is_disclosed:
            shares[0] = (1 + generator.uniform(-1, 1, size)) / 2
            shares[1] = 1 - shares[0]
        steps = phase.scoring.steps[-1] + shares * phase.scoring.range
        sums = np.rint(steps * sizes[:, None]).astype(np.int64)
        outcome = _elect(vote, sums, generator)
        true = phase.scoring.mean_utilities(sums, vote.parameters.group_sizes)
        best = objective.best_alternatives(true, vote.parameters.group_sizes)
        stated[session] = 1 - (outcome.assurance.probability or 0.0)
        wrong[session] = vote.parameters.alternatives.index(outcome.winner) not in best
    return Held(stated, wrong)


def _elect(vote: FairVoting, sums: IntArray, generator: np.random.Generator) -> Outcome:
    """Return what is released of groups' sums."""
    row, phase = sums.reshape(1, -1), vote.phase
    if isinstance(phase, MaskedRankings):
        drawn = row + _shares(phase.share, vote.parameters.num_voters, generator.random(row.shape))
    else:
        drawn = vote.disclosed_phase.tally_mechanism.randomize_rows(row, generator.random(row.shape))
    return vote.outcome([Tally(vote.parameters.num_voters, drawn.reshape(sums.shape))])


def _hold_errors(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
    """Hold squared errors of utilities, over all alternatives and groups, against the stated errors."""
    vote = vote_of({**case, "objective": "parity"})  # any will do
    if vote is None:
        return None
    profile = profile_of(case)
    inputs, noise = inputs_of(vote, profile), noise_of(vote, profile)
    true = np.array([[float(value) for value in row] for row in vote.utilities_in(inputs)])
    number = min(sessions, max(_MOST_NUMBERS // (profile.positions.size * len(true)), 1))
    squares = np.square(estimates_of(vote, profile, number, generator) - true).mean(axis=2)
    errors = np.square(noise.errors)
    return Held(np.ones(number), (squares / errors).mean(axis=1))


def _statements() -> list[Statement]:
    confirmed = [
        Statement(
            name=f"confirmed winner: {mechanism}",
            about=(
                "a winner that is not the objective's best is confirmed with no more probability than the level, "
                "whatever the rankings are."
            ),
            axes={**VOTES, "mechanism": (mechanism,)},
            hold=_hold_verdicts,
        )
        for mechanism in VOTES["mechanism"]
    ]
    return [
        *confirmed,
        Statement(
            name="shortfall",
            about="a winner alone lacks its shortfall or more with no more probability than the level.",
            axes=_WINNERS,
            hold=_hold_shortfalls,
            times=10,
        ),
        Statement(
            name="probability of the winner",
            about=(
                "the winner is not the best with 1 less the stated probability, under the prior that it names; "
                "profiles are drawn as utilities, which no rankings need have."
            ),
            axes=_PRIORS,
            hold=_hold_probabilities,
            kind="on average",
        ),
        Statement(
            name="standard error of utilities",
            about="squared errors, in squared standard errors, over alternatives and groups, are 1 at most on average.",
            axes={axis: values for axis, values in VOTES.items() if axis in _OF_ERRORS},
            hold=_hold_errors,
            kind="error",
        ),
        Statement(
            name="winner by own ε",
            about="the same where few voters have the smallest ε of their own, and most of the noise.",
            axes=_LEVELS,
            hold=_hold_verdicts,
        ),
        Statement(
            name="standard error by own ε",
            about="the same of their squared errors.",
            axes={axis: values for axis, values in _LEVELS.items() if axis in {*_OF_ERRORS, "spread"}},
            hold=_hold_errors,
            kind="error",
        ),
        Statement(
            name="winner of one group",
            about="the same of a plain election, in which the most welfare wins.",
            axes=_PLAIN,
            hold=_hold_verdicts,
        ),
        Statement(
            name="winner by pairs",
            about="the same of a plain election by pairwise counts, of Copeland's winner and of Kemeny's.",
            axes=_PAIRS,
            hold=_hold_pairs,
            times=10,
        ),
    ]


_OF_ERRORS: Final = {"mechanism", "groups", "alternatives", "epsilon", "rankings", "profile", "scores"}


CALIBRATION: Final = Calibration(
    title="Fair voting",
    about=(
        "A confirmed winner and a shortfall need no prior. The probability of a winner does: where groups rank alike, "
        "all alternatives are nearly as good by parity, and more winners are wrong than is stated. In `joint_` "
        "mechanisms groups are private as well."
    ),
    statements=_statements,
)
