"""What a run says of trust and of its price: made from what was resolved, whatever a scenario's own words are.

A scenario may say in its `trust` what no setting changes, such as what its adversaries do. Whom the session trusts,
what is public and what ε allows follow from protocol and parameters, and are computed here.

The rule that holds here: ε is a bound on odds. Whoever holds two possibilities for equally likely is, after all that an
ε-private session shows, at most e^ε/(1 + e^ε) sure of one of them.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import LedgerEntry, PrivacyLoss, is_semi_honest, total_of
from ..presentation.numbers import in_a_row, some
from ..verdicts import at_most, round_up
from ..words import marked, say
from .session_facts import Prices, SessionFacts, about, prices_of

__all__ = [
    "LITTLE",
    "certainty_of",
    "held_by",
    "little_of",
    "meaning_of",
    "model_of",
    "odds_of",
    "rounded_up",
    "setting_of",
    "trust_in",
    "trust_of",
    "up_to",
    "warning_of",
]

LITTLE: Final = 0.95  # where an ε allows more certainty than this, it protects little

_ROUNDING: Final = 1e-9  # of sums in floating point, which are not more for that
_MOST_DECIMALS: Final = 4
_HELD: Final = {
    "partner": marked("one person's vote"),
    "voter": marked("one person's vote"),
    "worker": marked("one person's answers"),
}
"""What parties keep to themselves, by what they are called."""


def certainty_of(epsilon: float) -> float:
    """Return the most that anybody can be sure of one of two possibilities, from even odds: e^ε/(1 + e^ε), ε ≥ 0."""
    return 1 / (1 + math.exp(-epsilon))


def rounded_up(probability: float) -> str:
    """Return a bound on a probability ≥ 1/2, such as "73.2 %": rounded up, but for what would become certainty."""
    rest = 100 * (1 - probability)
    decimals = 1 if rest >= 1 else min(_MOST_DECIMALS, 1 - math.floor(math.log10(rest)) if rest else _MOST_DECIMALS)
    scale = 10**decimals
    up = math.ceil(100 * probability * scale - _ROUNDING * scale)
    if up == 100 * scale:
        return f"over {100 - 1 / scale:.{decimals}f} %"
    return f"{up / scale:.{decimals}f} %"


def up_to(probability: float) -> str:
    """Return a bound on a probability in words, such as "up to 73.2 %". See `rounded_up`."""
    said = rounded_up(probability)
    if said.startswith("over "):
        return say("over {bound}", bound=said.removeprefix("over "))
    return say("up to {bound}", bound=said)


def odds_of(probability: float, unknown: str) -> str:
    """Return the greatest certainty, ≥ 1/2, that somebody can get of something, as a sentence without its full stop."""
    bound = rounded_up(probability)
    if bound.startswith("over "):
        over = bound.removeprefix("over ")
        return say("Someone who starts at 50 : 50 may end over {over} sure of {unknown}", over=over, unknown=unknown)
    return say("Someone who starts at 50 : 50 ends at most {bound} sure of {unknown}", bound=bound, unknown=unknown)


def little_of(prices: Sequence[str]) -> str:
    """Return a warning that some ε, at least one, allow more than `LITTLE` certainty."""
    said = in_a_row(prices)
    return say("Little protection: {prices} let someone be over {limit:g} % sure.", prices=said, limit=100 * LITTLE)


def held_by(party: str) -> str:
    """Return what a party keeps to itself, in words, by what it is called."""
    return say(_HELD.get(party, marked("one person's values")))


def trust_in(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return whom a session trusts with what, what is public, and what anyone can learn of one party."""
    return " ".join(trust_of(about(protocol)))


def trust_of(facts: SessionFacts) -> Sequence[str]:
    """Return the same of a session whose facts are known, in sentences, the first of which says who is trusted."""
    if facts.prices is None:
        return [facts.trust]
    server = say(facts.server_role.replace("-", " "))
    central = [phase.name for phase in facts.phases if phase.is_central]
    number = facts.colluders
    if facts.threshold and not central:
        told = (
            "Nobody is trusted with private values: they leave under masks, and the {server} learns a noisy sum alone."
        )
        if any(is_semi_honest(loss.mechanism) for phase in facts.phases for loss in phase.losses):
            told = (
                "Nobody is trusted with private values: they leave under masks, and the {server} learns a noisy sum "
                "alone if it follows the protocol (semi-honest server only)."
            )
        ends = "Fewer than {number} who take part to the end release nothing."
        said = [say(told, server=server), say(ends, number=facts.threshold)]
        who = say("The {server} with up to {number} others learns", server=server, number=number)
    elif not central:
        said = [say("Nobody is trusted with private values: everyone randomizes their own before they leave.")]
        who = say("Everyone else together, the {server} included, learns", server=server)
    elif len(central) == len(facts.phases):
        said = [say("The {server} is trusted: it sees everyone's values, and adds the noise.", server=server)]
        who = say("Whoever sees what it releases, whatever all others tell, learns")
        if facts.threshold:  # of a series in which other votes are masked
            who = say("Whoever sees what it releases, with up to {number} others, learns", number=number)
    else:
        shown = in_a_row(map(say, central))
        told = "The {server} is trusted with what it sees in {phases}, and adds noise there."
        said = [say(told, server=server, phases=shown)]
        who = say("Whoever sees all else, whatever all others tell, learns")
    if facts.proven is None or math.isinf(facts.proven):
        said.append(say("{who} more of one person than any ε bounds.", who=who))
    else:
        told = "{who} no more of one person than {bound} in all allows ({relation})."
        said.append(say(told, who=who, bound=f"ε = {at_most(facts.proven)}", relation=say(facts.relation)))
    if facts.public:
        said.append(say("Public of each person: {names}.", names=in_a_row(map(say, facts.public))))
    if facts.chosen:
        names = in_a_row(facts.chosen)
        choice = say(
            "Each person chooses {names}, and no ε bounds what that choice tells of their values.", names=names
        )
        said.append(choice)
    return said


def setting_of(protocol: PhasedProtocol[Any, Any], num_parties: int) -> str:
    """Return how many take part, what that costs each, and whom they trust: the line below a picture's title."""
    number = some(num_parties, protocol.client_role)
    if protocol.hides_participation:
        number = say("up to {number}", number=number)
    total = total_of(protocol.losses)
    loss = (
        say("no ε proven")
        if math.isinf(total.proven)
        else say("ε = {epsilon:g} proven", epsilon=round_up(total.proven, 6))
    )
    relation = say(total.relation.value)
    cost = say("privacy loss per person: {loss} ({relation})", loss=loss, relation=relation)
    return f"{number} · {cost} · {model_of(protocol)}"


def model_of(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return the model of trust, and what it means here."""
    central = [phase.name for phase in protocol.phases if phase.model.trusts_server]
    server = say(protocol.server_role.replace("-", " "))
    if protocol.masked_phase is not None and protocol.masked_phase.is_sparse:
        return say("distributed model: a semi-honest {server} learns a noisy sum", server=server)
    if protocol.masked_phase is not None:
        return say("distributed model: nobody is trusted, the {server} learns a noisy sum", server=server)
    if not central:
        return say("local model: nobody is trusted")
    if len(central) == len(protocol.phases):
        return say("central model: the {server} is trusted", server=server)
    phases = in_a_row(map(say, central))
    return say("central model in {phases}: the {server} is trusted there", phases=phases, server=server)


def meaning_of(losses: Prices | Sequence[PrivacyLoss | LedgerEntry], *, party: str = "party") -> list[str]:
    """Return what the ε of one person's losses means, in sentences: the greatest certainty that it allows."""
    prices = losses if isinstance(losses, Prices) else prices_of(losses)
    sentences = [_certainty(prices.replaced, held_by(party))]
    if prices.participation != 0:
        sentences.append(_certainty(prices.participation, say("whether one person takes part")))
    for epsilon, units in prices.finest:
        if epsilon is not None and (prices.replaced is None or epsilon < prices.replaced * (1 - _ROUNDING)):
            told, known = (
                "Of {units}, the rest being known: {bound} (ε = {epsilon:g}).",
                say(" or of ").join(map(say, units)),
            )
            sentences.append(say(told, units=known, bound=up_to(certainty_of(epsilon)), epsilon=round_up(epsilon, 6)))
    return sentences


def warning_of(losses: Prices | Sequence[PrivacyLoss | LedgerEntry]) -> str:
    """Return a sentence where an ε of one person's losses allows more than `LITTLE` certainty; else nothing."""
    prices = losses if isinstance(losses, Prices) else prices_of(losses)
    replaced = math.inf if prices.replaced is None else prices.replaced
    large = [say("ε = {epsilon:g} in all", epsilon=round_up(replaced, 6))] if certainty_of(replaced) > LITTLE else []
    for epsilon, units in prices.finest:
        if epsilon is not None and certainty_of(epsilon) > LITTLE and epsilon < replaced * (1 - _ROUNDING):
            large.append(
                say(
                    "ε = {epsilon:g} for {units}", epsilon=round_up(epsilon, 6), units=say(" or ").join(map(say, units))
                )
            )
    return little_of(large) if large else ""


def _certainty(epsilon: float | None, unknown: str) -> str:
    if epsilon is None:
        return say("No proven ε bounds how sure someone can become of {unknown}.", unknown=unknown)
    return f"{odds_of(certainty_of(epsilon), unknown)} (ε = {at_most(epsilon)})."
