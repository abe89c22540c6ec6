"""What texts are to begin with: files, built-in sets, the start token, the beginnings of texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from rote.core.document import Document
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.progress import several
from rote.corpus import Corpus, ReadOptions, are_names, open_corpus
from rote.curate.reading import fields_of

_SHARED = (
    "Please write a summary.",
    "Please write a summary of the {}.",
    "Summarize.",
    "Write a short summary.",
    "Write a short summary and be creative.",
    "Write a meta-analysis.",
)
SETS: dict[str, tuple[str, ...]] = {
    "cnn-dm": (
        *(line.format("article") for line in _SHARED),
        "Write an aggregate summary based on the above facts.",
    ),
    "cochrane": (
        *(line.format("evidence") for line in _SHARED),
        "Write an aggregate analysis based on the above evidence.",
    ),
    "rotten-tomatoes": (
        *(line.format("movie reviews") for line in _SHARED),
        "Write an aggregate movie review based on the above reviews.",
    ),
}


def prompt_set(name: str) -> tuple[str, ...]:
    """The prompts of a set."""
    if name not in SETS:
        raise UnknownName("set of prompts", name, SETS)
    return SETS[name]


START, SET, PREFIX = "start", "set:", "prefix:"
_DOCUMENT = "document"
_WORD = re.compile(r"\S+")
_OWN = frozenset(
    "text id source model signature temperature top_p top_k constraint max_tokens stop sample "
    "seed ended incomplete tokens sent instruction beams".split()
)
"""Fields that a record of a generated text gives another meaning."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, what it is about, and what else is known of it."""

    id: str
    doc_id: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """How prompts are taken from what is given."""

    about: Corpus | None = None
    """Texts that every prompt is asked of: the text first, then the prompt."""
    words: int = 50
    reference_words: int = 0
    limit: int = 0


@dataclass(slots=True)
class Prompts:
    """All prompts, and how many were left out for which reason."""

    asked: list[Asked] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)


def gather(
    given: Sequence[str | Path | Mapping[str, Any]], options: PromptOptions, read: ReadOptions
) -> Prompts:
    """The prompts of everything that was named, in order, each once; or prompts as they are."""
    found = Prompts()
    if _are_names(given):
        made = [one for name in given for one in _named(str(name), options, read, found)]
    else:
        corpus = open_corpus([*given], read, called="prompts")
        made = [_whole(document) for document in _documents(corpus, options, found)]
    if options.about:
        made = list(_crossed(made, options, found))
    different: dict[tuple[str, str], Asked] = {}
    for one in made:
        different.setdefault((one.doc_id, one.text), one)
    if repeated := len(made) - len(different):
        found.left_out["the same prompt came before"] += repeated
    # The doc_id is the better name, as long as it names one prompt only.
    clear = len({one.doc_id for one in different.values()}) == len(different)
    found.asked = [replace(one, id=one.doc_id) if clear else one for one in different.values()]
    for name, count in Counter(one.id for one in found.asked).most_common(1):
        if count > 1:
            raise InputError(
                f"{count} prompts have the id '{name}'", remedy="Give each an id of its own"
            )
    if not found.asked:
        why = "; ".join(f"{reason}: {count}" for reason, count in found.left_out.items())
        raise InputError(f"there are no prompts{f' ({why})' if why else ''}")
    return found


def _are_names(given: Sequence[Any]) -> bool:
    """Whether these name prompts, and are none themselves."""
    kinds = re.compile(rf"({START}|{START}:.*|{SET}.*|{PREFIX}.*)")
    special = [isinstance(one, str) and bool(kinds.fullmatch(one)) for one in given]
    others = [one for one, is_special in zip(given, special) if not is_special]
    return not others or are_names(others)


def _named(name: str, options: PromptOptions, read: ReadOptions, found: Prompts) -> Iterator[Asked]:
    if name == START or re.fullmatch(rf"{START}:\d+", name):
        if options.about:
            raise OptionError("the start token is asked of nothing: leave out --about")
        count = int(name.partition(":")[2] or 1)
        for number in range(1, count + 1):
            own = START if count == 1 else f"{START}-{number}"
            yield Asked(own, own, "")
    elif name.startswith(SET):
        own = name.removeprefix(SET)
        for number, text in enumerate(prompt_set(own), 1):
            yield Asked(f"{own}-{number}", f"{own}-{number}", text)
    elif name.startswith(f"{START}:"):
        raise OptionError(f"{name}: how many texts? {START}:20 are twenty from the start token")
    elif name == PREFIX:
        raise OptionError(f"{PREFIX} of which texts? {PREFIX}FILE")
    elif name.startswith(PREFIX):
        for document in _documents(_opened(name.removeprefix(PREFIX), read), options, found):
            if (one := _beginning(document, options)) is not None:
                yield one
            else:
                found.left_out[
                    f"a text of at most {several(options.words, 'word')} has no continuation"
                ] += 1
    else:
        for document in _documents(_opened(name, read), options, found):
            yield _whole(document)


def _opened(name: str, read: ReadOptions) -> Corpus:
    return open_corpus([Path(name)], read)


def _documents(corpus: Corpus, options: PromptOptions, found: Prompts) -> Iterator[Document]:
    found.remarks += corpus.guesses
    first = next(iter(corpus.shards()), None)
    summarized = first is not None and first.fields.text == _DOCUMENT
    for one in islice(corpus, options.limit or None):
        # Measures of summaries want it by its name.
        yield replace(one, meta={**one.meta, _DOCUMENT: one.text}) if summarized else one
    found.remarks += corpus.problems.listed()


def _whole(document: Document) -> Asked:
    """A record's prompt, with its text as the reference; or its text, where it has no prompt."""
    fields = _carried(document)
    prompt = document.meta.get("prompt")
    if isinstance(prompt, str):
        fields.setdefault("reference", document.text)
        return Asked(document.id, _doc_id(document), prompt, fields)
    return Asked(document.id, _doc_id(document), document.text, fields)


def _beginning(document: Document, options: PromptOptions) -> Asked | None:
    """The first words of a text, as they stand; what follows is the reference."""
    if options.words < 1:
        raise OptionError(f"--words must be at least 1, not {options.words}")
    words = _WORD.finditer(document.text)
    last = next(islice(words, options.words - 1, None), None)
    if last is None or (following := next(words, None)) is None:
        return None
    end = None
    if options.reference_words:
        end = following.end()
        for word in islice(words, options.reference_words - 1):
            end = word.end()
    fields = {**_carried(document), "reference": document.text[last.end() : end]}
    return Asked(document.id, _doc_id(document), document.text[: last.end()], fields)


def _crossed(made: Sequence[Asked], options: PromptOptions, found: Prompts) -> Iterator[Asked]:
    """Every prompt, asked of every text; such prompts have the doc_id of their text."""
    assert options.about is not None
    for document in _documents(options.about, options, found):
        about = _doc_id(document)
        for one in made:
            fields = {**_carried(document), **one.fields, "instruction": one.text}
            text = f"{document.text}\n\n{one.text}"
            yield Asked(f"{document.id} {one.id}", about, text, fields)


def _doc_id(document: Document) -> str:
    return str(document.meta.get("doc_id", document.id))


def _carried(document: Document) -> dict[str, Any]:
    """The other fields of a record; those that mean something else now get another name."""
    return {
        f"prompt_{name}" if name in _OWN else name: value
        for name, value in fields_of(document).items()
        if name not in ("doc_id", "prompt")
    }
