"""Which sentences are an original use of language, and which need a citation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.cli._flags import build, flags
from rote.cli._index import several
from rote.cli._output import LINES, deliver
from rote.cli._record import Further, Invocation, record_command
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.metric import option
from rote.core.result import Result, Row

if TYPE_CHECKING:
    from rote.core.progress import Reporter
    from rote.search.originality.authors import GivenNames

_STDIN = "-"
_VERDICTS = "verdicts"
# Of ids that are passed over so many are named.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class GrowthOptions:
    """What becomes of the sentences that were judged."""

    write: Path | None = option(
        None,
        "Write the sentences that do not fail to this file, as JSON Lines",
        metavar="OUT",
        writes=LINES,
    )
    accept: bool = option(
        False,
        "Add sentences that are original and do not fail, and all of records with a field "
        "'citation', to the ground truth, an index",
    )


def prepare(invocation: Invocation) -> Mapping[str, Any]:
    """Refuse before the work what cannot work; both flags need the verdict on every sentence."""
    from rote.index.folders.manifest import is_index
    from rote.search.reference_corpus import NO_CORPUS

    options = build(GrowthOptions, invocation.options)
    if not (options.accept or options.write):
        return {}
    if not invocation.options["corpus"]:
        raise OptionError(NO_CORPUS)
    if invocation.options["within"]:
        raise OptionError(
            "--within averages over sets of texts: leave it out with --keep and --accept"
        )
    if options.accept:
        against = Path(invocation.options["corpus"])
        if not is_index(against):
            raise OptionError(
                f"--accept needs an index, but {against} is not one: build one with `rote index "
                f"build {against} -o IDX`, and name it with --corpus"
            )
        if _STDIN in invocation.files:
            raise OptionError("--accept reads the texts twice: save standard input to a file")
    return {_VERDICTS: True}


def finish(result: Result, invocation: Invocation) -> None:
    """Write what passes, show the result, and then, since nothing undoes it, let the index grow."""
    from rote.report.result_tables import print_originality, print_results

    options, verdicts = build(GrowthOptions, invocation.options), result.tables.get(_VERDICTS, ())
    if options.write:
        _write_passing(verdicts, options.write)
    if not invocation.options[_VERDICTS]:
        other_tables = {name: rows for name, rows in result.tables.items() if name != _VERDICTS}
        result = replace(result, tables=other_tables)

    def show(console: Any) -> None:
        print_results([result], console)
        print_originality(result, console)

    deliver([result], invocation.output, panel=False, show=show)
    if options.accept:
        _accept(verdicts, invocation)


def _write_passing(verdicts: Iterable[Row], path: Path) -> None:
    """One record per sentence, each with an id of its own, so that it can be read as texts."""
    lines = []
    for row in (row for row in verdicts if not row["fails"]):
        record = {"id": f"{row['id']}#{row['sentence']}", "text": row["text"]}
        record |= {"source": row["source"], "text_id": row["id"]}
        record |= {name: row[name] for name in ("sentence", "original")}
        lines.append(f"{json.dumps(record)}\n")
    write_atomically(path, "".join(lines))


def _accept(verdicts: Iterable[Row], invocation: Invocation) -> None:
    from rote.search.originality.authors import read_author_names

    path, authors = Path(invocation.options["corpus"]), invocation.options["authors"]
    known = read_author_names(authors) if authors else None
    accepted = accept(path, verdicts, _records(invocation), invocation.reporter, known)
    sentences = several(accepted.sentences, "sentence")
    what = f"{sentences} of {several(len(accepted.documents), 'text')}"
    invocation.reporter.say(f"accepted {what if accepted.documents else 'nothing'} into {path}")
    if accepted.known:
        known_ids = ", ".join(accepted.known[:_NAMED]) + ", …" * (len(accepted.known) > _NAMED)
        count = several(len(accepted.known), "text")
        invocation.reporter.say(f"skipped {count} whose id is already in the index: {known_ids}")


def _records(invocation: Invocation) -> Iterable[Document]:
    from rote.annotate.store import is_store, open_store
    from rote.corpus import ReadOptions, open_corpus

    files = [Path(name) for name in invocation.files]
    if len(files) == 1 and is_store(files[0]):
        return (d for batch, _ in open_store(files[0]).pieces() for d in batch.documents)
    return open_corpus(files, build(ReadOptions, invocation.options))


command = record_command(
    "originality", Further(flags(GrowthOptions, "What becomes of the sentences"), prepare, finish)
)


CITATION = "citation"
"""The field of a record that says where it took what."""
# A sentence ends at a blank line, whatever stands before it.
_PARTED = "\n\n"


@dataclass(frozen=True, slots=True)
class Accepted:
    """Accepted sentences, the documents added, and ids that the index holds already."""

    sentences: int
    documents: Sequence[Document]
    known: Sequence[str]


def accept(
    path: Path,
    verdicts: Iterable[Row],
    records: Iterable[Document],
    reporter: Reporter,
    names: GivenNames | None = None,
) -> Accepted:
    """Add what is accepted to the index at `path`, as a new segment."""
    from rote.corpus import open_corpus
    from rote.index.factory import open_index
    from rote.index.folders.build import add_to_index
    from rote.index.folders.manifest import read_manifest

    columns = [segment.documents for segment in open_index(path, reporter).segments]
    authors = [name for each in columns for name in each.author.vocabulary.strings()[1:]]
    rows: dict[str, list[Row]] = {}
    for row in verdicts:
        rows.setdefault(row["id"], []).append(row)
    author_field = read_manifest(path).author_field
    documents, known, sentences = [], [], 0
    for record in records:
        cited = bool(record.meta.get(CITATION))
        of_record = rows.get(record.id, ())
        passed = [row for row in of_record if cited or (row["original"] and not row["fails"])]
        if not passed:
            continue
        if any(each.find(record.id) is not None for each in columns):
            known.append(record.id)
            continue
        documents.append(_document(record, passed, author_field, authors, names))
        sentences += len(passed)
    if documents:
        add_to_index(path, open_corpus(documents), reporter=reporter)
    return Accepted(sentences, documents, known)


def _document(
    record: Document,
    passed: Sequence[Row],
    author_field: str,
    authors: Sequence[str],
    names: GivenNames | None,
) -> Document:
    """The accepted sentences of one text, and whose they are.

    What is quoted from an author whom the ground truth knows stays that author's: under the name
    of who quotes it, it would have a second source, and be common property. Else it belongs to
    the text's author, or to its source.
    """
    from rote.search.originality.authors import merge_authors

    source = record.meta.get("source") or passed[0]["source"]
    meta: dict[str, Any] = {"source": source}
    meta[author_field] = record.meta.get(author_field) or source
    if cited := record.meta.get(CITATION):
        meta[CITATION] = cited
        spellings = merge_authors([*authors, str(cited)], names).of
        forms = set(spellings.get(str(cited), ()))
        if any(forms & set(spellings.get(author, ())) for author in authors):
            meta[author_field] = cited
    return Document(record.id, _PARTED.join(row["text"] for row in passed), meta)
