"""The methods that are compared: the paper's three algorithms as printed, and what we offer beside them.

A method is a mechanism in a paradigm with its settings; what a unit is, and whom voters trust, follows from the
paradigm, so that only methods of one paradigm are compared at one ε.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from ....protocol.arrays import FloatArray
from ....protocol.moral_preferences import Paradigm, Parameters
from ....protocol.moral_preferences.parameters import MechanismName, Remedy
from .published import BOUND

_WIDE: Final = 6.0  # a bound for coefficients of clipped records, whose best preferences are long (see `Parameters`)


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A way to a society's preferences."""

    title: str  # for people
    paradigm: Paradigm  # whom voters trust, and the unit of ε
    mechanism: MechanismName  # what is perturbed
    bound: float = BOUND  # B, unless a cell says otherwise
    sensitivity: str = "tight"  # of coefficients
    clipping: str = "difference"  # of their records
    remedy: Remedy = "project"  # for their objective
    mean: str = "plain"  # over voters of different ε
    project: bool = False  # the released mean to the ball
    is_whitened: bool = False  # by the covariance of dilemmas in general, which is public


_ALGORITHM_1: Final = Method(title="Algorithm 1", paradigm=Paradigm.VLCP, mechanism="laplace")
_ALGORITHM_2: Final = Method(title="Algorithm 2", paradigm=Paradigm.VLDP, mechanism="laplace")
_ALGORITHM_3: Final = Method(
    title="Algorithm 3", paradigm=Paradigm.RLDP, mechanism="functional", sensitivity="printed", clipping="items"
)
_POOLED: Final = Method(title="pooled coefficients", paradigm=Paradigm.RLDP, mechanism="pooled", bound=_WIDE)
_DIRECTION: Final = Method(title="direction", paradigm=Paradigm.RLDP, mechanism="direction")
_WHITENED: Final = replace(_DIRECTION, title="direction, whitened", is_whitened=True)
METHODS: Final[Mapping[str, Method]] = {
    "algorithm-1": _ALGORITHM_1,
    "algorithm-2": _ALGORITHM_2,
    "algorithm-3": _ALGORITHM_3,
    "tight": replace(_ALGORITHM_3, title="Algorithm 3, tight Δ", sensitivity="tight"),
    "clipped": Method(
        title="Algorithm 3, tight Δ, differences clipped", paradigm=Paradigm.RLDP, mechanism="functional"
    ),
    "trimmed": replace(_ALGORITHM_3, title="Algorithm 3, regularize and trim", remedy="trim"),
    "nonconvex": replace(_ALGORITHM_3, title="Algorithm 3, nonconvex maximum", remedy="nonconvex"),
    "pooled": _POOLED,
    "direction": _DIRECTION,
    "whitened": _WHITENED,
    "record-laplace": replace(_ALGORITHM_2, paradigm=Paradigm.RLDP),
    "central-laplace": replace(_ALGORITHM_1, paradigm=Paradigm.RLCP),
    "central-pooled": replace(_POOLED, paradigm=Paradigm.RLCP),
    "central-direction": replace(_DIRECTION, paradigm=Paradigm.RLCP),
    "central-whitened": replace(_WHITENED, paradigm=Paradigm.RLCP),
    "voter-direction": replace(_DIRECTION, paradigm=Paradigm.VLDP),
    "voter-whitened": replace(_WHITENED, paradigm=Paradigm.VLDP),
    "central-voter-direction": replace(_DIRECTION, paradigm=Paradigm.VLCP),
    "central-voter-whitened": replace(_WHITENED, paradigm=Paradigm.VLCP),
    "algorithm-1-projected": replace(_ALGORITHM_1, title="Algorithm 1, projected", project=True),
    "algorithm-2-projected": replace(_ALGORITHM_2, title="Algorithm 2, projected", project=True),
    "algorithm-2-weighted": replace(_ALGORITHM_2, title="Algorithm 2, weighted", mean="weighted"),
    "algorithm-3-weighted": replace(_ALGORITHM_3, title="Algorithm 3, weighted", mean="weighted"),
    "direction-weighted": replace(_DIRECTION, title="direction, weighted", mean="weighted"),
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
    """Return a session's parameters, with one ε or levels of it; a method that whitens needs the covariance."""
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
