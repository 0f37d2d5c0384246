"""Vectors of sessions whose server and parties have journals: what is said again after a restart, byte for byte."""

from collections.abc import Callable, Mapping
from typing import Final

from helpers import SERVER, make_names

from .partners import session_of_partners
from .recorder import Recorder

NAMES: Final = make_names(3)


def _begun(about: str, *, quorum: float = 1.0) -> Recorder:
    """Return a session of three whose hellos are on their way."""
    session = session_of_partners(num_parties=3, has_certificates=True, quorum=quorum)
    recorder = Recorder(session, about, is_durable=True)
    recorder.start(*NAMES)
    return recorder


def _with_two_reports(about: str, *, quorum: float = 1.0) -> Recorder:
    """Return one that has the first reports of p0 and p1, which know that, and not that of p2."""
    recorder = _begun(about, quorum=quorum)
    recorder.deliver_until("Report", "p2")
    for name in NAMES[:2]:
        recorder.deliver_between(name)
    return recorder


def _goes_well() -> Recorder:
    recorder = _begun("Each report is acknowledged, and each party says at last that it has the release.")
    recorder.deliver_all()
    return recorder


def _party_restarts() -> Recorder:
    about = (
        "p1 begins anew five times: before its welcome arrives, before its first report does, before the "
        "acknowledgement of that does, before its second report does, and before the release does."
    )
    recorder = _begun(about)
    recorder.deliver_until("Welcome", SERVER)
    recorder.deliver("p1")
    recorder.come_back("p1")
    recorder.deliver_until("Report", "p1")
    recorder.come_back("p1")
    recorder.deliver("p1")
    while any(entry[1:3] == (SERVER, "p1") for entry in recorder.waiting):
        recorder.deliver(SERVER, "p1")
    recorder.deliver("p1")
    recorder.come_back("p1")
    recorder.deliver_until("Report", "p1", phase=1)
    recorder.come_back("p1")
    recorder.deliver_until("Release", SERVER)
    recorder.come_back("p1")
    recorder.deliver_all()
    return recorder


def _server_restarts() -> Recorder:
    about = (
        "The server begins anew with two of three reports, and again when it has closed the last phase and nobody has "
        "heard the release; each time all come back."
    )
    recorder = _with_two_reports(about)
    for _ in range(2):
        recorder.restart(SERVER)
        for name in NAMES:
            recorder.restart(name)
        recorder.deliver_until("Release", SERVER)
    recorder.deliver_all()
    return recorder


def _late() -> Recorder:
    recorder = _with_two_reports("p2 comes back when a phase has closed without its report.", quorum=2)
    recorder.lose("p2")
    recorder.expire("weights")
    recorder.restart("p2")
    recorder.deliver_all()
    return recorder


def _late_at_last() -> Recorder:
    recorder = _begun("The last phase closes without p2's report; p2 was asked everything, and has a digest.", quorum=2)
    recorder.deliver_until("Report", "p2", phase=1)
    for name in NAMES[:2]:
        recorder.deliver_between(name)
    recorder.expire("opinions")
    recorder.deliver_all()
    return recorder


def _older_copy_of_a_party() -> Recorder:
    recorder = _with_two_reports("p1 comes back with a journal that lacks a report which the server has.", quorum=2)
    recorder.come_back("p1", records=1)
    recorder.deliver_all()
    return recorder


def _older_copy_of_a_server() -> Recorder:
    recorder = _with_two_reports("A server begins anew from a journal that lacks what it has acknowledged.")
    recorder.restart(SERVER, records=1)
    for name in NAMES[:2]:
        recorder.restart(name)
    recorder.deliver_all()
    return recorder


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_durable": _goes_well,
    "good_durable_party_restarts": _party_restarts,
    "good_durable_server_restarts": _server_restarts,
    "good_durable_late": _late,
    "good_durable_late_at_last": _late_at_last,
    "bad_durable_older_copy_of_a_party": _older_copy_of_a_party,
    "bad_durable_older_copy_of_a_server": _older_copy_of_a_server,
}
