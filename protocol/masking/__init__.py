"""Masked sums: parties add up their rows before a server that learns the sum alone, whoever leaves in between."""

from .graph import LEAST_FOR_CIRCLE, Circle, Complete, circle_for
from .party import MaskingParty
from .primitives import KEY_BYTES, SIGNATURE_BYTES, Primitives, check_signature_key
from .server import MaskingServer, Said, Told
from .shamir import combine, split
from .steps import (
    BOX_BYTES,
    MASKING,
    Boxes,
    Confirmation,
    Confirmations,
    Keys,
    Masked,
    MaskingMove,
    MaskingRules,
    MaskingState,
    NeighborKeys,
    Shares,
    Survivors,
)

__all__ = [
    "BOX_BYTES",
    "KEY_BYTES",
    "LEAST_FOR_CIRCLE",
    "MASKING",
    "SIGNATURE_BYTES",
    "Boxes",
    "Circle",
    "Complete",
    "Confirmation",
    "Confirmations",
    "Keys",
    "Masked",
    "MaskingMove",
    "MaskingParty",
    "MaskingRules",
    "MaskingServer",
    "MaskingState",
    "NeighborKeys",
    "Primitives",
    "Said",
    "Shares",
    "Survivors",
    "Told",
    "check_signature_key",
    "circle_for",
    "combine",
    "split",
]
