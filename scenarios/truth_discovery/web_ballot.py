"""The tasks of a crowd, as the page of `serve --web` asks them."""

from typing import Any

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ...protocol.truth_discovery import TruthDiscovery
from ..deployment.links import BallotForm


def ballot_form_of(protocol: PhasedProtocol[Any, Any]) -> BallotForm:
    """Return what the page asks: a label for each task, of which a worker is asked those of its public row.

    Raises:
        ConfigurationError: the page draws no reports of this kind.
    """
    assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
    parameters, noise = protocol.parameters, protocol.noise
    kind = "epsilons" if parameters.epsilons else f"mechanism {noise.name!r}"
    if parameters.epsilons or noise.name not in {"one_layer", "central"}:
        allowed = (
            f"The page does not take part in surveys with {kind}. Let the parties take part by psephos join, or ask by "
            "mechanism 'one_layer' or 'central' without epsilons."
        )
        raise ConfigurationError(field="--links", value=kind, allowed=allowed)
    (loss,) = protocol.losses
    assert loss.part is not None  # noqa: S101  an answer
    is_central = noise.name == "central"
    names = zip(parameters.tasks, parameters.set_of_task, strict=True)
    return BallotForm(
        ballots=[{"name": name, "options": parameters.answer_sets[number]} for name, number in names],
        trust="central" if is_central else "local",
        epsilon={"answer": loss.part.proven, "total": loss.proven},
        channel=None if is_central else {"flips": noise.flip_probabilities, "losses": noise.epsilons},
    )
