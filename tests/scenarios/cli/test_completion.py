"""What a shell completes, by click's own way to ask a program, and what a misspelled name is answered."""

import pytest
from bad_input import Psephos, Write
from psephos.scenarios.running.config import settable_keys


def completed(psephos: Psephos, monkeypatch: pytest.MonkeyPatch, words: str) -> list[str]:
    """Return what bash is told to put in place of the last of these words."""
    monkeypatch.setenv("_PSEPHOS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    ended = psephos()
    assert (ended.status, ended.err) == (0, "")
    return [line.removeprefix("plain,") for line in ended.out.split()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("psephos ne", ["new"]),
        ("psephos new v", ["vote"]),
        ("psephos new vote --pub", ["--public-weights"]),
        ("psephos run eu", ["eu-council", "eu-council-masked", "eu-council-treaties"]),
        ("psephos trials one", ["one-game"]),
        ("psephos show con", ["consortium", "consortium-masked"]),
        ("psephos run mine.t", ["file,mine.t"]),
        ("psephos run consortium --set eps", ["epsilon=", "epsilon_opinion=", "epsilon_weight=", "epsilons="]),
        ("psephos run consortium --set cou", ["count="]),
        ("psephos run nowhere --set eps", []),
        ("psephos run --set eps", []),
        ("psephos reproduce dp", ["dpwevote"]),
    ],
)
def test_scenarios_and_keys_are_completed(
    psephos: Psephos, monkeypatch: pytest.MonkeyPatch, words: str, found: list[str]
) -> None:
    assert completed(psephos, monkeypatch, words) == found


def test_keys_of_a_file_of_ones_own_are_completed(
    psephos: Psephos, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("mine.toml", 'protocol = "fair-voting"\n[voters]\ngenerator = "mallows"\n')
    assert completed(psephos, monkeypatch, "psephos run mine.toml --set gen") == ["generator="]
    assert {"voters", "mechanism", "budget", "generator"} <= set(settable_keys("mine.toml"))


@pytest.mark.bad_input("a name that is nearly one that is known")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("rn", "run"),
        ("new vot", "vote"),
        ("reproduce dpwvote", "dpwevote"),
        ("show consortum", "consortium"),
        ("run consortum", "consortium"),
        ("run consortium --set epsilom=2", "epsilon"),
        ("run consortium --set variant=optmal", "optimal"),
        ("run consortium --set partners.cont=4", "count"),
        ("run consortium --set phases.weight.quorum=4", "weights"),
        ("run consortium --set protocol=dpwevot", "dpwevote"),
        ("run consortium --transport tpc", "tcp"),
        ("run sybil --set=adversary=[{role='sybls'}]", "sybils"),
        ("run two-societies --set mechanism=laplac", "laplace"),
        pytest.param("audit k-r", "k-rr", marks=pytest.mark.full("it makes every case of the audit")),
    ],
)
def test_a_name_that_is_nearly_one_is_answered_with_it(psephos: Psephos, words: str, meant: str) -> None:
    assert f"did you mean {meant!r}?" in psephos(*words.split()).refusal
