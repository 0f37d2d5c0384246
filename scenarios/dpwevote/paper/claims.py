"""What laws say of the paper's claims, here and now; what trials say of the others, `claims.csv` has by rows.

`psephos audit papers` shows these, `psephos reproduce` all of them.

Source: Yan, Liu and Liu (2018), Sections 2.1.3, 4 and 5; readings W1 to W5.
"""

import math
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from ....protocol.dpwevote import DPWeVote
from ....protocol.mechanisms import FiniteMechanism
from ....protocol.privacy import total_of
from ...attacks.channels import session_channel
from ...attacks.posteriors import evaluate_channel
from ...audit.bounds import exact_epsilon
from ...experiments.findings import BoundedFinding, Certainty, found_in
from ...experiments.paper_files import rows_beside
from ..attack.inference import DPWeVoteAttack
from ..audit.sessions import case_of_partner
from .laws import TRUE, chance_of_passing, expected_quota_error, law_of
from .workloads import SIGNED_WEIGHTS, make_vote

_AUDIT: Final = "psephos audit dpwevote"
_REPRODUCE: Final = "psephos reproduce dpwevote"
_EPSILON: Final = 1.0
_CANDIDATES: Final = 3
# Reading W2's case: all weights 3, 60 % of 500 partners in favor, at ε = 2.
_SKEWED_EPSILON: Final = 2.0
_YES, _NO = 300, 200
_PARTNERS: Final = 10
_found: Final = found_in(__name__, paper="DPWeVote: Yan, Liu and Liu (2018)")


def findings_on_dpwevote() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    printed, laplace = (make_vote(variant, epsilon=_EPSILON) for variant in ("printed", "laplace"))
    mechanisms = [phase.mechanism for phase in printed.phases]
    channels = [np.array(each.channel_matrix()) for each in mechanisms if isinstance(each, FiniteMechanism)]
    yield _found(
        key="W10",
        quantity="chance that this coalition guesses the last partner's weight and opinion at ε = 1, by chance "
        f"{1 / math.prod(len(channel) for channel in channels):.3f}",
        claimed=None,
        # With a uniform prior the likeliest input of a report is the report itself.
        found=math.prod(float(channel.diagonal().mean()) for channel in channels),
        note="The coalition guesses better than by chance, since a report is the true input more often than any other.",
        undecided="The paper says neither what is prevented nor how far; ε allows this chance.",
    )
    parameters = printed.parameters
    yield _found(
        key="W1",
        quantity="loss of a partner's weight at ε = 1, opinions counted by the true group",
        claimed=parameters.loss_of_weight,
        found=_loss_by_true_group(printed),
        only="if opinions are counted by the reported group",
        note="If an opinion is counted in the partner's true group, the server reads the weight from the group.",
    )
    vote = make_vote("printed", epsilon=_SKEWED_EPSILON)
    law = law_of(vote)
    greatest = vote.parameters.weights[-1]
    # The last pair is the greatest weight with "yes"; its margin is w·φ − w/2, of which w/2 is estimated without bias.
    yield _found(
        key="W2",
        quantity="what a yes of weight 3 adds to the sum on average, ε = 2",
        claimed=greatest,
        bound="=",
        found=float(law.means[-1] - TRUE[-1]) + greatest,
        command=_REPRODUCE,
        note="The estimate is biased: (8b) uses the weight that was reported, which is nearer to the mean weight.",
    )
    yield _found(
        key="W11",
        quantity="loss of weight and opinion together at ε = 1",
        claimed=_EPSILON,
        found=_exact_loss(printed),
        command=_AUDIT,
        note="It loses exactly this.",
    )
    names = tuple(f"candidate {number}" for number in range(1, _CANDIDATES + 1))
    again = msgspec.structs.replace(parameters, candidates=names, weight_collection="per_candidate")
    yield _found(
        key="W5",
        quantity=f"loss of weight and opinions together at ε = 1, k = {_CANDIDATES}",
        claimed=_EPSILON,
        found=_exact_loss(DPWeVote(again)),
        command=_AUDIT,
        only="for one candidate",
        note="The loss is kε, since what a partner reports for one candidate adds to what it reports for another.",
    )
    step = np.zeros(2 * max(SIGNED_WEIGHTS) + 1)
    step[np.array(SIGNED_WEIGHTS) + max(SIGNED_WEIGHTS)] = 1 / len(SIGNED_WEIGHTS)
    law = np.ones(1)
    for _ in range(_PARTNERS):
        law = np.convolve(law, step)
    yield _found(
        key="W4",
        quantity=f"share of votes with {_PARTNERS} partners that are ties",
        claimed=None,
        found=float(law[len(law) // 2]),
        note="The paper has two rules. They decide differently in every tie.",
    )
    yield _found(
        key="W13",
        quantity="loss of weight and opinion together at ε = 1",
        claimed=_EPSILON,
        found=total_of(laplace.losses).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="The proof gives the same bound.",
    )
    yield _found(
        key="W3",
        quantity="relative mean squared error of the quota (MSE_q), 10 partners, ε = 1",
        claimed=_printed_error(_PARTNERS, _EPSILON),
        bound="=",
        found=expected_quota_error(laplace, num_partners=_PARTNERS),
        command=_REPRODUCE,
        # 2,000 runs scatter by three percent.
        tolerance=0.05,
        note="The exact mean agrees with the table's samples. It is 8n·E[(Σw)⁻²]/ε², not 2/(nε²) = 0.2.",
    )
    numbers = [0, 0, 0, 0, _NO, _YES]
    printed, laplace, joint = (
        chance_of_passing(law_of(make_vote(variant, epsilon=_SKEWED_EPSILON)), numbers)
        for variant in ("printed", "laplace", "joint")
    )
    case = "share of right decisions, 500 partners of weight 3, 60 % yes, ε = 2"
    yield _found(
        key="W2b",
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


def _printed_error(num_partners: int, epsilon: float) -> float:
    """Return what Table 4 has for the baseline."""
    line = {"table": "4", "variant": "laplace", "partners": str(num_partners)}
    (row,) = (row for row in rows_beside(__name__, "published.csv") if line.items() <= row.items())
    return float(row[f"{epsilon:g}"])


def _loss_by_true_group(vote: DPWeVote) -> float:
    """Return how far a semi-honest server's odds of two weights move at most, with opinions in true weight groups.

    By the group that a partner reported it learns nothing new: whoever reads the opinions' phase has read the weights'
    before. By the true one the upload itself says the weight, whatever noise the weight's report had. So Psephos counts
    by the reported group, as the paper's tables do too.
    """
    candidates = DPWeVoteAttack(vote).candidates("weight")
    channel = session_channel(vote, candidates.rows, public=())
    assert channel is not None  # noqa: S101  randomized response has few outputs
    groups = np.array(vote.parameters.group_of_weight)[candidates.places]
    # What is seen is a pair of the reports and the group in which they are counted.
    counted = np.eye(groups.max() + 1)[groups]
    with_group = (channel[:, :, None] * counted[:, None, :]).reshape(len(channel), -1)
    return evaluate_channel(with_group, places=candidates.places).greatest_log_odds_ratio


def _exact_loss(vote: DPWeVote) -> float:
    """Return ε of all that leaves a partner in one vote, by its joint law."""
    (pair,) = case_of_partner(vote, "one vote", num_sessions=1).pairs()
    assert pair.laws is not None  # noqa: S101  randomized response has few outputs
    return exact_epsilon(pair.laws)
