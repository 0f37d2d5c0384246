"""The labels that answers may have: public, so that somebody says them, and other ways in which each is written.

Two ways of writing are *alike* where they differ in case, in blanks, in the form of a character or of a number: `Cat`
and `cat`, `1` and `1.0`, `true` and `1`. Whether these are one label no file tells.
"""

import dataclasses
import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.columns import CodedColumn
from ....protocol.errors import ConfigurationError, join_names, quote, require
from ...reading.cells import number_in

Labels: TypeAlias = list[str] | dict[str, list[str]]
"""All labels in order; or by each label the other ways in which answers have it."""
Others: TypeAlias = Literal["refuse", "leave_out"]
"""What becomes of an answer that is none of the labels."""
_TRUTHS: Final = {"true": "1", "false": "0"}


def join_labels(labels: Sequence[str]) -> str:
    """Return labels as a sentence has them, the first of many.

    Examples:
        >>> join_labels(["no", "yes"])
        "'no', 'yes'"
    """
    return join_names([*map(quote, labels)])


def read_labels(values: Sequence[str], labels_found: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the labels that options say, and how else each is written: `no,yes=Yes=YES`, or with `;` between them.

    A value that is one of those that were found, and no list of them, is a label as it stands.

    Examples:
        >>> read_labels(["no,yes=Yes=YES"])
        {'no': [], 'yes': ['Yes', 'YES']}
    """
    labels = dict[str, list[str]]()
    for value in values:
        parts = [each.strip() for each in value.split(";" if ";" in value else ",")]
        whole = value in labels_found and not {*parts} <= {*labels_found}
        for part in [value] if whole else filter(None, parts):
            name, *spellings = [part] if part in labels_found else (each.strip() for each in part.split("="))
            labels.setdefault(name, []).extend(spellings)
    return labels


def alike_in(labels: Iterable[str]) -> list[list[str]]:
    """Return labels in their order, those that are alike together.

    Examples:
        >>> alike_in(["Cat", "dog", "cat ", "1.0", "1"])
        [['Cat', 'cat '], ['dog'], ['1.0', '1']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(_core_of(label), []).append(label)
    return list(groups.values())


def _core_of(label: str) -> str:
    """Return what all ways of writing a label have in common."""
    visible_text = "".join(sign for sign in unicodedata.normalize("NFKC", label) if unicodedata.category(sign) != "Cf")
    core = unicodedata.normalize("NFKC", " ".join(visible_text.split()).casefold())
    core = _TRUTHS.get(core, core)
    number = number_in(core.replace(",", "."))
    return f"{number + 0.0!r}" if math.isfinite(number) else core


@dataclasses.dataclass(frozen=True, eq=False)
class LabelWords:
    """Labels that were said.

    Args:
        names: the labels.
        index: of each way of writing one, its place.
        others: what becomes of answers that are none of them.

    Examples:
        >>> words = LabelWords.of({"no": [], "yes": ["Yes"]}, field="labels")
        >>> words.codes_of(CodedColumn(["Yes", "no", "perhaps"], np.array([0, 1, 2]))).tolist()
        [1, 0, -1]
    """

    names: Sequence[str]
    index: Mapping[str, int]
    others: Others = "refuse"

    @classmethod
    def of(cls, labels: Labels, others: Others = "refuse", *, field: str) -> "LabelWords":
        """Return labels as somebody says them; ConfigurationError where they are not two or more different ones."""
        names = list(labels)
        require(1 < len(names) == len(set(names)), field, names, "a list of two or more different labels")
        index = {name: place for place, name in enumerate(names)}
        for name, spellings in labels.items() if isinstance(labels, dict) else ():
            for spelling in spellings:
                allowed = f"one label's way of writing, and not that of {quote(names[index.get(spelling, 0)])} too"
                require(index.setdefault(spelling, index[name]) == index[name], f"{field}.{name}", spelling, allowed)
        return cls(names, index, others)

    def codes_of(self, column: CodedColumn) -> IntArray:
        """Return the labels of answers as codes; -1 of what is none."""
        return np.array([self.index.get(name.strip(), -1) for name in column.names], dtype=np.int64)[column.codes]

    def refused(self, label: str, field: str) -> ConfigurationError:
        """Return the error for an answer that is none of the labels."""
        nearest_label = next(
            (name for group in alike_in([*self.index, label]) if label in group for name in group), label
        )
        hint = ""
        if nearest_label != label:
            known_label = self.names[self.index[nearest_label]]
            hint = f"; a table of labels says that it is {quote(known_label)}, written otherwise, if it is"
        return ConfigurationError(field=field, value=label, allowed=f"one of {join_labels(self.names)}{hint}")
