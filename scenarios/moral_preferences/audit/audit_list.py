"""The audits of moral preferences: each mechanism in each paradigm, with neighbors that are far apart.

An audit needs the pair of neighbors that is easiest to distinguish. Each entry names unit and adversary, the claimed
and the proven loss, and a pair of voters' records whose summaries have the greatest known distance in the norm of the
noise.

Source: the proofs in the documentation (moral-preferences-proofs).
"""

import dataclasses
import math

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.mechanisms import SphericalLaplace
from ....protocol.moral_preferences import Level, MoralPreferences, Paradigm, Parameters, Records
from ....protocol.moral_preferences.functional import NoisyObjective
from ....protocol.moral_preferences.parameters import PAPERS, MechanismName
from ....protocol.moral_preferences.summaries import AdditiveNoise
from ....protocol.privacy import PartLoss
from .witnesses import search_sensitivity, sensitivity_witness

_SEED = 5


@dataclasses.dataclass(frozen=True, eq=False)
class AuditEntry:
    """One loss to audit: a protocol, a voter's records, and those of its neighbor."""

    protocol: MoralPreferences
    before: Records
    after: Records

    @property
    def name(self) -> str:
        """The name of paradigm and mechanism."""
        parameters = self.protocol.parameters
        printed = " as printed" if parameters.sensitivity == "printed" else ""
        return f"{parameters.paradigm.value} {parameters.mechanism}{printed}"

    @property
    def loss(self) -> PartLoss:
        """The claimed and the proven loss of the unit in which the neighbors differ."""
        (loss,) = self.protocol.losses
        return loss.finest_loss

    @property
    def mechanism(self) -> AdditiveNoise | NoisyObjective:
        """The audited mechanism: the voter's randomizer, or the server's for the sum."""
        summary, parameters = self.protocol.summary, self.protocol.parameters
        make = summary.local_mechanism if parameters.is_local else summary.central_mechanism
        return make(parameters.levels[0])

    @property
    def reach(self) -> float:
        """The neighbors' distance divided by the proven sensitivity; 1 if the proof is tight."""
        first, second = (self.protocol.summary.rows_of(records)[0] for records in (self.before, self.after))
        change: list[int] = (first - second).tolist()
        mechanism = self.mechanism
        if isinstance(mechanism, NoisyObjective):
            mechanism = mechanism.noise
        if isinstance(mechanism, SphericalLaplace):
            return math.sqrt(sum(entry * entry for entry in change)) / mechanism.sensitivity
        return sum(map(abs, change)) / mechanism.sensitivity


def mechanisms_of(paradigm: Paradigm) -> list[MechanismName]:
    """Return the mechanisms that a paradigm has.

    Examples:
        >>> mechanisms_of(Paradigm.VLDP)
        ['laplace', 'direction']
    """
    if paradigm.level is not Level.RECORD:
        return ["laplace", "direction"]
    return ["laplace", "direction", *(() if paradigm.model.trusts_server else ("functional",)), "pooled"]


def audit_list(*, num_features: int = 3) -> list[AuditEntry]:
    """Return every mechanism in every paradigm that has it, for a number of features.

    Examples:
        >>> entries = audit_list(num_features=2)
        >>> sorted({entry.protocol.parameters.mechanism for entry in entries})
        ['direction', 'functional', 'laplace', 'pooled']
    """
    return [
        _entry(paradigm, name, num_features=num_features, is_printed=is_printed)
        for paradigm in PAPERS
        for name in mechanisms_of(paradigm)
        for is_printed in ((False, True) if name == "functional" else (False,))
    ]


def _entry(paradigm: Paradigm, mechanism: MechanismName, *, num_features: int, is_printed: bool) -> AuditEntry:
    parameters = Parameters(
        features=tuple(f"x{place}" for place in range(1, num_features + 1)),
        paradigm=paradigm,
        mechanism=mechanism,
        epsilon=1.0,
        max_records=1,
        sensitivity="printed" if is_printed else "tight",
    )
    if mechanism == "laplace":
        records_before, records_after = sensitivity_witness(1, num_features=num_features, radius=parameters.bound)
    elif mechanism == "direction":
        records_before = np.eye(num_features)[:1]
        records_after = -records_before
    else:
        _, (first, second) = search_sensitivity(num_features, seed=_SEED)
        records_before, records_after = first[None, :], second[None, :]
    return AuditEntry(MoralPreferences(parameters), _records(records_before), _records(records_after))


def _records(differences: FloatArray) -> Records:
    """Return one voter's records, each with this difference between its alternatives."""
    offsets = np.array([0, len(differences)], dtype=np.int64)
    return Records(offsets, differences / 2, -differences / 2)
