"""What happened to a person's data (events), what it costs (accountants), and who paid (ledger)."""

from .accountants import Accountant, ApproximateAccountant, PureAccountant
from .events import (
    Composed,
    DiscreteLaplaceNoise,
    LocalRandomizer,
    NonPrivate,
    NoRelease,
    PrivacyEvent,
    PureMechanism,
    RandomizedResponse,
    SelfComposed,
)
from .ledger import Budget, Charge, Ledger, LedgerEntry, PartLoss, PrivacyLoss, Reservation, compose_parallel
from .relations import NeighboringRelation, TrustModel

__all__ = [
    "Accountant",
    "ApproximateAccountant",
    "Budget",
    "Charge",
    "Composed",
    "DiscreteLaplaceNoise",
    "Ledger",
    "LedgerEntry",
    "LocalRandomizer",
    "NeighboringRelation",
    "NoRelease",
    "NonPrivate",
    "PartLoss",
    "PrivacyEvent",
    "PrivacyLoss",
    "PureAccountant",
    "PureMechanism",
    "RandomizedResponse",
    "Reservation",
    "SelfComposed",
    "TrustModel",
    "compose_parallel",
]
