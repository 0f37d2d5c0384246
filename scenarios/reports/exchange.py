"""The phases of a session as a sequence of messages between its parties and its server."""

from ..presentation.numbers import some
from ..running.reader import RunLeft
from ..running.session_facts import Priced, SessionFacts
from .page import Step, Steps, epsilon_text

__all__ = ["exchange_of"]


def exchange_of(left: RunLeft, about: SessionFacts) -> Steps:
    """Return the messages of a session in their order, as parties and server send them."""
    received = {} if left.result is None else left.result.received
    num = None if left.result is None or (left.is_deployment and about.hides_participation) else left.result.num_parties
    server, party = about.server_role.replace("-", " "), about.client_role
    steps = [
        Step(way="up", title="Hello", words="who I am, and which session" if num is None else f"{num:,} on the roster"),
        Step(way="down", title="Welcome", words="the agreed parameters"),
    ]
    for phase in about.phases:
        drawn = "; ".join(_priced(loss) for loss in phase.losses)
        steps.append(Step(way="down", title=f"Request: {phase.name}"))
        number = "who reports is private" if phase.hides_participation else _counted(received.get(phase.name))
        if phase.is_central:
            steps.append(Step(way="up", title="values as they are", words=number))
            steps.append(Step(way="server", title="adds the noise", words=drawn))
        else:
            words = f"{drawn}{f'; kept in {phase.kept}' if phase.kept else ''}"
            steps.append(Step(way="parties", title="randomize, each on its own", words=words))
            steps.append(Step(way="up", title=phase.name, words=number))
        if phase.publishes:
            steps.append(Step(way="down", title="what the phase publishes", words="to all who take part"))
    steps.append(Step(way="server", title="adds up and estimates"))
    released = left.outcome is not None or (left.result is not None and left.result.outcome is not None)
    if released:
        steps.append(Step(way="down", title="Release", words="the outcome, to all who take part"))
    elif left.run is not None and left.run.failure is not None:
        steps[-1] = Step(way="server", title="ends without an outcome", words=left.run.failure.reason)
    return Steps(parties=f"{party[:1].upper()}{party[1:]}s", server=f"{server[:1].upper()}{server[1:]}", steps=steps)


def _priced(loss: Priced) -> str:
    times = f"{loss.number:,} times " if loss.number > 1 else ""
    return f"{loss.mechanism}, {times}one {loss.unit}".replace("one one", "one").replace("one all", "all") + (
        f", ε = {epsilon_text(loss.proven)} in all" if loss.number > 1 else f", ε = {epsilon_text(loss.proven)}"
    )


def _counted(number: int | None) -> str:
    return "" if number is None else some(number, "report")
