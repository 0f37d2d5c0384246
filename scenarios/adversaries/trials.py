"""A coalition's average success: on synthetic targets, or exact if the law of reports is finite.

A bound on success holds on average over the prior, and not for each secret: who always names the same label is always
right about those who have it. So a coalition is tried on targets whose secrets are drawn from the prior.
"""

import math
from typing import Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.phases import Inputs
from ..attacks import (
    Attack,
    Coalition,
    Evaluation,
    evaluate_channel,
    pool,
    session_channel,
    view_by_arrays,
    view_by_server,
)
from .role import AttackContext

_SERVER_TARGETS: Final = 10_000  # with the server all made-up targets fit into one session; else each few take one
_TARGETS: Final = 200
_LEAST_SESSIONS: Final = 8
"""That are tried, however many targets one has: those of one session share what is published of it."""


def try_coalition(
    context: AttackContext,
    coalition: Coalition,
    attack: Attack,
    targets: IntArray,
    *,
    secret: str,
    prior: FloatArray | None = None,
    votes: int = 1,
    num_targets: int = _TARGETS,
) -> Evaluation:
    """Return how well a coalition does on targets whose secrets are drawn from the prior.

    Args:
        context: what is run; members have their own inputs, and honest parties made-up ones.
        targets: places in the roster, none a member.
        prior: of its labels; uniform unless given.
        votes: how many sessions the coalition sees of each target.
        num_targets: how many are tried where each few take a session of their own.
    """
    public = context.inputs.public[targets]
    if attack.infers_from_reports_alone and coalition.has_server:
        exact = _exactly(context, attack, public, secret=secret, prior=prior, votes=votes)
        if exact is not None:
            return exact
        times = math.ceil(_SERVER_TARGETS / len(targets))
        rows = np.tile(context.inputs.private[targets], (times, 1))
        all_places = np.arange(len(rows))
        inputs = attack.redraw(
            secret,
            Inputs(rows, np.tile(public, (times, 1))),
            all_places,
            prior=prior,
            uniforms=_uniforms(context, len(rows)),
        )
        earlier_reports: dict[str, IntArray] = {}
        sessions = [
            view_by_server(context.protocol, inputs, noise=context.noise(rerun=rerun), earlier_reports=earlier_reports)
            for rerun in range(votes, 2 * votes)
        ]
        posteriors = attack.posteriors(sessions, all_places, secret=secret, prior=prior)
        return attack.evaluate_redrawn(posteriors, inputs, all_places, secret=secret)
    honest = np.setdiff1d(np.arange(len(context.names)), coalition.members)
    # Of whoever is not the target it believes nothing in particular. So with a prior there is one target at a time:
    # others whose secrets were drawn from that prior too would not be what its likelihoods take for granted.
    target_groups = [targets] if prior is None else np.split(targets, len(targets))
    max_owners = max(len(attack.owners(secret, context.inputs.public, group)) for group in target_groups)
    times = max(math.ceil(num_targets / max_owners), min(num_targets, _LEAST_SESSIONS))
    # Over several votes the others' inputs stay what they are, which not every attack's likelihoods know: there its
    # guesses are held against the truth, and what it says of its own chances is not taken for them.
    evaluated = attack.evaluate_redrawn if votes == 1 else attack.evaluate
    parts: list[Evaluation] = []
    draws = _uniforms(context, times * (len(honest) + len(target_groups[0])))
    for number, uniforms in enumerate(draws.reshape(times, -1), start=1):
        group = target_groups[number % len(target_groups)]
        # The other honest parties are drawn as the attack believes, else its chances would not be what it says.
        redrawn_inputs = attack.redraw(secret, context.inputs, honest, prior=None, uniforms=uniforms[: len(honest)])
        inputs = attack.redraw(secret, redrawn_inputs, group, prior=prior, uniforms=uniforms[len(honest) :])
        reruns = range(number * votes, (number + 1) * votes)  # of votes that the coalition itself has not seen
        noises = (context.noise(rerun=rerun) for rerun in reruns)
        memoized: dict[str, IntArray] = {}
        sessions = [
            view_by_arrays(context.protocol, inputs, noise=noise, coalition=coalition, earlier_reports=memoized)
            for noise in noises
        ]
        posteriors = attack.posteriors(sessions, group, secret=secret, prior=prior)
        parts.append(evaluated(posteriors, inputs, group, secret=secret))
    return pool(parts)


def _exactly(
    context: AttackContext, attack: Attack, public: IntArray, *, secret: str, prior: FloatArray | None, votes: int
) -> Evaluation | None:
    """Return how well whoever has all reports does, where they are few and all targets are alike; else None."""
    if len(np.unique(public, axis=0)) > 1:
        return None
    candidates = attack.candidates(secret)
    channel = session_channel(context.protocol, candidates.rows, public=public[0].tolist(), votes=votes)
    if channel is None:
        return None
    prior_probabilities = np.full(len(candidates.labels), 1 / len(candidates.labels)) if prior is None else prior
    return evaluate_channel(channel, places=candidates.places, prior=prior_probabilities)


def _uniforms(context: AttackContext, number: int) -> FloatArray:
    """Return what made-up secrets are drawn by, from a stream of their own."""
    return context.noise().uniforms(protocol="adversary", phase="made-up secrets", start=0, stop=number, slots=1)[:, 0]
