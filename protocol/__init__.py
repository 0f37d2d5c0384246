"""What a protocol is: messages, phases, machines, mechanisms, estimators, privacy accounting.

This package is pure: it uses no trio, sockets, files or clock, and all randomness comes in as an argument.
"""

from . import on_arrays  # noqa: F401  # pyright: ignore[reportUnusedImport]  it registers itself with mechanisms
from .client_machine import ClientMachine
from .errors import (
    BudgetExceededError,
    ConfigurationError,
    ConflictingReportError,
    LocalProtocolError,
    MalformedMessageError,
    PluginError,
    PrivacyError,
    ProtocolError,
    PsephosError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    StrangerError,
    UnexpectedMessageError,
    UnheardError,
    UnsupportedEventError,
    UnusablePluginError,
)
from .memoized_reports import KeptReport, KeptReports, MemoizedReports, Scope
from .messages import SessionDescriptor
from .phases import CentralPhase, Column, Inputs, OnePhaseProtocol, Phase, PhasedProtocol
from .population import PopulationResult, release_tallies, run_batches, run_population, tally_places
from .randomness import NoiseSource, SimulatedNoise
from .roles import SessionKind, Side
from .roster import Roster
from .rules import JOIN, PhaseRules, SessionRules
from .server_machine import ServerMachine
from .session_flow import SessionResult
from .shown import Shown
from .sides import Party, SessionMode
from .tally import Tally
from .views import View

__all__ = [
    "JOIN",
    "BudgetExceededError",
    "CentralPhase",
    "ClientMachine",
    "Column",
    "ConfigurationError",
    "ConflictingReportError",
    "Inputs",
    "KeptReport",
    "KeptReports",
    "LocalProtocolError",
    "MalformedMessageError",
    "MemoizedReports",
    "NoiseSource",
    "OnePhaseProtocol",
    "Party",
    "Phase",
    "PhaseRules",
    "PhasedProtocol",
    "PluginError",
    "PopulationResult",
    "PrivacyError",
    "ProtocolError",
    "PsephosError",
    "QuorumError",
    "RemoteProtocolError",
    "Roster",
    "Scope",
    "ServerMachine",
    "SessionAborted",
    "SessionDescriptor",
    "SessionKind",
    "SessionMode",
    "SessionResult",
    "SessionRules",
    "Shown",
    "Side",
    "SimulatedNoise",
    "StrangerError",
    "Tally",
    "UnexpectedMessageError",
    "UnheardError",
    "UnsupportedEventError",
    "UnusablePluginError",
    "View",
    "release_tallies",
    "run_batches",
    "run_population",
    "tally_places",
]
