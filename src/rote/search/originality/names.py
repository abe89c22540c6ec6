"""A name as words: no accents, no case, no signs, the first name first.

"Poe, Edgar A.", "EDGAR A. POE" and "Edgar A Poe" are the same words. Titles are dropped where a
first and a last name are left ("Sir Winston Churchill"), else they are part of the name ("Lord
Byron", "St. Augustine"). Degrees are dropped too, but *Jr.* and the like tell father and son apart.
"""

from __future__ import annotations

import re
import unicodedata

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
    found = [first, *(part for part in rest if not _YEARS.search(part))]
    parts = [words for part in found if (words := _plain(part))]
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
