"""Right masked protocols keep all promises at any seed, and can be audited; shares that are too small are found."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from psephos.agents.adversaries import Deviation
from psephos.protocol import Column, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators import Estimate
from psephos.protocol.phases import Entries, MaskedSums, MechanismGroups
from psephos.scenarios.audit import AuditVerdict, audit
from psephos.scenarios.audit.any_protocol import cases_of_protocol
from psephos.scenarios.testing import check_protocol, released
from psephos.scenarios.testing.protocols import PROTOCOL_PROMISES
from thoroughness import IS_FULL

SEEDS = range(40) if IS_FULL else range(3)
AUDITED = PROTOCOL_PROMISES[-1]


class Sizes(msgspec.Struct, frozen=True):
    """What else a session has is drawn from this."""

    seed: int = 0


class Sums(msgspec.Struct, frozen=True):
    """What is released."""

    sums: tuple[Estimate, ...]


@dataclasses.dataclass(frozen=True)
class Facts:
    """Of one protocol, drawn."""

    ranges: list[tuple[int, int]]
    number: int
    threshold: int
    colluders: int
    epsilon: float


class Totals(PhasedProtocol[Sizes, Sums]):
    """Sums of some numbers of each party."""

    name: ClassVar[str] = "totals"
    parameters_type: ClassVar[type[msgspec.Struct]] = Sizes
    outcome_type: ClassVar[type[msgspec.Struct]] = Sums
    phase_type: ClassVar[type[MaskedSums]] = MaskedSums

    @property
    def facts(self) -> Facts:
        random = np.random.default_rng(self.parameters.seed)
        width, number, colluders = (int(random.integers(*ends)) for ends in ((1, 5), (6, 20), (0, 3)))
        ranges = [(-int(random.integers(0, 5)), int(random.integers(1, 30))) for _ in range(width)]
        threshold = min(number, (number + colluders) // 2 + 1 + int(random.integers(0, 3)))
        return Facts(ranges, number, threshold, colluders, float(random.choice([0.3, 1.0, 3.0])))

    def make_phases(self) -> Iterable[Phase]:
        facts = self.facts
        sizes = {"threshold": facts.threshold, "colluders": facts.colluders}
        yield self.phase_type("totals", ranges=facts.ranges, epsilon=facts.epsilon, unit="value", **sizes)  # pyright: ignore[reportArgumentType]  sizes are integers, and losses stay as they are

    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f"c{place}", private=True, description="any") for place in range(len(self.facts.ranges)))

    def possible_entries(self) -> Mapping[str, Entries]:
        return {f"c{place}": list(ends) for place, ends in enumerate(self.facts.ranges)}

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        rows = np.array([[int(entry) for entry in table[column.name]] for column in self.columns()], dtype=np.int64).T
        return Inputs(rows, np.empty((len(rows), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Sums:
        (phase,), (tally,) = self.phases, tallies
        assert isinstance(phase, MaskedSums)
        error = math.sqrt(tally.num_reports * phase.share.noise_variance)
        return Sums(tuple(Estimate(float(total), error) for total in tally.totals.tolist()))

    def parties(self) -> dict[str, tuple[int, ...]]:
        """Return rows of every kind."""
        random, facts = np.random.default_rng(self.parameters.seed + 99), self.facts
        ends = np.array(facts.ranges)
        rows = random.integers(ends[:, 0], ends[:, 1] + 1, size=(facts.number, len(ends)))
        return {f"party-{place}": tuple(row) for place, row in enumerate(rows.tolist())}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_masked_protocol_is_never_refused(seed: int) -> None:
    """False alarm: 1e-6 of each."""
    totals = Totals(Sizes(seed))
    check_protocol(totals, totals.parties(), seed=seed, promises=PROTOCOL_PROMISES if IS_FULL else [AUDITED])


class Halved(MaskedSums):
    """Parties draw shares that are planned for an eighth of the noise."""

    def mechanism_groups(self, public: IntArray) -> MechanismGroups:
        return [(dataclasses.replace(self.share, scale=self.share.scale / 8), slice(None))]


class TooLittle(Totals):
    """Sums of such shares."""

    phase_type = Halved


def test_masked_sums_with_too_little_noise_are_found() -> None:
    totals = TooLittle(Sizes(3))
    with pytest.raises(AssertionError, match="are told apart by"):
        check_protocol(totals, totals.parties(), promises=[AUDITED])


class Honest(Deviation):
    """A party that is to lie, and does not."""

    def __init__(self, *given: object) -> None:
        del given


def test_a_session_in_which_nobody_is_named_who_was_to_lie_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released, "MaskedLiar", Honest)
    (paths,) = [promise for promise in PROTOCOL_PROMISES if "in memory" in promise]
    totals = Totals(Sizes(3))
    assert totals.facts.threshold < totals.facts.number
    with pytest.raises(AssertionError, match="it alone is to be named"):
        check_protocol(totals, totals.parties(), promises=[paths])


def test_an_audit_of_a_strangers_masked_protocol_asks_for_no_session() -> None:
    (case,) = cases_of_protocol(Totals(Sizes(3)))
    found = audit(case, samples=20_000, confidence=0.999, seed=1)
    assert found is not None
    assert found.verdict is AuditVerdict.CONSISTENT
    (case,) = cases_of_protocol(TooLittle(Sizes(3)))
    found = audit(case, samples=20_000, confidence=0.999, seed=1)
    assert found is not None
    assert found.verdict is AuditVerdict.PROOF_REFUTED
