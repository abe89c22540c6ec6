"""Documents edited in one fact: an entity of the reference that is frequent in training summaries
becomes another of its type (Choubey et al. 2023, appendix C)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.core.document import Document
from rote.curate.pairs import Pair

Outcome = Literal["correct", "skipped", "incorrect"]
OUTCOMES: tuple[Outcome, ...] = ("correct", "skipped", "incorrect")
_BEFORE, _AFTER = 4, 3
"""Words of the reference around a fact that is added."""
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a text."""

    type: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A test pair whose document says something else now."""

    pair: Pair
    number: int
    how: Literal["substituted", "added"]
    type: str
    old: str
    new: str
    document: str

    @property
    def record(self) -> dict[str, Any]:
        return {
            "id": f"{self.pair.id}/{self.number}",
            "doc_id": self.pair.id,
            "document": self.document,
            "text": self.document,
            "original": self.pair.document,
            "reference": self.pair.reference,
            "how": self.how,
            "type": self.type,
            "old": self.old,
            "new": self.new,
        }


def mentions(texts: Sequence[str]) -> Iterator[list[Mention]]:
    """The entities of each text, by rote's own annotator."""
    from rote.annotate import annotators

    annotate = annotators.get("rote")
    for first in range(0, len(texts), _AT_ONCE):
        some = texts[first : first + _AT_ONCE]
        made = annotate([Document(str(i), text) for i, text in enumerate(some)], ("entity",))
        word, entity = made.word, made.layers["entity"]
        begin = 0
        for text, end in zip(some, word.text_ends.tolist()):
            found: list[Mention] = []
            for at in range(begin, end):
                mark, _, kind = entity.vocabulary[entity.ids[at]].partition("-")
                a, b = int(word.starts[at]), int(word.ends[at])
                if mark == "B":
                    found.append(Mention(kind, text[a:b], a, b))
                elif mark == "I" and found:
                    last = found[-1]
                    found[-1] = Mention(last.type, text[last.start : b], last.start, b)
            yield found
            begin = end


def frequent(references: Sequence[str], most: int) -> dict[str, str]:
    """The entities that most training references mention, each with its usual type."""
    often: Counter[str] = Counter()
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for own in mentions(references):
        for name in {one.text for one in own}:
            often[name] += 1
        for one in own:
            types[one.text][one.type] += 1
    return {name: types[name].most_common(1)[0][0] for name, _ in often.most_common(most)}


def edits(
    test: Sequence[Pair], known: dict[str, str], items: int, each: int, seed: int
) -> list[Edit]:
    """So many documents, each edited so often, in an order drawn by the seed."""
    random = np.random.default_rng(seed)
    by_type: dict[str, list[str]] = defaultdict(list)
    for name, kind in known.items():
        by_type[kind].append(name)
    found: list[Edit] = []
    taken = 0
    named = list(mentions([one.reference for one in test]))
    for place in random.permutation(len(test)).tolist():
        if taken == items:
            break
        pair = test[place]
        own = [one for one in dict.fromkeys(named[place]) if known.get(one.text) == one.type]
        if not own:
            continue
        taken += 1
        for number in range(each):
            old = own[int(random.integers(len(own)))]
            both = f"{pair.document} {pair.reference}".lower()
            others = [one for one in by_type[old.type] if one.lower() not in both]
            if not others:
                continue
            new = others[int(random.integers(len(others)))]
            found.append(_edit(pair, number, old, new))
    return found


def _edit(pair: Pair, number: int, old: Mention, new: str) -> Edit:
    whole = _as_words(old.text)
    if whole.search(pair.document):
        document = whole.sub(lambda _: new, pair.document)
        return Edit(pair, number, "substituted", old.type, old.text, new, document)
    before = pair.reference[: old.start].split()[-_BEFORE:]
    after = pair.reference[old.end :].split()[:_AFTER]
    fact = " ".join([*before, new, *after]).strip()
    document = f"{pair.document.rstrip()} {fact[:1].upper()}{fact[1:].rstrip('.,;:')}."
    return Edit(pair, number, "added", old.type, old.text, new, document)


def outcome(summary: str, old: str, new: str) -> Outcome:
    """Incorrect if the old fact is there, correct if only the new one is, else skipped."""
    if _as_words(old).search(summary):
        return "incorrect"
    return "correct" if _as_words(new).search(summary) else "skipped"


def _as_words(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
