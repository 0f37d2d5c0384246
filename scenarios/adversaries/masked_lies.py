"""Lies in masked sessions: of a server about who survived, to open more than a sum, and of parties in their shares."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from ...agents.adversaries import SERVER, Deviation, Passage, Unmasker
from ...protocol.errors import refuse, require
from ...protocol.masked_sessions import masking_rules
from ...protocol.masking import (
    BOX_BYTES,
    LEAST_FOR_CIRCLE,
    Check,
    Deal,
    Keys,
    MaskingMove,
    MaskingRules,
    NeighborKeys,
    Shares,
    Survivors,
)
from ...protocol.masking.deals import KnownDeal
from ...protocol.masking.scalars import SCALAR_BYTES
from ...protocol.messages import Message, Report, Request, Welcome
from ...protocol.phases import PhasedProtocol
from ...protocol.roles import Side
from ...protocol.roster import SeededRoster
from ...protocol.sides import SessionMode
from ...protocol.views import Happening, View
from .role import AttackContext, AttackReport, Role, Row, SessionTrace, find_masked_step
from .tampering_server import reason_of_abort

_MOST_TOLD = 12  # parties, one by one
Lie: TypeAlias = Literal["box", "degree", "share"]
"""A kind of lie: "box" sends encrypted shares that do not decrypt, "degree" commits to no polynomial of the right
degree, and "share" answers with shares that differ from the dealt ones."""


class UnmaskerRole(Role, frozen=True, kw_only=True):
    """A server that says of parties whose rows came that they left.

    Examples:
        >>> UnmaskerRole(dropped=("ann",)).name
        'unmasker'
    """

    dropped: tuple[str, ...]  # the parties that the server falsely reports as drop-outs
    misled: tuple[str, ...] = ()  # the parties that receive the false report; by default all

    name: ClassVar[str] = "unmasker"

    def check(self, context: AttackContext) -> None:
        self.check_server_alone()
        find_masked_step(context, MaskingMove.CONFIRM)
        phase = context.protocol.masked_phase
        assert phase is not None  # noqa: S101  it has this step
        allowed = (
            f"at most {LEAST_FOR_CIRCLE - 1:,}: where more have to take part, a server that lies is not held against"
        )
        refuse(phase.is_sparse, "threshold", phase.threshold, allowed)
        require(self.dropped and SERVER not in self.dropped, "dropped", list(self.dropped), "parties, at least one")
        for field, names in (("dropped", self.dropped), ("misled", self.misled)):
            context.coalition(names, field=field)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        places = {name: place for place, name in enumerate(context.names)}
        return {SERVER: Unmasker(places, self.dropped, self.misled, find_masked_step(context, MaskingMove.CONFIRM))}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return which parties detected the lie, and which shares of the alleged drop-outs were revealed."""
        phase = context.protocol.masked_phase
        assert phase is not None  # noqa: S101  `check` has seen to it
        heard_clients = [_Heard.of(context, view) for view in trace.views if view.side is Side.CLIENT]
        dropped_places = {name: context.names.index(name) for name in self.dropped}
        misled_clients = [
            each for each in heard_clients if each.survivors and {*dropped_places.values()} - {*each.survivors}
        ]
        detecting_clients = [each for each in misled_clients if each.reason]
        sentences = [
            (
                f"{len(misled_clients)} of {len(context.names)} parties were told so; {len(detecting_clients)} "
                "found out and left."
            )
        ]
        sentences += [
            f"The first, {each.party}, did in step {each.step!r}, and said: {each.reason}."
            for each in detecting_clients[:1]
        ]
        for name, place in [*dropped_places.items()][:_MOST_TOLD]:
            is_own = [each.shares[place] for each in heard_clients if place in each.shares]
            mask_shares, keys = is_own.count(True), is_own.count(False)
            is_open = min(mask_shares, keys) + phase.colluders >= phase.threshold
            sentences.append(
                f"The row of {name}: {mask_shares} shares of its own mask were told and {keys} of its keys, and "
                f"{phase.threshold} of both open it. {'It was opened.' if is_open else 'It was not opened.'}"
            )
        return self.attack_report(
            who=f"a server that says of {context.count_parties(len(dropped_places))} whose rows came that they left",
            trust="The server deviates in whom it says to have survived. Parties check that, and signatures on it.",
            sentences=(*sentences, *_describe_ending(trace)),
            rows=[
                {"party": each.party, "found out in": each.step, "said": each.reason}
                for each in detecting_clients[:_MOST_TOLD]
            ],
        )


class WrongSharesRole(Role, frozen=True, kw_only=True):
    """Parties that sign wrong shares.

    Examples:
        >>> WrongSharesRole(members=("ann",)).name
        'wrong-shares'
    """

    step: Literal["shares", "unmask"] = "unmask"  # the step in which their shares are wrong

    name: ClassVar[str] = "wrong-shares"

    def check(self, context: AttackContext) -> None:
        self.check_parties_alone(context)
        find_masked_step(context, MaskingMove(self.step))

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        from ...agents.masking import draw_signature_keys  # noqa: PLC0415  most runs mask nothing

        signers, _ = draw_signature_keys(context.noise(), protocol=context.protocol.name, number=len(context.names))
        places = {name: context.names.index(name) for name in self.members}
        lie: Lie = "box" if self.step == "shares" else "share"
        mode = SessionMode(context.session, context.noise())
        return {name: MaskedLiar(context.protocol, mode, place, signers[place], lie) for name, place in places.items()}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return which members were detected, how the session ended, and who left."""
        views = {view.party: view for view in trace.views if view.side is Side.CLIENT}
        reasons = {name: reason_of_abort(view) for name, view in views.items() if name not in self.members}
        received_reasons = {
            name: reason_of_abort(views[name], Happening.RECEIVED) for name in self.members if name in views
        }
        reasons_to_leave = {name: reason for name, reason in reasons.items() if reason}
        named_reasons = {name: reason for name, reason in received_reasons.items() if reason.startswith(repr(name))}
        rows: list[Row] = [
            {"party": name, "left since": reason} for name, reason in {**named_reasons, **reasons_to_leave}.items()
        ]
        return self.attack_report(
            who=f"{context.count_parties(len(self.members))} that sign wrong shares",
            trust="Members deviate in their shares. They learn nothing by it, and what they have signed names them.",
            sentences=(
                *_describe_ending(trace),
                (
                    f"Found out: {len(named_reasons)} of {len(self.members)}. Honest parties that left: "
                    f"{len(reasons_to_leave)}."
                ),
                *(f"The first was told: {reason}." for reason in [*named_reasons.values()][:1]),
            ),
            rows=rows[:_MOST_TOLD],
        )


class MaskedLiar(Deviation):
    """A client that alters its dealt shares or its answers, and signs them with its own keys."""

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        mode: SessionMode,
        place: int,
        sign: Callable[[bytes], bytes],
        lie: Lie,
    ) -> None:
        self._protocol, self._mode, self._place, self._sign, self._lie = protocol, mode, place, sign, lie
        self._rules: MaskingRules | None = None
        self._keys: dict[int, Keys] = {}
        self._deal, self._held = b"", b""

    def incoming(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Welcome):
            self._mode = SessionMode(self._mode.session, self._mode.noise, descriptor=message.descriptor)
        elif isinstance(message, Request):
            self._hear(message)
        return Passage(inward=(message,))

    def _hear(self, request: Request) -> None:
        protocol = self._protocol
        phase, payload = protocol.masked_phase, request.payload
        assert phase is not None  # noqa: S101  `check` has seen to it
        if protocol.steps[request.step].move is MaskingMove.KEYS:
            roster = msgspec.msgpack.decode(payload, type=SeededRoster)
            self._rules = masking_rules(protocol, phase, roster, self._mode, seed=roster.seed)
        elif protocol.steps[request.step].move is MaskingMove.SHARES:
            keys = msgspec.msgpack.decode(request.own if phase.is_sparse else payload, type=NeighborKeys)
            self._keys.update(keys.keys)

    def outgoing(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Report) and self._rules is not None:
            step = self._protocol.steps[message.step]
            content = self._alter_content(step.codec.decode(message.payload), self._rules)
            message = Report(message.step, step.codec.encode(content))
        return Passage(outward=(message,))

    def _alter_content(self, content: Any, rules: MaskingRules) -> Any:
        """Return the altered content in place of the honest one."""
        match content:
            case Keys():
                self._keys[self._place] = content
            case Deal(pieces=(first, *others)) if self._lie == "degree":
                wrong = msgspec.structs.replace(first, combined=bytes(SCALAR_BYTES))
                content = msgspec.structs.replace(content, pieces=(wrong, *others))
                self._deal = KnownDeal(rules, self._place, self._keys, content).digest
            case Deal(pieces=pieces) if self._lie == "box":
                wrong = (
                    msgspec.structs.replace(piece, box=bytes(BOX_BYTES)) if piece.box else piece for piece in pieces
                )
                content = msgspec.structs.replace(content, pieces=tuple(wrong))
                self._deal = KnownDeal(rules, self._place, self._keys, content).digest
            case Check():
                self._held = content.held
                if self._deal:
                    content = msgspec.structs.replace(content, deal=self._deal)
                    statement = rules.check_statement(self._place, self._keys[self._place], content)
                    content = msgspec.structs.replace(content, signature=self._sign(statement))
            case Shares(shares) if self._lie == "share":
                wrong = tuple(
                    (place, is_of_seed, bytes((piece[0] ^ 1, *piece[1:]))) for place, is_of_seed, piece in shares
                )
                content = msgspec.structs.replace(content, shares=wrong)
                statement = rules.shares_statement(
                    self._place, self._keys[self._place], content, held_digest=self._held
                )
                content = msgspec.structs.replace(content, signature=self._sign(statement))
            case _:
                pass
        return content


def _describe_ending(trace: SessionTrace) -> tuple[str, str]:
    """Return sentences on how the session ended, and on what was charged."""
    number = max((tally.num_reports for tally in trace.tallies), default=0)
    outcome_sentence = f"The session went on: the noisy sum of {number} rows was released, and nothing else."
    if trace.failure is not None:
        outcome_sentence = f"The session came to no end, and nothing was released: {trace.failure}"
    return outcome_sentence, f"{len(trace.entries)} losses are in the ledgers, and stay there."


class _Heard(NamedTuple):
    """A party's part: the survivors in its messages, shares it revealed by secret, its last step, and why it left."""

    party: str
    survivors: tuple[int, ...]
    shares: Mapping[int, bool]
    step: str
    reason: str

    @classmethod
    def of(cls, context: AttackContext, view: View) -> "_Heard":
        steps, survivors, shares, last = context.protocol.steps, tuple[int, ...](), dict[int, bool](), ""
        for message in (each.message for each in view.observations):
            if isinstance(message, Request):
                last = steps[message.step].name
                if steps[message.step].move is MaskingMove.CONFIRM:
                    survivors = msgspec.msgpack.decode(message.payload, type=Survivors).places
            elif isinstance(message, Report) and steps[message.step].move is MaskingMove.UNMASK:
                shares_told = msgspec.msgpack.decode(message.payload, type=Shares).shares
                shares = {place: is_of_seed for place, is_of_seed, _ in shares_told}
        return cls(view.party, survivors, shares, last, reason_of_abort(view))
