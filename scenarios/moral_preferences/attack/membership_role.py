"""Membership inference from releases that are repeated with fresh noise: did a voter take part, and what is its row?

Replace-one neighbors differ in the row of one voter, so the question is whether this row is the target's or another of
the population. An adversary that knows all other rows is left with the target's row plus noise, whose mean over T
releases has 1/√T of one release's error: privacy is lost by composition, and the ledger bounds how fast. An adversary
that knows only the population (its mean and covariance) also faces all unknown voters. They are the same in each
release, so T releases remove the noise but not the uncertainty from unknown voters; no proof counts on this
uncertainty.

This adversary knows the target's row, since it must know whom it looks for. The population is the members' rows, or
without members the other voters'.

Source: Homer et al. (2008) and Dwork, Smith, Steinke and Ullman (2017); readings M7 and M12.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, cast

import numpy as np

from ....agents.adversaries import SERVER
from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import refuse, require
from ....protocol.moral_preferences import MoralPreferences
from ....protocol.privacy import Budget, NeighboringRelation, total_of
from ...adversaries.averaging_attacker import votes_answered
from ...adversaries.role import AttackContext, AttackReport, Role, SessionTrace, check_between
from ...attacks import Coalition
from ...verdicts import at_most, round_up
from .inference import MoralAttack
from .membership import AfterReleases, judge_rounds, mechanism_faced, repeat_releases

_MOST_RELEASES: Final = 1_024
_MOST_ROUNDS: Final = 100_000
# Most rows in the line-up besides the suspect's, since each is compared with each release.
_MOST_OTHERS: Final = 32
_MOST_WORK: Final = 40_000_000  # numbers drawn or compared over all rounds and releases: a few seconds
_LEAST_ROUNDS: Final = 100
_MOST_DRAWS: Final = 16  # a sum of more noise draws is approximated by a normal law
_, _SECRET = MoralAttack.secrets


class MembershipRole(Role, frozen=True, kw_only=True):
    """Voters, or an observer who knows the population, that infer the target's membership from repeated releases.

    Members are voters ("*" for all but the target), or empty for an outsider who receives the release and knows the
    population. In the local paradigms, "server" may be a member too, and sees the target's reports.
    """

    target: str  # the voter whose membership is inferred
    releases: tuple[int, ...] = (1, 4, 16, 64)  # increasing numbers of releases to evaluate
    rounds: int = 2_000  # rounds of the game, half of them with another row; fewer if rows are long
    # The ε that the target allows over all releases; by default the scenario's budget, or no limit if it has none.
    budget: float | None = None

    name: ClassVar[str] = "membership"
    refused_if_masked: ClassVar[str] = "all parties know who takes part"
    protocols: ClassVar[frozenset[str]] = frozenset({"moral-preferences"})

    def check(self, context: AttackContext) -> None:
        coalition = context.coalition(self.members)
        place = context.place_of_target(self.target, coalition, knows="that it took part")
        allowed = "voters alone: this protocol trusts its server, which sees every row as it is"
        refuse(coalition.has_server and context.protocol.trusts_server, "members", SERVER, allowed)
        rising = sorted(set(self.releases))
        is_allowed = rising and list(self.releases) == rising and 1 <= rising[0] <= rising[-1] <= _MOST_RELEASES
        require(is_allowed, "releases", list(self.releases), f"increasing numbers in [1, {_MOST_RELEASES}]")
        check_between("rounds", self.rounds, 1, _MOST_ROUNDS)
        refuse(self.budget is not None and not self.budget > 0, "budget", self.budget, "above 0")
        mechanism_faced(_protocol_of(context), context.inputs.public[place].tolist())
        allowed = "one whose preferences differ from the other voters'"
        require(len(_population(context, coalition, place)), "target", self.target, allowed)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return the success on the target's membership and the error of its row after each number of releases."""
        coalition = context.coalition(self.members)
        place = context.place_of(self.target, field="target")
        unknown = _num_unknown(context, coalition, place)
        results = self._play(context, coalition, place, unknown=unknown)
        losses = context.protocol.losses_of(context.inputs.public[place].tolist())
        budget = context.budget_of(self.budget)
        answered = votes_answered(losses, budget=budget, votes=self.releases[-1])
        sentences = [_describe_session(context, trace, coalition, place, unknown=unknown)]
        sentences += _describe_releases(results, unknown=unknown)
        sentences.append(_describe_budget(answered, budget=budget, num_asked=self.releases[-1]))
        return self.attack_report(
            who=_who(coalition),
            trust=_trust(coalition, unknown),
            sentences=sentences,
            rows=(
                {
                    "releases": result.num_releases,
                    "ledger_total": result.epsilon,
                    "success": result.success,
                    "proven_bound": result.success_bound,
                    "error": result.error,
                    "expected_error": result.expected_error,
                    "budget": "allows it" if result.num_releases <= answered else "refuses it",
                }
                for result in results
            ),
        )

    def _play(self, context: AttackContext, coalition: Coalition, place: int, *, unknown: int) -> list[AfterReleases]:
        population = _population(context, coalition, place)
        if len(population) > _MOST_OTHERS and not unknown:
            population = np.random.default_rng(context.seed).permutation(population)[:_MOST_OTHERS]
        line_up = np.concatenate([context.inputs.private[place][None], population])
        play, work = repeat_releases, line_up.size * self.releases[-1]
        if unknown:
            play = functools.partial(repeat_to_crowd, num_unknown=unknown)
            work = line_up.shape[1] * self.releases[-1] * min(unknown + 1, _MOST_DRAWS) + line_up.size
        return play(
            _protocol_of(context),
            line_up,
            num_releases=self.releases,
            num_rounds=min(self.rounds, max(_LEAST_ROUNDS, _MOST_WORK // work)),
            seed=context.seed,
            public=context.inputs.public[place].tolist(),
        )


def repeat_to_crowd(
    protocol: MoralPreferences,
    line_up: IntArray,
    *,
    num_unknown: int,
    num_releases: Sequence[int],
    num_rounds: int,
    seed: int,
    public: Sequence[int] = (),
) -> list[AfterReleases]:
    """Play the game of `repeat_releases` with other unknown voters, who are redrawn each round, not each release.

    The adversary approximates the sum of unknown rows and noise by a normal law. Its success is counted, so it is exact
    up to sampling error; the best attack may have a slightly greater success. It estimates the row by the best linear
    estimator. Besides the target, m ≥ 1 voters have rows drawn from the population; errors are those of such rows.
    """
    mechanism = mechanism_faced(protocol, public)
    summary, population = protocol.summary, line_up[1:]
    variance = summary.noise_variance(mechanism)
    num_draws = protocol.phase.num_draws(num_unknown + 1)
    epsilon = total_of(protocol.losses_of(public), relation=NeighboringRelation.REPLACE_ONE).proven
    generator = np.random.Generator(np.random.Philox(seed))
    is_suspect = generator.random(num_rounds) < 1 / 2
    row_places = np.where(is_suspect, 0, generator.integers(1, len(line_up), num_rounds))
    counts = generator.multinomial(num_unknown, np.full(len(population), 1 / len(population)), size=num_rounds)
    # In the eigenvectors of the population's covariance, all covariances are diagonal.
    units: FloatArray = line_up.astype(np.float64) * summary.step
    center = units[1:].mean(axis=0)
    spread = (units[1:] - center).T @ (units[1:] - center) / len(population)
    lengths, axes = np.linalg.eigh(spread)
    lengths = np.maximum(lengths, 0.0)
    clients = (units - center) @ axes
    crowd: FloatArray = counts @ clients[1:] + clients[row_places]
    total, zeros = np.zeros(crowd.shape), np.zeros(crowd.shape, dtype=np.int64)
    slots = mechanism.slots_of(crowd.shape[1])
    results: list[AfterReleases] = []
    for number in range(1, max(num_releases) + 1):
        if num_draws > _MOST_DRAWS:
            noise = generator.normal(scale=math.sqrt(num_draws * variance), size=crowd.shape)
        else:
            draws = [mechanism.randomize_rows(zeros, generator.random((num_rounds, slots))) for _ in range(num_draws)]
            noise = np.stack(draws).sum(axis=0) * summary.step
        total += crowd + noise @ axes
        if number not in num_releases:
            continue
        mean_report = total / number
        other_variance = num_unknown * lengths + num_draws * variance / number
        misses = mean_report[:, None] - clients
        logs: FloatArray = -0.5 * np.square(misses) @ (1 / other_variance)
        gains = lengths / (lengths + other_variance)
        errors_of_others: FloatArray = (mean_report * gains - clients[row_places])[~is_suspect]
        results.append(
            judge_rounds(
                number,
                number * epsilon,
                logs,
                is_suspect,
                errors_of_others,
                expected_error=math.sqrt(float(np.mean(lengths * (1 - gains)))),
            )
        )
    return results


def _protocol_of(context: AttackContext) -> MoralPreferences:
    return cast("MoralPreferences", context.protocol)  # by `protocols`


def _population(context: AttackContext, coalition: Coalition, place: int) -> IntArray:
    """Return the distinct rows of the population that the adversary knows, without the target's."""
    rows = context.inputs.private
    known_rows = rows[list(coalition.members)] if coalition.members else np.delete(rows, place, axis=0)
    known_rows = np.unique(known_rows, axis=0)
    return known_rows[np.any(known_rows != rows[place], axis=1)]


def _line_up(context: AttackContext, coalition: Coalition, place: int) -> IntArray:
    """Return the target's row, and a sample of the population's."""
    return np.concatenate([context.inputs.private[place][None], _population(context, coalition, place)])[
        : 1 + _MOST_OTHERS
    ]


def _num_unknown(context: AttackContext, coalition: Coalition, place: int) -> int:
    """Return the number of unknown voters in the target's published sum, without the target."""
    if coalition.has_server:  # the server sees the target's report
        return 0
    is_equal = np.all(context.inputs.public == context.inputs.public[place], axis=1)
    is_equal[[place, *coalition.members]] = False
    return int(is_equal.sum())


def _who(coalition: Coalition) -> str:
    num_members = len(coalition.members)
    if not num_members and not coalition.has_server:
        return "somebody who knows the population, and hears the releases"
    voters = f"{num_members:,} {'voters' if num_members != 1 else 'voter'}" if num_members else ""
    return " and ".join(part for part in ("the aggregator" if coalition.has_server else "", voters) if part)


def _trust(coalition: Coalition, unknown: int) -> str:
    if coalition.has_server:
        sees = "It reads the target's own report in each session."
    elif unknown:
        sees = f"It hears what is published. {unknown:,} other voters of the target's sum are honest and unknown to it."
    else:
        sees = "Its members know every row of the target's sum but one, and take their own off what is published."
    return f"Everybody follows the protocol. {sees} It knows the row that it looks for, and how others are."


def _describe_session(
    context: AttackContext, trace: SessionTrace, coalition: Coalition, place: int, *, unknown: int
) -> str:
    """Return a sentence on the target's membership from the session that was run."""
    if trace.failure is not None and not coalition.has_server:
        return "The session came to no end, and nothing was published; releases are tried beside it."
    if unknown:
        return f"In the sum that is published the target's row is one of {unknown + 1:,} that are not known."
    view = trace.seen(context, coalition)
    posteriors = MoralAttack(_protocol_of(context), line_up=_line_up(context, coalition, place)).posteriors(
        [view], np.array([place], dtype=np.int64), secret=_SECRET
    )
    belief = float(posteriors.probabilities[0, 1])
    return f"After this session it believes in {belief:.3f} that the target took part, and before in 0.500."


def _describe_releases(results: Sequence[AfterReleases], *, unknown: int) -> Iterator[str]:
    first, last = results[0], results[-1]
    yield (
        f"Whether a row is the target's or another's it says rightly in {first.success:.3f} ± "
        f"{first.success_error:.3f} after {_times(first.num_releases)} and in {last.success:.3f} ± "
        f"{last.success_error:.3f} after {_times(last.num_releases)}; by guessing in 0.500. The ledger's total is "
        f"{at_most(first.epsilon)} and {at_most(last.epsilon)}, which allows "
        f"{round_up(first.success_bound, decimals=3):.3f} and {round_up(last.success_bound, decimals=3):.3f}."
    )
    if unknown:
        yield (
            f"Its estimate of the target's row is off by {first.error:.3g} in each number, and by {last.error:.3g} in "
            "the end: repetition takes away the noise, and not the voters that it does not know."
        )
    else:
        share = math.sqrt(first.num_releases / last.num_releases)
        yield (
            f"Its estimate of the target's row is off by {first.error:.3g} in each number, and by {last.error:.3g} in "
            f"the end: {last.error / first.error:.3f} of it, where 1/√T says {share:.3f}."
        )


def _describe_budget(answered: int, *, budget: Budget | None, num_asked: int) -> str:
    if budget is None or answered >= num_asked:
        return "No budget refuses any of these releases; each is on the ledger."
    return (
        f"A ledger with a budget of {budget.epsilon:g} lets the target take part in {_times(answered)} and refuses "
        "the next, before anything is drawn: there it ends."
    )


def _times(number: int) -> str:
    return f"{number:,} {'releases' if number != 1 else 'release'}"
