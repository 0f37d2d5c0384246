"""What a run asks in passing, of sessions that nobody holds, never refuses it: over settings drawn at random."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.forecasts import forecast, try_forecast
from psephos.scenarios.running.resolution import Resolved, resolve
from thoroughness import draws

NUMBERS: Final = ("1e-6", "0.01", "0.1", "0.5", "1", "2", "3", "10", "30", "300")
POOLS: Final[Mapping[str, Sequence[str]]] = {
    "candidates": ("['a']", "['a', 'b']", "['a', 'b', 'c']"),
    "weights": ("[1]", "[1, 2]", "[1, 2, 3]", "[1, 2, 5, 8]", "[0.5, 0.25]", "[1, 1000000]"),
    "groups": ("[[1, 2], [5, 8]]", "[[1], [2, 3]]", "[[1, 2], [3]]"),
    "epsilons": ("[0.5, 2]", "[1, 3]", "[0.1, 20]"),
    "scores": ("borda", "plurality", "[1, 0.5, 0]", "[1, 0, 0, 0]"),
    "prior": ("uniform", "[0.5, 0.3, 0.2]"),
    "threshold": ("2", "5", "20", "1500"),
    "colluders": ("0", "1", "3"),
    "partners.count": ("1", "2", "7", "40", "3000"),
}
SHARES: Final = ("partners.weight_shares=[]", "partners.yes_shares=[]")
SCENARIOS: Final = {
    "consortium": SHARES,
    "consortium-masked": SHARES,
    "trusted-count": (),
    "own-epsilon": (),
    "own-matrix": (),
    "eu-council": (),
    "averaging": (),
    "crowd": (),
    "peer-grading": (),
    "truth-masked": (),
    "two-societies": (),
    "canteen": (),
    "differencing": (),
    "moral-synthetic": (),
    "fairness-judgements": (),
    "moral-masked": (),
}

QUICK: Final = {"consortium", "eu-council", "crowd", "two-societies", "moral-synthetic"}


def drawn(scenario: str, fixed: Sequence[str], number: int) -> Iterator[tuple[list[str], Resolved]]:
    """Yield so many settings drawn at random that are accepted, and what they make."""
    generator = random.Random(f"{scenario} 53")
    parameters: object = resolve(load_scenario(scenario, fixed)).protocol.parameters
    pools = dict(pools_of(type(parameters)))
    while number:
        keys = generator.sample(sorted(pools), generator.randint(1, 4))
        settings = [*fixed, *(f"{key}={generator.choice(pools[key])}" for key in keys)]
        try:
            resolved = resolve(load_scenario(scenario, settings))
        except ConfigurationError:
            continue
        number -= 1
        yield settings, resolved


def pools_of(parameters: type[Any]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield a protocol's parameters with values to try: all of those that have names, and some numbers."""
    for field in msgspec.structs.fields(parameters):
        known = msgspec.inspect.type_info(field.type)
        kinds = known.types if isinstance(known, msgspec.inspect.UnionType) else (known,)
        if field.name in POOLS:
            yield field.name, POOLS[field.name]
            continue
        for kind in kinds:
            match kind:
                case msgspec.inspect.LiteralType(values=values):
                    yield field.name, list(map(str, values))
                case msgspec.inspect.EnumType(cls=cls):
                    yield field.name, [each.value for each in cls]
                case msgspec.inspect.BoolType():
                    yield field.name, ("true", "false")
                case msgspec.inspect.FloatType() | msgspec.inspect.IntType():
                    yield field.name, NUMBERS
                case _:
                    pass


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.full("thousands of settings"))
        for name in SCENARIOS
    ],
)
def test_whatever_is_accepted_is_not_refused_by_what_is_asked_in_passing(scenario: str) -> None:
    """Within seconds it asks as much as a run of many thousands of people would, and what it says has no gap."""
    for settings, resolved in drawn(scenario, SCENARIOS[scenario], draws(2, full=100)):
        try:
            said = forecast(resolved.protocol, resolved.inputs)
        except Exception as error:
            error.add_note(f"{scenario} with {settings}")
            raise
        assert not {"nan", "inf", "None"} & set(said.split()), (settings, said)


def test_a_papers_groups_of_weights_run_though_a_trusted_tally_takes_none() -> None:
    """Paper 004, section 6: what trusts its server has no groups, and is left out of what is said."""
    settings = ["weights=[1, 2, 5, 8]", "groups=[[1, 2], [5, 8]]"]
    resolved = resolve(load_scenario("consortium", settings))
    said = forecast(resolved.protocol, resolved.inputs)
    assert said.startswith("2,000 partners at ε = 1 can only tell margins of ")
    assert "trusted" not in said


def test_only_what_is_not_allowed_is_left_out() -> None:
    def refused(field: str) -> None:
        raise ConfigurationError(field=field, value=1, allowed="2")

    assert try_forecast(refused, "x") is None
    assert try_forecast(abs, -1) == 1
    with pytest.raises(ValueError, match="zero"):
        try_forecast(int, "zero")
