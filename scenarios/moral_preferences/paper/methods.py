"""The methods that are compared: the paper's three algorithms as printed, and what we offer beside them.

A method is a mechanism in a paradigm with its settings; what a unit is, and whom voters trust, follows from the
paradigm, so that only methods of one paradigm are compared at one ε.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from ....protocol.arrays import FloatArray
from ....protocol.moral_preferences import Paradigm, Parameters
from ....protocol.moral_preferences.parameters import MechanismName, Remedy
from .published import BOUND

__all__ = ["ALGORITHMS", "METHODS", "Method", "parameters_of"]

_WIDE: Final = 6.0
"""A bound for coefficients of clipped records, whose best preferences are long (see `Parameters`)."""


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A way to a society's preferences.

    Args:
        title: for people.
        paradigm: whom voters trust, and the unit of ε.
        mechanism: what is perturbed.
        bound: B, unless a cell says otherwise.
        sensitivity: of coefficients.
        clipping: of their records.
        remedy: for their objective.
        mean: over voters of different ε.
        project: the released mean to the ball.
        is_whitened: by the covariance of dilemmas in general, which is public.
    """

    title: str
    paradigm: Paradigm
    mechanism: MechanismName
    bound: float = BOUND
    sensitivity: str = "tight"
    clipping: str = "difference"
    remedy: Remedy = "project"
    mean: str = "plain"
    project: bool = False
    is_whitened: bool = False

    @property
    def is_of_voters(self) -> bool:
        """Whether ε is a voter's."""
        return self.paradigm.value.startswith("VL")


METHODS: Final[Mapping[str, Method]] = {
    "algorithm-1": Method(title="Algorithm 1", paradigm=Paradigm.VLCP, mechanism="laplace"),
    "algorithm-2": Method(title="Algorithm 2", paradigm=Paradigm.VLDP, mechanism="laplace"),
    "algorithm-3": Method(
        title="Algorithm 3",
        paradigm=Paradigm.RLDP,
        mechanism="functional",
        sensitivity="printed",
        clipping="items",
    ),
    "tight": Method(title="Algorithm 3, tight Δ", paradigm=Paradigm.RLDP, mechanism="functional", clipping="items"),
    "clipped": Method(
        title="Algorithm 3, tight Δ, differences clipped", paradigm=Paradigm.RLDP, mechanism="functional"
    ),
    "trimmed": Method(
        title="Algorithm 3, regularize and trim",
        paradigm=Paradigm.RLDP,
        mechanism="functional",
        sensitivity="printed",
        clipping="items",
        remedy="trim",
    ),
    "nonconvex": Method(
        title="Algorithm 3, nonconvex maximum",
        paradigm=Paradigm.RLDP,
        mechanism="functional",
        sensitivity="printed",
        clipping="items",
        remedy="nonconvex",
    ),
    "pooled": Method(title="pooled coefficients", paradigm=Paradigm.RLDP, mechanism="pooled", bound=_WIDE),
    "direction": Method(title="direction", paradigm=Paradigm.RLDP, mechanism="direction"),
    "whitened": Method(title="direction, whitened", paradigm=Paradigm.RLDP, mechanism="direction", is_whitened=True),
    "record-laplace": Method(title="Algorithm 2", paradigm=Paradigm.RLDP, mechanism="laplace"),
    "central-laplace": Method(title="Algorithm 1", paradigm=Paradigm.RLCP, mechanism="laplace"),
    "central-pooled": Method(title="pooled coefficients", paradigm=Paradigm.RLCP, mechanism="pooled", bound=_WIDE),
    "central-direction": Method(title="direction", paradigm=Paradigm.RLCP, mechanism="direction"),
    "central-whitened": Method(
        title="direction, whitened", paradigm=Paradigm.RLCP, mechanism="direction", is_whitened=True
    ),
    "voter-direction": Method(title="direction", paradigm=Paradigm.VLDP, mechanism="direction"),
    "voter-whitened": Method(
        title="direction, whitened", paradigm=Paradigm.VLDP, mechanism="direction", is_whitened=True
    ),
    "central-voter-direction": Method(title="direction", paradigm=Paradigm.VLCP, mechanism="direction"),
    "central-voter-whitened": Method(
        title="direction, whitened", paradigm=Paradigm.VLCP, mechanism="direction", is_whitened=True
    ),
    "algorithm-1-projected": Method(
        title="Algorithm 1, projected", paradigm=Paradigm.VLCP, mechanism="laplace", project=True
    ),
    "algorithm-2-projected": Method(
        title="Algorithm 2, projected", paradigm=Paradigm.VLDP, mechanism="laplace", project=True
    ),
    "algorithm-2-weighted": Method(
        title="Algorithm 2, weighted", paradigm=Paradigm.VLDP, mechanism="laplace", mean="weighted"
    ),
    "algorithm-3-weighted": Method(
        title="Algorithm 3, weighted",
        paradigm=Paradigm.RLDP,
        mechanism="functional",
        sensitivity="printed",
        clipping="items",
        mean="weighted",
    ),
    "direction-weighted": Method(
        title="direction, weighted", paradigm=Paradigm.RLDP, mechanism="direction", mean="weighted"
    ),
}
"""By name."""
ALGORITHMS: Final = ("algorithm-1", "algorithm-2", "algorithm-3")
"""The paper's."""


def parameters_of(
    method: Method,
    *,
    num_features: int,
    max_records: int,
    bound: float | None = None,
    epsilon: float | None = None,
    epsilons: tuple[float, ...] = (),
    covariance: FloatArray | None = None,
) -> Parameters:
    """Return a session's parameters.

    Args:
        method: how.
        num_features: d.
        max_records: n.
        bound: B; by default the method's.
        epsilon: everybody's.
        epsilons: instead, the levels.
        covariance: of differences, shape (d, d); needed where the method whitens.
    """
    given = {name: getattr(method, name) for name in ("paradigm", "mechanism", "remedy", "mean", "project")}
    if method.mechanism in {"functional", "pooled"}:
        given |= {"sensitivity": method.sensitivity, "clipping": method.clipping}
    if method.is_whitened and covariance is not None:
        rows: list[list[float]] = covariance.tolist()
        given["covariance"] = tuple(tuple(row) for row in rows)
    return Parameters(
        features=tuple(f"x{place}" for place in range(1, num_features + 1)),
        epsilon=epsilon,
        epsilons=epsilons,
        bound=method.bound if bound is None else bound,
        max_records=max_records,
        **given,
    )
