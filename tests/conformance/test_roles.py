"""What every registered adversary's role keeps: the promises of `check_role`, on sessions of all four systems."""

from collections.abc import Sequence
from typing import Any

import pytest
from adversary_runs import SMALL
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.adversaries.reading import read_adversaries
from psephos.scenarios.adversaries.role import AttackContext
from psephos.scenarios.plugins import ADVERSARIES, names_in
from psephos.scenarios.testing import check_role

RECORDS = ("paradigm=RLDP", "mechanism=functional")
MASKED = ("trust=distributed", "threshold=3", "colluders=1")
WINNER = ("mechanism=exponential", "epsilon=4.0")

CASES: list[tuple[str, dict[str, Any], Sequence[str]]] = [
    ("dpwevote", {"role": "averaging-attacker", "votes": 2}, ()),
    ("dpwevote", {"role": "coalition", "members": ["server", "1"], "target": "2"}, ()),
    ("truth-discovery", {"role": "coalition", "members": ["server", "1"], "target": "2"}, ()),
    ("moral-preferences", {"role": "coalition", "members": ["server", "1"], "target": "2"}, ()),
    ("fair-voting", {"role": "coalition", "members": ["1", "3"], "target": "2"}, ()),
    ("dpwevote", {"role": "collusion-sweep", "trials": 5}, ()),
    ("fair-voting", {"role": "differencing", "members": ["3"], "target": "1", "trials": 8}, WINNER),
    ("dpwevote", {"role": "equivocator", "misled": ["1"]}, ()),
    ("truth-discovery", {"role": "drop-out", "members": ["1"]}, ()),
    ("moral-preferences", {"role": "tampering-server", "parameters": {"epsilon": 9.0}}, ()),
    ("moral-preferences", {"role": "membership", "members": ["*"], "target": "1", "rounds": 50}, ()),
    ("fair-voting", {"role": "misreporter", "members": ["1"], "trials": 10}, WINNER),
    ("fair-voting", {"role": "network-observer"}, ()),
    ("dpwevote", {"role": "poisoner", "members": ["1"]}, ()),
    ("truth-discovery", {"role": "poisoner", "members": ["1", "2"]}, ()),
    ("moral-preferences", {"role": "record-inference", "members": ["server"], "target": "1", "trials": 50}, RECORDS),
    ("dpwevote", {"role": "replayer", "members": ["2"]}, ()),
    ("fair-voting", {"role": "selective-abort", "target": "1", "trials": 5}, ()),
    ("dpwevote", {"role": "sybils", "members": ["1"], "outsiders": 2, "impersonated": ["3"]}, ()),
    ("dpwevote", {"role": "coalition", "members": ["server", "1"], "target": "2"}, MASKED),
    ("dpwevote", {"role": "unmasker", "dropped": ["1"], "misled": ["2"]}, MASKED),
    ("dpwevote", {"role": "wrong-shares", "members": ["1"]}, MASKED),
]
SLOW = {"coalition on truth-discovery", "coalition on fair-voting"}


def test_every_registered_role_is_tested_here() -> None:
    assert {table["role"] for _, table, _ in CASES} == {*names_in(ADVERSARIES)}


@pytest.mark.parametrize(
    ("protocol", "table", "settings"),
    [
        pytest.param(
            protocol,
            table,
            settings,
            id=(name := f"{table['role']} on {protocol}"),
            marks=pytest.mark.full("hundreds of inferences; the same role on two other systems is quick")
            if name in SLOW
            else (),
        )
        for protocol, table, settings in CASES
    ],
)
def test_a_role_keeps_its_promises(protocol: str, table: dict[str, Any], settings: Sequence[str]) -> None:
    """Parties are told by their numbers; where rows are encoded already, `check_role` names them so."""
    name, small = SMALL[protocol]
    resolved = resolve(load_scenario(name, [*small, "seed=11", *settings]))
    names = [f"{resolved.protocol.client_role}-{number}" for number in range(1, len(resolved.names) + 1)]

    def named(value: Any) -> Any:
        match value:
            case list():
                return [named(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  a table's
            case str() if value.isdecimal():
                return names[int(value) - 1]
            case _:
                return value

    context = AttackContext(resolved.protocol, names, resolved.inputs, "check", seed=1)
    (role,) = read_adversaries([{key: named(value) for key, value in table.items()}], context, has_agents=True)
    check_role(role, resolved.protocol, resolved.inputs)
