"""When two spellings are one author, and how sure that is.

*Sure*: names of the same words (`names.py`), whatever their case, accents, order and titles.
*Guessed*: a name that shares its last name and another one in full with a fuller name that it can
stand for, if there is only one: "Bernard Shaw" and "George Bernard Shaw". *Left apart*: a name
that could be several people, and initials, which are too little to go by ("T. H. White" and
Theodore H. White are two). Guesses and what was left apart are listed; a file (`Given`) overrides
all of it. A wrong merge hides a second source, a wrong split makes one up.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO
from pathlib import Path

from rote.core.errors import InputError
from rote.search.originality.names import Form, normalize, split_names, words_of

RULES = 2
"""Rises when other names are merged."""
_MORE = 2
"""Words that a fuller name has more at most: further ones say something else of somebody."""
_COLUMNS = ("name", "author")

Given = Mapping[Form, str]
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


def read_given(path: str | Path) -> Given:
    """A file with the columns `name` and `author`, as CSV: the name stands for the author.

    A name that stands for itself is merged with no other.
    """
    found: dict[Form, str] = {}
    with _opened(Path(path)) as file:
        rows = csv.DictReader(file)
        begins = ",".join(rows.fieldnames or ())[:40]
        if not set(_COLUMNS) <= set(rows.fieldnames or ()):
            raise InputError(
                f"a file of authors begins with the line 'name,author', not '{begins}'",
                file=str(path),
                line=1,
                remedy="Each further line has a name and whom it stands for",
            )
        for row in rows:
            name, author = ((row[column] or "").strip() for column in _COLUMNS)
            words, problem = words_of(name), ""
            if not words:
                problem = f"'{name}' names nobody"
            elif None in row:
                problem = "there are more than two names"
            elif found.setdefault(words, author) != author:
                problem = f"'{name}' stands for '{author}', and above for '{found[words]}'"
            if problem:
                raise InputError(
                    problem,
                    file=str(path),
                    line=rows.line_num,
                    field="name",
                    remedy='Mend the line, or leave it out; a name with a comma stands in "quotes"',
                )
    return found


def _opened(path: Path) -> StringIO:
    try:
        return StringIO(path.read_text("utf-8-sig"), newline="")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(
            f"the file of authors cannot be read ({why})",
            file=str(path),
            remedy="--authors names a CSV file in UTF-8 with the columns name and author",
        ) from error


def signed_authors(path: str | Path | None) -> str:
    """The version of the rules, and what a file says."""
    if not path:
        return str(RULES)
    said = repr(sorted(read_given(path).items())).encode()
    return f"{RULES}+{blake2b(said, digest_size=6).hexdigest()}"


def merge(fields: Iterable[str], given: Given | None = None) -> Authors:
    """The authors behind all values of an author field."""
    given = given or {}
    fields = sorted(set(fields))
    spellings: dict[Form, list[str]] = defaultdict(list)
    own: set[Form] = set()
    for name in sorted({name for field in fields for name in split_names(field)}):
        if form := _form(name, given):
            spellings[form].append(name)
            own |= {form} if words_of(name) not in given else set()
    told = {normalize(author): author for author in given.values()}
    stands_for, unclear = _resolve(list(spellings), own, told)
    number = {form: i for i, form in enumerate(sorted(set(stands_for.values())))}
    held: list[list[str]] = [[] for _ in number]
    for form, found in spellings.items():
        held[number[stands_for[form]]] += found
    names = [told.get(form) or _fullest(spellings[form]) for form in number]
    return Authors(
        of={field: _numbers(field, given, stands_for, number) for field in fields},
        names=names,
        merged={names[i]: tuple(sorted(each)) for i, each in enumerate(held) if len(each) > 1},
        guessed={
            spelling: names[number[other]]
            for form, other in stands_for.items()
            if other != form
            for spelling in spellings[form]
        },
        ambiguous={
            spelling: tuple(sorted({names[number[stands_for[other]]] for other in others}))
            for form, others in unclear.items()
            for spelling in spellings[form]
        },
    )


def _form(name: str, given: Given) -> Form:
    """Under which words a name is known; none where it names nobody."""
    return normalize(given.get(words_of(name), name))


def _numbers(
    field: str, given: Given, stands_for: Mapping[Form, Form], number: Mapping[Form, int]
) -> tuple[int, ...]:
    forms = filter(None, (_form(name, given) for name in split_names(field)))
    return tuple(sorted({number[stands_for[form]] for form in forms}))


def _resolve(
    forms: Sequence[Form], own: Container[Form], told: Container[Form]
) -> tuple[dict[Form, Form], dict[Form, tuple[Form, ...]]]:
    """For each form the fullest one that it stands for, and the forms that could be others.

    Forms of the same last word are compared, and only those of several words. Nothing is guessed
    of those that a file tells, nor merged on a guess with those that no name has by `own` words.
    """
    kin: dict[str, list[Form]] = defaultdict(list)
    for form in forms:
        if len(form) > 1 and form in own:
            kin[form[-1]].append(form)
    stands_for, unclear = {}, {}
    for form in forms:
        stands_for[form] = form
        if form in told or len(form) < 2:
            continue
        fuller = [f for f in kin[form[-1]] if f != form and _could_be(form, f)]
        # "E. Poe" could be "Edgar A. Poe" and "Edgar Allan Poe", which are one.
        fullest = [f for f in fuller if not any(f != g and _could_be(f, g) for g in fuller)]
        if len(fullest) == 1 and sum(len(word) > 1 for word in form) > 1:
            stands_for[form] = fullest[0]
        elif fullest:
            unclear[form] = tuple(fullest)
    return stands_for, unclear


def _could_be(form: Form, other: Form) -> bool:
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
