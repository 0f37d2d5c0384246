"""Made-up parties: populations that a scenario describes in a few numbers.

A generator has a seed of its own, so that the noise's seed changes the noise and not the people.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.errors import ConfigurationError, join_names, refuse, require
from ....protocol.phases import Entries, Inputs
from ....protocol.randomness import philox_tables, stream_key
from ...reading.conversion import convert
from ...reading.sources import PartiesTable

_MAX_COUNT = 100_000_000
_MOST_LIKE = 100_000  # as rows of a scenario
_CANDIDATE = "proposal"  # what is voted on where a scenario does not say


class SyntheticOpinions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent opinions on each candidate by the share of yes.

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> SyntheticOpinions(yes_shares=(0.5, 0.75)).yes_shares
        (0.5, 0.75)
    """

    yes_shares: tuple[float, ...] = ()  # one for each candidate, in [0, 1]; by default 1/2
    seed: int = 0  # of the people, not of the noise

    def __post_init__(self) -> None:
        refuse(self.seed < 0, "partners.seed", self.seed, "at least 0")
        if any(not 0 <= share <= 1 for share in self.yes_shares):
            raise ConfigurationError(
                field="partners.yes_shares", value=list(self.yes_shares), allowed="shares in [0, 1]"
            )


class WeightedVotes(SyntheticOpinions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Independent partners: a weight by shares, beside `SyntheticOpinions`.

    Examples:
        >>> WeightedVotes(count=100, weight_shares=(0.5, 0.5), yes_shares=(0.6,)).count
        100
    """

    count: int  # how many
    weight_shares: tuple[float, ...] = ()  # one for each weight of the public set, summing to 1; by default all alike

    def __post_init__(self) -> None:
        require(0 < self.count <= _MAX_COUNT, "partners.count", self.count, f"in [1, {_MAX_COUNT}]")
        super().__post_init__()
        shares = self.weight_shares
        if shares:
            allowed = "shares of at least 0 that sum to 1"
            require(all(share >= 0 for share in shares), "partners.weight_shares", list(shares), allowed)
            allowed = f"shares that sum to 1 (these sum to {sum(shares):g})"
            require(abs(sum(shares) - 1) <= 1e-9, "partners.weight_shares", list(shares), allowed)  # noqa: PLR2004  rounding


def make_partners(parties: Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return made-up partners of a table of `WeightedVotes`.

    Examples:
        >>> made = make_partners({"count": 3, "seed": 1}, parameters={"weights": [1, 2]})
        >>> {name: list(map(float, entries)) for name, entries in made.table.items()}
        {'weight': [2.0, 2.0, 1.0], 'proposal': [1.0, 0.0, 0.0]}
    """
    votes: WeightedVotes = convert(dict(parties), WeightedVotes, "partners")
    names = [f"partner-{number}" for number in range(1, votes.count + 1)]
    return PartiesTable(names, _weighted_votes(votes, read_ballot(parameters), [votes.seed]), is_generated=True)


def draw_partners(
    parties: Mapping[str, Any], seeds: Sequence[int], parameters: Mapping[str, Any]
) -> dict[str, Entries] | None:
    """Return the columns of `make_partners` for each of some seeds, one after another.

    None where the set of weights, which is public, follows from who is drawn.
    """
    if parameters.get("public_weights") and "weights" not in parameters:
        return None
    votes: WeightedVotes = convert(dict(parties), WeightedVotes, "partners")
    return _weighted_votes(votes, read_ballot(parameters), seeds)


def make_like(vote: DPWeVote, inputs: Inputs, share: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return made-up partners in place of a vote's, and its parameters: of their private values nothing is used.

    They are as many, with the same weights where these are public and all possible ones in turn where they are not,
    and with the same ε of their own; on each candidate such a share of them votes yes.
    """
    parameters, number = vote.parameters, len(inputs)
    allowed = f"for at most {_MOST_LIKE:,}: give a generator instead"
    refuse(number > _MOST_LIKE, "--synthetic-yes", f"{number:,} partners", allowed)
    own_weights = (
        vote.weights_of(inputs) if parameters.public_weights else np.resize(parameters.weights, number).tolist()
    )
    uniforms = _uniforms([SyntheticOpinions().seed], num_partners=number, candidates=parameters.candidates)
    says_yes = uniforms[:, 1:].argsort(axis=0).argsort(axis=0) < round(share * number)
    rows = [
        {
            "partner": f"partner-{row + 1}",
            "weight": own_weights[row],
            **dict(zip(parameters.candidates, votes, strict=True)),
        }
        for row, votes in enumerate(says_yes.astype(int).tolist())
    ]
    for name, entries in parameters.own_levels.write(inputs.public).items():
        rows = [{**row, name: entry} for row, entry in zip(rows, entries, strict=True)]
    names = ("candidates", "weights", "public_weights")
    return rows, {name: getattr(parameters, name) for name in names}


def read_ballot(parameters: Mapping[str, Any]) -> Parameters:
    """Return a vote's parameters, which a scenario's table has unchecked, with a candidate where it names none.

    Examples:
        >>> read_ballot({"weights": [1, 2]}).candidates
        ('proposal',)
    """
    ballot: Parameters = convert({"candidates": [_CANDIDATE], **parameters}, Parameters, "parameters")
    return ballot


def make_opinions(options: SyntheticOpinions, *, num_partners: int, candidates: Sequence[str]) -> dict[str, Entries]:
    """Return opinions for partners whose weights are known: for each candidate a column of 0 and 1.

    Examples:
        >>> opinions = make_opinions(SyntheticOpinions(yes_shares=(1.0,)), num_partners=3, candidates=["merger"])
        >>> opinions["merger"].tolist()
        [1, 1, 1]
    """
    return _opinions(options, candidates, _uniforms([options.seed], num_partners=num_partners, candidates=candidates))


def _weighted_votes(votes: WeightedVotes, ballot: Parameters, seeds: Sequence[int]) -> dict[str, Entries]:
    weights = ballot.weights
    shares = votes.weight_shares or (1 / len(weights),) * len(weights)
    _check_number("partners.weight_shares", shares, [f"{weight:g}" for weight in weights])
    uniforms = _uniforms(seeds, num_partners=votes.count, candidates=ballot.candidates)
    places = np.searchsorted(np.cumsum(shares)[:-1], uniforms[:, 0], side="right")
    return {
        "weight": np.array(weights, dtype=np.float64)[places],
        **_opinions(votes, ballot.candidates, uniforms),
    }


def _uniforms(seeds: Sequence[int], *, num_partners: int, candidates: Sequence[str]) -> FloatArray:
    """Return a row for each partner of each seed: the first is for the weight, the others are for the opinions."""
    address: dict[str, Any] = {"session": "", "round_number": 0, "protocol": "dpwevote", "phase": ""}
    keys = [stream_key(seed=seed, **address, purpose="made-up partners") for seed in seeds]
    slots = 1 + len(candidates)
    return philox_tables(keys, start=0, stop=num_partners, slots=slots).reshape(-1, slots)


def _opinions(options: SyntheticOpinions, candidates: Sequence[str], uniforms: FloatArray) -> dict[str, Entries]:
    shares = options.yes_shares or (0.5,) * len(candidates)
    _check_number("partners.yes_shares", shares, candidates)
    return {
        name: (uniforms[:, place] < share).astype(np.int64)
        for place, (name, share) in enumerate(zip(candidates, shares, strict=True), start=1)
    }


def _check_number(field: str, shares: Sequence[float], owners: Sequence[str]) -> None:
    """Raise ConfigurationError unless there is a share for each."""
    names = join_names(owners)
    each = f"{len(owners)} shares, one for each of {names}" if len(owners) > 1 else f"1 share, for {names}"
    allowed = f"{each}, or [] for equal ones"
    refuse(len(shares) != len(owners), field, list(shares), allowed)
