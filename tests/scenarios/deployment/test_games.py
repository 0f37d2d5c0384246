"""Votes of one game over TLS, with journals: a weight's report leaves once and again as it is, and is paid once."""

import concurrent.futures
import contextlib
import dataclasses
import shutil
import ssl
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from unittest import mock

import msgspec
import pytest
import trio
from bad_input import Psephos, refuses
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from deployments import ENTRIES, NOBODY_LISTENS, PATIENCE, write_vote
from psephos.agents.journal_format import SESSION, read_journal
from psephos.agents.person_journal import PersonJournal, read_sessions
from psephos.agents.session_journal import SessionJournal
from psephos.protocol import ConfigurationError, Scope, SessionKind, SessionResult
from psephos.protocol.errors import JournalError
from psephos.protocol.memoized_reports import ReceivedReports, seal_of
from psephos.protocol.messages import NIL, Report, Request, encode
from psephos.protocol.privacy import (
    LedgerEntry,
    NeighboringRelation,
    PrivacyLoss,
    RandomizedResponse,
    TrustModel,
    total_of,
)
from psephos.protocol.records import Accepted, Drawn, Remembered, Reserved, ServerRecord
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.deployment import CheckedInvitation, Joining, Serving, find_invitation, join, serve_in_folder
from psephos.scenarios.deployment.common import TLSKeys, make_mode
from psephos.scenarios.deployment.earlier import read_kept
from psephos.scenarios.deployment.invitations import read_server_session
from psephos.scenarios.deployment.server import JOURNAL_FILE
from psephos.scenarios.running.folder import RunFolder, read_ledger
from psephos.scenarios.running.rosters import ROSTER_FILE
from psephos.transports.keys import Identity, make_identity
from runs import read_json

GAME = ("parameters.game=board",)
MORE = pytest.mark.full("the same check as in `protocol/test_kept.py`, over TLS")
EXPIRED = 4_000_000_000.0
DECODER: msgspec.msgpack.Decoder[ServerRecord] = msgspec.msgpack.Decoder(ServerRecord)


@dataclasses.dataclass
class Game:
    """A folder with enrolled parties, their journals, and votes."""

    folder: Path
    psephos: Psephos
    scenario: str = ""

    def __post_init__(self) -> None:
        self.scenario = write_vote(self.folder)
        for name in ENTRIES:
            assert self.psephos("enroll", name, "--out", f"keys/{name}").status == 0

    def draw_up(self, name: str, *settings: str) -> Path:
        words = [word for setting in (*GAME, *settings) for word in ("--set", setting)]
        ended = self.psephos("roster", self.scenario, *words, "--enrolled", "keys", "--out", name)
        assert (ended.status, ended.err) == (0, "")
        return self.folder / name

    def hold(
        self,
        name: str,
        *settings: str,
        after: Sequence[Path] = (),
        quorum: int = 3,
        ann: Callable[[Path, str], None] | None = None,
    ) -> tuple[SessionResult | BaseException, dict[str, CheckedInvitation | BaseException]]:
        """Hold a vote, and return what it leaves with the server, and what each party agreed to or failed with.

        `ann` takes part for Ann, in this thread, with the roster's folder and the server's address.
        """
        folder = self.draw_up(name, *settings)
        rules = tuple(f"phases.{phase}.quorum={quorum}" for phase in ("join", "weights", "opinions"))
        side = resolve_served(load_scenario(self.scenario, (*GAME, *settings, *rules)), roster=folder)
        assert side.fingerprints is not None
        opening, keys = read_server_session(folder, fingerprints=side.fingerprints)
        mode = make_mode(side.scenario.name, seed=None)
        kept = read_kept(side, after, kind=mode.kind)
        is_up, address = threading.Event(), list[str]()

        def on_listening(told: str) -> None:
            address.append(told)
            is_up.set()

        with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
            serving = pool.submit(
                serve_in_folder,
                Serving(
                    side=side,
                    address="127.0.0.1:0",
                    keys=keys,
                    descriptor=opening.descriptor,
                    mode=mode,
                    journal=folder / JOURNAL_FILE,
                    kept=kept,
                ),
                RunFolder(self.folder / f"{name}-server"),
                pictures=False,
                on_listening=on_listening,
            )
            assert is_up.wait(PATIENCE) or serving.result()
            others = [party for party in ENTRIES if ann is None or party != "ann"]
            joined = {party: pool.submit(self._join, folder, address[0], party) for party in others}
            if ann is not None:
                ann(folder, address[0])
            endings: dict[str, CheckedInvitation | BaseException] = {}
            for party, each in joined.items():
                error = each.exception(PATIENCE)
                endings[party] = each.result() if error is None else error
            failure = serving.exception(PATIENCE)
            return serving.result() if failure is None else failure, endings

    @contextlib.contextmanager
    def joining(
        self, folder: Path, party: str, *, address: str = NOBODY_LISTENS, entries: Mapping[str, str] | None = None
    ) -> Generator[Joining]:
        """Yield how a party means to take part, with its journal open."""
        invitation = find_invitation(folder / "invitations", party=party)
        with PersonJournal.open(self.folder / f"{party}.sqlite", now=0.0) as journal:
            yield Joining(
                address=address,
                party=party,
                entries=entries or ENTRIES[party],
                seed=None,
                invitation=invitation,
                keys=invitation.find_keys([self.folder / "keys" / party]),
                journal=journal,
            )

    def _join(self, folder: Path, address: str, party: str) -> CheckedInvitation:
        agreed: list[CheckedInvitation] = []
        with self.joining(folder, party, address=address) as joining:
            trio.run(lambda: join(joining, on_agreed=agreed.append))
        return agreed[0]

    def read_kept(self, folder: Path, *after: str, settings: Sequence[str] = GAME) -> ReceivedReports:
        """Return what a vote's server keeps of earlier ones."""
        side = resolve_served(load_scenario(self.scenario, settings), roster=folder)
        return read_kept(side, [self.folder / name for name in after], kind=SessionKind.DEPLOYMENT)

    def weights(self, name: str) -> dict[int, bytes]:
        """Return the weight reports that a vote's server keeps, by place."""
        rows = read_journal(self.folder / name / JOURNAL_FILE, kind=SESSION).rows
        records = [DECODER.decode(row.body) for row in rows]
        return {each.place: each.report for each in records if isinstance(each, Accepted) and not each.step}

    def paid(self, party: str) -> float:
        """Return what all votes together cost a person, by its journal."""
        _, sessions = read_sessions(self.folder / f"{party}.sqlite")
        return total_of([entry for session in sessions.values() for entry in session.entries]).proven


@pytest.fixture
def game(tmp_path: Path, psephos: Psephos) -> Game:
    return Game(tmp_path, psephos)


def test_three_votes_of_a_game_pay_for_one_weight(game: Game) -> None:
    folders: list[Path] = []
    for number in range(3):
        name = f"vote-{number}"
        result, endings = game.hold(name, after=folders)
        assert isinstance(result, SessionResult)
        for party, agreement in endings.items():
            assert isinstance(agreement, CheckedInvitation), party
            assert agreement.cost == pytest.approx(0.5 if number else 1.0)
            assert [each.session for each in agreement.recalled.values()] == (["vote"] if number else [])
        assert game.weights(name) == game.weights("vote-0")
        folders = [game.folder / name]
    for party in ENTRIES:
        assert game.paid(party) == pytest.approx(0.5 + 3 * 0.5)


def test_join_and_ledger_say_what_was_kept(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    game.hold("first")
    journal = game.folder / "ann.sqlite"
    said: list[str] = []

    def by_command(folder: Path, address: str) -> None:
        own = ("--key", "keys/ann", "--input", "ann.csv", "--journal", journal, "--out", "ann-2")
        ended = game.psephos("join", folder / "invitations" / "1-ann.json", *own, "--address", address)
        assert (ended.status, ended.err) == (0, "")
        said.append(" ".join(ended.out.split()))

    result, _ = game.hold("second", after=[game.folder / "first"], ann=by_command)
    assert isinstance(result, SessionResult)
    (text,) = said
    assert "costs epsilon = 0.5 in all" in text
    assert "weights: kept from session 'vote' of game 'board', nothing paid" in text
    assert "weights: kept from an earlier session of game 'board', nothing paid" in text
    assert read_json(game.folder / "ann-2" / "run.json")["kept"] == {
        "weights": "session 'vote' of game 'board', nothing paid"
    }
    assert [entry.phase for entry in read_ledger(game.folder / "ann-2")] == ["opinions"]
    monkeypatch.setenv("PSEPHOS_JOURNAL", str(journal))
    shown = " ".join(game.psephos("ledger").out.split())
    assert "vote: weights kept from an earlier session of game 'board', nothing paid" in shown
    assert "ε proven = 1.5" in shown


def test_outcome_that_was_heard_is_in_the_journal_and_nobody_is_asked_again(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was killed before it wrote the outcome has it at once, also after the session's expiry."""
    result, _ = game.hold("first")
    assert isinstance(result, SessionResult)
    spent = game.paid("ann")
    monkeypatch.setattr("time.time", lambda: 4_000_000_000.0)
    agreed: list[CheckedInvitation] = []
    charged: list[LedgerEntry] = []
    with game.joining(game.folder / "first", "ann", address=NOBODY_LISTENS) as joining:
        heard = trio.run(lambda: join(joining, on_agreed=agreed.append, on_end=charged.extend))
    assert (heard.outcome, heard.own, heard.late_phase) == (result.outcome, None, None)
    assert heard.transcript == result.transcript
    assert ([agreement.terms.party for agreement in agreed], len(charged)) == (["ann"], 2)
    assert game.paid("ann") == spent


@pytest.mark.bad_input("a game: none to keep, another's weights, changed weights or settings")
def test_changed_weight_is_refused_before_anybody_is_called(game: Game) -> None:
    game.hold("first")
    folder = game.draw_up("second")
    words = "ann first took part in game 'board': a changed one needs a new game"
    changed = {"weight": "3", "merger": "1"}
    with game.joining(folder, "ann", entries=changed) as joining, pytest.raises(ConfigurationError, match=words):
        joining.agree_beforehand()
    with game.joining(folder, "ann") as joining:
        agreement = joining.agree_beforehand()
    assert agreement is not None
    assert agreement.cost == pytest.approx(0.5)
    assert game.paid("ann") == pytest.approx(1.0)


def test_seal_in_the_journal_tells_nothing_without_the_key(game: Game) -> None:
    game.hold("first")
    _, sessions = read_sessions(game.folder / "ann.sqlite")
    (kept,) = [each.kept for session in sessions.values() for each in session.reports_kept]
    assert kept is not None
    public = [b"", b"ann", kept.scope.name.encode(), str(kept.scope).encode()]
    guessed = {seal_of(guess, kept.scope, kept.phase, (group,)) for guess in public for group in range(3)}
    assert kept.seal
    assert kept.seal not in guessed


def test_what_journals_are_sealed_by_follows_from_each_byte_of_the_private_key() -> None:
    """And so not from what is alike in all keys' files, or is told by certificates: here all of that is the same."""
    own = make_identity()
    key = serialization.load_pem_private_key(own.private_key, password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    number = key.private_numbers().private_value.to_bytes(32, "big")
    der = key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    first = der.index(number)
    secrets = set[bytes]()
    for place in range(first - 1, first + len(number)):
        changed = bytearray(der)
        changed[place] ^= place >= first  # before it there is the key itself
        pem = ssl.DER_cert_to_PEM_cert(bytes(changed)).replace("CERTIFICATE", "PRIVATE KEY").encode()
        keys = TLSKeys(Identity(own.certificate, pem), ())
        journal = mock.Mock(spec=PersonJournal)
        joining = Joining(address=NOBODY_LISTENS, party="ann", entries={}, seed=None, journal=journal, keys=keys)
        assert joining.secret == keys.secret  # a server's is that, too
        secrets.add(keys.secret)
    assert len(secrets) == 1 + len(number)
    assert {len(each) for each in secrets} == {32}


def test_party_that_lost_its_journal_leaves_before_it_draws(game: Game) -> None:
    game.hold("first")
    (game.folder / "bob.sqlite").unlink()
    (game.folder / "bob.sqlite.lock").unlink(missing_ok=True)
    result, endings = game.hold("second", after=[game.folder / "first"], quorum=2)
    assert isinstance(result, SessionResult)
    assert result.num_received == (2, 2)
    assert isinstance(endings["bob"], JournalError)
    assert "does not know a report that server has from bob in game 'board'" in str(endings["bob"])
    assert game.paid("bob") == 0.0


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("parameters.epsilon=2", "use 0.5"),
        ("parameters.weights=[1,2,3,4]", "use 1.0, 2.0, 3.0"),
        pytest.param("parameters.groups=[[1,2],[3]]", "use one for each weight", marks=MORE),
        pytest.param("parameters.variant=laplace", "use k-RR", marks=MORE),
    ],
)
def test_other_law_is_refused_by_either_side(game: Game, setting: str, words: str) -> None:
    game.hold("first")
    folder = game.draw_up("second", setting)
    with refuses(said=words) as caught:
        game.read_kept(folder, "first", settings=(*GAME, setting))
    with game.joining(folder, "ann") as joining, pytest.raises(ConfigurationError) as caught:
        joining.agree_beforehand()
    assert words in str(caught.value)


def test_another_games_weights_are_refused_by_the_server_and_drawn_anew_by_a_party(game: Game) -> None:
    game.hold("first")
    other = "parameters.game=club"
    folder = game.draw_up("second", other)
    with pytest.raises(ConfigurationError, match="game is 'club': use game 'board', whose reports are kept"):
        game.read_kept(folder, "first", settings=(*GAME, other))
    with game.joining(folder, "ann") as joining:
        agreement = joining.agree_beforehand()
    assert agreement is not None
    assert agreement.cost == pytest.approx(1.0)


def test_reports_are_not_taken_for_those_of_another_roster(game: Game) -> None:
    game.hold("first")
    folder = game.draw_up("second")
    assert all(game.read_kept(folder, "first").values())
    file = game.folder / "first" / ROSTER_FILE
    header, *lines = file.read_text(encoding="utf-8").splitlines()
    for others in (lines[:-1], lines[::-1]):
        file.write_text("\n".join([header, *others, ""]), encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"--after (is|are) .*a folder with the roster of the session"):
            game.read_kept(folder, "first")


def test_parties_are_known_by_their_certificates_and_who_has_reported_two_weights_is_named(game: Game) -> None:
    game.hold("first")
    folder, first = game.draw_up("second"), game.folder / "first"
    side = resolve_served(load_scenario(game.scenario, GAME), roster=folder)
    renamed = msgspec.structs.replace(side, names=("anna", *side.names[1:]))
    assert {*read_kept(renamed, [first], kind=SessionKind.DEPLOYMENT)["weights"]} == {*renamed.names}
    alone = read_kept(side, [first], kind=SessionKind.DEPLOYMENT)
    known = side.fingerprints or ()
    for host, other in (
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 0),
    ):  # by now of a host, whose parties are told apart by their names
        shared = [known[host] if place == other else each for place, each in enumerate(known)]
        hosts = msgspec.structs.replace(side, fingerprints=shared)
        assert read_kept(hosts, [first], kind=SessionKind.DEPLOYMENT) == alone
    journal = read_journal(first / JOURNAL_FILE, kind=SESSION)
    shutil.copytree(first, game.folder / "other", ignore=shutil.ignore_patterns(f"{JOURNAL_FILE}*"))
    codec = side.protocol.phases[0].codec
    configuration = journal.about.configuration
    with SessionJournal.open(game.folder / "other" / JOURNAL_FILE, configuration=configuration) as other:
        for record in (DECODER.decode(row.body) for row in journal.rows):
            kept: ServerRecord = record
            if isinstance(record, Accepted) and (record.step, record.place) == (0, 1):
                (weight,) = codec.decode(record.report)
                kept = Accepted(0, 1, bytes(codec.encode(((weight + 1) % 3,))))
            other.keep([kept])
    with pytest.raises(
        ConfigurationError, match=r"--after (is|are) .*sessions in which bob reported the same in phase"
    ):
        game.read_kept(folder, "first", "other")


def test_of_parties_who_share_a_certificate_now_each_is_known_by_its_name(game: Game) -> None:
    game.hold("first")
    folder, first = game.draw_up("second"), game.folder / "first"
    side = resolve_served(load_scenario(game.scenario, GAME), roster=folder)
    assert side.fingerprints is not None
    own, another, _ = side.fingerprints
    hosted = msgspec.structs.replace(side, fingerprints=(own, another, own))
    by_name = read_kept(side, [first], kind=SessionKind.DEPLOYMENT)
    assert read_kept(hosted, [first], kind=SessionKind.DEPLOYMENT) == by_name


@pytest.mark.parametrize("paid", [(False, False), (True, False), (True, True)])
def test_two_sessions_at_once_keep_one_report(tmp_path: Path, paid: tuple[bool, bool]) -> None:
    """Whichever of them pays: both would have drawn."""
    scope = Scope(kind="game", name="board", law=())

    def drawn(report: int, *, entries: Sequence[LedgerEntry]) -> Drawn:
        payload = msgspec.Raw(msgspec.msgpack.encode([report]))
        kept = Remembered(phase="weights", scope=scope, seal="")
        encoded = encode(Request(0, NIL)), encode(Report(0, payload))
        return Drawn(step=0, request=encoded[0], report=encoded[1], entries=tuple(entries), kept=kept)

    epsilon, relation, model = 0.5, NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL
    event = RandomizedResponse(epsilon, 3)
    loss = PrivacyLoss(mechanism="k-RR", event=event, unit="weight", claimed=epsilon, relation=relation, model=model)
    charged = [LedgerEntry.from_loss(loss, person="ann", session="vote", phase="weights")]
    with PersonJournal.open(tmp_path / "ann.sqlite", now=0.0) as journal:
        first, second = journal.sitting("1" * 32), journal.sitting("2" * 32)
        for sitting in (first, second):
            sitting.keep([Reserved(party="ann", session="vote", protocol="dpwevote", expires=0, entries=(), terms="")])
        first.keep([drawn(1, entries=charged[: paid[0]])])
        with pytest.raises(JournalError, match="has another report of phase 'weights' in game 'board'"):
            second.keep([drawn(2, entries=charged[: paid[1]])])
        second.keep([drawn(1, entries=())])


def test_earlier_folder_that_is_none_is_refused(game: Game, psephos: Psephos) -> None:
    folder = game.draw_up("first")
    with pytest.raises(ConfigurationError, match=r"--after (is|are) .*the folder of a session that was held"):
        game.read_kept(folder, "first")
    with pytest.raises(ConfigurationError, match=r"--after (is|are) .*the --roster folder of an earlier session"):
        game.read_kept(folder, ".")
    with pytest.raises(ConfigurationError, match="leave out --after where the session keeps no reports"):
        game.read_kept(folder, "first", settings=())
    refusal = psephos("serve", game.scenario, "--roster", folder, "--after", folder, "--out", "out").refusal
    assert "parameters.game: The invitations say 'board'" in refusal  # the file has no game
