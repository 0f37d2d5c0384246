"""Findings on the paper's claims that exact laws decide; `claims.csv` says how trials decide the others.

`psephos audit papers` shows the former, `psephos reproduce` all of them.

Source: Yan, Liu and Liu (2018), Sections 2.1.3, 4 and 5; readings W1 to W5.
"""

import functools
import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from ....protocol.dpwevote import DPWeVote
from ....protocol.mechanisms import FiniteMechanism
from ....protocol.privacy import total_of
from ...attacks.channels import session_channel
from ...attacks.posteriors import evaluate_channel
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, make_finder
from ..attack.inference import DPWeVoteAttack
from ..audit.sessions import case_of_partner
from .laws import TRUE, chance_of_passing, expected_quota_error, law_of
from .workloads import FIXED, SIGNED_WEIGHTS, WEIGHTS, make_vote

_EPSILON: Final = 1.0
_SKEWED_EPSILON: Final = 2.0
"""ε in reading W2's case: all weights are 3, and 60 % of 500 partners are in favor."""
_PARTNERS: Final = 10
_found: Final = make_finder(__name__, paper="DPWeVote: Yan, Liu and Liu (2018)")


def findings_on_dpwevote() -> Iterator[BoundedFinding]:
    """Yield the findings on the paper's claims, in its order."""
    printed_vote, laplace = (make_vote(variant, epsilon=_EPSILON) for variant in ("printed", "laplace"))
    mechanisms = [phase.mechanism for phase in printed_vote.phases]
    channels = [np.array(each.channel_matrix()) for each in mechanisms if isinstance(each, FiniteMechanism)]
    # With a uniform prior, the likeliest input is the report itself.
    guessed = math.prod(float(channel.diagonal().mean()) for channel in channels)
    yield _found("W10", guessed, chance=1 / math.prod(len(channel) for channel in channels))
    yield _found("W1", _loss_by_true_group(printed_vote))
    law = law_of(make_vote("printed", epsilon=_SKEWED_EPSILON))
    # The last pair is the greatest weight with "yes"; its margin is w·φ − w/2, and w/2 is estimated without bias.
    yield _found("W2", law.means[-1] - TRUE[-1] + WEIGHTS[-1])
    yield _found("W11", _exact_loss(printed_vote))
    printed_again = make_vote(
        "printed", epsilon=_EPSILON, candidates=("a", "b", "c"), weight_collection="per_candidate"
    )
    yield _found("W5", _exact_loss(printed_again))
    step = np.isin(np.arange(-3, 4), SIGNED_WEIGHTS) / len(SIGNED_WEIGHTS)
    ties = functools.reduce(np.convolve, [step] * _PARTNERS, np.ones(1))
    yield _found("W4", ties[len(ties) // 2])
    yield _found("W13", total_of(laplace.losses).proven)
    yield _found("W3", expected_quota_error(laplace, num_partners=_PARTNERS))
    one, other, joint = (
        chance_of_passing(law_of(make_vote(variant, epsilon=_SKEWED_EPSILON)), FIXED[0].numbers(500))
        for variant in ("printed", "laplace", "joint")
    )
    yield _found("W2b", one, joint=100 * joint)
    yield _found("W12", one, other)


def _loss_by_true_group(vote: DPWeVote) -> float:
    """Return the ε of two weights against a semi-honest server, if opinions are uploaded in true weight groups.

    The reported group reveals nothing new, since the server has already received the weight's report. The true group
    reveals the weight itself, regardless of its report's noise. So Psephos counts opinions by reported group, as do the
    paper's tables.
    """
    candidates = DPWeVoteAttack(vote).candidates("weight")
    channel = session_channel(vote, candidates.rows, public=())
    assert channel is not None  # noqa: S101  randomized response has few outputs
    groups = np.array(vote.parameters.group_of_weight)[candidates.places]
    # The server sees the reports and the group in which they are counted.
    group_indicators = np.eye(groups.max() + 1)[groups]
    with_group = (channel[:, :, None] * group_indicators[:, None, :]).reshape(len(channel), -1)
    return evaluate_channel(with_group, places=candidates.places).greatest_log_odds_ratio


def _exact_loss(vote: DPWeVote) -> float:
    """Return the exact ε of all that leaves a partner in one vote, by its joint law."""
    (pair,) = case_of_partner(vote, "one vote", num_sessions=1).pairs()
    assert pair.laws is not None  # noqa: S101  randomized response has few outputs
    return exact_epsilon(pair.laws)
