"""Where documents hold test items: the parts of items, and what of them a document holds.

What counts as held is for the matcher to say (`search/part_matcher.py`), which `contamination` asks
as well; what counts as said in other words, for `search/meaning/part_meanings.py`. The folder of
`rote decontaminate` holds the corpus without test items, and a ledger of
those found. Documents are read once, shard by shard, and written as they are read: a corpus of any
size takes the memory of a few shards. Only how rare words and phrases are comes from a sample, the
first documents of the corpus.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rote import run
from rote.annotate import embeddings, sentences, words
from rote.annotate.folded_words import fold_words
from rote.core.errors import OptionError
from rote.core.json_reader import JsonObject, read_json_lines
from rote.core.layer import Ids
from rote.core.progress import Reporter, Silent
from rote.corpus import Corpus, Fingerprint, Shard, digest, map_shards
from rote.corpus.items import Item, ItemPart, fingerprint
from rote.curate import corpus_writer
from rote.curate.corpus_reader import corpus_fingerprint, write_lines
from rote.curate.output_folder import FolderRun, MadeFolder, list_files, plain_settings
from rote.index.grams import END
from rote.search import part_matcher
from rote.search.meaning import part_meanings
from rote.search.meaning.part_meanings import MeaningMatcher
from rote.search.part_matcher import MatchOptions, PartMatcher, holds_run

_ANSWER_WITHIN = 50


@dataclass(frozen=True, slots=True)
class ItemMatcher:
    """Looks for the parts of items in documents; travels to worker processes."""

    parts: tuple[ItemPart, ...]
    items: tuple[int, ...]
    """The number of the item that each part is of."""
    matcher: PartMatcher
    answers: dict[int, tuple[Ids, ...]]
    """The answers of each item whose question stands by itself, in the matcher's numbers."""
    tokenizer: str
    meanings: MeaningMatcher | None = None

    @classmethod
    def build(
        cls,
        items: Sequence[Item],
        options: MatchOptions,
        tokenizer: str,
        sample: Sequence[str],
        chance: float | None = None,
    ) -> ItemMatcher:
        """Parts are weighed by a sample of the corpus. With `chance`, how probable they may be at
        most, matches in other words are found as well."""
        numbered = [(n, part) for n, item in enumerate(items) for part in item.parts()]
        parts = tuple(part for _, part in numbered)
        tokenize = words.get(tokenizer)
        words_of_parts = fold_words(tokenize([part.text for part in parts]))
        matcher = PartMatcher.build(words_of_parts, fold_words(tokenize(sample)), options)
        answer_texts = [
            (n, text) for n, item in enumerate(items) if item.question for text in item.answers
        ]
        answers: dict[int, tuple[Ids, ...]] = {}
        if answer_texts:
            folded = fold_words(tokenize([text for _, text in answer_texts]))
            several = np.split(matcher.number(folded), folded.text_ends[:-1])
            for (item, _), answer in zip(answer_texts, several):
                if len(answer) and END not in answer:  # a word that no part has
                    answers[item] = (*answers.get(item, ()), answer)
        meanings = None
        if chance is not None:
            strings = [part.text for part in parts]
            meanings = MeaningMatcher.build(strings, matcher.judged, sample, chance)
        numbers = tuple(n for n, _ in numbered)
        return cls(parts, numbers, matcher, answers, tokenizer, meanings)

    @property
    def judged(self) -> set[int]:
        """The items of which a part is long and rare enough to convict."""
        return {self.items[n] for n in np.flatnonzero(self.matcher.judged).tolist()}

    def find(self, texts: Sequence[str]) -> list[ItemMatch]:
        """All passages of the texts that hold a part of an item, in order."""
        layer = words.get(self.tokenizer)(texts)
        folded = fold_words(layer)
        numbered = self.matcher.number(folded)
        matches = []
        for match in self.matcher.find(numbered, folded.text_ends):
            end = min(int(folded.text_ends[match.text]), match.last + 1 + _ANSWER_WITHIN)
            answers = self.answers.get(self.items[match.part])
            matches.append(
                ItemMatch(
                    document=match.text,
                    part=match.part,
                    score=match.score,
                    bits=match.bits,
                    words=match.words,
                    start=int(layer.starts[folded.places[match.first]]),
                    end=int(layer.ends[folded.places[match.last]]),
                    answered=None
                    if answers is None
                    else any(holds_run(numbered[match.first : end], answer) for answer in answers),
                )
            )
        best = self._best(matches)
        return best if self.meanings is None else self._add_meanings(best, texts)

    def _add_meanings(self, matches: list[ItemMatch], texts: Sequence[str]) -> list[ItemMatch]:
        """Also matches in other words where there are none word for word; those that state other
        facts where there are none at all."""
        assert self.meanings is not None
        meanings = [
            ItemMatch(
                document=match.text,
                part=match.part,
                score=match.similarity,
                bits=round(-math.log2(match.p), 1),
                words=match.words,
                start=match.start,
                end=match.end,
                answered=None,
                p=match.p,
                differing=match.differing,
            )
            for match in self.meanings.find(texts)
        ]
        for other_facts in (False, True):
            some = self._best([match for match in meanings if bool(match.differing) == other_facts])
            by_document: dict[int, list[ItemMatch]] = defaultdict(list)
            for match in matches:
                by_document[match.document].append(match)
            more = [match for match in some if not _overlapping(by_document[match.document], match)]
            matches = matches + more
        return sorted(matches, key=lambda m: (m.document, m.start, m.part))

    def _best(self, matches: Sequence[ItemMatch]) -> list[ItemMatch]:
        """Of several parts of an item that hold one passage the one that holds most of it; of
        several items the one with the highest score. The items of the others, twins that differ by
        a word, are named with it; of equal ones all are kept."""
        best: list[ItemMatch] = []
        by_document = attrgetter("document")
        for _, in_document in groupby(sorted(matches, key=by_document), key=by_document):
            best_parts: list[ItemMatch] = []
            for match in sorted(in_document, key=lambda m: (-m.bits, m.start, m.part)):
                rivals = {self.items[rival.part] for rival in _overlapping(best_parts, match)}
                if self.items[match.part] not in rivals:
                    best_parts.append(match)
            best_items: list[ItemMatch] = []
            for match in sorted(best_parts, key=lambda m: (-m.score, m.start, m.part)):
                nearer = next(iter(_overlapping(best_items, match)), None)
                if nearer is None or nearer.score == match.score:
                    best_items.append(match)
                    continue
                twins = (*nearer.twins, self.items[match.part])
                best_items[best_items.index(nearer)] = replace(nearer, twins=twins)
            best += sorted(best_items, key=lambda m: (m.start, m.part))
        return best

    def describe(self, items: Sequence[tuple[str, str]], match: ItemMatch) -> dict[str, Any]:
        """What a ledger says of a match, beside the document; `items` are ids and tasks."""
        part, item = self.parts[match.part], items[self.items[match.part]]
        return {
            "item": item[0],
            "task": item[1],
            "part": part.kind,
            "score": match.score,
            "bits": match.bits,
            "words": match.words,
            "answered": match.answered,
            "twins": [items[number][0] for number in dict.fromkeys(match.twins)],
            "item_text": part.text,
            **({} if match.p is None else {"p": match.p, "differing": list(match.differing)}),
        }


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """A passage of a document, in characters, that holds a part of an item."""

    document: int
    part: int
    score: float
    bits: float
    words: int
    start: int
    end: int
    answered: bool | None
    """Whether the item's answer follows within fifty words; None where it has none."""
    twins: tuple[int, ...] = ()
    """Other items that this passage is nearly."""
    p: float | None = None
    """Of a match in other words: how probable it is by chance. Its score is the similarity."""
    differing: tuple[str, ...] = ()
    """Facts in which a match in other words differs: it does not hold the item."""


def _overlapping(matches: Sequence[ItemMatch], match: ItemMatch) -> list[ItemMatch]:
    """Of matches in one document those that share more than half of the shorter passage."""
    return [
        rival
        for rival in matches
        if 2 * (min(rival.end, match.end) - max(rival.start, match.start))
        > min(rival.end - rival.start, match.end - match.start)
    ]


def take_sample(texts: Iterable[str], most: int) -> list[str]:
    """The first texts, so many characters of them."""
    sample: list[str] = []
    size = 0
    for text in texts:
        sample.append(text)
        size += len(text)
        if size >= most:
            break
    return sample


LEDGER = "found.jsonl"
VERBATIM, REWORDED, OTHER_FACTS = "verbatim", "reworded", "other_facts"
TOKENIZER = "ud"
Policy = Literal["drop", "cut", "report"]
_MADE_BY = "rote decontaminate"
_COUNTS = ("items", "judged", "found", "with_answer", "documents")
_FIELDS = {
    "input": {"fingerprint": str, "texts": int},
    "items": [{"task": str, **dict.fromkeys(_COUNTS, int), "reworded?": int, "other_facts?": int}],
    "not_judged": [{"task": str, "item": str}],
    "files": [{"file": str, "texts": int, "bytes": int}],
}
_NOTED = {
    **dict.fromkeys(("rows", "problems", "digests"), list),
    **dict.fromkeys(("texts", "characters"), int),
}
"""What is noted of a shard."""
_LEDGER_FIELDS = {
    **dict.fromkeys(("id", "file", "item", "task", "part", "text", "item_text"), str),
    **dict.fromkeys(("score", "bits"), float),
    "line": int,
}


@dataclass(frozen=True, slots=True)
class ShardMatcher:
    """Looks for items in a shard, and leaves out what holds them; travels to worker processes."""

    matcher: ItemMatcher
    items: tuple[tuple[str, str], ...]
    policy: Policy

    def __call__(self, shard: Shard) -> tuple[list[Any], dict[str, Any]]:
        """The records that stay; rows of the ledger, how much was read, and what was wrong."""
        batch = shard.read()
        texts = [document.text for document in batch.documents]
        by_document: dict[int, list[ItemMatch]] = defaultdict(list)
        for match in self.matcher.find(texts):
            by_document[match.document].append(match)
        place = {line: number for number, line in enumerate(batch.lines)}
        rows = [
            {
                "id": batch.documents[number].id,
                "file": shard.origin.file,
                "line": batch.lines[number],
                "source": batch.documents[number].meta.get("source", batch.label),
                "start": match.start,
                "end": match.end,
                "text": texts[number][match.start : match.end],
                **corpus_writer.text_around(texts[number], match.start, match.end),
                **self.matcher.describe(self.items, match),
            }
            for number, matches in by_document.items()
            for match in matches
        ]
        records = []
        if self.policy != "report":
            for line, record in shard.records():
                number = place.get(line, -1)
                matches = [m for m in by_document.get(number, ()) if not m.differing]
                if number < 0 or (matches and self.policy == "drop"):
                    continue
                if matches:
                    text = cut_sentences(corpus_writer.id_and_text(record, shard, line)[1], matches)
                    if not text.strip():
                        continue
                    record = corpus_writer.replace_text(record, shard, text)
                records.append(record)
        return records, {
            "rows": rows,
            "texts": len(texts),
            "characters": sum(map(len, texts)),
            "digests": [digest(document).hex() for document in batch.documents],
            "problems": list(map(str, batch.problems)),
            "size": shard.size,
        }


def cut_sentences(text: str, matches: Sequence[ItemMatch]) -> str:
    layer = sentences.split([text], words.get(TOKENIZER)([text]))
    starts, ends = layer.starts.tolist(), layer.ends.tolist()
    assert layer.sentence_ends is not None
    gone: list[tuple[int, int]] = []
    first = 0
    for last in layer.sentence_ends.tolist():
        if any(m.start < ends[last - 1] and starts[first] < m.end for m in matches):
            gone.append((first, last))
        first = last
    for first, last in reversed(gone):
        text = corpus_writer.cut_words(text, starts, ends, first, last)
    return text


def decontaminate(
    corpus: Corpus,
    items: Sequence[Item],
    folder: Path,
    options: MatchOptions | None = None,
    *,
    policy: Policy = "drop",
    chance: float | None = None,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> MadeFolder:
    """Write the corpus without the documents, or the sentences, that hold items.

    With `chance` also those that say in other words what items say, if that is at most so probable.
    """
    options, reporter = options or MatchOptions(), reporter or Silent()
    works = run.get(engine, jobs)
    if not items:
        raise OptionError("no test items: name files of them with --test-items")
    settings = plain_settings(
        options,
        policy=policy,
        tokenizer=words.get(TOKENIZER).signature,
        matcher=part_matcher.VERSION,
        items=fingerprint(items),
        **meaning_settings(chance),
    )
    output = FolderRun(folder, _MADE_BY, settings, _FIELDS)
    if (before := output.earlier()) is not None:
        same = corpus_fingerprint(corpus, works)
        return output.reuse(before, same, [], list(_read_ledger(folder)))
    with reporter.stage("weighing words", None):
        # The first texts, in this process unless it cannot see them.
        few = map_shards(
            _sample_texts, corpus, works if works.remote else run.get(), doing="reading a sample"
        )
        sample = take_sample(chain.from_iterable(few), part_matcher.SAMPLE)
        matcher = ItemMatcher.build(items, options, TOKENIZER, sample, chance)
        judged = matcher.judged
    item_keys = tuple((item.id, item.task) for item in items)
    work = ShardMatcher(matcher, item_keys, policy)
    weights = matcher.matcher.weights.tobytes() + matcher.matcher.skipped.tobytes()
    with output.resume(weights) as (partial, finished):
        if policy == "report":
            files: list[corpus_writer.WrittenFile] = []
            reports = []
            with reporter.stage("looking", corpus.size, unit="B") as advance:
                for _, report in map_shards(work, corpus, works, doing="looking at texts"):
                    advance(report["size"])
                    reports.append(report)
        else:
            files = corpus_writer.write_corpus(
                corpus,
                partial,
                work,
                doing="looking",
                engine=works,
                reporter=reporter,
                finished=finished,
            )
            reports = [report for file in files for report in file.reports]
            # Some of it may come from notes of a run that was interrupted.
            JsonObject({"reports": reports}, str(finished)).check({"reports": [_NOTED]})
        rows = [row for report in reports for row in report["rows"]]
        problems = [problem for report in reports for problem in report["problems"]]
        texts_read = Fingerprint()
        for report in reports:
            texts_read.add(bytes.fromhex(digest) for digest in report["digests"])
        write_lines(partial / LEDGER, rows)
        content = {
            "input": {
                "fingerprint": texts_read.hexdigest(),
                "texts": sum(report["texts"] for report in reports),
                "characters": sum(report["characters"] for report in reports),
                "skipped": len(problems),
            },
            "items": _count_items(items, judged, rows, meaning=chance is not None),
            "not_judged": [
                {"task": item.task, "item": item.id}
                for number, item in enumerate(items)
                if number not in judged
            ],
            "files": list_files(partial, {file.file: file.documents for file in files}),
        }
        return output.finish(partial, content, problems, rows)


def _sample_texts(shard: Shard) -> list[str]:
    """What is wrong with a record is for the reading to say."""
    lenient = replace(shard, options=replace(shard.options, on_error="skip"))
    return [document.text for document in lenient.read().documents]


def _read_ledger(folder: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_json_lines(folder / LEDGER, remedy="Remove the folder, or choose a new one"):
        row.check(_LEDGER_FIELDS)
        yield dict(row.values)


def _count_items(
    items: Sequence[Item], judged: set[int], rows: Sequence[dict[str, Any]], *, meaning: bool
) -> list[dict[str, Any]]:
    """Of each task how many items there are, can be judged, and were found; apart from those that
    were found word for word, those in other words, and similar ones with other facts."""
    by_kind: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_kind[row["task"], kind_of_row(row)].append(row)

    def count(some: Iterable[dict[str, Any]]) -> int:
        return len({row["item"] for row in some})

    totals = Counter(item.task for item in items)
    can = Counter(items[number].task for number in judged)
    counted = []
    for task, total in totals.items():
        verbatim = by_kind[task, VERBATIM]
        row = {"task": task, "items": total, "judged": can[task], "found": count(verbatim)}
        row["with_answer"] = count(row for row in verbatim if row["answered"])
        row["documents"] = len({(row["file"], row["line"]) for row in verbatim})
        if meaning:
            row |= {kind: count(by_kind[task, kind]) for kind in (REWORDED, OTHER_FACTS)}
        counted.append(row)
    return counted


def kind_of_row(row: Mapping[str, Any]) -> str:
    """How the passage of a row of the ledger holds the item."""
    if row.get("p") is None:
        return VERBATIM
    return OTHER_FACTS if row["differing"] else REWORDED


def meaning_settings(chance: float | None) -> dict[str, Any]:
    """What matches in other words depend on, as a manifest holds it; nothing without them."""
    if chance is None:
        return {"meaning": None}
    made_by = f"{embeddings.get().signature}+{embeddings.get('static').signature}"
    return {"meaning": f"{part_meanings.VERSION} by {made_by}", "chance": chance}
