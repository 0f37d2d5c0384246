"""An approval vote and a transport over Unix sockets, as a third party writes them."""

from typing import Final

SOURCE: Final = '''
"""An approval vote: each voter says of each candidate whether it approves, by randomized response."""

import tempfile

import msgspec
import numpy as np
import trio

from psephos.protocol import Column, ConfigurationError, Inputs, OnePhaseProtocol, Phase, Tally
from psephos.protocol.estimators import Estimate, estimate_counts
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from psephos.transports import Channel, Listener, Transport
from psephos.transports.framing import FrameDecoder, encode_frames


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    candidates: tuple[str, ...]
    epsilon: float = 1.0


class Approval(msgspec.Struct, frozen=True):
    name: str
    approvals: Estimate


class Outcome(msgspec.Struct, frozen=True):
    candidates: tuple[Approval, ...]
    num_voters: int


class Ballots(Phase):
    def tally(self, reports, *, earlier, public):
        return Tally(len(reports), reports.sum(axis=0))


class ApprovalVote(OnePhaseProtocol):
    name = "approval"
    parameters_type, outcome_type = Parameters, Outcome

    def make_phase(self):
        mechanism = GeneralizedRandomizedResponse(self.parameters.epsilon, 2)
        paid = {"claimed": self.parameters.epsilon, "relation": NeighboringRelation.REPLACE_ONE}
        loss = PrivacyLoss(
            mechanism="randomized response", event=mechanism.event, unit="approval", model=TrustModel.LOCAL, **paid
        )
        number = len(self.parameters.candidates)
        return Ballots("ballots", columns=range(number), mechanism=mechanism, losses=[loss] * number)

    def columns(self):
        return tuple(Column(name, private=True, description="0 or 1") for name in self.parameters.candidates)

    def encode(self, table):
        rows = np.array([[int(entry) for entry in table[name]] for name in self.parameters.candidates]).T
        for row in np.flatnonzero(((rows != 0) & (rows != 1)).any(axis=1))[:1]:
            raise ConfigurationError(field=f"approvals in row {row + 1}", value=rows[row].tolist(), allowed="0 or 1")
        return Inputs(rows, np.empty((len(rows), 0), dtype=int))

    def outcome(self, tallies):
        (tally,) = tallies
        counted = [(tally.num_reports - yes, yes) for yes in tally.totals.tolist()]
        found = [estimate_counts(self.phase.mechanism, counts)[1] for counts in counted]
        return Outcome(tuple(map(Approval, self.parameters.candidates, found)), tally.num_reports)

    def truth(self, inputs):
        return dict(zip(self.parameters.candidates, inputs.private.sum(axis=0).astype(float).tolist()))


class UnixChannel(Channel):
    def __init__(self, stream, peer):
        self.stream, self.decoder, self.address = stream, FrameDecoder(), peer

    peer = property(lambda self: self.address)

    async def send(self, payloads):
        await self.stream.send_all(encode_frames(payloads))

    def send_nowait(self, payload):
        raise trio.WouldBlock

    def limit_payloads(self, max_payload_bytes):
        self.decoder.max_payload_bytes = max_payload_bytes

    async def receive(self):
        while True:
            data = await self.stream.receive_some(1 << 16)
            if not data:
                raise trio.EndOfChannel
            if payloads := self.decoder.feed(data):
                return payloads

    def close(self):
        self.stream.socket.close()


class UnixListener(Listener):
    def __init__(self, listener, address):
        self.listener, self.path = listener, address

    address = property(lambda self: self.path)

    async def accept(self):
        return UnixChannel(await self.listener.accept(), self.path)

    async def aclose(self):
        await self.listener.aclose()


class Unix(Transport):
    name = "unix"

    def stays_on_this_machine(self, address):
        if "/" not in address:
            raise ValueError("a socket's path has a slash")
        return True

    async def open_listener(self, address=None):
        own = trio.socket.socket(trio.socket.AF_UNIX)
        path = address or tempfile.mkdtemp() + "/socket"
        await own.bind(path)
        own.listen()
        return UnixListener(trio.SocketListener(own), path)

    async def connect(self, address):
        if "/" not in address:
            raise ValueError("a socket's path has a slash")
        return UnixChannel(await trio.open_unix_socket(address), address)


class Silent(Unix):
    """Says nothing of where its addresses lead."""

    name = "silent"
    stays_on_this_machine = Transport.stays_on_this_machine


class Known(Silent):
    """Claims that its ends know each other."""

    name = "known"
    is_authenticated = True
'''
ENTRY_POINTS: Final = """
[psephos.protocols]
approval = approval_vote:ApprovalVote

[psephos.transports]
unix = approval_vote:Unix
silent = approval_vote:Silent
known = approval_vote:Known
"""
SCENARIO: Final = """
title = "What is served"
protocol = "approval"
voters = "ballots.csv"
public_record = true
seed = 4

[parameters]
candidates = ["tea", "coffee", "lime soda"]
epsilon = 2.0
"""
BALLOTS: Final = "voter,tea,coffee,lime soda\n" + "".join(
    f"voter-{number},{int(number % 3 > 0)},{int(number % 2)},{int(number % 10 == 0)}\n" for number in range(1, 301)
)
