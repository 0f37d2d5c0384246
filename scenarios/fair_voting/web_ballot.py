"""The ranking of a fair vote, as the page of `serve --web` asks it."""

import math
from typing import Any, Final

from ...protocol.errors import ConfigurationError
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
    """
    assert isinstance(protocol, FairVoting)  # noqa: S101  what the descriptor says
    parameters, (loss,) = protocol.parameters, protocol.losses
    is_central, phase = parameters.model.trusts_server, protocol.phase
    question = phase.report.name if isinstance(phase, RandomizedRankings) else parameters.mechanism
    kind = f"mechanism {question!r}" if is_central or question in _QUESTIONS else ""
    wrong = [
        ("epsilons", bool(parameters.epsilons)),
        (f"relation {parameters.relation.value!r}", parameters.relation is not NeighboringRelation.REPLACE_ONE),
        ("a loss without a bound", math.isinf(loss.proven)),
        (f"mechanism {question!r}", not kind),
    ]
    for name, is_wrong in wrong:
        if is_wrong:
            allowed = (
                f"The page does not take part in votes with {name}. Let the parties take part by psephos join, or rank "
                f"by a mechanism of the central model or {' or '.join(map(repr, _QUESTIONS))}, at one proven ε."
            )
            raise ConfigurationError(field="--links", value=name, allowed=allowed)
    return BallotForm(
        ballots=[{"name": "ranking", "options": parameters.alternatives}],
        trust="central" if is_central else "local",
        epsilon={"total": loss.proven},
        channel=None if is_central else {"question": question},
    )
