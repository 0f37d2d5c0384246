"""What a planted fault is: a mistake beside its repair, and by how many outputs of which source it is told."""

import dataclasses
from typing import Final

from .case import Case, Source

__all__ = ["CONFIDENCE", "GROUP", "SAMPLES", "SECURE_SAMPLES", "Fault"]

GROUP: Final = "faults"
"""What `psephos audit` calls them."""
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
