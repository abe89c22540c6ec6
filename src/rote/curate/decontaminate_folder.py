"""The folder of `rote decontaminate`: a corpus without test items, and a ledger of those found.

Documents are read once, shard by shard, and written as they are read: a corpus of any size takes
the memory of a few shards. Only how rare words and phrases are comes from a sample, the first
documents of the corpus.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from rote import run
from rote.annotate import sentences, words
from rote.core.distribution import version
from rote.core.errors import OptionError
from rote.core.files import check_parent
from rote.core.json_reader import JsonObject, read_json_lines
from rote.core.progress import Reporter, Silent
from rote.corpus import Corpus, Fingerprint, Shard, digest, map_shards
from rote.corpus.items import Item, fingerprint
from rote.curate.cleaned import Written, around, cut_words, known, with_text, write_corpus
from rote.curate.decontaminate import ItemMatch, ItemMatcher, sample_of
from rote.curate.folder import (
    manifest_before,
    refuse_other_input,
    resumed_folder,
    size_of,
    write_manifest,
)
from rote.curate.reading import fingerprint_of, write_lines
from rote.search import part_matcher
from rote.search.part_matcher import MatchOptions

SCHEMA = 1
LEDGER = "found.jsonl"
TOKENIZER = "ud"
Policy = Literal["drop", "cut", "report"]
_MADE_BY = "rote decontaminate"
_COUNTS = ("items", "judged", "found", "with_answer", "documents")
_FIELDS = {
    "input": {"fingerprint": str, "texts": int},
    "items": [{"task": str, **dict.fromkeys(_COUNTS, int)}],
    "not_judged": [{"task": str, "item": str}],
    "files": [{"file": str, "texts": int, "bytes": int}],
}
"""What is read of the manifest."""
_TOLD = {
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
class Made:
    """What a folder holds; `rows` is the ledger, `new` is False where all of it was there."""

    manifest: dict[str, Any]
    rows: list[dict[str, Any]]
    problems: list[str]
    new: bool


@dataclass(frozen=True, slots=True)
class Looking:
    """Looks for items in a shard, and leaves out what holds them; travels to worker processes."""

    matcher: ItemMatcher
    items: tuple[tuple[str, str], ...]
    policy: Policy

    def __call__(self, shard: Shard) -> tuple[list[Any], dict[str, Any]]:
        """The records that stay; rows of the ledger, how much was read, and what was wrong."""
        batch = shard.read()
        texts = [document.text for document in batch.documents]
        found: dict[int, list[ItemMatch]] = {}
        for match in self.matcher.find(texts):
            found.setdefault(match.document, []).append(match)
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
                **around(texts[number], match.start, match.end),
                **self.matcher.describe(self.items, match),
            }
            for number, own in found.items()
            for match in own
        ]
        records = []
        if self.policy != "report":
            for line, record in shard.records():
                number = place.get(line, -1)
                own = found.get(number, [])
                if number < 0 or (own and self.policy == "drop"):
                    continue
                if own:
                    text = without(known(record, shard, line)[1], own)
                    if not text.strip():
                        continue
                    record = with_text(record, shard, text)
                records.append(record)
        return records, {
            "rows": rows,
            "texts": len(texts),
            "characters": sum(map(len, texts)),
            "digests": [digest(document).hex() for document in batch.documents],
            "problems": list(map(str, batch.problems)),
            "size": shard.size,
        }


def without(text: str, found: Sequence[ItemMatch]) -> str:
    """The text without the sentences that hold a match."""
    layer = sentences.split([text], words.get(TOKENIZER)([text]))
    starts, ends = layer.starts.tolist(), layer.ends.tolist()
    assert layer.sentence_ends is not None
    gone: list[tuple[int, int]] = []
    first = 0
    for last in layer.sentence_ends.tolist():
        if any(m.start < ends[last - 1] and starts[first] < m.end for m in found):
            gone.append((first, last))
        first = last
    for first, last in reversed(gone):
        text = cut_words(text, starts, ends, first, last)
    return text


def decontaminate(
    corpus: Corpus,
    items: Sequence[Item],
    folder: Path,
    options: MatchOptions | None = None,
    *,
    policy: Policy = "drop",
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Made:
    """Write the corpus without the documents, or the sentences, that hold items."""
    options, reporter = options or MatchOptions(), reporter or Silent()
    works = run.get(engine, jobs)
    check_parent(folder)
    if not items:
        raise OptionError("no items to look for: --test-items names files of test items")
    settings = {
        **asdict(options),
        "policy": policy,
        "tokenizer": words.get(TOKENIZER).signature,
        "matcher": part_matcher.VERSION,
        "items": fingerprint(items),
    }
    before = manifest_before(folder, _MADE_BY, settings, _FIELDS, "files")
    if before is not None:
        refuse_other_input(folder, before, fingerprint_of(corpus, works))
        return Made(before, list(_read_ledger(folder)), [], new=False)
    with reporter.stage("weighing words", None):
        # The first texts, in this process unless it cannot see them.
        few = map_shards(
            _texts, corpus, works if works.remote else run.get(), doing="reading a sample"
        )
        sample = sample_of(chain.from_iterable(few), part_matcher.SAMPLE)
        matcher = ItemMatcher.build(items, options, TOKENIZER, sample)
        judged = matcher.judged
    named = tuple((item.id, item.task) for item in items)
    work = Looking(matcher, named, policy)
    key = blake2b(json.dumps(settings).encode(), digest_size=8)
    key.update(matcher.matcher.weights.tobytes() + matcher.matcher.skipped.tobytes())
    with resumed_folder(folder, key.hexdigest(), _MADE_BY) as (partial, finished):
        if policy == "report":
            told = list(_reported(work, corpus, works, reporter))
            written: list[Written] = []
        else:
            written = write_corpus(
                corpus,
                partial,
                work,
                doing="looking",
                engine=works,
                reporter=reporter,
                finished=finished,
            )
            told = [each for file in written for each in file.told]
            # Some of it may come from notes of a run that was interrupted.
            JsonObject({"told": told}, str(finished)).check({"told": [_TOLD]})
        rows = [row for each in told for row in each["rows"]]
        problems = [problem for each in told for problem in each["problems"]]
        seen = Fingerprint()
        for shard in told:
            seen.add(bytes.fromhex(each) for each in shard["digests"])
        write_lines(partial / LEDGER, rows)
        manifest = {
            "schema": SCHEMA,
            "made_by": _MADE_BY,
            "rote": version(),
            "settings": settings,
            "input": {
                "fingerprint": seen.hexdigest(),
                "texts": sum(each["texts"] for each in told),
                "characters": sum(each["characters"] for each in told),
                "skipped": len(problems),
            },
            "items": _counted(items, judged, rows),
            "not_judged": [
                {"task": item.task, "item": item.id}
                for number, item in enumerate(items)
                if number not in judged
            ],
            "files": [
                {
                    "file": file.file,
                    "texts": file.documents,
                    "bytes": size_of(partial / file.file),
                }
                for file in written
            ],
        }
        write_manifest(partial, manifest)
    return Made(manifest, rows, problems, new=True)


def _texts(shard: Shard) -> list[str]:
    """What is wrong with a record is for the reading to say."""
    lenient = replace(shard, options=replace(shard.options, on_error="skip"))
    return [document.text for document in lenient.read().documents]


def _reported(
    work: Looking, corpus: Corpus, engine: run.Engine, reporter: Reporter
) -> Iterator[dict[str, Any]]:
    with reporter.stage("looking", corpus.size, unit="B") as advance:
        for _, told in map_shards(work, corpus, engine, doing="looking at texts"):
            advance(told["size"])
            yield told


def _read_ledger(folder: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_json_lines(folder / LEDGER, remedy="Remove the folder, or choose a new one"):
        row.check(_LEDGER_FIELDS)
        yield dict(row.values)


def _counted(
    items: Sequence[Item], judged: set[int], rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Of each task how many items there are, can be judged, and were found."""
    tasks = dict.fromkeys(item.task for item in items)
    totals = Counter(item.task for item in items)
    can = Counter(items[number].task for number in judged)
    return [
        {
            "task": task,
            "items": totals[task],
            "judged": can[task],
            "found": len({row["item"] for row in rows if row["task"] == task}),
            "with_answer": len(
                {row["item"] for row in rows if row["task"] == task and row["answered"]}
            ),
            "documents": len({(r["file"], r["line"]) for r in rows if r["task"] == task}),
        }
        for task in tasks
    ]
