"""What other mechanisms of a fair vote offer at the price of a session: the error of a utility, or what a winner lacks.

Where nobody is trusted, mechanisms are compared by the standard error of a mean utility in the smallest group. Where
the aggregator is, and the winner alone is released, by how much better another alternative may be; Algorithms 1 and 2
release more than a winner, and have no number in common with these.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ...protocol.fair_voting import FairVoting, Parameters
from ...protocol.fair_voting.assurance import assurance_of_choice
from ...protocol.fair_voting.choices import ExponentialChoice
from ...protocol.fair_voting.joint_reports import make_joint_report, possible_joint_reports
from ...protocol.fair_voting.reports import make_report, possible_reports
from ...protocol.phases import PhasedProtocol
from ..running.offers import Offer


def offers_at_price(protocol: PhasedProtocol[Any, Any], num_parties: int) -> Sequence[Offer]:
    """Return what the mechanisms of the same trust offer that have a number in common with the session's.

    A masked vote has no other of its trust, and one whose voters have their own ε has no one price.
    """
    del num_parties
    assert isinstance(protocol, FairVoting)  # noqa: S101  what the descriptor says
    parameters = protocol.parameters
    if parameters.is_masked or parameters.own_levels.epsilons:
        return ()
    return _choices(protocol) if parameters.model.trusts_server else _reports(parameters)


def _reports(parameters: Parameters) -> list[Offer]:
    """Return the other ways to report; where groups are private, public ones are another thing, and no offer."""
    scoring, sizes = parameters.make_scoring(is_centered=True), parameters.group_sizes
    has_ties = bool(parameters.ties)
    if parameters.is_joint:
        own, smallest = make_joint_report(parameters).name, sizes.index(min(sizes))
        possible = possible_joint_reports(scoring, parameters.epsilon, sizes, with_ties=has_ties)
        errors = {report.name: report.error_of(smallest, sum(sizes)) for report in possible}
    else:
        own = make_report(parameters).name
        reports = possible_reports(scoring, parameters.epsilon, with_ties=has_ties)
        errors = {report.name: math.sqrt(report.mean_variance / min(sizes)) for report in reports}
    of = "of a mean utility in the smallest group"
    return [Offer(name=name, value=error, own=errors[own], of=of) for name, error in errors.items() if name != own]


def _choices(protocol: FairVoting) -> list[Offer]:
    """Return the other way to release a winner alone; none where more is released, or nothing bounds what it lacks."""
    parameters, choice = protocol.parameters, protocol.disclosed.choice
    if not isinstance(choice, ExponentialChoice):
        return []
    other = dataclasses.replace(choice, is_flipped=not choice.is_flipped)
    own, offered = (assurance_of_choice(parameters, each).shortfall for each in (choice, other))
    if not own or not offered:
        return []
    return [
        Offer(
            name="permute_and_flip" if other.is_flipped else "exponential",
            value=offered,
            own=own,
            of=f"of quality that the winner may lack, except with {100 * parameters.level:g} %",
            sign="",
        )
    ]
