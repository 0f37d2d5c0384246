"""A vote on a server that is a process of its own, with or without somebody who attacks the server meanwhile.

The server is `psephos serve`, the parties are tasks of this process, and whoever attacks is a third process on the same
machine, which is busy without a pause: it takes a core that the vote would have, too.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import hostile
import msgspec
import trio
from harness import MEGABYTE, Row, Times, memory, row
from psephos.scenarios.deployment import Joining, find_invitation, join
from psephos.scenarios.verdicts import as_written

__all__ = ["AttackedVote", "Held", "denial_of_service"]

_PATIENCE_SECONDS: Final = 300.0


def denial_of_service(*, quick: bool) -> Iterator[Row]:
    """Yield seconds and memory of a vote under each attack, beside those of the same vote without one."""
    for transport, attacks in (("tcp", hostile.ATTACKS_OVER_TCP), ("tls", hostile.ATTACKS_OVER_TLS)):
        for attack in attacks:
            vote = AttackedVote(num_parties=50, num_candidates=10, transport=transport)
            # In turns, so that whatever else the machine does meets both.
            pairs = [(vote.hold(attack), vote.hold()) for _ in range(1 if quick else 3)]
            ours, raw = zip(*pairs, strict=True)
            what = f"vote of {vote.num_parties} parties over {transport.upper()}, {attack}"
            times = Times({"ours": [held.seconds for held in ours], "raw": [held.seconds for held in raw]})
            yield times.row(what, target="≤ 2")
            peaks = [max(held.megabytes for held in side) for side in (ours, raw)]
            yield row(f"{what}: the server's memory", *peaks, show="{:.0f} MB", target="≤ 200 MB")


class Held(NamedTuple):
    """What came of a vote.

    Args:
        seconds: from the coming of the first party to the release as the last one heard it.
        megabytes: the most that the server had.
        result: as the server wrote it (`result.json`).
        heard: the outcome as each party heard it, in the form of files.
        refused: how many connections the server turned away, by reason.
    """

    seconds: float
    megabytes: float
    result: Mapping[str, Any]
    heard: Sequence[Any]
    refused: Mapping[str, int]


class AttackedVote(NamedTuple):
    """A vote with a round for each candidate.

    Args:
        num_parties: on the roster. The last one's key is the attackers' as well, and its seat if they take it.
        num_candidates: each makes two phases.
        transport: "tcp" or "tls".
        ulimit: what the server's shell limits, such as "-n 1024".
    """

    num_parties: int
    num_candidates: int
    transport: str
    ulimit: str = ""

    def hold(self, *attacks: str, number: int | None = None, before: Callable[[str], None] = lambda _: None) -> Held:
        """Hold the vote once.

        Args:
            attacks: by name, in turns; none for a vote among friends.
            number: how often each is done before a party comes, and before it is the next one's turn; None for as often
                as one can in a second.
            before: called with the server's address before a party comes.

        Raises:
            RuntimeError: the server failed, or the attackers did.
            PsephosError: a party did.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self._write(folder)
            with self._serve(folder) as (server, address):
                with self._attacked(folder, address, attacks, number):
                    before(address)
                    joining = [self._joining(folder, address, place) for place in range(self.num_parties)]
                    if hostile.TAKES_SEAT.intersection(attacks):
                        joining.pop()
                    began = time.perf_counter()
                    heard = trio.run(_take_part, joining)
                    seconds = time.perf_counter() - began
                    megabytes = memory(process=server.pid) / MEGABYTE
                if status := server.wait(_PATIENCE_SECONDS):
                    raise RuntimeError(f"the server ended with status {status}")
            result = json.loads((folder / "served" / "result.json").read_bytes())
            return Held(seconds, megabytes, result, heard, _refusals(folder / "served"))

    @property
    def _names(self) -> list[str]:
        return [*(f"p{place}" for place in range(self.num_parties - 1)), hostile.PARTY]

    @property
    def _candidates(self) -> list[str]:
        return [f"c{number}" for number in range(self.num_candidates)]

    def _write(self, folder: pathlib.Path) -> None:
        """Write the scenario and its parties, and draw up the session."""
        candidates = ",".join(self._candidates)
        rows = [
            ",".join([name, str(1 + place % 3), *["0"] * self.num_candidates]) for place, name in enumerate(self._names)
        ]
        (folder / "parties.csv").write_text("\n".join([f"partner,weight,{candidates}", *rows]) + "\n", encoding="utf-8")
        settings = f'candidates = {json.dumps(self._candidates)}\nweight_collection = "per_candidate"\n'
        scenario = f'protocol = "dpwevote"\npartners = "parties.csv"\nquorum = 0.5\n[parameters]\n{settings}'
        (folder / f"{hostile.SESSION}.toml").write_text(scenario, encoding="utf-8")
        if self.transport == "tls":
            words = ("roster", f"{hostile.SESSION}.toml", "--make-keys", "--simulate", "--out", "drawn")
            subprocess.run(_command(*words), cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own

    @contextlib.contextmanager
    def _serve(self, folder: pathlib.Path) -> Generator[tuple[subprocess.Popen[bytes], str]]:
        words = ["serve", f"{hostile.SESSION}.toml", "--transport", self.transport, "--listen", "127.0.0.1:0"]
        words += ["--no-pictures", "--out", "served", "--simulate", "--seed", str(hostile.SEED)]
        words += ["--roster", "drawn"] if self.transport == "tls" else []
        command = _command(*words)
        if self.ulimit:
            command = ["sh", "-c", f'ulimit {self.ulimit} && exec "$@"', "sh", *command]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as server:  # noqa: S603  our own
            try:
                assert server.stdout is not None  # noqa: S101  it is a pipe
                line = next(line for line in server.stdout if line.startswith(b"listening on "))
                yield server, line.split()[2].decode()
            finally:
                server.kill()

    @contextlib.contextmanager
    def _attacked(
        self, folder: pathlib.Path, address: str, attacks: Sequence[str], number: int | None
    ) -> Generator[None]:
        """Let a process do what it does, from a while before to the end."""
        if not attacks:
            yield
            return
        words = ["--attack", *attacks, *([] if number is None else ["--number", str(number)])]
        if self.transport == "tls":
            words += ["--invitation", str(_invitation_of(folder, hostile.PARTY))]
        command = [sys.executable, hostile.__file__, "--address", address, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as attacker:  # noqa: S603  our own
            try:
                assert attacker.stdout is not None  # noqa: S101  it is a pipe
                if attacker.stdout.readline() != hostile.BEGUN:
                    raise RuntimeError("the attack did not begin")
                if number is None:
                    time.sleep(1)  # a head start
                elif attacker.stdout.readline() != hostile.DONE:
                    raise RuntimeError("the attack ended too early")
                yield
            finally:
                attacker.kill()

    def _joining(self, folder: pathlib.Path, address: str, place: int) -> Joining:
        party = self._names[place]
        opinions = {name: str((place + number) % 2) for number, name in enumerate(self._candidates)}
        is_over_tls = self.transport == "tls"
        invitation = find_invitation(_invitation_of(folder, party)) if is_over_tls else None
        return Joining(
            address=address,
            party=party,
            entries={"weight": str(1 + place % 3), **opinions},
            seed=hostile.SEED,
            budget=1000.0,
            transport=self.transport,
            invitation=invitation,
            keys=None if invitation is None else invitation.find_keys([]),
        )


async def _take_part(parties: Sequence[Joining]) -> list[Any]:
    """Let everybody take part at once."""
    heard: list[Any] = []

    async def take_part(party: Joining) -> None:
        heard.append(json.loads(msgspec.json.encode(as_written((await join(party)).outcome))))

    async with trio.open_nursery() as nursery:
        for party in parties:
            nursery.start_soon(take_part, party)
    return heard


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "psephos.scenarios.cli", *words]


def _invitation_of(folder: pathlib.Path, party: str) -> pathlib.Path:
    (file,) = (folder / "drawn" / "invitations").glob(f"*-{party}.json")
    return file


def _refusals(folder: pathlib.Path) -> dict[str, int]:
    """Return how many connections a server has turned away by reason, as its log last says."""
    last: dict[str, int] = {}
    for line in (folder / "events.jsonl").read_bytes().splitlines():
        event = json.loads(line)
        if event["event"] == "connections_refused":
            last = event["reasons"]
    return last
