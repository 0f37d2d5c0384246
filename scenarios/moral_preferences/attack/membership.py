"""Membership and reconstruction from repeated releases: how fast privacy is lost by composition.

The game: all voters but one collude, or the server does where nobody trusts it; in every session the target's row gets
fresh noise. Is the row the suspect's, or another of the population? And where is it? Each session's loss adds to the
ledger, and with it grows what the coalition is right about: never beyond π·e^(Tε)/(π·e^(Tε) + 1 − π), and its error in
where the row is falls as 1/√T. Noise that is drawn once and kept (a report is drawn once) makes repetitions tell
nothing new; this is what fresh noise does.

Rounds of the game are independent, and all of them run as one array: what is left of a session, once everybody else's
part is taken off, is the row with one draw of noise, in a session of agents too (`MoralAttack`).

Source: Homer et al. (2008) and Dwork, Smith, Steinke and Ullman (2017) for tracing from released means; reading M12.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.moral_preferences import MoralPreferences
from ....protocol.moral_preferences.summaries import AdditiveNoise
from ....protocol.privacy import NeighboringRelation, total_of
from ...attacks.posteriors import infer, success_bound


@dataclasses.dataclass(frozen=True)
class AfterReleases:
    """What a coalition gets out of some sessions with the same inputs."""

    num_releases: int  # T
    epsilon: float  # the ledger's total of the target, in nats
    success: float  # the share of rounds in which it told right whether the row was the suspect's
    success_error: float  # its standard error
    success_bound: float  # the most that the total allows
    error: float  # the root of the mean squared error of one coordinate of the row, in units
    expected_error: float  # the noise's standard deviation over √T


def mechanism_faced(protocol: MoralPreferences, public: Sequence[int] = ()) -> AdditiveNoise:
    """Return what puts noise on a voter's row before anybody sees it who is not trusted.

    That is its server's noise in VLCP and RLCP, its voters' in VLDP and RLDP; ConfigurationError if it is not additive.

    Examples:
        >>> from psephos.protocol.moral_preferences import Parameters
        >>> protocol = MoralPreferences(Parameters(features=("law", "lives"), epsilon=0.5))
        >>> type(mechanism_faced(protocol)).__name__
        'VectorLaplace'
    """
    mechanism = protocol.phase.mechanism_faced(public)
    if not isinstance(mechanism, AdditiveNoise):
        raise ConfigurationError(field="mechanism", value="functional", allowed="one with additive noise")
    return mechanism


def repeat_releases(
    protocol: MoralPreferences,
    line_up: IntArray,
    *,
    num_releases: Sequence[int],
    num_rounds: int,
    seed: int,
    public: Sequence[int] = (),
) -> list[AfterReleases]:
    """Play the game: half of the rounds with the suspect's row, half with another one's.

    Args:
        protocol: whose noise it is; ConfigurationError if that is not additive.
        line_up: int64, shape (c, columns), c ≥ 2: the suspect's row first, then the population's.
        num_releases: each T for which to tell, increasing, from 1 on.
        num_rounds: of the game.
        public: the target's public row.

    Raises:
        ValueError: there are fewer rows, or no round or release.
    """
    if len(line_up) < 2 or num_rounds < 1 or not num_releases or min(num_releases) < 1:  # noqa: PLR2004  a suspect and another
        raise ValueError("expected a line-up of two rows or more, and at least one round and one release")
    mechanism = mechanism_faced(protocol, public)
    variance = protocol.summary.noise_variance(mechanism)
    epsilon = total_of(protocol.losses_of(public), relation=NeighboringRelation.REPLACE_ONE).proven
    generator = np.random.Generator(np.random.Philox(seed))
    is_suspect = generator.random(num_rounds) < 1 / 2
    rows = line_up[np.where(is_suspect, 0, generator.integers(1, len(line_up), num_rounds))]
    slots = mechanism.slots_of(line_up.shape[1])
    logs, total = np.zeros((num_rounds, len(line_up))), np.zeros(rows.shape)
    results: list[AfterReleases] = []
    for number in range(1, max(num_releases) + 1):
        round_reports = mechanism.randomize_rows(rows, generator.random((num_rounds, slots)))
        logs += mechanism.log_likelihoods(round_reports, line_up)
        total += round_reports
        if number in num_releases:
            errors = (total / number - rows) * protocol.summary.step
            results.append(
                judge_rounds(
                    number, number * epsilon, logs, is_suspect, errors, expected_error=math.sqrt(variance / number)
                )
            )
    return results


def judge_rounds(
    num_releases: int,
    epsilon: float,
    logs: FloatArray,
    is_suspect: NDArray[np.bool_],
    errors: FloatArray,
    *,
    expected_error: float,
) -> AfterReleases:
    """Return how often likelihoods name the suspect rightly, at even odds, and how far off estimates are, in units.

    Logs are of the line-up, whose first row is the suspect's: shape (rounds, c).
    """
    places = np.eye(1, logs.shape[1], dtype=np.int64)[0]
    guesses = infer(logs, places=places, labels=("another's", "the suspect's")).guesses
    success = float(np.mean(np.equal(guesses, is_suspect)))
    return AfterReleases(
        num_releases=num_releases,
        epsilon=epsilon,
        success=success,
        success_error=math.sqrt(success * (1 - success) / len(logs)),
        success_bound=success_bound(epsilon, (0.5, 0.5)),
        error=math.sqrt(float(np.mean(errors * errors))) if errors.size else 0.0,
        expected_error=expected_error,
    )
