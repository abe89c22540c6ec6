"""Spark gives what one process gives, byte for byte, on executors that are processes of their own.

Skipped where pyspark or Java is missing. All tests share one cluster, which takes seconds to start.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import zstandard

from rote.annotate import annotators, store
from rote.core.distribution import version
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.corpus._shard import SHARD_BYTES
from rote.index.factory import DistributedIndex, open_index
from rote.index.folders.build import build_index
from rote.index.folders.options import BuildOptions
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.run import Engine, get
from rote.run.spark import Spark
from rote.search.trace.trace import trace
from tests.index.folders import NOUNS, tree, write_files
from tests.run.clusters import (
    BEGUN,
    MAKERS,
    MEMORY,
    Make,
    annotated,
    decontaminated,
    deduped,
    limited,
    odd_files,
    started,
)
from tests.run.pieces import (
    executor,
    fail_on_three,
    letters,
    pairs_failing_on_three,
    shared_plus,
    square,
    write_on_a_full_disk,
)

CLUSTER = "spark:local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def spark() -> Iterator[Engine]:
    yield from started(CLUSTER)


@pytest.fixture(params=["serial", "processes", "spark"])
def engine(request: pytest.FixtureRequest, spark: Engine, pickling_pool: None) -> Engine:
    return spark if request.param == "spark" else get(request.param, jobs=2)


def test_results_come_in_order_and_items_are_not_drawn_all_at_once(engine: Engine) -> None:
    assert list(engine.map(square, range(20))) == [n * n for n in range(20)]
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    results = engine.map(square, items())
    assert next(results) == 0
    assert len(drawn) <= max(4 * engine.jobs, 24)
    del results


def test_an_error_in_a_piece_reaches_the_caller_whole(engine: Engine) -> None:
    with pytest.raises(InputError, match=r"^f, line 3: three$"):
        list(engine.map(fail_on_three, range(10)))


def test_groups_are_whole_and_in_one_order(engine: Engine) -> None:
    words = ["harbour", "", "gull", "ferry", "the old quay"] * 5
    found = list(engine.group(letters, words, add))
    assert found == list(get("serial").group(letters, words, add))
    assert dict(found) == {c: "".join(words).count(c) for c in "".join(words)}
    with pytest.raises(InputError, match="three"):
        list(engine.group(pairs_failing_on_three, range(5), add))


def test_a_shared_value_is_there(engine: Engine) -> None:
    shared = engine.share({"a": 1})
    assert list(engine.map(partial(shared_plus, shared), range(4))) == [1, 2, 3, 4]


@pytest.mark.parametrize("make", [*MAKERS, deduped, decontaminated])
def test_folders_are_the_same_bytes(
    make: Make, spark: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # executors work in folders of their own
    files = odd_files(Path("in"))
    there = make(files, Path("spark"), CLUSTER)
    assert there == make(files, Path("serial"), "serial")
    assert len(there) > 2


def test_addresses_are_read_where_the_work_is(spark: Engine, tmp_path: Path) -> None:
    table = pa.table({"text": [f"The {noun} sank." for noun in NOUNS] * 40})
    parquet.write_table(table, tmp_path / "h.parquet", row_group_size=100)
    files = [*odd_files(tmp_path), tmp_path / "h.parquet"]
    addresses: list[Any] = [f"file://{file}" for file in files]
    there = annotated(addresses, tmp_path / "spark", CLUSTER)
    assert there == annotated(addresses, tmp_path / "serial", "serial")
    assert len(there) > len(files)


def test_files_of_several_shards_are_cut_alike(
    spark: Engine, tmp_path: Path, pickling_pool: None
) -> None:
    chance = random.Random(0)
    lines = [
        json.dumps({"text": " ".join(chance.choices(NOUNS, k=9000)) + "."}) for _ in range(170)
    ]
    data = "\n".join(lines).encode()
    assert len(data) > 2 * SHARD_BYTES
    (tmp_path / "plain.jsonl").write_bytes(data)
    (tmp_path / "packed.jsonl.zst").write_bytes(zstandard.compress(data))
    files = [tmp_path / "plain.jsonl", tmp_path / "packed.jsonl.zst"]
    rote, found = annotators.get("rote"), []
    for engine in (CLUSTER, "processes"):
        path = tmp_path / engine
        store.annotate(
            open_corpus(files), path, rote, ("lower",), jobs=2, engine=engine, reporter=Silent()
        )
        found.append(tree(path))
    assert found[0] == found[1]
    assert len(found[0]) == 7  # three of each file, and the manifest


@pytest.mark.parametrize("make", MAKERS)
def test_ids_that_came_before_are_left_out_alike(make: Make, spark: Engine, tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 5)
    files[1].write_bytes(files[1].read_bytes() + files[0].read_bytes())
    files[3].write_bytes(files[3].read_bytes() * 2 + b"{broken\n")
    with pytest.raises(InputError) as caught:
        make(files, tmp_path / "stopped", CLUSTER)
    with pytest.raises(InputError) as here:
        make(files, tmp_path / "stopped-here", "serial")
    assert str(caught.value) == str(here.value)
    there = make(files, tmp_path / "spark", CLUSTER, on_error="skip")
    assert there == make(files, tmp_path / "serial", "serial", on_error="skip")


def test_an_index_answers_alike(spark: Engine, tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 12)
    build_index(open_corpus(files), tmp_path / "idx", BuildOptions(memory=MEMORY))
    index = open_index(tmp_path / "idx")
    assert len(index.segments) > 2
    asked = [("the",), ("the", "ferry"), ("nobody", "was"), ("never", "there")]
    for engine in (spark, get("serial")):
        spread = DistributedIndex(index, engine)
        held, other = spread.ngram_counts(asked), index.ngram_counts(asked)
        for name in ("occurrences", "documents", "authors"):
            assert np.array_equal(getattr(held, name), getattr(other, name))
        for n, k in ((1, 5), (2, 3), (3, None), (2, 10_000), (400, 5)):
            top, own = spread.top(n, k, documents=True), index.top(n, k, documents=True)
            grams = [[one.grams[i] for i in range(len(one.grams))] for one in (top, own)]
            assert grams[0] == grams[1]
            assert np.array_equal(top.counts, own.counts)
            assert np.array_equal(top.documents, own.documents)


def test_measures_and_traces_are_alike(
    spark: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_files(tmp_path / "in", 0, 8)
    build_index(open_corpus(files[:4]), tmp_path / "idx", BuildOptions(layers=("lower",)))
    from rote.core.registry import find

    names = ("lexical", "compression", "self-repetition", "templates")
    options = {name: find(name).options() for name in names}
    options["contamination"] = find("contamination").options(corpus=str(tmp_path / "idx"))
    options["overlap"] = find("overlap").options(train=str(tmp_path / "idx"), layer="lower")
    found = []
    for engine in (None, CLUSTER):
        results = compute(options, files[2:], settings=Settings(engine=engine))
        found.append([result.to_json() for result in results])
        # As if the texts were larger than memory.
        for module in ("core.ngrams", "core.arrays"):
            monkeypatch.setattr(f"rote.{module}.room", lambda: 1_000.0)
    assert found[0] == found[1]
    index = open_index(tmp_path / "idx")
    traces = [trace(index, open_corpus(files[2:]), engine=engine) for engine in (spark, None)]
    assert traces[0] == traces[1]
    assert traces[0].spans


def executors(spark: Engine) -> set[int]:
    """The processes that run tasks: the parent of a worker's parent."""
    return set(spark.map(executor, range(8)))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux who is whose parent")
def test_a_killed_executor_changes_nothing(
    spark: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All work at once, since executors start slowly; whoever has begun waits for the others, and
    then one of the executors is killed."""
    files = write_files(tmp_path / "in", 0, 16)
    expected = {make: make(files, tmp_path / f"{make.__name__}-here", "serial") for make in MAKERS}
    doomed, begun, killed, once = min(executors(spark)), set[str](), threading.Event(), Spark.map

    def until_killed(engine: Spark, work: Any, items: Iterable[Any], **told: str) -> Iterator[Any]:
        name = threading.current_thread().name

        def drawn() -> Iterator[Any]:
            for item in items:
                assert name not in begun or killed.wait(100)
                yield item

        return once(engine, work, drawn(), **told)

    monkeypatch.setattr(Spark, "map", until_killed)
    monkeypatch.setattr("rote.run.spark._WINDOWS", 1)
    monkeypatch.setattr("rote.run.spark._WINDOW", 2)
    found: dict[Make, dict[str, bytes]] = {}

    def work(make: Make) -> None:
        home = tmp_path / make.__name__
        home.mkdir()
        found[make] = make(files, home / "s", CLUSTER)

    threads = [threading.Thread(target=work, args=(make,), name=make.__name__) for make in MAKERS]
    for thread in threads:
        thread.start()
    while len(begun) < len(MAKERS) and all(thread.is_alive() for thread in threads):
        begun |= {m.__name__ for m in MAKERS if any((tmp_path / m.__name__).glob(BEGUN[m]))}
        time.sleep(0.005)
    alive = [thread.name for thread in threads if thread.is_alive()]
    os.kill(doomed, signal.SIGKILL)
    killed.set()
    for thread in threads:
        thread.join()
    assert len(begun) == len(alive) == len(MAKERS), (begun, alive)
    assert found == expected
    monkeypatch.undo()
    assert doomed not in executors(spark)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of all makers, begun by a driver that was killed with all its processes."""
    home = tmp_path_factory.mktemp("killed")
    write_files(home / "in", 0, 16)
    script = "import sys; from tests.run.clusters import *; begin_all(Path(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(home)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, start_new_session=True, stderr=quiet) as child:
        last = MAKERS[-1]
        while child.poll() is None and not any((home / last.__name__).glob(BEGUN[last])):
            time.sleep(0.005)
        os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    return home


@pytest.mark.parametrize("make", MAKERS)
def test_a_killed_driver_goes_on_where_it_was(
    make: Make, spark: Engine, killed: Path, tmp_path: Path
) -> None:
    files, path = sorted((killed / "in").iterdir()), killed / make.__name__ / "s"
    expected = make(files, tmp_path / "serial", "serial")
    done = {place: place.stat().st_mtime_ns for place in path.parent.glob(BEGUN[make])}
    assert done
    assert tree(path) != expected
    assert make(files, path, CLUSTER) == expected
    assert [place.name for place in path.parent.iterdir()] == ["s"]
    if make is not limited:
        assert all(place.stat().st_mtime_ns == when for place, when in done.items())


@pytest.mark.parametrize("make", MAKERS)
def test_copies_of_a_task_do_no_harm(
    make: Make, spark: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark does slow tasks twice at once if `spark.speculation` is set; here all are."""
    once = Spark.map

    def twice(engine: Spark, work: Any, items: Iterable[Any], **told: str) -> Iterator[Any]:
        both = once(engine, work, (item for item in items for _ in range(2)), **told)
        return (one for one, _ in zip(both, both))

    files = write_files(tmp_path / "in", 0, 8)
    with monkeypatch.context() as patched:
        patched.setattr(Spark, "map", twice)
        found = make(files, tmp_path / "s", CLUSTER)
    assert found == make(files, tmp_path / "serial", "serial")


def test_an_executor_with_another_rote_is_told_so(
    spark: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.run.spark.version", lambda: "9.9")
    with pytest.raises(
        OptionError, match=r"executor on \S+ has rote .*, and this machine has rote 9\.9"
    ):
        list(spark.map(square, range(3)))


def test_an_executor_without_rote_is_told_so_before_any_work(
    spark: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("pyspark", "py4j"):
        found = importlib.util.find_spec(name)
        assert found is not None
        (packages / name).symlink_to(Path(str(found.origin)).parent)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark._context, "pythonExec", str(python))  # type: ignore[attr-defined]
    said = rf"the executor on \S+ has no rote .* needs rote {re.escape(version())}"
    with pytest.raises(OptionError, match=said):
        Spark(CLUSTER.partition(":")[2])


def test_a_lost_file_and_a_full_disk_are_said_with_host_and_task(
    spark: Engine, tmp_path: Path
) -> None:
    files = write_files(tmp_path / "in", 0, 3)
    corpus = open_corpus(files)
    assert corpus.guesses
    files[1].unlink()
    rote = annotators.get("rote")
    with pytest.raises(RoteError, match=r"01\.jsonl.*no such file.*on \S+, task 2, while"):
        store.annotate(corpus, tmp_path / "s", rote, ("pos",), engine=spark, reporter=Silent())
    write = partial(write_on_a_full_disk, tmp_path / "piece")
    with pytest.raises(InputError, match=r"/piece: .*too large \(on \S+, task 4, while writing\)"):
        list(spark.map(write, range(6), doing="writing"))
    assert not list(tmp_path.glob("*piece*"))
