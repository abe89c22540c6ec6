"""Engines of Spark, and folders that commands make there.

Whoever imports it is skipped where pyspark or Java is missing.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rote.annotate import annotators, store
from rote.core.progress import Silent
from rote.corpus import ReadOptions, open_corpus
from rote.corpus.items import Item
from rote.curate.decontaminate import decontaminate
from rote.curate.dedup import DedupOptions
from rote.curate.dedup_folder import dedup
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.options import BYTES_PER_POSITION, BuildOptions
from rote.run import Engine, get, spark
from tests.index.folders import NOUNS, tree

pytest.importorskip("pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("no Java (on Debian: openjdk-17-jre-headless)", allow_module_level=True)

LOCAL = "spark:local[1]"
"""Spark in one process and one worker, which start quickly."""
MEMORY = 400 * BYTES_PER_POSITION
Make = Callable[..., dict[str, bytes]]


def started(name: str) -> Iterator[Engine]:
    """An engine until it is not needed any more."""
    # Executors find this folder's tests as the workers of other engines do.
    root, before = str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")
    if root not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, before]))
    # What fails is tried once more, as each time takes seconds; Spark's own number is four.
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.task.maxFailures=2 pyspark-shell"
    engine = get(name)
    yield engine
    engine._context.stop()  # type: ignore[attr-defined]


def odd_files(folder: Path) -> list[Path]:
    """A small random corpus in many forms: packed, with marks and blanks, in tables, in folders."""
    chance = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)

    def text() -> str:
        return " ".join(chance.choices(NOUNS, k=chance.randint(3, 30))) + chance.choice(".!?")

    def lines(name: str, count: int, end: str = "\n") -> bytes:
        held = [json.dumps({"id": f"{name}-{i}", "text": text()}) for i in range(count)]
        return end.join(held).encode()

    plain = {
        "a.jsonl": b"\xef\xbb\xbf" + lines("a", 40, "\r\n"),
        "b.jsonl.gz": gzip.compress(lines("b", 30, "\n\n"), mtime=0),
        "c.jsonl.zst": zstandard.compress(lines("c", 30, "\r\n")),
        "d.jsonl": lines("d", 1),
        "e.csv": ('id,text\n1,"two\nlines, ' + text() + '"\n2,' + text() + "\n").encode(),
        "f.txt": (text() + "\n\n" + text()).encode(),
        "g.jsonl": "\n\n".join(json.dumps({"text": text()}) for _ in range(20)).encode(),
    }
    for name, data in plain.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in plain]


def annotated(files: list[Path], path: Path, engine: str, **read: Any) -> dict[str, bytes]:
    corpus = open_corpus(files, ReadOptions(**read))
    rote = annotators.get("rote")
    store.annotate(corpus, path, rote, ("pos",), engine=engine, reporter=Silent())
    return tree(path)


def built(files: list[Path], path: Path, engine: str, **read: Any) -> dict[str, bytes]:
    options = BuildOptions(layers=("lower",), memory=MEMORY, engine=engine)
    build_index(open_corpus(files[:4], ReadOptions(**read)), path, options)
    add_to_index(path, open_corpus(files[4:], ReadOptions(**read)), memory=MEMORY, engine=engine)
    return tree(path)


def limited(files: list[Path], path: Path, engine: str, **read: Any) -> dict[str, bytes]:
    options = LimitOptions(n=2, max=(3,), seeds=2)
    limit(open_corpus(files, ReadOptions(**read)), path, options, engine=engine)
    return tree(path)


def deduped(files: list[Path], path: Path, engine: str, **read: Any) -> dict[str, bytes]:
    options = DedupOptions(length=4, near=0.5, shingle=2)
    dedup(open_corpus(files, ReadOptions(**read)), path, options, engine=engine)
    return tree(path)


def decontaminated(files: list[Path], path: Path, engine: str, **read: Any) -> dict[str, bytes]:
    chance = random.Random(0)
    items = [
        Item(str(n), "made", " ".join(chance.choices(NOUNS, k=3)) + " ", (chance.choice(NOUNS),), 0)
        for n in range(40)
    ]
    decontaminate(open_corpus(files, ReadOptions(**read)), items, path, engine=engine)
    return tree(path)


MAKERS = [annotated, limited, built]
"""Those that go on where they were."""
BEGUN: dict[Make, str] = {
    annotated: "s/0*.npz.zst",
    built: "s/segments/*[0-9a-f]/origin",
    limited: ".s.*/*.jsonl",
}
"""What is there for good while the folder `s` is made and not yet whole (no half segments)."""


def begin_all(home: Path) -> None:
    """All that go on, one after the other in folders of their own: as soon as something is there
    for good it takes no more pieces and waits, for ever, while the next begins. Only the last one
    goes on: whoever sees that it has begun kills it in the middle of the others, too."""
    files = sorted((home / "in").glob("*.jsonl"))
    once = spark.Spark.map

    def begun(make: Make) -> bool:
        return any((home / make.__name__).glob(BEGUN[make]))

    def until_begun(engine: Any, work: Any, items: Iterable[Any], **told: str) -> Iterator[Any]:
        def drawn() -> Iterator[Any]:
            for item in items:
                if make is not MAKERS[-1] and begun(make):
                    threading.Event().wait()
                yield item

        make = making
        return once(engine, work, drawn(), **told)

    spark.Spark.map = until_begun  # type: ignore[method-assign,assignment]
    spark._WINDOWS, spark._WINDOW = 1, 2
    for making in MAKERS:
        path = home / making.__name__ / "s"
        path.parent.mkdir()
        threading.Thread(target=making, args=(files, path, LOCAL)).start()
        while not begun(making):
            time.sleep(0.005)
