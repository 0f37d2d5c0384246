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
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import IO, Any, NamedTuple

import hostile
import msgspec
import trio
from harness import MEGABYTE, memory
from psephos.scenarios.deployment import Joining, find_invitation, join
from psephos.scenarios.verdicts import outcome_to_dict

__all__ = ["Held", "hold_vote"]


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


def hold_vote(
    *attacks: str,
    transport: str,
    num_parties: int,
    num_candidates: int,
    number: int = 0,
    ulimit: str = "-c 0",
    before: Callable[[str], None] = lambda _: None,
) -> Held:
    """Hold a vote with a round for each candidate once.

    Args:
        attacks: by name, in turns; none for a vote among friends.
        transport: "tcp" or "tls".
        num_parties: on the roster. The last one's key is the attackers' as well, and its seat if they take it.
        num_candidates: each makes two phases.
        number: how often each attack is done before a party comes, and before it is the next one's turn; 0 for as often
            as one can in a second.
        ulimit: what the server's shell limits, such as "-n 1024".
        before: called with the server's address before a party comes.

    Raises:
        RuntimeError: the server failed, or the attackers did.
        PsephosError: a party did.
    """
    names = [*(f"p{place}" for place in range(num_parties - 1)), hostile.PARTY]
    candidates, scenario = [f"c{place}" for place in range(num_candidates)], f"{hostile.SESSION}.toml"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        rows = [f"{name},{1 + place % 3}" + ",0" * num_candidates for place, name in enumerate(names)]
        (folder / "parties.csv").write_text("\n".join([",".join(["partner", "weight", *candidates]), *rows, ""]))
        (folder / scenario).write_text(
            'protocol = "dpwevote"\npartners = "parties.csv"\nquorum = 0.5\n[parameters]\n'
            f'candidates = {json.dumps(candidates)}\nweight_collection = "per_candidate"\n'
        )
        served = ["serve", scenario, "--transport", transport, "--listen", "127.0.0.1:0", "--no-pictures"]
        served += ["--out", "served", "--simulate", "--seed", str(hostile.SEED)]
        if transport == "tls":
            drawn = _psephos("roster", scenario, "--make-keys", "--simulate", "--out", "drawn")
            subprocess.run(drawn, cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own
            served += ["--roster", "drawn"]
        shell = ["sh", "-c", f'ulimit {ulimit} && exec "$@"', "sh"]
        with _running([*shell, *_psephos(*served)], folder) as (server, said):
            address = next(line for line in said if line.startswith(b"listening on ")).split()[2].decode()
            parties = [
                _joining(folder, address, transport, candidates, place, name) for place, name in enumerate(names)
            ]
            if hostile.TAKES_SEAT.intersection(attacks):
                parties.pop()
            with contextlib.ExitStack() as stack:
                if attacks:
                    words = [address, *(f"--attack={attack}" for attack in attacks)]
                    words += [f"--number={number}"] if number else []
                    words += [f"--invitation={_invitation(folder, hostile.PARTY)}"] if transport == "tls" else []
                    command = [sys.executable, hostile.__file__, *words]
                    _, heard = stack.enter_context(_running(command, folder))
                    if heard.readline() != hostile.BEGUN or (number and heard.readline() != hostile.DONE):
                        raise RuntimeError("the attack ended too early")
                    time.sleep(0 if number else 1)
                before(address)
                began = time.perf_counter()
                outcomes = trio.run(_take_part, parties)
                seconds, megabytes = time.perf_counter() - began, memory(process=server.pid) / MEGABYTE
            if status := server.wait(300):
                raise RuntimeError(f"the server ended with status {status}")
        refused: dict[str, int] = {}
        for line in (folder / "served" / "events.jsonl").read_bytes().splitlines():
            refused = json.loads(line).get("reasons", refused)  # as its log last says
        result = json.loads((folder / "served" / "result.json").read_bytes())
        return Held(seconds, megabytes, result, outcomes, refused)


def _psephos(*words: str) -> list[str]:
    return [sys.executable, "-m", "psephos.scenarios.cli", *words]


@contextlib.contextmanager
def _running(command: Sequence[str], folder: pathlib.Path) -> Generator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:  # noqa: S603  our own
        assert process.stdout is not None
        try:
            yield process, process.stdout
        finally:
            process.kill()


def _invitation(folder: pathlib.Path, party: str) -> str:
    (file,) = (folder / "drawn" / "invitations").glob(f"*-{party}.json")
    return str(file)


def _joining(
    folder: pathlib.Path, address: str, transport: str, candidates: Sequence[str], place: int, party: str
) -> Joining:
    invitation = find_invitation(pathlib.Path(_invitation(folder, party))) if transport == "tls" else None
    opinions = {name: str((place + number) % 2) for number, name in enumerate(candidates)}
    return Joining(
        address=address,
        party=party,
        entries={"weight": str(1 + place % 3), **opinions},
        seed=hostile.SEED,
        budget=1000.0,
        transport=transport,
        invitation=invitation,
        keys=None if invitation is None else invitation.find_keys([]),
    )


async def _take_part(parties: Sequence[Joining]) -> list[Any]:
    """Let everybody take part at once."""
    heard: list[Any] = []

    async def take_part(party: Joining) -> None:
        heard.append(json.loads(msgspec.json.encode(outcome_to_dict((await join(party)).outcome))))

    async with trio.open_nursery() as nursery:
        for party in parties:
            nursery.start_soon(take_part, party)
    return heard
