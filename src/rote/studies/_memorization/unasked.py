"""Passages that a model recites without being asked for them.

Texts that nobody led to a passage (drawn from the start token, after the beginning of another one,
or written before) are searched for runs of words that a passage has, too. Words are rote's, in
lower case. Carlini et al. (2021), Extracting training data from large language models; Nasr et al.
(2023), Scalable extraction of training data from (production) language models.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rote.compare.clusters import mean, numbered, share_interval
from rote.core.errors import InputError, OptionError
from rote.core.model import Decoding, Model, Prompt
from rote.core.progress import Reporter
from rote.core.result import Row
from rote.core.table import Column, Table, ends, estimate
from rote.corpus import ReadOptions
from rote.corpus.items import Item, read_items
from rote.models.answers import generate_all
from rote.search.backends import Backend
from rote.studies._items import Labels
from rote.studies._memorization.samples import in_corpus

THEMSELVES = "the texts themselves"
START = "the start"
PREFIXES = "prefixes of others"


@dataclass(frozen=True, slots=True)
class Run:
    """Words that a text has of a passage: where they begin in both, and how many they are."""

    passage: int
    first: int
    at: int
    words: int


@dataclass(frozen=True, slots=True)
class Writings:
    """Texts of one kind: who wrote them, after what, and how they belong together."""

    model: str
    after: str
    texts: Sequence[str]
    own: Sequence[int]
    """The passage that each was asked for, which does not count; -1: none."""


def count_of(asked: Any) -> int | None:
    """How many texts are to be drawn; None where they are there: a file, or texts."""
    if isinstance(asked, str) and asked.lstrip("-").isdigit():
        asked = int(asked)
    if isinstance(asked, int) and asked < 1:
        raise OptionError(f"--unasked takes a number of texts or a file, not {asked}")
    return asked if isinstance(asked, int) else None


def written(given: Any, read: ReadOptions, reporter: Reporter) -> Writings:
    """Texts of a file; from Python also texts."""
    name = Path(given).name if isinstance(given, (str, Path)) else "texts"
    skipped: list[InputError] = []
    items = read_items(given, read=read, skipped=skipped, called="unasked")
    texts = [item.instances()[item.answer or 0] for item in items]
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    return Writings("", name, texts, [-1] * len(texts))


def drawn(
    models: Mapping[str, Model], count: int, how: Decoding, reporter: Reporter
) -> list[Writings]:
    """Texts that begin with nothing."""
    if not how.sampled:
        raise OptionError("--unasked texts are draws: set a --temperature above 0")
    prompts = [Prompt("", seed) for seed in range(count)]
    found = []
    for name, model in models.items():
        made = generate_all(model, prompts, how, reporter, title="unasked")
        found.append(Writings(name, START, [one.text for one in made], [-1] * count))
    return found


def prefixes(drawn: Mapping[str, Sequence[Sequence[str]]], item: Sequence[int]) -> list[Writings]:
    """What was drawn after the prefix of each window, of the item with this number."""
    return [
        Writings(
            name,
            PREFIXES,
            [text for some in texts for text in some],
            [number for number, some in zip(item, texts) for _ in some],
        )
        for name, texts in drawn.items()
    ]


def said_of(asked: Any, run: int, tokens: int) -> str:
    """What the signature says: how many were drawn, or which texts there are."""
    if asked is None:
        return ""
    count = count_of(asked)
    if count is not None:
        return f"{count}x{tokens}-{run}"
    held = "\0".join(asked.texts).encode("utf-8", "surrogatepass")
    return f"{hashlib.blake2b(held, digest_size=6).hexdigest()}-{run}"


def runs(
    text: Sequence[str],
    grams: Mapping[tuple[str, ...], Sequence[tuple[int, int]]],
    passages: Sequence[Sequence[str]],
    least: int,
) -> list[Run]:
    """All longest runs of `least` words or more that the text shares with a passage."""
    found = []
    for first in range(len(text) - least + 1):
        for passage, at in grams.get(tuple(text[first : first + least]), ()):
            words = passages[passage]
            if first and at and text[first - 1] == words[at - 1]:
                continue  # a part of one that began before
            size = least
            while (
                first + size < len(text)
                and at + size < len(words)
                and text[first + size] == words[at + size]
            ):
                size += 1
            found.append(Run(passage, first, at, size))
    return found


def grams_of(
    passages: Sequence[Sequence[str]], n: int
) -> dict[tuple[str, ...], list[tuple[int, int]]]:
    """Where each n-gram begins."""
    found: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, words in enumerate(passages):
        for at in range(len(words) - n + 1):
            found[tuple(words[at : at + n])].append((number, at))
    return found


def tables(
    items: Sequence[Item],
    groups: Mapping[str, Labels],
    bases: Labels,
    some: Sequence[Writings],
    least: int,
    level: float,
    corpus: tuple[Backend, int] | None,
    reporter: Reporter,
) -> dict[str, list[Row]]:
    """How much of the texts is recited, how many passages of each group are, and which."""
    texts = [item.instances()[item.answer or 0] for item in items]
    passages, spans = _words(texts)
    grams = grams_of(passages, least)
    itself = Writings(THEMSELVES, "", texts, list(range(len(texts))))
    found: dict[str, list[Row]] = {"unasked": [], "recited": [], "recitations": []}
    for one in (*some, itself):
        words = passages if one is itself else _words(one.texts)[0]
        held = [
            [run for run in runs(own, grams, passages, least) if not _same(run, asked, bases)]
            for own, asked in zip(words, one.own)
        ]
        begin = {"model": one.model, "after": one.after}
        shares = None
        if corpus is not None and one is not itself:
            shares = in_corpus([[text] for text in one.texts], *corpus, reporter)
        clusters = numbered(
            [bases[asked] if asked >= 0 else -1 - place for place, asked in enumerate(one.own)]
        )
        found["unasked"].append({**begin, **_row(words, held, clusters, level, shares)})
        if one is itself:
            continue
        best = _best(held)
        for group, own in groups.items():
            taken = np.array([float(number in best) for number in own.tolist()])
            row: dict[str, Any] = {**begin, "group": group, "passages": len(own)}
            row |= {"count": int(taken.sum())}
            reach = share_interval(taken, bases[own], level)
            found["recited"].append({**row, **estimate("recited", float(taken.mean()), reach)})
        group_of = {i: name for name, own in groups.items() for i in own.tolist()}
        for number, (times, run) in sorted(best.items(), key=lambda pair: _order(*pair)):
            first, end = spans[number][run.at][0], spans[number][run.at + run.words - 1][1]
            row = {**begin, "group": group_of[number], "id": items[number].id, "texts": times}
            row |= {"words": run.words, "first": first, "end": end}
            found["recitations"].append({**row, "run": " ".join(texts[number][first:end].split())})
    return found


def _order(number: int, held: tuple[int, Run]) -> tuple[int, int, int]:
    return -held[0], -held[1].words, number


def _same(run: Run, asked: int, bases: Labels) -> bool:
    return asked >= 0 and bases[run.passage] == bases[asked]


def _best(held: Sequence[Sequence[Run]]) -> dict[int, tuple[int, Run]]:
    """By passage, how many texts have some of it, and the longest run."""
    found: dict[int, tuple[int, Run]] = {}
    for own in held:
        for number in dict.fromkeys(run.passage for run in own):
            longest = max((run for run in own if run.passage == number), key=lambda run: run.words)
            times, before = found.get(number, (0, longest))
            found[number] = times + 1, max(before, longest, key=lambda run: run.words)
    return found


def _row(
    words: Sequence[Sequence[str]],
    held: Sequence[Sequence[Run]],
    clusters: Labels,
    level: float,
    shares: Any,
) -> dict[str, Any]:
    some = np.array([float(bool(own)) for own in held])
    covered = np.array([_covered(len(own), found) for own, found in zip(words, held)])
    inside = mean(covered, clusters, len(covered))
    row: dict[str, Any] = {
        "texts": len(words),
        **estimate("some", float(some.mean()), share_interval(some, clusters, level)),
        **estimate("inside", inside.value, inside.interval(level)),
        "longest": max((run.words for own in held for run in own), default=0),
    }
    if shares is not None:
        known = mean(shares, clusters, len(shares))
        row |= estimate("held", known.value, known.interval(level))
    return row


def _covered(length: int, found: Sequence[Run]) -> float:
    """The share of a text's words that are recited; nan where it has none."""
    inside = np.zeros(length, np.bool_)
    for run in found:
        inside[run.first : run.first + run.words] = True
    return float(inside.mean()) if length else float("nan")


def _words(texts: Sequence[str]) -> tuple[list[list[str]], list[list[tuple[int, int]]]]:
    """The words of each text in lower case, and their characters."""
    from rote.annotate import words

    layer = words.get()(list(texts))
    found, spans = [], []
    for number in range(len(texts)):
        own = layer.slice(number)
        found.append([word.lower() for word in layer.items(number)])
        spans.append(list(zip(layer.starts[own].tolist(), layer.ends[own].tolist())))
    return found, spans


_AFTER = (Column("model"), Column("after"))
LAYOUT = (
    Table(
        "unasked",
        "Passages that nobody asked for, in the texts",
        (
            *(*_AFTER, Column("texts", kind="count")),
            Column("some", "texts that recite", "share", ends=ends("some")),
            Column("inside", "words recited", "share", ends=ends("inside")),
            Column("longest", "longest run", "count"),
            Column("held", "in the corpus", "share", ends=ends("held"), optional=True),
        ),
        said="recited: in a run of --run words or more of a passage that was not asked for; in the "
        "corpus: share of tokens in n-grams of --corpus",
        limit=40,
    ),
    Table(
        "recited",
        "Passages recited by any of the texts",
        (
            *(*_AFTER, Column("group"), Column("passages", kind="count")),
            Column("recited", kind="share", ends=ends("recited")),
        ),
        limit=40,
    ),
    Table(
        "recitations",
        "What is recited most",
        (
            *(*_AFTER, Column("group"), Column("id", "passage")),
            *(Column("texts", kind="count"), Column("words", "longest run", "count")),
            Column("run", kind="text"),
        ),
    ),
)
