"""One driver for every record: keywords to options, inputs to what it takes, findings to a Result.

    run("memorization", "items.jsonl", {"model": "numpy:FOLDER", "by": "task"})

The shell, Python (`rote.memorization`), the app and the report all come this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any, get_origin

from rote.core.errors import InputError, OptionError, check_options_known
from rote.core.metric import Metric, bare, check_types, hints_of, parse_option
from rote.core.progress import Reporter, Silent
from rote.core.record import Call, Findings, Study
from rote.core.registry import find
from rote.core.result import Interval, Result, read_results, save_result
from rote.core.signature import Signature, option_settings
from rote.corpus import Corpus, ReadOptions, open_corpus, place_of
from rote.corpus.items import ItemOptions, take_items
from rote.corpus.memory import to_rows
from rote.curate.corpus_reader import write_lines
from rote.curate.pairs import PairOptions
from rote.measure import Settings
from rote.search.reference_corpus import open_inputs


def run_command(
    name: str, inputs: Any, keywords: Mapping[str, Any], *, reporter: Reporter | None = None
) -> Result:
    """One command on some inputs; `keywords` are its options by name, those it shares included."""
    record, reporter = find(name), reporter or Silent()
    options = build_options(option_kinds(record), keywords)
    read = options.get(ReadOptions) or ReadOptions()
    options = {kind: open_inputs(value, read) for kind, value in options.items()}
    command_options = options[record.options]
    if isinstance(record, Metric):
        from rote.measure.driver.compute import compute

        settings = options[Settings]
        return compute(
            {name: command_options}, inputs, settings=settings, read=read, reporter=reporter
        )[0]
    read_inputs = _READERS[record.takes](inputs, options, reporter)
    call = Call(read_inputs, command_options, options, reporter)
    level = next((part.interval for part in options.values() if hasattr(part, "interval")), 0)
    findings = record.run(call)
    if path := getattr(command_options, "write", None):
        write_lines(path, findings.records)
    level = level if findings.level is None else findings.level
    result = _build_result(record, command_options, findings, level)
    if record.ledger or record.saves_result:
        save_result(result, Path(result.about["folder"]))
    return result


def option_kinds(record: Metric | Study) -> tuple[type, ...]:
    """The options dataclasses whose fields are the flags and keywords of a command."""
    if isinstance(record, Metric):
        return (record.options, Settings, ReadOptions)
    return (record.options, *record.more)


def build_options(kinds: Sequence[type], keywords: Mapping[str, Any]) -> dict[type, Any]:
    """The options objects; an unknown name is refused, and what is meant is said."""
    check_options_known(keywords, {field.name for kind in kinds for field in fields(kind)})
    return {kind: _build_kind(kind, keywords) for kind in kinds}


def _build_kind(kind: type, keywords: Mapping[str, Any]) -> Any:
    hints = hints_of(kind)
    values = {
        field.name: _read_keyword(field, hints[field.name], keywords[field.name])
        for field in fields(kind)
        if field.name in keywords
    }
    check_types(kind, values)
    return kind(**values)


def _read_keyword(field: Field[Any], hint: Any, value: Any) -> Any:
    several = get_origin(bare(hint)[0]) is tuple
    if several and isinstance(value, str) and field.metadata.get("takes") in ("texts", "items"):
        # In a list strings may be texts; written out they are names.
        return tuple(map(place_of, parse_option(field, tuple[str, ...], value)))
    value = parse_option(field, hint, value)
    if field.name == "by" and (value is None or not all(isinstance(name, str) for name in value)):
        raise OptionError(f"by names fields, such as 'source' or ('task', 'source'), not {value!r}")
    return value


def field_default(field: Field[Any]) -> Any:
    """What a field is where nothing is given."""
    factory = field.default_factory
    return field.default if factory is MISSING else factory()


# What goes in


def _read_texts(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> Corpus:
    read = options[ReadOptions]
    if (pairs := options.get(PairOptions)) and read.text_field is None:
        read = replace(read, text_field=pairs.document_field)
    corpus = open_corpus(inputs, read)
    for line in corpus.guesses:
        reporter.say(line)
    return corpus


def _read_results(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> list[Any]:
    """Results with the name of what they came in: files, or results that were just made."""
    if isinstance(inputs, Mapping):
        return list(inputs.items())
    several = isinstance(inputs, Sequence) and not isinstance(inputs, str)
    results: list[tuple[str, Result]] = []
    for entry in inputs if several else [inputs]:
        if isinstance(entry, Result):
            results.append((entry.measure, entry))
        elif isinstance(entry, (str, Path)):
            results += [(str(entry), result) for result in read_results(Path(entry))]
        else:
            raise InputError(
                f"results cannot be of type {type(entry).__name__}",
                remedy="Give files that measures wrote as JSON, or what they returned",
            )
    if not results:
        raise InputError("there are no results", remedy="Give some, or files that contain some")
    return results


def _read_index(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> Any:
    from rote.index.factory import to_index

    return to_index(inputs, "index", reporter)


def _read_prompts(inputs: Any, options: Mapping[type, Any], reporter: Reporter) -> tuple[Any, ...]:
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
    "texts": _read_texts,
    "items": lambda inputs, options, reporter: take_items(inputs, options[ItemOptions], reporter),
    "results": _read_results,
    "index": _read_index,
    "prompts": _read_prompts,
}


# What comes out


def _build_result(record: Study, options: Any, findings: Findings, level: float) -> Result:
    settings = {"measure": record.name, **option_settings(options), **findings.signed}
    return Result(
        measure=record.name,
        signature=Signature.of(settings),
        by=findings.by,
        reference=findings.reference,
        interval=Interval(level, findings.method) if level and findings.method else None,
        by_source=findings.sources,
        tables={"values": findings.values, **findings.tables},
        notes=tuple(findings.notes),
        records=findings.records,
        about=findings.about,
        listing=findings.listing,
        detail=findings.detail,
    )
