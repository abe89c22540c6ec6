"""What texts are to begin with: files, built-in sets, the start token, the beginnings of texts."""

from __future__ import annotations

import heapq
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from rote.core.document import Document
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.model import Message, read_messages
from rote.core.progress import several
from rote.corpus import Corpus, ReadOptions, are_names, open_corpus
from rote.curate.corpus_reader import other_fields

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
    "writing-prompts": (
        "You are a professional story writer, you always show the story without any additional "
        "explanations or format changes. Continue the following story.",
    ),
    "xsum": (
        "You are a professional editor who summarizes news articles. You always show the summary "
        "without any additional explanations or format changes. Summarize the following article "
        "in a single sentence:",
    ),
    "wmt-14": (
        "You are a professional translator. You always show the translated version, without any "
        "additional explanations or format changes.\n\nTranslate from French to English:",
    ),
    "daily-dialog": (
        "Continue the following dialogue without any additional explanations or format changes.",
    ),
}
"""Instructions of Shaib et al. (2024), then those of Guo et al. (2025) for their tasks."""
_BEFORE = frozenset(("writing-prompts", "xsum", "wmt-14", "daily-dialog"))
"""Sets that stand before the text that they are asked of."""


START, SET, PREFIX, SAMPLE = "start", "set:", "prefix:", "sample:"
_DOCUMENT = "document"
_WORD = re.compile(r"\S+")
_RECORD_FIELDS = frozenset(
    "text id source model signature temperature top_p top_k constraint max_tokens stop sample "
    "seed ended incomplete tokens sent instruction beams form system messages".split()
)
"""Fields that a record of a generated text gives another meaning."""


@dataclass(frozen=True, slots=True)
class GenerationPrompt:
    """A prompt, what it is about, and what else is known of it."""

    id: str
    doc_id: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    """The turns of a conversation, of which `text` is the last."""
    continued: bool = False
    """Whether it is the beginning of a text, and no question."""
    before: bool = False
    """Whether its study puts it before the text that it is asked of."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """How prompts are taken from what is given."""

    about: Corpus | None = None
    """Texts that every prompt is asked of."""
    words: int = 50
    reference_words: int = 0
    limit: int = 0
    draw: int = 0
    """How many texts of an input are drawn at random; 0: they are taken in their order."""
    seed: int = 0
    instruction: Literal["auto", "before", "after"] = "auto"
    """Where a prompt stands beside the text that it is asked of."""


@dataclass(slots=True)
class GatheredPrompts:
    """All prompts, and how many were left out for which reason."""

    requests: list[GenerationPrompt] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)


def gather_prompts(
    inputs: Sequence[str | Path | Mapping[str, Any]], options: PromptOptions, read: ReadOptions
) -> GatheredPrompts:
    """The prompts of everything that was named, in order, each once; or prompts as they are."""
    prompts = GatheredPrompts()
    if _are_names(inputs):
        by_name = (_prompts_named(str(name), options, read, prompts) for name in inputs)
        requests = list(chain.from_iterable(by_name))
    else:
        corpus = open_corpus([*inputs], read, called="prompts")
        requests = list(map(_whole_prompt, _read_documents(corpus, options, prompts)))
    if options.about:
        requests = list(_cross_with_texts(requests, options, prompts))
    different: dict[tuple[Any, ...], GenerationPrompt] = {}
    for request in requests:
        different.setdefault((request.doc_id, request.text, request.messages), request)
    if repeated := len(requests) - len(different):
        prompts.left_out["the same prompt came before"] += repeated
    # The doc_id is the better name, as long as it names one prompt only.
    clear = len({request.doc_id for request in different.values()}) == len(different)
    prompts.requests = [
        replace(request, id=request.doc_id) if clear else request for request in different.values()
    ]
    for name, count in Counter(request.id for request in prompts.requests).most_common(1):
        if count > 1:
            raise InputError(
                f"{count} prompts have the id '{name}'", remedy="Give each a unique id"
            )
    if not prompts.requests:
        why = "; ".join(f"{reason}: {count}" for reason, count in prompts.left_out.items())
        raise InputError(f"there are no prompts{f' ({why})' if why else ''}")
    return prompts


def _are_names(inputs: Sequence[Any]) -> bool:
    """Whether these name prompts, and are none themselves."""
    kinds = re.compile(rf"({START}|{START}:.*|{SET}.*|{PREFIX}.*|{SAMPLE}.*)")
    special = [isinstance(entry, str) and bool(kinds.fullmatch(entry)) for entry in inputs]
    others = [entry for entry, is_special in zip(inputs, special) if not is_special]
    return not others or are_names(others)


def _prompts_named(
    name: str, options: PromptOptions, read: ReadOptions, prompts: GatheredPrompts
) -> Iterator[GenerationPrompt]:
    if name == START or re.fullmatch(rf"{START}:\d+", name):
        if options.about:
            raise OptionError("the start token takes no text: leave out --about")
        count = int(name.partition(":")[2] or 1)
        for number in range(1, count + 1):
            label = START if count == 1 else f"{START}-{number}"
            yield GenerationPrompt(label, label, "", continued=True)
    elif name.startswith(SET):
        label = name.removeprefix(SET)
        if label not in SETS:
            raise UnknownName("set of prompts", label, SETS)
        for number, text in enumerate(SETS[label], 1):
            name = f"{label}-{number}"
            yield GenerationPrompt(name, name, text, before=label in _BEFORE)
    elif name.startswith(f"{START}:"):
        raise OptionError(
            f"{name}: give a number of texts; {START}:20 generates twenty from the start token"
        )
    elif name in (PREFIX, SAMPLE):
        raise OptionError(f"{name} of which texts? {name}FILE")
    elif name.startswith((PREFIX, SAMPLE)):
        kind, _, file = name.partition(":")
        corpus = open_corpus([Path(file)], read)
        for document in _read_documents(corpus, options, prompts):
            first = _random_word(document, options) if f"{kind}:" == SAMPLE else 0
            if (request := _prefix_prompt(document, options, first)) is not None:
                yield request
            else:
                short = f"a text of at most {several(options.words, 'word')}"
                prompts.left_out[f"{short} has no continuation"] += 1
    else:
        corpus = open_corpus([Path(name)], read)
        yield from map(_whole_prompt, _read_documents(corpus, options, prompts))


def _read_documents(
    corpus: Corpus, options: PromptOptions, prompts: GatheredPrompts
) -> Iterator[Document]:
    prompts.remarks += corpus.guesses
    first = next(iter(corpus.shards()), None)
    summarized = first is not None and first.fields.text == _DOCUMENT
    for document in _select_documents(corpus, options):
        if summarized:  # measures of summaries want it by its name
            document = replace(document, meta={**document.meta, _DOCUMENT: document.text})
        yield document
    prompts.remarks += corpus.problems.listed()


def _select_documents(corpus: Corpus, options: PromptOptions) -> Iterable[Document]:
    """All texts, the first so many, or so many drawn at random: those with the smallest hashes of
    their ids, in their order, so that a draw does not depend on how the others are sorted."""
    documents = islice(corpus, options.limit or None)
    if not options.draw:
        return documents
    places = enumerate(documents)
    hashed = ((_hash(options.seed, "draw", each.id), place, each) for place, each in places)
    drawn = heapq.nsmallest(options.draw, hashed, key=lambda entry: entry[:2])
    return [document for _, _, document in sorted(drawn, key=lambda entry: entry[1])]


def _hash(*parts: object) -> int:
    return int.from_bytes(blake2b(json.dumps(parts).encode(), digest_size=8).digest(), "big")


def _random_word(document: Document, options: PromptOptions) -> int:
    """The first word of a span of `words` words with one more behind it, each as likely."""
    places = len(_WORD.findall(document.text)) - options.words
    return _hash(options.seed, "place", document.id) % places if places > 0 else 0


def _whole_prompt(document: Document) -> GenerationPrompt:
    """A record's prompt, with its text as the reference; or its text, where it has no prompt."""
    fields = _carried_fields(document)
    if "messages" in document.meta:
        return _conversation_prompt(document, fields)
    prompt = document.meta.get("prompt")
    if isinstance(prompt, str):
        fields.setdefault("reference", document.text)
    text = prompt if isinstance(prompt, str) else document.text
    return GenerationPrompt(document.id, _doc_id(document), text, fields)


def _conversation_prompt(document: Document, fields: dict[str, Any]) -> GenerationPrompt:
    """The turns of a record up to the last that is no answer; an answer behind it is the
    reference."""
    turns = list(read_messages(document.meta["messages"], document.id))
    fields.pop("prompt_messages", None)
    if turns[-1].role == "assistant":
        fields.setdefault("reference", turns.pop().content)
    if not turns or turns[-1].role == "assistant":
        raise InputError(
            f"the conversation '{document.id}' has no question: its last turn, or the last before "
            "an answer, must be the user's",
            field="messages",
        )
    text = turns[-1].content
    return GenerationPrompt(document.id, _doc_id(document), text, fields, tuple(turns))


def _prefix_prompt(
    document: Document, options: PromptOptions, first: int = 0
) -> GenerationPrompt | None:
    """The words of a text from the first on, as they stand; what follows is the reference."""
    if options.words < 1:
        raise OptionError(f"--words must be at least 1, not {options.words}")
    words = _WORD.finditer(document.text)
    begin = 0
    if first:
        begin = next(islice(words, first - 1, None)).end()
        words = _WORD.finditer(document.text, begin)
        begin = next(_WORD.finditer(document.text, begin)).start()
    last = next(islice(words, options.words - 1, None), None)
    if last is None or (following := next(words, None)) is None:
        return None
    end = None
    if options.reference_words:
        end = following.end()
        for word in islice(words, options.reference_words - 1):
            end = word.end()
    fields = {**_carried_fields(document), "reference": document.text[last.end() : end]}
    text = document.text[begin : last.end()]
    return GenerationPrompt(document.id, _doc_id(document), text, fields, continued=True)


def _cross_with_texts(
    requests: Sequence[GenerationPrompt], options: PromptOptions, prompts: GatheredPrompts
) -> Iterator[GenerationPrompt]:
    """Every prompt, asked of every text; such prompts have the doc_id of their text."""
    assert options.about is not None
    if any(request.messages for request in requests):
        raise OptionError("a conversation is sent as it is: leave out --about")
    for document in _read_documents(options.about, options, prompts):
        about = _doc_id(document)
        for request in requests:
            carried = _carried_fields(document)
            before = {"before": True, "after": False}.get(options.instruction, request.before)
            text, turns = document.text, request.messages
            if "messages" in document.meta:
                conversation = _conversation_prompt(document, carried)
                place = 0 if before else -1
                messages = list(conversation.messages)
                content = _join(request.text, messages[place].content, before)
                messages[place] = replace(messages[place], content=content)
                text, turns = messages[-1].content, tuple(messages)
            else:
                text = _join(request.text, text, before)
            fields = {**carried, **request.fields, "instruction": request.text}
            yield GenerationPrompt(f"{document.id} {request.id}", about, text, fields, turns)


def _join(instruction: str, text: str, before: bool) -> str:
    return f"{instruction}\n\n{text}" if before else f"{text}\n\n{instruction}"


def _doc_id(document: Document) -> str:
    return str(document.meta.get("doc_id", document.id))


def _carried_fields(document: Document) -> dict[str, Any]:
    """The other fields of a record; those that mean something else now get another name."""
    return {
        f"prompt_{name}" if name in _RECORD_FIELDS else name: value
        for name, value in other_fields(document).items()
        if name not in ("doc_id", "prompt")
    }
