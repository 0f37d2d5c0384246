"""Weighted votes: made up, published weights with made-up opinions, and roll calls."""

from collections.abc import Mapping
from typing import Final

from ...datasets import DataSet
from .roll_calls import UN_GENERAL_ASSEMBLY
from .weighted_votes import EU_COUNCIL_WEIGHTS, IMF_VOTES

__all__ = ["DATA_SETS"]

DATA_SETS: Final[Mapping[str, DataSet]] = {
    "eu_council_weights": EU_COUNCIL_WEIGHTS,
    "imf_votes": IMF_VOTES,
    "un_general_assembly": UN_GENERAL_ASSEMBLY,
}
"""By the name of the folder that holds it."""
