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

    The honest side: a client draws once for each step, and answers the same request by the same bytes, without another
    charge; an average of equal numbers says no more than one of them. A request for a step that is over ends the
    session. A new session draws anew and is charged anew: there the ledger's budget, over all sessions of one person,
    is what bounds the average, as long as the ledger outlives the sessions.

    Args:
        times: how often each request is sent again.

    Attributes:
        answers: by client and step, the payload of every report that came.

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
    """A server that loses all but some clients on purpose.

    Corrupt: the server, or the network between it and the others.

    The honest side: a quorum. The server's own code does not close a step without it, and ends the session with the
    names of the missing, so that a network that drops clients cannot isolate one. A server that is corrupt all through
    would ignore its quorum, and no client can check who else was there; so clients rely on local privacy alone: an
    isolated client's report costs it what any report costs, the ledger's proven ε against a server that sees this one
    report, which is the adversary that the ledger always assumes. In the central model the server sees the values
    anyway; who sees only the release of a tally of one is still held off by the noise that the tally has. Where who
    takes part is private there is no quorum, since one would tell, and that noise is all that stands against this.

    Args:
        keeps: the names of those who are served.
        step: from 0, the first one in which the others are dropped.
        hangs_up: on the others as the step opens, so that they are not asked; else they are asked, and their reports
            are thrown away.

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

    The honest side: each client digests what it was told (`protocol.transcript`), and people who compare the digests
    see that they differ; a client cannot notice by itself. It does notice a second request for a step that differs
    from the first, and ends the session. No report depends on what a request publishes, so that nobody pays more or
    draws otherwise: the harm is that people believe different outcomes.

    Args:
        misled: the names of those who are told otherwise.
        request: given a step (from 0) and what its request publishes, as plain data, what to say instead.
        release: given the outcome as plain data, what to say instead.

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
    """A server that names other parameters than its own.

    Corrupt: the server.

    The honest side: a client holds the parameters that it agreed to, compares bytes as soon as it is welcomed, says
    where they differ and leaves; nothing was drawn, charged or reserved by then. So there is no harm, but that nobody
    takes part. A client that agreed to nothing and asks for the terms instead takes them as they are: there a budget,
    and whoever reads the terms, are all that stands against them.

    Args:
        parameters: the false parameters: a function of the true ones, as plain data, or bytes as they are.

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
    """A server of a masked phase that says of some parties, `dropped`, that they left, though their rows came.

    Corrupt: the server. It hangs up on them and invents drop-outs; or it tells the `misled` alone, and has two sets of
    survivors: it shows the misled their signatures, to be told shares. `step` is the one that confirms survivors.

    The honest side: who is said to have left finds out. T signatures are needed, and no two sets have as many where c
    parties at most sign both. Of each party one share is told, of its own mask or of its keys: a row keeps one of them.
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
