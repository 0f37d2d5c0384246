"""Equal digests mean that the same was told; whatever differs, the digests do."""

import functools
from collections.abc import Callable

import pytest
from helpers import raw
from psephos.protocol.messages import NIL, PROTOCOL_VERSION, Release, Request, SessionDescriptor, Welcome
from psephos.protocol.transcript import Transcript, show_digest

WELCOME = Welcome(PROTOCOL_VERSION, raw({"epsilon": 1.0}))
TOLD: list[Welcome | Request | Release] = [WELCOME, Request(0, NIL), Request(1, raw([1])), Release(raw({"x": 1}))]


def digest_of(
    *told: Welcome | Request | Release, session: str = "s", protocol: str = "p", kind: str = "simulation"
) -> str:
    transcript = Transcript(session=session, protocol=protocol, kind=kind, num_steps=2)
    for message in told:
        assert transcript.digest is None
        transcript.add(message)
    assert transcript.digest is not None
    return transcript.digest


def test_the_same_is_digested_alike_and_never_changes_while_the_wire_does_not() -> None:
    assert digest_of(*TOLD) == digest_of(*TOLD)
    assert digest_of(*TOLD) == "837617bea32ff7d5a584b67fe92df0c0bc0571be2638f12562211b86f814de88"


@pytest.mark.parametrize(
    "change",
    [
        lambda: digest_of(*TOLD, session="t"),
        lambda: digest_of(*TOLD, protocol="q"),
        lambda: digest_of(*TOLD, kind="deployment"),
        lambda: digest_of(*TOLD, session="sp", protocol=""),
        lambda: digest_of(Welcome(PROTOCOL_VERSION, raw({"epsilon": 2.0})), *TOLD[1:]),
        *(
            functools.partial(
                digest_of, Welcome(PROTOCOL_VERSION, raw({"epsilon": 1.0}), descriptor=descriptor), *TOLD[1:]
            )
            for descriptor in (SessionDescriptor("a"), SessionDescriptor(roster="a"), SessionDescriptor(expires=1))
        ),
        lambda: digest_of(WELCOME, Request(0, raw(0)), *TOLD[2:]),
        lambda: digest_of(*TOLD[:2], Request(1, raw([2])), TOLD[3]),
        lambda: digest_of(WELCOME, TOLD[2], TOLD[1], TOLD[3]),
        lambda: digest_of(*TOLD[:3], Release(raw({"x": 2}))),
    ],
)
def test_whatever_everybody_is_told_changes_the_digest(change: Callable[[], str]) -> None:
    assert change() != digest_of(*TOLD)


def test_what_is_for_one_client_alone_changes_nothing() -> None:
    alone = [
        Welcome(PROTOCOL_VERSION, raw({"epsilon": 1.0}), (7,)),
        Request(0, NIL, raw([1])),
        Request(1, raw([1]), raw([2])),
        Release(raw({"x": 1}), raw({"own": 1})),
    ]
    assert digest_of(*alone) == digest_of(*TOLD)


def test_who_has_not_heard_every_request_has_no_digest() -> None:
    transcript = Transcript(session="s", protocol="p", kind="simulation", num_steps=2)
    for message in (TOLD[0], TOLD[1], TOLD[3]):
        transcript.add(message)
        assert transcript.digest is None


def test_people_compare_half_of_it_in_groups() -> None:
    shown = show_digest("0123456789abcdef" * 4)
    assert shown == "0123 4567 89ab cdef 0123 4567 89ab cdef"
