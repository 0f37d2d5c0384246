"""Masked votes between processes over TLS, of which one is killed (SIGKILL) at every durable step of its own.

    $ .venv/bin/python tests/masked_kills.py              # all of them; it says how many were killed

Before and after each commit: each process goes on from where the last one was killed. In a *dispute* three of seven
lie: one seals a box that does not open (so that there is `accuse`), and another has dealt to a third what is of no
polynomial, as comes out when masks are to come off (so that there is `open`).
"""

# ruff: noqa: T201  a program

import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from deployments import ENTRIES, Ending, Process
from durable_votes import Dying, Vote
from psephos.protocol.masking import IN_DISPUTE, MaskingMove
from psephos.protocol.messages import Report, decode
from psephos.protocol.records import Accepted, Drawn, PhaseClosed
from runs import read_json

__all__ = ["CALM", "DISPUTE", "EVERYWHERE", "KILLED", "MaskedVote", "kill"]

EVERYWHERE: Final[Sequence[Dying]] = [("before", 1), ("after", 1)]
_MOVES: Final = tuple(MaskingMove)
CALM: Final[Mapping[str, str]] = dict.fromkeys(("ann", "bob", "cid"), "")
"""Parties, each with how it lies."""
DISPUTE: Final[Mapping[str, str]] = {
    "p0": "TrustingConspirator",
    "p1": "",  # whose box does not open
    "p2": "BoxThatDoesNotOpen:0",
    "p3": "ConspiringDealer:0",
    "p4": "",
    "p5": "",
    "p6": "",
}
KILLED: Final[Sequence[tuple[Mapping[str, str], str]]] = [
    (CALM, "ann"),
    (CALM, "server"),
    (DISPUTE, "p1"),
    (DISPUTE, "p2"),
    (DISPUTE, "p3"),
    (DISPUTE, "server"),
]
"""Who is killed, in which vote."""


class MaskedVote(Vote):
    """A masked vote of parties of whom some lie.

    Args:
        folder: where everything is.
        parties: each with how it lies.
    """

    def __init__(self, folder: Path, parties: Mapping[str, str]) -> None:
        self.parties = parties
        self.honest = [party for party, lie in parties.items() if not lie]
        settings = {"trust": "distributed", "threshold": len(parties) // 2 + 1, "colluders": 0, "epsilon": 2}
        super().__init__(
            folder,
            *(f"{name}={value}" for name, value in settings.items()),
            entries={party: dict(ENTRIES["ann"]) for party in parties},
            lines="deadline_seconds = 3600",
            is_enrolled=True,
        )

    def enter(self, party: str, *, dying: Dying | None = None) -> Process:
        """Let a party take part in its way."""
        return self.join(party, dying=dying, lying=self.parties[party])

    def check_masked(self, endings: Mapping[str, Ending]) -> None:
        """Check what is left when all has ended: nothing is lost, drawn again or paid twice, and no one honest is out.

        Args:
            endings: of the last process of each, and of the server.
        """
        assert endings["server"].status == 0, endings
        records = self.server_records()
        moves = {_MOVES[each.step] for each in records if isinstance(each, PhaseClosed)}
        is_disputed = len(self.honest) < len(self.parties)
        assert moves == ({*_MOVES[:-1]} if is_disputed else {*_MOVES[:-1]} - IN_DISPUTE)
        run = self.run_of("server")
        assert {each["party"] for each in run.get("named", ())} == self.parties.keys() - {*self.honest}
        places = dict(enumerate(self.parties))
        accepted = {(places[each.place], each.step): each.report for each in records if isinstance(each, Accepted)}
        digests = {run["transcript"]}
        for party in self.honest:
            assert endings[party].status == 0, (party, endings)
            digests.add(self.run_of(party)["transcript"])
            own = self.records_of(party)
            drawn = [each for each in own.records if isinstance(each, Drawn)]
            assert len({each.step for each in drawn}) == len(drawn) == own.num_acknowledged
            assert [entry.proven for entry in own.entries] == [2.0]
            for each in drawn:
                report = decode(each.report)
                assert isinstance(report, Report)
                assert accepted[party, each.step] == bytes(report.payload)
            assert {each.step for each in drawn} == {step for who, step in accepted if who == party}
        assert len(digests) == 1
        excluded = sum(lie.startswith("Box") for lie in self.parties.values())
        assert read_json(self.last_folder("server") / "result.json")["received"] == {
            "votes": len(self.parties) - excluded
        }


def kill(folder: Path, parties: Mapping[str, str], who: str, *, most: int | None = None) -> int:
    """Hold a vote in which somebody is killed at each durable step; check it, and return how often that was.

    Args:
        folder: an empty one.
        parties: each with how it lies.
        who: a party, or `server`.
        most: how often at most; by default as often as there is a step.
    """
    lives: Iterable[Dying | None] = itertools.chain(
        itertools.islice(itertools.cycle(EVERYWHERE), most), itertools.repeat(None)
    )
    with MaskedVote(folder, parties) as vote:
        clients: dict[str, Process] = {}
        server: Process | None = None
        if who != "server":
            server = vote.serve()
            server.address()
            clients = {party: vote.enter(party) for party in parties if party != who}
        num_killed, ended = 0, Ending(0, "", "")
        for dying in lives:
            process = vote.serve(dying=dying) if who == "server" else vote.enter(who, dying=dying)
            if who == "server" and not clients:
                process.address()
                clients = {party: vote.enter(party) for party in parties}
            if server is not None:
                server = vote.attend(process, server)
            ended = process.ending()
            if ended.status != -signal.SIGKILL:
                server = server or process
                break
            num_killed += 1
        assert server is not None
        endings = {who: ended}
        for party, client in clients.items():
            if parties[party]:
                client.kill()  # a liar that was not told so would wait for an hour
            else:
                server = vote.attend(client, server)
                endings[party] = client.ending()
        endings["server"] = server.ending()
        vote.check_masked(endings)
    return num_killed


def main() -> None:
    """Kill all of `KILLED`, and say how often."""
    num_killed, begun = 0, time.monotonic()
    for number, (parties, who) in enumerate(KILLED):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("JOURNAL", "WITNESS"):
                os.environ[f"PSEPHOS_{name}"] = str(Path(folder, name.lower()))
            own = Path(folder, "vote")
            own.mkdir()
            times = kill(own, parties, who)
        num_killed += times
        about = "with a dispute" if parties is DISPUTE else "without a dispute"
        print(f"{number + 1}. {who}, {about}: killed {times} times", flush=True)
    print(
        f"{num_killed} kills in {time.monotonic() - begun:.0f} s; nothing lost, drawn again or paid twice, nobody out"
    )


if __name__ == "__main__":
    sys.exit(main())
