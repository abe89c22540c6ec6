"""The folder of `rote dedup`: the corpus without its repetitions, and a ledger of what went.

The corpus is read once, to words. Where words were cut, what stood before and behind them now
follows one another, which may be a repetition as well: so what was cut is made into words again,
and looked through with the rest, until a stage finds nothing. Then the corpus is written, all
stages at once. To run the command on its own output changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate import embeddings, folded_words, words
from rote.annotate.folded_words import FoldedWords
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.json_reader import parse_json
from rote.core.layer import Layer, starts_of
from rote.core.metric import Work
from rote.core.progress import Reporter, Silent
from rote.corpus import Corpus, Problems, Shard, changed_file_error, map_shards
from rote.curate import corpus_reader, corpus_writer
from rote.curate.dedup import (
    DedupOptions,
    DedupTexts,
    Ints,
    Repetitions,
    WordNumbers,
    find_repetitions,
)
from rote.curate.output_folder import FolderRun, MadeFolder, list_files, plain_settings
from rote.curate.repeated_runs import DEFAULT_MEMORY, ArrayRoom
from rote.search import reference_corpus
from rote.search.meaning import facts, paraphrases


@dataclass(frozen=True, slots=True)
class DedupStage:
    """What one stage takes out of documents that had so many words."""

    repetitions: Repetitions
    lengths: Ints
    gone: NDArray[np.bool_]
    """Documents that go as a whole: alike another, or nothing but repetition."""
    quoted: Ints
    """Words that the ledger shows, those that stay included: document, first, end; in order."""

    @classmethod
    def of(cls, repetitions: Repetitions, lengths: Ints) -> DedupStage:
        cuts = repetitions.cuts
        words = np.zeros(len(lengths), np.int64)
        np.add.at(words, cuts.document, cuts.end - cuts.start)
        gone = (repetitions.alike >= 0) | ((words > 0) & (words == lengths))
        alike = np.flatnonzero(repetitions.alike >= 0)
        similar = [(pair.document, pair.earlier) for pair in repetitions.other_facts]
        alike_pairs = (alike, repetitions.alike[alike], np.array(similar, np.int64).ravel())
        documents = np.concatenate(alike_pairs)
        copied = cuts[cuts.kept >= 0]
        copy_ends = copied.kept_start + copied.end - copied.start
        columns = (
            (documents, np.zeros_like(documents), lengths[documents]),
            (cuts.document, cuts.start, cuts.end),
            (copied.kept, copied.kept_start, np.minimum(copy_ends, lengths[copied.kept])),
        )
        quoted = np.concatenate([np.stack(column, 1) for column in columns])
        quoted = np.unique(quoted[quoted[:, 2] > quoted[:, 1]], axis=0)
        return cls(repetitions, lengths, gone, quoted)

    def stage(self, first: int, last: int, lines: Ints) -> corpus_writer.EditStage:
        """What is done to the documents from `first` to `last`, which are at these lines."""
        cuts: dict[int, list[corpus_writer.WordSpan] | None] = {}
        stage_cuts = self.repetitions.cuts[
            slice(*np.searchsorted(self.repetitions.cuts.document, (first, last)))
        ]
        for cut in stage_cuts.tolist():
            cuts.setdefault(int(lines[cut[0] - first]), []).append((cut[1], cut[2]))  # type: ignore[union-attr]
        for document in np.flatnonzero(self.gone[first:last]).tolist():
            cuts[int(lines[document])] = None
        quoted: dict[int, list[corpus_writer.WordSpan]] = {}
        rows = self.quoted[slice(*np.searchsorted(self.quoted[:, 0], (first, last)))]
        for document, start, end in rows.tolist():
            quoted.setdefault(int(lines[document - first]), []).append((start, end))
        return corpus_writer.EditStage(cuts, quoted)


class DedupPlan:
    """The stages, and which shards their documents are in."""

    def __init__(self, lines: Sequence[Ints], parts: Sequence[int], count: int) -> None:
        self.stages: list[DedupStage] = []
        self._lines = lines
        self._firsts = np.cumsum([0, *map(len, lines)])
        self.shards = np.bincount(np.array(parts, np.int64), minlength=count).tolist()
        """How many shards each part of the corpus has."""
        self.changed: Ints = np.empty(0, np.int64)
        """The documents that the last stage cut, and that stay."""
        self._before = np.cumsum([0, *self.shards])

    def add(self, repetitions: Repetitions, lengths: Ints) -> None:
        self.stages.append(DedupStage.of(repetitions, lengths))
        cut = np.unique(repetitions.cuts.document)
        self.changed = cut[~self.stages[-1].gone[cut]]

    def edits(self, part: int, place: int) -> corpus_writer.ShardEdits:
        return self._edits(int(self._before[part]) + place)

    def cut_edits(self, number: int) -> tuple[frozenset[int], corpus_writer.ShardEdits] | None:
        """The lines of a shard that the last stage cut, with all that was done to it; nothing if
        there are none."""
        first, last = self._firsts[number : number + 2]
        changed = self.changed[slice(*np.searchsorted(self.changed, (first, last)))]
        if not len(changed):
            return None
        return frozenset(self._lines[number][changed - first].tolist()), self._edits(number)

    def _edits(self, shard: int) -> corpus_writer.ShardEdits:
        first, last = self._firsts[shard : shard + 2].tolist()
        lines = self._lines[shard]
        return corpus_writer.ShardEdits(
            frozenset(lines.tolist()), [each.stage(first, last, lines) for each in self.stages]
        )

    def ledger(self, excerpts: ExcerptStore, sources: Sequence[str]) -> Iterator[dict[str, Any]]:
        """A row for each document and each run of words that went, stage by stage, in the order of
        the input."""
        for number, stage in enumerate(self.stages):
            repetitions, lengths = stage.repetitions, stage.lengths
            alike = np.flatnonzero(repetitions.alike >= 0)
            documents = np.concatenate((alike, repetitions.cuts.document))
            for place in np.argsort(documents, kind="stable").tolist():
                document, more = int(documents[place]), {}
                if is_document := place < len(alike):
                    more["similarity"] = float(repetitions.similar[document])
                    if not np.isnan(repetitions.p[document]):
                        more["p"] = float(repetitions.p[document])
                    copy = int(repetitions.alike[document])
                    start, end, begin, stop = 0, int(lengths[document]), 0, int(lengths[copy])
                else:
                    cut = repetitions.cuts[place - len(alike)].item()
                    start, end, copy, begin = map(int, cut[1:])
                    stop = min(begin + end - start, int(lengths[copy])) if copy >= 0 else 0
                row: dict[str, Any] = {
                    "kind": "document" if is_document else "run",
                    "pass": number + 1,
                    **self._quote(excerpts, number, document, start, end),
                    "source": sources[document],
                    "words": end - start,
                    **more,
                }
                if copy >= 0:
                    copy_row = self._quote(excerpts, number, copy, begin, stop)
                    row["kept"] = copy_row | {"source": sources[copy]}
                yield row

    def similar(self, excerpts: ExcerptStore, sources: Sequence[str]) -> Iterator[dict[str, Any]]:
        """A row for each document that says nearly what an earlier one says, with other facts."""
        for number, stage in enumerate(self.stages):
            for pair in stage.repetitions.other_facts:
                sides = [
                    self._quote(excerpts, number, document, 0, int(stage.lengths[document]))
                    | {"source": sources[document]}
                    for document in (pair.document, pair.earlier)
                ]
                yield {
                    "kind": "other facts",
                    **sides[0],
                    "words": int(stage.lengths[pair.document]),
                    "similarity": pair.similarity,
                    "p": pair.p,
                    "differing": list(pair.differing),
                    "similar_to": sides[1],
                }

    def _quote(
        self, excerpts: ExcerptStore, stage: int, document: int, start: int, end: int
    ) -> dict[str, Any]:
        shard = int(np.searchsorted(self._firsts, document, "right")) - 1
        line = int(self._lines[shard][document - self._firsts[shard]])
        part = int(np.searchsorted(self._before, shard, "right")) - 1
        place = part, shard - int(self._before[part])
        return excerpts.find(stage, *place, line, (start, end)) or {"line": line}


@dataclass(frozen=True, slots=True)
class ShardRecutter:
    """Makes words of what is left of documents that were cut; travels to worker processes."""

    work: corpus_reader.ShardTokenizer
    cutting: corpus_writer.WordCutter

    def __call__(
        self, task: tuple[Shard, tuple[frozenset[int], corpus_writer.ShardEdits] | None]
    ) -> corpus_reader.TokenizedShard | None:
        shard, wanted = task
        if wanted is None:
            return None
        (lines, edits), documents = wanted, []
        for number, record in shard.records():
            if number in lines and not isinstance(record, InputError):
                text, _ = self.cutting.edited(shard, number, record, edits)
                assert text is not None
                meta = corpus_reader.other_fields(record) if isinstance(record, Document) else {}
                identity, _ = corpus_writer.id_and_text(record, shard, number)
                documents.append((number, Document(identity, text, meta)))
        return self.work(replace(shard, records=partial(list, documents)))


def _texts_at(task: tuple[Shard, NDArray[np.int64]]) -> list[str]:
    """The texts of a shard at some lines; work for other processes."""
    shard, lines = task
    wanted = set(lines.tolist())
    texts = [
        corpus_writer.id_and_text(record, shard, number)[1]
        for number, record in (shard.records() if wanted else ())
        if number in wanted and not isinstance(record, InputError)
    ]
    if len(texts) != len(wanted):
        raise changed_file_error(shard.origin.file)
    return texts


class ExcerptStore:
    """Excerpts of documents, on disk: there may be more than memory holds."""

    def __init__(self, path: Path) -> None:
        # Nothing has to survive a power cut, only a kill.
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("pragma synchronous = off")
        self._database.execute(
            "create table if not exists excerpts (stage, part, place, line, first, last, excerpt, "
            "primary key (stage, part, place, line, first, last)) without rowid"
        )

    def add(self, part: int, place: int, excerpts: corpus_writer.Excerpts) -> None:
        rows = [
            (stage, part, place, line, *words, json.dumps(excerpt))
            for (stage, line, words), excerpt in excerpts.items()
        ]
        if rows:
            self._database.execute("begin")
            self._database.executemany(
                "insert or replace into excerpts values (?,?,?,?,?,?,?)", rows
            )
            self._database.execute("commit")

    def find(
        self, stage: int, part: int, place: int, line: int, words: corpus_writer.WordSpan
    ) -> dict[str, Any] | None:
        """Id, file, line, characters and text of some words."""
        row = self._database.execute(
            "select excerpt from excerpts where stage=? and part=? and place=? and line=? "
            "and first=? and last=?",
            (stage, part, place, line, *words),
        ).fetchone()
        if row is None:
            return None
        state: dict[str, Any] = parse_json(row[0])
        return state | {"file": Path(state["file"]).name}

    def close(self) -> None:
        self._database.close()


LEDGER, SIMILAR = "removed.jsonl", "similar.jsonl"
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
    "similar?": int,
    "files": [{"file": str, "texts": int, "bytes": int}],
}
"""What is read of the manifest."""
# Bytes for each word of all arrays, measured; to plan by.
_MEMORY, _PROCESS = 36, 250e6
# Words that are asked for at a time.
_ASKED = 1 << 22


def dedup(
    corpus: Corpus,
    folder: Path,
    options: DedupOptions | None = None,
    *,
    against: Any = None,
    memory: int = DEFAULT_MEMORY,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> MadeFolder:
    """Write the corpus without its repetitions; a folder that holds it already is left as it is."""
    options, reporter = options or DedupOptions(), reporter or Silent()
    works = Work(jobs=jobs, engine=run.get(engine, jobs))
    tokenizer = words.get(options.tokenizer)
    if against is not None:
        reference_corpus.check_reference_corpus(against, (options.layer,), tokenizer.signature)
    folded, meaning = f"{folded_words.VERSION} of {words.get().signature}", None
    if options.meaning:
        vectors = embeddings.get("static").signature
        meaning = f"{paraphrases.VERSION}+facts/{facts.VERSION} by {vectors}"
    settings = plain_settings(
        options,
        tokenizer=tokenizer.signature,
        shingles=folded if options.folds else options.layer,
        corpus=reference_corpus.reference_signature(against),
        meaning=meaning,
    )
    output = FolderRun(folder, _MADE_BY, settings, _FIELDS)
    if (before := output.earlier()) is not None:
        return output.reuse(
            before, corpus_reader.corpus_fingerprint(corpus, works.engine), Problems()
        )
    estimate = corpus_reader.estimate_corpus(corpus, None, options.tokenizer)
    reporter.say(_describe_effort(estimate, memory, works.engine.jobs))
    index = None
    if against is not None:
        index = reference_corpus.open_reference_index(against, (options.layer,), reporter)
    with output.resume() as (partial, notes):
        room = ArrayRoom(memory, notes)
        beside = (options.by, *((options.newest,) if options.newest else ()))
        skip, sentences = corpus.options.on_error == "skip", options.cut == "sentence"
        work = corpus_reader.ShardTokenizer(
            None, options.layer, options.tokenizer, skip, beside, sentences, options.folds
        )
        texts_read = corpus_reader.read_corpus(
            corpus,
            work
            if works.engine.remote
            else corpus_reader.ShardCache.of(work, corpus, notes / "words"),
            engine=works.engine,
            reporter=reporter,
            unique=False,
            limit=room.work // 2,
            folder=notes,
        )
        if not len(texts_read):
            raise InputError("the input contains no usable text")
        finding = _RepetitionFinder(corpus, texts_read, options, work, index, works, room, reporter)
        plan, account = finding.stages()
        # What is written depends on all that was read.
        finished = notes / texts_read.fingerprint
        finished.mkdir(exist_ok=True)
        counts: Counter[tuple[str, str, str]] = Counter()
        with closing(ExcerptStore(finished / "excerpts.sqlite")) as excerpts:
            files = corpus_writer.write_corpus(
                corpus,
                partial,
                corpus_writer.WordCutter(options.tokenizer),
                doing="writing",
                engine=works.engine,
                reporter=reporter,
                finished=finished,
                extra_for=plan.edits,
                shards=plan.shards,
                keep=excerpts.add,
            )
            corpus_reader.write_lines(
                partial / LEDGER, _count_rows(plan.ledger(excerpts, finding.sources), counts)
            )
            if options.meaning:
                corpus_reader.write_lines(
                    partial / SIMILAR, plan.similar(excerpts, finding.sources)
                )
        content = _describe_content(texts_read, finding.sources, account, counts, len(plan.stages))
        if options.meaning:
            pairs = (stage.repetitions.other_facts for stage in plan.stages)
            content["similar"] = sum(map(len, pairs))
        content["files"] = list_files(partial, {file.file: file.documents for file in files})
        return output.finish(partial, content, texts_read.problems)


@dataclass(slots=True)
class _RepetitionFinder:
    """What goes, stage after stage."""

    corpus: Corpus
    texts_read: corpus_reader.TokenizedCorpus
    options: DedupOptions
    work: corpus_reader.ShardTokenizer
    index: Any
    works: Work
    room: ArrayRoom
    reporter: Reporter

    @property
    def sources(self) -> list[str]:
        labelled = zip(self.texts_read.beside[self.options.by], self.texts_read.labels)
        return [label if name is None else str(name) for name, label in labelled]

    def stages(self) -> tuple[DedupPlan, Repetitions]:
        """All that goes, and what the first stage found."""
        texts_read, options = self.texts_read, self.options
        folded = texts_read.folded
        texts = DedupTexts(
            words=WordNumbers.of(texts_read.ids, texts_read.part_ends),
            folded=None if folded is None else WordNumbers.of(folded.ids, folded.text_ends),
            gone=np.zeros(len(texts_read), np.bool_),
            vocabulary=texts_read.vocabulary,
            sources=self.sources,
            ages=texts_read.beside.get(options.newest) if options.newest else None,
            sentence_ends=texts_read.sentence_ends,
            read=self._read_texts if options.meaning else None,
            elsewhere=self._find_elsewhere(
                texts_read.ids, texts_read.part_ends, texts_read.vocabulary
            ),
        )
        plan, first = DedupPlan(texts_read.lines, texts_read.parts, len(self.corpus.parts)), None
        numbers: dict[str, int] = {}
        folded_numbers: dict[str, int] = {}
        while True:
            with self.reporter.stage("comparing", None):
                repetitions = find_repetitions(texts, options, self.room, threads=self.works.jobs)
            if first is not None and not repetitions:
                break
            first = first or repetitions
            plan.add(repetitions, texts.words.lengths)
            if not len(plan.changed):
                break  # only where words were cut something new can follow something
            numbers = numbers or {word: n for n, word in enumerate(texts_read.vocabulary)}
            if folded is not None and not folded_numbers:
                folded_numbers = {word: n for n, word in enumerate(folded.vocabulary)}
            with self.reporter.stage("reading what was cut", None):
                texts = self._next(texts, plan, numbers, folded_numbers)
        return plan, first

    def _read_texts(self, documents: Ints) -> list[str]:
        """The texts of documents, in the order of the input."""
        firsts = np.cumsum([0, *map(len, self.texts_read.lines)])
        bounds = np.searchsorted(documents, firsts)

        def lines_of(shard: int) -> Ints:
            rows: Ints = documents[bounds[shard] : bounds[shard + 1]] - firsts[shard]
            lines: Ints = self.texts_read.lines[shard][rows]
            return lines

        several = map_shards(
            _texts_at, self.corpus, self.works.engine, extra=lines_of, doing="reading texts"
        )
        return [text for texts in several for text in texts]

    def _next(
        self,
        texts: DedupTexts,
        plan: DedupPlan,
        numbers: dict[str, int],
        folded_numbers: dict[str, int],
    ) -> DedupTexts:
        """The documents as the last stage leaves them."""
        work = ShardRecutter(self.work, corpus_writer.WordCutter(self.options.tokenizer))
        read_again = map_shards(
            work, self.corpus, self.works.engine, extra=plan.cut_edits, doing="reading texts"
        )
        pieces = [piece for piece in read_again if piece is not None]
        new, ends = _join_shards([piece.layer for piece in pieces], numbers)
        vocabulary = tuple(numbers)
        done = len(texts.words.ids) + len(texts.words.more)
        sentence_ends = []
        for piece in pieces:
            if piece.layer.sentence_ends is not None:
                sentence_ends.append(piece.layer.sentence_ends + done)
            done += len(piece.layer.ids)
        folded = [piece.folded for piece in pieces if piece.folded is not None]
        elsewhere = self._find_elsewhere(new, ends, vocabulary)
        return DedupTexts(
            words=texts.words.recut(plan.changed, new, ends),
            folded=None
            if texts.folded is None
            else texts.folded.recut(plan.changed, *_join_shards(folded, folded_numbers)),
            gone=texts.gone | plan.stages[-1].gone,
            vocabulary=vocabulary,
            sources=texts.sources,
            ages=texts.ages,
            sentence_ends=None
            if texts.sentence_ends is None
            else np.concatenate((texts.sentence_ends, *sentence_ends)),
            elsewhere=None
            if texts.elsewhere is None or elsewhere is None
            else (texts.elsewhere[0], np.concatenate((texts.elsewhere[1], elsewhere[0]))),
        )

    def _find_elsewhere(
        self, ids: NDArray[np.int32], ends: Ints, vocabulary: Sequence[str]
    ) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Whether a run of `length` words that the other corpus holds begins at a word."""
        if self.index is None:
            return None
        elsewhere, first, nothing = self.room.array(len(ids), np.uint8), 0, np.empty(0, np.int32)
        starts = starts_of(ends)
        while first < len(ends):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + _ASKED, "right")))
            begin, end = int(starts[first]), int(ends[last - 1])
            text_ends = ends[first:last] - begin
            name, some = self.options.layer, ids[begin:end]
            layer = Layer(name, some, vocabulary, nothing, nothing, text_ends)
            longest = reference_corpus.longest_matches(self.index, layer, self.works)
            elsewhere[begin:end] = longest >= self.options.length
            first = last
        return elsewhere, np.empty(0, np.uint8)


def _join_shards(
    pieces: Sequence[Layer | FoldedWords], numbers: dict[str, int]
) -> tuple[NDArray[np.int32], Ints]:
    """The words of several pieces one after another, and where each document ends."""
    all_words = corpus_reader.JoinedWords(numbers)
    for piece in pieces:
        all_words.add(piece)
    return all_words.finish()


def _count_rows(
    rows: Iterator[dict[str, Any]], counts: Counter[tuple[str, str, str]]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        counts[row["source"], row["kind"], "rows"] += 1
        counts[row["source"], row["kind"], "words"] += row["words"]
        yield row


def _describe_effort(first: corpus_reader.CorpusEstimate, memory: int, jobs: int) -> str:
    array_bytes = first.words * _MEMORY
    total = _PROCESS * (jobs + (jobs > 1)) + min(array_bytes, memory)
    beyond = array_bytes - memory
    rest = f", {beyond / 1e9:,.1f} GB of arrays in files" if beyond > 0 else ""
    return f"{first}: about {total / 1e9:,.1f} GB of memory{rest}"


def _describe_content(
    texts_read: corpus_reader.TokenizedCorpus,
    source_of_text: Sequence[str],
    first: Repetitions,
    counts: Mapping[tuple[str, str, str], int],
    passes: int,
) -> dict[str, Any]:
    texts, total = Counter(source_of_text), Counter[str]()
    for source, length in zip(source_of_text, texts_read.words.tolist()):
        total[source] += length
    others = sum(total[name] for name in total if name not in first.sets)
    return {
        "input": {
            "fingerprint": texts_read.fingerprint,
            "texts": len(texts_read),
            "words": len(texts_read.ids),
            "skipped": len(texts_read.problems),
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
                "also_in": members,
                "words": int(first.shared[place, there]),
                "share": float(first.shared[place, there] / max(1, total.get(name, others))),
            }
            for place, name in enumerate(first.sets)
            for there, members in enumerate(first.sets)
        ],
        "passages": list(first.passages),
    }
