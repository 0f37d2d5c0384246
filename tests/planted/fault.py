"""What a planted fault is: a mistake beside its repair, and by how many outputs of which source it is told."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from psephos.agents.noise import SecureNoise
from psephos.protocol.mechanisms import RowMechanism
from psephos.scenarios.audit.case import Case, Source

GROUP: Final = "faults"
"""What their cases are called, and the sessions of their noise."""
CONFIDENCE: Final = 1 - 1e-11
"""Of each: what is refuted at so high a confidence is refuted at .99 with four standard deviations to spare."""
SAMPLES: Final = 100_000
"""Outputs of each neighbor."""
SECURE_SAMPLES: Final = 4_000
"""The same with the noise of deployments, which is drawn one by one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fault:
    """A planted fault.

    Args:
        what: what is wrong, as a sentence.
        faulty: what must be refuted; the fault has its name.
        repaired: the same without the fault, which must not be.
        source: whose randomness is audited.
        samples: outputs of each neighbor.
    """

    what: str
    faulty: Case
    repaired: Case
    source: Source = "simulated"
    samples: int = SAMPLES


def fault_of(
    names: tuple[str, str],
    what: str,
    sides: Callable[[bool], dict[str, Any]],
    *,
    source: Source = "simulated",
    samples: int | None = None,
    **shared: Any,
) -> Fault:
    """Return a fault and its repair.

    Args:
        names: of the one and of the other.
        what: see `Fault`.
        sides: told whether the fault is there, returns those fields of `Case` in which the two differ.
        source: see `Fault`.
        samples: outputs of each neighbor; None for the source's usual number.
        shared: the other fields of `Case`; what is proven is what is claimed.
    """
    usual = SAMPLES if source == "simulated" else SECURE_SAMPLES
    faulty, repaired = (
        _case(name, shared | sides(is_faulty)) for name, is_faulty in zip(names, (True, False), strict=True)
    )
    return Fault(what, faulty, repaired, source, usual if samples is None else samples)


def _case(name: str, given: dict[str, Any]) -> Case:
    return Case(name=name, group=GROUP, **{"claimed": given["proven"]} | given)


Drawing: TypeAlias = Callable[[RowMechanism, Sequence[int]], list[int]]
"""(mechanism, values) → the report."""
WrongDraw: TypeAlias = Callable[[Drawing, RowMechanism, Sequence[int]], list[int]]
"""The same, told first how secure noise draws rightly."""


class WrongNoise(SecureNoise):
    """The noise of deployments, with another draw in the place of its own.

    Args:
        draw: the wrong one.
    """

    def __init__(self, draw: WrongDraw) -> None:
        super().__init__()
        self._draw = draw

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return what the wrong draw makes of a row."""
        rightly = functools.partial(super().randomize, protocol=protocol, phase=phase, place=place)
        return self._draw(rightly, mechanism, values)
