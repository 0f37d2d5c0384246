"""Record inference: all of a voter's records but one are known, with two candidates for the last one; which is it?

The ε of a record bounds the success of this inference, by e^ε/(1 + e^ε) at even odds, against everybody except the
voter. It does not bound more: a voter's n records together are protected by nε, which the ledger charges the voter
(reading M7). So the same game is played for one record and for all records.

Under Algorithm 3 the bound is proven for noisy coefficients, and the attack is strongest on these: a report reveals
only the maximizer of their objective. Coefficients have the exact law of Laplace noise; reports have a simulated law
(`MoralAttack`). Odds are nearest to e^ε for two records whose coefficients are as far apart as the proof allows
(`psephos.scenarios.moral_preferences.audit.witnesses.search_sensitivity` finds such a pair); these differ slightly in
every coefficient. The success, for which the bound by ε is not tight, is greater for two opposite records of a single
feature, whose change is in one coefficient. Noise for the printed bound is larger than for the proven one, so both
pairs are harder to distinguish (reading M6).

A session sums a voter's records before any use, so the games are about a synthetic voter with known records, and one
record that is either candidate. With additive noise, the result does not depend on the known records.

Source: Wang et al. (2019), Algorithm 3 and Theorem 5; readings M4, M6, M7 and M8.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final, Literal, cast

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, refuse, require
from ....protocol.mechanisms import PostProcessed, VectorLaplace
from ....protocol.moral_preferences import Level, MoralPreferences, Records
from ....protocol.phases import Inputs
from ....protocol.randomness import SimulatedNoise
from ...adversaries.role import AttackContext, AttackReport, Role, SessionTrace, check_between
from ...attacks import success_bound
from ...attacks.coalition_view import Coalition, view_by_arrays
from ...attacks.posteriors import Evaluation, evaluate, infer
from ...verdicts import at_most, round_up
from .inference import MoralAttack

_MOST_TRIALS: Final = 100_000
# Simulated reports of each candidate, enough that the error of a fitted law is negligible.
_NUM_SIMULATED: Final = 1_024
_EVEN: Final = (0.5, 0.5)
_PAIR: Final = 2
_ROUNDING: Final = 1e-9
_TRUST: Final = (
    "Everybody follows the protocol. The coalition knows the two records of which the target has one, and all others "
    "that it has; the games are about made-up records."
)
_MECHANISMS: Final = ("functional", "pooled", "direction")


@dataclasses.dataclass(frozen=True)
class RecordGame:
    """The success of distinguishing two records, their distance, and the loss at this distance."""

    evaluation: Evaluation
    distance: float


def pair_of(differences: FloatArray) -> FloatArray:
    """Return records, shape (records, 2, d), whose chosen minus rejected alternatives are these differences.

    Differences have shape (records, d) and norm ≤ 1, so that clipping does not change the records. The alternatives are
    half of the difference and its opposite.

    Examples:
        >>> pair_of(np.array([[0.5, 0.0], [-0.5, 0.0]])).shape
        (2, 2, 2)
    """
    return np.stack([differences / 2, -differences / 2], axis=1)


def record_line_up(protocol: MoralPreferences, known_preferences: FloatArray, candidates: FloatArray) -> IntArray:
    """Return a voter's rows, int64, shape (c, columns), one for each candidate of its last record.

    `known_preferences`, shape (records, 2, d), are its other records, possibly none; `candidates` have shape (c, 2, d).
    """
    voters = [np.concatenate([known_preferences, candidate[None]]) for candidate in candidates]
    return protocol.summary.rows_of(Records.from_voters(voters, num_features=candidates.shape[2]))


def play_record_game(
    protocol: MoralPreferences,
    line_up: IntArray,
    *,
    num_targets: int,
    seed: int,
    sees: Literal["report", "coefficients"] = "report",
    num_simulated: int = 2048,
) -> RecordGame:
    """Play independent games in which a target has one of two rows from `record_line_up`, and is guessed.

    Args:
        protocol: in RLDP; or in RLCP, where all other voters collude and see the release.
        sees: the report, as an aggregator does; or the noisy coefficients before it, which no party sees, but against
            which the bound is proven.
        num_simulated: number of simulated reports for each candidate, if their law is simulated.
    """
    if len(line_up) != 2:  # noqa: PLR2004  a pair
        raise ConfigurationError(field="line-up", value=f"{len(line_up)} rows", allowed="two rows")
    phase = protocol.phase
    generator = np.random.Generator(np.random.Philox(seed))
    truths = generator.integers(0, 2, num_targets)
    rows = line_up[truths]
    mechanism = phase.tally_mechanism or phase.mechanism
    if sees == "coefficients" and isinstance(mechanism, PostProcessed):
        mechanism = mechanism.noise
    if isinstance(mechanism, PostProcessed):
        inputs = Inputs(rows, np.zeros((num_targets, 0), dtype=np.int64))
        noise = SimulatedNoise(seed, session="record inference")
        view = view_by_arrays(protocol, inputs, noise=noise, coalition=Coalition((), has_server=True))
        attack = MoralAttack(protocol, line_up=line_up, num_simulated=num_simulated, seed=seed + 1)
        posteriors = attack.posteriors([view], np.arange(num_targets), secret=attack.default_secret)
    else:
        uniforms = generator.random((num_targets, mechanism.slots_of(line_up.shape[1])))
        logs = mechanism.log_likelihoods(mechanism.randomize_rows(rows, uniforms), line_up)
        posteriors = infer(logs, places=np.arange(2), labels=("candidate 1", "candidate 2"))
    of_noise = mechanism.noise if isinstance(mechanism, PostProcessed) else mechanism
    change = (line_up[1] - line_up[0]).astype(np.float64)
    if isinstance(of_noise, VectorLaplace):
        distance = float(np.abs(change).sum()) / of_noise.scale
    else:
        distance = math.sqrt(float(np.sum(change * change))) / float(getattr(of_noise, "scale"))  # noqa: B009  spherical
    return RecordGame(evaluate(posteriors, truths), distance)


class RecordInferenceRole(Role, frozen=True, kw_only=True):
    """A coalition that knows all of the target's records but one, and two candidates for that one.

    In local paradigms, members are the server and any voters; in central ones, all other voters.
    """

    target: str  # the voter with the record
    records: int = 0  # number of the target's records; 0 for the protocol's maximum
    # Two differences, chosen minus rejected, of ℓ₂ norm ≤ 1; by default opposite answers to a question about the first
    # feature only.
    candidates: tuple[tuple[float, ...], ...] = ()
    trials: int = 2_000  # synthetic targets of each game

    name: ClassVar[str] = "record-inference"
    refused_if_masked: ClassVar[str] = "it reads reports of one voter, and there are none; 'coalition' reads the sum"
    protocols: ClassVar[frozenset[str]] = frozenset({"moral-preferences"})

    def check(self, context: AttackContext) -> None:
        coalition = context.coalition(self.members)
        context.place_of_target(self.target, coalition, knows="its own records")
        parameters = cast("MoralPreferences", context.protocol).parameters
        allowed = "RLCP or RLDP: here ε protects everything that a voter says"
        refuse(parameters.paradigm.level is not Level.RECORD, "paradigm", parameters.paradigm.value, allowed)
        allowed = f"one that adds up records: {', '.join(_MECHANISMS)}"
        refuse(parameters.mechanism not in _MECHANISMS, "mechanism", parameters.mechanism, allowed)
        allowed = "'server', alone or with voters: it has the target's report"
        refuse(parameters.is_local and not coalition.has_server, "members", list(self.members)[:3], allowed)
        is_maximal = len(coalition.members) == len(context.names) - 1
        if not parameters.is_local and (coalition.has_server or not is_maximal):
            allowed = "['*'], all other voters: this protocol trusts its server, which sees every row as it is"
            raise ConfigurationError(field="members", value=list(self.members)[:3], allowed=allowed)
        check_between("records", self.records or 1, 1, parameters.max_records)
        check_between("trials", self.trials, 1, _MOST_TRIALS)
        self._check_candidates(parameters.num_features)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return the success of distinguishing two records, and two voters."""
        protocol = _protocol_of_target(context, self.target)
        number = self.records or protocol.parameters.max_records
        games = self._play(protocol, number, seed=context.seed)
        (loss,) = protocol.losses
        charged = [
            entry
            for entry in trace.entries
            if entry.proven == loss.proven and (entry.person == self.target or entry.num_persons > 1)
        ]
        sentences = [
            *_describe_record_games(games, epsilon=loss.finest_loss.proven),
            *_describe_voter_games(games, number, epsilon=loss.finest_loss.proven),
        ]
        if charged:
            sentences.append(
                f"The target's ledger has {at_most(loss.proven)} for the voter, of up to "
                f"{protocol.parameters.max_records:,} records, and {at_most(loss.finest_loss.proven)} for each as a "
                "part of it."
            )
        if trace.failure is not None:
            sentences.insert(0, "The session came to no end; the games are tried beside it.")
        observer = f"{len(context.names) - 1:,} voters"
        if protocol.parameters.is_local:
            observer = "a coalition with the server"
        return self.attack_report(
            who=f"{observer}, to whom all records of {self.target} but one are known",
            trust=_TRUST,
            sentences=sentences,
            rows=(
                {
                    "unknown": "one record" if records == 1 else f"all {records:,} records",
                    "seen": sees,
                    "success": game.evaluation.success,
                    "standard_error": game.evaluation.success_error,
                    "bits": game.evaluation.information,
                    "distance": game.distance,
                    "epsilon": records * loss.finest_loss.proven,
                    "proven_bound": success_bound(records * loss.finest_loss.proven, _EVEN),
                }
                for (records, sees), game in games.items()
            ),
        )

    def _play(self, protocol: MoralPreferences, number: int, *, seed: int) -> Mapping[tuple[int, str], RecordGame]:
        """Play the games for one record and for all, by view: the keys are (records, view)."""
        size = protocol.parameters.num_features
        pair = pair_of(self._differences(size))
        known_normals = np.random.Generator(np.random.Philox(seed)).standard_normal((number - 1, 2, size))
        # Two voters whose records all equal the first candidate, or all the second.
        voters = Records.from_voters([np.tile(record, (number, 1, 1)) for record in pair], num_features=size)
        # For a voter with one record, both line-ups are equal.
        line_ups = {1: record_line_up(protocol, known_normals, pair), number: protocol.summary.rows_of(voters)}
        sights: tuple[Literal["report", "coefficients"], ...] = ("report",)
        if protocol.parameters.mechanism == "functional":
            sights = ("coefficients", "report")
        return {
            (records, sees): play_record_game(
                protocol, rows, num_targets=self.trials, seed=seed, sees=sees, num_simulated=_NUM_SIMULATED
            )
            for records, rows in line_ups.items()
            for sees in sights
        }

    def _differences(self, size: int) -> FloatArray:
        if self.candidates:
            return np.array(self.candidates, dtype=np.float64)
        first = np.eye(1, size)
        return np.concatenate([first, -first])

    def _check_candidates(self, size: int) -> None:
        if not self.candidates:
            return
        is_pair = len(self.candidates) == _PAIR and all(len(each) == size for each in self.candidates)
        if not is_pair or self.candidates[0] == self.candidates[1]:
            allowed = f"two different ones of {size} numbers each"
            raise ConfigurationError(field="candidates", value=f"{len(self.candidates)} records", allowed=allowed)
        longest = float(np.linalg.norm(self._differences(size), axis=1).max())
        require(longest <= 1 + _ROUNDING, "candidates", f"one of norm {longest:g}", "of ℓ₂ norm ≤ 1")


def _protocol_of_target(context: AttackContext, target: str) -> MoralPreferences:
    """Return the session of the target's society, with the target's ε for all voters."""
    protocol = cast("MoralPreferences", context.protocol)
    parameters = protocol.parameters
    target_parameters = msgspec.structs.replace(
        parameters, societies=msgspec.UNSET
    )  # the release of the target's society
    if not parameters.is_personal:
        return MoralPreferences(target_parameters) if parameters.names_of_societies else protocol
    level = parameters.epsilons[int(context.inputs.public[context.place_of(target, field="target"), -1])]
    return MoralPreferences(
        msgspec.structs.replace(target_parameters, epsilons=(), epsilon=level, chosen_by=msgspec.UNSET)
    )


def _told(evaluation: Evaluation) -> str:
    return f"{evaluation.success:.3f} ± {evaluation.success_error:.3f}"


def _describe_record_games(games: Mapping[tuple[int, str], RecordGame], *, epsilon: float) -> Iterator[str]:
    max_success = success_bound(epsilon, _EVEN)
    own_games = {sees: game for (records, sees), game in games.items() if records == 1}
    games_text = " and ".join(f"by the {sees} in {_told(game.evaluation):s}" for sees, game in own_games.items())
    yield (
        f"Which of two records the target's last one is, is named rightly {games_text}; by guessing in 0.500. "
        f"A record's ε = {at_most(epsilon)} allows {round_up(max_success, decimals=3):.3f}, to whoever knows all the "
        "rest."
    )
    distance = next(iter(own_games.values())).distance
    yield f"These two records are {distance:.3g} apart, of {epsilon:.3g} that any two may be."


def _describe_voter_games(games: Mapping[tuple[int, str], RecordGame], number: int, *, epsilon: float) -> Iterator[str]:
    if number == 1:
        yield "The target has one record, so that the record's ε is the voter's."
        return
    bound_once, bound_of_all = success_bound(epsilon, _EVEN), success_bound(number * epsilon, _EVEN)
    best = max(
        (game.evaluation for (records, _), game in games.items() if records == number), key=lambda each: each.success
    )
    comparison = "more than" if best.success - 2 * best.success_error > bound_once else "not clearly more than"
    yield (
        f"Whether all {number:,} records are of the one kind or of the other is named rightly in {_told(best):s}: "
        f"{comparison} a record's ε allows ({round_up(bound_once, decimals=3):.3f}), and within "
        f"{round_up(bound_of_all, decimals=3):.3f}, which {number} · {at_most(epsilon)} = {at_most(number * epsilon)} "
        "allows: "
        "ε of a record does not protect what a voter says throughout."
    )
