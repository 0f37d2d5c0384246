"""`psephos`, whose server of a masked session changes a bit of the first box for one party.

python lying.py PLACE COMMAND ...
"""

import sys
from typing import Any
from unittest import mock

import msgspec
from masking_dealer import STEPS
from psephos.protocol.masked_sessions import ServerMasking
from psephos.protocol.masking import Boxes, MaskingMove
from psephos.scenarios.cli import main

_close = ServerMasking.close


def lie_to(place: int) -> None:
    """Run the command line, and lie to the party at a place of the roster."""

    def close(server: ServerMasking) -> Any:
        closed = _close(server)
        if place in server.own_payloads and server.next_step == STEPS.index(MaskingMove.CHECK):
            first, *rest = msgspec.msgpack.decode(server.own_payloads[place], type=Boxes).boxes
            other = msgspec.structs.replace(first, box=bytes([first.box[0] ^ 1]) + first.box[1:])
            server.own_payloads = {
                **server.own_payloads,
                place: msgspec.Raw(msgspec.msgpack.encode(Boxes((other, *rest)))),
            }
        return closed

    with mock.patch.object(ServerMasking, "close", close):
        main()


if __name__ == "__main__":
    lie_to(int(sys.argv.pop(1)))
