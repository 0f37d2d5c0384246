"""What a session of a crowd counts, for tests that compare it with a reading of their own."""

from typing import Any

from psephos.scenarios.running.resolution import Local


def counted(session: Local) -> dict[tuple[str, str], str]:
    """Return each answer of a session, by worker and task, as its protocol has them."""
    protocol: Any = session.protocol
    columns = protocol.phase.columns
    tally = protocol.phase.tally(session.inputs.private[:, columns], earlier=(), public=session.inputs.public)
    found = protocol.answers_in(tally)
    labels = protocol.parameters.answer_sets[0]
    rows = zip(found.workers.tolist(), found.tasks.tolist(), found.labels.tolist(), strict=True)
    return {
        (session.names[int(worker)], protocol.parameters.tasks[task]): labels[label] for worker, task, label in rows
    }
