"""Small corpora on disk, and everything that an index folder holds."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rote.annotate import annotators
from rote.core.document import Document
from rote.corpus import Corpus, ReadOptions, open_corpus
from rote.index.factory import open_index
from rote.index.folders.options import BYTES_PER_POSITION, BuildOptions
from rote.index.index import Index
from tests.index import twins
from tests.killing import state_of

NOUNS = "ferry lamp harbour Nobody gull tide captain rope Tuesday letter".split()
VERBS = "was waited turned kept sang is lost".split()
REST = "late, slowly; again there — near the old quay".split()
# Files of three documents have some 70 places each: about two files go into one segment. A quarter
# of so little memory is left for the process itself.
MEMORY = 200 * BYTES_PER_POSITION


def write_files(folder: Path, first: int, last: int) -> list[Path]:
    """Files of a few documents each; some without a word, some without an author."""
    folder.mkdir(exist_ok=True)
    files = []
    for number in range(first, last):
        chance = random.Random(number)
        lines = []
        for i in range(3):
            record = {"id": f"{number}-{i}", "text": _text(chance), "mood": chance.random()}
            if chance.random() < 0.7:
                record["author"] = chance.choice(["Ada", "Bo", "Ünal"])
            lines.append(json.dumps(record))
        files.append(folder / f"{number:02d}.jsonl")
        files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


def _text(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return "\u200b"  # a text, but no word
    sentences = [
        f"The {chance.choice(NOUNS)} {chance.choice(VERBS)} {' '.join(chance.choices(REST, k=3))}."
        for _ in range(chance.randint(1, 4))
    ]
    return " ".join(sentences)


def corpus(files: Sequence[Path], on_error: str = "stop") -> Corpus:
    return open_corpus(list(files), ReadOptions(on_error=on_error))  # type: ignore[arg-type]


def options(**given: object) -> BuildOptions:
    return BuildOptions(**{"memory": MEMORY, **given})  # type: ignore[arg-type]


def tree(path: Path) -> dict[str, bytes]:
    """Every file of an index but the lock and the record of what was checked."""
    return {
        name: data
        for name, data in state_of(path).items()
        if data is not None and name.rpartition("/")[2] not in ("lock", "checked.json")
    }


def assert_holds(path: Path, documents: Sequence[Document], layers: Sequence[str]) -> None:
    """The index holds exactly these documents, annotated and sorted as the slow way has it."""
    opened = open_index(path)
    assert opened.manifest.documents == len(documents)
    assert opened.manifest.layers[0] == "word"
    assert set(opened.manifest.layers) == {"word", *layers}
    place = 0
    for segment in opened.segments:
        held = segment.documents
        mine = documents[place : place + len(held)]
        place += len(held)
        assert held.ids() == [document.id for document in mine]
        assert [held.text(i) for i in range(len(held))] == [document.text for document in mine]
        assert [held.meta(i) for i in range(len(held))] == [document.meta for document in mine]
        assert [held.author.of(i) for i in range(len(held))] == [
            document.meta.get("author") for document in mine
        ]
        fresh = annotators.get("rote")(mine, layers)
        made = {**fresh.layers, **fresh.trees}
        for name in ("word", *layers):
            column, frame = segment.columns[name], segment.positions_of(name)
            texts = [made[name].items(i) for i in range(len(mine))]
            expected = twins.column(texts)
            assert column.vocabulary.strings() == expected.vocabulary.strings()
            assert column.ids.all().tolist() == expected.ids.all().tolist()
            assert frame.document_ends.tolist() == expected.document_ends.tolist()
            assert (column.suffixes is not None) == (name in opened.manifest.sorted_layers)
            if column.suffixes is not None:
                ids = column.ids.all()
                assert suffixes(ids, column.suffixes.order.all()) == suffixes(
                    ids, np.array(twins.sorted_places(ids), np.int64)
                )
    assert place == len(documents)


def suffixes(ids: np.ndarray, order: np.ndarray) -> list[list[int]]:
    """What follows each place up to the document's end; equal ones may stand in any order."""
    numbers = ids.tolist()
    return [numbers[place : numbers.index(0, place)] for place in order.tolist()]


def words(opened: Index) -> list[list[str]]:
    """All words of all documents, read from the mapped files."""
    texts: list[list[str]] = []
    for segment in opened.segments:
        column = segment.columns["lower"]
        strings, text = column.vocabulary.strings(), list[str]()
        for number in column.ids.all().tolist():
            if number:
                text.append(strings[number])
            else:
                texts.append(text)
                text = []
    return texts


def characters(path: Path, *, lowercase: bool = False) -> str:
    """A layer of subwords with an item for each character, many more than words."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "e": 1}, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    if lowercase:
        tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.save(str(path))
    return f"subwords:{path}"
