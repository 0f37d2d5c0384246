"""Whole runs in a folder: what tests of the systems' runs share."""

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.privacy import LedgerEntry
from psephos.scenarios import Local, load_scenario, resolve
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.run import FinishedRun, run_in_folder


def made(scenario: str, folder: Path, *settings: str, record: bool = False) -> tuple[Local, FinishedRun]:
    resolved = resolve(load_scenario(scenario, settings), record=record)
    return resolved, run_in_folder(resolved, RunFolder(folder), pictures=False)


def result_bytes(scenario: str, folder: Path, *settings: str) -> bytes:
    made(scenario, folder, *settings)
    return (folder / "result.json").read_bytes()


def words_of(*settings: str) -> list[str]:
    """Return settings as the command line has them."""
    return [word for setting in settings for word in ("--set", setting)]


def refusal(scenario: str, *settings: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(scenario, settings))
    return caught.value


def price(entry: LedgerEntry) -> bytes:
    """Return what a line of a ledger says but for whom it says it of."""
    own = msgspec.to_builtins(entry)
    return msgspec.json.encode({key: own[key] for key in own if key not in {"person", "num_persons"}})


def read_json(path: str | Path) -> Any:
    """Return what a JSON file holds."""
    return json.loads(Path(path).read_bytes())


def read_lines(path: str | Path) -> list[Any]:
    """Return what a file of JSON lines holds."""
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by its header."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
