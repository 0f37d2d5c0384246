"""Faults planted into votes: samplers that draw wrong, a group charged half its loss, a private group told in clear."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from msgspec import structs
from planted.fault import Drawing, Fault
from planted.masked_faults import masked_faults
from planted.planting import Sessions, by_draw, planted_in_stage
from planted.sampler_faults import at_half_the_scale, sampler_fault
from psephos.protocol.fair_voting import FairVoting, Parameters
from psephos.protocol.fair_voting.choices import ExponentialChoice, SampledChoice
from psephos.protocol.fair_voting.subsample import Subsample
from psephos.protocol.mechanisms import RandBelow, RowMechanism
from psephos.protocol.privacy import TrustModel
from psephos.scenarios.fair_voting.audit.sessions import fair_voting_climbs, masked_configuration

_SAMPLES = 5_000
_FEW_SAMPLES: Final = 600  # with secure noise; what is told in clear shows at once
_TIMES: Final = 3
_SECOND = (1,)  # the public row of a voter of the second group


_SIZES: Final = (3, 4)
_NUM_SAMPLES: Final = 2
_COIN_SIZES: Final = (3, 4)
_COIN_NUM_SAMPLES: Final = 40
_PROVEN: Final = 1.5
_COIN_SAMPLES: Final = 3_000  # an election takes a fifth of a millisecond
_LAST: Final = 1 - 2.0**-53


def planted_faults() -> Iterator[Fault]:
    """Yield wrong samplers, a loss that is halved for the second group, and a private group told in clear."""
    yield subsample_fault()
    yield coin_fault()
    yield _group_in_clear()
    yield from _of_sizes()
    yield from masked_faults("rankings", masked_configuration("borda", {"alternatives": 3, "voters": 7, "groups": 2}))
    vote = _vote((1, 1), mechanism="whole_ranking", epsilon=2.0)
    right = Sessions.of_rows(vote, ([0, 1, 2], [2, 1, 0]), _SECOND)
    halves = [structs.replace(own, claimed=own.claimed / 2, proven=own.proven / 2) for own in right.entries]
    yield right.planted(
        "loss halved for the second group",
        "The ledgers of one group's voters are charged half of what leaves them; the first group's are right.",
        "loss of the second group",
        samples=_SAMPLES,
        entries=halves,
    )


def _vote(sizes: tuple[int, int], **given: Any) -> FairVoting:
    """Return a vote on three alternatives of two groups of these sizes."""
    return FairVoting(Parameters(alternatives=("a", "b", "c"), groups=("left", "right"), group_sizes=sizes, **given))


def _in_clear(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return the report with its sign moved to the voter's own group: the answer is randomized, the group is not."""
    question, *signs = rightly(mechanism, values)
    (sign,) = filter(None, signs)
    group = values[0] // len(values)
    return [question, *(sign if other == group else 0 for other in range(len(signs)))]


def _group_in_clear() -> Fault:
    vote = _vote((16, 16), mechanism="joint_pair", epsilon=2.0)
    rows: list[list[int]] = vote.encode({"group": ["left", "right"], "ranking": ["a>b>c"] * 2}).private.tolist()
    return Sessions.of_rows(vote, rows).planted(
        "a group told in clear",
        "Voters whose group is private randomize their answer, and report it as their own group's.",
        "group and answer randomized together",
        source="secure",
        samples=_FEW_SAMPLES,
        make_noise=by_draw(_in_clear),
    )


def _best_of_nine(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report; of the second group the likeliest of nine."""
    if values[0] // len(values) != 1:
        return rightly(mechanism, values)
    drawn = np.array([rightly(mechanism, values) for _ in range(9)], dtype=np.int64)
    logs = mechanism.log_likelihoods(drawn, np.array([values], dtype=np.int64))[:, 0]
    return drawn[int(logs.argmax())].tolist()


def _nothing_in_clear(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a release in which totals of 0 have no noise."""
    return [noisy if value else value for noisy, value in zip(rightly(mechanism, values), values, strict=True)]


def _twice_at_ties(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a winner; at twice the rate where the two likeliest are as likely."""
    if not isinstance(mechanism, ExponentialChoice):  # what voters disclose
        return rightly(mechanism, values)
    *_, second, first = sorted(mechanism.probabilities(values))
    doubled = dataclasses.replace(mechanism, epsilon=2 * mechanism.epsilon)
    return rightly(doubled if math.isclose(first, second) else mechanism, values)


def _of_sizes() -> Iterator[Fault]:
    """Yield what shows for some groups, totals or ties alone, planted into sessions as the ladder draws them."""
    sweeps = {sweep.name: sweep for sweep in fair_voting_climbs()}
    groups, releases = sweeps["private groups"], sweeps["releases"]
    private = groups.make("joint_pair", {"alternatives": 3, "voters": 2, "votes in a row": 1, "groups": 2})
    yield planted_in_stage(
        private,
        "the second group's best of nine",
        "A voter of the second private group draws nine times and sends what fits best.",
        "one draw for each group",
        make_noise=by_draw(_best_of_nine),
    )
    configuration = sweeps["plain elections"].make("pairwise", {"alternatives": 3, "voters": 2})
    yield planted_in_stage(
        configuration,
        "pairs' noise of the other relation",
        "A voter is replaced, and pairwise counts have the noise for one who is added or removed: half of it.",
        "noise for a voter who is replaced",
        make_noise=by_draw(at_half_the_scale),
    )
    for mechanism, name, what, repaired, draw in (
        (
            "laplace",
            "a total of 0 in clear",
            "A trusted server's totals of 0 are released without noise.",
            "totals of 0 with noise",
            _nothing_in_clear,
        ),
        (
            "exponential",
            "double rate at ties",
            "Where the two best tie, a winner is drawn at twice the rate.",
            "the same rate at ties",
            _twice_at_ties,
        ),
    ):
        configuration = releases.make(mechanism, {"alternatives": 3, "voters": 2, "groups": 2})
        yield planted_in_stage(configuration, name, what, repaired, times=_TIMES, make_noise=by_draw(draw))


_FIELDS: Final = tuple(field.name for field in dataclasses.fields(SampledChoice))


def subsample_fault() -> Fault:
    """Return the sub-sample that is off by one."""
    return sampler_fault(
        "sub-sample off by one",
        "sub-sample",
        "With the noise of deployments a group's last voter is never sampled: each draw is one too narrow.",
        (_NarrowSubsample(_SIZES, _NUM_SAMPLES), Subsample(_SIZES, _NUM_SAMPLES)),
        [[0]],
        unit="voter",
        proven=0.0,
        source="secure",
        model=TrustModel.CENTRAL,
    )


def coin_fault() -> Fault:
    """Return the election to a proven ε whose winner is random half as often as the proof has it."""
    given = {"calibration": "proven", "epsilon": _PROVEN, "num_samples": _COIN_NUM_SAMPLES}
    vote = _vote(_COIN_SIZES, mechanism="sampling", **given)
    right = vote.disclosed_phase.elects_by(SampledChoice)
    wrong = _HalvedCoin(**{name: getattr(right, name) for name in _FIELDS})
    utilities = np.array(list(itertools.permutations(right.scoring.steps)), dtype=np.int64)
    few, many = _COIN_SIZES
    others, reverse = (few - 1) * utilities[0], many * utilities[-1]  # who agree on the middle alone
    rows = [np.concatenate([others + own, reverse]).tolist() for own in (utilities[0], utilities[-1])]
    return sampler_fault(
        "γ halved",
        "γ as it is proven",
        "A random winner is half as likely as the proof of a wanted ε needs.",
        (wrong, right),
        rows,
        unit="voter",
        proven=right.proven[0],
        model=TrustModel.CENTRAL,
        samples=_COIN_SAMPLES,
    )


class _HalvedCoin(SampledChoice):
    """An election whose coin shows a random winner half as often."""

    def _elect(self, chances: Sequence[Sequence[Fraction]], uniforms: Sequence[float]) -> int:
        coin, *others = uniforms
        return super()._elect(chances, [min(2 * coin, _LAST), *others])


class _NarrowSubsample(Subsample):
    """A sub-sample whose exact draws leave out the last of the places that are left."""

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        return super().randomize_exactly(values, lambda number: randbelow(max(number - 1, 1)))
