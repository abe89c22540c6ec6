"""The ground truth grows: sentences that were accepted are added, and the next test sees them.

Accepted are sentences that are original and owe nothing to anybody, and all sentences of a record
that says where it took what (field `citation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.core.document import Document
from rote.core.result import Row

if TYPE_CHECKING:
    from rote.core.progress import Reporter
    from rote.search.originality.authors import GivenNames

CITATION = "citation"
# A sentence ends at a blank line, whatever stands before it.
_PARTED = "\n\n"


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of the sentences: how many were accepted, of which texts, and what was added.

    `known` are the ids of texts with accepted sentences that the index holds already.
    """

    sentences: int
    documents: Sequence[Document]
    known: Sequence[str]


def accept(
    path: Path,
    verdicts: Iterable[Row],
    records: Iterable[Document],
    reporter: Reporter,
    given: GivenNames | None = None,
) -> Accepted:
    """Add what is accepted to the index at `path`, as a new segment; nothing if there is nothing.

    `verdicts` are rows of the table of that name, `records` the texts that they are about,
    `given` says whom names stand for.
    """
    from rote.corpus import open_corpus
    from rote.index.factory import open_index
    from rote.index.folders.build import add_to_index
    from rote.index.folders.manifest import read_manifest

    held = [segment.documents for segment in open_index(path, reporter).segments]
    authors = [name for each in held for name in each.author.vocabulary.strings()[1:]]
    rows: dict[str, list[Row]] = {}
    for row in verdicts:
        rows.setdefault(row["id"], []).append(row)
    author_field = read_manifest(path).author_field
    documents, known, sentences = [], [], 0
    for record in records:
        passed = [row for row in rows.get(record.id, ()) if is_accepted(row, record)]
        if not passed:
            continue
        if any(each.find(record.id) is not None for each in held):
            known.append(record.id)
            continue
        documents.append(_document(record, passed, author_field, authors, given))
        sentences += len(passed)
    if documents:
        add_to_index(path, open_corpus(documents), reporter=reporter)
    return Accepted(sentences, documents, known)


def is_accepted(row: Row, record: Document) -> bool:
    """Whether a sentence may join the ground truth."""
    return bool(record.meta.get(CITATION)) or (row["original"] and not row["fails"])


def _document(
    record: Document,
    passed: Sequence[Row],
    author_field: str,
    authors: Sequence[str],
    given: GivenNames | None,
) -> Document:
    """The accepted sentences of one text, and whose they are.

    What is quoted from an author whom the ground truth knows stays that author's: under the name
    of who quotes it, it would have a second source, and be common property. Else it belongs to
    the text's author, or to its source.
    """
    source = record.meta.get("source") or passed[0]["source"]
    cited = record.meta.get(CITATION)
    author = record.meta.get(author_field) or source
    if cited and _is_known(str(cited), authors, given):
        author = cited
    meta: dict[str, Any] = {"source": source, author_field: author}
    if cited:
        meta[CITATION] = cited
    return Document(record.id, _PARTED.join(row["text"] for row in passed), meta)


def _is_known(name: str, authors: Sequence[str], given: GivenNames | None) -> bool:
    """Whether a name stands for one of the authors of the ground truth."""
    from rote.search.originality.authors import merge_authors

    found = merge_authors([*authors, name], given)
    own = set(found.of.get(name, ()))
    return any(own & set(found.of.get(author, ())) for author in authors)
