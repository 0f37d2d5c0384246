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
_found: Final = functools.partial(BoundedFinding, paper="DPWeVote: Yan, Liu and Liu (2018)")


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
        claim="Randomized response prevents the largest collusion, of the server with N - 1 partners (Section 2.1.3)",
        quantity="chance that this coalition guesses the last partner's weight and opinion at ε = 1",
        claimed=1 / guesses,
        found=right,
        only="within the limits of ε, which allows this chance",
        note="The coalition guesses better than by chance, since a report is the true input more often than any other.",
        compared="a blind guess",
    )


def _true_groups() -> BoundedFinding:
    parameters = _vote("printed", _EPSILON).parameters
    return _found(
        key="W1",
        claim="Opinions are counted by weight group, and weights stay private (Section 4.3; which group is not said)",
        quantity="loss of a partner's weight at ε = 1, opinions counted by the true group",
        claimed=parameters.loss_of_weight,
        found=evaluate_true_groups(parameters).true.greatest_log_odds_ratio,
        only="if opinions are counted by the reported group",
        note="If an opinion is counted in the partner's true group, the server reads the weight from the group.",
    )


def _bias() -> BoundedFinding:
    vote = _vote("printed", _SKEWED_EPSILON)
    law = law_of(vote)
    greatest = vote.parameters.weights[-1]
    # The last pair is the greatest weight with "yes"; its margin is w·φ − w/2, of which w/2 is estimated without bias.
    return _found(
        key="W2",
        claim="Equation (8b) estimates the sum of weighted opinions from unbiased numbers (Section 4.1)",
        quantity="what a yes of weight 3 adds to the sum on average, ε = 2",
        claimed=greatest,
        bound="=",
        found=float(law.means[-1] - law.true[-1]) + greatest,
        command=_REPRODUCE,
        note="The estimate is biased: (8b) uses the weight that was reported, which is nearer to the mean weight.",
    )


def _one_candidate() -> BoundedFinding:
    return _found(
        key="W11",
        claim="A vote on one candidate is ε-LDP with ε = ε₁ + ε₂ (Theorem 4.3)",
        quantity="loss of weight and opinion together at ε = 1",
        claimed=_EPSILON,
        found=_exact_loss(_vote("printed", _EPSILON)),
        command=_AUDIT,
        note="It loses exactly this.",
    )


def _several_candidates() -> BoundedFinding:
    return _found(
        key="W5",
        claim="A vote on k candidates, which runs all phases for each of them (Section 4.1), is ε-LDP (Theorem 4.3)",
        quantity=f"loss of weight and opinions together at ε = 1, k = {_CANDIDATES}",
        claimed=_EPSILON,
        found=_exact_loss(_vote("printed", _EPSILON, candidates=_CANDIDATES)),
        command=_AUDIT,
        only="for one candidate",
        note="The loss is kε, since what a partner reports for one candidate adds to what it reports for another.",
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
        claim="A candidate passes if its support is at least the quota (Section 2.1.2), or above it (4.3 and 4.4)",
        quantity=f"share of votes with {_PARTNERS} partners that are ties",
        claimed=None,
        found=float(law[len(law) // 2]),
        note="The paper has two rules. They decide differently in every tie.",
    )


def _laplace_loss() -> BoundedFinding:
    vote = _vote("laplace", _EPSILON)
    return _found(
        key="W13",
        claim="The Laplace baseline has sensitivities of 2 and 1, and loses ε = ε₁ + ε₂ (Section 5.1.3)",
        quantity="loss of weight and opinion together at ε = 1",
        claimed=_EPSILON,
        found=total_of(vote.losses).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="The proof gives the same bound.",
    )


def _laplace_error() -> BoundedFinding:
    return _found(
        key="W3",
        claim="The Laplace baseline's estimate of the quota has the mean squared error of Table 4",
        quantity="relative mean squared error of the quota (MSE_q), 10 partners, ε = 1",
        claimed=TABLE_4["laplace", _PARTNERS][EPSILONS.index(_EPSILON)],
        bound="=",
        found=expected_quota_error(_vote("laplace", _EPSILON), num_partners=_PARTNERS),
        command=_REPRODUCE,
        # 2,000 runs scatter by three percent.
        tolerance=0.05,
        note="The exact mean agrees with the table's samples. It is 8n·E[(Σw)⁻²]/ε², not 2/(nε²) = 0.2.",
    )


def _skewed() -> Iterator[BoundedFinding]:
    """Yield what the printed rule decides where weights are not spread evenly."""
    numbers = [0, 0, 0, 0, _NO, _YES]
    variants: tuple[VariantName, ...] = ("printed", "laplace", "joint")
    printed, laplace, joint = (
        chance_of_passing(law_of(_vote(variant, _SKEWED_EPSILON)), numbers) for variant in variants
    )
    case = "share of right decisions, 500 partners of weight 3, 60 % yes, ε = 2"
    yield _found(
        key="W2b",
        claim="Above ε = 1 the decisions are of high utility (Sections 1 and 5.1.2)",
        quantity=case,
        claimed=0.5,
        bound="≥",
        found=printed,
        certainty=Certainty.NORMAL,
        command=_REPRODUCE,
        only="on evenly spread weights",
        note=f"On uneven weights a coin decides better. An unbiased estimate is right in {100 * joint:.0f} %.",
        compared="a coin",
    )
    yield _found(
        key="W12",
        claim="DPWeVote always outperforms the Laplace mechanism (Section 5.3)",
        quantity=case,
        claimed=laplace,
        bound="≥",
        found=printed,
        certainty=Certainty.NORMAL,
        command=_REPRODUCE,
        only="on evenly spread weights",
        note="On uneven weights the Laplace mechanism decides better, since its estimate is unbiased.",
        compared="the Laplace mechanism",
    )
