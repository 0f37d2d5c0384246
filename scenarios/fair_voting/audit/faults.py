"""Faults planted into votes: samplers that draw wrong, a group charged half its loss, a private group told in clear."""

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from msgspec import structs

from ....protocol.client_machine import ClientMachine
from ....protocol.effects import Effect, Send
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import ExponentialChoice
from ....protocol.integers import encode_row
from ....protocol.mechanisms import RowMechanism
from ....protocol.messages import Message, Report
from ...audit.fault import Drawing, Fault, WrongNoise
from ...audit.machines import by_machines, one_source
from ...audit.planting import Sessions, planted_in_stage
from .sampler_faults import coin_fault, subsample_fault
from .sessions import fair_voting_climbs

__all__ = ["planted_faults"]

_SAMPLES = 5_000
_FEW_SAMPLES: Final = 600
"""With secure noise; what is told in clear shows at once."""
_TIMES: Final = 3
_SECOND = (1,)
"""The public row of a voter of the second group."""


def planted_faults() -> Iterator[Fault]:
    """Yield wrong samplers, a loss that is halved for the second group, and a private group told in clear."""
    yield subsample_fault()
    yield coin_fault()
    yield _group_in_clear()
    yield from _of_sizes()
    vote = FairVoting(
        Parameters(
            alternatives=("a", "b", "c"),
            groups=("left", "right"),
            group_sizes=(1, 1),
            mechanism="whole_ranking",
            epsilon=2.0,
        )
    )
    right = Sessions.of_rows(vote, ([0, 1, 2], [2, 1, 0]), _SECOND)
    halves = [structs.replace(own, claimed=own.claimed / 2, proven=own.proven / 2) for own in right.entries]
    yield right.planted(
        "loss halved for the second group",
        "The ledgers of one group's voters are charged half of what leaves them; the first group's are right.",
        "loss of the second group",
        samples=_SAMPLES,
        entries=halves,
    )


def _in_clear(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return the report with its sign moved to the voter's own group: the answer is randomized, the group is not."""
    question, *signs = rightly(mechanism, values)
    (sign,) = filter(None, signs)
    group = values[0] // len(values)
    return [question, *(sign if other == group else 0 for other in range(len(signs)))]


def _group_in_clear() -> Fault:
    vote = FairVoting(
        Parameters(
            alternatives=("a", "b", "c"),
            groups=("left", "right"),
            group_sizes=(16, 16),
            mechanism="joint_pair",
            epsilon=2.0,
        )
    )
    rows: list[list[int]] = vote.encode({"group": ["left", "right"], "ranking": ["a>b>c"] * 2}).private.tolist()
    return Sessions.of_rows(vote, rows).planted(
        "a group told in clear",
        "Voters whose group is private randomize their answer, and report it as their own group's.",
        "group and answer randomized together",
        source="secure",
        samples=_FEW_SAMPLES,
        make_noise=one_source(functools.partial(WrongNoise, _in_clear)),
    )


def _best_of_nine(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report; of the second group the likeliest of nine."""
    if values[0] // len(values) != 1:
        return rightly(mechanism, values)
    drawn = np.array([rightly(mechanism, values) for _ in range(9)], dtype=np.int64)
    logs = mechanism.log_likelihoods(drawn, np.array([values], dtype=np.int64))[:, 0]
    return drawn[int(logs.argmax())].tolist()


class _WideMachine(ClientMachine):
    """A machine whose reports are longer where its voter is of the second group."""

    __slots__ = ()

    def receive(self, sender: str, message: Message) -> list[Effect]:
        return [self._widened(effect) for effect in super().receive(sender, message)]

    def _widened(self, effect: Effect) -> Effect:
        if not isinstance(effect, Send) or not isinstance(effect.message, Report):
            return effect
        if self._party.row[0] // len(self._party.row) != 1:
            return effect
        numbers = msgspec.msgpack.decode(effect.message.payload)
        return Send(effect.recipients, Report(effect.message.phase, msgspec.Raw(encode_row(numbers, width=3))))


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
    climbs = {climb.name: climb for climb in fair_voting_climbs()}
    groups, releases = climbs["private groups"], climbs["releases"]
    private = groups.make("joint_pair", {"alternatives": 3, "voters": 2, "votes in a row": 1, "groups": 2})
    yield planted_in_stage(
        private,
        "the second group's best of nine",
        "A voter of the second private group draws nine times and sends what fits best.",
        "one draw for each group",
        make_noise=one_source(functools.partial(WrongNoise, _best_of_nine)),
    )
    yield planted_in_stage(
        private,
        "longer reports of the second group",
        "Reports of the second private group have numbers of more bytes.",
        "reports of one length",
        hold=functools.partial(by_machines, machine=_WideMachine),
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
        stage = releases.make(mechanism, {"alternatives": 3, "voters": 2, "groups": 2})
        yield planted_in_stage(
            stage,
            name,
            what,
            repaired,
            times=_TIMES,
            make_noise=one_source(functools.partial(WrongNoise, draw)),
        )
