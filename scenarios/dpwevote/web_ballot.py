"""The form of a weighted vote on the page of `serve --web`."""

from typing import Any, Final

from ...protocol.dpwevote import DPWeVote
from ...protocol.dpwevote.masked import MaskedVotes
from ...protocol.errors import ConfigurationError, require
from ...protocol.masking import LEAST_FOR_CIRCLE
from ...protocol.mechanisms import FiniteChannel
from ...protocol.phases import PhasedProtocol
from ..deployment.links import BallotForm

_VARIANTS: Final = ("joint", "printed", "two_point", "signed_rr", "optimal", "central", "masked")
_LEFT_OUT: Final = ("weight_matrix", "opinion_matrix", "epsilons", "weights_within", "game")
_OPTIONS: Final = ("no", "yes")


def ballot_form_of(protocol: PhasedProtocol[Any, Any]) -> BallotForm:
    """Return the page's form: yes or no for each candidate, and the weight if it is private.

    Raises:
        ConfigurationError: the page cannot draw this kind of report.
    """
    assert isinstance(protocol, DPWeVote)  # noqa: S101  what the descriptor says
    parameters = protocol.parameters
    kind = next((name for name in _LEFT_OUT if getattr(parameters, name)), f"variant {parameters.variant!r}")
    if parameters.variant not in _VARIANTS or not kind.startswith("variant"):
        allowed = (
            f"The page does not take part in votes with {kind}. Let the parties take part by psephos join, or vote "
            f"by variant {' or '.join(map(repr, _VARIANTS))} without {', '.join(_LEFT_OUT)}."
        )
        raise ConfigurationError(field="--links", value=kind, allowed=allowed)
    sums = _sums_of(protocol)
    return BallotForm(
        ballots=[{"name": name, "options": _OPTIONS} for name in parameters.candidates],
        trust="distributed" if sums is not None else "central" if parameters.variant == "central" else "local",
        epsilon={
            "weight": parameters.loss_of_weight,
            "opinion": parameters.loss_of_opinion,
            "total": parameters.epsilon_total,
        },
        channel=_channel_of(protocol),
        masked=sums,
    )


def _sums_of(protocol: DPWeVote) -> dict[str, Any] | None:
    """Return what ballots add to masked sums; None where nothing is masked."""
    phase = protocol.masked_phase
    if not isinstance(phase, MaskedVotes):
        return None
    allowed = f"below {LEAST_FOR_CIRCLE:,} in a browser: of more parties each masks with some others alone"
    require(not phase.is_sparse, "threshold", phase.threshold, allowed)
    return {
        "phase": phase.name,
        "margins": phase.sums.margins.tolist(),
        "totals": phase.sums.totals.tolist(),
        "scale": phase.share.scale,
    }


def _channel_of(protocol: DPWeVote) -> dict[str, Any] | None:
    """Return the values and the law of joint reports of weight and opinion; None if they are reported separately."""
    parameters = protocol.parameters
    if not parameters.reports_signed_weights:
        return None
    groups = parameters.groups or [(weight,) for weight in parameters.weights]
    table = {"weight": [group[0] for group in groups for _ in _OPTIONS]}
    table |= {name: list(range(len(_OPTIONS))) * len(groups) for name in parameters.candidates}
    votes = protocol.encode(table).private[:, 0].reshape(len(groups), len(_OPTIONS)).tolist()
    mechanism = protocol.phases[0].mechanism
    masses = mechanism.masses if isinstance(mechanism, FiniteChannel) else None
    return {"votes": votes, "choices": mechanism.value_range[1] + 1, "masses": masses}
