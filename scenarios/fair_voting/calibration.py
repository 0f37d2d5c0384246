"""How well winners hold: probabilities that they are truly the best, verdicts, and how often these confirm.

Profiles are drawn by several laws; the protocol's own phase adds its noise, and its own outcome elects, claims and
gives a verdict. Profiles of the priors themselves are drawn as utilities, since no rankings need have them. Of a winner
alone the claim is the level at which it may lack a shortfall.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np

from ...protocol import Tally
from ...protocol.arrays import IntArray
from ...protocol.fair_voting import FairVoting, Outcome, Parameters
from ...protocol.fair_voting.assurance import CONFIRMED
from ...protocol.fair_voting.choices import ExponentialChoice
from ...protocol.fair_voting.objective import ObjectiveName
from ...protocol.fair_voting.parameters import CENTRAL, MechanismName
from ...protocol.fair_voting.phases import DisclosedRankings
from ...protocol.fair_voting.posteriors import DIFFERENCES
from ...protocol.fair_voting.rankings import Rankings
from ..experiments.calibration import Calibration, Claims, Drawn, claims_of
from ..experiments.pooling import pool_by, verdict_columns
from ..experiments.sheets import flat
from ..tables import Table, listed

__all__ = ["CALIBRATION", "PROFILES", "Cell", "Setting", "measure"]

_ALTERNATIVES: Final = ("a", "b", "c", "d")
_LIMIT: Final = 0.5
_OBJECTIVES: Final[tuple[ObjectiveName, ...]] = ("parity", "constrained", "penalized", "welfare_constrained")
_MECHANISMS: Final[tuple[MechanismName, ...]] = (
    "laplace",
    "noisy_scores",
    "sampled_pair",
    "exponential",
    "permute_and_flip",
    "joint_pair",
    "joint_scores",
)
_PRIOR: Final = "prior"


@dataclasses.dataclass(frozen=True)
class Setting:
    """Groups and a price.

    Args:
        sizes: the groups'.
        epsilon: of a trusted aggregator.
        local_epsilon: where nobody is trusted, for which the same noise takes more.
    """

    sizes: tuple[int, ...]
    epsilon: float
    local_epsilon: float


SETTINGS: Final = (
    Setting((200, 100), 0.5, 2.0),
    Setting((1_000, 500), 1.0, 4.0),
    Setting((300, 200, 100), 1.0, 4.0),
)

PROFILES: Final = {
    _PRIOR: "utilities as the claim's own prior has them",
    "apart": "each group ranks by strengths of its own (Plackett and Luce), spread widely",
    "near": "groups' strengths differ little from common ones",
    "alike": "all groups rank by the same strengths, so that disparities are chance alone",
    "impartial": "every ranking is as likely as any other",
}
"""Laws of profiles, by name."""


class Cell(Claims, frozen=True, kw_only=True):
    """Claims and verdicts of one mechanism, objective, setting and law of profiles.

    Args:
        mechanism: which.
        objective: what is elected.
        sizes: the groups', with a plus sign between them.
        epsilon: the price.
        profiles: by which law they were drawn.
        prior: under which the probability is claimed; what is claimed here is 1 less it. Empty for a winner alone,
            which claims to lack its shortfall with no more probability than the level.
        decided: the share of winners that are confirmed; nan where no verdict is given.
        verdicts_wrong: the share of all winners that are confirmed and not the best.
    """

    mechanism: str
    objective: str
    sizes: str
    epsilon: float
    profiles: str
    prior: str
    decided: float
    verdicts_wrong: float


def measure(
    mechanism: MechanismName,
    *,
    objective: ObjectiveName,
    setting: Setting,
    profiles: str,
    trials: int,
    seed: int,
    level: float = 0.05,
) -> Cell:
    """Return one cell.

    Args:
        mechanism: which; where nobody is trusted the law `prior` cannot be drawn.
        objective: what is elected.
        setting: groups and price.
        profiles: one of `PROFILES`.
        trials: profiles, each with one vote.
        seed: of everything drawn.
        level: of the verdicts.
    """
    vote = _make_vote(mechanism, objective, setting, level)
    places = _MECHANISMS.index(mechanism), _OBJECTIVES.index(objective), list(PROFILES).index(profiles)
    generator = np.random.default_rng([seed, *places, *setting.sizes])
    claimed = np.empty(trials)
    wrong, decided = (np.zeros(trials, dtype=np.bool_) for _ in range(2))
    prior = ""
    for trial in range(trials):
        if profiles == _PRIOR:
            sums = _sums_of_prior(vote, generator)
            outcome = _elect(vote, sums, generator)
        else:
            positions, groups = _rankings(setting.sizes, profiles, generator)
            sums = _disclosed(vote).sums_of(positions, groups)
            outcome = _vote(vote, positions, groups, sums, generator)
        told = outcome.assurance
        if told.probability is None or told.prior is None:
            claimed[trial] = told.level
            wrong[trial] = _lacks(vote, sums, outcome)
            continue
        prior = told.prior
        claimed[trial] = 1 - told.probability
        wrong[trial] = not _is_best(vote, sums, outcome.winner)
        decided[trial] = told.verdict == CONFIRMED
    return Cell(
        **msgspec.structs.asdict(claims_of(claimed, wrong)),
        mechanism=mechanism,
        objective=objective,
        sizes="+".join(map(str, setting.sizes)),
        epsilon=vote.parameters.epsilon,
        profiles=profiles,
        prior=prior,
        decided=float(decided.mean()) if prior else math.nan,
        verdicts_wrong=float((decided & wrong).mean()) if prior else math.nan,
    )


def _make_vote(mechanism: MechanismName, objective: ObjectiveName, setting: Setting, level: float) -> FairVoting:
    is_local = mechanism not in CENTRAL
    return FairVoting(
        Parameters(
            alternatives=_ALTERNATIVES,
            groups=tuple(f"g{place}" for place in range(len(setting.sizes))),
            group_sizes=setting.sizes,
            mechanism=mechanism,
            objective=objective,
            epsilon=setting.local_epsilon if is_local else setting.epsilon,
            max_disparity=_LIMIT,
            level=level,
        )
    )


def _disclosed(vote: FairVoting) -> DisclosedRankings:
    """Return what adds up rankings without noise."""
    parameters = msgspec.structs.replace(vote.parameters, mechanism="laplace", calibration="tight")
    return DisclosedRankings(parameters)


def _sums_of_prior(vote: FairVoting, generator: np.random.Generator) -> IntArray:
    """Return groups' sums, in steps from the center, of utilities as the prior has them."""
    scoring = vote.parameters.make_scoring(is_centered=True)
    sizes = np.array(vote.parameters.group_sizes)
    shares = generator.random((len(sizes), len(_ALTERNATIVES)))
    if vote.parameters.kind.releases_sums and vote.parameters.objective == "parity" and len(sizes) == 2:  # noqa: PLR2004  one difference
        shares[0] = (1 + generator.uniform(-1, 1, len(_ALTERNATIVES))) / 2  # half the difference on either side
        shares[1] = 1 - shares[0]
    steps = scoring.steps[-1] + shares * scoring.range
    return np.rint(steps * sizes[:, None]).astype(np.int64)


def _rankings(sizes: Sequence[int], profiles: str, generator: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return rankings by Plackett and Luce's law, and their voters' groups."""
    size = len(_ALTERNATIVES)
    apart = {"apart": 2.0, "near": 0.3}.get(profiles, 0.0)
    common = 0.0 if profiles in {"apart", "impartial"} else generator.normal(scale=1.5, size=size)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    strengths = common + generator.normal(scale=apart, size=(len(sizes), size)) if apart else np.zeros(size) + common
    keys = generator.gumbel(size=(len(groups), size)) + (strengths[groups] if apart else strengths)
    return (-keys).argsort(axis=1).argsort(axis=1).astype(np.int64), groups.astype(np.int64)


def _vote(
    vote: FairVoting, positions: IntArray, groups: IntArray, sums: IntArray, generator: np.random.Generator
) -> Outcome:
    """Return what a vote of these rankings releases."""
    phase = vote.phase
    if isinstance(phase, DisclosedRankings):
        return _elect(vote, sums, generator)
    inputs = vote.encode({"group": groups, "ranking": Rankings(positions)})
    uniforms = generator.random((len(positions), phase.mechanism.slots_of(positions.shape[1])))
    reports = phase.mechanism.randomize_rows(inputs.private, uniforms)
    return vote.outcome([phase.tally(reports, earlier=[], public=inputs.public)])


def _elect(vote: FairVoting, sums: IntArray, generator: np.random.Generator) -> Outcome:
    """Return what a trusted aggregator releases of groups' sums."""
    mechanism = vote.disclosed.choice or vote.disclosed.tally_mechanism
    row = sums.reshape(1, -1)
    drawn = mechanism.randomize_rows(row, generator.random((1, mechanism.slots_of(row.size))))[0]
    totals = drawn if vote.disclosed.choice else drawn.reshape(sums.shape)
    return vote.outcome([Tally(vote.parameters.num_voters, totals)])


def _is_best(vote: FairVoting, sums: IntArray, winner: str) -> bool:
    """Return whether an alternative is among the best without noise."""
    sizes = vote.parameters.group_sizes
    scoring = vote.parameters.make_scoring(is_centered=True)
    step = Fraction(scoring.step)
    rows: list[list[int]] = sums.tolist()
    utilities = [
        [(Fraction(total, size) + scoring.center) * step for total in row]
        for row, size in zip(rows, sizes, strict=True)
    ]
    best = vote.parameters.make_objective().best(utilities, sizes)
    return vote.parameters.alternatives.index(winner) in best


def _lacks(vote: FairVoting, sums: IntArray, outcome: Outcome) -> bool:
    """Return whether another alternative's quality is higher than the winner's by the shortfall or more."""
    choice, shortfall = vote.disclosed.choice, outcome.assurance.shortfall
    if shortfall is None or not isinstance(choice, ExponentialChoice):
        return False
    row: list[int] = sums.reshape(-1).tolist()
    qualities = choice.qualities(row)
    own = qualities[vote.parameters.alternatives.index(outcome.winner)]
    return float(max(qualities) - own) * choice.scoring.step >= shortfall


def _cells(asked: Drawn) -> Iterator[Cell]:
    for mechanism in _MECHANISMS:
        asked.tell(f"fair-voting: {mechanism}")
        for objective in _OBJECTIVES:
            for setting in SETTINGS:
                for profiles in PROFILES:
                    if profiles == _PRIOR and mechanism not in CENTRAL:
                        continue
                    yield measure(
                        mechanism,
                        objective=objective,
                        setting=setting,
                        profiles=profiles,
                        trials=asked.trials,
                        seed=asked.seed,
                    )


def _tables(asked: Drawn) -> Iterator[Table]:
    cells = list(_cells(asked))
    for profiles, words in PROFILES.items():
        rows = [cell for cell in cells if cell.profiles == profiles]
        yield listed(
            pool_by(rows, "mechanism", "objective"),
            verdict_columns("confirmed", "confirmed and wrong", mechanism="mechanism", objective="objective"),
            caption=f"Profiles: `{profiles}`",
            note=f"{words}. Over {'; '.join(_words(setting) for setting in SETTINGS)}; four alternatives.",
            labels=2,
            name=profiles,
            full=flat(rows),
        )


def _words(setting: Setting) -> str:
    sizes = ", ".join(f"{size:,}" for size in setting.sizes)
    return f"groups of {sizes} at ε = {setting.epsilon:g} ({setting.local_epsilon:g} where nobody is trusted)"


CALIBRATION: Final = Calibration(
    title="Fair voting",
    about=(
        "What is claimed is 1 less the probability that the winner is truly the objective's best. Its prior is "
        f"`{DIFFERENCES}` for two groups, parity and estimates whose noise is independent, and `uniform utilities` "
        "elsewhere. No real profile is like that: where groups rank alike, all alternatives are nearly as good by "
        "parity, and more winners are wrong than is claimed. In `joint_pair` and `joint_scores` groups are private as "
        "well. Of a winner alone (`exponential`, `permute_and_flip`) the "
        "claim is that it lacks its shortfall or more in 5 % at most, whatever the rankings are; it has no probability "
        "and no verdict. *Confirmed* is the share that is confirmed at 5 %, *confirmed and wrong* the share of all "
        "winners that are confirmed and not the best."
    ),
    tables=_tables,
    steps=len(_MECHANISMS),
)
"""Fair voting's part of `psephos calibrate`."""
