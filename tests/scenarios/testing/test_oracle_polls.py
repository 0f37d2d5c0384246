"""A poll of many values as somebody else would write it: one phase, whose mechanism is a frequency oracle."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from psephos.protocol import Column, ConfigurationError, Inputs, OnePhaseProtocol, Phase, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import FrequencyOracle, HadamardResponse, LocalHashing, SubsetSelection
from psephos.protocol.phases import Entries
from psephos.protocol.privacy import local_loss
from psephos.scenarios import simulate
from psephos.scenarios.testing import check_protocol

KINDS: dict[str, type[FrequencyOracle]] = {
    "subset-selection": SubsetSelection,
    "hadamard-response": HadamardResponse,
    "local-hashing": LocalHashing,
}


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """How many streets there are, and what an answer costs."""

    oracle: str
    streets: int
    epsilon: float = 2.0


class Street(msgspec.Struct, frozen=True):
    """How many live in a street."""

    people: Estimate


class Streets(msgspec.Struct, frozen=True):
    """What is released."""

    streets: tuple[Street, ...]


class Counts(Phase):
    """Counts the reports that support each value."""

    oracle: FrequencyOracle

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count. See `Phase.tally`."""
        del earlier, public
        return Tally(len(reports), self.oracle.support_counts(reports))


class StreetPoll(OnePhaseProtocol[Question, Streets, Counts]):
    """In which street everybody lives, by a frequency oracle."""

    name: ClassVar[str] = "street-poll"
    parameters_type: ClassVar[type[msgspec.Struct]] = Question
    outcome_type: ClassVar[type[msgspec.Struct]] = Streets

    def make_phase(self) -> Counts:
        """Return the one phase."""
        oracle = KINDS[self.parameters.oracle](self.parameters.epsilon, self.parameters.streets)
        loss = local_loss(self.parameters.oracle, oracle.event, unit="street", claimed=self.parameters.epsilon)
        phase = Counts("streets", columns=range(1), mechanism=oracle, losses=[loss])
        phase.oracle = oracle
        return phase

    def columns(self) -> tuple[Column, ...]:
        """Return the one column."""
        return (Column("street", private=True, description=f"0 to {self.parameters.streets - 1}"),)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Read streets."""
        rows = np.array([int(entry) for entry in table["street"]], dtype=np.int64)[:, None]
        for place in np.flatnonzero((rows < 0) | (rows >= self.parameters.streets))[:1].tolist():
            allowed = f"in [0, {self.parameters.streets - 1}]"
            raise ConfigurationError(field=f"street in row {place + 1}", value=int(rows[place, 0]), allowed=allowed)
        return Inputs(rows, np.empty((len(rows), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Streets:
        """Estimate."""
        (tally,) = tallies
        return Streets(tuple(map(Street, self.phase.oracle.estimate_support(tally.totals, tally.num_reports))))


@pytest.mark.full("two seconds of promises; other protocols keep them in `conformance/`")
@pytest.mark.parametrize("oracle", KINDS)
def test_a_poll_by_a_frequency_oracle_keeps_all_promises(oracle: str) -> None:
    people = {f"person-{number}": (number % 5,) for number in range(60)}
    check_protocol(StreetPoll(Question(oracle=oracle, streets=6)), people)


@pytest.mark.parametrize("oracle", KINDS)
def test_agents_tell_the_server_of_the_poll_what_arrays_tell(oracle: str) -> None:
    """Estimates of the reports that the same noise makes by arrays, and of nobody else's."""
    people = {f"person-{number}": (number % 7,) for number in range(40)}
    poll = StreetPoll(Question(oracle=oracle, streets=20))
    by_agents = simulate(poll, people, seed=5)
    assert by_agents == simulate(poll, people, seed=5, transport="array")
    total = sum(street.people.value for street in by_agents.streets)
    assert 0 < len(by_agents.streets) == 20
    assert abs(total - 40) < 5 * sum(street.people.standard_error for street in by_agents.streets)
