"""Made-up parties: populations that a scenario describes in a few numbers.

A generator has a seed of its own, so that the noise's seed changes the noise and not the people.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from ..protocol.dpwevote import DPWeVote, Parameters
from ..protocol.errors import ConfigurationError
from ..protocol.phases import Entries, PhasedProtocol
from ..protocol.randomness import philox_rows, stream_key
from .conversion import convert

__all__ = ["WeightedVotes", "generate"]

_MAX_COUNT = 100_000_000
_CANDIDATE = "proposal"
"""What is voted on where a scenario does not say."""


class WeightedVotes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent partners: a weight by shares, an opinion on each candidate by the share of yes.

    Args:
        count: how many.
        weight_shares: one for each weight of the public set, summing to 1; by default all alike.
        yes_shares: one for each candidate, in [0, 1]; by default 1/2.
        seed: of the people, not of the noise.

    Raises:
        ConfigurationError: a value is not allowed.
    """

    count: int
    weight_shares: tuple[float, ...] = ()
    yes_shares: tuple[float, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.count <= _MAX_COUNT:
            raise ConfigurationError(field="count", value=self.count, allowed=f"in [1, {_MAX_COUNT}]")
        if self.seed < 0:
            raise ConfigurationError(field="partners.seed", value=self.seed, allowed="at least 0")
        if any(not 0 <= share <= 1 for share in self.yes_shares):
            raise ConfigurationError(field="yes_shares", value=list(self.yes_shares), allowed="shares in [0, 1]")
        shares = self.weight_shares
        if shares and (any(not share >= 0 for share in shares) or abs(sum(shares) - 1) > 1e-9):  # noqa: PLR2004  rounding
            raise ConfigurationError(field="weight_shares", value=list(shares), allowed="shares that sum to 1")


def generate(
    protocol: type[PhasedProtocol[Any, Any]], options: Mapping[str, Any], *, parameters: Mapping[str, Any]
) -> tuple[int, dict[str, Entries]]:
    """Return how many parties a generator makes, and their entries by column.

    Args:
        protocol: whose columns.
        options: the generator's table.
        parameters: the scenario's, before they are checked.

    Raises:
        ConfigurationError: the protocol has no generator, or an option is not allowed.
    """
    if not issubclass(protocol, DPWeVote):
        allowed = "a file or a list: this protocol has no generator"
        raise ConfigurationError(field=f"{protocol.client_role}s", value=dict(options), allowed=allowed)
    votes: WeightedVotes = convert(dict(options), WeightedVotes, f"{protocol.client_role}s")
    ballot: Parameters = convert({"candidates": [_CANDIDATE], **parameters}, Parameters, "parameters")
    return votes.count, _weighted_votes(votes, ballot)


def _weighted_votes(votes: WeightedVotes, ballot: Parameters) -> dict[str, Entries]:
    weights, candidates = ballot.weights, ballot.candidates
    weight_shares = votes.weight_shares or (1 / len(weights),) * len(weights)
    yes_shares = votes.yes_shares or (0.5,) * len(candidates)
    named_weights = [f"{weight:g}" for weight in weights]
    for field, shares, owners in (
        ("weight_shares", weight_shares, named_weights),
        ("yes_shares", yes_shares, candidates),
    ):
        if len(shares) != len(owners):
            allowed = f"{len(owners)} shares, one for each of {', '.join(owners[:12])}"
            raise ConfigurationError(field=field, value=list(shares), allowed=allowed)
    key = stream_key(
        seed=votes.seed, session="", round_number=0, protocol="dpwevote", phase="", purpose="made-up partners"
    )
    uniforms = philox_rows(key, start=0, stop=votes.count, slots=1 + len(candidates))
    bounds = np.cumsum(weight_shares)[:-1]
    table: dict[str, Entries] = {
        "weight": np.array(weights, dtype=np.float64)[np.searchsorted(bounds, uniforms[:, 0], side="right")]
    }
    for place, (name, share) in enumerate(zip(candidates, yes_shares, strict=True), start=1):
        table[name] = (uniforms[:, place] < share).astype(np.int64)
    return table
