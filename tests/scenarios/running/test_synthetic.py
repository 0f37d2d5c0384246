"""Nobody real stands behind files of exactly these bytes; real values get secure noise, and no seed that is known."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from bad_input import Psephos, Write
from psephos.protocol.dpwevote.outcome import Outcome
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios import load, load_scenario, resolve, run
from psephos.scenarios.running.resolution import Local
from psephos.scenarios.running.synthetic import digest_of
from runs import read_json
from vote_margins import margin_of

KINDS = ["vote", "crowd", "survey", "ranking"]
VOTES = "partner,weight,roof\n" + "".join(f"p{number},1,{number % 3 // 2}\n" for number in range(30))
CENTRAL = 'protocol = "dpwevote"\ntrust = "central"\npartners = "votes.csv"\n[parameters]\nepsilon = 0.1\n'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _refusal(source: str, settings: Sequence[str] = ()) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        resolve(load_scenario(source, settings))
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_a_synthetic_file_that_is_replaced_is_synthetic_no_more(psephos: Psephos, kind: str) -> None:
    assert psephos("new", kind, "--no-run").status == 0
    (scenario,) = Path().glob("*.toml")
    (table,) = Path().glob("*.csv")
    assert resolve(load_scenario(scenario.name)).may_show_truth
    assert tomllib.loads(scenario.read_text(encoding="utf-8"))["synthetic"] == digest_of([table])
    table.write_bytes(table.read_bytes() + b"\n")  # real ones, which may look alike
    error = _refusal(scenario.name)
    assert error.field == "synthetic"
    assert table.name in error.allowed
    assert digest_of([table]) in error.allowed
    # Who deletes both, as it is said, has neither a known seed nor a truth that is shown.
    lines = scenario.read_text(encoding="utf-8").splitlines(keepends=True)
    scenario.write_text("".join(line for line in lines if not line.startswith("synthetic")), encoding="utf-8")
    assert _refusal(scenario.name).field == "seed"
    scenario.write_text("".join(line for line in lines if not line.startswith(("synthetic", "seed"))), encoding="utf-8")
    local = resolve(load_scenario(scenario.name))
    assert (local.scenario.noise, local.may_show_truth, local.scenario.seed) == ("secure", False, None)


def test_a_scenario_cannot_say_of_any_file_that_it_is_synthetic(write: Write) -> None:
    path = write("votes.csv", VOTES)
    write("vote.toml", "synthetic = true\nseed = 1\n" + CENTRAL)
    assert digest_of([path]) in _refusal("vote.toml").allowed
    write("vote.toml", f'synthetic = "{digest_of([path])}"\nseed = 1\n{CENTRAL}')
    assert resolve(load_scenario("vote.toml")).may_show_truth
    write("votes.csv", VOTES.replace("p1,1,0", "p1,1,1"))
    assert _refusal("vote.toml").field == "synthetic"


@pytest.mark.parametrize("said", ['"sha256:859ed9bd73439af54de9e72652cb0b45"', "true"])
@pytest.mark.parametrize("named", ["parts", "parts/*.csv"])
def test_a_folder_has_no_digest_so_who_runs_it_says_that_it_is_synthetic(
    psephos: Psephos, write: Write, said: str, named: str
) -> None:
    Path("parts").mkdir()
    write("parts/one.csv", "task,worker,label\nq1,ann,no\nq1,bob,yes\n")
    write("crowd.toml", f'protocol = "truth-discovery"\nsynthetic = {said}\nworkers = "{named}"\n')
    error = _refusal("crowd.toml")
    assert (error.field, "--set synthetic=true" in error.allowed) == ("synthetic", True)
    assert resolve(load_scenario("crowd.toml", ["synthetic=true"])).scenario.synthetic is True
    again = ("run", "crowd.toml", "--set", "synthetic=true", "--no-pictures")
    assert [psephos(*again).status for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_synthetic_file_that_is_gone_is_named_by_who_would_read_it(psephos: Psephos, kind: str) -> None:
    assert psephos("new", kind, "--no-run").status == 0
    (scenario,), (table,) = Path().glob("*.toml"), Path().glob("*.csv")
    table.unlink()
    error = _refusal(scenario.name)
    assert error.field != "synthetic"
    assert (table.name in str(error.value), "No such file" in error.allowed) == (True, True)


def test_who_says_it_as_it_is_run_says_it_of_the_file_as_it_is_and_a_rerun_holds_to_that(
    psephos: Psephos, write: Write
) -> None:
    path = write("votes.csv", VOTES)
    write("vote.toml", CENTRAL)
    words = ("--set", "synthetic=true", "--seed", 5, "--no-pictures")
    assert psephos("run", "vote.toml", *words, "--out", "first").status == 0
    assert read_json("first/scenario.json")["synthetic"] == digest_of([path])
    again = psephos("run", "first/scenario.json", "--seed", 5, "--no-pictures", "--out", "again")
    assert (again.status, again.err) == (0, "")
    assert Path("first/result.json").read_bytes() == Path("again/result.json").read_bytes()
    assert "truth" in read_json("again/result.json")
    write("votes.csv", VOTES.replace("p1,1,0", "p1,1,1"))
    assert psephos("run", "first/scenario.json", "--no-pictures").status == 2


@pytest.mark.parametrize("transport", ["memory", "array"])
def test_real_votes_that_who_counts_sees_get_noise_of_the_operating_system(
    psephos: Psephos, write: Write, transport: str
) -> None:
    """Noise of scale 10 is the same in 12 runs with a probability below 1e-14."""
    write("votes.csv", VOTES)
    write("vote.toml", CENTRAL)
    chosen = load("vote.toml", transport=transport)
    outcomes = (cast("Outcome", run(chosen).outcome) for _ in range(12))
    margins = {margin_of(outcome.candidates[0]).value for outcome in outcomes}
    assert len(margins) > 1
    ended = psephos("run", "vote.toml", "--transport", transport, "--no-pictures", "--out", "out")
    assert (ended.status, "secure noise" in ended.out) == (0, True)
    assert read_json("out/result.json")["kind"] == "deployment"
    assert read_json("out/scenario.json")["noise"] == "secure"
    words = re.sub(
        "<style.*?</style>|<[^>]*>", " ", Path("out/report.html").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert "simulat" not in words


@pytest.mark.parametrize(
    ("settings", "noise"),
    [
        ((), "secure"),
        (("trust=local",), "secure"),
        (("trust=local", "transport=array"), "simulated"),  # in which parties would draw
        (("network.loss=0.1",), "simulated"),
        (("noise=simulated", "seed=4"), "simulated"),  # which somebody asked for
        (("synthetic=true", "seed=4"), "simulated"),
        (("public_record=true", "seed=4"), "simulated"),
        (("partners={count=9}", "candidates=['a']"), "simulated"),
    ],
)
def test_noise_is_secure_where_values_are_real_and_nothing_else_is_asked_for(
    write: Write, settings: Sequence[str], noise: str
) -> None:
    write("votes.csv", VOTES)
    write("vote.toml", CENTRAL)
    local = resolve(load_scenario("vote.toml", settings))
    assert isinstance(local, Local)
    assert local.scenario.noise == noise


@pytest.mark.parametrize(
    "own",
    ["voters=votes.csv", "voters=[{voter='a', group='g', ranking='x>y'}, {voter='b', group='h', ranking='x>y'}]"],
)
def test_a_seed_beside_real_values_is_refused_with_what_it_means(write: Write, own: str) -> None:
    write("votes.csv", "voter,group,ranking\nann,g,x > y\nbob,h,y > x\n")
    settings = [own, "seed=987654", "objective=welfare"]
    error = _refusal("two-societies", settings)
    assert error.field == "seed"
    assert "whoever knows the seed takes their noise off" in error.allowed
    assert "987654" not in str(error)
    assert not resolve(load_scenario("two-societies", [*settings, "noise=simulated"])).may_show_truth


def test_from_python_it_is_the_same() -> None:
    pandas: Any = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"name": ["ann", "bob", "eve"], "roof": ["yes", "no", "yes"]})
    with pytest.raises(ConfigurationError, match=r"^leave out seed"):
        run(frame, seed=1)
    assert run(frame).scenario.noise == "secure"
    assert run(load("consortium", votes=frame, synthetic=True), seed=1).truth is not None
    assert run(frame, synthetic=True, seed=1).truth is not None
    with pytest.raises(ConfigurationError, match=r"synthetic (is|are) .*True or False"):
        run(frame, synthetic="yes")  # pyright: ignore[reportArgumentType]  as who has no checker


def test_a_folder_does_not_say_how_many_ballots_of_real_voters_have_a_property(psephos: Psephos, write: Write) -> None:
    """That number is exact, and no ε pays for it; who runs the file sees it on the terminal."""
    names = "# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n"
    write("o.toi", f"# FILE NAME: o.toi\n{names}# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n2: 1,2\n1: {{1,2}}\n")
    own = 'epsilon = 1.0\ngroups = ["all"]\nobjective = "welfare"\nmechanism = "laplace"\n'
    write("o.toml", f'protocol = "fair-voting"\n[parameters]\n{own}[voters]\nfile = "o.toi"\n')
    ended = psephos("run", "o.toml", "--no-pictures", "--out", "out")
    assert (ended.status, "of 1 voter have the mean score" in " ".join(ended.out.split())) == (0, True)
    assert "parties" not in read_json("out/run.json")
    assert "mean score of their places" not in Path("out/report.html").read_text(encoding="utf-8")
