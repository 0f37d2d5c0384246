"""Partners, voters and workers: one party that holds private values and takes part in a session."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
import trio

from ..protocol.client_machine import ClientMachine
from ..protocol.errors import RemoteProtocolError, SessionAborted
from ..protocol.messages import PROTOCOL_VERSION, Abort, Inquiry, Terms, decode, encode
from ..protocol.phases import PhasedProtocol
from ..protocol.privacy import PrivacyLoss
from ..protocol.roles import SERVER, Side
from ..protocol.sides import Party
from ..protocol.states import State
from ..protocol.views import View
from ..transports.abc import Channel
from .driver import LINGER_SECONDS, Driver, Observers
from .events import Log
from .journals import JournalSession
from .modes import Mode
from .outbox import Outbox

PATIENCE_SECONDS: Final = 3600.0
"""The default patience of a client. A phase waits for five minutes by default, and a client does not know for how
long."""

_ANSWER_SECONDS: Final = 30.0
"""The default time for the server's first answer, which it sends at once; later ones may take as long as phases
last."""


def answer_seconds(patience_seconds: float) -> float:
    """Return the time limit for the server's first message, in seconds; infinite if the patience is infinite.

    Examples:
        >>> answer_seconds(3600.0), answer_seconds(5.0)
        (30.0, 5.0)
    """
    return patience_seconds if patience_seconds == math.inf else min(patience_seconds, _ANSWER_SECONDS)


class Client:
    """A party that answers every phase with one randomized report.

    Args:
        protocol: the protocol with the parameters that the party agreed to.
        patience_seconds: the longest silence of the server between two messages, and before its first one for
            `answer_seconds` of this; infinite for a runner of all parties.
        sitting: the party's journal of this session. With it the party may take part again after a restart or a lost
            connection, and repeats its messages. Its ledger must contain the losses in the journal.

    Raises:
        ConfigurationError, JournalError, ValueError: as `ClientMachine`.

    Privacy:
        The party sends only reports, each drawn once. See `ClientMachine`.

    Examples:
        >>> from psephos.agents import Partner, Simulation
        >>> from psephos.protocol import Party, SimulatedNoise
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("bridge",), epsilon=5.0))
        >>> inputs = vote.encode({"weight": [1.0, 2.0], "bridge": [1, 0]})
        >>> mode = Simulation("council", SimulatedNoise(1, session="council"))
        >>> partner = Partner(vote, Party("ann", 0, inputs.private[0].tolist()), mode)
        >>> partner.ledger.spent  # it takes part by `await partner.take_part(channel)`: see `Server`
        0.0
    """

    role: ClassVar[str] = "client"

    __slots__ = (
        "_log",
        "_machine",
        "_patience_seconds",
        "_protocol",
        "_session",
        "_sitting",
        "ledger",
        "own_outcome",
        "view",
    )

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        party: Party,
        mode: Mode,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        sitting: JournalSession | None = None,
        log: Log | None = None,
    ) -> None:
        self._protocol = protocol
        self._sitting = sitting
        self._patience_seconds = patience_seconds
        self.ledger = party.ledger
        self.own_outcome: msgspec.Struct | None = None
        """The part of the release for this party alone."""
        self.view: View | None = None
        if mode.record_views:
            self.view = View(party.name, Side.CLIENT, mode.session, mode.kind, party.row)
        self._session = mode.session
        self._log = log
        self._machine = ClientMachine(
            protocol, party, mode, view=self.view, records=None if sitting is None else sitting.records
        )

    @property
    def has_joined(self) -> bool:
        """Whether the server has welcomed it, or never will."""
        return self._machine.state not in {State.NEW, State.GREETED}

    @property
    def was_welcomed(self) -> bool:
        """Whether the server has welcomed it, on terms that it takes part on."""
        return self._machine.has_agreed

    def losses_to_come(self, public: Sequence[int]) -> list[PrivacyLoss]:
        """Return the losses of the phases for which the party has not drawn a report yet."""
        return [loss for _, loss in self._machine.losses_to_come(public)]

    @property
    def memoized_reports(self) -> Mapping[str, tuple[int, ...]]:
        """The reports that later sessions repeat. See `ClientMachine.memoized_reports`."""
        return self._machine.memoized_reports

    @property
    def recorded_outcome(self) -> msgspec.Struct | None:
        """The outcome in its journal, which also sets `own_outcome`; None if there is none yet.

        Raises:
            JournalError: the record of the release cannot be decoded.
        """
        ending = self._machine.recorded_finish
        if ending is None:
            return None
        self.own_outcome = ending.own_outcome
        return ending.result

    @property
    def transcript(self) -> str | None:
        """The digest of what everybody was told, once released; for people to compare (`protocol.transcript`)."""
        return self._machine.transcript

    @property
    def late_phase(self) -> str | None:
        """The phase for which its report came too late, as the release said; None where all of them counted."""
        return self._machine.late_phase

    async def take_part(self, channel: Channel) -> msgspec.Struct:
        """Take part in one session over `channel`, and close it.

        If it is cancelled, it closes the channel at once. Charged losses stay charged, and the rest of the reserved
        budget is released.

        Returns:
            The released outcome.

        Raises:
            QuorumError: a phase closed without its quorum.
            ConnectionLostError: the connection was lost.
            SessionAborted: the server ended the session.
            JournalError: a record cannot be written; nothing was sent that depends on it.
            RemoteProtocolError: the server broke the protocol, or was silent for too long.
            BudgetExceededError: the session would cost more than the remaining budget; nothing was drawn.
        """
        machine = self._machine
        try:
            hello = machine.start()
            driver = Driver(
                machine,
                None,
                party=machine.party,
                session=self._session,
                journal=self._sitting,
                observers=Observers(log=self._log),
            )
            outbox = driver.open_outbox(SERVER, channel)
            patience, seconds = self._patience_seconds, answer_seconds(self._patience_seconds)
            try:
                driver.act(hello)
                del hello  # frees memory, since one process may run many parties
                # Some transports must receive from the server before they can send.
                if outbox.waiting and not await _flush(outbox, seconds):
                    channel.close()
                    driver.give_up(SERVER, seconds=seconds)
                await driver.read(SERVER, channel, patience_seconds=patience, answer_seconds=seconds)
                if outbox.waiting:
                    await _flush(outbox, LINGER_SECONDS)  # do not wait longer for a server that does not read
                ending = driver.ending()
                self.own_outcome = ending.own_outcome
                return ending.result
            finally:
                machine.receive_loss(SERVER)  # ends the machine, unless it has ended
        finally:
            channel.close()


async def _flush(outbox: Outbox, seconds: float) -> bool:
    """Send what waits, in so much time; return whether that was enough."""
    with trio.move_on_after(seconds) as scope:
        await outbox.flush()
    return not scope.cancelled_caught


async def inquire(channel: Channel, *, party: str, patience_seconds: float = PATIENCE_SECONDS) -> Terms:
    """Ask a server for the terms of the session for `party`; the channel can then be used to take part.

    If it is cancelled, it leaves the channel open.

    Args:
        channel: a new channel.
        party: the name of the party.
        patience_seconds: the server must answer within `answer_seconds` of this.

    Raises:
        SessionAborted: the server refuses the party, or the connection was lost.
        RemoteProtocolError: the server sent another message, or nothing in time, or has another version.
    """
    try:
        with trio.fail_after(answer_seconds(patience_seconds)):
            await channel.send([encode(Inquiry(PROTOCOL_VERSION, party))])
            payloads = await channel.receive()
    except trio.TooSlowError:
        reason = f"{SERVER} has said nothing for {answer_seconds(patience_seconds):g} seconds"
        raise RemoteProtocolError(reason, sender=SERVER, role="client") from None
    except (trio.EndOfChannel, trio.BrokenResourceError, trio.ClosedResourceError):
        raise SessionAborted(reason="the connection was lost before it named its terms", by=SERVER) from None
    match decode(payloads[0], sender=SERVER):
        case Terms(version=version) as terms if version == PROTOCOL_VERSION:
            return terms
        case Terms(version=version):
            reason = f"{SERVER} speaks version {version}, this side {PROTOCOL_VERSION}"
            raise RemoteProtocolError(reason, sender=SERVER, role="client", message_type="Terms")
        case Abort(reason=reason):
            raise SessionAborted(reason=reason, by=SERVER)
        case other:
            name = type(other).__name__
            reason = f"{SERVER} answered an inquiry with {name}"
            raise RemoteProtocolError(reason, sender=SERVER, role="client", message_type=name)


class Partner(Client):
    """A partner in a joint decision."""

    role: ClassVar[str] = "partner"
    __slots__ = ()


class Voter(Client):
    """A voter in an election or a survey."""

    role: ClassVar[str] = "voter"
    __slots__ = ()


class Worker(Client):
    """A worker of a crowd, who answers tasks."""

    role: ClassVar[str] = "worker"
    __slots__ = ()
