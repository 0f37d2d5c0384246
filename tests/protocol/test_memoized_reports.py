"""Reports that outlive their session: a machine repeats its own and pays nothing, a server holds parties to theirs."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from bad_input import refuses
from helpers import SERVER, SESSION_NAME, Session, drop_of, failure_of, hello, make_inputs, make_vote, messages_of, raw
from makers import AddedUp
from psephos.protocol import (
    ClientMachine,
    ConfigurationError,
    ConflictingReportError,
    KeptReport,
    Party,
    Scope,
    ServerMachine,
    SessionMode,
    SessionRules,
    SimulatedNoise,
    run_batches,
)
from psephos.protocol.dpwevote import Parameters
from psephos.protocol.dpwevote.finite import OpinionsPhase
from psephos.protocol.effects import Charged, Closed, Effect, Keep
from psephos.protocol.errors import JournalError
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, RowMechanism
from psephos.protocol.mechanisms.own_matrix import channel_of
from psephos.protocol.memoized_reports import has_changed, seal_of
from psephos.protocol.messages import NIL, Acknowledgement, Report, Request, SessionDescriptor
from psephos.protocol.phases import Phase
from psephos.protocol.privacy import (
    Budget,
    Ledger,
    LocalRandomizer,
    NeighboringRelation,
    PrivacyLoss,
    TrustModel,
    local_loss,
)
from psephos.protocol.records import ClientRecord, Drawn, Reserved

VOTE = make_vote(game="board")
SCOPE = VOTE.phases[0].memo_scope
SECRET = b"known to its owner alone"
CHARTER = SessionDescriptor("0123456789abcdef" * 2)


def kept_report(report: int = 2, **changes: Any) -> dict[str, KeptReport]:
    assert SCOPE is not None
    given: dict[str, Any] = {"scope": SCOPE, "report": (report,), **changes}
    return {"weights": KeptReport(**given)}


def make_client(
    session: Session,
    kept: dict[str, KeptReport] | None = None,
    *,
    row: Sequence[int] = (0, 1, 0, 0),
    secret: bytes = b"",
    records: Sequence[ClientRecord] | None = None,
    budget: float | None = None,
) -> ClientMachine:
    ledger = Ledger("p0", budget=None if budget is None else Budget(epsilon=budget))
    session.ledgers["p0"] = ledger
    return ClientMachine(
        session.protocol,
        Party("p0", 0, row, ledger=ledger, memoized_reports=kept, secret=secret),
        SessionMode(SESSION_NAME, session.noise, descriptor=session.descriptor if records is None else CHARTER),
        records=records,
    )


def welcomed(session: Session, client: ClientMachine) -> list[Effect]:
    server = ServerMachine(
        session.protocol, session.roster, SessionMode(SESSION_NAME, session.noise, descriptor=CHARTER)
    )
    server.start()
    (_, welcome) = messages_of(server.receive("p0", hello("p0", session_id=CHARTER.id)))[0]
    client.start()
    return client.receive(SERVER, welcome)


def make_session() -> Session:
    return Session(VOTE, make_inputs(VOTE, 3))


def reports_of(effects: Sequence[Effect]) -> list[Report]:
    return [message for _, message in messages_of(effects) if isinstance(message, Report)]


def test_kept_report_is_repeated_and_neither_drawn_nor_charged() -> None:
    session = make_session()
    client = make_client(session, kept_report(2))
    welcomed(session, client)
    effects = client.receive(SERVER, Request(0, NIL))
    assert reports_of(effects) == [Report(0, VOTE.phases[0].codec.encode((2,)))]
    assert not [effect for effect in effects if isinstance(effect, Charged)]
    client.receive(SERVER, Request(1, NIL))
    assert session.noise.draws == [("opinions", 0)]
    assert {entry.phase for entry in session.ledgers["p0"].entries} == {"opinions"}
    assert client.memoized_reports == {"weights": (2,)}


def test_nothing_is_reserved_for_a_kept_report() -> None:
    parameters = VOTE.parameters
    opinions = len(parameters.candidates) * parameters.loss_of_opinion
    with_report = make_session()
    client = make_client(with_report, kept_report(), budget=opinions)
    welcomed(with_report, client)
    assert client.has_agreed
    without = make_session()
    client = make_client(without, budget=opinions)
    welcomed(without, client)
    assert not client.has_agreed


def test_first_session_leaves_what_it_drew() -> None:
    session = make_session()
    client = make_client(session)
    welcomed(session, client)
    (report,) = reports_of(client.receive(SERVER, Request(0, NIL)))
    drawn = VOTE.phases[0].codec.decode(report.payload)
    assert client.memoized_reports == {"weights": drawn}
    client.receive(SERVER, Request(1, NIL))
    assert client.memoized_reports == {"weights": drawn}


def test_durable_client_keeps_scope_and_seal_beside_its_report_and_reserves_no_room_again() -> None:
    session = make_session()
    client = make_client(session, records=(), secret=SECRET)
    welcomed(session, client)
    first = client.receive(SERVER, Request(0, NIL))[0]
    assert isinstance(first, Keep)
    assert isinstance(first.record, Drawn)
    assert first.record.kept is not None
    assert first.record.kept.scope == SCOPE
    assert first.record.kept.seal

    later = make_client(session, kept_report(seal=first.record.kept.seal), records=(), secret=SECRET)
    (reserved,) = welcomed(session, later)
    assert isinstance(reserved, Keep)
    assert isinstance(reserved.record, Reserved)
    assert {entry.phase for entry in reserved.record.entries} == {"opinions"}
    repeated = later.receive(SERVER, Request(0, NIL))[0]
    assert isinstance(repeated, Keep)
    assert isinstance(repeated.record, Drawn)
    assert repeated.record.entries == ()


def test_session_of_kept_reports_goes_on_from_its_records() -> None:
    session = make_session()
    client = make_client(session, kept_report(1), records=())
    effects = [*welcomed(session, client), *client.receive(SERVER, Request(0, NIL))]
    records = [each.record for each in effects if isinstance(each, Keep)]
    again = make_client(session, kept_report(1), records=records)  # pyright: ignore[reportArgumentType]  a client's
    welcomed(session, again)
    (report,) = reports_of(again.receive(SERVER, Request(0, NIL)))
    assert report == reports_of(effects)[0]


def test_changed_value_is_refused_by_the_seal_without_showing_it() -> None:
    assert SCOPE is not None
    kept = kept_report(seal=seal_of(SECRET, SCOPE, "weights", (0,)))
    make_client(make_session(), kept, secret=SECRET)
    with pytest.raises(ConfigurationError, match="p0 first took part in game 'board': a changed one needs a new game"):
        make_client(make_session(), kept, row=(1, 1, 0, 1), secret=SECRET)


def test_seal_depends_on_secret_scope_phase_and_values_and_needs_a_secret() -> None:
    assert SCOPE is not None
    other = Scope(kind="game", name="other", law=SCOPE.law)
    seals = {
        seal_of(SECRET, SCOPE, "weights", (0,)),
        seal_of(SECRET, SCOPE, "weights", (1,)),
        seal_of(b"another's", SCOPE, "weights", (0,)),
        seal_of(SECRET, other, "weights", (0,)),
        seal_of(SECRET, SCOPE, "weights-2", (0,)),
    }
    assert len(seals) == 5
    assert seal_of(b"", SCOPE, "weights", (0,)) == ""
    own, changed = (seal_of(SECRET, SCOPE, "weights", (value,)) for value in (0, 1))
    assert has_changed(own, changed)
    assert not has_changed(own, own)
    assert not has_changed(own, seal_of(b"a renewed key", SCOPE, "weights", (1,)))  # not to be compared
    assert not has_changed("", own)


CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "another game": ({"game": "club"}, "game is 'club': use game 'board', whose reports are kept"),
    "other weights": ({"game": "board", "weights": (1.0, 2.0)}, "use 1.0, 2.0, 3.0"),
    "groups": ({"game": "board", "groups": ((1.0, 2.0), (3.0,))}, "use one for each weight"),
    "another ε": ({"game": "board", "epsilon_weight": 2.0}, "use 1.0"),
    "another mechanism": ({"game": "board", "variant": "laplace"}, "use k-RR"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_report_of_another_game_or_law_is_refused(name: str) -> None:
    changes, words = CHANGED[name]
    vote = make_vote(**changes)
    session = Session(vote, make_inputs(vote, 3))
    with refuses(said=words):
        make_client(session, kept_report(), row=session.inputs.private[0].tolist())


def test_groups_that_hold_other_weights_are_others_though_there_are_as_many() -> None:
    """Of both a report is the place of one of two groups, by one randomizer: what it says is not the same."""
    groups = [((1.0, 2.0), (3.0,)), ((1.0,), (2.0, 3.0))]
    one, other = (make_vote(game="board", groups=each).phases[0].memo_scope for each in groups)
    assert one is not None
    assert other is not None
    with refuses("groups"):
        one.check(other)


def test_randomizers_that_differ_by_a_millionth_have_two_laws_whatever_is_stated_of_them() -> None:
    channels = [
        [[0.75, 0.25], [0.25, 0.75]],
        [[0.750001, 0.249999], [0.25, 0.75]],
        [[0.75, 0.25], [0.250001, 0.749999]],
        [[0.25, 0.75], [0.75, 0.25]],
    ]
    scopes: list[Scope] = []
    for matrix in channels:
        channel = channel_of(tuple(map(tuple, matrix)), num_values=2, field="matrix")
        loss = local_loss("matrix", LocalRandomizer(2.0), unit="vote", claimed=2.0)
        game = Scope("game", "board", ())
        kept = AddedUp("weights", columns=range(1), mechanism=channel, losses=[loss], memo_scope=game).memo_scope
        scopes += [] if kept is None else [kept]
    assert len({scope.law for scope in scopes}) == len(channels)
    for one, other in itertools.permutations(scopes, 2):
        with refuses("randomizer"):
            one.check(other)


def test_a_law_that_has_more_fields_or_fewer_is_another_one() -> None:
    assert SCOPE is not None
    fewer = Scope(kind=SCOPE.kind, name=SCOPE.name, law=SCOPE.law[:-1])
    for ours, kept in ((SCOPE, fewer), (fewer, SCOPE)):
        with refuses(SCOPE.law[-1][0]):
            ours.check(kept)


def test_votes_of_one_game_may_differ_in_what_a_weight_report_does_not_depend_on() -> None:
    votes = [
        make_vote(game="board", variant=variant, candidates=candidates, quota=2.0, epsilon=epsilon, epsilon_weight=0.5)
        for variant, candidates, epsilon in (("joint", ("x",), 1.0), ("printed", ("y", "z"), 3.0))
    ]
    assert votes[0].phases[0].memo_scope == votes[1].phases[0].memo_scope


def test_kept_report_of_a_phase_that_keeps_none_is_refused() -> None:
    vote = make_vote()
    session = Session(vote, make_inputs(vote, 3))
    with pytest.raises(ConfigurationError, match="a phase that keeps its reports"):
        make_client(session, kept_report())
    with pytest.raises(ConfigurationError, match="a phase that keeps its reports"):
        ServerMachine(
            vote,
            session.roster,
            session.mode(),
            memoized_reports={"weights": {"p0": (1,)}},
        )


def test_party_without_the_report_that_the_server_keeps_leaves_before_it_draws_another() -> None:
    session = make_session()
    server = ServerMachine(
        VOTE,
        session.roster,
        session.mode(),
        memoized_reports={"weights": {"p0": (2,)}},
    )
    server.start()
    told = [message for _, message in messages_of(server.receive("p0", hello("p0")))]
    assert told[1:] == [Acknowledgement(0)]
    assert len(messages_of(server.receive("p1", hello("p1")))) == 1
    forgetful = make_client(session)
    forgetful.start()
    forgetful.receive(SERVER, told[0])
    error = failure_of(forgetful.receive(SERVER, told[1]))
    assert isinstance(error, JournalError)
    assert "does not know a report that server has from p0 in game 'board'" in str(error)
    assert (session.noise.draws, session.ledgers["p0"].entries) == ([], ())
    remembering = make_client(session, kept_report(2))
    remembering.start()
    for message in told:
        remembering.receive(SERVER, message)
    assert reports_of(remembering.receive(SERVER, Request(0, NIL))) == [Report(0, raw([2]))]


def test_server_refuses_who_reports_otherwise_than_in_an_earlier_session() -> None:
    session = make_session()
    server = ServerMachine(
        VOTE,
        session.roster,
        session.mode(),
        rules=SessionRules(quorum=2),
        memoized_reports={"weights": {"p0": (2,), "p1": (1,)}},
    )
    server.start()
    for name in session.names:
        server.receive(name, hello(name))
    error = drop_of(server.receive("p0", Report(0, raw([0])))).error
    assert isinstance(error, ConflictingReportError)
    assert "p0 reports in phase 'weights' otherwise than in an earlier session of game 'board'" in str(error)
    server.receive("p1", Report(0, raw([1])))
    effects = server.receive("p2", Report(0, raw([0])))
    assert [effect.num_received for effect in effects if isinstance(effect, Closed)] == [2]
    assert server.memoized_reports == {"weights": {"p1": (1,), "p2": (0,)}}


def test_phase_keeps_no_reports_where_a_repeated_one_would_cost_something() -> None:
    class Plain(OpinionsPhase):
        def __init__(self, **given: Any) -> None:
            Phase.__init__(self, "opinions", **given)

    mechanism = GeneralizedRandomizedResponse(1.0, 2)

    def loss(relation: NeighboringRelation, model: TrustModel) -> PrivacyLoss:
        return PrivacyLoss(
            mechanism="k-RR", event=mechanism.event, unit="opinion", relation=relation, model=model, claimed=1.0
        )

    allowed = loss(NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL)
    given: dict[str, Any] = {"columns": range(1), "mechanism": mechanism, "memo_scope": SCOPE}
    assert SCOPE is not None
    own = Plain(**given, losses=[allowed]).memo_scope
    assert own is not None
    with pytest.raises(ConfigurationError, match="randomizer is"):
        SCOPE.check(own)  # of another randomizer, which its protocol does not name
    released = loss(NeighboringRelation.REPLACE_ONE, TrustModel.CENTRAL)
    with pytest.raises(ConfigurationError, match=r"losses is .*: use 'local'"):
        Plain(**given, losses=[released])

    class Personal(Plain):
        def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
            del public
            return mechanism

    with pytest.raises(ConfigurationError, match="with one randomizer for all"):
        Personal(**given, losses=[allowed])


def test_batches_keep_nothing() -> None:
    vote = make_vote(public_weights=True)
    (phase,) = vote.phases
    phase.memo_scope = SCOPE
    with pytest.raises(ConfigurationError, match=r"phase (is|are) .*one that keeps no reports"):
        run_batches(vote, [], noise=SimulatedNoise(0, session=SESSION_NAME))


@pytest.mark.bad_input("a game: none to keep, another's weights, changed weights or settings")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"game": ""}, "game is empty: use 1 to 128 printable characters"),
        ({"game": "board", "public_weights": True}, "leave out game where weights are public"),
        ({"game": "board", "variant": "two_point"}, "leave out game in variant 'two_point'"),
        ({"game": "board", "variant": "auto"}, "leave out game in variant 'auto'"),
        (
            {"game": "board", "weight_collection": "per_candidate"},
            ": use 'once' in a game, which draws each weight once",
        ),
    ],
)
def test_game_without_a_weight_to_keep_is_refused(given: dict[str, Any], words: str) -> None:
    with refuses(said=words):
        Parameters(candidates=("a", "b"), **given)


def test_wire_is_as_before_without_a_game() -> None:
    assert b"game" not in bytes(make_vote().encoded_parameters)
    assert b"board" in bytes(VOTE.encoded_parameters)
