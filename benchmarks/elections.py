"""Rankings drawn by the laws of societies, beside prefsampling; winners, beside pref_voting; elections by arrays.

Both sides' rankings are held against the exact law: of each of the 24 rankings the share in all turns together lies
within five standard errors of its probability, or there is no row but a reason; of a right law, one in 2 million is
farther off. Uniforms count as ours. Winners must be the same ones. What an election is from, rankings and groups as
arrays, is made beforehand; its check that rows are rankings counts.
"""

import itertools
import pathlib
import tempfile
from functools import partial
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
from harness import Rival, RivalError, Row, Rows, open_rival, or_skipped, row, timed, turns
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.fair_voting import FairVoting, Parameters
from psephos.protocol.fair_voting.rankings import Rankings, positions_of_orders
from psephos.protocol.fair_voting.rules import RULES
from psephos.protocol.randomness import philox_rows
from psephos.scenarios.fair_voting.data import MallowsGroup, Profile, Society, make_profile
from psephos.scenarios.fair_voting.data.mallows import draw_mallows, mallows_probabilities
from psephos.scenarios.fair_voting.data.plackett_luce import draw_plackett_luce, plackett_luce_probabilities
from psephos.scenarios.fair_voting.paper.cells import FITTED, SIZES, electorate
from psephos.scenarios.fair_voting.paper.runs import table_1

_VOTERS = 4_000
_DISPERSION = 0.38
_WEIGHTS = (4.0, 3.0, 2.0, 1.0)
_CULTURES: dict[str, Any] = {
    "mallows": (draw_mallows, mallows_probabilities, {"center": range(4), "dispersion": _DISPERSION}, 3),
    "plackett_luce": (draw_plackett_luce, plackett_luce_probabilities, {"weights": _WEIGHTS}, 4),
}
_RULES = {"plurality": "scoring_methods", "borda": "scoring_methods", "copeland": "c1_methods"}
_MECHANISMS = ("laplace", "sampling", "exponential", "sampled_pair", "sampled_position", "noisy_scores")


def rankings(*, quick: bool) -> Rows:
    """Yield seconds for rankings of a few alternatives and of many voters, and for the winners of a profile."""
    yield from or_skipped(f"{_VOTERS:,} rankings of 4, beside prefsampling", _draws())
    number = 100_000 if quick else 1_000_000
    groups = {name: MallowsGroup(voters=number // 2, dispersion=_DISPERSION) for name in ("north", "south")}
    society = Society(alternatives=tuple("abcdefghij"), groups=groups)
    times = turns(5, ours=lambda: make_profile(society), raw=lambda: philox_rows(1, start=0, stop=number, slots=9))
    what = f"profile of {number:,} rankings of 10 by Mallows's law, beside its uniforms alone"
    yield times.row(what, target="≤ 1 s")
    for voters, alternatives in ((_VOTERS, 4), (5_000 if quick else 20_000, 10)):
        what = f"winners of {voters:,} rankings of {alternatives}, beside pref_voting"
        yield from or_skipped(what, _winners(what, voters, alternatives))


def _draws() -> Rows:
    with open_rival("prefsampling", _VOTERS, _DISPERSION, *_WEIGHTS) as rival:
        yield _culture("mallows", "Mallows's", rival)
        yield _culture("plackett_luce", "Plackett and Luce's", rival)


def _culture(name: str, named: str, rival: Rival) -> Row:
    draw, law, known, slots = _CULTURES[name]
    positions = positions_of_orders(np.array(list(itertools.permutations(range(len(_WEIGHTS))))))
    seeds, counts = itertools.count(1), np.zeros((2, len(positions)), dtype=np.int64)

    def ours() -> float:
        begin = perf_counter()
        drawn = draw(philox_rows(next(seeds), start=0, stop=_VOTERS, slots=slots), **known)
        seconds = perf_counter() - begin
        counts[0] += (drawn[:, None] == positions).all(axis=2).sum(axis=0)
        return seconds

    def theirs() -> float:
        answer = rival.ask([name, next(seeds)])
        counts[1] += answer["counts"]
        return answer["seconds"]

    times = turns(5, ours=ours, raw=theirs)
    probabilities = law(positions, **known)
    totals = counts.sum(axis=1, keepdims=True)
    errors = np.sqrt(probabilities * (1 - probabilities) / totals)
    if np.any(np.abs(counts / totals - probabilities) > 5 * errors):
        raise RivalError(f"{name}: ours and theirs came {counts.tolist()} times, of probabilities {probabilities}")
    what = f"{_VOTERS:,} rankings of {len(_WEIGHTS)} by {named} law, beside prefsampling"
    return times.row(what, number=_VOTERS, show="{:,.0f} rankings/s", times="{:.0f}", target="≥ 20")


def _winners(what: str, voters: int, alternatives: int) -> Rows:
    uniforms = philox_rows(2, start=0, stop=voters, slots=alternatives - 1)
    profile = Rankings(draw_mallows(uniforms, center=range(alternatives), dispersion=0.9))
    with tempfile.TemporaryDirectory() as folder:
        np.save(file := pathlib.Path(folder) / "orders.npy", positions_of_orders(profile.positions))  # its own inverse
        # The first answer waits until its functions are compiled; of many distinct rankings a profile takes seconds.
        with open_rival("pref_voting", file, most_seconds=300) as rival:
            for rule, module in _RULES.items():
                ours = partial(RULES[rule], profile)
                found = ours()

                def ask(question: list[str], found: object = found) -> float:
                    answer = rival.ask(question)
                    if answer["winners"] != found:
                        raise RivalError(f"{question} elects {answer['winners']} there, and {found} here")
                    return answer["seconds"]

                times = turns(3, ours=ours, raw=partial(ask, [module, rule]))
                yield times.row(f"{rule} {what}", scale=1000, show="{:.2f} ms", times="1/{:.1f}")


def elections(*, quick: bool) -> Rows:
    """Yield a row for Table 1, and one for each mechanism."""
    trials, number = (100, 100_000) if quick else (1_000, 1_000_000)
    seconds = timed(lambda: [list(table_1(electorate(FITTED, sizes, trials=trials, seed=1))) for sizes in SIZES])
    yield row(f"fair voting's Table 1, {trials:,} elections a cell", seconds, target="≤ 60 s")
    names = tuple(f"a{place}" for place in range(1, 11))
    north = MallowsGroup(voters=number * 2 // 3, dispersion=0.8)
    south = MallowsGroup(voters=number - north.voters, dispersion=0.9, center=names[::-1])
    profile = make_profile(Society(alternatives=names, groups={"north": north, "south": south}))
    held = {mechanism: partial(_hold, profile, mechanism) for mechanism in _MECHANISMS}
    times = turns(3, raw=partial(_add_up, profile), **held)
    for mechanism in held:
        what = f"election of {number:,} voters, {len(names)} alternatives, arrays: {mechanism}"
        beside = " (numpy: the groups' utilities)"
        yield times.row(what, mechanism, beside=beside, target="≤ 2.5")


def _hold(profile: Profile, mechanism: str) -> None:
    parameters = {
        "alternatives": profile.alternatives,
        "groups": profile.groups,
        "group_sizes": np.bincount(profile.members).tolist(),
        "mechanism": mechanism,
    }
    protocol = FairVoting(msgspec.convert(parameters, Parameters))
    inputs = protocol.encode({"group": profile.members, "ranking": profile.rankings})
    protocol.check_roster(inputs.public)
    protocol.check_inputs(inputs)
    run_population(protocol, inputs, noise=SimulatedNoise(1, session="benchmark"))


def _add_up(profile: Profile) -> object:
    """Return each group's sums of utilities, without privacy and without a check of anything."""
    utilities = np.arange(len(profile.alternatives) - 1, -1, -1)
    groups = range(len(profile.groups))
    return [utilities[profile.rankings.positions[profile.members == group]].sum(axis=0) for group in groups]
