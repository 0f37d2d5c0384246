"""The flow of a session from step to step: when a step closes, and what follows for all parties.

A step closes when every party with a request has answered or left, or at its deadline. If participation is private,
only the deadline closes it. Without its quorum the session ends, and both sides name the missing parties. A decision is
recorded before any party learns it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from .client_table import ClientState
from .effects import Closed, Drop, Effect, Fail, Finish, Keep, Opened, Send, SetDeadline, send
from .errors import LocalProtocolError, PsephosError, QuorumError, RemoteProtocolError
from .messages import Abort, Message, Release, encode, encode_payload
from .phase_reports import PhaseReports
from .phases import PhasedProtocol
from .plugin_checks import checked_outcome, checked_own_outcomes
from .records import KeptTally, PhaseClosed, PhaseOpened, SessionFailed
from .rules import SessionRules, Wait
from .states import Move, State
from .tally import Tally
from .views import View


class SessionResult(msgspec.Struct, frozen=True):
    """The server's result of a session.

    Args:
        num_received: the number of reports of each phase; None if private.
        own_outcomes: the private outcomes of single clients, by roster index.
        transcript: the digest of all public messages (see `transcript`); empty for arrays, which send none.
        num_told: the number of clients to which the outcome was sent; None if private, for arrays, and after a restart.
    """

    outcome: msgspec.Struct
    tallies: tuple[Tally, ...]
    num_received: tuple[int | None, ...]
    own_outcomes: Mapping[int, msgspec.Struct] = {}
    transcript: str = ""
    num_told: int | None = None


class Releases(msgspec.Struct, frozen=True):
    """The releases to the parties that are still connected.

    Args:
        to_all: the release for every party without a private outcome.
        to_some: the releases for parties with private outcomes, by name.
    """

    to_all: Release
    to_some: Mapping[str, Release]

    @classmethod
    def make(
        cls, outcome: msgspec.Struct, own_outcomes: Mapping[int, msgspec.Struct], hearing: Iterable[ClientState]
    ) -> "Releases":
        """Make the releases.

        Args:
            outcome: the public outcome.
            own_outcomes: the private outcomes of single parties, by roster index.
            hearing: the parties that get a release.

        Raises:
            LocalProtocolError: a release does not fit into a message.
        """
        to_some: dict[str, Release] = {}
        told_outcome = outcome
        try:
            to_all = Release(encode_payload(outcome))
            encode(to_all)
            for client in hearing:
                if client.state is State.LATE:
                    to_some[client.party] = msgspec.structs.replace(to_all, is_late=True)
                if client.place in own_outcomes:
                    told_outcome = own_outcome = own_outcomes[client.place]
                    release = to_some.get(client.party, to_all)
                    to_some[client.party] = msgspec.structs.replace(release, own=encode_payload(own_outcome))
            if to_some:
                encode(
                    max(to_some.values(), key=lambda client_release: len(bytes(client_release.own)))
                )  # if the longest fits, all fit
        except (TypeError, ValueError) as error:
            reason = f"the outcome, of type {type(told_outcome).__name__}, does not fit into a message: {error}"
            raise LocalProtocolError(reason, role="server", message_type="Release") from error
        return cls(to_all, to_some)

    def release_to(self, party: str) -> Release:
        """Return one party's release."""
        return self.to_some.get(party, self.to_all)


class SessionFlow:
    """The flow of one session from step to step.

    Attributes:
        releases: the releases; None before the end.
    """

    __slots__ = (
        "_first_drop",
        "_is_durable",
        "_phase_reports",
        "_protocol",
        "_view",
        "_waits",
        "releases",
    )

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        *,
        phase_reports: PhaseReports,
        rules: SessionRules,
        is_durable: bool,
        view: View | None,
    ) -> None:
        self._protocol = protocol
        self._phase_reports = phase_reports
        self._waits = rules.waits_of(protocol, num_parties=len(phase_reports.names))
        self._is_durable = is_durable
        self._view = view
        self._first_drop = ""  # its reason; empty if participation is private
        self.releases: Releases | None = None

    @property
    def wait(self) -> Wait:
        """How the open step waits, or the time before the first one."""
        return self._waits[self._phase_reports.step + 1]

    @property
    def deadline(self) -> SetDeadline:
        """The open step's."""
        return SetDeadline(self.wait.name, self.wait.deadline_seconds)

    def note_drop(self, error: PsephosError) -> None:
        """Take note of why a party is dropped or leaves: a missed quorum's error tells the server the first reason."""
        if not self._protocol.hides_participation:
            self._first_drop = self._first_drop or str(error)

    def close_if_complete(self) -> list[Effect]:
        """Close the step if nobody else can report, or if its quorum is out of reach.

        If participation is private, only the deadline closes it, since closing early would reveal that all reported.
        """
        phase_reports, clients = self._phase_reports, self._phase_reports.clients
        if not phase_reports.is_under_way or self.wait.is_hidden:
            return []
        if not clients.num_awaited:
            return self.close()
        if phase_reports.num_received + clients.num_awaited >= self.wait.quorum:
            return []
        still_asked = set[int]() if phase_reports.step < 0 else clients.places_in(State.ASKED)
        return self._abort(phase_reports.num_received, phase_reports.present_places | still_asked)

    def close(self) -> list[Effect]:
        """Close the open step with whoever has reported."""
        phase_reports, wait, present = self._phase_reports, self.wait, self._phase_reports.present_places
        if len(present) < wait.quorum:
            return self._abort(len(present), present)
        counts = (None, None) if wait.is_hidden else (len(present), phase_reports.num_wanted - len(present))
        if phase_reports.step < 0:
            return [Closed(wait.name, *counts, None), *self._open_next()]
        step, places = phase_reports.step, sorted(present)
        try:
            outcome = phase_reports.settle(places)
        except PsephosError as error:
            return [*self._leave_out_named(), *self.end(error)]
        effects: list[Effect] = [Closed(wait.name, *counts, outcome)]
        if self._is_durable:
            drawn_tally = KeptTally.from_tally(phase_reports.tallies[-1]) if phase_reports.draws_noise else None
            effects.insert(0, Keep(PhaseClosed(step, tuple(places), drawn_tally)))
        return [*effects, *self.follow()]

    def follow(self) -> list[Effect]:
        """Open the next step, with what the one published that has closed; or release after the last."""
        left_out = self._leave_out_named()
        is_last = self._phase_reports.next_step == len(self._protocol.steps)
        return [*left_out, *(self._release() if is_last else self._open_next())]

    def _leave_out_named(self) -> list[Effect]:
        """Tell those who were found to lie that they are out, and why."""
        effects: list[Effect] = []
        for named in self._phase_reports.take_named():
            effects.append(named)
            client = self._phase_reports.clients.by_party[named.party]
            if client.moves:
                error = RemoteProtocolError(f"{named.party!r} has {named.deed}", sender=named.party, role="server")
                self.note_drop(error)
                effects += [self._send([named.party], Abort.from_error(error)), Drop(named.party, error)]
                self._phase_reports.clients.leave(client)
        return effects

    def end(self, error: PsephosError, *, told_error: PsephosError | None = None) -> list[Effect]:
        """End the session with an error, on every side; clients may be told another one."""
        return [self._send(self._phase_reports.abort(), Abort.from_error(told_error or error)), Fail(error)]

    def _open_next(self) -> list[Effect]:
        phase_reports, before = self._phase_reports, self.wait
        clients = phase_reports.next_clients
        phase_reports.open_step(clients)
        wait, places = self.wait, tuple([client.place for client in clients])
        if len(clients) < wait.quorum:  # no party should pay in vain
            return self._abort(0, set(places))
        # The number of requests equals that of reports in the step before.
        num_asked = None if wait.is_hidden or before.is_hidden else len(clients)
        return [
            *([Keep(PhaseOpened(phase_reports.step, places))] if self._is_durable else []),
            Opened(wait.name, num_asked),
            self.deadline,
            *self.ask(clients),
        ]

    def ask(self, clients: Collection[ClientState]) -> list[Effect]:
        """Ask these parties what the open step asks."""
        requests = self._phase_reports.requests_to(clients)
        return [self._send([client.party for client in recipients], request) for request, recipients in requests]

    def _release(self) -> list[Effect]:
        phase_reports = self._phase_reports
        hearing = phase_reports.clients.able_to(Move.RELEASE)
        try:
            outcome: msgspec.Struct = checked_outcome(self._protocol, phase_reports.tallies)
            own_outcomes = checked_own_outcomes(self._protocol, phase_reports.tallies)
            releases = self.releases = Releases.make(outcome, own_outcomes, hearing)
        except PsephosError as error:
            return self.end(error)
        phase_reports.release(releases.to_all, hearing)
        result = SessionResult(
            outcome,
            tuple(phase_reports.tallies),
            tuple(
                None if phase.hides_participation else len(places)
                for phase, (places, _) in zip(self._protocol.phases, phase_reports.closed, strict=True)
            ),
            own_outcomes,
            phase_reports.transcript.digest or "",
            None if self._protocol.hides_participation else phase_reports.num_told,
        )
        to_some = [self._send([party], message) for party, message in releases.to_some.items()]  # first in the view
        other_names = [client.party for client in hearing if client.party not in releases.to_some]
        return [self._send(other_names, releases.to_all), *to_some, Finish(result)]

    def _abort(self, num_received: int, not_missing: set[int]) -> list[Effect]:
        """End the session for all parties, since the open step has no quorum.

        The error names the missing parties: those without a report at the deadline; or, if the quorum was out of reach
        before, those that had left by then. Before the first step, parties that did not join count as missing, too.
        """
        missing = [party for place, party in enumerate(self._phase_reports.names) if place not in not_missing]
        fields: dict[str, Any] = {"phase": self.wait.name, "received": num_received, "required": self.wait.quorum}
        error = QuorumError(**fields, missing=missing, first_drop=self._first_drop)
        # The reason of a drop may quote the party's report, which only the server may see.
        effects = self.end(error, told_error=QuorumError(**fields, missing=missing))
        if self._is_durable:
            record = SessionFailed(**fields, missing=tuple(missing), first_drop=self._first_drop)
            effects.insert(0, Keep(record))
        return effects

    def _send(self, recipients: Sequence[str], message: Message) -> Send:
        return send(recipients, message, view=self._view)
