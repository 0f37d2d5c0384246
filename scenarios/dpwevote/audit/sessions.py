"""Audits of DPWeVote: all that leaves one or two partners, over phases, candidates and repeated votes."""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.dpwevote import DPWeVote, Outcome, Parameters
from ....protocol.dpwevote.central import CentralVotes, numbers_by_weight
from ....protocol.dpwevote.parameters import VARIANTS, VariantName
from ....protocol.phases import Inputs
from ...audit.case import Case
from ...audit.machines import roster_of
from ...audit.masked_configurations import MASKED_RUNGS, MaskedStage, sizes_of
from ...audit.observables import Observable, exposure_of_release
from ...audit.size_grid import ALPHABETS, OWN, RUNGS, Configuration, Ends, Member, SizeSweep, other_level_ends
from ...audit.whole_sessions import AuditParty, two_party_cases

# Asymmetric matrices, with losses ln 5 and ln 8.
_OF_WEIGHTS: Final = (("5/8", "1/4", "1/8"), ("1/8", "3/4", "1/8"), ("1/4", "1/4", "1/2"))
_OF_OPINIONS: Final = ((0.8, 0.2), (0.1, 0.9))
_CANDIDATES = ("a", "b")
_ALL = "weight and opinions"
_QUOTAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "majority": {},
    "two thirds": {"quota_fraction": 2 / 3},
    "all of the weight": {"quota_fraction": 1.0},
    "a fixed quota": {"quota": 3.0},
}
# yes votes for each no vote, of equal weights, that make a margin 0
_YES_FOR_A_NO: Final = {"majority": 1, "two thirds": 2}
_LEVELS: Final = (0.5, 1.0, 2.0)
"""The levels of personalized ε."""
_BY_LEVEL: Final[Sequence[VariantName]] = ("two_point", "signed_rr", "optimal")
_NOBODY: Final = "nobody"
_ALONE: Final = ", decisions alone"
_REPORTS: Final = ("fails", "undecided, leaning no", "undecided, leaning yes", "passes")
"""The possible decisions on a candidate in a release of decisions."""
# Fractions of the requested outputs: a session by machines takes most of a millisecond.
_SHARE_OF_RELEASES, _SECURE_SHARE_OF_RELEASES = 0.02, 0.03


def dpwevote_cases(*, epsilon: float = 1.0) -> Iterator[Case]:
    """Yield audits of all variants with two candidates and two votes; ε is that of a candidate with its weight."""
    variants: tuple[VariantName, ...] = ("printed", "joint", "laplace", "two_point", "signed_rr", "optimal")
    yield case_of_partner(
        _vote("joint", epsilon=epsilon, candidates=_CANDIDATES[:1]), "joint, one candidate", num_sessions=1
    )
    for variant in variants:
        # The printed variant has the law of `joint`, so its joint law over two votes is not computed again.
        yield case_of_partner(
            _vote(variant, epsilon=epsilon),
            f"{variant}, two candidates",
            num_sessions=1 if VARIANTS[variant].is_biased else 2,
        )
    for variant in ("joint", "laplace"):
        yield case_of_partner(
            _vote(variant, epsilon=epsilon, weight_collection="per_candidate"),
            f"{variant}, weights again for each candidate",
            num_sessions=2,
            note="Section 4.1 runs all phases for each candidate.",
        )
    for variant in ("joint", "printed"):
        yield case_of_partner(
            vote_with_matrices(*_CANDIDATES, variant=variant),
            f"{variant}, matrices of one's own",
            num_sessions=2 if variant == "joint" else 1,
            note="The loss is that of the matrices: the greatest ratio within a column of each.",
        )
    yield _weight_alone(_vote("joint", epsilon=epsilon))
    for variant in ("joint", "laplace"):
        of_game = _vote(variant, epsilon=epsilon, game="board")
        note = "The weight's report is drawn in the first vote, and repeated in the second."
        yield case_of_partner(of_game, f"{variant}, two votes of a game", num_sessions=2, note=note)
        if variant == "joint":
            yield _weight_alone(of_game, "two votes of a game, the weight alone")
    public = _vote("joint", epsilon=epsilon, public_weights=True)
    for weight in public.parameters.weights[::-1]:  # every public row
        yield case_of_partner(public, f"joint, public weight {weight:g}", num_sessions=2, public_weight=weight)
    yield from _central_cases(epsilon)
    party = party_of(_vote("joint", epsilon=epsilon))
    yield from two_party_cases(party, (party.rows[-1], party.public), name="joint", unit=_ALL)
    yield from _cases_of_levels()


def _cases_of_levels() -> Iterator[Case]:
    """Yield audits of partners at each level of ε, which is public: neighbors have the same level."""
    for variant, level in itertools.product(_BY_LEVEL, _LEVELS):
        party = party_of(_vote(variant, epsilons=_LEVELS), level=level)
        yield party.case(f"{variant}, own ε = {level:g}", _ALL, num_sessions=2, is_tight=True)
    party = party_of(_vote("two_point", epsilons=_LEVELS))
    other = party.rows[-1], [len(_LEVELS) - 1]
    yield from two_party_cases(party, other, name=f"two_point, own ε = {_LEVELS[0]:g}", unit=_ALL)
    level_vote = _vote("two_point", epsilons=_LEVELS, chosen_by="partner")
    name = f"two_point, own ε = {_LEVELS[1]:g}, chosen as it joins"
    yield party_of(level_vote, level=_LEVELS[1]).case(name, _ALL, num_sessions=2, is_tight=True)


def _central_cases(epsilon: float) -> Iterator[Case]:
    """Yield audits of a trusted server's release on two partners, by kind of quota and by public weight."""
    for name, quota_parameters in _QUOTAS.items():
        vote = _vote("central", **quota_parameters, epsilon=epsilon)
        yield _case_of_release(vote, f"central, {name}", num_sessions=2 if not quota_parameters else 1)
        yield _case_of_release(vote, f"central, {name}, there or not", is_absent=True)
        decision_vote = _vote("central", **quota_parameters, epsilon=epsilon, release="decision")
        number = 2 if not quota_parameters else 1
        yield _case_of_release(decision_vote, f"central, {name}{_ALONE}", num_sessions=number)
    decision_vote = _vote("central", epsilon=epsilon, public_weights=True, release="decision")
    yield _case_of_release(decision_vote, f"central, public weight 1{_ALONE}", public_weight=1)
    public = _vote("central", epsilon=epsilon, public_weights=True)
    for weight in public.parameters.weights[::-1]:
        yield _case_of_release(public, f"central, public weight {weight:g}", public_weight=weight)
    for noise_weight in (2.0, 0.0):
        vote = _vote("central", epsilon=epsilon, public_weights=True, noise_weight=noise_weight)
        for weight in vote.parameters.weights[::-2]:
            name = f"central, noise weight {noise_weight:g}, public weight {weight:g}"
            # On top of its randomized response, a heavy partner's vote is protected by the noise for others.
            yield _case_of_release(vote, name, public_weight=weight, is_tight=not 0 < noise_weight < weight)


def _case_of_release(
    vote: DPWeVote,
    name: str,
    *,
    num_sessions: int = 1,
    public_weight: float | None = None,
    is_absent: bool = False,
    is_tight: bool = True,
) -> Case:
    """Return the audit of a trusted server's release, for all rows of a partner, or its presence against its absence.

    A second partner's votes cancel in every comparison.
    """
    party = party_of(vote, public_weight)
    (phase,) = vote.phases
    names = [_NOBODY, *party.names] if is_absent else party.names

    def observable() -> Observable:
        rosters_absent = [roster_of(vote, [party.rows[0]], [party.public])] if is_absent else []
        rosters = [roster_of(vote, [row, party.rows[0]], [party.public] * 2) for row in party.rows]
        return exposure_of_release(
            vote,
            phase,
            [*rosters_absent, *rosters],
            functools.partial(_read_sums, vote, rosters[-1].public),
            num_sessions=num_sessions,
        )

    return dataclasses.replace(party, names=names).case(
        name,
        "opinions" if vote.parameters.public_weights else _ALL,
        num_sessions=num_sessions,
        observable=observable,
        are_neighbors=(lambda first, second: (not first) != (not second)) if is_absent else operator.ne,
        is_tight=is_tight,
        share=_SHARE_OF_RELEASES,
        secure_share=_SECURE_SHARE_OF_RELEASES,
    )


def _read_sums(vote: DPWeVote, public: IntArray, outcome: Outcome) -> list[int]:
    """Return the noisy numbers of a trusted server, read from its release; or its decisions.

    `public` has the public rows of all partners.
    """
    parameters, (phase,) = vote.parameters, vote.phases
    assert isinstance(phase, CentralVotes)  # noqa: S101  of the variant `central`
    if not parameters.kind.tells_margin:
        return [_REPORTS.index(candidate.decision) for candidate in outcome.candidates]
    sums, read_numbers = phase.sums, list[int]()
    offset = float(sums.offset_of(numbers_by_weight(public, parameters).tolist()))
    for candidate in outcome.candidates:
        told_estimate = candidate.support if parameters.public_weights else candidate.margin
        assert told_estimate is not None  # noqa: S101  public weights tell it
        fixed = 0.0 if parameters.public_weights else parameters.quota or 0.0
        read_numbers.append(round((told_estimate.value + fixed + offset) / float(sums.step)))
    if sums.total_share and outcome.total_weight is not None:
        read_numbers.append(round(outcome.total_weight.value * float(sums.total_share / sums.step)))
    return read_numbers


def dpwevote_climbs() -> Iterator[SizeSweep]:
    """Yield sweeps over weights, candidates, partners and consecutive votes, in every variant."""
    variants = [name for name, kind in VARIANTS.items() if not kind.is_biased and not kind.model.bounds_release]
    sizes = {"weights": ALPHABETS, "candidates": RUNGS, "partners": RUNGS, "votes in a row": RUNGS}
    usual_names = [name for name in variants if name != "optimal"]
    *own_levels, designed = [f"{name}{OWN}{level:g}" for name, level in zip(_BY_LEVEL, _LEVELS, strict=True)]
    yield SizeSweep("votes", sizes, [*usual_names, "public weights", *own_levels], _stage, alphabets=["weights"])
    # Designing optimal reports for many weights takes minutes, and a matrix has at most 32 values.
    few = sizes | {"weights": ALPHABETS[:4]}
    yield SizeSweep("votes of designed reports", few, ["optimal", designed, "matrices"], _stage, alphabets=["weights"])
    # All phases are repeated for each candidate, which is slow.
    yield SizeSweep(
        "weights again",
        sizes | {"candidates": RUNGS[:5]},
        ["laplace", "joint"],
        functools.partial(_stage, is_again=True),
        most=64,
        alphabets=["weights"],
    )
    sizes = {"weights": ALPHABETS, "candidates": RUNGS, "partners": MASKED_RUNGS, "votes in a row": RUNGS[:3]}
    yield SizeSweep(
        "masked votes", sizes, [*_QUOTAS, "public weights"], masked_configuration, most=400, alphabets=["weights"]
    )
    sizes = {"candidates": RUNGS[:4], "partners": RUNGS}
    yield SizeSweep("heavy partners", sizes, ["noise for some", "noise for nobody"], _heavy_configuration, most=200)
    sizes = {"candidates": RUNGS, "partners": RUNGS}
    choices = [f"{quota}{told}" for told in ("", _ALONE) for quota in _QUOTAS]
    yield SizeSweep("releases", sizes, choices, _release_configuration, most=400)


def masked_configuration(choice: str, sizes: Mapping[str, int]) -> MaskedStage:
    """Return masked votes of one partner among light partners who vote no and heavy ones who vote yes."""
    candidates = tuple(f"c{number}" for number in range(sizes["candidates"]))
    weights = tuple(range(1, sizes["weights"] + 1))
    number = sizes["partners"]
    parameters: dict[str, Any] = {**_QUOTAS.get(choice, {"public_weights": True}), **sizes_of(number)}
    vote = _vote("masked", candidates=candidates, weights=weights, **parameters)
    no, yes = [0] * len(candidates), [1] * len(candidates)
    kind_rows = {"light no": (1, no), "heavy no": (weights[-1], no), "heavy yes": (weights[-1], yes)}
    kind_rows["heavy, one yes"] = weights[-1], [*no[:-1], 1]

    def roster(kind_row: str) -> Inputs:
        rows = [kind_rows[kind_row], *([kind_rows["light no"], kind_rows["heavy yes"]] * number)[: number - 1]]
        opinions = {name: [each[place] for _, each in rows] for place, name in enumerate(candidates)}
        return vote.encode({"weight": [weight for weight, _ in rows], **opinions})

    kinds = {"all opinions": ("heavy yes", "heavy no"), "one opinion": ("heavy, one yes", "heavy no")}
    if not vote.parameters.public_weights:
        kinds |= {"weight": ("light no", "heavy no"), "weight and opinions": ("light no", "heavy yes")}
    ends = {kind: Ends(*map(roster, kind_row)) for kind, kind_row in kinds.items()}
    return MaskedStage(vote, ends, num_parties=number, num_sessions=sizes["votes in a row"])


def _release_configuration(choice: str, sizes: Mapping[str, int]) -> Configuration:
    """Return central votes of one partner among others who are all heavy, who tie, or who are light."""
    candidates = tuple(f"c{number}" for number in range(sizes["candidates"]))
    quota, told, _ = choice.partition(_ALONE)
    given = {**_QUOTAS[quota], "release": "decision" if told else "margin"}
    vote = _vote("central", candidates=candidates, epsilon=1.0, weights=(1.0, 2.0, 1_000.0), **given)
    no, yes = [0] * len(candidates), [1] * len(candidates)
    (light, light_yes), (heavy, heavy_yes) = ([[place, *no], [place, *yes]] for place in (0, 2))
    num_others = sizes["partners"] - 1

    def ends(first: Sequence[int], second: Sequence[int], other_rows: Sequence[Sequence[int]]) -> Ends:
        return Ends(*(roster_of(vote, [row, *other_rows], [()] * (1 + len(other_rows))) for row in (first, second)))

    kinds = {
        "all say yes": ends(heavy_yes, heavy, [heavy_yes] * num_others),
        "the others tie": ends(heavy_yes, heavy, [light_yes, light] * (num_others // 2)),
        "one giant weight": ends(heavy_yes, light, [light] * num_others),
        "one light weight": ends(light_yes, light, [heavy] * num_others),
    }
    if 0 < (number := _YES_FOR_A_NO.get(quota, 0)) <= num_others:
        turn = [*[light_yes] * number, light]
        kinds["totals of 0"] = ends(light_yes, light, [*turn[1:], *turn * ((num_others - number) // len(turn))])
    return Configuration(vote, kinds, num_parties=sizes["partners"], is_central=True)


def _heavy_configuration(choice: str, sizes: Mapping[str, int]) -> Configuration:
    """Return central votes with public weights and a noise weight, of one partner among others, half of them heavy."""
    candidates = tuple(f"c{number}" for number in range(sizes["candidates"]))
    noise_weight = 2.0 if choice == "noise for some" else 0.0
    vote = _vote("central", candidates=candidates, weights=(2.0, 50.0), public_weights=True, noise_weight=noise_weight)
    no, yes = [0] * len(candidates), [1] * len(candidates)

    def ends(place: int) -> Ends:
        others = [(no, 0), (yes, 1)] * sizes["partners"]
        rosters = [[(own, place), *others[: sizes["partners"] - 1]] for own in (yes, no)]
        return Ends(*(roster_of(vote, [row for row, _ in each], [(at, at) for _, at in each]) for each in rosters))

    return Configuration(
        vote, {"a light partner": ends(0), "a heavy partner": ends(1)}, num_parties=sizes["partners"], is_central=True
    )


def _stage(choice: str, sizes: Mapping[str, int], *, is_again: bool = False) -> Configuration:
    candidates = tuple(f"c{number}" for number in range(sizes["candidates"]))
    weights = tuple(range(1, sizes["weights"] + 1))
    parameters: dict[str, Any] = {"variant": choice, "epsilon": 1.0}
    variant, _, level = choice.partition(OWN)
    if level:
        parameters = {"variant": variant, "epsilons": _LEVELS}
    elif is_again:
        parameters |= {"weight_collection": "per_candidate"}
    elif choice == "public weights":
        parameters |= {"variant": "joint", "public_weights": True}
    elif choice == "matrices":
        # alternating 1/2 and 2/3
        keep_chances = [Fraction(1 + index % 2, 2 + index % 2) for index in range(len(weights))]
        matrix = [
            [str(keep if index == other else (1 - keep) / (len(weights) - 1)) for other in range(len(weights))]
            for index, keep in enumerate(keep_chances)
        ]
        parameters = {"variant": "joint", "weight_matrix": matrix, "opinion_matrix": _OF_OPINIONS}
    vote = DPWeVote(Parameters(candidates=candidates, weights=weights, **parameters))
    no, yes = [0] * len(candidates), [1] * len(candidates)
    rows = [(1, no), (weights[-1], no), (1, yes), (1, [*no[:-1], 1]), (weights[-1], yes)]
    table = {name: [opinions[place] for _, opinions in rows] for place, name in enumerate(candidates)}
    table |= {"epsilon": [level] * len(rows)} if level else {}
    inputs = vote.encode({"weight": [weight for weight, _ in rows], **table})
    least_member, heavy, approving, last, most_member = (
        Member(tuple(row), tuple(public))
        for row, public in zip(inputs.private.tolist(), inputs.public.tolist(), strict=True)
    )
    kinds = {
        "weight": Ends(least_member, heavy),
        "all opinions": Ends(least_member, approving),
        "one opinion": Ends(least_member, last),
    }
    kinds["weight and opinions"] = Ends(least_member, most_member)
    if level:
        kinds |= other_level_ends(least_member, len(_LEVELS))
    return Configuration(vote, kinds, num_parties=sizes["partners"], num_sessions=sizes["votes in a row"])


def vote_with_matrices(*candidates: str, variant: VariantName = "joint") -> DPWeVote:
    """Return a vote whose weights and opinions are reported by user-defined matrices."""
    return _vote(variant, candidates=candidates, weight_matrix=_OF_WEIGHTS, opinion_matrix=_OF_OPINIONS)


def case_of_partner(
    vote: DPWeVote, name: str, *, num_sessions: int, note: str = "", public_weight: float | None = None
) -> Case:
    """Return the audit of all that leaves a partner in some repeated votes, over all of its rows."""
    unit = "opinions" if vote.parameters.public_weights else _ALL
    return party_of(vote, public_weight).case(name, unit, num_sessions=num_sessions, is_tight=True, note=note)


def _vote(variant: VariantName, *, candidates: tuple[str, ...] = _CANDIDATES, **parameters: Any) -> DPWeVote:
    return DPWeVote(Parameters(candidates=candidates, variant=variant, **parameters))


def _weight_alone(vote: DPWeVote, name: str = "two candidates, the weight alone") -> Case:
    """Return the audit of the weight's loss in two votes: the sum of the ledger entries with that unit."""
    party = party_of(vote)
    opinions: list[list[int]] = party.rows[:, 1 : 1 + len(vote.parameters.candidates)].tolist()
    return party.case(
        f"joint, {name}",
        "weight",
        num_sessions=2,
        entries=[entry for entry in party.charge(2) if entry.unit == "weight"],
        are_neighbors=lambda first, second: first != second and opinions[first] == opinions[second],
        is_tight=True,
    )


def party_of(vote: DPWeVote, public_weight: float | None = None, *, level: float = _LEVELS[0]) -> AuditParty:
    """Return a partner with all of its possible rows; public weights are the same for neighbors.

    With personalized ε, neighbors have the given level.
    """
    parameters = vote.parameters
    weights = parameters.weights if public_weight is None else (public_weight,)
    choices = list(itertools.product(weights, itertools.product((0, 1), repeat=len(parameters.candidates))))
    columns = np.array([opinions for _, opinions in choices], dtype=np.int64).T
    table = dict(zip(parameters.candidates, columns, strict=True))
    table |= {column.name: np.full(len(choices), level) for column in parameters.own_levels.columns}
    inputs = vote.encode({"weight": [weight for weight, _ in choices], **table})
    names = [f"weight {weight:g}, {'/'.join(['no', 'yes'][each] for each in opinion)}" for weight, opinion in choices]
    return AuditParty(vote, inputs.private, inputs.public[0].tolist(), names)
