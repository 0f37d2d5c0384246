"""The mechanisms to compare for a fair vote, each at one ε, without the settings of the vote's own mechanism."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ...protocol.fair_voting import Parameters
from ...protocol.fair_voting.parameters import DEFAULT_GAMMA

# What a scenario may have set for one mechanism, and what is wrong for another.
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
"""What is compared, by the names that tables have: what of the parameters differs."""
_ELECT: Final = "exponential and permute_and_flip elect by"
_EVEN: Final = "by which another alternative may win even without noise"
PRICED: Final[Mapping[str, str]] = {
    "constrained": f"{_ELECT} W − λ·max(0, ΔW − t), {_EVEN}",
    "welfare_constrained": f"{_ELECT} −ΔW − λ·max(0, floor − W), {_EVEN}",
}
"""By objective, what the mechanisms elect in which its limit has a price."""


def with_mechanism(parameters: Parameters, name: str, *, epsilon: float) -> Parameters:
    """Return a vote under another of `MECHANISMS` at one ε of all voters.

    What was set for its own mechanism, as γ of Algorithm 2, is kept for that.

    Raises:
        ConfigurationError: the mechanism cannot be had at this ε, or with these parameters.

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
