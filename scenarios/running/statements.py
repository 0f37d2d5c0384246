"""What a run says of trust and of its price: made from what was resolved, whatever a scenario's own words are.

A scenario may say in its `trust` what no setting changes, such as what its adversaries do. Whom the session trusts,
what is public and what ε allows follow from protocol and parameters, and are computed here.

The rule that holds here: ε is a bound on odds. Whoever holds two possibilities for equally likely is, after all that an
ε-private session shows, at most e^ε/(1 + e^ε) sure of one of them.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss, total_of
from ...protocol.privacy.composition import count_of
from ..presentation.numbers import some

__all__ = [
    "LITTLE",
    "certainty_of",
    "little_of",
    "meaning_of",
    "model_of",
    "odds_of",
    "rounded_up",
    "setting_of",
    "trust_in",
    "up_to",
    "warning_of",
]

LITTLE: Final = 0.95  # where an ε allows more certainty than this, it protects little

_ROUNDING: Final = 1e-9  # of sums in floating point, which are not more for that
_MOST_DECIMALS: Final = 4


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
    return said if said.startswith("over ") else f"up to {said}"


def odds_of(probability: float, unknown: str) -> str:
    """Return the greatest certainty, ≥ 1/2, that somebody can get of something, as a sentence without its full stop."""
    return f"From even odds, anybody can become {up_to(probability)} sure of {unknown}"


def little_of(prices: Sequence[str]) -> str:
    """Return a warning that some ε, at least one, allow more than `LITTLE` certainty."""
    verb = "protect" if len(prices) > 1 else "protects"
    return f"{' and '.join(prices)} {verb} little: over {100 * LITTLE:g} % certainty."


def trust_in(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return whom a session trusts with what, what is public, and what anybody can learn of one party."""
    party, server = protocol.client_role, protocol.server_role.replace("-", " ")
    central = [phase.name for phase in protocol.phases if phase.model.trusts_server]
    if not central:
        trusted = f"Nobody is trusted with private values: each {party} randomizes its own before they leave it."
        learns = f"The {server} and all other {party}s together learn"
    elif len(central) == len(protocol.phases):
        trusted = f"The {server} is trusted: {party}s show it their values, and it adds the noise."
        learns = f"Whoever sees what it releases, whatever all other {party}s tell, learns"
    else:
        shown = " and ".join(central)
        trusted = f"The {server} is trusted with what {party}s show it in {shown}, and adds the noise there."
        learns = f"Whoever sees all else, whatever all other {party}s tell, learns"
    public = [column.name for column in protocol.columns() if not column.private]
    said = f"{trusted} {learns} {_bound_of(protocol)}"
    if public:
        said = f"{said} Public of each {party}: {' and '.join(public)}."
    if chosen := [column.name for column in protocol.columns() if column.chosen]:
        names = " and ".join(chosen)
        said = f"{said} Each {party} chooses its {names}, and no ε bounds what that choice tells of its values."
    return said


def setting_of(protocol: PhasedProtocol[Any, Any], num_parties: int) -> str:
    """Return how many take part, what that costs each, and whom they trust: the line below a picture's title."""
    party = protocol.client_role
    number = ("up to " if protocol.hides_participation else "") + some(num_parties, party)
    total = total_of(protocol.losses)
    loss = "no ε proven" if math.isinf(total.proven) else f"ε = {total.proven:g} proven"
    return f"{number} · {loss} for one {party} in all ({total.relation.value}) · {model_of(protocol)}"


def model_of(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return the model of trust, and what it means here."""
    central = [phase.name for phase in protocol.phases if phase.model.trusts_server]
    if not central:
        return "local model: nobody is trusted"
    server = protocol.server_role.replace("-", " ")
    if len(central) == len(protocol.phases):
        return f"central model: the {server} is trusted"
    return f"central model in {' and '.join(central)}: the {server} is trusted there"


def meaning_of(losses: Sequence[PrivacyLoss | LedgerEntry], *, party: str = "party") -> list[str]:
    """Return what the ε of one person's losses means, in sentences: the greatest certainty that it allows."""
    replaced = total_of(losses, relation=NeighboringRelation.REPLACE_ONE).proven
    sentences = [_certainty(replaced, f"what one {party} holds")]
    own = total_of(losses)
    if own.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        sentences.append(_certainty(own.proven, f"whether one {party} takes part"))
    for epsilon, units in _by_price(losses):
        if epsilon < replaced * (1 - _ROUNDING):
            known = f"Of {' or of '.join(units)}, the rest being known, that is"
            sentences.append(f"{known} {up_to(certainty_of(epsilon))} (ε = {epsilon:g}).")
    return sentences


def warning_of(losses: Sequence[PrivacyLoss | LedgerEntry]) -> str:
    """Return a sentence where an ε of one person's losses allows more than `LITTLE` certainty; else nothing."""
    replaced = total_of(losses, relation=NeighboringRelation.REPLACE_ONE).proven
    large = [f"ε = {replaced:g} in all"] if certainty_of(replaced) > LITTLE else []
    for epsilon, units in _by_price(losses):
        if certainty_of(epsilon) > LITTLE and epsilon < replaced * (1 - _ROUNDING):
            large.append(f"ε = {epsilon:g} for {' or '.join(units)}")
    return little_of(large) if large else ""


def _bound_of(protocol: PhasedProtocol[Any, Any]) -> str:
    """Return how much is learnt, at most, as what follows "learn"."""
    total = total_of(protocol.losses)
    if math.isinf(total.proven):
        return f"more of one {protocol.client_role} than any ε bounds."
    return f"no more of one {protocol.client_role} than ε = {total.proven:g} in all allows ({total.relation.value})."


def _certainty(epsilon: float, unknown: str) -> str:
    if math.isinf(epsilon):
        return f"No proven ε bounds how sure anybody can become of {unknown}."
    return f"{odds_of(certainty_of(epsilon), unknown)} (ε = {epsilon:g})."


def _by_price(losses: Iterable[PrivacyLoss | LedgerEntry]) -> list[tuple[float, list[str]]]:
    """Return the smallest units that are stated, those of one price together, dearest first; of each the dearest."""
    dearest: dict[str, float] = {}
    for loss in losses:
        part = loss.finest
        unit = part.unit if part.unit.startswith(("one ", "all ")) else f"one {part.unit}"
        price = part.proven * count_of(loss.relation, relation=NeighboringRelation.REPLACE_ONE)
        dearest[unit] = max(price, dearest.get(unit, 0.0))
    ordered = sorted(dearest.items(), key=lambda each: -each[1])
    return [(price, [unit for unit, _ in same]) for price, same in itertools.groupby(ordered, key=lambda each: each[1])]
