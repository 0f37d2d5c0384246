"""A protocol is a list of phases; a phase is a randomizer, a tally and an outcome.

In each phase the server opens with a request, every client answers with one report (the phase's local
randomizer applied to columns of its private row), the server tallies the reports, and closing the phase yields
an outcome that the next request carries. That is one step; a phase that takes several has a request for each.
Machines, agents, arrays and replays are all driven by these two classes, so a protocol is one module that defines them.

A party's private input is a *row* of integers: indices into public sets, or multiples of a public grid.
`PhasedProtocol.encode` makes rows from a table as users know it, and each phase names its columns.
"""

from ..columns import Column, Entries, missing_column
from ..guard import Draw
from .central_phase import CentralPhase
from .masked_phase import MOST_PARTIES, MaskedPhase, MaskedSums, check_sizes, law_of, sizes_of
from .personalized_phase import PersonalizedPhase, places_by
from .phase import MAX_VALUES_IN_REPORT, Codec, DrawBlock, InputBlock, Inputs, MechanismGroups, Phase, Step
from .phased_protocol import OnePhaseProtocol, PhasedProtocol, Truth

__all__ = [
    "MAX_VALUES_IN_REPORT",
    "MOST_PARTIES",
    "CentralPhase",
    "Codec",
    "Column",
    "Draw",
    "DrawBlock",
    "Entries",
    "InputBlock",
    "Inputs",
    "MaskedPhase",
    "MaskedSums",
    "MechanismGroups",
    "OnePhaseProtocol",
    "PersonalizedPhase",
    "Phase",
    "PhasedProtocol",
    "Step",
    "Truth",
    "check_sizes",
    "law_of",
    "missing_column",
    "places_by",
    "sizes_of",
]
