"""The four paradigms: whom a voter trusts, and what one of two neighboring data sets may change.

Two questions, four answers. *Central*: voters show the aggregator what their reports are made of, and it perturbs what
it releases; it is trusted, and its view has every voter's own. *Local* (the paper says distributed): voters perturb,
and nobody is trusted. *Voter level*: neighbors differ in everything that one voter says. *Record level*: in one record.

Source: Wang et al. (2019), Section 4.1.
"""

import enum

from ..privacy import TrustModel

__all__ = ["Level", "Paradigm"]


class Level(enum.Enum):
    """What one of two neighboring data sets has otherwise."""

    VOTER = "voter"
    RECORD = "record"


class Paradigm(enum.Enum):
    """One of the paper's four, by its name there."""

    VLCP = "VLCP"
    RLCP = "RLCP"
    VLDP = "VLDP"
    RLDP = "RLDP"

    @property
    def level(self) -> Level:
        """The unit of protection that ε is stated for."""
        return Level.VOTER if self.value.startswith("VL") else Level.RECORD

    @property
    def model(self) -> TrustModel:
        """Whom losses are bounded against."""
        return TrustModel.CENTRAL if self.value.endswith("CP") else TrustModel.LOCAL
