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
"""A phase waits for five minutes unless a scenario says otherwise, and a client does not know for how long."""

_ANSWER_SECONDS: Final = 30.0
"""A server answers at once whoever begins a conversation; the rest of it may take as long as phases last."""


def answer_seconds(patience_seconds: float) -> float:
    """Return how long a server may take to say its first word; without end where patience has none.

    Examples:
        >>> answer_seconds(3600.0), answer_seconds(5.0)
        (30.0, 5.0)
    """
    return patience_seconds if patience_seconds == math.inf else min(patience_seconds, _ANSWER_SECONDS)


class Client:
    """A party that answers every phase with one randomized report.

    Args:
        protocol: the protocol with the parameters that the party agreed to.
        patience_seconds: how long the server may say nothing between two of its messages, and for `answer_seconds` of
            that before its first; infinite for whoever runs all parties.
        sitting: the party's journal of this session; with it the party may take part again, after a restart or a lost
            connection, and repeats what it has said. Its ledger must hold what the journal does.

    Raises:
        ConfigurationError, JournalError, ValueError: as `ClientMachine`.

    Privacy:
        What leaves the party is its reports, each drawn once. See `ClientMachine`.

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
        """The release's part for this party alone."""
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
        """The reports that the party's later sessions repeat. See `ClientMachine.memoized_reports`."""
        return self._machine.memoized_reports

    @property
    def recorded_outcome(self) -> msgspec.Struct | None:
        """The outcome that its journal has, and what was told this party alone with it; None where it is yet to come.

        Raises:
            JournalError: something else stands where it was kept.
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

        Returns:
            The released outcome.

        Raises:
            QuorumError: a phase closed without its quorum.
            ConnectionLostError: the connection was lost.
            SessionAborted: the server ended the session.
            JournalError: what has to be kept cannot be; nothing left that was not.
            RemoteProtocolError: the server broke the rules, or said nothing for too long.
            BudgetExceededError: the session would cost more than the ledger allows; nothing was drawn.

        Cancelled, it closes the channel at once; losses that were charged stay charged, and the room that the ledger
        kept for the others is free again.
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
                del hello  # as many as there are parties would be held for the whole session
                # A transport may have to hear the server before anything leaves.
                if outbox.waiting and not await _flush(outbox, seconds):
                    channel.close()
                    driver.give_up(SERVER, seconds=seconds)
                await driver.read(SERVER, channel, patience_seconds=patience, answer_seconds=seconds)
                if outbox.waiting:
                    await _flush(outbox, LINGER_SECONDS)  # a server that does not read holds up nobody who is done
                ending = driver.ending()
                self.own_outcome = ending.own_outcome
                return ending.result
            finally:
                machine.receive_loss(SERVER)  # nothing after a proper ending; else the machine ends here
        finally:
            channel.close()


async def _flush(outbox: Outbox, seconds: float) -> bool:
    """Send what waits, in so much time; return whether that was enough."""
    with trio.move_on_after(seconds) as scope:
        await outbox.flush()
    return not scope.cancelled_caught


async def inquire(channel: Channel, *, party: str, patience_seconds: float = PATIENCE_SECONDS) -> Terms:
    """Ask a server what `party` would take part in; the channel can then be used to do so.

    Args:
        channel: new; nothing was said on it.
        patience_seconds: the server may be silent for `answer_seconds` of that.

    Raises:
        SessionAborted: the server refuses the party, or the connection was lost.
        RemoteProtocolError: the server answered something else, or nothing in time, or speaks another version.

    Cancelled, it leaves the channel open.
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
