"""What each stage of `dedup` takes out, spread over the shards of the corpus; and the ledger of it.

Documents are numbered in the order of the input, and a shard holds some that follow one another.
What a shard is to do is made when it is asked for, so that as little as possible is kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.json_reader import parse_json
from rote.corpus import Shard
from rote.curate.cleaned import Cutting, Edits, Stage, Told, Words, known
from rote.curate.dedup import Found, Ints
from rote.curate.reading import Piece, Tokenizing, fields_of


@dataclass(frozen=True, slots=True)
class Taken:
    """What one stage takes out of documents that had so many words."""

    found: Found
    lengths: Ints
    gone: NDArray[np.bool_]
    """Documents that go as a whole: alike another, or nothing but repetition."""
    told: Ints
    """Words that the ledger shows, those that stay included: document, first, end; in order."""

    @classmethod
    def of(cls, found: Found, lengths: Ints) -> Taken:
        cuts = found.cuts
        words = np.zeros(len(lengths), np.int64)
        np.add.at(words, cuts.document, cuts.end - cuts.start)
        gone = (found.alike >= 0) | ((words > 0) & (words == lengths))
        alike = np.flatnonzero(found.alike >= 0)
        whole = np.concatenate((alike, found.alike[alike]))
        copied = cuts[cuts.kept >= 0]
        told = np.concatenate(
            (
                np.stack((whole, np.zeros_like(whole), lengths[whole]), 1),
                np.stack((cuts.document, cuts.start, cuts.end), 1),
                np.stack((copied.kept, copied.kept_start, _copy_ends(copied, lengths)), 1),
            )
        )
        return cls(found, lengths, gone, np.unique(told[told[:, 2] > told[:, 1]], axis=0))

    def stage(self, first: int, last: int, lines: Ints) -> Stage:
        """What is done to the documents from `first` to `last`, which are at these lines."""
        cuts: dict[int, list[Words] | None] = {}
        own = self.found.cuts[slice(*np.searchsorted(self.found.cuts.document, (first, last)))]
        for cut in own.tolist():
            cuts.setdefault(int(lines[cut[0] - first]), []).append((cut[1], cut[2]))  # type: ignore[union-attr]
        for document in np.flatnonzero(self.gone[first:last]).tolist():
            cuts[int(lines[document])] = None
        told: dict[int, list[Words]] = {}
        rows = self.told[slice(*np.searchsorted(self.told[:, 0], (first, last)))]
        for document, start, end in rows.tolist():
            told.setdefault(int(lines[document - first]), []).append((start, end))
        return Stage(cuts, told)


def _copy_ends(cuts: Any, lengths: Ints) -> Ints:
    ends: Ints = np.minimum(cuts.kept_start + cuts.end - cuts.start, lengths[cuts.kept])
    return ends


class Plan:
    """The stages, and which shards their documents are in."""

    def __init__(self, lines: Sequence[Ints], parts: Sequence[int], count: int) -> None:
        self.stages: list[Taken] = []
        self._lines = lines
        self._firsts = np.cumsum([0, *map(len, lines)])
        self.shards = np.bincount(np.array(parts, np.int64), minlength=count).tolist()
        """How many shards each part of the corpus has."""
        self.changed: Ints = np.empty(0, np.int64)
        """The documents that the last stage cut, and that stay."""
        self._before = np.cumsum([0, *self.shards])

    def add(self, found: Found, lengths: Ints) -> None:
        """One stage more."""
        self.stages.append(Taken.of(found, lengths))
        cut = np.unique(found.cuts.document)
        self.changed = cut[~self.stages[-1].gone[cut]]

    def edits(self, part: int, place: int) -> Edits:
        """What is done to a shard."""
        return self._edits(int(self._before[part]) + place)

    def cut_edits(self, number: int) -> tuple[frozenset[int], Edits] | None:
        """The lines of a shard that the last stage cut, with all that was done to it; nothing if
        there are none."""
        first, last = self._firsts[number : number + 2]
        own = self.changed[slice(*np.searchsorted(self.changed, (first, last)))]
        if not len(own):
            return None
        return frozenset(self._lines[number][own - first].tolist()), self._edits(number)

    def _edits(self, shard: int) -> Edits:
        first, last = self._firsts[shard : shard + 2].tolist()
        lines = self._lines[shard]
        return Edits(
            frozenset(lines.tolist()), [each.stage(first, last, lines) for each in self.stages]
        )

    def ledger(self, tellings: Tellings, sources: Sequence[str]) -> Iterator[dict[str, Any]]:
        """A row for each document and each run of words that went, stage by stage, in the order of
        the input."""

        def named(stage: int, document: int, start: int, end: int) -> dict[str, Any]:
            shard = int(np.searchsorted(self._firsts, document, "right")) - 1
            line = int(self._lines[shard][document - self._firsts[shard]])
            part = int(np.searchsorted(self._before, shard, "right")) - 1
            place = part, shard - int(self._before[part])
            return tellings.find(stage, *place, line, (start, end)) or {"line": line}

        for number, stage in enumerate(self.stages):
            found, lengths = stage.found, stage.lengths
            alike = np.flatnonzero(found.alike >= 0)
            documents = np.concatenate((alike, found.cuts.document))
            for place in np.argsort(documents, kind="stable").tolist():
                document = int(documents[place])
                whole = place < len(alike)
                cut = None if whole else found.cuts[place - len(alike)]
                start, end = (
                    (0, int(lengths[document])) if cut is None else map(int, cut.item()[1:3])
                )
                row: dict[str, Any] = {
                    "kind": "document" if whole else "run",
                    "pass": number + 1,
                    **named(number, document, start, end),
                    "source": sources[document],
                    "words": end - start,
                }
                if cut is None:
                    row["similarity"] = float(found.similar[document])
                    copy, begin = int(found.alike[document]), 0
                    stop = int(lengths[copy])
                else:
                    copy, begin = map(int, cut.item()[3:])
                    stop = min(begin + end - start, int(lengths[copy])) if copy >= 0 else 0
                if copy >= 0:
                    row["kept"] = named(number, copy, begin, stop) | {"source": sources[copy]}
                yield row


@dataclass(frozen=True, slots=True)
class Recutting:
    """Makes words of what is left of documents that were cut; travels to worker processes."""

    work: Tokenizing
    cutting: Cutting

    def __call__(self, given: tuple[Shard, tuple[frozenset[int], Edits] | None]) -> Piece | None:
        shard, asked = given
        if asked is None:
            return None
        (lines, edits), found = asked, []
        for number, record in shard.records():
            if number in lines and not isinstance(record, InputError):
                text, _ = self.cutting.edited(shard, number, record, edits)
                assert text is not None
                meta = fields_of(record) if isinstance(record, Document) else {}
                found.append((number, Document(known(record, shard, number)[0], text, meta)))
        return self.work(replace(shard, records=partial(list, found)))


class Tellings:
    """What was told of the documents, on disk: there may be more than memory holds."""

    def __init__(self, path: Path) -> None:
        # Nothing has to survive a power cut, only a kill.
        self._held = sqlite3.connect(path, isolation_level=None)
        self._held.execute("pragma synchronous = off")
        self._held.execute(
            "create table if not exists told (stage, part, place, line, first, last, said, "
            "primary key (stage, part, place, line, first, last)) without rowid"
        )

    def add(self, part: int, place: int, told: dict[tuple[int, int, Words], Told]) -> None:
        """Keep what was told of a shard."""
        rows = [
            (stage, part, place, line, *words, json.dumps(asdict(said)))
            for (stage, line, words), said in told.items()
        ]
        if rows:
            self._held.execute("begin")
            self._held.executemany("insert or replace into told values (?,?,?,?,?,?,?)", rows)
            self._held.execute("commit")

    def find(
        self, stage: int, part: int, place: int, line: int, words: Words
    ) -> dict[str, Any] | None:
        """Id, file, line, characters and text of some words."""
        row = self._held.execute(
            "select said from told where stage=? and part=? and place=? and line=? and first=? "
            "and last=?",
            (stage, part, place, line, *words),
        ).fetchone()
        if row is None:
            return None
        said: dict[str, Any] = parse_json(row[0])
        return said | {"file": Path(said["file"]).name}

    def close(self) -> None:
        self._held.close()
