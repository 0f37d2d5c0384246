"""Isolation: what a party loses if the server or a network attacker drops all other honest parties.

Local privacy does not depend on other parties. An adversary that sees reports has the target's in any case, and learns
nothing more by dropping the others. So the proven ε holds against isolation in the local model. It also holds in the
central model for the release, whose noise the aggregator draws. But a tally of many parties hides more than ε
guarantees, and no proof counts on that. If the target is isolated, a coalition without the server reads its report from
the tally, and learns what the server would.

Adversary: a server or network attacker that deviates only in which parties are counted. It tallies, randomizes and
publishes as the protocol prescribes, and tells the coalition whom it dropped. A quorum (`PhaseRules`) protects against
this, if parties can verify that it was met.
"""

import dataclasses
from typing import Final

import numpy as np

from ...protocol.errors import refuse
from ...protocol.phases import Inputs
from ...protocol.randomness import SimulatedNoise
from .attack import Attack
from .coalition_view import Coalition, view_by_arrays
from .posteriors import Evaluation, pool

_SESSION: Final = "isolation"


@dataclasses.dataclass(frozen=True)
class Isolation:
    """An attack's success on one party, with and without the other honest parties."""

    before: Evaluation  # when all honest parties are counted
    after: Evaluation  # when only the target and the coalition's members are counted
    # When the server is in the coalition: an upper bound for both, up to sampling error.
    server: Evaluation
    # The target's proven loss against this coalition, by the ledger, for any number of counted parties; ∞ if the
    # coalition has a server that is trusted with values.
    epsilon: float


def evaluate_isolation(
    attack: Attack,
    inputs: Inputs,
    *,
    target: int,
    coalition: Coalition,
    secret: str,
    num_sessions: int,
    seed: int = 0,
) -> Isolation:
    """Compare an attack's success on a party among others with its success on the isolated party.

    Each session draws the target's row from the uniform prior over labels, and fresh noise. All three coalitions see
    the same session. The coalition does not know the other honest parties' rows, which stay as they are.

    Args:
        attack: the attack on the protocol.
        inputs: all parties' private and public rows.
        target: the target's index in the roster.
        coalition: the parties that infer.
        secret: the secret that is inferred.
        num_sessions: number of simulated sessions.

    Raises:
        ConfigurationError: the target is a member; or the attack has no likelihood of a tally of many parties.
    """
    attack.check_secret(secret)
    refuse(target in coalition.members, "target", target, "no member of the coalition")
    generator = np.random.default_rng(seed)
    targets = np.array([target], dtype=np.int64)
    all_places, few = list(range(len(inputs))), sorted([*coalition.members, target])
    kinds = [(coalition, all_places), (coalition, few), (dataclasses.replace(coalition, has_server=True), few)]
    evaluations_of_kinds: list[list[Evaluation]] = [[] for _ in kinds]
    for session in range(num_sessions):
        redrawn = attack.redraw(secret, inputs, targets, prior=None, uniforms=generator.random(1))
        noise = SimulatedNoise(seed, session=_SESSION, round_number=session)
        for evaluations, (observers, counted_places) in zip(evaluations_of_kinds, kinds, strict=True):
            view = view_by_arrays(attack.protocol, redrawn, noise=noise, coalition=observers, places=counted_places)
            counted_inputs = Inputs(redrawn.private[counted_places], redrawn.public[counted_places])
            place = np.array([counted_places.index(target)], dtype=np.int64)
            posteriors = attack.posteriors([view], place, secret=secret)
            evaluations.append(attack.evaluate(posteriors, counted_inputs, place, secret=secret))
    in_crowd, isolated, server = map(pool, evaluations_of_kinds)
    return Isolation(in_crowd, isolated, server, attack.loss(secret, inputs.public, targets, coalition))
