"""What a server learns of weights where opinions are counted by the true weight group instead of the reported one.

The paper has "partners in weight group w_I" upload their opinions, and does not say which group is meant. By the group
that a partner *reported* the server learns nothing new: whoever reads the opinions' phase has read the weights' before.
By the *true* group the upload itself says the weight, whatever noise the weight's report had: a weight that its group
does not share with another is named with certainty, and ε protects it no more. So Psephos counts by the reported group,
as the paper's tables do too.

Adversary: the cloud server, semi-honest. Source: Yan, Liu and Liu (2018), Section 4.3; reading W1.
"""

import dataclasses
from typing import Final

import numpy as np

from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.dpwevote.parameters import VARIANTS
from ....protocol.errors import ConfigurationError, refuse
from ....protocol.privacy import total_of
from ...attacks.channels import session_channel
from ...attacks.posteriors import Evaluation, evaluate_channel
from .inference import DPWeVoteAttack

__all__ = ["TrueGroups", "evaluate_true_groups"]

_COUNTED_BY_GROUP: Final = tuple(name for name, kind in VARIANTS.items() if kind.counts_by_group)
_WEIGHT: Final = "weight"


@dataclasses.dataclass(frozen=True)
class TrueGroups:
    """How well a server names a partner's weight."""

    reported: Evaluation  # where opinions are counted by the reported group
    true: Evaluation  # where they are counted by the true one
    epsilon: float  # the proven loss of a weight, which bounds what `reported` is, and does not bound `true`


def evaluate_true_groups(parameters: Parameters) -> TrueGroups:
    """Compare both readings of a vote, exactly; all weights and opinions are equally likely before.

    The variant counts by groups, with private weights; others are a ConfigurationError, as are too many reports.
    """
    protocol = DPWeVote(parameters)
    variant = protocol.parameters.variant
    value = "public weights" if protocol.parameters.public_weights else variant
    allowed = f"one of {', '.join(_COUNTED_BY_GROUP)} with private weights: only these report a group"
    refuse(variant not in _COUNTED_BY_GROUP or protocol.parameters.public_weights, "variant", value, allowed)
    candidates = DPWeVoteAttack(protocol).candidates(_WEIGHT)
    channel = session_channel(protocol, candidates.rows, public=())
    if channel is None:
        number, allowed = len(parameters.candidates), "fewer: a partner has too many possible reports to list"
        raise ConfigurationError(field="candidates", value=f"{number} candidates", allowed=allowed)
    groups = np.array(protocol.parameters.group_of_weight)[candidates.places]
    # What is seen is a pair of the reports and the group in which they are counted.
    counted = np.eye(groups.max() + 1)[groups]
    with_group = (channel[:, :, None] * counted[:, None, :]).reshape(len(channel), -1)
    epsilon = total_of(loss for loss in protocol.losses if loss.unit == _WEIGHT).proven
    reported, true = (evaluate_channel(law, places=candidates.places) for law in (channel, with_group))
    return TrueGroups(reported, true, epsilon)
