"""Sessions under faults: lists of operations, executed on the pretend wire.

What counts as failure:

- a report counted twice: a phase's tally covers more reports, or larger ones, than the wire handed over in time;
- a party's fault that changes another's row of the server's table;
- a result that differs from the array result over exactly those who reported in time;
- a machine that raises, whatever a peer or the network does;
- a hang: a party that has neither finished nor failed though all deadlines have expired;
- a privacy loss charged without a draw, a draw without a charge, a report drawn twice by one process, or drawn by a
  process that came back after its party had reported;
- an outcome that a client hears and the server did not release.

What does not count: a party whose row ends because the network repeated, swapped or damaged what it sent, since a
transport promises not to; a session that ends without its quorum, as long as both sides name who was missing. A
process that is restarted knows nothing of what it drew before, and has a ledger of its own: as long as the server has
accepted no report of its party it draws, else it is refused and draws nothing.

The rows of a session weigh their reports by place (weights 1, 2, 4, 8, …, at an ε at which lies are rare), so that a
report counted twice, or one party's for another's, shows in the tallies. There is no nondeterminism left: an
operation names its party, and the order of deliveries is drawn.
"""

import dataclasses
from typing import Literal, get_args

import pytest
from helpers import Session, Wire, encoded_values, make_fair_vote, outcome_of_those_who_reported
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psephos.protocol import MalformedMessageError, QuorumError, RemoteProtocolError, SessionRules, Side
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.messages import Report, decode
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.states import CONVERSATION, SESSION, State
from quiz import Parameters as QuizParameters
from quiz import Quiz
from strategies import CHECKED
from thoroughness import draws

NUM_PARTIES = 4

Kind = Literal[
    "deliver up",
    "deliver down",
    "drop up",
    "drop down",
    "repeat up",
    "repeat down",
    "swap up",
    "swap down",
    "damage up",
    "damage down",
    "crash before handling",
    "crash after handling",
    "lose",
    "restart",
    "expire",
    "expire early",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

Variant = Literal["joint", "printed", "laplace", "quiz", "hidden"]


@dataclasses.dataclass(frozen=True)
class Operation:
    """One thing that happens.

    Args:
        kind: what. A drop loses, a repeat copies the first payload of the party's queue to its end, a swap delays it
            behind the second, damage flips a bit; a crash before handling throws the next payload for the party away,
            one after handling lets the party answer it; a restart is a new process over a new connection; "expire" is
            the oldest deadline, "expire early" any other.
        place: whose party's place, or which bit.
    """

    kind: Kind
    place: int = 0


def make_session(quorum: float, *, variant: Variant = "joint") -> Session:
    """Return a session of four whose weights tell them apart in every sum; elsewhere, the rows do that.

    A vote that hides who takes part has no quorum.
    """
    if variant == "hidden":
        vote = make_fair_vote(2, 2, epsilon=24.0, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
        table = {"group": ["g0", "g1", "g0", "g1"], "ranking": ["a>b>c", "c>a>b", "b>a>c", "b>c>a"]}
        return Session(vote, vote.encode(table), seed=11, clients_know=False)
    if variant == "quiz":
        quiz = Quiz(QuizParameters(num_tasks=4, epsilon=24.0))
        table = {"tasks": ["0", "0 1", "0 2 3", ""], "answers": ["1", "1 0", "1 1 0", ""], "favorite": list("0120")}
        rules = SessionRules(quorum=quorum)
        return Session(quiz, quiz.encode(table), seed=11, rules=rules, clients_know=False)
    vote = DPWeVote(
        Parameters(candidates=("ada", "bob"), weights=(1.0, 2.0, 4.0, 8.0), variant=variant, epsilon=24.0, quota=7.0)
    )
    inputs = vote.encode({"weight": [1, 2, 4, 8], "ada": [1, 1, 1, 1], "bob": [1, 0, 1, 0]})
    return Session(vote, inputs, seed=11, rules=SessionRules(quorum=quorum))


class Run:
    """Executes operations on a wire and remembers what the server was handed in time.

    Attributes:
        in_time: for each phase, the places of those whose report the server accepted, found without asking it.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.wire = session.wire()
        self.in_time: list[set[int]] = [set() for _ in session.protocol.phases]

    def execute(self, operations: list[Operation]) -> Wire:
        """Start, execute all operations, let the rest happen in order, and check."""
        self.wire.start()
        for operation in operations:
            self.step(operation)
        self._let_the_rest_happen()
        self.wire.check_end()
        self._check()
        return self.wire

    def step(self, operation: Operation) -> None:
        wire = self.wire
        party = self.session.names[operation.place % NUM_PARTIES]
        action, _, direction = operation.kind.partition(" ")
        queue = (wire.up if direction == "up" else wire.down)[party]
        match action:
            case "deliver" if queue:
                self._deliver(direction, party)
            case "drop" if queue:
                queue.popleft()
            case "repeat" if queue:
                queue.append(queue[0])
            case "swap" if len(queue) > 1:
                queue.insert(1, queue.popleft())
            case "damage" if queue:
                payload = bytearray(queue.popleft())
                payload[operation.place // NUM_PARTIES % len(payload)] ^= 1 << operation.place % 8
                queue.appendleft(bytes(payload))
            case "crash":
                if direction == "after handling" and wire.down[party]:
                    self._deliver("down", party)
                wire.crash(party)
            case "lose":
                wire.lose(party)
            case "restart":
                wire.restart(party)
            case "expire":
                if direction == "early":
                    phases = ["join", *(phase.name for phase in self.session.protocol.phases)]
                    wire.expire(phases[operation.place % len(phases)])
                elif wire.deadlines:
                    wire.expire(wire.deadlines[0])
            case _:
                pass  # there was nothing to do it to
        self._check_attendance()

    def _check_attendance(self) -> None:
        """Check that who is there and who is awaited are as many as the server counts."""
        server, attendance = self.wire.server, self.wire.server.attendance
        assert (attendance is None) == self.session.protocol.hides_participation
        if attendance is None:
            return
        phase, *counts = server.progress
        if SESSION[server.state]:
            assert attendance.num_received[phase] == len(attendance.present)
            assert counts == [len(attendance.present), len(attendance.awaited)]
        else:
            assert attendance.awaited == ()

    def _deliver(self, direction: str, party: str) -> None:
        wire = self.wire
        if direction == "down":
            wire.feed_client(party, wire.down[party].popleft())
            return
        payload = wire.up[party].popleft()
        before = wire.server.state_of(party)
        open_phase = len(wire.accepted) - 1  # joining closes first
        wire.feed_server(party, payload)
        if before is State.ASKED and party not in wire.drops:
            try:
                message = decode(payload)
            except MalformedMessageError:
                return
            if isinstance(message, Report) and encoded_values(payload)[0] == open_phase:
                self.in_time[open_phase].add(self.session.names.index(party))

    def _let_the_rest_happen(self) -> None:
        wire = self.wire
        while True:
            available = wire.available()
            if available:
                self._deliver(*available[0])
            elif not wire.hang_up():
                if not wire.deadlines or not SESSION[wire.server.state]:
                    return
                wire.expire(wire.deadlines[0])

    def _check(self) -> None:
        """Compare with the arrays over those who reported in time."""
        wire = self.wire
        if wire.result is None:
            error = wire.failure
            assert not self.session.protocol.hides_participation, "whoever came is counted"
            assert isinstance(error, QuorumError)
            assert error.received < error.required
            for failure in wire.failures.values():
                if isinstance(failure, QuorumError):
                    assert (failure.phase, failure.missing) == (error.phase, error.missing)
            return
        hides = self.session.protocol.hides_participation
        assert wire.result.num_received == tuple(None if hides else len(places) for places in self.in_time)
        outcome, tallies = outcome_of_those_who_reported(self.session, [sorted(places) for places in self.in_time])
        assert wire.result.tallies == tallies
        assert wire.result.outcome == outcome
        assert wire.result.own_outcomes == self.session.protocol.own_outcomes(tallies)


FAIR: tuple[Kind, ...] = ("deliver up", "deliver down")
# Damage may turn a report into another one that is as good; those who report are then not told by place alone.
WITHOUT_DAMAGE: tuple[Kind, ...] = tuple(kind for kind in KINDS if not kind.startswith("damage"))


def operations(kinds: tuple[Kind, ...]) -> st.SearchStrategy[list[Operation]]:
    """Return lists of operations in which most are deliveries, so that sessions get somewhere."""
    kind = st.sampled_from(kinds) | st.sampled_from(FAIR) | st.sampled_from(FAIR)
    return st.lists(st.builds(Operation, kind, st.integers(0, 63)), max_size=60)


quorums = st.sampled_from([1, 2, 3, 4, 0.5, 1.0])
variants = st.sampled_from(["joint", "printed", "laplace", "quiz", "hidden"])


@settings(CHECKED, max_examples=draws(40, full=600))
@given(quorums, variants, operations(WITHOUT_DAMAGE))
def test_a_session_under_faults_gives_the_result_of_those_who_reported_in_time(
    quorum: float, variant: Variant, drawn: list[Operation]
) -> None:
    Run(make_session(quorum, variant=variant)).execute(drawn)


@settings(CHECKED, max_examples=draws(50, full=400))
@given(quorums, variants, operations(KINDS))
@example(quorum=1, variant="joint", drawn=[])
@example(quorum=1, variant="quiz", drawn=[])
def test_damage_on_the_wire_never_raises_hangs_or_charges_without_a_draw(
    quorum: float, variant: Variant, drawn: list[Operation]
) -> None:
    run = Run(make_session(quorum, variant=variant))
    run.wire.start()
    for operation in drawn:
        run.step(operation)
    run.wire.run()
    assert not SESSION[run.wire.server.state]
    # A damaged release may be read as another outcome, so here a client must only end.
    for name, client in run.wire.clients.items():
        assert name in run.wire.crashed or not CONVERSATION[Side.CLIENT][client.state]


# Runs that are kept by name


def deliver_all(direction: Literal["up", "down"], *places: int) -> list[Operation]:
    kind: Kind = "deliver up" if direction == "up" else "deliver down"
    return [Operation(kind, place) for place in (places or range(NUM_PARTIES))]


JOINED = [*deliver_all("up"), *deliver_all("down")]
ASKED = [*JOINED, *deliver_all("down")]
WEIGHED = [*ASKED, *deliver_all("up"), *deliver_all("down")]

NAMED: dict[str, tuple[float, list[Operation], tuple[int, ...] | None]] = {
    "nothing happens to it": (1.0, [], (4, 4)),
    "everybody is heard in reverse": (1.0, [*deliver_all("up", 3, 2, 1, 0), *deliver_all("down", 3, 2, 1, 0)], (4, 4)),
    "a party never connects": (3, [Operation("drop up", 0), Operation("lose", 0)], (3, 3)),
    "a party crashes before it is asked": (3, [*JOINED, Operation("crash before handling", 2)], (3, 3)),
    "a party crashes after it has answered": (3, [*JOINED, Operation("crash after handling", 2)], (4, 3)),
    "a party crashes when it has reported all": (3, [*WEIGHED, Operation("crash before handling", 1)], (4, 4)),
    "a report is lost": (3, [*ASKED, Operation("drop up", 3)], (3, 3)),
    "a report is late": (
        3,
        [*ASKED, *deliver_all("up", 0, 1, 2), Operation("expire early", 1), *deliver_all("up", 3)],
        (3, 3),
    ),
    "a deadline expires twice": (
        2,
        [*ASKED, *deliver_all("up", 0, 1), Operation("expire early", 1), Operation("expire early", 1)],
        (2, 2),
    ),
    "a deadline comes before its phase": (1.0, [Operation("expire early", 2), *ASKED], (4, 4)),
    "joining expires with three of four": (3, [*deliver_all("up", 0, 1, 2), Operation("expire")], (3, 3)),
    "a report is repeated while others are awaited": (
        1.0,
        [*ASKED, Operation("repeat up", 0), *deliver_all("up", 0, 0)],
        (4, 4),
    ),
    "two parties are lost of whom the quorum needs one": (
        3,
        [*JOINED, Operation("lose", 0), Operation("lose", 1)],
        None,
    ),
    "a party comes back while others join": (
        1.0,
        [*deliver_all("up", 0, 1), Operation("restart", 0), *deliver_all("up", 2, 3)],
        (4, 4),
    ),
    "a party comes back before it has reported": (1, [*ASKED, Operation("restart", 2)], (4, 4)),
    "a party comes back whose report was on its way": (
        1,
        [*ASKED, Operation("drop up", 2), Operation("restart", 2)],
        (4, 4),
    ),
    "a party comes back that has reported": (3, [*ASKED, *deliver_all("up", 2), Operation("restart", 2)], (4, 3)),
    "a party comes back twice": (1, [*ASKED, Operation("restart", 2), Operation("restart", 2)], (4, 4)),
    "a party comes back when the first phase has closed": (
        2,
        [*ASKED, Operation("lose", 2), *deliver_all("up", 0, 1, 3), Operation("restart", 2)],
        (3, 3),
    ),
    "everybody crashes": (1, [*JOINED, *(Operation("crash before handling", place) for place in range(4))], None),
    "all connections are lost while joining": (1, [Operation("lose", place) for place in range(4)], None),
}


@pytest.mark.parametrize("name", list(NAMED))
def test_a_run_that_is_kept_by_name(name: str) -> None:
    quorum, listed, num_received = NAMED[name]
    wire = Run(make_session(quorum)).execute(listed)
    assert (None if wire.result is None else wire.result.num_received) == num_received


@pytest.mark.parametrize("variant", ["joint", "hidden"])
def test_a_doubled_count_would_show(variant: Variant) -> None:
    """Every set of reporters gives another tally, so that nothing can be counted twice unseen."""
    session = make_session(1, variant=variant)
    seen = {
        outcome_of_those_who_reported(session, [places] * len(session.protocol.phases))[1][0].totals.tobytes()
        for places in [[p for p in range(NUM_PARTIES) if chosen >> p & 1] for chosen in range(1, 16)]
    }
    assert len(seen) == 15


def test_a_damaged_hello_ends_one_row_and_the_session_goes_on() -> None:
    wire = Run(make_session(3)).execute([Operation("damage up", 0)])
    assert isinstance(wire.drops["p0"], RemoteProtocolError)
    assert wire.result is not None
    assert wire.result.num_received == (3, 3)
