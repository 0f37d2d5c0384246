"""Faults planted into surveys: workers who are not asked everything, and tasks of a second answer set."""

from collections.abc import Iterator, Sequence

import msgspec

from ....agents.noise import SecureNoise
from ....protocol.mechanisms import RowMechanism
from ....protocol.privacy import Ledger, LedgerEntry
from ...audit.fault import Fault
from ...audit.machines import one_source
from ...audit.planting import Sessions, alike, planted
from ...audit.whole_sessions import charge
from .sessions import BINARY, NUM_ANSWERS, candidates_of, survey_of

__all__ = ["planted_faults"]

_SAMPLES = 5_000
_SECURE_SAMPLES = 1_200


def planted_faults() -> Iterator[Fault]:
    """Yield fewer tasks that are charged as one answer, and a second answer set in clear."""
    yield _fewer_tasks()
    yield _second_set_in_clear()


class _LedgerOfOneAnswer(Ledger):
    """A ledger that records of each loss that of a single answer."""

    __slots__ = ()

    @property
    def entries(self) -> Sequence[LedgerEntry]:
        """All entries so far."""
        return [
            msgspec.structs.replace(entry, claimed=entry.finest.claimed, proven=entry.finest.proven)
            for entry in super().entries
        ]


def _fewer_tasks() -> Fault:
    survey = survey_of("one_layer", 1.0, [BINARY] * NUM_ANSWERS)
    rows, public, _ = candidates_of(survey, asked=range(NUM_ANSWERS - 2))
    rosters = alike(survey, rows[0], public), alike(survey, rows[-1], public)
    wrong, right = (
        Sessions(rosters, charge(survey, rows[0].tolist(), public, num_sessions=1, ledger=ledger))
        for ledger in (_LedgerOfOneAnswer("worker"), Ledger("worker"))
    )
    return planted(
        survey,
        "fewer tasks charged as one answer",
        "A worker who is asked three of five tasks is charged for one answer; who is asked all is charged rightly.",
        wrong,
        ("fewer tasks charged as they are", right),
        source="simulated",
        samples=_SAMPLES,
    )


class _FirstSetAlone(SecureNoise):
    """Secure noise that perturbs the labels of the first answer set, and no others."""

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return the labels of the first set as randomized, and those of the others as they are."""
        reports = super().randomize(mechanism, values, protocol=protocol, phase=phase, place=place)
        return [value if value >= len(BINARY) else report for value, report in zip(values, reports, strict=True)]


def _second_set_in_clear() -> Fault:
    survey = survey_of("two_layer", 1.0, [BINARY, BINARY, ("low", "middle", "high")])
    rows, public, _ = candidates_of(survey)
    rosters = alike(survey, rows[0], public), alike(survey, rows[1], public)  # which differ in the last answer
    entries = charge(survey, rows[0].tolist(), public, num_sessions=1)
    return planted(
        survey,
        "second answer set in clear",
        "Secure noise perturbs the labels of the first answer set alone; simulations perturb all.",
        Sessions(rosters, entries, make_noise=one_source(_FirstSetAlone)),
        ("both answer sets perturbed", Sessions(rosters, entries)),
        source="secure",
        samples=_SECURE_SAMPLES,
    )
