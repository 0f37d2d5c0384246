"""Servers that deviate: averaging, selective abort, equivocation, false parameters, and false survivors."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from ...protocol.masking import Confirmation, Confirmations, Survivors
from ...protocol.messages import Message, Release, Report, Request, Terms, Welcome
from .deviation import Deviation, Passage


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Asker(Deviation):
    """A server that repeats each request.

    Corrupt: the server.

    The honest side: a client draws once for each step, and answers a repeated request with the same bytes, without
    another charge. So an average reveals no more than one report. A request for an earlier step ends the session. A new
    session draws and charges again; then the ledger's budget over all sessions of a person bounds the loss, if the
    ledger persists.

    Args:
        times: the number of times that each request is sent again.

    Attributes:
        answers: the payloads of all received reports, by client and step.

    Examples:
        >>> from psephos.protocol.messages import NIL
        >>> asker = Asker(times=2)
        >>> len(asker.outgoing("ann", Request(0, NIL)).outward)
        3
    """

    times: int
    answers: dict[tuple[str, int], list[bytes]] = dataclasses.field(
        default_factory=dict[tuple[str, int], list[bytes]], init=False, repr=False
    )

    def outgoing(self, peer: str, message: Message) -> Passage:
        return Passage(outward=[message] * (1 + self.times * isinstance(message, Request)))

    def incoming(self, peer: str, message: Message) -> Passage:
        if not isinstance(message, Report):
            return Passage(inward=(message,))
        of_step = self.answers.setdefault((peer, message.step), [])
        of_step.append(bytes(message.payload))
        return Passage(inward=(message,) if len(of_step) == 1 else ())


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Dropper(Deviation):
    """A server that deliberately drops all but some clients, to isolate them.

    Corrupt: the server, or the network between it and the others.

    The honest side: a quorum. An honest server does not close a step without it, and ends the session with the names of
    the missing parties. So a network that drops clients cannot isolate one. A corrupt server would ignore its quorum,
    and clients cannot check who else took part. So they rely on local privacy: an isolated client's report costs the
    ledger's proven ε, which always assumes a server that sees this report. In the central model the server sees the
    values anyway; an observer of the release of a single value still faces the noise of the tally. If participation is
    private, there is no quorum, and this noise is the only protection.

    Args:
        keeps: the names of the clients that are served.
        step: the first step, from 0, in which the others are dropped.
        hangs_up: whether the others are disconnected as the step opens; otherwise they get the request, and their
            reports are discarded.

    Examples:
        >>> from psephos.protocol.messages import NIL
        >>> dropper = Dropper(keeps=["ann"])
        >>> dropper.outgoing("bob", Request(0, NIL)).hangs_up, dropper.outgoing("ann", Request(0, NIL)).hangs_up
        (True, False)
    """

    keeps: Collection[str]
    step: int = 0
    hangs_up: bool = True

    def outgoing(self, peer: str, message: Message) -> Passage:
        if self.hangs_up and isinstance(message, Request) and self._drops(peer, message.step):
            return Passage(hangs_up=True)
        return Passage(outward=(message,))

    def incoming(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Report) and self._drops(peer, message.step):
            return Passage()
        return Passage(inward=(message,))

    def _drops(self, peer: str, step: int) -> bool:
        return peer not in self.keeps and step >= self.step


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Equivocator(Deviation):
    """A server that sends some clients other requests, or another release.

    Corrupt: the server.

    The honest side: each client digests the public messages (`protocol.transcript`), and people who compare the digests
    see that they differ; a single client cannot detect it. A client does detect a second, different request for a step,
    and ends the session. No report depends on what a request publishes, so nobody pays more or draws differently. The
    harm is that people believe different outcomes.

    Args:
        misled: the names of the clients that get other messages.
        request: a function of a step (from 0) and its request's payload as plain data that returns the false payload.
        release: a function of the outcome as plain data that returns the false one.

    Examples:
        >>> liar = Equivocator(misled=["bob"], release=lambda outcome: {"accepted": True})
        >>> told = Release(msgspec.Raw(msgspec.msgpack.encode({"accepted": False})))
        >>> [msgspec.msgpack.decode(liar.outgoing(name, told).outward[0].payload) for name in ("ann", "bob")]
        [{'accepted': False}, {'accepted': True}]
    """

    misled: Collection[str]
    request: Callable[[int, object], object] | None = None
    release: Callable[[object], object] | None = None

    def outgoing(self, peer: str, message: Message) -> Passage:
        if peer in self.misled:
            if isinstance(message, Request) and self.request is not None:
                changed = self.request(message.step, msgspec.msgpack.decode(message.payload))
                message = Request(message.step, msgspec.Raw(msgspec.msgpack.encode(changed)))
            elif isinstance(message, Release) and self.release is not None:
                changed = self.release(msgspec.msgpack.decode(message.payload))
                payload = msgspec.Raw(msgspec.msgpack.encode(changed))
                message = msgspec.structs.replace(message, payload=payload)
        return Passage(outward=(message,))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Liar(Deviation):
    """A server that sends false parameters.

    Corrupt: the server.

    The honest side: a client compares the bytes of the server's Welcome with the parameters that it agreed to. If they
    differ, it names the difference and leaves, before anything is drawn, charged or reserved. So the only harm is that
    nobody takes part. A client that asks for the terms instead of agreeing on them in advance accepts any; then only
    its budget, and a person who reads the terms, protect it.

    Args:
        parameters: the false parameters: a function of the true ones as plain data, or raw bytes.

    Examples:
        >>> liar = Liar(lambda true: {**true, "epsilon": 9.0})
        >>> (told,) = liar.outgoing("ann", Welcome(10, msgspec.Raw(msgspec.msgpack.encode({"epsilon": 1.0})))).outward
        >>> msgspec.msgpack.decode(told.parameters)
        {'epsilon': 9.0}
    """

    parameters: Callable[[dict[str, Any]], Mapping[str, Any]] | bytes

    def outgoing(self, peer: str, message: Message) -> Passage:
        if isinstance(message, (Welcome, Terms)):
            message = msgspec.structs.replace(message, parameters=self._named(message.parameters))
        return Passage(outward=(message,))

    def _named(self, true: msgspec.Raw) -> msgspec.Raw:
        if isinstance(self.parameters, bytes):
            return msgspec.Raw(self.parameters)
        parameters = self.parameters(msgspec.msgpack.decode(true, type=dict[str, Any]))
        return msgspec.Raw(msgspec.msgpack.encode(parameters))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Unmasker(Deviation):
    """A server of a masked phase that falsely claims that some parties, `dropped`, left, though their rows arrived.

    Corrupt: the server. It disconnects them and claims drop-outs. Or it makes the claim only to the `misled`, and so
    has two sets of survivors: it shows the misled their signatures, to get their shares. `step` is the step that
    confirms survivors.

    The honest side: a party that is claimed to have left notices. T signatures are needed, and two different sets
    cannot both have T if at most c parties sign both. For each party only one kind of share is revealed, of its own
    mask or of its keys; so one of the two still protects its row.
    """

    places: Mapping[str, int]
    dropped: Collection[str]
    misled: Collection[str]
    step: int
    _signatures: dict[int, bytes] = dataclasses.field(default_factory=dict[int, bytes], init=False, repr=False)

    def outgoing(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Request) and message.step == self.step and peer in self.misled:
            message = self._make_request(msgspec.msgpack.decode(message.payload, type=Survivors).places)
        return Passage(outward=(message,))

    def incoming(self, peer: str, message: Message) -> Passage:
        step = message.step if isinstance(message, Report) else None
        if not self.misled and peer in self.dropped and step == self.step - 1:
            return Passage(outward=(self._make_request(sorted(self.places.values())),), hangs_up=True)
        outward: list[Message] = []
        if peer in self.misled and isinstance(message, Report) and step == self.step:
            self._signatures[self.places[peer]] = msgspec.msgpack.decode(message.payload, type=Confirmation).signature
            confirmations = Confirmations(tuple(sorted(self._signatures.items())))
            outward.append(Request(self.step + 1, msgspec.Raw(msgspec.msgpack.encode(confirmations))))
        return Passage(inward=(message,), outward=outward)

    def _make_request(self, places: Sequence[int]) -> Request:
        lost = {self.places[name] for name in self.dropped}
        survivors = Survivors(tuple(place for place in places if place not in lost))
        return Request(self.step, msgspec.Raw(msgspec.msgpack.encode(survivors)))
