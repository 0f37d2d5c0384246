"""Record inference: all of a voter's records but one are known; which of two is the last one?

That is what ε of a record bounds (RLCP, RLDP): success at even odds is at most e^ε/(1 + e^ε). Under Algorithm 3 the
attack is strongest on the noisy coefficients, of which a report is computed; a report, which says only where the noisy
objective is greatest, tells less. Coefficients have the exact law of Laplace noise; reports a simulated one
(`MoralAttack`). Odds come nearest to e^ε for two records whose coefficients are as far apart as the proof allows
(`psephos.scenarios.moral_preferences.audit.witnesses.search_sensitivity` finds such a pair). They differ a little in
every coefficient; success, which is not what ε bounds tightly, is greater for two opposite ones of a single feature,
whose whole change stands in one. Noise that is made for the printed bound is larger than that for the proven one, and
either pair is told apart less (reading M6).

Source: Wang et al. (2019), Algorithm 3 and Theorem 5; readings M4, M6 and M7.
"""

import dataclasses
import math
from typing import Literal

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.mechanisms import PostProcessed, VectorLaplace
from ....protocol.moral_preferences import MoralPreferences, Records
from ....protocol.phases import Inputs
from ....protocol.randomness import SimulatedNoise
from ...attacks.posteriors import Evaluation, evaluate, infer
from ...attacks.seen import Coalition, seen_by_arrays
from .inference import MoralAttack

__all__ = ["RecordGame", "pair_of", "play_record_game", "record_line_up"]


@dataclasses.dataclass(frozen=True)
class RecordGame:
    """How well one of two records is named, and what these two can lose at most, being as far apart as they are."""

    evaluation: Evaluation
    distance: float


def pair_of(differences: FloatArray) -> FloatArray:
    """Return records, shape (records, 2, d), of these differences, whose alternatives are half as long.

    Differences are chosen minus rejected, shape (records, d), of norm ≤ 1: clipping leaves such records as they are.
    """
    return np.stack([differences / 2, -differences / 2], axis=1)


def record_line_up(protocol: MoralPreferences, known: FloatArray, candidates: FloatArray) -> IntArray:
    """Return a voter's rows, int64, shape (c, columns), one for each record that its last one may be.

    Known are its other records, shape (records, 2, d), none or more; candidates have shape (c, 2, d).
    """
    voters = [np.concatenate([known, candidate[None]]) for candidate in candidates]
    return protocol.summary.rows_of(Records.of_voters(voters, num_features=candidates.shape[2]))


def play_record_game(
    protocol: MoralPreferences,
    line_up: IntArray,
    *,
    num_targets: int,
    seed: int,
    sees: Literal["report", "coefficients"] = "report",
    num_simulated: int = 2048,
) -> RecordGame:
    """Let many targets have one of two rows each, and name it.

    Args:
        protocol: in RLDP, or in RLCP, where all other voters collude and the release is what is seen.
        line_up: two rows, from `record_line_up`.
        num_targets: of whom each is a game of its own.
        seed: of their rows and of the noise.
        sees: the report, as an aggregator does; or the noisy coefficients behind it, which nobody does: the strongest
            that is proven against.
        num_simulated: reports for each candidate, where their law is simulated.
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
        seen = seen_by_arrays(protocol, inputs, noise=noise, coalition=Coalition((), has_server=True))
        attack = MoralAttack(protocol, line_up=line_up, num_simulated=num_simulated, seed=seed + 1)
        posteriors = attack.posteriors([seen], np.arange(num_targets), secret=attack.default_secret)
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
