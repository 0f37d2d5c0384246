"""Membership inference and reconstruction from repeated releases: how privacy degrades by composition.

The game: all voters but one collude, or the server if it is not trusted. In each of T sessions, the target's row gets
fresh noise. The coalition guesses whether the row is the suspect's or another of the population, and estimates the row.
Losses of sessions add up in the ledger. The success is at most π·e^(Tε)/(π·e^(Tε) + 1 − π), with prior π, and the error
of the estimate decreases as 1/√T. With memoized noise, repetitions would reveal nothing new; this game shows the effect
of fresh noise.

Rounds are independent, and run as one array: after subtracting all other voters, a session leaves the row plus one draw
of noise, also in a session of agents (`MoralAttack`).

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
    """A coalition's success after some sessions with the same inputs."""

    num_releases: int  # number of releases T
    epsilon: float  # the target's total proven ε, in nats
    success: float  # the fraction of rounds with a correct guess on membership
    success_error: float  # its standard error
    success_bound: float  # the bound on success from the total ε
    error: float  # root mean squared error of a coordinate of the row, in units
    expected_error: float  # the noise's standard deviation over √T


def mechanism_faced(protocol: MoralPreferences, public: Sequence[int] = ()) -> AdditiveNoise:
    """Return the mechanism that adds noise to a voter's row before an untrusted party sees it.

    It is the server's in VLCP and RLCP, and the voter's in VLDP and RLDP. ConfigurationError: its noise is not
    additive.

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
    """Play the game, half of the rounds with the suspect's row, half with another row.

    Args:
        protocol: the protocol, which must have additive noise (else ConfigurationError).
        line_up: int64, shape (c, columns), c ≥ 2: the suspect's row, then those of the population.
        num_releases: increasing values of T ≥ 1 to evaluate.
        num_rounds: number of rounds of the game.
        public: the target's public row.

    Raises:
        ValueError: there are fewer than 2 rows, or no round or release.
    """
    if len(line_up) < 2 or num_rounds < 1 or not num_releases or min(num_releases) < 1:  # noqa: PLR2004  a suspect and another
        raise ValueError(
            "too little is given: use a line-up of two rows or more, and one round and one release or more"
        )
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
    """Evaluate guesses on membership from likelihoods at even odds, and estimates' errors, in units.

    `logs`, shape (rounds, c), are log-likelihoods of the line-up, whose first row is the suspect's.
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
