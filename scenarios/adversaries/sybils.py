"""Sybils: one person under several names, on the roster or not, or under the names of others.

The server refuses names that are not on the roster, and counts one report for each name that is. So the harm of Sybils
is that of the registered names that one person holds, and the author of the roster decides on it. No protocol can
distinguish two people from one with two names: without an authority that identifies people, Sybils cannot be prevented
(Douceur, 2002, The Sybil attack).
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

import trio

from ...agents.adversaries import SERVER, Attempt, Deviation
from ...agents.modes import Simulation
from ...agents.server import Server
from ...protocol.errors import refuse, require
from ...protocol.messages import Abort, Hello, SessionDescriptor, Welcome, decode, encode
from ...protocol.roster import Roster
from ...transports.abc import Channel, Transport
from ...transports.keys import make_identity
from ...transports.memory import MemoryTransport
from ...transports.tls import TLSTransport
from .pushing import PushingRole
from .role import AttackContext, AttackReport, Row, SessionTrace, check_between

_MOST_OUTSIDERS: Final = 100  # connections are tried one after another before a session begins


class Rehearsal(NamedTuple):
    """The result when two connections ask for one seat: first an impostor, then its owner."""

    impostor_is_welcome: bool
    owner_is_welcome: bool
    reason: str
    """Why one of them was refused."""


class SybilsRole(PushingRole, frozen=True, kw_only=True):
    """One person with several names.

    Members are the registered names that this person holds; each sends the report that pushes the estimate most.

    Examples:
        >>> SybilsRole(outsiders=3).aim
        ''
    """

    outsiders: int = 0  # number of names outside the roster that it tries
    impersonated: tuple[str, ...] = ()  # names of other parties that it tries after these have joined

    name: ClassVar[str] = "sybils"

    def check(self, context: AttackContext) -> None:
        context.coalition(self.members)
        refuse(SERVER in self.members, "members", SERVER, "names of parties: a seat is a party's")
        check_between("outsiders", self.outsiders, 0, _MOST_OUTSIDERS)
        context.coalition(self.impersonated, field="impersonated")
        for name in self.impersonated:
            allowed = "the name of another party, not one of this person's own"
            refuse(name in self.members or name == SERVER, "impersonated", name, allowed)
        allowed = "left out where sums are masked: a roster has everybody's keys; what members add, 'poisoner' measures"
        for field, names in (("members", self.members), ("impersonated", self.impersonated)):
            refuse(names and context.protocol.masked_phase is not None, field, list(names[:3]), allowed)
        allowed = "names of the roster, unless outsiders or impersonated are given"
        require(self.members or self.outsiders or self.impersonated, "members", "nobody", allowed)
        if self.members:
            self.extremes(context)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return each registered name's deviation: the reports that push the estimate most."""
        return self.pushing(context) if self.members else {}

    def strangers(self, context: AttackContext) -> Sequence[Hello]:
        """Return a Hello for each name that the person does not hold."""
        return [_hello(context, name) for name in (*self._outsiders(context), *self.impersonated)]

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return which names were admitted, and how far the registered ones move the estimate."""
        outsiders = self._outsiders(context)
        rows: list[Row] = []
        if outsiders:
            rows.append(_row("a name that is not on the roster", outsiders, trace.attempts))
        if self.impersonated:
            rows.append(_row("a name whose owner has joined", self.impersonated, trace.attempts))
        rehearsals: dict[bool, Rehearsal] = {}
        for has_certificates in (True, False) if self.impersonated else ():
            rehearsal = rehearse(context, self.impersonated[0], has_certificates=has_certificates)
            rehearsals[has_certificates] = rehearsal
            rows.append(
                {
                    "connection": "a name whose owner comes later, certificates"
                    if has_certificates
                    else "a name whose owner comes later, no certificates",
                    "tried": 1,
                    "welcomed": int(rehearsal.impostor_is_welcome),
                    "the server says": rehearsal.reason,
                }
            )
        sentences = [*_say_refused(rows, rehearsals)]
        if self.members:
            share = len(self.members) / len(context.names)
            sentences += [
                f"The {len(self.members):,} names that the person holds by right are {share:.1%} of the roster.",
                *self.shifts(context, trace)[1],
                (
                    "No protocol sees that: each name reports once, and its noise is its own. Whoever makes up the "
                    "roster decides how many names a person has."
                ),
            ]
        elif trace.failure is not None:
            sentences.append(f"The session came to no end: {trace.failure}")
        return self.attack_report(self._who(), _TRUST, sentences, rows)

    def _who(self) -> str:
        roster_part = f"{len(self.members):,} names on the roster" if self.members else ""
        synthetic = f"{self.outsiders:,} that are not" if self.outsiders else ""
        impersonation_part = f"{len(self.impersonated):,} of other people" if self.impersonated else ""
        return f"one person with {', '.join(part for part in (roster_part, synthetic, impersonation_part) if part)}"

    def _outsiders(self, context: AttackContext) -> list[str]:
        """Return the names to try that are not on the roster."""
        names = (f"sybil-{number}" for number in itertools.count(1))
        return list(itertools.islice((name for name in names if name not in context.names), self.outsiders))


_TRUST: Final = (
    "Corrupt is whoever holds the members' names and can reach the server. The server and everybody else are "
    "honest; whoever made up the roster is trusted to give each person its own names, and to know its keys."
)


def _hello(context: AttackContext, name: str) -> Hello:
    noise = context.noise()
    row: list[int] = context.inputs.public[0].tolist()
    public_choices = tuple(row[len(row) - context.protocol.num_chosen :])  # the public values that a party may choose
    descriptor = SessionDescriptor(noise.session_id)
    return Hello.make(
        context.protocol, name, session=context.session, kind=noise.kind, descriptor=descriptor, chosen=public_choices
    )


def _row(connection: str, names: Sequence[str], attempts: Sequence[Attempt]) -> Row:
    own_attempts = [attempt for attempt in attempts if attempt.party in names]
    return {
        "connection": connection,
        "tried": len(own_attempts),
        "welcomed": sum(attempt.is_welcome for attempt in own_attempts),
        "the server says": next((attempt.reason for attempt in own_attempts if attempt.reason), ""),
    }


def _say_refused(rows: Sequence[Row], rehearsals: Mapping[bool, Rehearsal]) -> Iterator[str]:
    in_session = rows[: len(rows) - len(rehearsals)]
    num_tried, welcomed = (sum(int(row[key]) for row in in_session) for key in ("tried", "welcomed"))
    if in_session:
        yield (
            f"Of {num_tried:,} connections in names that were not the person's to use, the server of this session took "
            f"{welcomed:,}; a refusal changes nothing of the vote."
        )
    if rehearsals:
        first = {True: "takes the seat, and its owner is refused", False: "is refused, and its owner takes part"}
        yield (
            "A name whose owner has yet to come: with certificates on the roster the impostor "
            f"{first[rehearsals[True].impostor_is_welcome]}; without them whoever speaks first "
            f"{first[rehearsals[False].impostor_is_welcome]}. So a roster needs certificates wherever strangers can "
            "reach the server, as every deployment's has."
        )


def rehearse(context: AttackContext, name: str, *, has_certificates: bool) -> Rehearsal:
    """Let an impostor ask a real server for a seat before its owner does, and see who gets it.

    With certificates on the roster, over TLS, the impostor uses another party's keys. The session stops after this.
    """
    own_identity, other, of_server = make_identity(), make_identity(), make_identity()
    mode = Simulation(context.session, context.noise())

    async def hold() -> Rehearsal:
        server_side: Transport = MemoryTransport()
        impostor_side = owner_side = server_side
        roster = Roster(context.names, context.inputs.public)
        if has_certificates:
            # certificates that no connection presents
            fingerprints = [f"{place:064x}" for place in range(len(context.names))]
            place = context.names.index(name)
            fingerprints[place], fingerprints[place - 1] = own_identity.fingerprint, other.fingerprint
            roster = Roster(context.names, context.inputs.public, fingerprints=fingerprints)
            server_side = TLSTransport(of_server, peers=[own_identity.certificate, other.certificate])
            impostor_side, owner_side = (
                TLSTransport(key, peers=[of_server.certificate]) for key in (other, own_identity)
            )
        server = Server(context.protocol, roster, mode)
        async with await server_side.open_listener() as listening, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, listening)
            async with await impostor_side.connect(listening.address) as first:
                impostor, why_impostor = await _ask(first, context, name)
                async with await owner_side.connect(listening.address) as second:
                    owner, why_owner = await _ask(second, context, name)
                    nursery.cancel_scope.cancel()
        return Rehearsal(impostor, owner, why_impostor or why_owner)

    return trio.run(hold)


async def _ask(channel: Channel, context: AttackContext, name: str) -> tuple[bool, str]:
    await channel.send([encode(_hello(context, name))])
    answer = decode((await channel.receive())[0])
    return isinstance(answer, Welcome), answer.reason if isinstance(answer, Abort) else ""
