"""Claims that rows decide: which rows are compared, what is said of them, and that each judge can say no."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from psephos.scenarios.experiments.comparing import JUDGES, ClaimRule, Row, Told, compare, select
from psephos.scenarios.experiments.measurements import Measurement, mean_of, sample_of, share_in
from psephos.scenarios.verdicts import Judgement

AXES = {"variant": "variant", "n": "n"}
TRIALS = 1_000


def rows_of(**means: list[float]) -> list[dict[str, Any]]:
    """Return a row for each variant and n, with a number that has hardly an error."""
    return [
        {"variant": variant, "n": n, "mse": Measurement(mean, 0.001), "law": mean, "published": Measurement(5.0, 0.001)}
        for variant, own in means.items()
        for n, mean in zip((10, 100), own, strict=True)
    ]


def told(line: ClaimRule, rows: Sequence[Row]) -> Told:
    found = compare(line, {"cells": rows}, trials=TRIALS, axes=AXES)
    assert found is not None
    return found


def test_rows_are_chosen_by_their_fields() -> None:
    rows = [{"variant": "joint, best split", "epsilon": 0.5}, {"variant": "joint", "epsilon": 1.0}]
    assert select({"cells": rows}, "cells") == rows
    assert select({"cells": rows}, 'cells "variant=joint, best split"') == rows[:1]
    assert select({"cells": rows}, "cells epsilon=1|2") == rows[1:]
    with pytest.raises(KeyError):
        select({"cells": rows}, "others")
    with pytest.raises(KeyError):
        select({"cells": rows}, "cells price=1")


@pytest.mark.parametrize(
    ("judge", "against", "holding", "failing"),
    [
        pytest.param("above", "variant=b", [3.0, 4.0], [1.0, 1.5], id="above"),
        pytest.param("below", "variant=b", [1.0, 1.5], [3.0, 4.0], id="below"),
        pytest.param("ahead", "variant=b", [3.0, 2.0], [2.0, 1.0], id="ahead"),
        pytest.param("agree 0.1", "variant=b", [2.0, 2.0], [2.0, 3.0], id="agree"),
        pytest.param("agree 1%", "published", [5.0, 5.0], [5.1, 5.1], id="agree, a part of a number"),
        pytest.param("between 0 3", "", [1.0, 2.0], [1.0, 4.0], id="between"),
        pytest.param("above", "2.5", [3.0, 4.0], [2.0, 1.0], id="above a number"),
    ],
)
def test_each_judge_says_yes_and_no(judge: str, against: str, holding: list[float], failing: list[float]) -> None:
    line = ClaimRule("cells variant=a", against, "mse", judge)
    assert told(line, rows_of(a=holding, b=[2.0, 2.0])).judgement is Judgement.HOLDS
    assert told(line, rows_of(a=failing, b=[2.0, 2.0])).judgement is Judgement.REFUTED


def test_differences_are_above_on_average_where_none_says_the_contrary() -> None:
    """On average 1 more, by 0.001 ± 0.0014 the least, or by 9 errors less; and each value of a field by itself."""
    line = ClaimRule("cells variant=a", "variant=b", "mse", "average")
    found = told(line, rows_of(a=[3.999, 2.0], b=[2.0, 1.999]))
    assert found.judgement is Judgement.HOLDS
    assert found.numbers.startswith("On average the difference is +1 (+1000.0 standard errors, 2 pairs); that of")
    assert told(line, rows_of(a=[4.0, 2.0], b=[2.0, 2.013])).judgement is Judgement.IN_PART
    assert told(line, rows_of(a=[2.0, 2.0], b=[4.0, 2.0])).judgement is Judgement.REFUTED
    assert told(line, rows_of(a=[2.001, 2.0], b=[2.0, 2.0])).judgement is Judgement.OPEN
    by_number = ClaimRule("cells variant=a", "variant=b", "mse", "average n")
    assert told(by_number, rows_of(a=[4.0, 2.0], b=[2.0, 2.013])).judgement is Judgement.IN_PART
    assert told(by_number, rows_of(a=[4.0, 2.0], b=[2.0, 2.0])).judgement is Judgement.OPEN
    assert told(by_number, rows_of(a=[4.0, 3.0], b=[2.0, 2.0])).judgement is Judgement.HOLDS


def test_rows_are_compared_with_the_next_ones_along_a_field() -> None:
    rows = rows_of(a=[1.0, 2.0], b=[2.0, 3.0])
    assert told(ClaimRule("cells", "less n", "mse", "average variant"), rows).judgement is Judgement.HOLDS
    assert told(ClaimRule("cells", "more n", "mse", "average variant"), rows).judgement is Judgement.REFUTED
    assert told(ClaimRule("cells", "less n|variant", "mse", "above"), rows).judgement is Judgement.HOLDS
    turned = rows_of(a=[1.0, 2.0], b=[0.0, 3.0])
    assert told(ClaimRule("cells", "less n|variant", "mse", "above"), turned).judgement is Judgement.IN_PART
    assert compare(ClaimRule("cells n=10", "less n", "mse", "above"), {"cells": rows}, trials=TRIALS, axes=AXES) is None


def test_rows_are_compared_with_all_others_that_are_alike() -> None:
    line = ClaimRule("cells variant=a", "variant=b|c", "mse", "average variant")
    assert told(line, rows_of(a=[3.0, 3.0], b=[1.0, 1.0], c=[2.0, 2.0])).judgement is Judgement.HOLDS
    found = told(line, rows_of(a=[3.0, 3.0], b=[1.0, 1.0], c=[4.0, 4.0]))
    assert found.judgement is Judgement.IN_PART
    for words in ("a against b, +2000.0 standard errors, 2 pairs", "a against c, -1000.0 standard errors, 2 pairs"):
        assert words in found.numbers


def test_samples_of_the_same_draws_are_compared_trial_by_trial() -> None:
    """Each spreads by 1 and their difference by 0.01: trial by trial 0.1 more is known, and elsewhere it is not."""
    draws = [(-1.0) ** trial for trial in range(100)]
    more = [draw + 0.1 + 0.01 * (-1) ** (trial // 2) for trial, draw in enumerate(draws)]
    line = ClaimRule("cells variant=a", "variant=b", "mse", "average")
    rows: list[dict[str, Any]] = [
        {"variant": name, "n": 10, "mse": sample_of(own, is_share=True)} for name, own in (("a", more), ("b", draws))
    ]
    found = told(line, rows)
    assert found.judgement is Judgement.HOLDS
    assert found.numbers.startswith("On average the difference is +10.0 points")
    apart = [{**row, "mse": Measurement(row["mse"].value, row["mse"].standard_error)} for row in rows]
    assert told(line, apart).judgement is Judgement.OPEN


@pytest.mark.parametrize(("mean", "verdict"), [(3.0, Judgement.HOLDS), (2.0, Judgement.OPEN), (1.0, Judgement.OPEN)])
def test_what_is_vague_is_never_contradicted(mean: float, verdict: Judgement) -> None:
    line = ClaimRule("cells variant=a", "variant=b", "mse", "vague above")
    assert told(line, rows_of(a=[mean, mean], b=[2.0, 2.0])).judgement is verdict


def test_what_differs_in_one_row_alone_holds_in_part() -> None:
    line = ClaimRule("cells variant=a", "variant=b", "mse", "above")
    found = told(line, rows_of(a=[3.0, 1.0], b=[2.0, 2.0]))
    assert found.judgement is Judgement.IN_PART
    assert found.numbers.startswith("It is so in 1 of 2. The difference is -1 (n = 100) to +1 (n = 10), ")


def test_trials_contradict_a_law_and_do_no_more() -> None:
    line = ClaimRule("cells variant=a", "variant=b", "mse by law", "above")
    rows = rows_of(a=[3.0, 4.0], b=[2.0, 2.0])
    wide = [{**row, "mse": Measurement(2.0, 10.0)} for row in rows]
    assert told(line, wide).judgement is Judgement.HOLDS
    assert told(line, wide).numbers.startswith("By the law the difference is +1.0000 at least. ")
    against = [{**row, "mse": Measurement(9.0 if row["variant"] == "b" else 2.0, 0.001)} for row in rows]
    assert told(line, against).judgement is Judgement.REFUTED
    wrong = [{**row, "law": 2.0} for row in wide]
    assert told(line, wrong).judgement is Judgement.REFUTED


def test_shares_have_an_error_where_all_trials_agree() -> None:
    """Ten trials tell two shares of 1 apart by no more than ten trials can."""
    rows = [{"variant": name, "n": 10, "right": share_in(1.0, 10)} for name in ("a", "b")]
    found = compare(
        ClaimRule("cells variant=a", "variant=b", "right", "agree 0.01"), {"cells": rows}, trials=10, axes={}
    )
    assert found is not None
    assert found.judgement is Judgement.OPEN


def test_several_numbers_are_one_claim_and_one_row_is_beside_all() -> None:
    rows = [{"epsilon": epsilon, "w": epsilon, "q": 2 * epsilon} for epsilon in (1.0, 2.0, 3.0)]
    line = ClaimRule("cells epsilon=2|3", "epsilon=1", "w q", "above")
    found = compare(line, {"cells": rows}, trials=TRIALS, axes={"epsilon": "ε"})
    assert found == Told(Judgement.HOLDS, "It is so in 4 of 4. The difference is +1 (ε = 2) to +4 (ε = 3).")


def test_what_is_vague_holds_or_is_open() -> None:
    for low, high, verdict in ((4.0, 6.0, Judgement.HOLDS), (6.0, 7.0, Judgement.OPEN)):
        own = ClaimRule("cells", "", "mse", f"between {low} {high}")
        judged = [told(line, rows_of(a=[5.0, 5.0])) for line in (own, own._replace(judge=f"vague {own.judge}"))]
        assert [each.judgement for each in judged] == [
            verdict if verdict is Judgement.HOLDS else Judgement.REFUTED,
            verdict,
        ]
        assert judged[0].numbers == judged[1].numbers


@pytest.mark.parametrize(("judge", "verdict"), [("above -0.1", True), ("above 0.1", False), ("below 0.1", True)])
def test_a_difference_may_be_above_another_limit_than_0(judge: str, verdict: object) -> None:
    line = ClaimRule("cells variant=a", "variant=b", "mse", judge)
    found = told(line, rows_of(a=[2.05, 1.95], b=[2.0, 2.0]))
    assert found.judgement is (Judgement.HOLDS if verdict else Judgement.REFUTED)


def test_samples_say_how_many_trials_there_were() -> None:
    """Six trials leave open what a thousand with the same errors would tell; the first ones of more count."""
    few, more = [0.1, 0.5, 0.3, 0.2, 0.4, 0.0], [0.09, 0.42, 0.28, 0.17, 0.34, -0.09, 5.0, 6.0]
    rows: list[dict[str, Any]] = [
        {"variant": name, "n": 10, "mse": sample_of(numbers)} for name, numbers in (("a", few), ("b", more))
    ]
    found = told(ClaimRule("cells variant=a", "variant=b", "mse", "above"), rows)
    difference = mean_of(np.subtract(few, more[:6]))
    errors = difference.value / difference.standard_error
    assert found.numbers == f"The difference is +0.0483, {errors:+.1f} standard errors."
    assert found.judgement is Judgement.OPEN
    alike = [{**row, "mse": Measurement(row["mse"].value, 0.0)} for row in rows]
    assert told(ClaimRule("cells variant=b", "variant=a", "mse", "above"), alike).judgement is Judgement.HOLDS


def test_nothing_is_said_of_rows_that_are_not_there() -> None:
    assert compare(ClaimRule("cells", "", "mse", "between 0 1"), {"cells": []}, trials=TRIALS, axes={}) is None
    with pytest.raises(KeyError):
        told(ClaimRule("cells", "", "mse", "better"), rows_of(a=[1.0, 1.0]))
    *rows, last = rows_of(a=[1.0, 1.0], b=[1.0, 1.0], c=[1.0, 1.0])
    with pytest.raises(ValueError, match="no other ones"):
        told(ClaimRule("cells variant=a|b", "variant=c|d", "mse", "above"), [*rows, {**last, "n": 10, "variant": "d"}])
    assert set(JUDGES) == {"above", "below", "ahead", "agree", "between", "average"}
