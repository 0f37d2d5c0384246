"""The ranking of a fair vote, as the page of `serve --web` asks it."""

import math
from typing import Any, Final

from ...protocol.errors import refuse
from ...protocol.fair_voting import FairVoting
from ...protocol.fair_voting.phases import RandomizedRankings
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import NeighboringRelation
from ..deployment.links import BallotForm

_QUESTIONS: Final = ("sampled_pair", "sampled_position", "whole_ranking")


def ballot_form_of(protocol: PhasedProtocol[Any, Any]) -> BallotForm:
    """Return what the page asks: a strict order of all alternatives.

    Raises:
        ConfigurationError: the page draws no reports of this kind.

    Examples:
        >>> from psephos.protocol.fair_voting import Parameters
        >>> names = {"alternatives": ("park", "pool"), "groups": ("north", "south")}
        >>> form = ballot_form_of(FairVoting(Parameters(**names, group_sizes=(20, 10), mechanism="local")))
        >>> form.channel
        {'question': 'sampled_pair'}
    """
    assert isinstance(protocol, FairVoting)  # noqa: S101  what the descriptor says
    parameters, (loss,) = protocol.parameters, protocol.losses
    is_central, phase = parameters.model.trusts_server, protocol.phase
    question = phase.report.name if isinstance(phase, RandomizedRankings) else parameters.mechanism
    wrong = {
        "epsilons": bool(parameters.epsilons),
        f"relation {parameters.relation.value!r}": parameters.relation is not NeighboringRelation.REPLACE_ONE,
        "a loss without a bound": math.isinf(loss.proven),
        f"mechanism {question!r}": not is_central and question not in _QUESTIONS,
    }
    for kind, is_wrong in wrong.items():
        allowed = (
            f"The page does not take part in votes with {kind}. Let the parties take part by psephos join, or rank by "
            f"a mechanism of the central model or {' or '.join(map(repr, _QUESTIONS))}, at one proven ε."
        )
        refuse(is_wrong, "--links", kind, allowed)
    return BallotForm(
        ballots=[{"name": "ranking", "options": parameters.alternatives}],
        trust="central" if is_central else "local",
        epsilon={"total": loss.proven},
        channel=None if is_central else {"question": question},
    )
