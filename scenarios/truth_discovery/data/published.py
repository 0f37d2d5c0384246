"""Published crowds: answers that somebody else has collected, and the truth as far as it is known.

None of them comes with Psephos. A folder of data sets has a folder for each, under the name that it has here. A new
one takes its place in `CROWDS`.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ....protocol.columns import CodedColumn
from ....protocol.errors import ConfigurationError, list_choices, require
from ...reading.conversion import convert
from ...reading.files import readable
from .assembly import Repeats, Rows, assemble
from .crowd import Crowd
from .files import TRUTH_COLUMNS, rows_of
from .matlab import Matrix, read_matrix

_MAX_SCORE: Final = 25
_BINARY: Final = ("0", "1")
_DUCKS: Final = ("Mallard", "American Black Duck")


class Unchanged(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing is to be chosen."""


class Repeated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Workers who answered a task again."""

    repeats: Repeats = "first"  # which of the answers counts, in the order of the file; or different ones are an error


class PassMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores as answers; ConfigurationError for a threshold with which all scores would be alike.

    Examples:
        >>> PassMark().threshold
        13
    """

    threshold: int = 13  # the least score that passes, in [2, 25]; by default more than half of the points

    def __post_init__(self) -> None:
        require(1 < self.threshold <= _MAX_SCORE, "threshold", self.threshold, f"in [2, {_MAX_SCORE}]")


@dataclasses.dataclass(frozen=True)
class PublishedCrowd:
    """One published crowd."""

    title: str  # what was asked
    source: str  # the paper that it comes from
    options: type[msgspec.Struct]  # a struct; what may be chosen
    load: Callable[[Any, Path], Crowd]  # returns the crowd, of the options and its own folder
    place: str = ""  # where it is published, as people find it
    num_bytes: int = 0  # how large its files are together


def load_crowd(name: str, folder: Path, **options: object) -> Crowd:
    """Return one of `CROWDS` from the folder of all data sets, with options as its struct has them.

    Raises:
        ConfigurationError: there is no such crowd; an option is not allowed; a file cannot be read, or is not what it
            should be.

    Examples:
        >>> load_crowd("duchene", Path("sets"))
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: crowd ...did you mean 'duchenne'...
    """
    require(name in CROWDS, "crowd", name, list_choices(CROWDS, name))
    crowd = CROWDS[name]
    return crowd.load(convert(options, crowd.options, "crowd"), folder / name)


def _load_uniform(options: Repeated, folder: Path) -> Crowd:
    """Return a crowd of `label.csv` and `truth.csv`."""
    answers, truths = folder / "label.csv", folder / "truth.csv"
    answer_rows, truth_rows = rows_of(answers, field="data"), rows_of(truths, TRUTH_COLUMNS, field="data")
    return assemble(answer_rows, truths=truth_rows, repeats=options.repeats, is_published=True)


def _load_duchenne(options: Repeated, folder: Path) -> Crowd:
    """Return the smiles; an image that experts judged and no worker did is left out."""
    answers = _text_rows(folder / "mturklabels.txt", r"([0-9]+) (\w+) ([01])", "of the form: image worker label")
    truths = _text_rows(folder / "groundtruth.txt", r"([0-9]+)\t([01])", "of the form: image, TAB, label")
    known_tasks = {entries[0] for _, entries in answers}
    return assemble(
        _rows(answers, have_workers=True),
        truths=_rows([line for line in truths if line[1][0] in known_tasks]),
        repeats=options.repeats,
        answer_sets=_BINARY,
    )


def _load_ducks(_: Unchanged, folder: Path) -> Crowd:
    """Return the pictures; the truth is whether the species in them is a duck."""
    path, classes = folder / "labels.txt", folder / "classes.yaml"
    (head, counts), *answers = _text_rows(path, r"([0-9]+) ([0-9]+) ([0-9]+)", "three numbers: image worker label")
    require(int(counts[2]) == len(answers), head, counts[2], f"the number of answers, {len(answers)}")
    images, species = _read_flat_maps(classes, "labels", "species")
    for name in _DUCKS:
        require(name in species, f"species ({classes.name})", list(species), f"with {name}")
    ducks = {species[name] for name in _DUCKS}
    return assemble(
        _rows(answers, have_workers=True),
        truths=_rows(
            [(classes.name, (image, str(int(species_name in ducks)))) for image, species_name in images.items()]
        ),
        answer_sets=_BINARY,
    )


def _load_peer_grading(options: PassMark, folder: Path) -> Crowd:
    """Return the grades as pass or fail; graders have running numbers in place of the ids that they were given."""
    grades = _matrix(folder / "gradeass3.mat", "gradeass3", columns=4)
    staff = _matrix(folder / "ground3.mat", "ground3", columns=3)
    numbers: dict[str, str] = {}
    answers = [
        (
            place_text := f"gradeass3.mat row {n}",
            (str(gradee), numbers.setdefault(str(grader), str(len(numbers) + 1)), _mark(score, options, place_text)),
        )
        for n, (gradee, grader, _, score) in enumerate(grades, start=1)
    ]
    truths = [
        (place_text := f"ground3.mat row {n}", (str(gradee), _mark(score, options, place_text)))
        for n, (gradee, score, _) in enumerate(staff, start=1)
    ]
    return assemble(_rows(answers, have_workers=True), truths=_rows(truths), answer_sets=("fail", "pass"))


def _mark(score: object, options: PassMark, place_text: str) -> str:
    """Return pass or fail."""
    if not isinstance(score, int) or not 0 < score <= _MAX_SCORE:
        raise ConfigurationError(field=f"score ({place_text})", value=score, allowed=f"an integer in [1, {_MAX_SCORE}]")
    return "pass" if score >= options.threshold else "fail"


def _rows(lines: Sequence[tuple[str, Sequence[str]]], *, have_workers: bool = False) -> Rows:
    """Return answers or truths, of where each stands, its task, its worker where it has one, and its label."""
    return Rows(
        CodedColumn.from_values(entries[0] for _, entries in lines),
        CodedColumn.from_values(entries[-1] for _, entries in lines),
        lambda row: lines[row][0],
        workers=CodedColumn.from_values(entries[1] for _, entries in lines) if have_workers else None,
    )


def _text_rows(path: Path, pattern: str, allowed: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the lines of a text file: where each stands, and the pattern's groups.

    ConfigurationError where the file cannot be read, is empty, or has a line of another form.
    """
    with readable(path, field="data"):
        text = path.read_text(encoding="utf-8")
    form = re.compile(pattern, re.ASCII)
    rows: list[tuple[str, tuple[str, ...]]] = []
    for number, line in enumerate(text.splitlines() or [""], start=1):
        place_text = f"{path.name} line {number}"
        match = form.fullmatch(line)
        if match is None:
            raise ConfigurationError(field=place_text, value=line, allowed=allowed)
        rows.append((place_text, match.groups()))
    return rows


def _read_flat_maps(path: Path, *names: str) -> list[dict[str, str]]:
    """Return the maps of a file that holds `name: {key: value, ...}` and nothing else of YAML.

    ConfigurationError where the file cannot be read, or lacks a map.
    """
    with readable(path, field="data"):
        text = " ".join(path.read_text(encoding="utf-8").split())
    maps: list[dict[str, str]] = []
    for name in names:
        match = re.search(rf"(?:^| ){name}: \{{([^{{}}]*)\}}", text)
        entries = [entry.partition(":") for entry in match[1].split(",")] if match else []
        if not entries or not all(key.strip() and value.strip() for key, _, value in entries):
            allowed = "given as {key: value, ...}"
            raise ConfigurationError(field=f"{name} ({path.name})", value=match and match[1], allowed=allowed)
        maps.append({key.strip(): value.strip() for key, _, value in entries})
    return maps


def _matrix(path: Path, name: str, *, columns: int) -> Matrix:
    """Return the rows of a matrix or cell array in a MATLAB file, which hold integers and text.

    ConfigurationError where the file cannot be read, or holds something else.
    """
    with readable(path, field="data"):
        content = path.read_bytes()
    try:
        rows = read_matrix(content, name)
    except ValueError as error:
        raise _unlike_error(path, f"a readable file {path.parent.name}/{path.name} ({error})") from None
    if {len(row) for row in rows} != {columns}:
        raise _unlike_error(path, f"rows of {columns} entries in {name} of {path.parent.name}/{path.name}")
    return rows


def _unlike_error(path: Path, problem: str) -> ConfigurationError:
    return ConfigurationError(field="data", value=str(path.parent.parent), allowed=f"a folder with {problem}")


_UNIFORM: Final = "github.com/yuan-li/truth-inference-at-scale"


def _uniform(title: str, source: str, num_bytes: int) -> PublishedCrowd:
    return PublishedCrowd(title, source, Repeated, _load_uniform, _UNIFORM, num_bytes)


CROWDS: Final[Mapping[str, PublishedCrowd]] = {
    "duchenne": PublishedCrowd(
        "Is the smile in the photo genuine?",
        'Whitehill et al., "Whose Vote Should Count More", NIPS 2009',
        Repeated,
        _load_duchenne,
        "github.com/axelabels/CDM_BIAS",
        334_629,
    ),
    "ducks": PublishedCrowd(
        "Is there a duck in the picture?",
        'Welinder et al., "The Multidimensional Wisdom of Crowds", NIPS 2010',
        Unchanged,
        _load_ducks,
        "github.com/welinder/cubam",
        85_391,
    ),
    "peer_grading": PublishedCrowd(
        "Does the assignment pass? (peer grades against a pass mark)",
        'Mi and Yeung, "Probabilistic Graphical Models for Boosting Cardinal and Ordinal Peer Grading in MOOCs", '
        "AAAI 2015",
        PassMark,
        _load_peer_grading,
        "github.com/MiFei/AAAI15-Peer-Grading",
        81_949,
    ),
    "bluebird": _uniform("Which of two blue birds is it?", "Welinder et al., NIPS 2010", 33_105),
    "rte": _uniform("Does one sentence entail the other?", "Snow et al., EMNLP 2008", 73_439),
    "dog": _uniform("Which breed is the dog?", "Zhou et al., NIPS 2012", 74_878),
    "web_search": _uniform("How relevant is the search result?", "Zhou et al., NIPS 2012", 161_902),
    "d_product": _uniform("Do two descriptions mean the same product?", 'Wang et al., "CrowdER", PVLDB 2012', 312_354),
    "d_sentiment": _uniform("Is the tweet's sentiment positive?", "Zheng et al., PVLDB 2017", 183_199),
    "relevance": _uniform("How relevant is the page?", "Buckley et al., TREC 2010", 1_102_868),
    "adult": _uniform("How much adult content does the site have?", "Ipeirotis et al., HCOMP 2010", 1_016_394),
    "weather_sentiment_amt": _uniform(
        "What does the tweet feel about the weather?", "Venanzi et al., HCOMP 2015", 53_285
    ),
    "sentiment_polarity": _uniform("Is the film review's sentence positive?", "Rodrigues et al., 2013", 319_348),
    "sentiment_polarity_amt": _uniform("Is the film review's sentence positive?", "Venanzi et al., HCOMP 2015", 92_949),
    "music_genre": _uniform("Which genre is the clip?", "Rodrigues et al., 2013", 29_351),
    "zencrowd_in": _uniform("Do two entries mean the same entity?", "Demartini et al., WWW 2012", 113_294),
}
"""By the name of the folder that holds it."""
