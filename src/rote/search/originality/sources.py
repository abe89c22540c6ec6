"""The source of every document: documents that share a known author are one source.

Sources are the connected components of documents and authors: a book by Ann and Bob makes one
source of all that Ann wrote and all that Bob wrote. A document of which nobody knows the author
is a source by itself. Numbers are those of all segments of an index together, in the order of
each source's first document.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.index import Index
from rote.index.segments.documents import Documents
from rote.search.originality.authors import Authors, GivenNames, merge_authors

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class DocumentSources:
    """`of[s][d]` is the source of document d of segment s, from 0 to `count` - 1.

    `unknown` documents have no known author.
    """

    of: tuple[Numbers, ...]
    count: int
    authors: Authors
    unknown: int


def sources_of(
    index: Index, document_field: str | None = None, given_names: GivenNames | None = None
) -> DocumentSources:
    """The sources of an index's documents.

    Records with the same value of `document_field` count as parts of one document (the passages
    of a novel); without it each record is a document. `given_names`: whom names stand for.
    """
    labels = [segment.documents.author for segment in index.segments]
    authors = merge_authors(
        (name for each in labels for name in each.vocabulary.strings()[1:]), given_names
    )
    bonds: list[tuple[int, Hashable]] = []
    first = unknown = 0
    known_field = False
    for segment, each in zip(index.segments, labels):
        by = [authors.of.get(name, ()) for name in each.vocabulary.strings()]
        for document, number in enumerate(each.numbers.tolist(), first):
            bonds += [(document, ("author", author)) for author in by[number]]
            unknown += not by[number]
        if document_field is not None:
            parts = list(_field_values(segment.documents, document_field))
            known_field = known_field or any(parts)
            bonds += [(d, ("document", value)) for d, value in enumerate(parts, first) if value]
        first += len(segment.documents)
    if first and document_field is not None and not known_field:
        raise OptionError(
            f"no document of the index has a field '{document_field}' that would say which belong "
            "together: leave it out, or name another"
        )
    of, count = connected_components(first, bonds)
    cuts = np.cumsum([len(segment.documents) for segment in index.segments])[:-1]
    return DocumentSources(
        tuple(np.split(of, cuts)) if index.segments else (), count, authors, unknown
    )


def connected_components(
    documents: int, bonds: Iterable[tuple[int, Hashable]]
) -> tuple[Numbers, int]:
    """The component of each document, where documents with the same bond belong together."""
    parent = list(range(documents))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first_documents: dict[Hashable, int] = {}
    for document, bond in bonds:
        first_root, second_root = root(first_documents.setdefault(bond, document)), root(document)
        # The earlier one stays, so that components are numbered by their first documents.
        parent[max(first_root, second_root)] = min(first_root, second_root)
    roots = [root(i) for i in range(documents)]
    number = {r: i for i, r in enumerate(sorted(set(roots)))}
    return np.array([number[r] for r in roots], np.int32), len(number)


def _field_values(documents: Documents, field: str) -> Iterator[str]:
    for document in range(len(documents)):
        value = documents.meta(document).get(field)
        yield "" if value is None else str(value)
