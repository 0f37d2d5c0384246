"""Tables of rankings at random: each command that is printed is pasted, and a session counts what the table says."""

import random
import shlex
from pathlib import Path
from typing import cast

import pytest
from any_ranking import Ranked, table
from bad_input import Psephos, is_plain
from psephos.protocol.fair_voting import FairVoting
from psephos.scenarios import load_scenario, resolve
from thoroughness import draws

MOST_ASKED = 8


def pasted(psephos: Psephos, ranked: Ranked, rng: random.Random) -> tuple[int, dict[str, str]]:
    """Return how the last of the commands ended that are printed, with an answer in place of each word, and these."""
    words, said = ["new", "ranking", "t.csv", "--no-run", "--to", "own"], dict[str, str]()
    known = ranked.options()
    for _ in range(MOST_ASKED):
        ended = psephos(*words)
        assert not ended.status or is_plain(ended.err), ended.err
        if "Add your answers to: " not in ended.err:
            return ended.status, said
        printed = shlex.split(ended.err.rpartition("Add your answers to: ")[2])
        assert printed[:2] == ["psephos", "new"]
        asked = [line.partition(":")[0].strip().removeprefix("--") for line in ended.err.splitlines()[1:-1]]
        words = printed[1:]
        for option in (each for each in asked if f"--{each}" not in words or each in said):
            answer = rng.choice(known[option])
            words += answer
            said[option] = answer[1]
        words += ["--no-run", "--to", "own"]
    return 2, said


@pytest.mark.parametrize("part", range(2))
def test_a_session_counts_what_a_table_of_rankings_says_or_something_is_asked(psephos: Psephos, part: int) -> None:
    counted, wrong = 0, list[object]()
    for seed in range(part, draws(60, full=2000), 2):
        rng = random.Random(seed)
        ranked = table(rng)
        Path("t.csv").write_text(ranked.text, encoding="utf-8")
        Path("own.toml").unlink(missing_ok=True)
        status, said = pasted(psephos, ranked, rng)
        if status:
            continue
        counted += 1
        session = resolve(load_scenario("own.toml"))
        protocol = cast("FairVoting", session.protocol)
        parameters = protocol.parameters
        sizes = dict(zip(parameters.groups, parameters.group_sizes or (), strict=False))
        means = zip(parameters.groups, protocol.utilities_in(session.inputs), strict=True)
        found = {
            "" if group == "voters" else group: {
                name: round(float(mean) * (sizes.get(group) or len(session.names)), 6)
                for name, mean in zip(parameters.alternatives, own, strict=True)
            }
            for group, own in means
        }
        if found != (expected := ranked.counted(said)):
            wrong.append((seed, ranked.text, said, found, expected))
    assert not wrong, wrong[0]
    assert counted > draws(60, full=2000) / 2 / 4
