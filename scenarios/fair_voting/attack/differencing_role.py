"""Differencing: two elections that differ in one voter, whose ranking is inferred from both outcomes.

Between the elections the voter leaves, or changes its ranking; all others rank as before. The second outcome reveals
what the others contributed to the first one, so two outcomes reveal more about the voter than one. Losses add up: a
voter that has left is charged once, since the second election does not depend on it; one that changes its ranking is
charged twice.

The coalition assumes that unknown rankings are uniform, and is evaluated on such elections: exactly if only the winner
is published, whose law is finite, else on synthetic elections.

Source: Kifer and Machanavajjhala (2011), Section 2, for the differencing of releases; reading F1.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar, Final, cast

import msgspec
import numpy as np

from ....agents.adversaries import SERVER
from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError, refuse
from ....protocol.fair_voting import FairVoting
from ....protocol.phases import Inputs
from ...adversaries.role import (
    AttackContext,
    AttackReport,
    Role,
    SessionTrace,
    check_between,
)
from ...attacks import (
    Coalition,
    CoalitionView,
    Evaluation,
    Posteriors,
    evaluate_channel,
    evaluate_expected,
    pool,
    success_bound,
    view_by_arrays,
)
from ...verdicts import round_up
from .inference import Change, FairVotingAttack
from .published import totals_of
from .two_elections import TwoElections, channel_of_winner

_MOST_TRIALS: Final = 10_000
# Most rankings of each unknown voter over both elections; with more, a trial takes seconds.
_MOST_CHANGED: Final = 24
_MOST_LISTED: Final = 6
# Most unknown voters of the target's group if sums are published: each trial draws their rankings thousands of times,
# so there are fewer trials.
_MOST_UNKNOWN: Final = 16
# The same for four alternatives or more, where each trial combines thousands of sums with all rankings.
_MOST_UNKNOWN_OF_FOUR: Final = 4
_MOST_DRAWN: Final = 160
_LEAST_TRIALS: Final = 10


class DifferencingRole(Role, frozen=True, kw_only=True):
    """Voters that receive the outcomes of two elections which differ in the target.

    Members are at least one voter, without the aggregator, which is trusted.
    """

    target: str  # the voter whose ranking in the first election, that of the scenario, is inferred
    # The target's change before the second election: it has "left", or "changed" its ranking.
    change: Change = "left"
    secret: str = ""  # "ranking" (default), "favorite", or "pair": which of the first two alternatives is ahead
    trials: int = 60  # synthetic pairs of elections, if sums are published; fewer if many rankings are unknown

    name: ClassVar[str] = "differencing"
    refused_if_masked: ClassVar[str] = "its threshold is of one roster, and there is no second vote without the target"
    protocols: ClassVar[frozenset[str]] = frozenset({"fair-voting"})

    def check(self, context: AttackContext) -> None:
        coalition = context.coalition(self.members)
        place = context.place_of_target(self.target, coalition, knows="its own ranking")
        value = SERVER if coalition.has_server else "nobody"
        allowed = "voters: they hear the outcomes, and the aggregator, which is trusted, has the rankings"
        refuse(coalition.has_server or not coalition.members, "members", value, allowed)
        check_between("trials", self.trials, 1, _MOST_TRIALS)
        parameters = _protocol_of(context).parameters
        value = f"{len(parameters.alternatives)} alternatives"
        refuse(len(parameters.alternatives) > _MOST_LISTED, "alternatives", value, f"at most {_MOST_LISTED}")
        elections = self._elections(context)
        elections.first.check_secret(self._name_of_secret)
        unknown = _ElectionPair(context, elections, coalition, place, self._name_of_secret).num_unknown
        max_unknown = _MOST_UNKNOWN_OF_FOUR if len(elections.first.rankings) >= _MOST_CHANGED else _MOST_UNKNOWN
        allowed = f"all voters of the target's group but {max_unknown} at most, where sums are published"
        refuse(
            parameters.kind.releases_sums and unknown > max_unknown, "members", f"{len(self.members)} voters", allowed
        )
        is_unknown = len(coalition.members) < len(context.names) - 1
        if self.change == "changed" and is_unknown and len(elections.first.rankings) > _MOST_CHANGED:
            allowed = "all voters but the target ('*'), where it changes a ranking of more than four alternatives"
            raise ConfigurationError(field="members", value=f"{len(self.members)} voters", allowed=allowed)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return what both outcomes reveal, on average and about the target."""
        coalition = context.coalition(self.members)
        place = context.place_of(self.target, field="target")
        elections = self._elections(context)
        pair = _ElectionPair(context, elections, coalition, place, self._name_of_secret)
        one, two = pair.evaluations(self.trials)
        group = int(context.inputs.public[place, 0])
        epsilon_of_one = dataclasses.replace(elections, change="left").bound(group)
        epsilon_of_both = elections.bound(group)
        posteriors = pair.posteriors_after(trace)
        labels = elections.first.candidates(self._name_of_secret).labels
        bounds = tuple(success_bound(epsilon, [1 / len(labels)]) for epsilon in (epsilon_of_one, epsilon_of_both))
        is_maximal = len(coalition.members) == len(context.names) - 1
        sentences = list(
            self._said(one, two, epsilons=(epsilon_of_one, epsilon_of_both), bounds=bounds, is_maximal=is_maximal)
        )
        if posteriors is None:
            sentences.append("It heard no outcome of this session, and so no difference to another one.")
        else:
            sentences.append(pair.say_of_target(posteriors))
        return self.attack_report(
            who=f"{context.count_parties(len(coalition.members))} who heard two outcomes",
            trust=(
                "Everybody follows the protocol, and the aggregator is trusted. The coalition knows its members' "
                f"rankings, and who has {self.change}; all others rank in the second election as in the first."
            ),
            sentences=sentences,
            rows=tuple(
                {
                    "heard": evidence,
                    "success": evaluation.success,
                    "standard_error": evaluation.success_error,
                    "advantage": evaluation.advantage,
                    "bits": evaluation.information,
                    "ledger_total": epsilon,
                    "proven_bound": bound,
                }
                for evidence, evaluation, epsilon, bound in (
                    ("one election", one, epsilon_of_one, bounds[0]),
                    ("two elections", two, epsilon_of_both, bounds[1]),
                )
            ),
        )

    @property
    def _name_of_secret(self) -> str:
        return self.secret or FairVotingAttack.secrets[0]

    def _elections(self, context: AttackContext) -> TwoElections:
        protocol = _protocol_of(context)
        allowed = "one in which the aggregator is trusted"
        refuse(protocol.parameters.is_joint, "mechanism", protocol.parameters.mechanism, allowed)
        second = protocol
        if self.change == "left":
            place = context.place_of(self.target, field="target")
            sizes = list(protocol.parameters.group_sizes)
            sizes[int(context.inputs.public[place, 0])] -= 1
            allowed = "a voter whose group has another voter: otherwise the group is empty without it"
            refuse(0 in sizes, "target", self.target, allowed)
            second = FairVoting(msgspec.structs.replace(protocol.parameters, group_sizes=tuple(sizes)))
        return TwoElections(FairVotingAttack(protocol, seed=context.seed), second, self.change)

    def _said(
        self,
        one: Evaluation,
        two: Evaluation,
        *,
        epsilons: tuple[float, float],
        bounds: tuple[float, ...],
        is_maximal: bool,
    ) -> Iterator[str]:
        opening = f"Of {two.num_targets:,} made-up targets" if two.num_targets else "On average (exactly)"
        error = f" ± {two.success_error:.3f}" if two.success_error else ""
        yield (
            f"{opening} it names the {self._name_of_secret} rightly in {one.success:.3f} after one election, and in "
            f"{f'{two.success:.3f}{error}':s} after two that differ in the target; by guessing in {one.baseline:.3f}."
        )
        yield f"That is {one.information:.4g} bits from one outcome, and {two.information:.4g} from both."
        if self.change == "left" and is_maximal:
            yield "Who knows all other rankings learns nothing from the second outcome: it does not hold the target's."
        epsilon_of_one, epsilon_of_both = (round_up(number, 6) for number in epsilons)
        bounds = tuple(round_up(number, decimals=3) for number in bounds)
        if self.change == "left":
            yield (
                f"The second election does not depend on who has left, so that the first one's ε = {epsilon_of_one:g} "
                "bounds "
                f"both: nobody is right in more than {bounds[1]:.3f}."
            )
        else:
            yield (
                f"The target is charged in both: {epsilon_of_both:g} where one costs {epsilon_of_one:g}, and "
                f"{bounds[1]:.3f} of right "
                f"answers is allowed where {bounds[0]:.3f} was."
            )
        greatest = max(one.greatest_log_odds_ratio, two.greatest_log_odds_ratio)
        yield f"Odds of two answers were moved by e^{greatest:.3f} at most; the proven bound is e^{epsilon_of_both:g}."


@dataclasses.dataclass(frozen=True)
class _ElectionPair:
    """Two elections, the coalition that sees both, the target and the secret."""

    context: AttackContext
    elections: TwoElections
    coalition: Coalition
    place: int
    secret: str

    @property
    def num_unknown(self) -> int:
        """The number of unknown voters in the target's group, without the target."""
        groups = self.context.inputs.public[:, 0]
        is_other = groups == groups[self.place]
        is_other[[self.place, *self.coalition.members]] = False
        return int(is_other.sum())

    def posteriors_after(self, trace: SessionTrace) -> Posteriors | None:
        """Return the target's posteriors after the session that was run, and after a second one."""
        first = trace.seen(self.context, self.coalition)
        if trace.failure is not None or totals_of(first) is None:
            return None
        second = self._view_second(self.context.inputs, draw=self._generator(0), rerun=1)
        return self.elections.posteriors((first, second), target=self.place, secret=self.secret)

    def say_of_target(self, posteriors: Posteriors) -> str:
        """Return a sentence on the target, with the truth if it may be shown."""
        guess = int(posteriors.guesses[0])
        sentence = (
            f"Of {self.context.names[self.place]} it believes most in {posteriors.labels[guess]!r}, with probability "
            f"{posteriors.probabilities[0, guess]:.3f}"
        )
        if not self.context.may_show_truth:
            return f"{sentence}."
        truth = int(self.elections.first.truths(self.secret, self.context.inputs)[self.place])
        return f"{sentence}; it is {posteriors.labels[truth]!r}."

    def evaluations(self, trials: int) -> tuple[Evaluation, Evaluation]:
        """Return the evaluations of one and of two elections, if inputs follow the coalition's prior."""
        inputs = self.context.inputs
        if self.elections.second.parameters.kind.releases_sums:
            return self._evaluate_synthetic(min(trials, max(_LEAST_TRIALS, _MOST_DRAWN // max(1, self.num_unknown))))
        attack = self.elections.first
        candidates = attack.candidates(self.secret)
        channel = channel_of_winner(attack, inputs, self.coalition, self.place, candidates.rows)
        one = evaluate_channel(channel, places=candidates.places)
        return one, self.elections.evaluate(inputs, target=self.place, coalition=self.coalition, secret=self.secret)

    def _evaluate_synthetic(self, trials: int) -> tuple[Evaluation, Evaluation]:
        context, attack, target = self.context, self.elections.first, np.array([self.place], dtype=np.int64)
        honest = np.setdiff1d(np.arange(len(context.names)), self.coalition.members)
        ones: list[Evaluation] = []
        twos: list[Evaluation] = []
        for trial in range(1, trials + 1):
            draw = self._generator(trial)
            private = context.inputs.private.copy()
            private[honest] = attack.rankings[draw.choice(len(attack.rankings), p=attack.population, size=len(honest))]
            inputs = Inputs(private, context.inputs.public)
            inputs = attack.redraw(self.secret, inputs, target, prior=None, uniforms=draw.random(1))
            first = self._seen(attack.protocol, inputs, self.coalition, rerun=2 * trial)
            second = self._view_second(inputs, draw=draw, rerun=2 * trial + 1)
            ones.append(evaluate_expected(attack.posteriors([first], target, secret=self.secret)))
            posteriors = self.elections.posteriors((first, second), target=self.place, secret=self.secret)
            twos.append(evaluate_expected(posteriors))
        return pool(ones), pool(twos)

    def _generator(self, trial: int) -> np.random.Generator:
        return np.random.default_rng([self.context.seed, trial])

    def _seen(self, protocol: FairVoting, inputs: Inputs, coalition: Coalition, *, rerun: int) -> CoalitionView:
        return view_by_arrays(protocol, inputs, noise=self.context.noise(rerun=rerun), coalition=coalition)

    def _view_second(self, inputs: Inputs, *, draw: np.random.Generator, rerun: int) -> CoalitionView:
        """Return the view of the second election, without the target, or with its changed ranking."""
        elections, place = self.elections, self.place
        if elections.change == "left":
            remaining_inputs = Inputs(np.delete(inputs.private, place, axis=0), np.delete(inputs.public, place, axis=0))
            moved_coalition = Coalition(
                tuple(member - (member > place) for member in self.coalition.members), has_server=False
            )
            return self._seen(elections.second, remaining_inputs, moved_coalition, rerun=rerun)
        rankings: IntArray = elections.first.rankings
        other_rankings = rankings[np.any(rankings != inputs.private[place], axis=1)]
        private = inputs.private.copy()
        private[place] = other_rankings[draw.integers(len(other_rankings))]
        return self._seen(elections.second, Inputs(private, inputs.public), self.coalition, rerun=rerun)


def _protocol_of(context: AttackContext) -> FairVoting:
    return cast("FairVoting", context.protocol)  # by `protocols`
