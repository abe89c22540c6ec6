"""From files to items: which reader a file needs, and where a record is wrong.

A record keeps its form and fields, for whoever writes items back as they came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, cast

from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import InputError, UnknownName
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
        parts = [ItemPart("question", question)] if question else []
        # Without a question by itself, the sentence with its gap filled is one, or the text.
        kind: PartKind = "question and answer" if question else "question"
        parts += [
            ItemPart(kind, f"{self.context}{answer}{self.ending}".strip())
            for answer in self.answers
            if answer.strip() or self.ending.strip()
        ]
        passages = (self.meta.get(name) for name in _PASSAGES)
        parts += [ItemPart("passage", text) for text in passages if isinstance(text, str)]
        return parts

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
    state = blake2b(digest_size=6)
    for item in items:
        serialized = json.dumps(asdict(item), sort_keys=True, default=str)
        state.update(serialized.encode() + b"\n")
    return state.hexdigest()


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a record stands in, as messages and ids name it."""

    file: str
    name: str


class ItemReader(Protocol):
    """What a benchmark has to offer: one of BENCHMARKS, or a module of an entry point."""

    @property
    def FIELDS(self) -> frozenset[str]:  # noqa: N802 - a constant of a module
        """Fields that every record has; a benchmark is known by them."""

    def item(self, record: Mapping[str, Any], number: int, source: Source) -> Item:
        """The item of one record; a ValueError or KeyError says what is wrong with it."""


def text(record: Mapping[str, Any], field: str) -> str:
    value = record[field]
    if not isinstance(value, str):
        raise ValueError(f"the field '{field}' contains {value!r}, not a text")
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
        raise ValueError(f"the field '{field}' contains {value!r}, not a number from {allowed}")
    return number


def others(
    record: Mapping[str, Any], used: Iterable[str], kind: str | None = None
) -> dict[str, Any]:
    """The fields that are not part of the item, and the kind of knowledge it asks for."""
    meta = {name: value for name, value in record.items() if name not in set(used)}
    return meta if kind is None else {"kind": kind, **meta}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`parts` makes what an item has of a record, and perhaps its id and task; else they are in the
    fields `ids` and `task`, or named after the file. Other fields than those used become `meta`."""

    fields: str
    parts: Callable[[Mapping[str, Any]], dict[str, Any]]
    task: str = ""
    kind: str | None = None
    used: str = ""
    ids: str = "id"

    @property
    def FIELDS(self) -> frozenset[str]:  # noqa: N802
        return frozenset(self.fields.split())

    def item(self, record: Mapping[str, Any], number: int, source: Source) -> Item:
        names = (str(record[name]) for name in self.ids.split() if name in record)
        about = {
            "id": next(names, f"{source.name}:{number}"),
            "task": self.task or str(record.get("task", source.name.split(".")[0])),
            "meta": others(record, (*self.FIELDS, *self.used.split()), self.kind),
        }
        return Item(**{**about, **self.parts(record)})


def _blimp(record: Mapping[str, Any]) -> dict[str, Any]:
    # The phenomenon, here and in the files of the authors; pairs are numbered within a paradigm.
    tasks = (str(record[n]) for n in ("phenomenon", "linguistics_term") if n in record)
    pair = [str(record[n]) for n in ("paradigm", "UID", "pair_id", "pairID") if n in record]
    options = text(record, "sentence_good"), text(record, "sentence_bad")
    about = {"context": "", "options": options, "answer": 0, "task": next(tasks, "blimp")}
    return about if "id" in record or not pair else {**about, "id": "-".join(pair)}


def _item_of_choices(record: Mapping[str, Any]) -> dict[str, Any]:
    options = record["options"]
    if not (isinstance(options, list) and options and all(isinstance(o, str) for o in options)):
        raise ValueError("the field 'options' is not a list of texts")
    if isinstance(stated := record.get("answer"), str) and stated in options:
        answer: int | None = options.index(stated)
    else:
        answer = choice(record, "answer", first=0, options=len(options))
    ending = text(record, "ending") if "ending" in record else ""
    context = text(record, "context")
    return {"context": context, "options": tuple(options), "answer": answer, "ending": ending}


def _copa(record: Mapping[str, Any]) -> dict[str, Any]:
    # Balanced COPA counts from 1, SuperGLUE (field `label`) from 0.
    answer, first = ("answer", 1) if "answer" in record else ("label", 0)
    return _of_two(record, "premise", ("choice1", "choice2"), answer, first)


def _of_two(
    record: Mapping[str, Any], context: str, options: tuple[str, str], answer: str, first: int
) -> dict[str, Any]:
    return {
        "context": text(record, context).rstrip() + " ",
        "options": tuple(text(record, option) for option in options),
        "answer": choice(record, answer, first=first, options=2),
    }


def _of_one(context: str, target: str) -> dict[str, Any]:
    return {"context": context, "options": (target,), "answer": 0}


def _piqa(record: Mapping[str, Any]) -> dict[str, Any]:
    return _of_two(record, "goal", ("sol1", "sol2"), "label", 0)


def _questions(record: Mapping[str, Any]) -> dict[str, Any]:
    answer = record.get("answer", "")
    answers = answer if isinstance(answer, list) else [answer]
    if not answers or not all(isinstance(each, (str, int, float)) for each in answers):
        raise ValueError(f"the field 'answer' contains {answer!r}, not a text or a list of texts")
    return {
        "context": text(record, "question").rstrip() + " ",
        "options": tuple(map(str, answers)),
        "answer": 0 if len(answers) == 1 and "answer" in record else None,
    }


def _winogrande(record: Mapping[str, Any]) -> dict[str, Any]:
    before, gap, after = text(record, "sentence").partition("_")
    if not gap:
        raise ValueError("the field 'sentence' has no gap '_'")
    parts = _of_two(record, "sentence", ("option1", "option2"), "answer", 1)
    return {**parts, "context": before, "ending": after}


ROOM = "corpus.items"
_LOGS = "samples_*.jsonl"
TEXTS = "texts"
"""The reader of records that hold a text, which needs no putting together."""
BENCHMARKS: dict[str, ItemReader] = {
    # Pairs of sentences of which one is grammatical (Warstadt et al. 2020).
    "blimp": Benchmark("sentence_good sentence_bad", _blimp, "blimp", "formal"),
    # Any other test. The context is put before an option as it is: its last character is the space
    # between them. `answer` is a number from 0 on, or the text of the right option.
    "choices": Benchmark("context options", _item_of_choices, used="id task answer ending"),
    # Which of two sentences is the cause or the effect of a premise (Roemmele et al. 2011): two
    # sentences as they stand. The harness joins them with *because*; that is read from its logs.
    "copa": Benchmark("premise choice1 choice2", _copa, "copa", "functional", ids="id idx"),
    # A passage whose last word is to be given (Paperno et al. 2016): one option, no other.
    "lambada": Benchmark(
        "context target",
        lambda record: _of_one(text(record, "context") + " ", text(record, "target")),
        "lambada",
        "functional",
    ),
    # Which of two solutions reaches a goal (Bisk et al. 2020).
    "piqa": Benchmark("goal sol1 sol2", _piqa, "piqa", "functional"),
    # With answers, one or several, perhaps a `passage`. Records without answers are not known by
    # their fields, but read where the form is named.
    "questions": Benchmark("question answer", _questions, used="id task"),
    # Nothing to choose: how well does a model, or a corpus, know a text?
    TEXTS: Benchmark("text", lambda record: _of_one("", text(record, "text")), used="id task"),
    # Which of two names fills the gap in a sentence (Sakaguchi et al. 2020).
    "winogrande": Benchmark(
        "sentence option1 option2", _winogrande, "winogrande", "functional", ids="id qID"
    ),
}


def benchmark_names() -> list[str]:
    """All that are known, those of other packages among them."""
    return sorted({*BENCHMARKS, *plugins.members(ROOM)})


def item_reader(form: str) -> ItemReader:
    """The reader of a benchmark by its name."""
    if form in BENCHMARKS:
        return BENCHMARKS[form]
    if form not in plugins.members(ROOM):
        raise UnknownName("benchmark", form, benchmark_names())
    return cast(ItemReader, plugins.load(ROOM, form))


@dataclass(frozen=True, slots=True)
class ItemOptions:
    """How items are read."""

    SECTION: ClassVar[str] = "Items"
    SHARED: ClassVar[bool] = True
    benchmark: str | None = option(
        None,
        "Benchmark name: blimp, choices, copa, lambada, lm-eval, piqa, questions, winogrande, "
        "texts  [default: detected from the fields]",
        metavar="NAME",
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "On a bad record: stop, or skip it and list what was skipped"
    )
    where: tuple[str, ...] = where_option()
    text_field: str | None = option(
        None,
        "Field with the text, for items that are texts  [default: text]",
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
class ItemRecord:
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
    called: str = "",
) -> Iterator[Item]:
    """The items of some files, as `read_records` has them."""
    for record in read_records(inputs, items, read=read, skipped=skipped, called=called):
        yield record.item


def read_records(
    inputs: Input | Sequence[Item],
    items: str | None = None,
    *,
    read: ReadOptions | None = None,
    skipped: list[InputError] | None = None,
    role: str = "",
    called: str = "",
) -> Iterator[ItemRecord]:
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
    places: Any = [inputs] if isinstance(inputs, (str, Path)) else inputs
    if isinstance(places, (list, tuple)) and are_names(places):
        # Of a folder of the harness the sample logs: beside them are results, which are no items.
        paths = map(Path, places)
        places = [path for place in paths for path in sorted(place.rglob(_LOGS)) or [place]]
    elif isinstance(places, Sequence) and any(
        isinstance(place, (Item, ItemRecord)) for place in places
    ):
        for place in places:
            is_record = isinstance(place, ItemRecord)
            yield place if is_record else ItemRecord("choices", asdict(place), place)
        return
    for shard in open_corpus(places, files, role=role, called=called).shards():
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
                yield ItemRecord(form, record, _item(item_reader(form), record, number, source))
            except InputError as problem:
                with_flags(problem, role)
                if read.on_error == "stop":
                    raise
                if skipped is not None:
                    skipped.append(problem)


def take_items(
    inputs: Input | Sequence[Item], options: ItemOptions, reporter: Reporter, called: str = ""
) -> list[ItemRecord]:
    """The records that these options ask for; what is skipped is said."""
    skipped: list[InputError] = []
    records = read_records(
        inputs, options.benchmark, read=options.read, skipped=skipped, called=called
    )
    items = fulfilling(list(records), options.where)
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    if not items:
        raise InputError("there are no items", remedy="Give files that hold some")
    return items


def fulfilling(records: list[ItemRecord], where: tuple[str, ...]) -> list[ItemRecord]:
    """The records that `--where` asks for."""
    wanted = conditions(where)
    matching = [
        record
        for record in records
        if all(each.holds(Document(record.item.id, "", record.fields)) for each in wanted)
    ]
    if records and not matching:
        raise none_fulfils(where, (record.fields for record in records), None)
    return matching


def _detected(record: Mapping[str, Any], origin: Origin, line: int, text_field: str | None) -> str:
    """The benchmark whose fields the record has; of several that with the most."""
    needed = {form: item_reader(form).FIELDS for form in benchmark_names()}
    needed |= {TEXTS: frozenset((text_field,))} if text_field else {}
    sizes = {form: len(names) for form, names in needed.items()}
    fitting = [form for form in sizes if record.keys() >= needed[form]]
    if not fitting:
        without = f", and there is no field '{text_field}'" if text_field else ""
        raise origin.error(
            f"no known benchmark has these fields: {', '.join(map(str, record))}{without}",
            line,
            remedy=f"Name it with --benchmark ({', '.join(benchmark_names())}), or the field with "
            "the text with --text-field, or give records with the fields context, options and "
            "answer",
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
