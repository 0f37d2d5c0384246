"""What holds something that is nobody else's to read says none of it as text, wherever a trace or a log may show it."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import psephos
import pytest
from psephos.agents.person_journal import PersonJournal
from psephos.protocol import SessionKind
from psephos.protocol.sides import Party
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.deployment import Joining, Serving, draw_session
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.deployment.own_entries import OwnFile

_ROOMS: Final = ("psephos.agents", "psephos.transports", "psephos.scenarios.deployment")
_PRIVATE: Final = frozenset(
    (
        "entries",
        "identity",
        "key",
        "keys",
        "private_key",
        "reports",
        "row",
        "rows",
        "secret",
        "seed",
        "server",
        "values",
    )
)
_SHOWN: Final = {
    "RollbackGuard.key": "by what a journal is known, which is a session's id",
    "OpenDPMechanism.reports": "the least and the greatest report that there is",
    "OpenDPMechanism.values": "likewise of values",
    "Questions.entries": "a function",
    "PartyCommand.values": "a path",
    "RehearsalResult.server": "how its process ended",
    "Invitation.server": "a certificate",
    "Link.secret": "its hash",
    "_EnrolledKey.key": "a public one",
    "_Enrolment.key": "likewise",
    "Registration.keys": "likewise",
}
"""Fields of such a name that anybody may read, each with why."""


def private_fields() -> Iterator[tuple[type[Any], str]]:
    for found in pkgutil.walk_packages(psephos.__path__, "psephos."):
        if found.name.startswith(_ROOMS):
            for kind in vars(importlib.import_module(found.name)).values():
                if inspect.isclass(kind) and kind.__module__ == found.name:
                    names = getattr(kind, "__struct_fields__", getattr(kind, "__dataclass_fields__", ()))
                    yield from ((kind, name) for name in names if name in _PRIVATE)


def is_hidden(kind: type[Any], name: str) -> bool:
    if issubclass(kind, msgspec.Struct):
        return "__repr__" in vars(kind)
    return next(field for field in dataclasses.fields(kind) if field.name == name).repr is False


def test_no_field_of_what_is_private_is_shown() -> None:
    shown = {f"{kind.__name__}.{name}" for kind, name in private_fields() if not is_hidden(kind, name)}
    assert shown <= _SHOWN.keys(), shown - _SHOWN.keys()


VOTE: Final = """protocol = "dpwevote"
partners = [{partner = "ann", weight = 2, merger = 1}, {partner = "bob", weight = 3, merger = 0}]
[parameters]
candidates = ["merger"]
weights = [2, 3]
epsilon = 1.0
"""


def test_whoever_takes_part_shows_no_value_no_seed_and_no_key(tmp_path: Path) -> None:
    (tmp_path / "vote.toml").write_text(VOTE, encoding="utf-8")
    side = resolve_served(load_scenario(str(tmp_path / "vote.toml"), ()))
    drawn = draw_session(side.protocol, side.roster, session="vote", kind=SessionKind.DEPLOYMENT)
    invitation, other = drawn.invitations
    keys = invitation.find_keys([])
    with PersonJournal.open(tmp_path / "ann.sqlite", now=0.0) as journal:
        joining = Joining(
            address="",
            party="ann",
            entries={"weight": "0000002", "merger": "1"},
            seed=None,
            invitation=invitation,
            keys=keys,
            journal=journal,
        )
        agreement = joining.agree_beforehand()
        assert agreement is not None
        own = OwnFile(path=tmp_path, party="ann", roles=(), header=("weight",), rows=[(2, ("71828",))])
        party = Party("ann", 0, (71828, 1), secret=keys.secret)
        serving = Serving(side=side, address="", mode=make_mode("vote", seed=None), keys=keys)
        held: list[Any] = [joining, invitation, other, keys, keys.identity, drawn, agreement, own, party, serving]
        said = "\n".join(f"{each!r} {each!s} {[each]}" for each in held)
    simulated = dataclasses.replace(joining, journal=None, seed=31415926)
    assert "ann" in said
    body = keys.private_key.decode().splitlines()[1]
    of_keys = body, other.key.splitlines()[1], keys.secret.hex(), repr(keys.secret)[2:-1]
    for private in ("71828", "0000002", "row=", *of_keys):
        assert private not in said
    assert "31415926" not in repr(simulated)


@pytest.mark.parametrize("name", _SHOWN)
def test_what_may_be_shown_is_there(name: str) -> None:
    assert name in {f"{kind.__name__}.{field}" for kind, field in private_fields()}
