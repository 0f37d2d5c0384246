"""What holds for every test: the same examples in every run, long files first, and what is left out when quick."""

import fcntl
import functools
import gc
import inspect
import itertools
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import coverage
import hypothesis
import pytest
import quoting
from thoroughness import IS_FULL, draws

hypothesis.settings.register_profile(
    "psephos", derandomize=True, deadline=None, database=None, max_examples=draws(6, full=100)
)
hypothesis.settings.load_profile("psephos")
# Output is compared as it is in a pipe or in a terminal of ours, whatever the terminal is of whoever runs the tests.
for _variable in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
    os.environ.pop(_variable, None)  # pytest-xdist sets the first for its workers
os.environ["LANGUAGE"] = "en"  # whatever the language is of whoever runs the tests
os.environ["TERM"] = "xterm"  # one that is dumb has 80 columns for rich, however wide it is


LONGEST: Final = (
    "scenarios/deployment/test_masked_kills.py",
    "test_manual.py",
    "conformance/test_mechanisms.py",
    "conformance/test_protocols.py",
    "scenarios/deployment/test_processes.py",
    "simulation/test_planted.py",
    "simulation/test_world.py",
    "scenarios/deployment/test_hostile_peers.py",
    "scenarios/deployment/test_status.py",
    "scenarios/deployment/test_rehearsal.py",
    "test_operations_page.py",
    "scenarios/deployment/test_attacks.py",
    "scenarios/truth_discovery/paper/test_reproduction.py",
    "statistical/test_calibration.py",
    "statistical/test_published_tables.py",
    "protocol/mechanisms/test_optimal_design.py",
    "scenarios/deployment/test_systems.py",
    "scenarios/fair_voting/test_hidden_participation.py",
    "scenarios/moral_preferences/paper/test_reproduction.py",
    "scenarios/dpwevote/paper/test_reproduction.py",
    "scenarios/cli/test_cli.py",
    "agents/test_journal_file.py",
    "conformance/test_channels.py",
    "protocol/fair_voting/test_choices.py",
    "test_plugins_page.py",
    "test_vector_instructions.py",
    "scenarios/deployment/test_who_is_who.py",
    "statistical/test_verdicts.py",
    "scenarios/fair_voting/test_runs.py",
    "scenarios/test_pytest_plugin.py",
    "simulation/test_sessions.py",
    "test_import_boundaries.py",
    "transports/test_faults.py",
    "test_documents.py",
    "vectors/test_vectors.py",
    "test_start_page.py",
    "test_packaging.py",
)
"""Begun last, one of these files would keep one worker busy while the others wait."""


@contextmanager
def _after_the_first() -> Generator[None]:
    """Let one worker collect while the others wait: what it compiles, they read.

    In a fresh clone each would otherwise rewrite and compile all tests, for no worker runs ahead of another one.
    """
    with Path(__file__).open() as own:
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(own, fcntl.LOCK_SH)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep Python's collector from what is there for good: 20,000 tests, all modules, and what they hold.

    It would walk all of that again and again, as it grows and during the tests: a tenth of the time of all.
    """
    gc.disable()
    try:
        with _after_the_first():
            return (yield)
    finally:
        gc.freeze()
        gc.enable()


_WHOLE: Final = ("conformance", "simulation", "vectors")


def _values_of(item: pytest.Item) -> set[tuple[int, str]]:
    """Return which value of each `parametrize` a case has."""
    names = cast("Sequence[str]", vars(vars(item)["callspec"])["_idlist"])
    return set(enumerate(names))


def _is_of_a_product(item: pytest.Item) -> bool:
    """Return whether a case is of several `parametrize`, and of nothing that is tried as a whole."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return len(_values_of(item)) > 1 and folder not in _WHOLE and not item.get_closest_marker("bad_input")


def _beyond_few(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that are left out of products and of functions marked `few`; each value stays in some case."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and (item.get_closest_marker("few") or _is_of_a_product(item)):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: list[pytest.Item] = []
    for own in cases.values():
        values = {item: _values_of(item) for item in own}
        missing = set[tuple[int, str]]().union(*values.values())
        kept: list[pytest.Item] = []
        while missing:
            best = max(own, key=lambda item: len(values[item] & missing))
            kept.append(best)
            missing -= values[best]
        marker = own[0].get_closest_marker("few")
        most = len(kept) if marker is None else marker.kwargs.get("most", len(kept))
        kept = [kept[place * len(kept) // most] for place in range(min(most, len(kept)))]
        left_out += [item for item in own if item not in kept]
    return left_out


def _needs_its_values_alone(item: pytest.Item) -> bool:
    """Whether a test is a case of a plain function that asks for no fixture, and is to pass."""
    return (
        isinstance(item, pytest.Function)
        and item.cls is None
        and hasattr(item, "callspec")
        and set(item.fixturenames) <= item.callspec.params.keys()
        and not inspect.iscoroutinefunction(item.obj)
        and not hasattr(item.obj, "hypothesis")
        and not any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
    )


def _put_together(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return tests with all such cases of a function in its first one, which says of which case an error is.

    What pytest and pytest-xdist do for a test takes longer than most cases.
    """
    cases: dict[str, list[pytest.Function]] = {}
    kept: list[pytest.Item] = []
    for item in items:
        own = cases.setdefault(item.nodeid.partition("[")[0], [])
        is_case = _needs_its_values_alone(item)
        if not is_case or not own:
            kept.append(item)
        if is_case:
            own.append(cast("pytest.Function", item))
    for own in cases.values():
        if len(own) > 1:
            own[0].obj = functools.partial(_run_all, own[0].obj, [case.callspec for case in own])
            setattr(own[0], "_nodeid", own[0].nodeid.partition("[")[0])  # noqa: B010  checkers know no such name
    return kept


def _run_all(check: Callable[..., None], cases: Sequence[Any], **_first: object) -> None:
    for case in cases:
        try:
            check(**case.params)
        except BaseException as error:
            error.add_note(f"The case is [{case.id}].")
            raise


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make verify` runs, and put the longest files first: pytest-xdist hands out in this order.

    Where it does, and quickly, cases that need nothing but their values are one test.
    """
    if not IS_FULL:
        left_out = [item for item in items if item.get_closest_marker("full")]
        left_out += _beyond_few([item for item in items if not item.get_closest_marker("full")])
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)
        if "PYTEST_XDIST_WORKER" in os.environ:
            items[:] = _put_together(items)
    folder = Path(__file__).parent
    places = {folder / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_sessionstart() -> None:
    """Make sure that each file of `LONGEST` is there, and that Ctrl-C reaches processes that tests start.

    A name that rots would put its file last. A shell lets what it runs in the background ignore the signal, and all
    that it starts.
    """
    os.environ.pop("PSEPHOS_JOURNAL", None)  # that of whoever runs the tests
    os.environ["XDG_STATE_HOME"] = str(Path(_folders.name, "state"))  # where the key of pictures is
    quoting.watch()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    missing = [name for name in LONGEST if not (Path(__file__).parent / name).is_file()]
    if missing:
        raise pytest.UsageError(f"LONGEST in tests/conftest.py names what is not there: {missing}")


def pytest_sessionfinish() -> None:
    """Write down what was measured: pytest-xdist gives a worker ten seconds to end, and then kills it, data and all."""
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.save()
    _folders.cleanup()


def _empty_folders(parent: Path) -> Iterator[Path]:
    """Yield a folder as long as nobody leaves anything in it, and then another one."""
    for number in itertools.count():
        folder = parent / str(number)
        folder.mkdir(parents=True)
        while not any(folder.iterdir()):
            yield folder


_folders: Final = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
_journals: Final = _empty_folders(Path(_folders.name, "journals"))
_witnesses: Final = _empty_folders(Path(_folders.name, "witnesses"))


def pytest_runtest_setup() -> None:
    """Give each test folders of journals and their witnesses: none writes into those of whoever runs it, or of another.

    A fixture of all tests would take as long as many a test does.
    """
    quoting.begin()
    os.environ["PSEPHOS_JOURNAL"] = str(next(_journals))
    os.environ["PSEPHOS_WITNESS"] = str(next(_witnesses))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Follow a test, whose private values nothing may quote.

    The measurement of coverage stops while a test runs that is marked `unmeasured`, and goes on afterwards.
    """
    measuring = coverage.Coverage.current() if item.get_closest_marker("unmeasured") else None
    if measuring is not None:
        measuring.stop()
    try:
        result = yield
        if quoted := quoting.found():
            pytest.fail(f"what a test says and leaves may be no such thing: {quoted}")
        return result
    finally:
        if measuring is not None:
            measuring.start()
