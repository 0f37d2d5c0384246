"""A crowd in a folder, and the frame of it that either side gets. Knows nothing of Psephos: rivals use it too.

The folder holds the answers as integer codes: `tasks.npy`, `workers.npy` and `labels.npy`, one entry for each answer,
and `truth.npy`, one for each task.
"""

import pathlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["load_codes", "load_frame", "save_codes", "share_right"]

_COLUMNS: Final = ("tasks", "workers", "labels")

_Codes = npt.NDArray[np.int64]


def save_codes(folder: pathlib.Path, *columns: _Codes, truth: _Codes) -> None:
    """Write a crowd.

    Args:
        folder: where to.
        columns: the codes of tasks, workers and labels, one entry for each answer.
        truth: a label's code for each task.
    """
    for name, codes in zip(_COLUMNS, columns, strict=True):
        np.save(folder / f"{name}.npy", codes)
    np.save(folder / "truth.npy", truth)


def load_codes(folder: pathlib.Path) -> tuple[_Codes, _Codes, _Codes]:
    """Return the codes of tasks, workers and labels, one entry for each answer."""
    tasks, workers, labels = (np.load(folder / f"{column}.npy") for column in _COLUMNS)
    return tasks, workers, labels


def load_frame(folder: pathlib.Path, form: str) -> pd.DataFrame:
    """Return a frame with the columns task, worker and label.

    Args:
        folder: of a crowd.
        form: "codes" for integers, or "names" for text such as t000017, w0017 and l1.
    """
    codes = load_codes(folder)
    if form == "codes":
        columns: list[Any] = list(codes)
    else:
        # Named once and then taken: there is never a second copy of so much text.
        columns = [_names(word, each).take(each) for word, each in zip("twl", codes, strict=True)]
    return pd.DataFrame(dict(zip(("task", "worker", "label"), columns, strict=True)))


def share_right(folder: pathlib.Path, truths: Any) -> float:
    """Return the share of tasks whose truth was found.

    Args:
        folder: of a crowd, in which each task has an answer.
        truths: a label for each task: a series as the frame names them, or an array of codes.
    """
    labels = pd.Series(truths).sort_index()
    # A code ends the text by which a label is named.
    codes = labels.astype(str).str.removeprefix("l").astype(int)
    return float((codes.to_numpy() == np.load(folder / "truth.npy")).mean())


def _names(word: str, codes: _Codes) -> Any:
    """Return names whose order as text is that of the codes."""
    number = int(codes.max()) + 1
    width = len(str(number - 1))
    return pd.array([f"{word}{code:0{width}d}" for code in range(number)], dtype="str")
