"""The texts of a report: read once, and drawn down for measures that could not take them all.

Where there is more text than any measure gets, words are counted first, which is quick, and only
the texts that are drawn are tagged and parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rote import run
from rote.annotate.script import remarks
from rote.annotate.store import Store
from rote.core.document import Document
from rote.core.facets import JOINT, is_input
from rote.core.progress import Reporter, several
from rote.core.sample import Need
from rote.corpus import Corpus, DuplicateIds, Input, ReadOptions, open_corpus
from rote.corpus._shard import Part
from rote.measure import Settings
from rote.measure._collect import Collected, collect
from rote.measure._flow import check_read, tell_read
from rote.measure._prepare import Fields, Words
from rote.report.options import WORDS, Limits, Size

_BYTES_A_WORD = 6
_WORTHWHILE = 100_000
"""Words that are tagged and parsed sooner than drawn from."""
_WORD = Need("word")
_NAMED = 3
"""Records that were skipped and are named in the report."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What is known of all texts, whatever of them is measured."""

    sizes: dict[str, Size]
    """Of every source, without what the texts were made from."""
    fingerprint: str
    notes: tuple[str, ...]


def is_large(texts: Corpus | Store, sample: int | None) -> bool:
    """Whether there is more than any measure gets, so that words are counted first."""
    most = _WORTHWHILE if sample else WORDS["light"]
    return isinstance(texts, Corpus) and texts.size > _BYTES_A_WORD * most


def counted(texts: Corpus | Store, settings: Settings, reporter: Reporter) -> Collected:
    """All texts, words alone."""
    words = Words(settings.tokenizer, settings.annotator)
    return collect(
        texts,
        [_WORD],
        words=replace(words, annotator="rote"),
        fields=Fields(settings.by, None, settings.within, settings.cluster),
        engine=run.get(settings.engine, settings.jobs),
        reporter=reporter,
    )


def drawn(
    texts: Corpus, everything: Collected, count: int, settings: Settings, reporter: Reporter
) -> Corpus:
    """At most so many texts of each source, in memory, in the order in which they stood."""
    sample = everything.sampled(count, settings.seed)
    # An id is unique within its file only.
    files = sample.files or [""] * len(sample.ids)
    wanted = {(s, files[n], sample.ids[n]) for s, take in sample.groups.items() for n in take}
    duplicates = DuplicateIds(texts.options.on_error)
    found: dict[tuple[str, str], list[Document]] = {}
    with reporter.stage("drawing texts", texts.size, unit="B") as advance:
        for shard in texts.shards():
            batch = duplicates.check(shard.read())
            file = batch.file if sample.files else ""
            found.setdefault((batch.file, batch.label), []).extend(
                document
                for document in batch.documents
                if (_source(document, settings.by, batch.label), file, document.id) in wanted
            )
            advance(shard.size)
    return Corpus(list(_parts(found, texts.options, settings.by)), texts.options)


def _parts(
    found: Mapping[tuple[str, str], list[Document]], options: ReadOptions, by: Sequence[str]
) -> Iterator[Part]:
    """The texts of each file as a part that bears its name."""
    for (file, label), own in found.items():
        # Without --by the file names the source, and a list has no file.
        given: Input = own if by else {label: own}
        for part in open_corpus(given, options).parts if own else ():
            yield replace(part, origin=replace(part.origin, file=file))


def _source(document: Document, by: Sequence[str], label: str) -> str:
    return JOINT.join(str(document.meta.get(name)) for name in by) if by else label


def overview(collected: Collected, settings: Settings, reporter: Reporter) -> Overview:
    """Sizes and what has to be said of the reading; refuses a reference that is not there."""
    tell_read(collected, settings, reporter)
    check_read(collected, settings)
    own = {source: take for source, take in collected.groups.items() if not is_input(source)}
    notes = [*remarks(collected.seen)]
    if skipped := collected.problems.listed(_NAMED):
        notes.insert(0, " ".join(line.strip() for line in skipped))
    for source, copies in collected.copies.items():
        if copies:
            notes.append(
                f"{source}: {copies:,} of {collected.read[source]:,} texts are copies of another "
                "text of this source, which makes it look repetitive"
            )
    return Overview(
        {s: Size(len(take), int(collected.sample.words[take].sum())) for s, take in own.items()},
        collected.fingerprint,
        tuple(notes),
    )


def said_of(
    limits: Limits, sizes: dict[str, Size], measures: Sequence[tuple[str, str]]
) -> list[str]:
    """Which measures (name, effort) get a part of the texts, in words."""
    said = []
    most = max(size.texts for size in sizes.values())
    for effort, count in limits.texts.items():
        own = dict.fromkeys(name for name, of in measures if of == effort)
        if count is not None and count < most and own:
            said.append(
                f"{', '.join(own)}: at most {several(count, 'text')} of each source, drawn at "
                f"random; the largest source has {most:,}"
            )
    return said
