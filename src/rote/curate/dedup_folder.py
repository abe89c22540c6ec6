"""The folder of `rote dedup`: the corpus without its repetitions, and a ledger of what went.

The corpus is read once, to words. Where words were cut, what stood before and behind them now
follows one another, which may be a repetition as well: so what was cut is made into words again,
and looked through with the rest, until a stage finds nothing. Then the corpus is written, all
stages at once. To run the command on its own output changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate import folded_words, words
from rote.annotate.folded_words import FoldedWords
from rote.core.distribution import version
from rote.core.errors import InputError
from rote.core.files import check_parent
from rote.core.layer import Layer, starts_of
from rote.core.metric import Work
from rote.core.progress import Reporter, Silent, several
from rote.corpus import Corpus, Problems, map_shards
from rote.curate.cleaned import Cutting, Written, write_corpus
from rote.curate.dedup import DedupOptions, Found, Ints, Texts, WordNumbers, find
from rote.curate.dedup_stages import Plan, Recutting, Tellings
from rote.curate.folder import (
    manifest_before,
    refuse_other_input,
    resumed_folder,
    size_of,
    write_manifest,
)
from rote.curate.reading import (
    Look,
    Read,
    Tokenizing,
    fingerprint_of,
    look,
    read,
    renumber,
    write_lines,
)
from rote.curate.repeats import DEFAULT, Room
from rote.curate.stored import Storing
from rote.measure._against import check_against, longest_in, open_against, signed_against

SCHEMA = 1
LEDGER = "removed.jsonl"
_MADE_BY = "rote dedup"
_FIELDS = {
    "input": {"fingerprint": str, "texts": int},
    "sources": [
        {
            "source": str,
            **dict.fromkeys(("texts", "words", "documents_removed", "words_cut"), int),
            "words_removed_with_documents": int,
        }
    ],
    "shared": [{"source": str, "also_in": str, "words": int, "share": float}],
    "passages": [{"text": str, "words": int, "times": int, "documents": int}],
    "files": [{"file": str, "texts": int, "bytes": int}],
}
"""What is read of the manifest."""
# Bytes for each word of all arrays, measured; to plan by.
_MEMORY, _PROCESS = 36, 250e6
# Words that are asked for at a time.
_ASKED = 1 << 22


@dataclass(frozen=True, slots=True)
class Made:
    """What a folder holds; `new` is False where it held all of it before."""

    manifest: dict[str, Any]
    problems: Problems
    new: bool


def dedup(
    corpus: Corpus,
    folder: Path,
    options: DedupOptions | None = None,
    *,
    against: Any = None,
    memory: int = DEFAULT,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Made:
    """Write the corpus without its repetitions; a folder that holds it already is left as it is."""
    options, reporter = options or DedupOptions(), reporter or Silent()
    works = Work(jobs=jobs, engine=run.get(engine, jobs))
    check_parent(folder)
    tokenizer = words.get(options.tokenizer)
    if against is not None:
        check_against(against, (options.layer,), tokenizer.signature)
    settings = _settings(options, tokenizer.signature, against)
    if (before := manifest_before(folder, _MADE_BY, settings, _FIELDS, "files")) is not None:
        refuse_other_input(folder, before, fingerprint_of(corpus, works.engine))
        return Made(before, Problems(), new=False)
    reporter.say(_expected(look(corpus, None, options.tokenizer), memory, works.engine.jobs))
    index = None if against is None else open_against(against, (options.layer,), reporter)
    key = blake2b(json.dumps(settings).encode(), digest_size=8).hexdigest()
    with resumed_folder(folder, key, _MADE_BY) as (partial, notes):
        room = Room(memory, notes)
        beside = (options.by, *((options.newest,) if options.newest else ()))
        skip, sentences = corpus.options.on_error == "skip", options.cut == "sentence"
        work = Tokenizing(
            None, options.layer, options.tokenizer, skip, beside, sentences, options.folds
        )
        held = read(
            corpus,
            work if works.engine.remote else Storing.of(work, corpus, notes / "words"),
            engine=works.engine,
            reporter=reporter,
            unique=False,
            limit=room.work // 2,
            folder=notes,
        )
        if not len(held):
            raise InputError("the input holds no text that can be used")
        finding = _Finding(corpus, held, options, work, index, works, room, reporter)
        plan, account = finding.stages()
        # What is written depends on all that was read.
        finished = notes / held.fingerprint
        finished.mkdir(exist_ok=True)
        counts: Counter[tuple[str, str, str]] = Counter()
        with closing(Tellings(finished / "told.sqlite")) as tellings:
            written = write_corpus(
                corpus,
                partial,
                Cutting(options.tokenizer),
                doing="writing",
                engine=works.engine,
                reporter=reporter,
                finished=finished,
                given=plan.edits,
                shards=plan.shards,
                keep=tellings.add,
            )
            write_lines(partial / LEDGER, _counted(plan.ledger(tellings, finding.sources), counts))
        manifest = _manifest(settings, held, account, counts, written, partial, len(plan.stages))
        write_manifest(partial, manifest)
    return Made(manifest, held.problems, new=True)


@dataclass(slots=True)
class _Finding:
    """What goes, stage after stage."""

    corpus: Corpus
    held: Read
    options: DedupOptions
    work: Tokenizing
    index: Any
    works: Work
    room: Room
    reporter: Reporter

    @property
    def sources(self) -> list[str]:
        named = zip(self.held.beside[self.options.by], self.held.labels)
        return [label if name is None else str(name) for name, label in named]

    def stages(self) -> tuple[Plan, Found]:
        """All that goes, and what the first stage found."""
        held, options = self.held, self.options
        nothing = np.empty(0, np.int32)
        folded = held.folded
        texts = Texts(
            words=WordNumbers(held.ids, nothing, held.part_starts, held.words),
            folded=None
            if folded is None
            else WordNumbers(
                folded.ids,
                nothing,
                starts_of(folded.text_ends),
                np.diff(folded.text_ends, prepend=0),
            ),
            gone=np.zeros(len(held), np.bool_),
            vocabulary=held.vocabulary,
            sources=self.sources,
            ages=held.beside.get(options.newest) if options.newest else None,
            sentence_ends=held.sentence_ends,
            held=self._held(held.ids, held.part_ends, held.vocabulary),
        )
        plan, first = Plan(held.lines, held.parts, len(self.corpus.parts)), None
        numbers: dict[str, int] = {}
        folded_numbers: dict[str, int] = {}
        while True:
            with self.reporter.stage("comparing", None):
                found = find(texts, options, self.room, threads=self.works.jobs)
            if first is not None and not found:
                break
            first = first or found
            plan.add(found, texts.words.lengths)
            if not len(plan.changed):
                break  # only where words were cut something new can follow something
            numbers = numbers or {word: n for n, word in enumerate(held.vocabulary)}
            if folded is not None and not folded_numbers:
                folded_numbers = {word: n for n, word in enumerate(folded.vocabulary)}
            with self.reporter.stage("reading what was cut", None):
                texts = self._next(texts, plan, numbers, folded_numbers)
        return plan, first

    def _next(
        self, texts: Texts, plan: Plan, numbers: dict[str, int], folded_numbers: dict[str, int]
    ) -> Texts:
        """The documents as the last stage leaves them."""
        work = Recutting(self.work, Cutting(self.options.tokenizer))
        read_again = map_shards(
            work, self.corpus, self.works.engine, given=plan.cut_edits, doing="reading texts"
        )
        pieces = [piece for piece in read_again if piece is not None]
        new, ends = _joined([piece.layer for piece in pieces], numbers)
        vocabulary = tuple(numbers)
        done = len(texts.words.ids) + len(texts.words.more)
        sentence_ends = []
        for piece in pieces:
            if piece.layer.sentence_ends is not None:
                sentence_ends.append(piece.layer.sentence_ends + done)
            done += len(piece.layer.ids)
        folded = [piece.folded for piece in pieces if piece.folded is not None]
        held = self._held(new, ends, vocabulary)
        return Texts(
            words=texts.words.recut(plan.changed, new, ends),
            folded=None
            if texts.folded is None
            else texts.folded.recut(plan.changed, *_joined(folded, folded_numbers)),
            gone=texts.gone | plan.stages[-1].gone,
            vocabulary=vocabulary,
            sources=texts.sources,
            ages=texts.ages,
            sentence_ends=None
            if texts.sentence_ends is None
            else np.concatenate((texts.sentence_ends, *sentence_ends)),
            held=None
            if texts.held is None or held is None
            else (texts.held[0], np.concatenate((texts.held[1], held[0]))),
        )

    def _held(
        self, ids: NDArray[np.int32], ends: Ints, vocabulary: Sequence[str]
    ) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Whether a run of `length` words that the other corpus holds begins at a word."""
        if self.index is None:
            return None
        found, first, nothing = self.room.array(len(ids), np.uint8), 0, np.empty(0, np.int32)
        starts = starts_of(ends)
        while first < len(ends):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + _ASKED, "right")))
            begin, end = int(starts[first]), int(ends[last - 1])
            own = ends[first:last] - begin
            layer = Layer(self.options.layer, ids[begin:end], vocabulary, nothing, nothing, own)
            found[begin:end] = longest_in(self.index, layer, self.works) >= self.options.length
            first = last
        return found, np.empty(0, np.uint8)


def _joined(
    pieces: Sequence[Layer | FoldedWords], numbers: dict[str, int]
) -> tuple[NDArray[np.int32], Ints]:
    """The words of several pieces one after another, and where each document ends."""
    ids, ends, done = [np.empty(0, np.int32)], [np.empty(0, np.int64)], 0
    for piece in pieces:
        ids.append(renumber(piece, numbers))
        ends.append(piece.text_ends + done)
        done += len(piece.ids)
    return np.concatenate(ids), np.concatenate(ends)


def _counted(
    rows: Iterator[dict[str, Any]], counts: Counter[tuple[str, str, str]]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        counts[row["source"], row["kind"], "rows"] += 1
        counts[row["source"], row["kind"], "words"] += row["words"]
        yield row


def _expected(first: Look, memory: int, jobs: int) -> str:
    own = first.words * _MEMORY
    total = _PROCESS * (jobs + (jobs > 1)) + min(own, memory)
    rest = f", {(own - memory) / 1e9:,.1f} GB of arrays in files" if own > memory else ""
    return (
        f"about {several(first.texts, 'text')} and {several(first.words, 'word')} "
        f"(in '{first.name}'): about "
        f"{total / 1e9:,.1f} GB of memory{rest}"
    )


def _settings(options: DedupOptions, tokenizer: str, against: Any) -> dict[str, Any]:
    folded = f"{folded_words.VERSION} of {words.get().signature}"
    shingles = folded if options.folds else options.layer
    held = asdict(options) | {
        "tokenizer": tokenizer,
        "shingles": shingles,
        "corpus": signed_against(against),
    }
    return {name: list(v) if isinstance(v, tuple) else v for name, v in held.items()}


def _manifest(
    settings: dict[str, Any],
    held: Read,
    first: Found,
    counts: Mapping[tuple[str, str, str], int],
    written: Sequence[Written],
    folder: Path,
    passes: int,
) -> dict[str, Any]:
    named = zip(held.beside[settings["by"]], held.labels)
    texts: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for (name, label), length in zip(named, held.words.tolist()):
        source = label if name is None else str(name)
        texts[source] += 1
        total[source] += length
    others = sum(total[name] for name in total if name not in first.sets)
    return {
        "schema": SCHEMA,
        "made_by": _MADE_BY,
        "rote": version(),
        "settings": settings,
        "input": {
            "fingerprint": held.fingerprint,
            "texts": len(held),
            "words": len(held.ids),
            "skipped": len(held.problems),
        },
        "passes": passes,
        "sources": [
            {
                "source": name,
                "texts": texts[name],
                "words": total[name],
                "documents_removed": counts[name, "document", "rows"],
                "words_removed_with_documents": counts[name, "document", "words"],
                "words_cut": counts[name, "run", "words"],
            }
            for name in texts
        ],
        "shared": [
            {
                "source": name,
                "also_in": other,
                "words": int(first.shared[place, there]),
                "share": float(first.shared[place, there] / max(1, total.get(name, others))),
            }
            for place, name in enumerate(first.sets)
            for there, other in enumerate(first.sets)
        ],
        "passages": [asdict(passage) for passage in first.passages],
        "files": [
            {
                "file": each.file,
                "texts": each.documents,
                "bytes": size_of(folder / each.file),
            }
            for each in written
        ],
    }
