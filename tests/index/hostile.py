"""Indexes that a stranger has written: every checksum fits, and what they hold makes no sense.

A child that may crash opens each and asks it everything.
"""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from rote.core.errors import RoteError
from rote.corpus import open_corpus
from rote.index.columns.packed_array import PackedArray, pack
from rote.index.factory import open_index
from rote.index.folders.folder import CHECKED, verify_index
from rote.index.folders.manifest import MANIFEST
from rote.index.index import Index
from rote.index.segments.part import SEAL, checksum

ROOM = 6 << 30
"""Bytes of address space that a child may use beside what it has once all is imported."""
WORDS = [-1, 0, 1, 2, 7, 63, 64, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1]


def tamper(index: Path, file: Path, draw: random.Random) -> str:
    """Change one file of an index in some way, and mend all checksums above it."""
    if file.name == SEAL:
        held = json.loads(file.read_text())
        name = draw.choice(sorted(held["files"]))
        field = draw.choice(["type", "bytes", "bits", "length"])
        value: Any = draw.choice(["int64", "uint8", "packed"] if field == "type" else WORDS)
        held["files"][name][field] = value
        file.write_text(json.dumps(held, indent=1))
        what = f"{name}.{field} = {value}"
    else:
        if file.name in ("order", "table") and draw.random() < 0.7:
            data, what = (_shuffled if file.name == "order" else _moved)(file, draw)
        else:
            data, what = _changed(file.read_bytes(), draw)
        file.unlink()  # whoever still has it mapped keeps what it was
        file.write_bytes(data)
        _mend_seal(file)
    _mend_manifest(index)
    (index / CHECKED).unlink(missing_ok=True)
    return f"{file.relative_to(index)}: {what}"


def _shuffled(file: Path, draw: random.Random) -> tuple[bytes, str]:
    """Sorted places that are all there, in another order: nothing but sorting would notice."""
    held = _packed(file)
    places = held.all().tolist()
    way = draw.choice(["shuffled", "reversed", "turned", "the same", "two exchanged"])
    if way == "shuffled":
        draw.shuffle(places)
    elif way == "reversed":
        places.reverse()
    elif way == "turned":
        places = places[len(places) // 3 :] + places[: len(places) // 3]
    elif way == "the same":
        places = [max(places)] * len(places)
    else:
        one, two = draw.randrange(len(places)), draw.randrange(len(places))
        places[one], places[two] = places[two], places[one]
    return pack(np.array(places, np.int64), held.bits).data.tobytes(), way


def _moved(file: Path, draw: random.Random) -> tuple[bytes, str]:
    """A table that ascends from 0 to where it did, but otherwise anyhow."""
    held = _packed(file)
    table = held.all()
    inner = sorted(draw.randint(0, int(table[-1])) for _ in table[1:-1])
    table[1:-1] = inner if draw.random() < 0.7 else draw.choice([0, int(table[-1])])
    return pack(table, held.bits).data.tobytes(), "moved"


def _packed(file: Path) -> PackedArray:
    record = json.loads((file.parent / SEAL).read_text())["files"][file.name]
    return PackedArray(np.frombuffer(file.read_bytes(), np.uint8), record["bits"], record["length"])


def _changed(data: bytes, draw: random.Random) -> tuple[bytes, str]:
    new, size = bytearray(data), draw.choice([1, 4, 8])
    way = draw.choice(["byte", "word", "word", "swap", "fill", "cut", "double"])
    if not new or way == "cut":
        return bytes(new[: draw.randrange(len(new) + 1) // 8 * 8]), "cut"
    if way == "double":
        return bytes(new + new), "doubled"
    at = draw.randrange(max(1, len(new) // size)) * size
    if way == "byte":
        new[draw.randrange(len(new))] = draw.randrange(256)
    elif way == "word":
        word = draw.choice(WORDS) % (1 << (8 * size))
        new[at : at + size] = word.to_bytes(size, "little")[: len(new) - at]
    elif way == "swap":
        other = draw.randrange(max(1, len(new) // size)) * size
        if max(at, other) + size <= len(new):
            one, two = new[at : at + size], new[other : other + size]
            new[at : at + size], new[other : other + size] = two, one
    else:
        new[:] = bytes([draw.choice([0, 1, 127, 128, 255])]) * len(new)
    return bytes(new), f"{way} {size} at {at}"


def _mend_seal(file: Path) -> None:
    """The description of a part says of the file what it is now."""
    seal = file.parent / SEAL
    held = json.loads(seal.read_text())
    record, data = held["files"][file.name], file.read_bytes()
    record["bytes"] = len(data)
    record["checksum"] = blake2b(data, digest_size=16).hexdigest()
    if record["type"] == "packed":
        record["length"] = max(0, len(data) - 8) * 8 // record["bits"]
        # So many that the size fits, if there are any.
        while record["length"] and (record["length"] * record["bits"] + 7) // 8 + 8 > len(data):
            record["length"] -= 1
    seal.write_text(json.dumps(held, indent=1))


def _mend_manifest(index: Path) -> None:
    held = json.loads((index / MANIFEST).read_text())
    for segment in held["segments"]:
        for part in (*segment["record"]["parts"], segment["origin"]):
            seal = index / "segments" / segment["name"] / part["folder"] / SEAL
            part["checksum"] = checksum(seal.read_bytes())
    write_manifest(index, held)


def write_manifest(index: Path, held: dict[str, Any]) -> None:
    """The manifest with a checksum that fits."""
    held.pop("checksum", None)
    body = json.dumps(held, indent=1)
    held["checksum"] = blake2b(body.encode(), digest_size=16).hexdigest()
    (index / MANIFEST).write_text(json.dumps(held, indent=1) + "\n")


def questions(index: Index) -> list[Callable[[], Any]]:
    """Everything that an index can be asked, each by itself."""
    from rote.search.index_language_model import BackOff
    from rote.search.originality.originals import find_originals
    from rote.search.rows.matches import count_forms, search_index, sort_matches
    from rote.search.trace.options import TraceOptions
    from rote.search.trace.trace import trace

    text = "The ferry was late again near the old quay. Nobody waited; the gull sang slowly."
    grams = [["the"], ["the", "old"], ["was", "late", ","], ["near", "the", "old", "quay"], ["."]]
    asked: list[Callable[[], Any]] = [
        lambda: [index.count(gram) for gram in grams],
        lambda: index.counts(grams * 40),
        lambda: index.document_counts(grams * 40),
        lambda: index.author_counts(grams),
        lambda: [index.documents(gram) for gram in grams],
        lambda: [index.authors(gram) for gram in grams],
        lambda: [index.context(place) for gram in grams for place in index.places(gram)],
        lambda: index.places(["the"], 2),
        lambda: index.longest(text),
        lambda: index.longest(" ".join([text] * 20)),
        lambda: [index.extend(gram) for gram in ([], *grams)],
        lambda: list(index.vocabulary()),
        lambda: index.search('[lower="the"] []{0,3} "quay" within s'),
        lambda: index.search('[word="The"] []+'),
        lambda: index.matches('"the" | "near" []'),
        lambda: trace(index, open_corpus([text]), TraceOptions(min_words=1, min_bits=-1e9)).spans,
        lambda: list(find_originals(index).fragments()),
        lambda: BackOff(index).probabilities(["the", "old", "quay"]),
        lambda: count_forms(search_index(index, "the").matches),
        lambda: [
            sort_matches(search_index(index, "the").matches, sort) for sort in ("left", "right")
        ],
    ]
    for n in (1, 2, 5):
        asked += [lambda n=n: index.top(n, 3, documents=True), lambda n=n: index.top(n)]
    for segment in index.segments:
        documents = segment.documents
        for i in range(len(documents)):
            asked += [
                lambda documents=documents, i=i: documents.text(i),
                lambda documents=documents, i=i: documents.meta(i),
                lambda documents=documents, i=i: documents.find(documents.id(i)),
            ]
    return asked


def ask_everything(path: Path) -> tuple[int, int]:
    """How many questions were answered, and how many refused; opening counts as one."""
    verify_index(path)
    try:
        index = open_index(path)
    except RoteError:
        return 0, 1
    answered, refused = 1, 0
    for ask in questions(index):
        try:
            ask()
            answered += 1
        except RoteError:
            refused += 1
    return answered, refused


def serve(names: Iterable[str], answers: TextIO) -> None:
    """Ask the index of each line everything; each answer is a line too."""
    for line in names:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, resource.RLIM_INFINITY))
        answered, refused = ask_everything(Path(line.rstrip("\n")))
        answers.write(f"{answered} {refused}\n")
        answers.flush()
