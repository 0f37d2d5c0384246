"""An outcome that somebody made up, a server or a file, is refused as it is decoded, or can be shown."""

import copy
import io
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
from psephos.protocol.errors import MalformedMessageError
from psephos.protocol.messages import decode_payload, encode_payload
from psephos.scenarios import load, run
from psephos.scenarios.presentation import rows_of, show_outcome, show_verdict
from rich.console import Console

SCENARIOS = ("consortium", "two-societies", "own-epsilon", "cultures", "hyper-laws", "two-features")


def shorter(read: Any) -> Iterator[Any]:
    """Yield plain data without the last entry of one of its lists, of each in turn; and with another text in one."""
    if isinstance(read, str):
        yield f"{read}?"
    keys: list[Any] = []
    if isinstance(read, dict):
        keys = list(cast("dict[str, Any]", read))
    elif isinstance(read, list):
        entries = cast("list[Any]", read)
        keys = list(range(min(len(entries), 3)))
        if entries:
            yield entries[:-1]
    for key in keys:
        for part in shorter(read[key]):
            other: Any = copy.copy(cast("Any", read))
            other[key] = part
            yield other


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_outcome_whose_parts_do_not_fit_is_refused_or_can_be_shown(scenario: str) -> None:
    finished = run(load(scenario, transport="array"))
    decoder: Any = msgspec.msgpack.Decoder(type(finished.outcome))
    whole = msgspec.msgpack.decode(encode_payload(finished.outcome))
    assert decoder.decode(msgspec.msgpack.encode(whole)) == finished.outcome
    num_refused = 0
    for spoiled in shorter(whole):
        payload = msgspec.Raw(msgspec.msgpack.encode(spoiled))
        try:
            outcome = decode_payload(payload, decoder.decode, sender="server", problem="no outcome")
        except MalformedMessageError:
            num_refused += 1
            continue
        console = Console(file=io.StringIO(), width=80)
        show_verdict(console, outcome)
        show_outcome(console, outcome)
        rows_of(outcome, truth=None)
    assert num_refused
