"""Messages and bytes: counted as they pass, computed from the encoder, and equal to the byte."""

import pytest
from helpers import make_vote
from psephos.protocol.messages import NIL, Abort, Acknowledgement, Hello, Release, Report, Request, Welcome
from psephos.protocol.traffic import RELEASE, TrafficMeter


def test_messages_count_in_the_phase_that_they_belong_to() -> None:
    vote = make_vote()
    meter = TrafficMeter(vote)
    meter.note(Hello(1, "s", vote.name, "simulation", "ann"), 30)
    meter.note(Welcome(1, NIL), 10, times=3)
    meter.note(Request(1, NIL), 7, times=2)
    meter.note(Report(1, NIL), 5)
    meter.note(Acknowledgement(0), 2)
    meter.note(Release(NIL), 9, times=1)
    meter.note(Abort(reason="enough"), 4)
    rows = [(each.phase, each.messages_up, each.bytes_up, each.messages_down, each.bytes_down) for each in meter.phases]
    assert rows == [
        ("join", 1, 30, 3, 30),
        ("weights", 1, 2, 0, 0),
        ("opinions", 1, 5, 2, 14),
        (RELEASE, 1, 4, 1, 9),
    ]


@pytest.mark.parametrize("phase", [-1, 2, 1 << 40])
def test_a_phase_that_there_is_not_counts_at_the_end(phase: int) -> None:
    """Whoever sends it made it up: it is bytes on the wire all the same."""
    vote = make_vote()
    meter = TrafficMeter(vote)
    meter.note(Report(phase, NIL), 5)
    assert [each.bytes_up for each in meter.phases] == [0, 0, 0, 5]
