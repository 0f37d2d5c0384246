"""Errors of both sides about a peer's faults: an unexpected message, or a conflicting report.

They name the peer, and the state of this side's conversation. None shows the content of a report.
"""

from typing import Final

from .errors import ConflictingReportError, UnexpectedMessageError
from .memoized_reports import Scope
from .messages import Acknowledgement, Message, Report, Request
from .roles import Side
from .states import State

# The messages whose step an error names. For a server this excludes acknowledgements, since clients acknowledge no
# steps.
_OF_A_STEP: Final = {Side.CLIENT: (Request, Report, Acknowledgement), Side.SERVER: (Request, Report)}


def unexpected_message(
    message: Message, *, sender: str, side: Side, state: State, phase: str = "", article: str = "a "
) -> UnexpectedMessageError:
    """Return the error for a message that the receiving side's state does not allow.

    Args:
        phase: the name of the open step; empty if the side does not know it.
        article: the words in front of the message's name.

    Examples:
        >>> from psephos.protocol.messages import Abort
        >>> str(unexpected_message(Abort("no"), sender="ann", side=Side.SERVER, state=State.NEW))
        "ann sent an Abort in state 'new'"
    """
    name = type(message).__name__
    article = article.removesuffix("a ") + "an " if article.endswith("a ") and name[0] in "AI" else article
    of_step = f" of phase {message.step}" if isinstance(message, _OF_A_STEP[side]) else ""
    phase_text = f" of phase {phase!r}" if phase else ""
    return UnexpectedMessageError(
        f"{sender} sent {article}{name}{of_step} in state {state.value!r}{phase_text}",
        sender=sender,
        role=side.value,
        state=state.value,
        message_type=name,
    )


def conflicting_report(*, sender: str, phase: str, state: State, scope: Scope | None = None) -> ConflictingReportError:
    """Return the error for a report that differs from an earlier one of the same step.

    The earlier report is memoized in `scope`; without a scope it is of this session.

    Examples:
        >>> error = conflicting_report(sender="ann", phase="opinions", state=State.REPORTED)
        >>> str(error)
        "ann reported a second time in phase 'opinions', and differently; the first stands"
    """
    reason = f"{sender} reported a second time in phase {phase!r}, and differently; the first stands"
    if scope is not None:
        reason = f"{sender} reports in phase {phase!r} otherwise than in an earlier session of {scope}"
        reason = f"{reason}, whose first report stands"
    return ConflictingReportError(reason, sender=sender, role="server", state=state.value, message_type="Report")
