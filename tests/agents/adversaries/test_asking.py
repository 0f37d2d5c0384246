"""A server that asks again gets the same bytes again: one draw, one charge, and an average that says no more."""

from deviants import NAMES, TRANSPORTS, meet
from psephos.agents.adversaries import SERVER, Asker, Deviation, Passage
from psephos.protocol.errors import UnexpectedMessageError
from psephos.protocol.messages import NIL, Message, Request


async def test_a_phase_that_is_over_is_not_answered_again() -> None:
    class Rewinder(Deviation):
        """Asks for the first phase again when the second is open."""

        def outgoing(self, peer: str, message: Message) -> Passage:
            goes_back = isinstance(message, Request) and message.step == 1
            return Passage(outward=(message, Request(0, NIL)) if goes_back else (message,))

    meeting = await meet(TRANSPORTS[0](), {SERVER: Rewinder()})
    honest = await meet(TRANSPORTS[0]())
    for name in NAMES:
        assert isinstance(meeting.endings[name], UnexpectedMessageError)
        assert meeting.entries[name] == honest.entries[name]


def test_answers_are_in_no_log() -> None:
    asker = Asker(times=1)
    asker.answers["ann", 0] = [b"4711"]
    assert "4711" not in repr(asker)
