"""The tampering server: it announces a larger ε, or other parameters, than its clients agreed to."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from ...agents.adversaries import SERVER, Deviation, Liar
from ...protocol.errors import list_choices, refuse, require
from ...protocol.messages import Abort
from ...protocol.views import Happening, View
from .role import AttackContext, AttackReport, Role, Row, SessionTrace


class TamperingServerRole(Role, frozen=True, kw_only=True):
    """A server that names false parameters.

    Examples:
        >>> TamperingServerRole(parameters={"epsilon": 9.0}).name
        'tampering-server'
    """

    parameters: dict[str, Any]  # the false values that it announces, by parameter name

    name: ClassVar[str] = "tampering-server"

    def check(self, context: AttackContext) -> None:
        self.check_server_alone()
        agreed_parameters = msgspec.msgpack.decode(context.protocol.encoded_parameters, type=dict[str, Any])
        require(self.parameters, "parameters", "nothing", "at least one that is false")
        for name, value in self.parameters.items():
            refuse(name not in agreed_parameters, "parameters", name, list_choices(agreed_parameters, name))
            refuse(agreed_parameters[name] == value, f"parameters.{name}", value, "another value than agreed")

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        del context
        return {SERVER: Liar(self._named)}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        number = len(context.names)
        reports = sum(
            observation.happening is Happening.SENT and type(observation.message).__name__ == "Report"
            for view in trace.views
            for observation in view.observations
        )
        reason_of_party = {view.party: reason_of_abort(view) for view in trace.views}
        reasons = [reason for reason in reason_of_party.values() if reason]
        rows: list[Row] = [
            {"what happened": "welcomed with false parameters", "parties": number},
            {"what happened": "refused, and said where they differ", "parties": len(reasons)},
            {"what happened": "reported all the same", "parties": reports},
            {"what happened": "charged", "parties": len({entry.person for entry in trace.entries})},
        ]
        changes = ", ".join(f"{name} = {value!r}" for name, value in self.parameters.items())
        return self.attack_report(
            who=f"a server that names {changes}",
            trust="The server deviates in the parameters that it names; its clients hold those that they agreed to.",
            sentences=(
                (
                    f"{len(reasons)} of {number} parties refused before anything was drawn or charged: "
                    f"{len(trace.entries)} losses are in the ledgers, and {reports} reports left."
                ),
                *(reasons[:1] and (f"The first said: {reasons[0]}.",)),
                "A client that takes the server's terms as they come has only its budget, and its own eyes.",
            ),
            rows=tuple(rows),
        )

    def _named(self, true: dict[str, Any]) -> Mapping[str, Any]:
        return {**true, **self.parameters}


def reason_of_abort(view: View, happening: Happening = Happening.SENT) -> str:
    """Return the reason of the Abort that a party sent or received; empty if there was none."""
    for observation in view.observations:
        message = observation.message
        if observation.happening is happening and isinstance(message, Abort):
            return message.reason
    return ""
