"""Statements on trust and privacy cost, computed from the resolved scenario.

A scenario's `trust` may add what no setting changes, such as what its adversaries do. The trust model, the public
values and the meaning of ε follow from protocol and parameters.

ε bounds odds: an observer that considers two possibilities equally likely has, after an ε-private session, a posterior
probability of at most e^ε/(1 + e^ε) for one of them.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from ...protocol.elementary import exp
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import LedgerEntry, PrivacyLoss, is_semi_honest, total_of
from ..presentation.numbers import join_words, pluralize
from ..verdicts import at_most, round_up
from .session_facts import Prices, SessionFacts, about, prices_of

LITTLE: Final = 0.95  # an ε that allows more certainty than this gives a warning

_ROUNDING: Final = 1e-9  # rounding of sums, which does not count as a greater loss
_MOST_DECIMALS: Final = 4
_HELD: Final = {
    "partner": "one person's vote",
    "voter": "one person's vote",
    "worker": "one person's answers",
}
"""Parties' private data in words, by role."""


def certainty_of(epsilon: float) -> float:
    """Return the greatest posterior probability of one of two possibilities from even odds: e^ε/(1 + e^ε), ε ≥ 0.

    Examples:
        >>> certainty_of(0.0), round(certainty_of(1.0), 4)
        (0.5, 0.7311)
    """
    return 1 / (1 + exp(-epsilon))


def rounded_up(probability: float) -> str:
    """Format a bound on a probability ≥ 1/2, such as "73.2 %", rounded up, but never to certainty.

    Examples:
        >>> rounded_up(0.7311), rounded_up(0.99999999)
        ('73.2 %', 'over 99.9999 %')
    """
    remainder = 100 * (1 - probability)
    decimals = (
        1
        if remainder >= 1
        else min(_MOST_DECIMALS, 1 - math.floor(math.log10(remainder)) if remainder else _MOST_DECIMALS)
    )
    scale = 10**decimals
    up = math.ceil(100 * probability * scale - _ROUNDING * scale)
    if up == 100 * scale:
        return f"over {100 - 1 / scale:.{decimals}f} %"
    return f"{up / scale:.{decimals}f} %"


def describe_bound(probability: float) -> str:
    """Format a bound on a probability in words, such as "up to 73.2 %". See `rounded_up`.

    Examples:
        >>> describe_bound(0.7311)
        'up to 73.2 %'
    """
    bound = rounded_up(probability)
    return bound if bound.startswith("over ") else f"up to {bound}"


def odds_of(probability: float, unknown: str) -> str:
    """Return a sentence, without its full stop, on the greatest certainty, ≥ 1/2, that an observer can reach."""
    bound = rounded_up(probability)
    if bound.startswith("over "):
        threshold = bound.removeprefix("over ")
        return f"Whoever had no idea (50 : 50) may end over {threshold} sure of {unknown}"
    return f"Whoever had no idea (50 : 50) ends at most {bound} sure of {unknown}"


def little_of(prices: Sequence[str]) -> str:
    """Return a warning that one or more ε allow more than `LITTLE` certainty."""
    prices_text = join_words(prices)
    return f"Little protection: at {prices_text} someone can become over {100 * LITTLE:g} % sure."


def private_data_of(party: str) -> str:
    """Return the private data of a party with this role, in words.

    Examples:
        >>> private_data_of("partner"), private_data_of("patient")
        ("one person's vote", "one person's values")
    """
    return _HELD.get(party, "one person's values")


def trust_in(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return a session's trust statement: trusted parties, public values, and what others can learn about a party."""
    return " ".join(trust_of(about(protocol)))


def trust_of(facts: SessionFacts) -> Sequence[str]:
    """Return a trust statement from a session's facts; its first sentence names the trusted party."""
    if facts.prices is None:
        return [facts.trust]
    server = facts.server_role.replace("-", " ")
    central = [phase.name for phase in facts.phases if phase.is_central]
    number = facts.colluders
    if facts.threshold and not central:
        is_honest = any(is_semi_honest(loss.mechanism) for phase in facts.phases for loss in phase.losses)
        condition = " if it follows the protocol (semi-honest server only)" if is_honest else ""
        learns = f"they leave under masks, and the {server} learns a noisy sum alone{condition}"
        ends = f"Fewer than {facts.threshold} who take part to the end release nothing."
        sentences = [f"Nobody is trusted with private values: {learns}.", ends]
        learners = f"The {server} with up to {number} others learns"
    elif not central:
        sentences = ["Nobody is trusted with private values: everyone randomizes their own before sending them."]
        learners = f"Everyone else together, the {server} included, learns"
    elif len(central) == len(facts.phases):
        sentences = [f"The {server} is trusted: it sees everyone's values, and adds the noise."]
        learners = "Whoever sees what it releases, whatever all others tell, learns"
        if facts.threshold:  # a series with other, masked votes
            learners = f"Whoever sees what it releases, with up to {number} others, learns"
    else:
        sentences = [f"The {server} is trusted with what it sees in {join_words(central)}, and adds noise there."]
        learners = "Whoever sees all else, whatever all others tell, learns"
    if facts.proven is None or math.isinf(facts.proven):
        sentences.append(f"{learners} more of one person than any ε bounds.")
    else:
        bound = f"ε = {at_most(facts.proven)} in all allows ({facts.relation})"
        sentences.append(f"{learners} no more of one person than {bound}.")
    if facts.public:
        sentences.append(f"Public of each person: {join_words(facts.public)}.")
    if facts.chosen:
        names = join_words(facts.chosen)
        choice = f"Each person chooses {names}, and no ε bounds what that choice tells of their values."
        sentences.append(choice)
    return sentences


def setting_of(protocol: PhasedProtocol[Any, Any], num_parties: int) -> str:
    """Return the number of parties, their ε and trust model, for the line below a picture's title."""
    number = pluralize(num_parties, protocol.client_role)
    if protocol.hides_participation:
        number = f"up to {number}"
    total = total_of(protocol.losses)
    loss = "no ε proven" if math.isinf(total.proven) else f"ε = {round_up(total.proven, 6):g} proven"
    relation = total.relation.value
    cost = f"privacy loss per person: {loss} ({relation})"
    return f"{number} · {cost} · {model_of(protocol)}"


def model_of(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return the trust model with its meaning for this protocol.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> model_of(vote)
        'local model: nobody is trusted'
    """
    central = [phase.name for phase in protocol.phases if phase.model.trusts_server]
    server = protocol.server_role.replace("-", " ")
    if protocol.masked_phase is not None and protocol.masked_phase.is_sparse:
        return f"distributed model: a semi-honest {server} learns a noisy sum"
    if protocol.masked_phase is not None:
        return f"distributed model: nobody is trusted, the {server} learns a noisy sum"
    if not central:
        return "local model: nobody is trusted"
    if len(central) == len(protocol.phases):
        return f"central model: the {server} is trusted"
    phases = join_words(central)
    return f"central model in {phases}: the {server} is trusted there"


def meaning_of(losses: Prices | Sequence[PrivacyLoss | LedgerEntry], *, party: str = "party") -> list[str]:
    """Return sentences on the meaning of one person's ε: the greatest certainty that it allows."""
    prices = losses if isinstance(losses, Prices) else prices_of(losses)
    sentences = [_certainty(prices.replaced, private_data_of(party))]
    if prices.participation != 0:
        sentences.append(_certainty(prices.participation, "whether one person takes part"))
    for epsilon, units in prices.finest:
        if epsilon is not None and (prices.replaced is None or epsilon < prices.replaced * (1 - _ROUNDING)):
            bound = describe_bound(certainty_of(epsilon))
            units_text = " or of ".join(units)
            sentences.append(f"Of {units_text}, if all else is known: {bound} (ε = {round_up(epsilon, 6):g}).")
    return sentences


def warning_of(losses: Prices | Sequence[PrivacyLoss | LedgerEntry]) -> str:
    """Return a warning if an ε of one person's losses allows more than `LITTLE` certainty; else empty."""
    prices = losses if isinstance(losses, Prices) else prices_of(losses)
    replace_epsilon = math.inf if prices.replaced is None else prices.replaced
    large = [f"ε = {round_up(replace_epsilon, 6):g} in all"] if certainty_of(replace_epsilon) > LITTLE else []
    for epsilon, units in prices.finest:
        if epsilon is not None and certainty_of(epsilon) > LITTLE and epsilon < replace_epsilon * (1 - _ROUNDING):
            large.append(f"ε = {round_up(epsilon, 6):g} for {' or '.join(units)}")
    return little_of(large) if large else ""


def _certainty(epsilon: float | None, unknown: str) -> str:
    if epsilon is None:
        return f"No proven ε bounds how sure someone can become of {unknown}."
    return f"{odds_of(certainty_of(epsilon), unknown)} (ε = {at_most(epsilon)})."
