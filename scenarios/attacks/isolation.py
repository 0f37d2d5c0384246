"""What a party loses if it is counted alone: the server, or an attacker on the network, drops all other honest parties.

Local privacy does not rest on the crowd. Who sees reports has the target's either way, and dropping the others tells it
nothing more: in the local model the proven ε holds against that as well, and so it does in the central model for the
release, whose noise is the aggregator's own. But what is published of many hides more than ε says, and that shelter is
not part of any proof: isolated, a coalition without the server reads the target's report from the tally, and gains what
the server had.

Adversary: a server, or a network, that deviates in whom it counts and in nothing else; what it counts it tallies,
randomizes and publishes as the protocol says. The coalition is told whom it dropped. A quorum is what stands against
this (`PhaseRules`), where parties can tell that it was met.
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
    """How well an attack does on one party, with and without the others."""

    before: Evaluation  # when all honest parties are counted
    after: Evaluation  # when the target alone is, beside the coalition's members
    # When the server is in the coalition: what neither can exceed, but for luck in the sessions simulated.
    server: Evaluation
    # The proven loss of the target against this coalition, by the ledger, however many are counted; ∞ where the
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
    """Compare what is inferred of a party in a crowd with what is inferred of it alone.

    In each session the target's row is drawn, all labels alike, and noise is fresh; the three coalitions see the
    same session. The other honest parties' rows stay as they are, and the coalition does not know them.

    Args:
        attack: on any protocol.
        inputs: all parties'.
        target: its place in the roster.
        coalition: who infers.
        secret: what is inferred.
        num_sessions: how many are simulated.

    Raises:
        ConfigurationError: the target is a member, or as the attack: some say nothing of what a crowd's tally tells.
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
