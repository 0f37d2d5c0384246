"""The tasks of a crowd, as the page of `serve --web` asks them."""

from typing import Any

from ...protocol.errors import refuse
from ...protocol.phases import PhasedProtocol
from ...protocol.truth_discovery import TruthDiscovery
from ..deployment.links import BallotForm


def ballot_form_of(protocol: PhasedProtocol[Any, Any]) -> BallotForm:
    """Return what the page asks: a label for each task, of which a worker is asked those of its public row.

    Raises:
        ConfigurationError: the page draws no reports of this kind.

    Examples:
        >>> from psephos.protocol.truth_discovery import Parameters
        >>> parameters = Parameters(tasks=("bridge",), answer_sets=(("no", "yes"),), max_answers=1, epsilon=2.0)
        >>> form = ballot_form_of(TruthDiscovery(parameters))
        >>> (form.trust, form.epsilon["total"], form.ballots[0]["options"])
        ('local', 2.0, ('no', 'yes'))
    """
    assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
    parameters, noise = protocol.parameters, protocol.noise
    wrong = {
        "epsilons": bool(parameters.epsilons),
        f"mechanism {noise.name!r}": noise.name not in {"one_layer", "central"},
        "an ε of 0, whose reports say nothing": 0.0 in noise.epsilons,
    }
    for kind, is_wrong in wrong.items():
        allowed = (
            f"The page does not take part in surveys with {kind}. Let the parties take part by psephos join, or ask by "
            "mechanism 'one_layer' or 'central' at one ε above 0."
        )
        refuse(is_wrong, "--links", kind, allowed)
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
