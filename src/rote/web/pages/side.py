"""What several sources wrote to one prompt: the answers of one set, and the runs they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote.core.document import Document
from rote.core.errors import InputError, UnknownName
from rote.report.texts.highlight import Mark, Piece, paragraphs
from rote.web.files import Reader, batches, file_name

SETS = ("doc_id", "prompt", "instruction", "question", "input")
"""Fields that texts share which answer the same."""
_PROMPTS = ("prompt", "instruction", "question", "input")
LONGEST = 60_000
"""Characters of an answer that are shown and compared."""
MOST = 24
"""Answers of a set that are shown."""
LEAST = 5
_LISTED = 50

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One text of a set: where it is."""

    source: str
    id: str
    file: str


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets of some files, in their order, each by what its texts share."""

    field: str
    answers: Mapping[str, Sequence[Answer]]

    def around(self, key: str) -> tuple[str | None, str | None]:
        """The sets before and behind one."""
        keys = list(self.answers)
        if key not in self.answers:
            raise UnknownName("set of answers", key, keys[:3])
        at = keys.index(key)
        return (keys[at - 1] if at else None, keys[at + 1] if at + 1 < len(keys) else None)


def sets_of(given: Mapping[str, Path], by: Sequence[str], read: Reader = batches) -> Sets:
    """Texts by what they answer; those that nobody else answers are left out."""
    found: dict[str, dict[str, list[Answer]]] = {name: {} for name in SETS}
    several = len(given) > 1 or any(path.is_dir() for path in given.values())
    for path in given.values():
        for batch in read(path):
            file = file_name(batch.file, given) if several else ""
            for document in batch.documents:
                answer = Answer(source_of(document, by, batch.label), document.id, file)
                for name in SETS:
                    if (value := document.meta.get(name)) is not None:
                        found[name].setdefault(str(value), []).append(answer)
    for name, sets in found.items():
        shared = {key: held for key, held in sets.items() if len({a.source for a in held}) > 1}
        if shared:
            return Sets(name, shared)
    raise InputError(
        f"no two of these texts answer the same: they share no {', '.join(SETS[:-1])} or {SETS[-1]}"
    )


def source_of(document: Document, by: Sequence[str], label: str) -> str:
    """As measures name it."""
    return "|".join(str(document.meta.get(name, "")) for name in by) if by else label


def read_answers(
    given: Mapping[str, Path], answers: Sequence[Answer], read: Reader = batches
) -> list[Document]:
    """The texts themselves, in the order of the answers."""
    wanted = {(one.file, one.id): place for place, one in enumerate(answers)}
    several = any(one.file for one in answers)
    found: dict[int, Document] = {}
    for path in given.values():
        for batch in read(path):
            file = file_name(batch.file, given) if several else ""
            for document in batch.documents:
                if (place := wanted.get((file, document.id))) is not None:
                    found.setdefault(place, document)
        if len(found) == len(answers):
            break
    if len(found) < len(answers):
        raise InputError("the files have changed since", remedy="Measure them again")
    return [found[place] for place in range(len(answers))]


def prompt_of(meta: Mapping[str, Any]) -> str:
    """What a text answers, where its record says it."""
    return next((str(meta[name]) for name in _PROMPTS if meta.get(name)), "")


def columns(
    answers: Sequence[Answer], documents: Sequence[Document], least: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The answers with their shared runs marked; and the runs, the longest first."""
    texts = [document.text[:LONGEST] for document in documents]
    numbers: dict[Run, int] = {}
    sharing: dict[Run, list[int]] = {}
    shown = []
    for place, marks in enumerate(shared_runs(texts, least)):
        for run, mark in marks:
            numbers.setdefault(run, len(numbers) + 1)
            sharing[run] = sorted({place, *(int(one["place"]) for one in mark.sources)})
        shown.append(marks)
    listed = [
        {
            "number": numbers[run],
            "text": " ".join(run),
            "words": len(run),
            "sources": list(dict.fromkeys(answers[one].source for one in sharing[run])),
        }
        for run in sorted(numbers, key=lambda run: (-len(run), numbers[run]))
    ]
    made = []
    for answer, document, text, marks in zip(answers, documents, texts, shown):
        own = {(m.start, m.end): numbers[run] for run, m in marks}
        made.append(
            {
                "answer": answer,
                "paragraphs": paragraphs(text, [m for _, m in marks], _shown(own, answers)),
                "cut": len(document.text) > LONGEST,
                "whole": document.text,
                "shared": sum(len(run) for run, _ in marks),
            }
        )
    return made, listed[:_LISTED]


def _shown(numbers: Mapping[tuple[int, int], int], answers: Sequence[Answer]) -> Any:
    def show(piece: Piece, first: bool) -> Mapping[str, Any]:
        if not piece.places:
            return {"run": None, "also": ""}
        mark = piece.places[0].mark
        also = dict.fromkeys(answers[int(one["place"])].source for one in mark.sources)
        return {"run": numbers[mark.start, mark.end], "also": ", ".join(also)}

    return show


def shared_runs(texts: Sequence[str], least: int) -> list[list[tuple[Run, Mark]]]:
    """For each text the runs of at least so many words that another has too, in any letter case;
    where they overlap, the longest. Signs between words do not count."""
    words = [_words(text) for text in texts]
    machines = [_machine(items) for items, _ in words]
    found = []
    for place, (items, spans) in enumerate(words):
        # For every word and every other text: how many words up to here it has in a row.
        ends = {
            other: _matched(items, machine)
            for other, machine in enumerate(machines)
            if other != place
        }
        marks = []
        for first, last in _chosen(ends.values(), least):
            holders = [other for other, held in ends.items() if held[last] > last - first]
            run = tuple(items[first : last + 1])
            sources = tuple({"place": other} for other in holders)
            mark = Mark(spans[first][0], spans[last][1], " ".join(run), "shared", sources)
            marks.append((run, mark))
        found.append(marks)
    return found


def _chosen(ends: Iterable[Sequence[int]], least: int) -> list[tuple[int, int]]:
    """First and last words of the runs that are marked: the longest, and others that are free."""
    runs = {
        (last - length + 1, last)
        for held in ends
        for last, length in enumerate(held)
        # One that goes on is found at its end.
        if length >= least and not (last + 1 < len(held) and held[last + 1] > length)
    }
    taken: list[tuple[int, int]] = []
    covered: set[int] = set()
    for first, last in sorted(runs, key=lambda run: (run[0] - run[1], run)):
        # Those before it are at least as long: one that overlaps it holds one of its ends.
        if first not in covered and last not in covered:
            taken.append((first, last))
            covered |= set(range(first, last + 1))
    return sorted(taken)


_Machine = list[tuple[dict[str, int], int, int]]
"""States of a suffix automaton: what follows each, its suffix, and the longest run that it has."""


def _machine(items: Sequence[str]) -> _Machine:
    """A machine that knows all runs of a text (Blumer et al. 1985), in time linear in its length:
    texts that repeat a word for ever are no trouble."""
    follow: list[dict[str, int]] = [{}]
    suffix, length = [-1], [0]
    last = 0
    for item in items:
        new = len(follow)
        follow.append({})
        suffix.append(0)
        length.append(length[last] + 1)
        at = last
        while at >= 0 and item not in follow[at]:
            follow[at][item] = new
            at = suffix[at]
        if at >= 0:
            there = follow[at][item]
            if length[there] == length[at] + 1:
                suffix[new] = there
            else:
                copy = len(follow)
                follow.append(dict(follow[there]))
                suffix.append(suffix[there])
                length.append(length[at] + 1)
                while at >= 0 and follow[at].get(item) == there:
                    follow[at][item] = copy
                    at = suffix[at]
                suffix[there] = suffix[new] = copy
        last = new
    return list(zip(follow, suffix, length))


def _matched(items: Sequence[str], machine: _Machine) -> list[int]:
    """For each word the longest run ending with it that the machine knows, in words."""
    found, state, length = [], 0, 0
    for item in items:
        while state and item not in machine[state][0]:
            state = machine[state][1]
            length = machine[state][2]
        if item in machine[state][0]:
            state = machine[state][0][item]
            length += 1
        found.append(length)
    return found


def _words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    from rote.annotate import annotators

    layer = annotators.get()([Document("0", text)], ("lower",)).layers["lower"]
    pairs = zip(layer.items(0), layer.spans(0))
    kept = [(word, span) for word, span in pairs if any(map(str.isalnum, word))]
    return [word for word, _ in kept], [(int(span[0]), int(span[1])) for _, span in kept]
