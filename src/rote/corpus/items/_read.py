"""From files to items: which reader a file needs, and where a record is wrong.

A record keeps its form and fields, for whoever writes items back as they came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, cast

from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.metric import check_options, option, unsigned
from rote.core.progress import Reporter
from rote.corpus._fields import with_flags
from rote.corpus._open import Input, are_names, open_corpus
from rote.corpus._select import conditions, none_fulfils, where_option
from rote.corpus._shard import Origin, ReadOptions

PartKind = Literal["question", "question and answer", "passage"]
_PASSAGES = ("passage", "article", "story", "document", "paragraph", "background")


class ItemPart(NamedTuple):
    """What a corpus may hold of an item."""

    kind: PartKind
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """A context, the options that may follow it, the number of the right one.

    An instance is `context + option + ending`, put together as they are: spaces between them
    belong to the context and the ending. `answer` is None where nobody says which is right; an
    item with a single option asks for exactly that. `meta` holds the other fields of the record.
    """

    id: str
    task: str
    context: str
    options: tuple[str, ...]
    answer: int | None
    ending: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def instances(self) -> list[str]:
        """The context with each of the options."""
        return [f"{self.context}{option}{self.ending}" for option in self.options]

    @property
    def question(self) -> str:
        """What is asked, if it stands by itself; a sentence with a gap does not."""
        return "" if self.ending.strip() else self.context.strip()

    @property
    def answers(self) -> tuple[str, ...]:
        """The right option, or each of them where none is marked right."""
        return self.options if self.answer is None else (self.options[self.answer],)

    def parts(self) -> list[ItemPart]:
        """The question, the question with its answer (with each option where none is marked
        right), the passage.

        >>> Item("1", "piqa", "Open a jar. ", ("Twist the lid.", "Eat it."), 0).parts()[1].text
        'Open a jar. Twist the lid.'
        """
        question = self.question
        found = [ItemPart("question", question)] if question else []
        # Without a question by itself, the sentence with its gap filled is one, or the text.
        kind: PartKind = "question and answer" if question else "question"
        found += [
            ItemPart(kind, f"{self.context}{answer}{self.ending}".strip())
            for answer in self.answers
            if answer.strip() or self.ending.strip()
        ]
        passages = (self.meta.get(name) for name in _PASSAGES)
        found += [ItemPart("passage", text) for text in passages if isinstance(text, str)]
        return found

    @property
    def base(self) -> str:
        """The name that items made from one another share: they are not independent.

        Balanced COPA's mirrored twins have a `base_id` (so may any record), the two sentences of a
        WinoGrande pair a `qID` that ends in -1 and -2.
        """
        base = self.meta.get("base_id")
        if base is None and isinstance(twin := self.meta.get("qID"), str):
            base = twin[: -len("-1")] if twin.endswith(("-1", "-2")) else None
        return f"{self.task}\x1f{self.id if base is None else base}"


def fingerprint(items: Iterable[Item]) -> str:
    """What these items are known by: all that they hold, other fields and answers included."""
    held = blake2b(digest_size=6)
    for item in items:
        written = json.dumps(asdict(item), sort_keys=True, default=str)
        held.update(written.encode() + b"\n")
    return held.hexdigest()


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a record stands in, as messages and ids name it."""

    file: str
    name: str


class ItemReader(Protocol):
    """What a file in this folder has to offer."""

    FIELDS: frozenset[str]
    """Fields that every record has; a benchmark is known by them."""

    def item(self, record: Mapping[str, Any], number: int, source: Source) -> Item:
        """The item of one record; a ValueError or KeyError says what is wrong with it."""


def text(record: Mapping[str, Any], field: str) -> str:
    value = record[field]
    if not isinstance(value, str):
        raise ValueError(f"the field '{field}' holds {value!r}, not a text")
    return value


def choice(record: Mapping[str, Any], field: str, *, first: int, options: int) -> int | None:
    """The number of the right option, from 0 on; None where the field is missing or empty.

    `first` is the number that the benchmark gives to its first option.
    """
    value = record.get(field)
    if value is None or value == "":
        return None
    try:
        number = int(value) - first
    except (TypeError, ValueError):
        number = -1
    if isinstance(value, bool) or not 0 <= number < options:
        allowed = f"{first} to {first + options - 1}"
        raise ValueError(f"the field '{field}' holds {value!r}, not a number from {allowed}")
    return number


def others(
    record: Mapping[str, Any], used: Iterable[str], kind: str | None = None
) -> dict[str, Any]:
    """The fields that are not part of the item, and the kind of knowledge it asks for."""
    left = {name: value for name, value in record.items() if name not in set(used)}
    return left if kind is None else {"kind": kind, **left}


ROOM = "corpus.items"
TEXTS = "texts"
"""The reader of records that hold a text, which needs no putting together."""


@dataclass(frozen=True, slots=True)
class ItemOptions:
    """How items are read."""

    SECTION: ClassVar[str] = "Items"
    SHARED: ClassVar[bool] = True
    benchmark: str | None = option(
        None,
        "Benchmark by name: blimp, choices, copa, lambada, lm-eval, piqa, questions, "
        "winogrande, texts  "
        "[default: known by its fields]",
        metavar="NAME",
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "What to do at a bad record: stop, or skip it and list what was skipped"
    )
    where: tuple[str, ...] = where_option()
    text_field: str | None = option(
        None,
        "Field that holds the text of items that are texts  [default: text]",
        metavar="FIELD",
        sign=unsigned,
    )

    def __post_init__(self) -> None:
        check_options(self)
        conditions(self.where)

    @property
    def read(self) -> ReadOptions:
        """The same for whoever reads records."""
        return ReadOptions(text_field=self.text_field, where=self.where, on_error=self.on_error)


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read, the form that it has (a benchmark), and the item that it holds."""

    form: str
    fields: Mapping[str, Any]
    item: Item


def read_items(
    inputs: Input | Sequence[Item],
    items: str | None = None,
    *,
    read: ReadOptions | None = None,
    skipped: list[InputError] | None = None,
    role: str = "",
    called: str = "",
) -> Iterator[Item]:
    """The items of some files, as `read_records` has them."""
    for record in read_records(inputs, items, read=read, skipped=skipped, role=role, called=called):
        yield record.item


def read_records(
    inputs: Input | Sequence[Item],
    items: str | None = None,
    *,
    read: ReadOptions | None = None,
    skipped: list[InputError] | None = None,
    role: str = "",
    called: str = "",
) -> Iterator[Record]:
    """The records of some files, in order; `items` names their benchmark instead of the fields.

    From Python, records may come as dicts or in a data frame, and items or what was read before as
    they are. `read` says how files are read, and which field holds the text of items that are texts
    (with `on_error` "skip", records that cannot be used are left out and added to `skipped`);
    `role` and `called` are those of `open_corpus`.
    """
    form, file, read = items, "", read or ReadOptions()
    # Records are taken as they are; a field for the text is named so that none is guessed.
    files = ReadOptions(
        text_field="context", input_format=read.input_format, encoding=read.encoding
    )
    given: Any = [inputs] if isinstance(inputs, (str, Path)) else inputs
    if isinstance(given, (list, tuple)) and are_names(given):
        given = [path for one in given for path in _logs(Path(one)) or [Path(one)]]
    elif isinstance(given, Sequence) and any(isinstance(one, (Item, Record)) for one in given):
        for one in given:
            yield one if isinstance(one, Record) else Record("choices", asdict(one), one)
        return
    for shard in open_corpus(given, files, role=role, called=called).shards():
        origin = shard.origin
        source = Source(origin.file, Path(origin.file).name)
        for number, record in shard.records():
            try:
                if isinstance(record, InputError):
                    raise record
                if isinstance(record, Document):
                    record = {"id": record.id, **record.meta, "text": record.text}
                if items is None and (form is None or origin.file != file):
                    form, file = _detected(record, origin, number, read.text_field), origin.file
                assert form is not None
                if form == TEXTS and read.text_field:
                    record = _with_text(record, read.text_field, origin, number)
                yield Record(form, record, _item(_reader(form), record, number, source))
            except InputError as problem:
                with_flags(problem, role)
                if read.on_error == "stop":
                    raise
                if skipped is not None:
                    skipped.append(problem)


def take_items(
    inputs: Input | Sequence[Item], options: ItemOptions, reporter: Reporter, called: str = ""
) -> list[Record]:
    """The records that these options ask for; what is skipped is said."""
    skipped: list[InputError] = []
    given = read_records(
        inputs, options.benchmark, read=options.read, skipped=skipped, called=called
    )
    found = fulfilling(list(given), options.where)
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    if not found:
        raise InputError("there are no items", remedy="Give files that hold some")
    return found


def fulfilling(records: list[Record], where: tuple[str, ...]) -> list[Record]:
    """The records that `--where` asks for."""
    asked = conditions(where)
    found = [
        record
        for record in records
        if all(each.holds(Document(record.item.id, "", record.fields)) for each in asked)
    ]
    if records and not found:
        raise none_fulfils(where, (record.fields for record in records), None)
    return found


def _logs(path: Path) -> list[Path]:
    """The sample logs in a folder: the harness puts them beside results, which are no items."""
    return sorted(path.rglob("samples_*.jsonl")) if path.is_dir() else []


def _reader(form: str) -> ItemReader:
    return cast(ItemReader, plugins.load(ROOM, form))


def _detected(record: Mapping[str, Any], origin: Origin, line: int, text_field: str | None) -> str:
    """The benchmark whose fields the record has; of several that with the most."""
    needed = {form: _reader(form).FIELDS for form in plugins.members(ROOM)}
    needed |= {TEXTS: frozenset((text_field,))} if text_field else {}
    sizes = {form: len(names) for form, names in needed.items()}
    fitting = [form for form in sizes if record.keys() >= needed[form]]
    if not fitting:
        without = f", and there is no field '{text_field}'" if text_field else ""
        raise origin.error(
            f"no benchmark has these fields: {', '.join(map(str, record))}{without}",
            line,
            remedy=f"Name it with --benchmark ({', '.join(plugins.members(ROOM))}), or the field "
            "that holds a text with --text-field, or give records with the fields context, options "
            "and answer",
        )
    return max(fitting, key=lambda form: sizes[form])


def _with_text(record: Mapping[str, Any], field: str, origin: Origin, line: int) -> dict[str, Any]:
    """A record whose text is in another field, as the reader of texts knows it."""
    if field not in record:
        raise origin.error(
            f"is missing (fields: {', '.join(map(str, record))})",
            line,
            field=field,
            remedy="Choose another field with --text-field",
        )
    others = {name: value for name, value in record.items() if name != field}
    return {**others, "text": record[field]}


def _item(reader: ItemReader, record: Mapping[str, Any], line: int, source: Source) -> Item:
    try:
        return reader.item(record, line, source)
    except KeyError as error:
        name = str(error.args[0])
        raise InputError("is missing", file=source.file, line=line, field=name) from None
    except ValueError as error:
        raise InputError(str(error), file=source.file, line=line) from None
