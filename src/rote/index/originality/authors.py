"""When two spellings are one author: "Poe, Edgar A.", "EDGAR ALLAN POE", "E. A. Poe".

Every spelling is brought to one form first: no accents, no case, no dots, the first name first.
Spellings of one form are one author. Then forms with initials join the full name that they can
stand for, if there is only one such name; "J. Smith" beside John and Jane Smith stays alone,
and is reported. Names with fewer or more parts are never joined: "Edgar Poe" may be
somebody else, and a wrong merge hides a second source.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Names that say that nobody knows: such a document is a source of its own.
NOBODY = frozenset(
    "anon,anonymous,anonymous author,unknown,unknown author,author unknown,unattributed,various,"
    "various authors,none,null,nan,na,n a".split(",")
)
# What stands behind a name after a comma and is no first name.
_BEHIND = frozenset("jr sr ii iii iv esq phd md".split())
_SIGNS = re.compile(r"[^\w\s]|_")
_APOSTROPHES = re.compile(r"['’‘]")
_YEARS = re.compile(r"\d{3,4}")
# Letters that are no letter with an accent, though people write them so.
_PLAIN = str.maketrans(
    {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i"}
)

Form = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Authors:
    """Who the spellings of a corpus stand for.

    `of` gives for each spelling the numbers of its authors: several where the field lists them
    ("Ann; Bob"), none where nobody is known. `names[a]` is author a's fullest spelling.
    `merged` lists for each author with several spellings all of them, `ambiguous` for each
    spelling with initials that could be several people their names.
    """

    of: Mapping[str, tuple[int, ...]]
    names: Sequence[str]
    merged: Mapping[str, tuple[str, ...]]
    ambiguous: Mapping[str, tuple[str, ...]]


def split_names(field: str) -> list[str]:
    """The names that an author field lists; an index joins those of a list by semicolons."""
    return [name.strip() for name in field.split(";") if name.strip()]


def normalize(name: str) -> Form:
    """The words of a name, plain and in order; empty where it names nobody."""
    first, *rest = name.split(",")
    # Libraries write years behind a name.
    found = [first, *(part for part in rest if not _YEARS.search(part))]
    parts = [words for part in found if (words := _plain(part))]
    behind: list[str] = []
    while len(parts) > 1 and "".join(parts[-1]) in _BEHIND:
        behind = ["".join(parts.pop()), *behind]
    if len(parts) == 2:
        parts.reverse()  # "Last, First"
    form = (*(word for part in parts for word in part), *behind)
    return () if " ".join(form) in NOBODY else form


def merge(fields: Iterable[str]) -> Authors:
    """The authors behind all values of an author field."""
    fields = sorted(set(fields))
    spellings: dict[Form, list[str]] = defaultdict(list)
    for name in sorted({name for field in fields for name in split_names(field)}):
        form = normalize(name)
        if form:
            spellings[form].append(name)
    stands_for, unclear = _resolve(list(spellings))
    number = {form: i for i, form in enumerate(sorted(set(stands_for.values())))}
    held: list[list[str]] = [[] for _ in number]
    for form, found in spellings.items():
        held[number[stands_for[form]]] += found
    names = [_fullest(each) for each in held]
    return Authors(
        of={field: _numbers(field, stands_for, number) for field in fields},
        names=names,
        merged={names[i]: tuple(sorted(each)) for i, each in enumerate(held) if len(each) > 1},
        ambiguous={
            spelling: tuple(sorted(names[number[stands_for[other]]] for other in others))
            for form, others in unclear.items()
            for spelling in spellings[form]
        },
    )


def _numbers(
    field: str, stands_for: Mapping[Form, Form], number: Mapping[Form, int]
) -> tuple[int, ...]:
    forms = filter(None, map(normalize, split_names(field)))
    return tuple(sorted({number[stands_for[form]] for form in forms}))


def _plain(part: str) -> list[str]:
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


def _resolve(forms: Sequence[Form]) -> tuple[dict[Form, Form], dict[Form, tuple[Form, ...]]]:
    """For each form the fullest one that it stands for, and the forms that could be several.

    Forms are compared with those of as many words and the same last word only.
    """
    kin: dict[tuple[int, str], list[Form]] = defaultdict(list)
    for form in forms:
        kin[len(form), form[-1]].append(form)
    stands_for, unclear = {}, {}
    for form in forms:
        fuller = [f for f in kin[len(form), form[-1]] if f != form and _could_be(form, f)]
        # "E. A. Poe" could be "Edgar A. Poe" and "Edgar Allan Poe", which are one.
        fullest = [f for f in fuller if not any(f != g and _could_be(f, g) for g in fuller)]
        stands_for[form] = fullest[0] if len(fullest) == 1 else form
        if len(fullest) > 1:
            unclear[form] = tuple(fullest)
    return stands_for, unclear


def _could_be(form: Form, other: Form) -> bool:
    """Whether each word of the form is the other's, or its initial; the last one is the same."""
    return all(a == b or (len(a) == 1 and b.startswith(a)) for a, b in zip(form[:-1], other[:-1]))


def _fullest(spellings: Sequence[str]) -> str:
    """The spelling that says most: most letters, accents written, few signs, not in capitals."""

    def key(name: str) -> tuple[object, ...]:
        one_case = name.isupper() or name.islower()
        letters, accents = sum(map(str.isalpha, name)), sum(not c.isascii() for c in name)
        return (one_case, -letters, "," in name, -accents, len(name), name)

    return min(spellings, key=key)
