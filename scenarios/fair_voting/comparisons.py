"""The mechanisms that are compared for a fair vote, at one ε, without settings of the vote's own mechanism."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ...protocol.fair_voting import Parameters
from ...protocol.fair_voting.parameters import DEFAULT_GAMMA

# Settings that a scenario may have for one mechanism, and that another does not support.
_PLAIN: Final[Mapping[str, Any]] = {
    "calibration": "tight",
    "gamma": DEFAULT_GAMMA,
    "num_samples": None,
    "threshold": msgspec.UNSET,
    "colluders": msgspec.UNSET,
}
MECHANISMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "laplace": {"mechanism": "laplace"},
    "sampling, by label": {"mechanism": "sampling", "calibration": "tight", "num_samples": None},
    "sampling, proven": {
        "mechanism": "sampling",
        "calibration": "proven",
        "num_samples": None,
        "gamma": DEFAULT_GAMMA,
    },
    "exponential": {"mechanism": "exponential"},
    "permute_and_flip": {"mechanism": "permute_and_flip"},
    "local": {"mechanism": "local"},
}
"""The compared mechanisms by name in tables, with their changed parameters."""
_ELECT: Final = "exponential and permute_and_flip elect by"
_EVEN: Final = "by which another alternative may win even without noise"
PRICED: Final[Mapping[str, str]] = {
    "constrained": f"{_ELECT} W − λ·max(0, ΔW − t), {_EVEN}",
    "welfare_constrained": f"{_ELECT} −ΔW − λ·max(0, floor − W), {_EVEN}",
}
"""For each objective with a limit, what mechanisms elect in which the limit is a penalty."""


def with_mechanism(parameters: Parameters, name: str, *, epsilon: float) -> Parameters:
    """Return a vote's parameters under another of `MECHANISMS`, at one ε for all voters.

    Settings of its own mechanism, such as γ of Algorithm 2, stay if that mechanism is the same.

    Raises:
        ConfigurationError: the mechanism does not support this ε, or these parameters.

    Examples:
        >>> parameters = Parameters(alternatives=("a", "b"), groups=("n", "s"), group_sizes=(2, 2))
        >>> with_mechanism(parameters, "exponential", epsilon=0.5).mechanism
        'exponential'
    """
    other_parameters = MECHANISMS[name]
    kept_parameters = (
        {key: getattr(parameters, key) for key in _PLAIN}
        if parameters.mechanism == other_parameters["mechanism"]
        else {}
    )
    unset_levels = dict.fromkeys(("epsilons", "chosen_by"), msgspec.UNSET)
    return msgspec.structs.replace(
        parameters, **{**_PLAIN, **kept_parameters, **other_parameters, **unset_levels}, epsilon=epsilon
    )
