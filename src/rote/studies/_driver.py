"""One driver for every record: keywords to options, inputs to what it takes, findings to a Result.

    run("memorization", "items.jsonl", {"model": "numpy:FOLDER", "by": "task"})

The shell, Python (`rote.memorization`), the app and the report all come this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin

from rote.core.errors import InputError, OptionError, check_options_known
from rote.core.metric import Metric, bare, check_types, hints_of
from rote.core.progress import Reporter, Silent
from rote.core.record import Call, Findings, Study
from rote.core.registry import find, words_of
from rote.core.result import Interval, Result
from rote.core.saved import read_results, save_result
from rote.core.signature import Signature, option_settings
from rote.corpus import Corpus, ReadOptions, open_corpus, place_of
from rote.corpus.items import ItemOptions, take_items
from rote.corpus.memory import to_rows
from rote.curate.pairs import PairOptions
from rote.curate.reading import write_lines
from rote.index.folders.options import parse_memory
from rote.measure import Settings
from rote.measure._against import open_inputs
from rote.run._ahead import compile_ahead


def run(
    name: str, inputs: Any, given: Mapping[str, Any], *, reporter: Reporter | None = None
) -> Result:
    """One command on some inputs; `given` are its options by name, those it shares included."""
    record, reporter = find(name), reporter or Silent()
    compile_ahead(reporter, " ".join(words_of(name)))
    options = options_of(kinds(record), given)
    read = options.get(ReadOptions) or ReadOptions()
    options = {kind: open_inputs(held, read) for kind, held in options.items()}
    own = options[record.options]
    if isinstance(record, Metric):
        from rote.measure._compute import compute

        settings = options[Settings]
        return compute({name: own}, inputs, settings=settings, read=read, reporter=reporter)[0]
    call = Call(_READERS[record.takes](inputs, options, reporter), own, options, reporter)
    level = next((one.interval for one in options.values() if hasattr(one, "interval")), 0)
    found = record.run(call)
    if path := getattr(own, "write", None):
        write_lines(path, found.records)
    result = _result(record, own, found, level if found.level is None else found.level)
    if record.ledger or record.kept:
        save_result(result, Path(result.about["folder"]))
    return result


def kinds(record: Metric | Study) -> tuple[type, ...]:
    """The options dataclasses whose fields are the flags and keywords of a command."""
    if isinstance(record, Metric):
        return (record.options, Settings, ReadOptions)
    return (record.options, *record.more)


def options_of(kinds: Sequence[type], given: Mapping[str, Any]) -> dict[type, Any]:
    """The options objects; an unknown name is refused, and what is meant is said."""
    check_options_known(given, {field.name for kind in kinds for field in fields(kind)})
    return {kind: _built(kind, given) for kind in kinds}


def _built(kind: type, given: Mapping[str, Any]) -> Any:
    hints = hints_of(kind)
    own = {
        field.name: _plain(field, hints[field.name], given[field.name])
        for field in fields(kind)
        if field.name in given
    }
    check_types(kind, own)
    return kind(**own)


def _plain(field: Field[Any], hint: Any, value: Any) -> Any:
    """`by="a,b"` is as good as `by=("a", "b")`; of a string and a Path either will do."""
    kind, _ = bare(hint)
    if field.metadata.get("size") and isinstance(value, str):
        return parse_memory(value)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        if isinstance(value, str) and field.metadata.get("repeated"):
            value = (value,)
        elif isinstance(value, str):
            parts = [part.strip() for part in value.split(",") if part.strip()]
            if field.metadata.get("takes") in ("texts", "items"):
                # In a list strings may be texts; written out they are names.
                return tuple(map(place_of, parts))
            try:
                value = tuple(item(part) if item in (int, float) else part for part in parts)
            except ValueError:
                what = "whole numbers" if item is int else "numbers"
                raise OptionError(f"{field.name} takes {what}, not '{value}'") from None
        elif isinstance(value, (int, float, Path)):
            value = (value,)
        if field.name == "by" and not (
            isinstance(value, Sequence) and all(isinstance(one, str) for one in value)
        ):
            raise OptionError(
                f"by names fields, such as 'source' or ('task', 'source'), not {value!r}"
            )
        # A column of texts is a sequence too, and no list of names.
        if isinstance(value, (list, tuple) if field.metadata.get("takes") else Sequence):
            paths = item is Path
            return tuple(Path(one) if paths and isinstance(one, str) else one for one in value)
    if kind is str and isinstance(value, Path):
        return str(value)
    return Path(value) if kind is Path and isinstance(value, str) else value


def default_of(field: Field[Any]) -> Any:
    """What a field is where nothing is given."""
    made = field.default_factory
    return field.default if made is MISSING else made()


# What goes in


def _texts(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> Corpus:
    read = options[ReadOptions]
    if (pairs := options.get(PairOptions)) and read.text_field is None:
        read = replace(read, text_field=pairs.document_field)
    corpus = open_corpus(inputs, read)
    for line in corpus.guesses:
        reporter.say(line)
    return corpus


def _items(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> list[Any]:
    return take_items(inputs, options[ItemOptions], reporter)


def _results(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> list[Any]:
    """Results with the name of what they came in: files, or results that were just made."""
    if isinstance(inputs, Mapping):
        return list(inputs.items())
    several = isinstance(inputs, Sequence) and not isinstance(inputs, str)
    found: list[tuple[str, Result]] = []
    for one in inputs if several else [inputs]:
        if isinstance(one, Result):
            found.append((one.measure, one))
        elif isinstance(one, (str, Path)):
            found += [(str(one), result) for result in read_results(Path(one))]
        else:
            raise InputError(
                f"results cannot be of type {type(one).__name__}",
                remedy="Give files that measures wrote as JSON, or what they returned",
            )
    if not found:
        raise InputError("there are no results", remedy="Give some, or files that hold some")
    return found


def _index(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> Any:
    from rote.index.factory import to_index

    return to_index(inputs, "index", reporter)


def _prompts(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> tuple[Any, ...]:
    """Names (a Path is nothing else), texts or records; the cells of a column are texts."""
    rows = [inputs] if isinstance(inputs, (str, Path)) else to_rows(inputs)
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        raise InputError(
            f"the input cannot be of type {type(inputs).__name__}",
            remedy="Give names of files, a list of texts or records, or a frame or column of them",
        )
    column = rows is not inputs and not isinstance(inputs, (str, Path))
    return tuple({"text": row} if column and isinstance(row, str) else row for row in rows)


_READERS: Mapping[str, Callable[[Any, Mapping[type, Any], Reporter], Any]] = {
    "texts": _texts,
    "items": _items,
    "results": _results,
    "index": _index,
    "prompts": _prompts,
}


# What comes out


def _result(record: Study, options: Any, found: Findings, level: float) -> Result:
    settings = {"measure": record.name, **option_settings(options), **found.signed}
    return Result(
        measure=record.name,
        signature=Signature.of(settings),
        by=found.by,
        reference=found.reference,
        interval=Interval(level, found.method) if level and found.method else None,
        by_source=found.sources,
        comparisons=found.comparisons,
        tables={"values": found.values, **found.tables},
        notes=tuple(found.notes),
        records=found.records,
        about=found.about,
        listing=found.listing,
        detail=found.detail,
    )
