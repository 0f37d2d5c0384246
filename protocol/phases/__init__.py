"""A protocol is a list of phases; a phase is a randomizer, a tally and an outcome.

A phase runs in four parts. The server sends a request. Every client answers with one report: the phase's local
randomizer applied to columns of its private row. The server tallies the reports. Closing the phase yields an outcome,
which the next request carries. This is one step; a phase of several steps has a request for each.

Machines, agents, arrays and replays all run these two classes, `Phase` and `PhasedProtocol`. So one module that defines
them is a whole protocol.

A party's private input is a *row* of integers: indices into public sets, or multiples of a public grid.
`PhasedProtocol.encode` makes rows from a table as users write it, and each phase names its columns.
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
