"""What holds for every test: the same examples in every run, long files first, and what coverage leaves out."""

from collections.abc import Generator
from pathlib import Path
from typing import Final

import coverage
import hypothesis
import pytest

hypothesis.settings.register_profile("psephos", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("psephos")


LONGEST: Final = (
    "conformance/test_mechanisms.py",
    "scenarios/experiments/truth_discovery/test_reproduction.py",
    "statistical/test_calibration.py",
    "statistical/test_published_tables.py",
    "scenarios/deployment/test_fair_voting.py",
    "scenarios/deployment/test_processes.py",
    "scenarios/experiments/moral_preferences/test_reproduction.py",
    "scenarios/experiments/test_dpwevote_reproduction.py",
    "scenarios/cli/test_cli.py",
    "conformance/test_channels.py",
    "statistical/test_rankings.py",
    "scenarios/deployment/test_truth_discovery.py",
    "scenarios/deployment/test_moral_preferences.py",
    "scenarios/experiments/test_fair_voting_reproduction.py",
    "protocol/fair_voting/test_choices.py",
)
"""Files of half a minute and more. Begun last, one of them would keep one worker busy while the others wait."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, which pytest-xdist hands out in this order."""
    folder = Path(__file__).parent
    places = {folder / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Stop the measurement of coverage while a test runs that is marked `unmeasured`, and go on with it afterwards."""
    measuring = coverage.Coverage.current() if item.get_closest_marker("unmeasured") else None
    if measuring is not None:
        measuring.stop()
    try:
        return (yield)
    finally:
        if measuring is not None:
            measuring.start()
