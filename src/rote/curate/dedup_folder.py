"""The folder of `rote dedup`: the corpus without its repetitions, and a ledger of what went.

A pass finds what is repeated and writes the corpus without it. Where words were cut, what stood
before and behind them now follows one another, which may be a repetition as well: so what was
written is read again, until a pass finds nothing. To run the command on its own output changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate import words
from rote.core.distribution import version
from rote.core.errors import InputError
from rote.core.files import check_parent
from rote.core.layer import Layer
from rote.core.metric import Work
from rote.core.progress import Reporter, Silent
from rote.corpus import Corpus, Problems, open_corpus
from rote.curate.cleaned import Cutting, Edits, Told, Words, Written, write_corpus
from rote.curate.dedup import Cut, DedupOptions, Found, find
from rote.curate.folder import (
    manifest_before,
    new_folder,
    refuse_other_input,
    size_of,
    write_manifest,
)
from rote.curate.reading import Look, Read, Tokenizing, look, read, write_lines
from rote.measure._against import check_against, longest_in, open_against, signed_against

SCHEMA = 1
LEDGER = "removed.jsonl"
_MADE_BY = "rote dedup"
# Bytes for each word, measured; to plan by.
_MEMORY, _PROCESS = 40, 250e6
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Made:
    """What a folder holds; `new` is False where it held all of it before."""

    manifest: dict[str, Any]
    problems: Problems
    new: bool


@dataclass(slots=True)
class _Pass:
    """One reading of the corpus: what goes, and how that is spread over its shards."""

    corpus: Corpus
    read: Read
    found: Found
    sources: list[str]
    shards: NDArray[np.int64] = field(init=False)
    lines: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        counts = [len(lines) for lines in self.read.lines]
        self.shards = np.repeat(np.arange(len(counts)), counts)
        self.lines = np.concatenate([np.empty(0, np.int64), *self.read.lines])

    def edits(self) -> list[Edits]:
        """What is done to each shard, and the words that the ledger shows."""
        cuts: list[dict[int, list[Words] | None]] = [{} for _ in self.read.lines]
        told: list[dict[int, list[Words]]] = [{} for _ in self.read.lines]
        for document in np.flatnonzero(self.found.alike >= 0).tolist():
            cuts[self.shards[document]][int(self.lines[document])] = None
            for one in (document, int(self.found.alike[document])):
                self._tell(told, one, self._whole(one))
        lengths = self.read.words
        cut_words = np.zeros(len(lengths), np.int64)
        for cut in self.found.cuts:
            own = cuts[self.shards[cut.document]].setdefault(int(self.lines[cut.document]), [])
            if own is not None:
                own.append((cut.start, cut.end))
            cut_words[cut.document] += cut.end - cut.start
            self._tell(told, cut.document, (cut.start, cut.end))
            if cut.copy >= 0:
                self._tell(told, cut.copy, self._copied(cut))
        # Of a document that is nothing but repetition nothing is left to write.
        for document in np.flatnonzero((cut_words > 0) & (cut_words == lengths)).tolist():
            cuts[self.shards[document]][int(self.lines[document])] = None
        return [
            Edits(frozenset(lines.tolist()), cut, tell)
            for lines, cut, tell in zip(self.read.lines, cuts, told)
        ]

    def _tell(self, told: list[dict[int, list[Words]]], document: int, words: Words) -> None:
        if words[1] > words[0]:
            own = told[self.shards[document]].setdefault(int(self.lines[document]), [])
            if words not in own:
                own.append(words)

    def _whole(self, document: int) -> Words:
        return 0, int(self.read.words[document])

    def _copied(self, cut: Cut) -> Words:
        end = min(cut.copy_start + cut.end - cut.start, int(self.read.words[cut.copy]))
        return cut.copy_start, end

    def ledger(self, written: Sequence[Written], number: int) -> Iterator[dict[str, Any]]:
        """A row for each document and each run of words that went, in the order of the input."""
        told = [shard for file in written for shard in file.told]

        def named(document: int, words: Words) -> dict[str, Any]:
            line = int(self.lines[document])
            said = told[self.shards[document]].get((line, words))
            return _shown(said) if said else {"line": line}

        rows: list[tuple[int, int, dict[str, Any]]] = []
        for document in np.flatnonzero(self.found.alike >= 0).tolist():
            other = int(self.found.alike[document])
            row = {
                "kind": "document",
                "pass": number,
                **named(document, self._whole(document)),
                "source": self.sources[document],
                "words": int(self.read.words[document]),
                "similarity": float(self.found.similar[document]),
                "kept": named(other, self._whole(other)) | {"source": self.sources[other]},
            }
            rows.append((document, 0, row))
        for cut in self.found.cuts:
            row = {
                "kind": "run",
                "pass": number,
                **named(cut.document, (cut.start, cut.end)),
                "source": self.sources[cut.document],
                "words": cut.end - cut.start,
            }
            if cut.copy >= 0:
                copy = named(cut.copy, self._copied(cut))
                row["kept"] = copy | {"source": self.sources[cut.copy]}
            rows.append((cut.document, cut.start, row))
        yield from (row for _, _, row in sorted(rows, key=lambda each: each[:2]))


def _shown(said: Told) -> dict[str, Any]:
    text = said.text if len(said.text) <= _SHOWN else said.text[: _SHOWN - 1] + "…"
    return {**asdict(said), "file": Path(said.file).name, "text": text}


def dedup(
    corpus: Corpus,
    folder: Path,
    options: DedupOptions | None = None,
    *,
    against: Any = None,
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
    before = manifest_before(folder, _MADE_BY, settings, "files")
    first = look(corpus, None, options.tokenizer)
    reporter.say(_expected(first, works.engine.jobs))
    index = None if against is None else open_against(against, (options.layer,), reporter)
    state = _one_pass(corpus, options, index, works, reporter)
    if not len(state.read):
        raise InputError("the input holds no text that can be used")
    if before is not None:
        refuse_other_input(folder, before, state.read.fingerprint)
        return Made(before, state.read.problems, new=False)
    begun, rows, number = state, [], 0
    with (
        TemporaryDirectory(prefix=".rote-dedup-", dir=folder.absolute().parent) as between,
        new_folder(folder) as partial,
    ):
        while True:
            number += 1
            place = Path(between) / str(number)
            place.mkdir()
            edits = state.edits()
            written = write_corpus(
                state.corpus,
                place,
                Cutting(options.tokenizer),
                edits,
                doing="writing",
                engine=works.engine,
                reporter=reporter,
            )
            rows += list(state.ledger(written, number))
            left = [place / each.file for each in written if each.documents]
            # Only where words were cut something new can follow something.
            if not left or not any(cut for edit in edits for cut in edit.cuts.values()):
                break
            state = _one_pass(open_corpus(left, corpus.options), options, index, works, reporter)
            if not state.found:
                break
        for each in written:
            (place / each.file).rename(partial / each.file)
        write_lines(partial / LEDGER, rows)
        manifest = _manifest(settings, begun, rows, written, partial, number)
        write_manifest(partial, manifest)
    return Made(manifest, begun.read.problems, new=True)


def _one_pass(
    corpus: Corpus, options: DedupOptions, index: Any, works: Work, reporter: Reporter
) -> _Pass:
    beside = (options.by, *((options.newest,) if options.newest else ()))
    skip = corpus.options.on_error == "skip"
    sentences = options.cut == "sentence"
    work = Tokenizing(None, options.layer, options.tokenizer, skip, beside, sentences)
    found = read(corpus, work, engine=works.engine, reporter=reporter, unique=False)
    named = zip(found.beside[options.by], found.labels)
    sources = [label if name is None else str(name) for name, label in named]
    with reporter.stage("comparing", None):
        held = None if index is None else _held(index, found, options, works)
        return _Pass(
            corpus, found, find(found, options, sources, held, threads=works.jobs), sources
        )


def _held(index: Any, found: Read, options: DedupOptions, works: Work) -> NDArray[np.bool_]:
    """Whether a run of `length` words that the index holds begins at a word."""
    nothing = np.empty(0, np.int32)
    ends = np.cumsum(found.words)
    layer = Layer(options.layer, found.ids, found.vocabulary, nothing, nothing, ends)
    return longest_in(index, layer, works) >= options.length


def _expected(first: Look, jobs: int) -> str:
    memory = _PROCESS * (jobs + (jobs > 1)) + first.words * _MEMORY
    return (
        f"about {first.texts:,} texts and {first.words:,} words (in '{first.name}'): about "
        f"{memory / 1e9:,.1f} GB of memory"
    )


def _settings(options: DedupOptions, tokenizer: str, against: Any) -> dict[str, Any]:
    held = asdict(options) | {"tokenizer": tokenizer, "against": signed_against(against)}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in held.items()}


def _manifest(
    settings: dict[str, Any],
    begun: _Pass,
    rows: Sequence[Mapping[str, Any]],
    written: Sequence[Written],
    folder: Path,
    passes: int,
) -> dict[str, Any]:
    names = list(dict.fromkeys(begun.sources))
    number = {name: place for place, name in enumerate(names)}
    of = np.array([number[name] for name in begun.sources])
    lengths = begun.read.words
    texts, total = np.bincount(of), np.bincount(of, lengths).astype(int)

    def gone(kind: str, name: str) -> int:
        return sum(r["words"] for r in rows if r["kind"] == kind and r["source"] == name)

    return {
        "schema": SCHEMA,
        "made_by": _MADE_BY,
        "rote": version(),
        "settings": settings,
        "input": {
            "fingerprint": begun.read.fingerprint,
            "texts": len(begun.read),
            "words": len(begun.read.ids),
            "skipped": len(begun.read.problems),
        },
        "passes": passes,
        "sources": [
            {
                "source": name,
                "texts": int(texts[place]),
                "words": int(total[place]),
                "documents_removed": sum(
                    r["kind"] == "document" and r["source"] == name for r in rows
                ),
                "words_removed_with_documents": gone("document", name),
                "words_cut": gone("run", name),
            }
            for place, name in enumerate(names)
        ],
        "shared": [
            {
                "source": name,
                "also_in": other,
                "words": int(begun.found.shared[place, there]),
                "share": float(begun.found.shared[place, there] / max(1, total[place])),
            }
            for place, name in enumerate(names)
            for there, other in enumerate(names)
        ],
        "passages": [asdict(passage) for passage in begun.found.passages],
        "files": [
            {
                "file": each.file,
                "texts": each.documents,
                "bytes": size_of(folder / each.file),
            }
            for each in written
        ],
    }
