"""Lies in masked sessions: of a server about who survived, to open more than a sum, and of parties in their shares."""

import functools
from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple

import msgspec

from ...agents.adversaries import SERVER, Changer, Deviation, Unmasker
from ...protocol.errors import refuse, require
from ...protocol.masking import LEAST_FOR_CIRCLE, Boxes, MaskingMove, Shares, Survivors
from ...protocol.messages import Report, Request
from ...protocol.roles import Side
from ...protocol.views import View
from .liar import reason_of_abort
from .role import Happened, Lesson, Role, Row, Scene, masked_step

_MOST_TOLD = 12  # parties, one by one


class UnmaskerRole(Role, frozen=True, kw_only=True):
    """A server that says of parties whose rows came that they left."""

    dropped: tuple[str, ...]  # who is said to have left
    misled: tuple[str, ...] = ()  # who is told so, the others are not; by default all are: invented drop-outs

    name: ClassVar[str] = "unmasker"

    def check(self, scene: Scene) -> None:
        self.check_server_alone()
        masked_step(scene, MaskingMove.CONFIRM)
        phase = scene.protocol.masked_phase
        assert phase is not None  # noqa: S101  it has this step
        allowed = (
            f"at most {LEAST_FOR_CIRCLE - 1:,}: where more have to take part, a server that lies is not held against"
        )
        refuse(phase.is_sparse, "threshold", phase.threshold, allowed)
        require(self.dropped and SERVER not in self.dropped, "dropped", list(self.dropped), "parties, at least one")
        for field, names in (("dropped", self.dropped), ("misled", self.misled)):
            scene.coalition(names, field=field)

    def deviations(self, scene: Scene) -> Mapping[str, Deviation]:
        places = {name: place for place, name in enumerate(scene.names)}
        return {SERVER: Unmasker(places, self.dropped, self.misled, masked_step(scene, MaskingMove.CONFIRM))}

    def learn(self, scene: Scene, happened: Happened) -> Lesson:
        """Return who found out, and what was told of those who are said to have left."""
        phase = scene.protocol.masked_phase
        assert phase is not None  # noqa: S101  `check` has seen to it
        heard = [_Heard.of(scene, view) for view in happened.views if view.side is Side.CLIENT]
        lost = {name: scene.names.index(name) for name in self.dropped}
        misled = [each for each in heard if each.survivors and {*lost.values()} - {*each.survivors}]
        found = [each for each in misled if each.reason]
        told = [f"{len(misled)} of {len(scene.names)} parties were told so; {len(found)} found out and left."]
        told += [f"The first, {each.party}, did in step {each.step!r}, and said: {each.reason}." for each in found[:1]]
        for name, place in [*lost.items()][:_MOST_TOLD]:
            is_own = [place in each.survivors for each in heard if place in each.shares]
            own, keys = is_own.count(True), is_own.count(False)
            is_open = min(own, keys) + phase.colluders >= phase.threshold
            told.append(
                f"The row of {name}: {own} shares of its own mask were told and {keys} of its keys, and "
                f"{phase.threshold} of both open it. {'It was opened.' if is_open else 'It was not opened.'}"
            )
        return self.lesson(
            who=f"a server that says of {scene.some_parties(len(lost))} whose rows came that they left",
            trust="The server deviates in whom it says to have survived. Parties check that, and signatures on it.",
            sentences=(*told, *_ending(happened)),
            rows=[{"party": each.party, "found out in": each.step, "said": each.reason} for each in found[:_MOST_TOLD]],
        )


class WrongSharesRole(Role, frozen=True, kw_only=True):
    """Parties that send wrong shares."""

    step: Literal["shares", "unmask"] = "unmask"  # boxes that do not open, or shares of no seed

    name: ClassVar[str] = "wrong-shares"

    def check(self, scene: Scene) -> None:
        self.check_parties_alone(scene)
        masked_step(scene, MaskingMove(self.step))

    def deviations(self, scene: Scene) -> Mapping[str, Deviation]:
        change = functools.partial(_other, Boxes if self.step == "shares" else Shares)
        return dict.fromkeys(self.members, Changer(masked_step(scene, MaskingMove(self.step)), change))

    def learn(self, scene: Scene, happened: Happened) -> Lesson:
        """Return how the session ended, and who left."""
        told = {view.party: reason_of_abort(view) for view in happened.views if view.side is Side.CLIENT}
        left = {name: reason for name, reason in told.items() if reason and name not in self.members}
        rows: list[Row] = [{"party": name, "left since": reason} for name, reason in left.items()]
        return self.lesson(
            who=f"{scene.some_parties(len(self.members))} that send wrong shares",
            trust="Members deviate in their shares. They learn nothing by it; one of them can end a session.",
            sentences=(
                *_ending(happened),
                f"Honest parties that left: {len(left)}. Who said a wrong share is not found out.",
                *(f"The first said: {reason}." for reason in [*left.values()][:1]),
            ),
            rows=rows[:_MOST_TOLD],
        )


def _ending(happened: Happened) -> tuple[str, str]:
    """Say how the session ended, and what was charged."""
    number = max((tally.num_reports for tally in happened.tallies), default=0)
    came = f"The session went on: the noisy sum of {number} rows was released, and nothing else."
    if happened.failure is not None:
        came = f"The session came to no end, and nothing was released: {happened.failure}"
    return came, f"{len(happened.entries)} losses are in the ledgers, and stay there."


class _Heard(NamedTuple):
    """A party, who it was told had survived, of whom it told shares, its last step, and why it left."""

    party: str
    survivors: tuple[int, ...]
    shares: frozenset[int]
    step: str
    reason: str

    @classmethod
    def of(cls, scene: Scene, view: View) -> "_Heard":
        steps, survivors, shares, last = scene.protocol.steps, tuple[int, ...](), frozenset[int](), ""
        for message in (each.message for each in view.observations):
            if isinstance(message, Request):
                last = steps[message.step].name
                if steps[message.step].move is MaskingMove.CONFIRM:
                    survivors = msgspec.msgpack.decode(message.payload, type=Survivors).places
            elif isinstance(message, Report) and steps[message.step].move is MaskingMove.UNMASK:
                shares = frozenset(dict(msgspec.msgpack.decode(message.payload, type=Shares).shares))
        return cls(view.party, survivors, shares, last, reason_of_abort(view))


def _other(kind: type[Boxes | Shares], told: msgspec.Raw) -> msgspec.Raw:
    """Return boxes or shares of which each has another bit."""
    (parts,) = msgspec.structs.astuple(msgspec.msgpack.decode(told, type=kind))
    changed = tuple((place, bytes([content[0] ^ 1]) + content[1:]) for place, content in parts)
    return msgspec.Raw(msgspec.msgpack.encode(kind(changed)))
