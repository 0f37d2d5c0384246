"""The claims of DPWeVote's paper.

Source: Yan, Liu and Liu (2018), Sections 2.1.3, 4 and 5; readings W1 to W5.
"""

import functools
from collections.abc import Iterator
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.dpwevote.parameters import VariantName
from ....protocol.mechanisms import FiniteMechanism
from ....protocol.privacy import total_of
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, Certainty
from ..attack.true_groups import evaluate_true_groups
from ..audit.sessions import case_of_partner
from .published import EPSILONS, TABLE_4
from .theory import chance_of_passing, expected_quota_error, law_of

__all__ = ["findings_on_dpwevote"]

_AUDIT: Final = "psephos audit dpwevote"
_REPRODUCE: Final = "psephos reproduce dpwevote"
_EPSILON: Final = 1.0
_CANDIDATES: Final = 3
# Reading W2's case: all weights 3, 60 % of 500 partners in favor, at ε = 2.
_SKEWED_EPSILON: Final = 2.0
_YES, _NO = 300, 200
_PARTNERS: Final = 10
_found: Final = functools.partial(BoundedFinding, paper="Yan, Liu, Liu 2018")


def findings_on_dpwevote() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    yield _collusion()
    yield _true_groups()
    yield _bias()
    yield _one_candidate()
    yield _several_candidates()
    yield _ties()
    yield _laplace_loss()
    yield _laplace_error()
    yield from _skewed()


def _vote(variant: VariantName, epsilon: float, *, candidates: int = 1) -> DPWeVote:
    names = tuple(f"candidate {number}" for number in range(1, candidates + 1))
    collection = "per_candidate" if candidates > 1 else "once"
    return DPWeVote(Parameters(candidates=names, variant=variant, epsilon=epsilon, weight_collection=collection))


def _channels(vote: DPWeVote) -> list[FloatArray]:
    """Return each phase's matrix, P[report | value]."""
    mechanisms = [phase.mechanism for phase in vote.phases]
    return [np.array(each.channel_matrix()) for each in mechanisms if isinstance(each, FiniteMechanism)]


def _exact_loss(vote: DPWeVote) -> float:
    """Return ε of all that leaves a partner in one vote, by its joint law."""
    (pair,) = case_of_partner(vote, "one vote", num_sessions=1).pairs()
    assert pair.laws is not None  # noqa: S101  randomized response has few outputs
    return exact_epsilon(pair.laws)


def _collusion() -> BoundedFinding:
    weights, opinions = _channels(_vote("printed", _EPSILON))
    guesses = weights.shape[0] * opinions.shape[0]
    # With a uniform prior the likeliest input of a report is the report itself.
    right = float(weights.diagonal().mean() * opinions.diagonal().mean())
    return _found(
        key="W10",
        claim="Randomized response prevents the maximum collusion, of the server and N - 1 partners (2.1.3)",
        quantity="chance to guess the last partner's weight and opinion, ε = 1",
        claimed=1 / guesses,
        found=right,
        only="up to ε, which allows this",
    )


def _true_groups() -> BoundedFinding:
    parameters = _vote("printed", _EPSILON).parameters
    return _found(
        key="W1",
        claim="Opinions are counted by weight group and weights stay private (4.3), if the group is the true one",
        quantity="ε of the weight, ε = 1",
        claimed=parameters.loss_of_weight,
        found=evaluate_true_groups(parameters).true.greatest_log_odds_ratio,
        only="if opinions are counted by the reported group",
        note="The count an opinion goes into tells the weight.",
    )


def _bias() -> BoundedFinding:
    vote = _vote("printed", _SKEWED_EPSILON)
    law = law_of(vote)
    greatest = vote.parameters.weights[-1]
    # The last pair is the greatest weight with "yes"; its margin is w·φ − w/2, of which w/2 is estimated without bias.
    return _found(
        key="W2",
        claim="The sum of weighted opinions is estimated by (8b), with unbiased numbers (4.1)",
        quantity="mean contribution of a yes of weight 3, ε = 2",
        claimed=greatest,
        bound="=",
        found=float(law.means[-1] - law.true[-1]) + greatest,
        command=_REPRODUCE,
        note="The reported group's weight is nearer to the mean than the partner's.",
    )


def _one_candidate() -> BoundedFinding:
    return _found(
        key="W11",
        claim="DPWeVote is ε-LDP with ε = ε₁ + ε₂ (Theorem 4.3), for one candidate",
        quantity="ε of weight and opinion",
        claimed=_EPSILON,
        found=_exact_loss(_vote("printed", _EPSILON)),
        command=_AUDIT,
    )


def _several_candidates() -> BoundedFinding:
    return _found(
        key="W5",
        claim="DPWeVote is ε-LDP (Theorem 4.3), with all phases run for each of k candidates (4.1)",
        quantity=f"ε of weight and opinions, k = {_CANDIDATES}",
        claimed=_EPSILON,
        found=_exact_loss(_vote("printed", _EPSILON, candidates=_CANDIDATES)),
        command=_AUDIT,
        only="for one candidate",
        note="The loss is kε: no phase forgets what the others told.",
    )


def _ties() -> BoundedFinding:
    """Return how often support equals the quota, of independent uniform votes."""
    vote = _vote("printed", _EPSILON)
    signed = [round(2 * margin) for margin in law_of(vote).true.tolist()]
    step = np.zeros(2 * max(signed) + 1)
    np.add.at(step, np.array(signed) + max(signed), 1 / len(signed))
    law = np.ones(1)
    for _ in range(_PARTNERS):
        law = np.convolve(law, step)
    return _found(
        key="W4",
        claim="A candidate passes with at least the quota (2.1.2), or with more (4.3, 4.4)",
        quantity=f"share of votes that are ties, n = {_PARTNERS}",
        claimed=None,
        found=float(law[len(law) // 2]),
        note="The two rules differ in as many decisions.",
    )


def _laplace_loss() -> BoundedFinding:
    vote = _vote("laplace", _EPSILON)
    return _found(
        key="W13",
        claim="The Laplace baseline has sensitivities of 2 and 1, and ε = ε₁ + ε₂ (5.1.3)",
        quantity="ε of weight and opinion",
        claimed=_EPSILON,
        found=total_of(vote.losses).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
    )


def _laplace_error() -> BoundedFinding:
    return _found(
        key="W3",
        claim="The Laplace baseline's MSE_q of Table 4, n = 10 and ε = 1",
        quantity="MSE_q",
        claimed=TABLE_4["laplace", _PARTNERS][EPSILONS.index(_EPSILON)],
        bound="=",
        found=expected_quota_error(_vote("laplace", _EPSILON), num_partners=_PARTNERS),
        command=_REPRODUCE,
        # 2,000 runs scatter by three percent.
        tolerance=0.05,
        note="Its mean is 8n·E[(Σw)⁻²]/ε², not 2/(nε²) = 0.2.",
    )


def _skewed() -> Iterator[BoundedFinding]:
    """Yield what the printed rule decides where weights are not spread evenly."""
    numbers = [0, 0, 0, 0, _NO, _YES]
    variants: tuple[VariantName, ...] = ("printed", "laplace", "joint")
    printed, laplace, joint = (
        chance_of_passing(law_of(_vote(variant, _SKEWED_EPSILON)), numbers) for variant in variants
    )
    case = "all of 500 weights 3, 60 % yes, ε = 2"
    yield _found(
        key="W2b",
        claim="Above ε = 1 the data utility is high (1; 5.1.2)",
        quantity=f"share of right decisions, {case}",
        claimed=0.5,
        bound="≥",
        found=printed,
        certainty=Certainty.NORMAL,
        command=_REPRODUCE,
        only="on evenly spread weights",
        note=f"A coin does better, and an estimate without bias is right in {100 * joint:.0f} %.",
    )
    yield _found(
        key="W12",
        claim="DPWeVote always outperforms the Laplace mechanism (5.3)",
        quantity=f"share of right decisions, {case}; claimed: the baseline's",
        claimed=laplace,
        bound="≥",
        found=printed,
        certainty=Certainty.NORMAL,
        command=_REPRODUCE,
        only="on evenly spread weights",
    )
