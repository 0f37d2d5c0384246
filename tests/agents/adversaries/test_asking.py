"""A server that asks again gets the same bytes again: one draw, one charge, and an average that says no more."""

from collections.abc import Callable

import pytest
from deviants import NAMES, TRANSPORTS, meet
from psephos.agents.adversaries import SERVER, Asker, Deviation, Passage
from psephos.protocol.errors import UnexpectedMessageError
from psephos.protocol.messages import NIL, Message, Request
from psephos.transports import Transport


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_every_answer_to_the_same_request_is_the_same_and_is_charged_once(
    make_transport: Callable[[], Transport],
) -> None:
    honest = await meet(make_transport())
    asker = Asker(times=4)
    meeting = await meet(make_transport(), {SERVER: asker})
    assert meeting.outcome == honest.outcome
    assert meeting.entries == honest.entries
    assert set(asker.answers) == {(name, phase) for name in NAMES for phase in (0, 1)}
    assert all(len(set(answers)) == 1 for answers in asker.answers.values())
    # The last answers of the last phase may still be on their way when the release is out.
    assert all(len(answers) == 5 for (_, phase), answers in asker.answers.items() if phase == 0)


async def test_a_phase_that_is_over_is_not_answered_again() -> None:
    class Rewinder(Deviation):
        """Asks for the first phase again when the second is open."""

        def outgoing(self, peer: str, message: Message) -> Passage:
            goes_back = isinstance(message, Request) and message.phase == 1
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
