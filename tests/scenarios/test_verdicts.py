"""Numbers that something is at most are rounded up, and those that something is at least down: everywhere."""

import ast
import math
import re
from pathlib import Path

import hypothesis
from hypothesis import strategies as st
from psephos.scenarios import verdicts
from psephos.scenarios.reports.page import epsilon_text
from psephos.scenarios.running import statements
from psephos.scenarios.running.session_facts import Prices
from psephos.scenarios.verdicts import at_most, round_down, round_up

bounds = st.floats(1e-9, 1e9) | st.sampled_from([0.1 + 0.2, 98.201, 4.74, 1.0986122886681098, 0.999999951])


@hypothesis.given(bounds, st.integers(1, 8))
def test_an_upper_bound_is_written_as_one_and_a_lower_bound_too(bound: float, digits: int) -> None:
    up, down = round_up(bound, digits), round_down(bound, digits)
    assert down <= bound * (1 + 1e-11)
    assert up >= bound * (1 - 1e-11)
    assert up - down <= 1.01 * 10.0 ** (math.floor(math.log10(bound)) - digits + 1)
    assert float(at_most(bound, min(digits, 6))) >= bound * (1 - 1e-11)
    assert (at_most(0.1 + 0.2), at_most(98.201, 4), at_most(math.inf)) == ("0.3", "98.21", "inf")
    assert (round_down(3.0, 6), round_down(98.209, 4), round_down(1 - 1e-15)) == (3.0, 98.2, 1.0)


@hypothesis.given(st.floats(0.001, 30.0))
def test_every_sentence_with_a_proven_loss_says_no_less(epsilon: float) -> None:
    prices = Prices(replaced=epsilon, participation=0, finest=())
    sentences = [*statements.meaning_of(prices), statements.warning_of(prices), f"ε = {epsilon_text(epsilon)}"]
    written = [float(number) for said in sentences for number in re.findall(r"ε = ([0-9.e+-]+[0-9])", said)]
    assert len(written) >= 2
    assert min(written) >= epsilon * (1 - 1e-11)
    sure = re.search(r"(?:at most|over) ([0-9.]+)", sentences[0])
    assert sure is not None
    if "over" not in sentences[0]:
        assert float(sure[1]) >= 100 * statements.certainty_of(epsilon) - 1e-9


ROOM = Path(verdicts.__file__).parent
MEASURED = {"paper", "audit", "testing"}  # what is found there is no bound
EXACT = {"greatest", "max(rounded) / step"}  # evidence that was found, beside its bound, and a whole number


def rounded_names(tree: ast.AST) -> set[str]:
    """Return the names that hold what was rounded up."""
    return {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.NamedExpr) and "round_up(" in ast.unparse(node.value)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }


def test_numbers_that_something_is_at_most_are_rounded_up() -> None:
    """Beside "at most", "up to" or "allows", in every sentence of the package's code."""
    found, wrong = 0, list[str]()
    for path in sorted(ROOM.rglob("*.py")):
        if MEASURED & {*path.relative_to(ROOM).parts}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        rounded = rounded_names(tree)
        for said in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
            for place, part in enumerate(said.values):
                if not isinstance(part, ast.FormattedValue) or part.format_spec is None:
                    continue
                beside = [
                    each.value if isinstance(each, ast.Constant) else ""
                    for each in (said.values[place - 1] if place else None, *said.values[place + 1 : place + 2])
                ]
                is_bound = re.search(r"(at most|up to|allows) $", str(beside[0])) or re.match(
                    r"( bits)? at most", str(beside[-1] if len(beside) > 1 else "")
                )
                if not is_bound or not re.search(r"[fge]", ast.unparse(part.format_spec)[2:-1]):
                    continue
                found += 1
                names = {name.id for name in ast.walk(part.value) if isinstance(name, ast.Name)}
                if "round_up" not in names and not names & rounded and ast.unparse(part.value) not in EXACT:
                    wrong.append(f"{path.relative_to(ROOM)}:{part.lineno} {ast.unparse(part.value)}")
    assert found >= 5
    assert not wrong
