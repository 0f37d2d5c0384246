"""Small crowds for tests of truth inference: by hand, drawn by hypothesis, and as plain claims again."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from psephos.protocol.estimators.truth_inference import AnswerBlock, Answers
from psephos.protocol.estimators.truth_inference.vote_table import VoteTable

Claims = list[tuple[int, int, int]]


def crowd(claims: Claims, *, tasks: int, workers: int, sizes: int | list[int] = 2) -> Answers:
    """Return answers of claims: task, worker and label."""
    columns = np.array(claims, dtype=np.int64).reshape(-1, 3).T
    return Answers(
        tasks=columns[0].copy(),
        workers=columns[1].copy(),
        labels=columns[2].copy(),
        num_tasks=tasks,
        num_workers=workers,
        sizes=np.full(tasks, sizes) if isinstance(sizes, int) else np.array(sizes),
    )


def table(rows: Sequence[tuple[int, ...]]) -> Answers:
    """Return answers of workers (rows) to binary tasks (columns)."""
    claims = [(task, worker, label) for worker, row in enumerate(rows) for task, label in enumerate(row)]
    return crowd(claims, tasks=len(rows[0]), workers=len(rows))


def laid_out(answers: Answers) -> VoteTable:
    """Return one crowd's answers as models take them."""
    return VoteTable(AnswerBlock.from_answers(answers))


def claims_of(answers: Answers) -> Claims:
    """Return the claims that answers are."""
    return list(zip(answers.tasks.tolist(), answers.workers.tolist(), answers.labels.tolist(), strict=True))


@st.composite
def crowds(draw: st.DrawFn) -> Answers:
    """Small crowds with answer sets of mixed sizes, silent workers and unanswered tasks."""
    tasks, workers = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(2, 4), min_size=tasks, max_size=tasks))
    pairs = st.tuples(st.integers(0, tasks - 1), st.integers(0, workers - 1))
    chosen = draw(st.lists(pairs, unique=True, max_size=tasks * workers))
    return crowd(
        [(t, w, draw(st.integers(0, sizes[t] - 1))) for t, w in chosen], tasks=tasks, workers=workers, sizes=sizes
    )


@st.composite
def crowd_blocks(draw: st.DrawFn) -> AnswerBlock:
    """Some crowds that answered the same."""
    first = draw(crowds())
    labels = [
        [draw(st.integers(0, int(size) - 1)) for size in first.sizes[first.tasks]]
        for _ in range(draw(st.integers(1, 5)))
    ]
    return AnswerBlock(first, np.array(labels, dtype=np.int64))
