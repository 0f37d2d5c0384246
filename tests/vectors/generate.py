"""Writes the test vectors of `v8/`: whole sessions, message by message, good ones and ones that must fail.

Everything in them follows from this file, so a second run writes the same bytes. `README.md` has the schema. Run it
with `python -m vectors.generate` in `tests/`, after a change of the wire that is meant, and then as a new version.
"""

import functools
import hashlib
import json
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from helpers import (
    SERVER,
    SESSION_NAME,
    Session,
    error_of,
    hello,
    make_names,
    messages_of,
    raw,
    receive_at_server,
)
from psephos.protocol import JOIN, Inputs, PhaseRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.effects import Effect, Finish
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Parameters as FairVotingParameters
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Abort,
    Charter,
    Inquiry,
    Message,
    Release,
    Report,
    Welcome,
    encode,
)
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm
from psephos.protocol.moral_preferences import Parameters as PreferenceParameters
from psephos.protocol.privacy import Ledger, NeighboringRelation
from psephos.protocol.truth_discovery import Parameters as TruthDiscoveryParameters
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.protocol.views import describe

__all__ = ["FOLDER", "VECTORS", "render"]

FOLDER: Final = pathlib.Path(__file__).parent / f"v{PROTOCOL_VERSION}"

FINGERPRINTS: Final = tuple(hashlib.sha256(f"the certificate of p{place}".encode()).hexdigest() for place in range(3))
"""Made up, as everything here; real ones are of certificates."""
CHARTER: Final = Charter("00112233445566778899aabbccddeeff", expires=2_000_000_000)
"""Of the sessions that have certificates, but for the roster's digest."""

Plain = dict[str, Any]


class Recorder:
    """Runs a session step by step and writes down every message and every operation.

    Args:
        session: the session.
        about: what the vector shows, as a sentence.
    """

    def __init__(self, session: Session, about: str) -> None:
        self.session = session
        self.about = about
        self.server = session.server()
        self.clients = {name: session.client(name) for name in session.names}
        self.messages: list[Plain] = []
        self.operations: list[Plain] = []
        self.released: msgspec.Struct | None = None
        self._came_by: dict[str, str] = {}
        self.waiting: list[tuple[int, str, str, Message]] = []
        self._note({"operation": "start", "at": SERVER}, SERVER, self.server.start())

    def start(self, *names: str) -> None:
        """Start these clients."""
        for name in names:
            self._note({"operation": "start", "at": name}, name, self.clients[name].start())

    def forge(self, sender: str, recipient: str, message: Message) -> None:
        """Let somebody send in `sender`'s name what its machine would not."""
        self._write(sender, recipient, message, forged=True)

    def deliver(self, sender: str | None = None, recipient: str | None = None) -> None:
        """Deliver the oldest message that is on its way, of this sender and for this recipient if they are named."""
        found = next(entry for entry in self.waiting if sender in {None, entry[1]} and recipient in {None, entry[2]})
        self.waiting.remove(found)
        number, source, target, message = found
        operation: Plain = {"operation": "receive", "at": target, "from": source, "message": number}
        if target == SERVER:
            came_by = self._came_by.get(source, self.session.roster.fingerprint_of(source))
            if came_by:
                operation["fingerprint"] = came_by
            effects = receive_at_server(self.server, source, message, fingerprint=came_by)
        else:
            effects = self.clients[target].receive(source, message)
        self._note(operation, target, effects)

    def come_by(self, party: str, fingerprint: str) -> None:
        """From now on, whoever speaks as this party has another certificate than the roster's; "" for its own again."""
        self._came_by[party] = fingerprint or self.session.roster.fingerprint_of(party)

    def inquire(self, party: str) -> None:
        """Let a party ask for the terms before its machine starts; who asked reads them."""
        self.forge(party, SERVER, Inquiry(PROTOCOL_VERSION, party))
        self.deliver(party)
        self.waiting = [entry for entry in self.waiting if entry[2] != party]

    def restart(self, party: str) -> None:
        """Let a party's process begin anew, with a ledger of its own."""
        self.session.ledgers[party] = Ledger(party)
        self.clients[party] = self.session.client(party)
        self._note({"operation": "restart", "at": party}, party, self.clients[party].start())

    def deliver_last(self) -> None:
        """Deliver what was sent last, before everything else."""
        self.waiting.insert(0, self.waiting.pop())
        self.deliver()

    def deliver_all(self) -> None:
        """Deliver everything in the order in which it was sent."""
        while self.waiting:
            self.deliver()

    def expire(self, phase: str) -> None:
        """Let a deadline pass."""
        operation: Plain = {"operation": "timeout", "at": SERVER, "phase": phase}
        self._note(operation, SERVER, self.server.receive_timeout(phase))

    def lose(self, party: str) -> None:
        """Let the server lose a connection, with what is on its way."""
        self.waiting = [entry for entry in self.waiting if party not in entry[1:3]]
        operation: Plain = {"operation": "loss", "at": SERVER, "from": party}
        self._note(operation, SERVER, self.server.receive_loss(party))

    def render(self) -> Plain:
        """Return the whole vector."""
        session = self.session
        rules = session.default_rules or PhaseRules()
        private: list[list[int]] = session.inputs.private.tolist()
        public: list[list[int]] = session.inputs.public.tolist()
        return {
            "version": PROTOCOL_VERSION,
            "about": self.about,
            "protocol": session.protocol.name,
            "kind": "simulation",
            "session": SESSION_NAME,
            "seed": session.seed,
            "rules": msgspec.to_builtins(rules),
            "parameters": msgspec.to_builtins(session.protocol.parameters),
            "roster": list(session.names),
            "fingerprints": None if session.roster.fingerprints is None else list(session.roster.fingerprints),
            "charter": msgspec.structs.asdict(session.charter),
            "private_rows": private,
            "public_rows": public,
            "messages": self.messages,
            "operations": self.operations,
            "outcome": msgspec.to_builtins(self.released),
        }

    def _note(self, operation: Plain, at: str, effects: Sequence[Effect]) -> None:
        error = error_of(effects)
        operation["success"] = error is None
        if error is not None:
            operation["error"] = type(error).__name__
            operation["reason"] = str(error)
        operation["sends"] = [
            self._write(at, recipient, message, forged=False)
            for recipients, message in messages_of(effects)
            for recipient in recipients
        ]
        for effect in effects:
            if isinstance(effect, Finish):
                operation["finishes"] = True
                if at != SERVER:
                    assert self.released in {None, effect.result}
                    self.released = effect.result
        self.operations.append(operation)

    def _write(self, sender: str, recipient: str, message: Message, *, forged: bool) -> int:
        described = describe(message)
        entry: Plain = {
            "type": described.pop("type"),
            "from": sender,
            "to": recipient,
            "bytes": encode(message).hex(),
            "fields": described,
        }
        if forged:
            entry["forged"] = True
        number = len(self.messages)
        self.messages.append(entry)
        self.waiting.append((number, sender, recipient, message))
        return number


def _session(*, quorum: float = 1.0, num_parties: int = 4, has_certificates: bool = False, **given: Any) -> Session:
    weights = [1.0, 2.0, 3.0, 2.0, 1.0][:num_parties]
    vote = DPWeVote(Parameters(candidates=("ada", "bob"), epsilon=2.0, **given))
    opinions = {"ada": [1, 0, 1, 1, 0][:num_parties], "bob": [0, 0, 1, 0, 1][:num_parties]}
    inputs = vote.encode({"weight": weights, **opinions})
    session = functools.partial(Session, vote, inputs, seed=2018, default_rules=PhaseRules(quorum=quorum))
    if not has_certificates:
        return session()
    charter = msgspec.structs.replace(CHARTER, roster=session(fingerprints=FINGERPRINTS).roster.digest)
    return session(fingerprints=FINGERPRINTS, charter=charter)


ONE_SET: Final[Plain] = {"answer_sets": (("no", "yes"),), "tasks": ("bridge", "tunnel", "ferry")}
MIXED_SETS: Final[Plain] = {
    "answer_sets": (("no", "yes"), ("red", "green", "blue")),
    "tasks": ("bridge", "tunnel", "flag", "door"),
    "answer_set_of_task": (0, 0, 1, 1),
}


def _crowd(columns: Mapping[str, Sequence[tuple[str, str]]], *, quorum: float = 1.0, **given: Any) -> Session:
    """Return a truth discovery session.

    Args:
        columns: for each worker its tasks with its answers, blank where it skips one.
        quorum: how many must take part.
        given: parameters.
    """
    protocol = TruthDiscovery(TruthDiscoveryParameters(max_answers=3, **given))
    tasks = [[task for task, _ in pairs] for pairs in columns.values()]
    answers = [[answer for _, answer in pairs] for pairs in columns.values()]
    inputs = protocol.encode({"tasks": tasks, "answers": answers})
    return Session(protocol, inputs, names=tuple(columns), seed=2018, default_rules=PhaseRules(quorum=quorum))


def _good_crowd(about: str, columns: Mapping[str, Sequence[tuple[str, str]]], **given: Any) -> Recorder:
    recorder = Recorder(_crowd(columns, **given), about)
    recorder.start(*recorder.session.names)
    recorder.deliver_all()
    return recorder


YES_OR_NO: Final = {
    "p0": (("bridge", "yes"), ("tunnel", "no"), ("ferry", "yes")),
    "p1": (("ferry", "yes"), ("bridge", "yes")),
    "p2": (("tunnel", "no"), ("bridge", "no"), ("ferry", "yes")),
    "p3": (("tunnel", "yes"),),
}
MIXED: Final = {
    "p0": (("flag", "blue"), ("bridge", "yes"), ("door", "red")),
    "p1": (("bridge", "yes"), ("tunnel", "no")),
    "p2": (("flag", "blue"), ("door", "green"), ("tunnel", "no")),
    "p3": (("door", "red"),),
}
SKIPPED: Final = {
    "p0": (("bridge", "yes"), ("tunnel", ""), ("flag", "blue")),
    "p1": (("bridge", ""), ("tunnel", "")),
    "p2": (("flag", ""), ("bridge", "no"), ("tunnel", "")),
    "p3": (),
}


def _forged_answers(about: str, answers: Sequence[int]) -> Recorder:
    """Let p3, who is asked about the door alone, report these codes."""
    recorder = Recorder(_crowd(MIXED, quorum=3, **MIXED_SETS), about)
    recorder.start(*make_names(4))
    for _ in range(12):  # hellos, welcomes and requests
        recorder.deliver()
    recorder.forge("p3", SERVER, Report(0, raw(list(answers))))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _good(about: str, **given: Any) -> Recorder:
    recorder = Recorder(_session(**given), about)
    recorder.start(*recorder.session.names)
    recorder.deliver_all()
    return recorder


def _three_of_four() -> Recorder:
    recorder = Recorder(_session(quorum=3), "A report is lost, and three of four are enough.")
    recorder.start(*make_names(4))
    for _ in range(12):  # hellos, welcomes and requests
        recorder.deliver()
    for party in ("p0", "p1", "p3"):
        recorder.deliver(party)
    recorder.expire("weights")
    recorder.deliver("p2")  # late: neither counted nor a fault
    recorder.deliver_all()
    return recorder


def _wrong_hello(about: str, **changes: Any) -> Recorder:
    recorder = Recorder(_session(num_parties=3, quorum=2), about)
    recorder.start("p0", "p1")
    recorder.forge("p2", SERVER, hello("p2", **changes))
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.deliver_all()
    return recorder


def _inquiry() -> Recorder:
    recorder = Recorder(_session(num_parties=3), "Each party asks for the terms, and then takes part.")
    for name in make_names(3):
        recorder.inquire(name)
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _certificates() -> Recorder:
    session = _session(num_parties=3, has_certificates=True)
    recorder = Recorder(session, "Every party comes by its own certificate and names the session's id; p0 asks first.")
    recorder.inquire("p0")
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _stranger(about: str, fingerprint: str, *, session_id: str = CHARTER.id) -> Recorder:
    recorder = Recorder(_session(num_parties=3, quorum=2, has_certificates=True), about)
    recorder.start("p0", "p1")
    recorder.come_by("p2", fingerprint)
    recorder.forge("p2", SERVER, hello("p2", session_id=session_id))
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.deliver_all()
    return recorder


def _inquiry_of_a_stranger() -> Recorder:
    about = "An inquiry by another party's certificate is refused; then the party comes by its own."
    recorder = Recorder(_session(num_parties=3, has_certificates=True), about)
    recorder.come_by("p2", FINGERPRINTS[1])
    recorder.inquire("p2")
    recorder.come_by("p2", "")
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _comes_back() -> Recorder:
    about = "p1 is lost while others join, p2 in the first phase with its report on its way; both come back."
    recorder = Recorder(_session(quorum=3), about)
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
    recorder = Recorder(_session(quorum=3), about)
    recorder.start(*make_names(4))
    for _ in range(12):  # hellos, welcomes and requests
        recorder.deliver()
    recorder.deliver("p2")
    recorder.lose("p2")
    recorder.restart("p2")
    recorder.deliver("p2")
    recorder.deliver_all()
    return recorder


def _conflicting_report() -> Recorder:
    recorder = Recorder(_session(num_parties=3, quorum=2), "A second report differs; the first one stands.")
    recorder.start(*make_names(3))
    for _ in range(9):
        recorder.deliver()
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
    recorder = Recorder(_session(num_parties=3, quorum=2), "A report names a fourth group of three.")
    recorder.start(*make_names(3))
    for _ in range(9):
        recorder.deliver()
    recorder.forge("p1", SERVER, Report(0, raw([3])))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _quorum_missed() -> Recorder:
    recorder = Recorder(_session(quorum=3), "Two of four are gone, three are required, and both sides say who.")
    recorder.start(*make_names(4))
    for _ in range(12):
        recorder.deliver()
    recorder.deliver("p0")
    recorder.lose("p1")
    recorder.lose("p3")
    recorder.deliver_all()
    return recorder


def _inquiry_about_weights() -> Recorder:
    about = "Each party is told its public weight, in the terms and again when it is welcomed."
    recorder = Recorder(_session(num_parties=3, public_weights=True), about)
    for name in make_names(3):
        recorder.inquire(name)
    recorder.start(*make_names(3))
    recorder.deliver_all()
    return recorder


def _changed_public_row() -> Recorder:
    about = "A server tells p0 that its weight is another than p0 agreed to."
    session = _session(num_parties=3, quorum=2, public_weights=True)
    recorder = Recorder(session, about)
    recorder.start("p0", "p1", "p2")
    heavier: list[int] = session.inputs.public[2].tolist()
    recorder.forge(SERVER, "p0", Welcome(PROTOCOL_VERSION, session.protocol.encoded_parameters, tuple(heavier)))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _changed_charter() -> Recorder:
    about = "A server tells p0 that another roster takes part than p0 agreed to."
    session = _session(num_parties=3, quorum=2, has_certificates=True)
    recorder = Recorder(session, about)
    recorder.start("p0", "p1", "p2")
    other = msgspec.structs.replace(session.charter, roster=FINGERPRINTS[0])
    recorder.forge(SERVER, "p0", Welcome(PROTOCOL_VERSION, session.protocol.encoded_parameters, charter=other))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _release_for_one_alone() -> Recorder:
    about = "A server tells p0 something alone, which this protocol declares for nobody."
    recorder = Recorder(_session(num_parties=3), about)
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
    recorder = Recorder(_session(num_parties=3, quorum=2), about)
    recorder.start(*make_names(3))
    while not any(entry["type"] == "Report" for entry in recorder.messages):
        recorder.deliver()
    recorder.forge(SERVER, "p0", Release(raw({"candidates": []})))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _changed_parameters() -> Recorder:
    recorder = Recorder(_session(num_parties=3, quorum=2), "A server asks p0 for more than was agreed to.")
    recorder.start("p0", "p1", "p2")
    other = DPWeVote(Parameters(candidates=("ada", "bob"), epsilon=20.0))
    recorder.forge(SERVER, "p0", Welcome(PROTOCOL_VERSION, other.encoded_parameters))
    recorder.deliver(SERVER, "p0")
    recorder.deliver_all()
    return recorder


def _aborted_by_client() -> Recorder:
    recorder = Recorder(_session(num_parties=3), "A party leaves, and a quorum of all is out of reach.")
    recorder.start(*make_names(3))
    recorder.deliver("p0")
    recorder.forge("p0", SERVER, Abort("not today"))
    recorder.deliver_all()
    return recorder


PAIRS: Final = (
    (((3.0, 0.0), (1.0, 1.0)), ((0.0, 2.0), (0.0, 0.0))),
    (((1.0, 1.0), (2.0, 0.0)),),
    (((0.0, 0.5), (1.0, 0.0)), ((2.0, 1.0), (0.0, 1.0)), ((1.0, 0.0), (1.0, 0.0))),
    (((5.0, -1.0), (0.0, 0.0)), ((0.0, 1.0), (1.0, 1.0))),
)
"""Each voter's records: for each the features of what it chose and of what it rejected."""
FITTED: Final = ((1 << 20, 0), (300_000, -200_000), (-500_001, 77), (0, 0))
"""Each voter's preference vector, in steps of 2**-19; a solver's last bits are no matter of the wire."""


def _preferences(*, quorum: float = 1.0, epsilon_of_voters: Sequence[float] = (), **given: Any) -> Session:
    """Return a session on moral preferences.

    Args:
        quorum: how many must take part.
        epsilon_of_voters: each voter's own ε, where they have one.
        given: parameters.
    """
    if epsilon_of_voters:
        given["epsilons"] = tuple(sorted(set(epsilon_of_voters)))
    protocol = MoralPreferences(PreferenceParameters(features=("young", "many"), max_records=3, **given))
    if protocol.parameters.mechanism == "laplace":
        table = {"epsilon": epsilon_of_voters, "society": ("north", "south", "south", "north")}
        public = protocol.encode_public(table, num_parties=len(FITTED))
        inputs = Inputs(np.array(FITTED, dtype=np.int64), public)
    else:
        inputs = protocol.encode({"records": PAIRS})
    return Session(protocol, inputs, seed=2019, default_rules=PhaseRules(quorum=quorum))


def _good_preferences(about: str, **given: Any) -> Recorder:
    recorder = Recorder(_preferences(**given), about)
    recorder.start(*recorder.session.names)
    recorder.deliver_all()
    return recorder


def _forged_preferences(about: str, report: Sequence[int]) -> Recorder:
    """Let p2 disclose these numbers to an aggregator that voters trust, while three of four are enough."""
    recorder = Recorder(_preferences(quorum=3, paradigm=Paradigm.VLCP), about)
    recorder.start(*make_names(4))
    for _ in range(12):  # hellos, welcomes and requests
        recorder.deliver()
    recorder.forge("p2", SERVER, Report(0, raw(list(report))))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _chosen_outside() -> Recorder:
    """Let p2 say in its Hello that it chooses the fourth of three levels, while three of four are enough."""
    levels = (1.0, 0.25, 1.0, 4.0)
    session = _preferences(quorum=3, epsilon_of_voters=levels, chosen_by="voter")
    recorder = Recorder(session, "A voter chooses an ε that is no level, and is refused; the others go on.")
    recorder.start("p0", "p1", "p3")
    recorder.forge("p2", SERVER, hello("p2", protocol="moral-preferences", chosen=(3,)))
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.deliver_all()
    return recorder


BALLOTS: Final = (
    ("north", "harbor > park > market"),
    ("south", "market > park > harbor"),
    ("north", "harbor > market > park"),
    ("north", "park > harbor > market"),
    ("south", "market > harbor > park"),
)
"""Each voter's group and ranking."""


def _ballots(*, quorum: float | None = 1.0, **given: Any) -> Session:
    """Return a fair vote.

    Args:
        quorum: how many must take part; None where that is private.
        given: parameters.
    """
    table = {"group": [group for group, _ in BALLOTS], "ranking": [ranking for _, ranking in BALLOTS]}
    protocol = FairVoting(FairVotingParameters(**FairVoting.complete(given, table)))
    return Session(protocol, protocol.encode(table), seed=2021, default_rules=PhaseRules(quorum=quorum))


def _good_ballots(about: str, **given: Any) -> Recorder:
    recorder = Recorder(_ballots(**given), about)
    recorder.start(*recorder.session.names)
    recorder.deliver_all()
    return recorder


def _ballots_of_four() -> Recorder:
    about = "A ranking is lost, and four of five are enough: who is missing leaves the utilities of the center."
    recorder = Recorder(_ballots(quorum=4), about)
    recorder.start(*make_names(5))
    for _ in range(15):  # hellos, welcomes and requests
        recorder.deliver()
    for party in ("p0", "p1", "p2", "p4"):
        recorder.deliver(party)
    recorder.expire("rankings")
    recorder.deliver_all()
    return recorder


_HIDING: Final[Plain] = {"relation": NeighboringRelation.ADD_OR_REMOVE_ONE, "quorum": None}


def _hidden_ballots() -> Recorder:
    about = "Algorithm 1 with its printed noise; one voter is added or removed, so that only deadlines close phases."
    recorder = Recorder(_ballots(calibration="printed", **_HIDING), about)
    recorder.start(*make_names(5))
    recorder.deliver_all()  # all have joined, and are not asked before the deadline
    recorder.expire(JOIN)
    recorder.deliver_all()
    recorder.expire("rankings")
    recorder.deliver_all()
    return recorder


def _ballots_of_nobody() -> Recorder:
    about = "One voter is asked and lost, and nobody else comes: where that is private, noise alone is released."
    recorder = Recorder(_ballots(mechanism="exponential", **_HIDING), about)
    recorder.start("p2")
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.lose("p2")
    recorder.expire("rankings")
    return recorder


def _forged_ballot(about: str, positions: Sequence[int]) -> Recorder:
    """Let p2 disclose these positions to an aggregator that voters trust, while four of five are enough."""
    recorder = Recorder(_ballots(quorum=4), about)
    recorder.start(*make_names(5))
    for _ in range(15):  # hellos, welcomes and requests
        recorder.deliver()
    recorder.forge("p2", SERVER, Report(0, raw(list(positions))))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_joint": lambda: _good("The default variant."),
    "good_printed": lambda: _good("The paper's estimate.", variant="printed", num_parties=3),
    "good_laplace": lambda: _good("The paper's baseline.", variant="laplace", num_parties=3),
    "good_public_weights": lambda: _good("Only opinions are reported.", public_weights=True, num_parties=5),
    "good_per_candidate": lambda: _good(
        "Weights are collected again for each candidate.", weight_collection="per_candidate", num_parties=3
    ),
    "good_three_of_four": _three_of_four,
    "good_inquiry": _inquiry,
    "good_inquiry_about_weights": _inquiry_about_weights,
    "good_certificates": _certificates,
    "good_comes_back": _comes_back,
    "good_one_layer": lambda: _good_crowd(
        "Each answer is perturbed by itself; each worker is told its own weight.", YES_OR_NO, **ONE_SET
    ),
    "good_two_layer": lambda: _good_crowd(
        "Each worker draws its own flip probability for all its answers.",
        YES_OR_NO,
        mechanism="two_layer",
        estimator="truth_discovery",
        **ONE_SET,
    ),
    "good_fresh_two_layer": lambda: _good_crowd(
        "A flip probability is drawn for each answer.",
        YES_OR_NO,
        mechanism="fresh_two_layer",
        estimator="majority",
        **ONE_SET,
    ),
    "good_mixed_answer_sets": lambda: _good_crowd(
        "Answer sets of two and of three labels: a code names both.", MIXED, epsilon=3.0, **MIXED_SETS
    ),
    "good_skipped_answers": lambda: _good_crowd(
        "Answers are skipped, p1 skips all, p3 is asked nothing, and two tasks have no answer: none is made up.",
        SKIPPED,
        mechanism="two_layer",
        flip_probability=0.25,
        **MIXED_SETS,
    ),
    "good_preferences_local": lambda: _good_preferences("VLDP: each voter perturbs its own preference vector."),
    "good_preferences_central": lambda: _good_preferences(
        "VLCP: reports are the voters' own vectors as they are, and the server perturbs their sum.",
        paradigm=Paradigm.VLCP,
        project=True,
    ),
    "good_preferences_personal": lambda: _good_preferences(
        "RLDP: voters have an ε of their own, which is public, and the mean is weighted.",
        paradigm=Paradigm.RLDP,
        epsilon_of_voters=(1.0, 0.25, 1.0, 4.0),
    ),
    "good_preferences_chosen": lambda: _good_preferences(
        "VLDP: voters choose their own ε as they join; the server knows it by their Hellos alone.",
        epsilon_of_voters=(1.0, 0.25, 1.0, 4.0),
        chosen_by="voter",
    ),
    "good_preferences_societies": lambda: _good_preferences(
        "VLCP: two societies; the server draws noise for the sum of each, and the second one's from another stream.",
        paradigm=Paradigm.VLCP,
        societies=("north", "south"),
    ),
    "bad_preferences_chosen_outside_the_levels": _chosen_outside,
    "good_preferences_direction": lambda: _good_preferences(
        "RLDP: each voter perturbs the sum of its records' directions, whitened by a public covariance.",
        paradigm=Paradigm.RLDP,
        mechanism="direction",
        covariance=((4.0, 2.0), (2.0, 5.0)),
    ),
    "bad_preferences_outside_the_ball": lambda: _forged_preferences(
        "A voter discloses a vector that is one step of the grid outside of the ball; the others go on.",
        [1 << 20, 1],
    ),
    "bad_preferences_of_another_width": lambda: _forged_preferences(
        "A voter discloses three numbers where there are two features; the others go on.", [0, 0, 0]
    ),
    "good_rankings_laplace": lambda: _good_ballots(
        "Algorithm 1: rankings are shown to the server, which adds noise to the groups' utilities.",
        objective="constrained",
        max_disparity=0.5,
    ),
    "good_rankings_printed": _hidden_ballots,
    "good_rankings_of_nobody": _ballots_of_nobody,
    "good_rankings_sampling": lambda: _good_ballots(
        "Algorithm 2: the server samples answers, and releases the winner alone.",
        mechanism="sampling",
        num_samples=4,
        gamma=0.25,
    ),
    "good_rankings_proven": lambda: _good_ballots(
        "Algorithm 2 with γ and n_s that are chosen so that ε is proven: both sides find the same ones.",
        mechanism="sampling",
        calibration="proven",
        epsilon=2.0,
        num_samples=4,
    ),
    "good_rankings_above_a_floor": lambda: _good_ballots(
        "The fairest plan among those with half of the greatest welfare, by permute-and-flip.",
        mechanism="permute_and_flip",
        objective="welfare_constrained",
        welfare_share=0.5,
        epsilon=3.0,
    ),
    "good_rankings_subsample": lambda: _good_ballots(
        "Algorithm 2 where voters are sampled first: the server draws twice, from streams of their own.",
        mechanism="sampling",
        num_samples=2,
        reading="subsample",
        scale="printed",
    ),
    "good_rankings_exponential": lambda: _good_ballots(
        "The exponential mechanism on welfare less disparity, for scores of any kind.",
        mechanism="exponential",
        objective="penalized",
        scores=(4.0, 3.0, 0.0),
        epsilon=2.0,
    ),
    "good_rankings_flipped": lambda: _good_ballots(
        "Permute-and-flip in its place.", mechanism="permute_and_flip", epsilon=2.0
    ),
    "good_rankings_pair": lambda: _good_ballots(
        "Each voter answers one comparison of a pair by randomized response.", mechanism="sampled_pair"
    ),
    "good_rankings_position": lambda: _good_ballots(
        "Each voter tells one alternative's position.", mechanism="sampled_position", scores="plurality"
    ),
    "good_rankings_whole": lambda: _good_ballots(
        "Each voter tells its whole ranking or another one; the mechanism with the least variance was asked for.",
        mechanism="local",
        epsilon=4.0,
    ),
    "good_rankings_scores": lambda: _good_ballots(
        "Each voter adds noise to the scores of all alternatives.", mechanism="noisy_scores", scores="veto"
    ),
    "good_rankings_of_four": _ballots_of_four,
    "bad_ranking_repeated_position": lambda: _forged_ballot(
        "A voter puts two alternatives at the top; the others go on.", [0, 0, 1]
    ),
    "bad_ranking_below_the_best": lambda: _forged_ballot(
        "A voter names a position above the best, which would weigh more than a vote; the others go on.", [-1, 0, 1]
    ),
    "bad_version": lambda: _wrong_hello("A Hello of another version.", version=PROTOCOL_VERSION + 1),
    "bad_kind": lambda: _wrong_hello("A Hello of the other kind of session.", kind="deployment"),
    "bad_conflicting_report": _conflicting_report,
    "bad_report_out_of_range": _out_of_range,
    "bad_answer_outside_its_set": lambda: _forged_answers(
        "A report answers a question of colors by yes, a code of another answer set.", [1, -1, -1]
    ),
    "bad_answer_to_no_task": lambda: _forged_answers("A report holds two answers where one was asked for.", [2, 3, -1]),
    "bad_quorum_missed": _quorum_missed,
    "bad_changed_parameters": _changed_parameters,
    "bad_changed_charter": _changed_charter,
    "bad_changed_public_row": _changed_public_row,
    "bad_release_for_one_alone": _release_for_one_alone,
    "bad_release_before_the_last_request": _release_before_the_last_request,
    "bad_abort_by_client": _aborted_by_client,
    "bad_not_on_the_roster": lambda: _wrong_hello("A Hello of somebody who is not on the roster.", party="mallory"),
    "bad_certificate": lambda: _stranger("A Hello by another party's certificate.", FINGERPRINTS[1]),
    "bad_session_id": lambda: _stranger("A Hello of an earlier session.", "", session_id="f" * 32),
    "bad_inquiry": _inquiry_of_a_stranger,
    "bad_comes_back_after_its_report": _comes_back_after_its_report,
}


def render(name: str) -> str:
    """Return the text of one vector's file."""
    return json.dumps(VECTORS[name]().render(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all files of this version."""
    FOLDER.mkdir(exist_ok=True)
    for name in VECTORS:
        (FOLDER / f"{name}.json").write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main()
