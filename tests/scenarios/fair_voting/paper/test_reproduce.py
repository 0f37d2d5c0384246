"""`psephos reproduce fair-voting`: options reach the experiments; what is wrong is said before anything is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psephos.scenarios.fair_voting import paper as fair_voting

Psephos = Callable[..., Any]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the experiments were asked for; they are not made."""
    options: dict[str, Any] = {}

    def reproduce(folder: object, **given: Any) -> None:
        del folder
        given.pop("on_progress")
        options.update(given)

    def show(*_: object) -> None:
        pass

    monkeypatch.setattr(fair_voting, "reproduce_fair_voting", reproduce)
    monkeypatch.setattr(fair_voting, "show_reproduction", show)
    return options


def test_the_paper_s_numbers_are_the_default(
    psephos: Psephos, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    ended = psephos("reproduce", "fair-voting")
    assert (ended.status, ended.err) == (0, "")
    assert "Everything is in runs/reproduce-fair-voting-" in ended.out.replace("\\", "/")
    assert asked == {"data": "", "trials": 1000, "seed": 1, "pictures": True}


def test_the_folder_of_data_sets_is_named_or_the_variable_s(
    psephos: Psephos, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSEPHOS_DATA", "variable")
    for name in ("variable", "option"):
        Path(name).mkdir()
    for words, folder in (((), "variable"), (("--data", "option"), "option"), (("--data", ""), "")):
        psephos("reproduce", "fair-voting", "--trials", 20, "--seed", 7, "--no-pictures", *words)
        assert asked == {"data": folder, "trials": 20, "seed": 7, "pictures": False}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--trials", 9), "--trials must be from 10 to 20,000, got 9"),
        (("--seed", -1), "--seed must be an integer >= 0, got -1"),
        (("--data", "nowhere"), "data must be a folder of data sets, got 'nowhere'"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(
    psephos: Psephos, words: tuple[object, ...], error: str
) -> None:
    ended = psephos("reproduce", "fair-voting", "--out", "out", *words)
    assert ended.status == 2
    assert error in ended.err
    assert not Path("out").exists()
