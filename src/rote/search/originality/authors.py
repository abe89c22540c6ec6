"""When two spellings are one author, and which documents are of one source.

*Sure*: names of the same words, whatever their case, accents, order and titles.
*Guessed*: a name that shares its last name and another one in full with a fuller name that it can
stand for, if there is only one: "Bernard Shaw" and "George Bernard Shaw". *Left apart*: a name
that could be several people, and initials, which are too little to go by ("T. H. White" and
Theodore H. White are two). Guesses and what was left apart are listed; a file (`Given`) overrides
all of it. A wrong merge hides a second source, a wrong split makes one up.

A name as words: no accents, no case, no signs, the first name first.
"Poe, Edgar A.", "EDGAR A. POE" and "Edgar A Poe" are the same words. Titles are dropped where a
first and a last name are left ("Sir Winston Churchill"), else they are part of the name ("Lord
Byron", "St. Augustine"). Degrees are dropped too, but *Jr.* and the like tell father and son apart.

**Sources** are the connected components of documents and authors: a book by Ann and Bob makes one
source of all that Ann wrote and all that Bob wrote. A document of which nobody knows the author
is a source by itself. Numbers are those of all segments of an index together, in the order of
each source's first document.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.core.metric import is_given
from rote.corpus.memory import to_rows

if TYPE_CHECKING:
    from rote.index.index import Index

Form = tuple[str, ...]

# Names that say that nobody knows: such a document is a source of its own.
NOBODY = frozenset(
    "anon,anonymous,anonymous author,unknown,unknown author,author unknown,unattributed,various,"
    "various authors,none,null,nan,na,n a".split(",")
)
_WRITTEN_OUT = dict(
    pair.split(":")
    for pair in "adm:admiral capt:captain col:colonel dr:doctor gen:general gov:governor "
    "hon:honourable lt:lieutenant pres:president prof:professor rev:reverend sen:senator "
    "st:saint".split()
)
_TITLES = frozenset(_WRITTEN_OUT.values()) | frozenset(
    "archbishop bishop cardinal dame judge justice lady lord miss mr mrs ms sir".split()
)
_GENERATIONS = frozenset("jr sr ii iii iv".split())
_HONOURS = frozenset("esq kbe mbe md obe phd".split())
_SIGNS = re.compile(r"[^\w\s]|_")
_APOSTROPHES = re.compile(r"['’‘]")
_YEARS = re.compile(r"\d{3,4}")
# Letters that are no letter with an accent, though people write them so.
_PLAIN = str.maketrans(
    {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i"}
)


def split_names(field: str) -> list[str]:
    """The names that an author field lists; an index joins those of a list by semicolons."""
    return [name.strip() for name in field.split(";") if name.strip()]


def words_of(name: str) -> Form:
    """The words of a name, plain and in order, titles written out; empty where it names nobody."""
    first, *rest = name.split(",")
    # Libraries write years behind a name.
    dated_parts = [first, *(part for part in rest if not _YEARS.search(part))]
    parts = [words for part in dated_parts if (words := _plain_words(part))]
    titles: list[str] = []
    behind: list[str] = []
    while len(parts) > 1 and (word := "".join(parts[-1])) in _GENERATIONS | _HONOURS | _TITLES:
        (titles if word in _TITLES else behind).insert(0, word)
        parts.pop()
    if len(parts) == 2:
        parts.reverse()  # "Last, First"
    words = [*titles, *(word for part in parts for word in part)]
    front = 0
    while front < len(words) - 1 and _WRITTEN_OUT.get(words[front], words[front]) in _TITLES:
        words[front] = _WRITTEN_OUT.get(words[front], words[front])
        front += 1
    form = (*words, *(word for word in behind if word in _GENERATIONS))
    return () if " ".join(form) in NOBODY else form


def normalize(name: str) -> Form:
    """The words of a name without its titles, if a first and a last name are left."""
    form = words_of(name)
    bare = sum(word not in _GENERATIONS for word in form)
    front = 0
    while front < bare - 2 and form[front] in _TITLES:
        front += 1
    return form[front:]


def _plain_words(part: str) -> list[str]:
    """The words of a name without accents, case and signs; initials apart, each a word."""
    # Capitals that stand together before a surname are initials: "JRR Tolkien".
    words = _SIGNS.sub(" ", _APOSTROPHES.sub("", part)).split()
    mixed = part != part.upper()
    apart: list[str] = []
    for i, word in enumerate(words, 1):
        initials = mixed and i < len(words) and len(word) <= 3 and word.isupper()
        apart += word if initials else [word]
    decomposed = unicodedata.normalize("NFKD", " ".join(apart).casefold().translate(_PLAIN))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).split()


RULES = 2
"""Rises when other names are merged."""
_MORE = 2
"""Words that a fuller name has more at most: further ones say something else of somebody."""
_COLUMNS = ("name", "author")
_REMEDY = "--authors names a CSV file in UTF-8 with the columns name and author"

GivenNames = Mapping[Form, str]
"""Whom a name stands for, by its words; nobody where that is empty."""


@dataclass(frozen=True, slots=True)
class Authors:
    """Who the spellings of a corpus stand for.

    `of` gives for each spelling the numbers of its authors: several where the field lists them
    ("Ann; Bob"), none where nobody is known. `names[a]` is author a's fullest spelling.
    `merged` lists for each author with several spellings all of them, `guessed` those spellings
    that were merged on a guess, and with whom. `ambiguous` lists for each spelling that was left
    apart whom it could stand for.
    """

    of: Mapping[str, tuple[int, ...]]
    names: Sequence[str]
    merged: Mapping[str, tuple[str, ...]]
    guessed: Mapping[str, str]
    ambiguous: Mapping[str, tuple[str, ...]]


def read_author_names(source: Any) -> GivenNames:
    """A file with the columns `name` and `author`, as CSV: the name stands for the author. From
    Python also records, a frame, or a dict of names and authors.

    A name that stands for itself is merged with no other.
    """
    authors: dict[Form, str] = {}
    file = str(source) if isinstance(source, (str, Path)) else "authors"
    for line, row in _read_rows(source, file):
        name, author = (str(row[column] or "").strip() for column in _COLUMNS)
        words, problem = words_of(name), ""
        if not words:
            problem = f"'{name}' names nobody"
        elif None in row:
            problem = "there are more than two names"
        elif authors.setdefault(words, author) != author:
            problem = f"'{name}' stands for '{author}', and above for '{authors[words]}'"
        if problem:
            raise InputError(
                problem,
                file=file,
                line=line,
                field="name",
                remedy='Fix the line, or remove it; put a name with a comma in "quotes"',
            )
    return authors


def _read_rows(source: Any, file: str) -> Iterator[tuple[int, Mapping[Any, Any]]]:
    if isinstance(source, Mapping):
        source = [{"name": name, "author": author} for name, author in source.items()]
    if not isinstance(source, (str, Path)):
        rows = to_rows(source)
        listed = isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows)
        if not listed or not all(set(_COLUMNS) <= set(row) for row in rows):
            raise InputError(
                "authors are records with the fields name and author",
                file=file,
                remedy="Give a CSV file, such records, a frame of them, or a dict name -> author",
            )
        yield from enumerate(rows, 1)
        return
    try:
        text = Path(source).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        problem = f"the file of authors cannot be read ({why})"
        raise InputError(problem, file=file, remedy=_REMEDY) from error
    reader = csv.DictReader(StringIO(text, newline=""))
    try:
        if not set(_COLUMNS) <= set(reader.fieldnames or ()):
            begins = ",".join(reader.fieldnames or ())[:40]
            raise InputError(
                f"a file of authors must begin with the line 'name,author', not '{begins}'",
                file=file,
                line=1,
                remedy="Each further line has a name and its author",
            )
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        problem = f"no CSV that can be read ({error})"
        raise InputError(problem, file=file, line=reader.line_num, remedy=_REMEDY) from None


def authors_signature(source: Any) -> str:
    """The version of the rules, and what a file says."""
    if not is_given(source):
        return str(RULES)
    content = repr(sorted(read_author_names(source).items())).encode()
    return f"{RULES}+{blake2b(content, digest_size=6).hexdigest()}"


def merge_authors(fields: Iterable[str], given_names: GivenNames | None = None) -> Authors:
    given_names = given_names or {}
    fields = sorted(set(fields))
    spellings: dict[Form, list[str]] = defaultdict(list)
    spelled_forms: set[Form] = set()
    for name in sorted({name for field in fields for name in split_names(field)}):
        if form := _form_of(name, given_names):
            spellings[form].append(name)
            spelled_forms |= {form} if words_of(name) not in given_names else set()
    fixed = {normalize(author): author for author in given_names.values()}
    stands_for, unclear = _resolve(list(spellings), spelled_forms, fixed)
    number = {form: i for i, form in enumerate(sorted(set(stands_for.values())))}
    names_of_author: list[list[str]] = [[] for _ in number]
    for form, names_of_form in spellings.items():
        names_of_author[number[stands_for[form]]] += names_of_form
    names = [fixed.get(form) or _fullest(spellings[form]) for form in number]
    forms = {
        field: filter(None, (_form_of(name, given_names) for name in split_names(field)))
        for field in fields
    }
    return Authors(
        of={
            field: tuple(sorted({number[stands_for[form]] for form in listed}))
            for field, listed in forms.items()
        },
        names=names,
        merged={
            names[i]: tuple(sorted(each)) for i, each in enumerate(names_of_author) if len(each) > 1
        },
        guessed={
            spelling: names[number[fuller]]
            for form, fuller in stands_for.items()
            if fuller != form
            for spelling in spellings[form]
        },
        ambiguous={
            spelling: tuple(sorted({names[number[stands_for[fuller]]] for fuller in others}))
            for form, others in unclear.items()
            for spelling in spellings[form]
        },
    )


def _form_of(name: str, given_names: GivenNames) -> Form:
    """Under which words a name is known; none where it names nobody."""
    return normalize(given_names.get(words_of(name), name))


def _resolve(
    forms: Sequence[Form], spelled: Container[Form], fixed: Container[Form]
) -> tuple[dict[Form, Form], dict[Form, tuple[Form, ...]]]:
    """For each form the fullest one that it stands for, and the forms that could be others.

    Forms of the same last word are compared, and only those of several words. Nothing is guessed
    of those that a file tells, nor merged on a guess with a form that no
    name spells (`spelled`).
    """
    kin: dict[str, list[Form]] = defaultdict(list)
    for form in forms:
        if len(form) > 1 and form in spelled:
            kin[form[-1]].append(form)
    stands_for, unclear = {}, {}
    for form in forms:
        stands_for[form] = form
        if form in fixed or len(form) < 2:
            continue
        fuller = [f for f in kin[form[-1]] if f != form and _is_possible_form(form, f)]
        # "E. Poe" could be "Edgar A. Poe" and "Edgar Allan Poe", which are one.
        fullest = [f for f in fuller if not any(f != g and _is_possible_form(f, g) for g in fuller)]
        if len(fullest) == 1 and sum(len(word) > 1 for word in form) > 1:
            stands_for[form] = fullest[0]
        elif fullest:
            unclear[form] = tuple(fullest)
    return stands_for, unclear


def _is_possible_form(form: Form, other: Form) -> bool:
    """Whether the words of a form stand in another in order, or initials of its words."""
    if not len(form) <= len(other) <= len(form) + _MORE:
        return False
    at = 0
    for word in other:
        if at < len(form) and (word == form[at] or (len(form[at]) == 1 and word[0] == form[at])):
            at += 1
    return at == len(form) and form[-1] == other[-1]


def _fullest(spellings: Sequence[str]) -> str:
    """The spelling that says most: most letters, accents, few signs, no title, not in capitals."""

    def key(name: str) -> tuple[object, ...]:
        one_case = name.isupper() or name.islower()
        letters, accents = sum(map(str.isalpha, name)), sum(not c.isascii() for c in name)
        titled = words_of(name) != normalize(name)
        return (one_case, titled, -letters, "," in name, -accents, len(name), name)

    return min(spellings, key=key)


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
            numbers = range(len(segment.documents))
            values = [segment.documents.meta(number).get(document_field) for number in numbers]
            parts = ["" if value is None else str(value) for value in values]
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
