"""A measure is one record: what it needs, what it computes, which way is up.

The record is all that the driver, the shell, the docs and the contract tests
know of a measure. The work is split in two: `rows` runs once over all texts and
may be expensive; `reduce` turns the rows of any group of texts into values and is
what resampling repeats.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Floats
from rote.core.errors import OptionError
from rote.core.numbers import parse_memory
from rote.core.progress import Reporter, Silent
from rote.core.record import LINES, Record
from rote.core.result import Row
from rote.core.sample import Cut, Need, Sample, Take

Values: TypeAlias = dict[str, float]
Moves: TypeAlias = Literal["texts", "length", "both", "neither"]
Progress: TypeAlias = Callable[[float], None]
"""Called with the share of the work done, 0 to 1, by work that may take long."""


def _ignore_progress(share: float) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Work:
    """How a measure is to do its expensive part: on how many threads, and whom it tells.

    `engine`, where one was chosen, does what is mapped over files, by `rote.run.get`.

    `groups` are the sources and `reference` one of them, for a measure that has to know them
    beforehand (`each`: every two are compared); `ids` name the texts, so that what is drawn does
    not depend on their order, and `strata` number their doc_ids (-1: none). `permutations` are
    those of a test.
    """

    jobs: int = 1
    progress: Progress = _ignore_progress
    groups: Mapping[str, Take] = field(default_factory=dict)
    reference: str | None = None
    ids: Sequence[str] = ()
    strata: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    seed: int = 0
    permutations: int = 0
    reporter: Reporter = field(default_factory=Silent)
    engine: Any = None
    each: bool = False
    across: bool = True
    """Whether whole texts of two sources are put together in a group: labels are exchanged."""

    def sources(self, texts: int) -> list[Take]:
        """The texts of each source; all of them where none are known."""
        return list(self.groups.values()) or [np.arange(texts, dtype=np.int64)]


def owners(groups: Sequence[Take], texts: int) -> NDArray[np.int64]:
    """By text the number of the group that it is in; -1 for none."""
    owner = np.full(texts, -1, np.int64)
    for number, take in enumerate(groups):
        owner[take] = number
    return owner


def number_texts(takes: Sequence[Take]) -> tuple[Take, NDArray[np.int64]]:
    """The texts that any of these groups holds; the place there of each text of each group."""
    texts = np.concatenate(takes)
    place = np.zeros(texts.max(initial=-1) + 1, np.int64)
    place[texts] = 1
    every = np.flatnonzero(place)
    place[every] = np.arange(len(every))
    return every, place[texts]


def members(takes: Sequence[Take]) -> tuple[Take, NDArray[np.float64]]:
    """The texts that any of these groups holds; by text and group 1 where it holds it, else 0."""
    every, places = number_texts(takes)
    membership = np.zeros((len(every), len(takes)))
    membership[places, np.repeat(np.arange(len(takes)), list(map(len, takes)))] = 1
    return every, membership


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a measure's further tables are about: the sources, and which is the reference.

    `signature` is that of whoever made the layers, `level` that of intervals (0: none are asked
    for); `strata` and `permutations` are as in `Work`.
    """

    groups: Mapping[str, Take]
    reference: str | None
    ids: Sequence[str]
    signature: str
    seed: int
    reporter: Reporter
    level: float = 0.95
    strata: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    permutations: int = 0
    files: Sequence[str] = ()
    """The file of each text, where several were read: an id is unique within its file only."""
    units: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Of each text of a source the number of the unit that it belongs to: texts of one are no
    independent evidence. What answers the same doc_id in several sources has the same number."""

    def together(self, source: str) -> NDArray[np.int64]:
        """The units of a source's texts, each its own where none are known."""
        return self.units.get(source, self.groups[source])

    def named(self, text: int) -> dict[str, str]:
        """What tells a text from all others."""
        return {"id": self.ids[text], **({"file": self.files[text]} if self.files else {})}


@dataclass(frozen=True, slots=True)
class Value:
    """One number that a measure gives for a group of texts."""

    name: str
    title: str
    higher: Literal["diverse", "repetitive", "neither"]
    moves: Moves
    """What it moves with, other things equal: how many texts there are, how long each one is."""
    share: bool = False
    """Whether it lies between 0 and 1, which an interval then does not leave."""
    of_texts: bool = False
    """Whether it is a share of the texts themselves, so that its interval is that of a count."""
    per: int = 0
    """Of a rate: in how many words it counts; its interval then heeds how few occurrences it may
    rest on."""
    relative: bool = False
    """Whether it depends on which other sources there are: facets and runs do not compare."""
    tested: bool = True
    """Whether permuted groups have values of the same kind, so that a difference can be tested."""
    size: bool = False
    """Whether it is itself the length of texts, which equal lengths would leave nothing of."""
    extensive: bool = False
    """Whether half of the texts have about half of it, and vary by half as much."""

    def at_full_size(self, halves: Floats, value: float) -> Floats:
        """Half-samples of an extensive value, brought to its size; others as they are."""
        mean = float(halves.mean())
        return halves * (value / mean) if self.extensive and mean > 0 else halves

    @property
    def moves_with_texts(self) -> bool:
        return self.moves in ("texts", "both")

    @property
    def moves_with_length(self) -> bool:
        return self.moves in ("length", "both")

    @property
    def length_sensitive(self) -> bool:
        return self.moves != "neither"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Record):
    """The record of a measure of texts. Functions take the options object as their last argument.

    rows            (sample, options, work) -> anything; all texts of all sources
    reduce          (rows, take, options, rng) -> value name -> number (nan: undefined)
    standard_errors (rows, take, options) -> for the values with a closed form
                    (means over texts, means over pairs): their jackknife standard
                    error; all other values are half-sampled
    text_errors     (rows, take, options) -> value name -> what each text adds to the error of the
                    value, nan where it says nothing: the standard error comes from their squares,
                    or from those of their sums over the texts that belong together
    units           (rows, take, options) -> value name -> from how many independent units its
                    formula comes, where these are not texts but, say, prompts
    intervals       (rows, take, options, level) -> value name -> its interval, for values whose
                    interval is not the value and so many standard errors on both sides;
                    `interval_method` says how
    per_text        (rows, options) -> value name -> one number per text (nan: undefined)
    undefined       (rows, options) -> value name -> by text, whether it has no part in the value
                    of a group, as one that is too short has not; without it, where `per_text`
                    has no number
    notes           (rows, take, options) -> what a reader of the numbers must know
    resample        like `reduce`, for half-samples, permutations and draws of equal size; leaves
                    out values that would take too long to resample (a note must say so)
    many            (rows, takes, names, options) -> value name -> one number for each of these
                    groups: `resample` for many groups at once, where that is quicker than one by
                    one. `names` are the values that somebody looks at (intervals: those without a
                    closed form; tests: those that are tested); nothing may be left to chance
    random_values   (rows, take, options) -> names of the values that `reduce` computes from a part
                    of these texts, drawn at random; `resample` and `many` give their means over
                    all draws, which tests compare. Half-samples draw as `reduce` does, so that
                    an interval holds what drawing adds to the error
    draw            as `reduce`, of those values alone: half-samples need no others
    stand_in        what `resample` computes in place of the values, where that is something else:
                    quicker, and moving with them. The driver scales it to the values, and the
                    signature and the method of the intervals name it
    largest         words of a source in one draw at equal size: more would change nothing
    tables          (rows, comparison, options) -> name -> rows of further tables
    check           (options, signature of the layers) -> None; refuses, before any text is read,
                    what could not work
    settle          (options, fields of the first record) -> options, for those whose default
                    depends on what the records hold
    contributions   (rows, take, options) -> value name -> one number for each of these texts, which
                    vary over the texts as the value does, up to a factor: tests at equal length
                    divide by their spread. Without it they are those of `per_text`
    blend           (windows, options, work) -> rows that hold means over several draws of windows,
                    each a sample, for values that are means over texts or pairs of texts: cheaper
                    than the rows of each draw
    sizes, cut      for windows that are not cut from the sample: (rows, options) -> how long each
                    text is, and (rows, windows, options) -> the rows of one window of each text
    """

    values: Callable[[Any], tuple[Value, ...]]
    needs: Callable[[Any], tuple[Need, ...]]
    rows: Callable[[Sample, Any, Work], Any]
    reduce: Callable[[Any, Take, Any, np.random.Generator], Values]
    match: Literal["words", "sentences", "texts"] | None
    """What sources of different size are compared by: as many windows of as many words or of as
    many whole sentences, as many whole texts, or nothing."""
    standard_errors: Callable[[Any, Take, Any], Values] | None = None
    text_errors: Callable[[Any, Take, Any], Mapping[str, NDArray[np.float64]]] | None = None
    units: Callable[[Any, Take, Any], Mapping[str, int]] | None = None
    intervals: Callable[[Any, Take, Any, float], Mapping[str, tuple[float, float]]] | None = None
    interval_method: str = ""
    per_text: Callable[[Any, Any], Mapping[str, NDArray[np.float64]]] | None = None
    undefined: Callable[[Any, Any], Mapping[str, NDArray[np.bool_]]] | None = None
    notes: Callable[[Any, Take, Any], list[str]] | None = None
    resample: Callable[[Any, Take, Any, np.random.Generator], Values] | None = None
    many: (
        Callable[[Any, Sequence[Take], Collection[str], Any], dict[str, NDArray[np.float64]]] | None
    ) = None
    random_values: Callable[[Any, Take, Any], Collection[str]] | None = None
    draw: Callable[[Any, Take, Any, np.random.Generator], Values] | None = None
    stand_in: str = ""
    largest: int = 1_000_000
    tables: Callable[[Any, Comparison, Any], Mapping[str, Sequence[Row]]] | None = None
    check: Callable[[Any, str], None] | None = None
    needs_reference: Callable[[Any], str] = lambda options: ""
    """Why these options need a reference, if they do; refused before any text is read."""
    settle: Callable[[Any, Collection[str]], Any] | None = None
    contributions: Callable[[Any, Take, Any], Mapping[str, NDArray[np.float64]]] | None = None
    blend: Callable[[Sequence[Sample], Any, Work], Any] | None = None
    sizes: Callable[[Any, Any], NDArray[np.int64]] | None = None
    cut: Callable[[Any, Cut, Any], Any] | None = None
    uncut_reason: str = ""
    """Why its texts are not cut to windows of equal length, if a value moves with their length."""
    order_matters: bool = False
    permutations: int = 499
    tested: bool = True
    """Whether a source's values mean the same as the reference's own, so that they can be tested
    against them."""
    alone: bool = False
    """Whether it says something without a reference, though it is not tested."""
    items: bool = False
    """Whether texts are items of a test: of each record of a benchmark (the options' field `items`
    may name it) the parts are measured, with SEVERAL between them."""
    embeds: Callable[[Any], bool] = lambda options: False
    """Whether values rest on the vectors of `options.embedder`."""
    english: bool = False
    """Whether its rules are about English, whoever makes the layers."""
    inputs: bool = True
    """Whether what the texts were made from (field `document`) is worth measuring as a source."""

    @property
    def draws_differ(self) -> bool:
        """Whether groups that are drawn have other numbers than `reduce` gives."""
        return bool(self.stand_in) or self.random_values is not None


_KINDS: Mapping[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "True or False"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    Path: ((str, Path), "a path"),
}


_BOUNDS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "least": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "most": ("at most", operator.le),
    "below": ("below", operator.lt),
}


LONGEST_NGRAM = 100
"""Items of an n-gram at most: counting takes a pass over all texts for each of them."""
MOST_JOBS = 1_024
"""Processes or threads at most."""


def bare(hint: Any) -> tuple[Any, bool]:
    """A type without its `| None`, and whether that was there."""
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    return next(kind for kind in get_args(hint) if kind is not NoneType), True


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """The types of an options class, which are kept as text: to read them takes longer than to
    check with them."""
    return get_type_hints(kind)


def check_types(kind: type, settings: Mapping[str, Any]) -> None:
    """Refuses `interval="0"` before anything is compared with it; only plain fields are looked at.

    The shell reads numbers as numbers; from Python anything may come.
    """
    plain = _plain(kind)
    for name, value in settings.items():
        if plain[name] is not None:
            wanted, none = plain[name]
            _check_type(name, wanted, value, none)


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def parse_option(item: Field[Any], hint: Any, value: Any, *, text: bool = False) -> Any:
    """The value of an option from what was given for it. `a,b` is as good as a list, one value as
    a list of it, a string as a Path, 4G as its bytes; an input that is given itself stays as it is.

    With `text`, as the shell, forms and JSON have it, numbers and truth values may be text too.
    """
    kind, optional = bare(hint)
    value = value.strip() if text and isinstance(value, str) else value
    if value is None or (text and value == "" and optional):
        if text and not optional:
            raise OptionError(f"{item.name} must not be null")
        return None
    if item.metadata.get("size") and isinstance(value, str):
        return parse_memory(value)
    if get_origin(kind) is not tuple:
        value = str(value) if kind is str and isinstance(value, Path) else value
        return _parse_single(item, kind, value, text)
    if isinstance(value, str):
        parts = [value] if item.metadata.get("repeated") else value.split(",")
        value, text = [part.strip() for part in parts if part.strip()], True
    elif isinstance(value, (int, float, Path)):
        value = [value]
    # A column of texts is a sequence too, and no list of names.
    if isinstance(value, (list, tuple) if item.metadata.get("takes") else Sequence):
        return tuple(
            _parse_single(item, get_args(kind)[0], part, text)
            for part in value
            if not (text and part == "")
        )
    return _parse_single(item, kind, value, text)


def _parse_single(item: Field[Any], kind: Any, value: Any, text: bool) -> Any:
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise OptionError(f"{item.name} is one of {', '.join(get_args(kind))}, not {value!r}")
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is str and text and _is_number(value):
        return str(value)
    if text and kind is bool:
        value = _TRUTH.get(value.lower(), value) if isinstance(value, str) else value
        if not isinstance(value, bool):
            raise OptionError(f"{item.name} is one of yes, no, not {value!r}")
    elif text and kind in (int, float) and (isinstance(value, str) or _is_number(value)):
        value = _parse_number(kind, value)
    if text and get_origin(kind) is not Literal:
        _check_type(item.name, str if kind not in _KINDS else kind, value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _parse_number(kind: type, value: Any) -> Any:
    """A number, or what was given where it is none; 7.0 from JSON is a whole number."""
    try:
        number = kind(value)
    except (ValueError, OverflowError):
        return value
    if number != number:
        return str(value)
    return number if isinstance(value, str) or number == value else value


def _check_type(name: str, wanted: type, value: Any, none: bool = False) -> None:
    types, described = _KINDS[wanted]
    wrong = isinstance(value, bool) and wanted is not bool
    if wrong or not (isinstance(value, (*types, np.generic)) or (value is None and none)):
        what = f"{described}{' or None' * none}"
        raise OptionError(f"{name} must be {what}, not {reprlib.repr(value)}")


@cache
def _plain(kind: type) -> Mapping[str, Any]:
    """By field its type and whether it may be None; None for one that is a name, or what it names.
    Some measures make options for every group of texts."""
    opened = {field.name for field in fields(kind) if field.metadata.get("opened")}
    types = {name: bare(hint) for name, hint in hints_of(kind).items()}
    return {
        name: None if name in opened or wanted not in _KINDS else (wanted, none)
        for name, (wanted, none) in types.items()
    }


@cache
def _bounds(kind: type) -> Mapping[str, Mapping[str, Any]]:
    """The fields that have bounds, and which."""
    bounds_of = {}
    for item in fields(kind):
        level = {"least": 0, "below": 1} if item.name == "interval" else {}
        bounds_of[item.name] = {k: b for k, b in {**item.metadata, **level}.items() if k in _BOUNDS}
    return {name: bounds for name, bounds in bounds_of.items() if bounds}


def check_options(options: Any) -> None:
    """Refuses options of another type than they should be, and numbers beyond their bounds; where
    they are made, so that nobody can pass it by."""
    kind: type = type(options)
    check_types(kind, {field.name: getattr(options, field.name) for field in fields(options)})
    for option_name, bounds in _bounds(kind).items():
        value = getattr(options, option_name)
        for number in value if isinstance(value, tuple) else (value,):
            if number is None or all(_BOUNDS[name][1](number, b) for name, b in bounds.items()):
                continue
            # Of a least and a most the one that was passed; a level from 0 to below 1 is a range.
            if set(bounds) == {"least", "most"}:
                bounds = {name: b for name, b in bounds.items() if not _BOUNDS[name][1](number, b)}
            requirement = "be " + " and ".join(
                f"{_BOUNDS[name][0]} {b:,}" for name, b in bounds.items()
            )
            requirement = "not be negative" if bounds == {"least": 0} else requirement
            raise OptionError(f"{option_name} must {requirement}, not {number:,}")


class OptionSet:
    """Options whose types and bounds are checked where they are made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_options(self)


def unsigned(value: Any) -> None:
    """For `sign`: the signature does not say it, or says it another way."""


def option(default: Any, help: str, **extra: Any) -> Any:
    """A field of an options dataclass with its help text: flag, form, docs and signature.

    `sign`: what the signature says of the value, where that is not the value itself; None
    leaves the field out. `form=False`: it asks for what a form in the browser does not offer.
    `window`: a text needs so many words to have a value; at equal length no more than the windows
    compared have. `writes`: what is written to the place that it names, see `cli/_flags.py`.
    `opened`: from Python what it names may be given itself, as an opened index or a model. `takes`:
    it is an input beside what the command works on: `corpus` (an index or texts), `texts`, `items`,
    `index`, `table` or `results`; the option NAME_read says how texts are read. `needed`: a measure
    says nothing without it. `common`: whether the help shows it at a glance (see `at_a_glance`).
    `also`: another name of the flag. `size`: a number of bytes, which may be written 512M or 4G.
    `repeated`: it may be given several times. `least`, `above`, `most`, `below`: bounds of a
    number, or of each in a tuple.
    """
    return field(default=default, metadata={"help": help, **extra})


def unsigned_option(default: Any, help: str, **extra: Any) -> Any:
    """An option that the signature does not name."""
    return option(default, help, sign=unsigned, **extra)


def lines_option(default: Path | None, help: str, **extra: Any) -> Any:
    """A file of records (JSON Lines) that is written."""
    return unsigned_option(default, help, metavar="FILE", writes=LINES, **extra)


AT_A_GLANCE = 10
"""Options that the help of a command shows at most, before `--help-all`."""


def at_a_glance(kinds: Sequence[type], without: Collection[str] = ()) -> list[str]:
    """The options of a command that most people set: those marked `common`, and as many more as
    there is room, in order, but none marked False, nor of a kind that many commands share."""
    every = [(kind, field) for kind in kinds for field in fields(kind) if field.name not in without]
    marked = [field.name for _, field in every if field.metadata.get("common")]
    more = [
        field.name
        for kind, field in every
        if field.metadata.get("common") is None and not getattr(kind, "SHARED", False)
    ]
    return list(dict.fromkeys([*marked, *more]))[:AT_A_GLANCE]


def engine_option() -> Any:
    """Where work is done that is not left to `jobs`; no value depends on it."""
    return option(
        None,
        "Where to run: spark (as configured by spark-submit), spark:MASTER, or locally serial or "
        "processes; results do not depend on it",
        metavar="NAME",
        form=False,
        common=False,
        sign=unsigned,
    )


def handle(default: Any, help: str, metavar: str, **extra: Any) -> Any:
    """An option that names a model, a corpus or files, or from Python is one; the study signs what
    it was, not how it was named."""
    return option(default, help, metavar=metavar, opened=True, sign=unsigned, **extra)


def is_given(value: Any) -> bool:
    """Whether an input was given; a frame has no truth value of its own."""
    return value is not None and not (isinstance(value, (str, tuple)) and not value)
