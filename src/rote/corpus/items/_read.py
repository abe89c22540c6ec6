"""From files to items: which reader a file needs, and where a record is wrong.

A record keeps its form and fields, for whoever writes items back as they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from rote.core import plugins
from rote.core.errors import InputError
from rote.core.metric import check_options, option
from rote.corpus._fields import Origin
from rote.corpus._open import Input, are_names, open_corpus
from rote.corpus._options import ReadOptions
from rote.corpus.items._item import Item, ItemReader, Source

ROOM = "corpus.items"
# Records are taken as they are; a field for the text is named so that none is guessed.
_ANY = ReadOptions(text_field="context")


@dataclass(frozen=True, slots=True)
class ItemOptions:
    """How items are read."""

    SECTION: ClassVar[str] = "Items"
    items: str | None = option(
        None,
        "Benchmark by name: blimp, choices, copa, lambada, lm-eval, piqa, winogrande, texts  "
        "[default: known by its fields]",
        metavar="NAME",
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a bad record, or skip it and list what was skipped"
    )

    def __post_init__(self) -> None:
        check_options(self)


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
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[InputError] | None = None,
) -> Iterator[Item]:
    """The items of some files, as `read_records` has them."""
    for record in read_records(inputs, items, on_error=on_error, skipped=skipped):
        yield record.item


def read_records(
    inputs: Input | Sequence[Item],
    items: str | None = None,
    *,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[InputError] | None = None,
) -> Iterator[Record]:
    """The records of some files, in order; `items` names their benchmark instead of the fields.

    From Python, records may come as dicts or in a data frame, and items or what was read before as
    they are. With
    `on_error` "skip", records that cannot be used are left out and added to `skipped`.
    """
    form, file = items, ""
    given: Any = [inputs] if isinstance(inputs, (str, Path)) else inputs
    if are_names(given):
        given = [path for one in given for path in _logs(Path(one)) or [Path(one)]]
    elif isinstance(given, Sequence) and any(isinstance(one, (Item, Record)) for one in given):
        for one in given:
            yield one if isinstance(one, Record) else Record("choices", asdict(one), one)
        return
    for shard in open_corpus(given, _ANY).shards():
        origin = shard.origin
        source = Source(origin.file, Path(origin.file).name)
        for number, record in shard.records():
            try:
                if not isinstance(record, dict):
                    raise record if isinstance(record, InputError) else _no_record(origin)
                if items is None and (form is None or origin.file != file):
                    form, file = _detected(record, origin, number), origin.file
                assert form is not None
                yield Record(form, record, _item(_reader(form), record, number, source))
            except InputError as problem:
                if on_error == "stop":
                    raise
                if skipped is not None:
                    skipped.append(problem)


def _logs(path: Path) -> list[Path]:
    """The sample logs in a folder: the harness puts them beside results, which are no items."""
    return sorted(path.rglob("samples_*.jsonl")) if path.is_dir() else []


def _reader(form: str) -> ItemReader:
    return cast(ItemReader, plugins.load(ROOM, form))


def _detected(record: Mapping[str, Any], origin: Origin, line: int) -> str:
    """The benchmark whose fields the record has; of several that with the most."""
    sizes = {form: len(_reader(form).FIELDS) for form in plugins.members(ROOM)}
    fitting = [form for form in sizes if record.keys() >= _reader(form).FIELDS]
    if not fitting:
        raise origin.error(
            f"no benchmark has these fields: {', '.join(map(str, record))}",
            line,
            remedy=f"Name it with --items ({', '.join(plugins.members(ROOM))}), or give records "
            "with the fields context, options and answer",
        )
    return max(fitting, key=lambda form: sizes[form])


def _item(reader: ItemReader, record: Mapping[str, Any], line: int, source: Source) -> Item:
    try:
        return reader.item(record, line, source)
    except KeyError as error:
        name = str(error.args[0])
        raise InputError("is missing", file=source.file, line=line, field=name) from None
    except ValueError as error:
        raise InputError(str(error), file=source.file, line=line) from None


def _no_record(origin: Origin) -> InputError:
    return origin.error("holds texts, not items", remedy="Give JSON Lines, JSON, CSV or Parquet")
