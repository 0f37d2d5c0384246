"""A coalition's average success: on synthetic targets, or exact if the law of reports is finite.

A bound on success holds on average over the prior, not for each secret: a guesser who always names the same label is
always right about the targets that have it. So a coalition is tried on targets whose secrets are drawn from the prior.
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

# with the server, all synthetic targets fit into one session; without it, each session has a few
_SERVER_TARGETS: Final = 10_000
_TARGETS: Final = 200
_LEAST_SESSIONS: Final = 8
"""The least number of sessions that are tried: the targets of one session share its published values."""


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
    """Evaluate a coalition on targets whose secrets are drawn from the prior.

    Args:
        context: the session; members keep their inputs, and honest parties get synthetic ones.
        targets: int64, shape (targets,): indices in the roster, none of a member.
        prior: probabilities of the secret's labels, shape (labels,); uniform by default.
        votes: number of sessions that the coalition sees of each target.
        num_targets: number of targets to try if each session has only a few of them.
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
    # The likelihoods assume nothing particular about other parties. Other targets whose secrets were drawn from this
    # prior would violate that, so with a prior there is one target at a time.
    target_groups = [targets] if prior is None else np.split(targets, len(targets))
    max_owners = max(len(attack.owners(secret, context.inputs.public, group)) for group in target_groups)
    times = max(math.ceil(num_targets / max_owners), min(num_targets, _LEAST_SESSIONS))
    # Over several votes the others' inputs stay the same, which not every attack's likelihoods account for. Such an
    # attack's guesses are scored against the truth, since its posterior probabilities may be wrong.
    evaluated = attack.evaluate_redrawn if votes == 1 else attack.evaluate
    parts: list[Evaluation] = []
    draws = _uniforms(context, times * (len(honest) + len(target_groups[0])))
    for number, uniforms in enumerate(draws.reshape(times, -1), start=1):
        group = target_groups[number % len(target_groups)]
        # The other honest parties' inputs follow the attack's prior; otherwise its posteriors would be miscalibrated.
        redrawn_inputs = attack.redraw(secret, context.inputs, honest, prior=None, uniforms=uniforms[: len(honest)])
        inputs = attack.redraw(secret, redrawn_inputs, group, prior=prior, uniforms=uniforms[len(honest) :])
        reruns = range(number * votes, (number + 1) * votes)  # rounds of votes that the coalition has not seen
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
    """Return the exact evaluation of an adversary with all reports; None unless reports are few and targets alike."""
    if len(np.unique(public, axis=0)) > 1:
        return None
    candidates = attack.candidates(secret)
    channel = session_channel(context.protocol, candidates.rows, public=public[0].tolist(), votes=votes)
    if channel is None:
        return None
    prior_probabilities = np.full(len(candidates.labels), 1 / len(candidates.labels)) if prior is None else prior
    return evaluate_channel(channel, places=candidates.places, prior=prior_probabilities)


def _uniforms(context: AttackContext, number: int) -> FloatArray:
    """Return the uniforms for synthetic secrets, from a separate stream."""
    return context.noise().uniforms(protocol="adversary", phase="made-up secrets", start=0, stop=number, slots=1)[:, 0]
