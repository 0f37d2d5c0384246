"""Vectors of DPWeVote, and of what any protocol has: greetings, certificates, losses, what a server may not do."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from helpers import SERVER, Session, hello, make_names, raw
from psephos.protocol import JOIN, SessionRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Abort,
    Acknowledgement,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Welcome,
)

from .recorder import Recorder, all_goes_well, with_a_forged_report

FINGERPRINTS: Final = tuple(hashlib.sha256(f"the certificate of p{place}".encode()).hexdigest() for place in range(3))
"""Made up, as everything here; real ones are of certificates."""
CHARTER: Final = SessionDescriptor("00112233445566778899aabbccddeeff", expires=2_000_000_000)
"""Of the sessions that have certificates, but for the roster's digest."""


def session_of_partners(
    *, quorum: float = 1.0, num_parties: int = 4, has_certificates: bool = False, **given: Any
) -> Session:
    """Return a vote on two candidates."""
    weights = [1.0, 2.0, 3.0, 2.0, 1.0][:num_parties]
    vote = DPWeVote(Parameters(candidates=("ada", "bob"), epsilon=2.0, **given))
    opinions = {"ada": [1, 0, 1, 1, 0][:num_parties], "bob": [0, 0, 1, 0, 1][:num_parties]}
    inputs = vote.encode({"weight": weights, **opinions})
    session = functools.partial(Session, vote, inputs, seed=2018, rules=SessionRules(quorum=quorum))
    if not has_certificates:
        return session()
    descriptor = msgspec.structs.replace(CHARTER, roster=session(fingerprints=FINGERPRINTS).roster.digest)
    return session(fingerprints=FINGERPRINTS, descriptor=descriptor)


def _good(about: str, **given: Any) -> Recorder:
    return all_goes_well(session_of_partners(**given), about)


def _three_of_four() -> Recorder:
    recorder = Recorder(session_of_partners(quorum=3), "A report is lost, and three of four are enough.")
    recorder.start(*make_names(4))
    recorder.deliver_requests()
    for party in ("p0", "p1", "p3"):
        recorder.deliver(party)
    recorder.expire("weights")
    recorder.deliver("p2")  # late: neither counted nor a fault
    recorder.deliver_all()
    return recorder


def _wrong_hello(about: str, **changes: Any) -> Recorder:
    recorder = Recorder(session_of_partners(num_parties=3, quorum=2), about)
    recorder.start("p0", "p1")
    recorder.forge("p2", SERVER, hello("p2", **changes))
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.deliver_all()
    return recorder


def _inquiry() -> Recorder:
    recorder = Recorder(session_of_partners(num_parties=3), "Each party asks for the terms, and then takes part.")
    for name in make_names(3):
        recorder.inquire(name)
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _certificates() -> Recorder:
    session = session_of_partners(num_parties=3, has_certificates=True)
    recorder = Recorder(session, "Every party comes by its own certificate and names the session's id; p0 asks first.")
    recorder.inquire("p0")
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _stranger(about: str, fingerprint: str, *, session_id: str = CHARTER.id) -> Recorder:
    recorder = Recorder(session_of_partners(num_parties=3, quorum=2, has_certificates=True), about)
    recorder.start("p0", "p1")
    recorder.come_by("p2", fingerprint)
    recorder.forge("p2", SERVER, hello("p2", session_id=session_id))
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.deliver_all()
    return recorder


def _inquiry_of_a_stranger() -> Recorder:
    about = "An inquiry by another party's certificate is refused; then the party comes by its own."
    recorder = Recorder(session_of_partners(num_parties=3, has_certificates=True), about)
    recorder.come_by("p2", FINGERPRINTS[1])
    recorder.inquire("p2")
    recorder.come_by("p2", "")
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _comes_back() -> Recorder:
    about = "p1 is lost while others join, p2 in the first phase with its report on its way; both come back."
    recorder = Recorder(session_of_partners(quorum=3), about)
    recorder.start("p0", "p1")
    for _ in range(4):  # hellos and welcomes
        recorder.deliver()
    recorder.lose("p1")
    recorder.restart("p1")
    recorder.start("p2", "p3")
    for _ in range(10):  # hellos, welcomes and requests
        recorder.deliver()
    recorder.lose("p2")
    recorder.restart("p2")
    recorder.deliver("p2")
    recorder.deliver_all()
    return recorder


def _comes_back_after_its_report() -> Recorder:
    about = "p2 has reported, is lost, and comes back: it is refused, and its first report stands."
    recorder = Recorder(session_of_partners(quorum=3), about)
    recorder.start(*make_names(4))
    recorder.deliver_requests()
    recorder.deliver("p2")
    recorder.lose("p2")
    recorder.restart("p2")
    recorder.deliver("p2")
    recorder.deliver_all()
    return recorder


def _conflicting_report() -> Recorder:
    recorder = Recorder(session_of_partners(num_parties=3, quorum=2), "A second report differs; the first one stands.")
    recorder.start(*make_names(3))
    recorder.deliver_requests()
    recorder.deliver("p0")
    first = next(m for m in recorder.messages if m["type"] == "Report" and m["from"] == "p0")
    (group,) = first["fields"]["payload"]
    recorder.forge("p0", SERVER, Report(0, raw([group])))
    recorder.deliver("p0")
    recorder.forge("p0", SERVER, Report(0, raw([(group + 1) % 3])))
    recorder.deliver("p0")
    recorder.deliver_all()
    return recorder


def _out_of_range() -> Recorder:
    session = session_of_partners(num_parties=3, quorum=2)
    return with_a_forged_report(session, "A report names a fourth group of three.", "p1", [3])


def _quorum_missed() -> Recorder:
    recorder = Recorder(
        session_of_partners(quorum=3), "Two of four are gone, three are required, and both sides say who."
    )
    recorder.start(*make_names(4))
    recorder.deliver_requests()
    recorder.deliver("p0")
    recorder.lose("p1")
    recorder.lose("p3")
    recorder.deliver_all()
    return recorder


def _inquiry_about_weights() -> Recorder:
    about = "Each party is told its public weight, in the terms and again when it is welcomed."
    recorder = Recorder(session_of_partners(num_parties=3, public_weights=True), about)
    for name in make_names(3):
        recorder.inquire(name)
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _changed_public_row() -> Recorder:
    about = "A server tells p0 that its weight is another than p0 agreed to."
    session = session_of_partners(num_parties=3, quorum=2, public_weights=True)
    recorder = Recorder(session, about)
    recorder.start("p0", "p1", "p2")
    heavier: list[int] = session.inputs.public[2].tolist()
    recorder.forge(SERVER, "p0", Welcome.make(session.protocol, public=heavier))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _changed_descriptor() -> Recorder:
    about = "A server tells p0 that another roster takes part than p0 agreed to."
    session = session_of_partners(num_parties=3, quorum=2, has_certificates=True)
    recorder = Recorder(session, about)
    recorder.start("p0", "p1", "p2")
    other = msgspec.structs.replace(session.descriptor, roster=FINGERPRINTS[0])
    recorder.forge(SERVER, "p0", Welcome.make(session.protocol, descriptor=other))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _release_for_one_alone() -> Recorder:
    about = "A server tells p0 something alone, which this protocol declares for nobody."
    recorder = Recorder(session_of_partners(num_parties=3), about)
    recorder.start(*make_names(3))
    while not any(entry["type"] == "Release" for entry in recorder.messages):
        recorder.deliver()
    sent = next(message for _, _, recipient, message in recorder.waiting if recipient == "p0")
    assert isinstance(sent, Release)
    recorder.forge(SERVER, "p0", msgspec.structs.replace(sent, own=raw({"weight": 1.0})))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _release_before_the_last_request() -> Recorder:
    about = "A server releases an outcome to p0 when it has asked for the weights alone; p0 takes none."
    recorder = Recorder(session_of_partners(num_parties=3, quorum=2), about)
    recorder.start(*make_names(3))
    while not any(entry["type"] == "Report" for entry in recorder.messages):
        recorder.deliver()
    recorder.forge(SERVER, "p0", Release(raw({"candidates": []})))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _changed_parameters() -> Recorder:
    recorder = Recorder(session_of_partners(num_parties=3, quorum=2), "A server asks p0 for more than was agreed to.")
    recorder.start("p0", "p1", "p2")
    other = DPWeVote(Parameters(candidates=("ada", "bob"), epsilon=20.0))
    recorder.forge(SERVER, "p0", Welcome.make(other))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _invented_outcome() -> Recorder:
    recorder = Recorder(
        session_of_partners(num_parties=3, quorum=2),
        "A first request with an outcome, of a phase that nobody has held.",
    )
    recorder.start("p0", "p1", "p2")
    recorder.deliver("p0")
    recorder.deliver(SERVER, "p0")
    recorder.forge(SERVER, "p0", Request(0, raw({"quota": {"value": 1.0, "standard_error": 0.0}})))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _invented_acknowledgement() -> Recorder:
    recorder = Recorder(
        session_of_partners(num_parties=3, quorum=2), "A server that has a report which was never sent."
    )
    recorder.start("p0", "p1", "p2")
    recorder.deliver("p0")
    recorder.deliver(SERVER, "p0")
    recorder.forge(SERVER, "p0", Acknowledgement(0))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _aborted_by_client() -> Recorder:
    recorder = Recorder(session_of_partners(num_parties=3), "A party leaves, and a quorum of all is out of reach.")
    recorder.start(*make_names(3))
    recorder.deliver("p0")
    recorder.forge("p0", SERVER, Abort("not today"))
    recorder.deliver_all()
    return recorder


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_joint": lambda: _good("The default variant."),
    "good_printed": lambda: _good("The paper's estimate.", variant="printed", num_parties=3),
    "good_laplace": lambda: _good("The paper's baseline.", variant="laplace", num_parties=3),
    "good_public_weights": lambda: _good("Only opinions are reported.", public_weights=True, num_parties=5),
    "good_central": lambda: _good("The server is trusted, and adds noise once.", variant="central"),
    "good_central_public_weights": lambda: _good(
        "The server is trusted; weights are public.", variant="central", public_weights=True, num_parties=5
    ),
    "good_per_candidate": lambda: _good(
        "Weights are collected again for each candidate.", weight_collection="per_candidate", num_parties=3
    ),
    "good_three_of_four": _three_of_four,
    "good_inquiry": _inquiry,
    "good_inquiry_about_weights": _inquiry_about_weights,
    "good_certificates": _certificates,
    "good_comes_back": _comes_back,
    "bad_version": lambda: _wrong_hello("A Hello of another version.", version=PROTOCOL_VERSION + 1),
    "bad_kind": lambda: _wrong_hello("A Hello of the other kind of session.", kind="deployment"),
    "bad_conflicting_report": _conflicting_report,
    "bad_report_out_of_range": _out_of_range,
    "bad_quorum_missed": _quorum_missed,
    "bad_changed_parameters": _changed_parameters,
    "bad_changed_descriptor": _changed_descriptor,
    "bad_changed_public_row": _changed_public_row,
    "bad_release_for_one_alone": _release_for_one_alone,
    "bad_release_before_the_last_request": _release_before_the_last_request,
    "bad_abort_by_client": _aborted_by_client,
    "bad_request_with_an_invented_outcome": _invented_outcome,
    "bad_acknowledgement_of_what_was_never_sent": _invented_acknowledgement,
    "bad_not_on_the_roster": lambda: _wrong_hello("A Hello of somebody who is not on the roster.", party="mallory"),
    "bad_certificate": lambda: _stranger("A Hello by another party's certificate.", FINGERPRINTS[1]),
    "bad_session_id": lambda: _stranger("A Hello of an earlier session.", "", session_id="f" * 32),
    "bad_inquiry": _inquiry_of_a_stranger,
    "bad_comes_back_after_its_report": _comes_back_after_its_report,
}
