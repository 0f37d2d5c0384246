"""Weight functions of anybody's, by the names under which they are registered.

A distribution that declares, say,

    [project.entry-points."psephos.weight_functions"]
    square = "survey.weights:square"

with a function from a worker's share of right answers to how much its votes weigh, makes `weight_function = "square"` a
word in a survey's parameters. Only the process that finds the truths looks it up: a worker is told the name alone.
"""

from collections.abc import Callable
from typing import Any, Final

from ....protocol.estimators.truth_inference import WEIGHT_FUNCTIONS as OURS
from ....protocol.phases import PhasedProtocol
from ....protocol.truth_discovery import TruthDiscovery
from ...plugins import find

WEIGHT_FUNCTIONS: Final = "psephos.weight_functions"
"""Entry points: name → a function of a share in (0, 1), which increases."""


def equip(protocol: PhasedProtocol[Any, Any]) -> None:
    """Give a survey the weight function that its parameters name.

    ConfigurationError where nothing is registered by the name, it cannot be imported, or it does not increase.
    """
    assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
    name = protocol.foreign_weight_function
    if name is not None:
        protocol.use_weight_function(find(WEIGHT_FUNCTIONS, name, Callable, field="weight_function", also=OURS))
