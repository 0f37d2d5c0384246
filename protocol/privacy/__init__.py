"""Privacy accounting: what happened to a person's data (events), its loss (accountants), and all losses (ledger)."""

from .accountants import Accountant, ApproximateAccountant, ConcentratedAccountant, PureAccountant
from .composition import Total, common_relation, total_of
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
    SharedDiscreteLaplace,
)
from .ledger import (
    Budget,
    Charge,
    Ledger,
    LedgerEntry,
    PartLoss,
    PrivacyLoss,
    Reservation,
    approximate_epsilon,
    compose_parallel,
    local_loss,
)
from .relations import SEMI_HONEST, NeighboringRelation, TrustModel, is_semi_honest
from .shared_noise import shared_laplace_loss

__all__ = [
    "SEMI_HONEST",
    "Accountant",
    "ApproximateAccountant",
    "Budget",
    "Charge",
    "Composed",
    "ConcentratedAccountant",
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
    "SharedDiscreteLaplace",
    "Total",
    "TrustModel",
    "approximate_epsilon",
    "common_relation",
    "compose_parallel",
    "is_semi_honest",
    "local_loss",
    "shared_laplace_loss",
    "total_of",
]
