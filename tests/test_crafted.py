"""Whatever stands in the JSON files of a folder, rote reads it or says what is wrong with it.

Each file that rote reads by a name of its own is written again with one field changed to something
else or left out. What comes of it is what it always was, or an error that names the file.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rote.annotate import annotators, store
from rote.cli.commands.report import saved_study
from rote.core.errors import RoteError
from rote.core.json_reader import read_json
from rote.core.progress import Silent
from rote.core.result import read_results
from rote.corpus import open_corpus
from rote.corpus.items import Item
from rote.curate.decontaminate import decontaminate
from rote.curate.dedup_folder import dedup
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit
from rote.curate.pairs import SubsetOptions, subset_file
from rote.index.factory import open_index
from rote.index.folders.build import build_index
from rote.index.folders.folder import CHECKED
from rote.index.folders.manifest import MANIFEST
from rote.models.options import ModelOptions, open_model
from rote.report.texts.ledger import find_ledger, write_page
from rote.search.patterns import read_patterns
from rote.studies._popularity_scores import Deciles, DecileScale
from rote.studies._source_table import _read_rows
from rote.web.history import History
from tests.core.test_result_files import RESULT
from tests.index import hostile
from tests.index.folders import corpus, options, write_files
from tests.models import tiny
from tests.report.made_report import study
from tests.test_links import interrupted, texts

TEXT = "The ferry was late again near the old quay, and nobody waited for it in the cold rain."
TRIES = 40
"""Changes of each file, the same ones every time."""
GONE = object()
VALUES: tuple[Any, ...] = (
    GONE,
    None,
    True,
    "x",
    "",
    "../x",
    -1,
    0,
    1.5,
    10**30,
    float("nan"),
    [],
    {},
    [[]],
    ["x", "x"],
    {"x": 1},
    json.loads("[" * 150 + "]" * 150),
)


@dataclass(frozen=True)
class Case:
    """How a file comes to be, where it is, how it is written, and who reads it."""

    make: Callable[[Path], object]
    file: str
    read: Callable[[Path], object]
    write: Callable[[Path, Any], object] = field(
        default=lambda path, held: path.write_text(json.dumps(held))
    )
    named_by_user: bool = False
    """A pipe may stand in its place, and is waited for."""


def indexed(home: Path) -> None:
    build_index(corpus(write_files(home / "in", 0, 3)), home / "idx", options(memory=2**30))


def listed(path: Path, held: Any) -> None:
    """A manifest, with a checksum that fits."""
    if isinstance(held, dict):
        hostile.write_manifest(path.parent, dict(held))
    else:
        path.write_text(json.dumps(held))


def sealed(path: Path, held: Any) -> None:
    """A part's description, with checksums that fit."""
    path.write_text(json.dumps(held, indent=1))
    hostile._mend_manifest(path.parents[3])
    (path.parents[3] / CHECKED).unlink(missing_ok=True)


def asked(home: Path) -> None:
    index = open_index(home / "idx")
    index.count("the")
    index.document("0-0")


def annotated(home: Path) -> None:
    store.annotate(
        open_corpus(texts(home)), home / "st", annotators.get("rote"), ("pos",), reporter=Silent()
    )


def limited(home: Path) -> None:
    limit(open_corpus(texts(home)), home / "out", LimitOptions(max=(1,), seeds=1))
    subset_file(SubsetOptions(home / "out", theta=1), 0)


def deduplicated(home: Path) -> None:
    dedup(open_corpus(texts(home)), home / "work" / "out")
    shown(home)


def decontaminated(home: Path) -> None:
    item = Item("1", "task", TEXT, ("yes", "no"), 0)
    made = decontaminate(open_corpus(texts(home)), [item], home / "work" / "out")
    sorted(made.rows, key=lambda row: (-row["score"], -row["bits"]))
    shown(home)


def shown(home: Path) -> None:
    record = find_ledger(home / "work" / "out")
    if record is not None and record.ledger:
        write_page(home / "work" / "out", record.ledger, "page")


def working(work: Callable[[Path], object]) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        (home / "work").mkdir()
        work(home)

    return make


def first_line(path: Path, held: Any) -> None:
    rest = path.read_text().splitlines()[1:]
    path.write_text("\n".join([json.dumps(held), *rest]) + "\n")


def kept_study(home: Path) -> None:
    (home / "study.json").write_text(study().to_json())


def served(home: Path) -> None:
    from rote.web.database import prepare_store

    prepare_store(home / "store")
    History(home / "store").read_in(home / "study.json")


def saved(home: Path) -> None:
    (home / "result.json").write_text(RESULT.to_json())


def modelled(home: Path) -> None:
    tiny.write_model(home / "m", tiny.PLAIN)
    (home / "m" / "generation_config.json").write_text('{"eos_token_id": [0]}')
    (home / "m" / "tokenizer_config.json").write_text('{"bos_token": {"content": "x"}}')


def opened(home: Path) -> None:
    open_model(f"numpy:{home / 'm'}", ModelOptions(), Silent())


def trained(home: Path) -> None:
    (home / "seed-0").mkdir()
    account = {"settings": {"of": "a"}, "updates": 2, "loss": [0.5], "validation": [[1, 0.5]]}
    (home / "seed-0" / "training.json").write_text(json.dumps(account))


def read_finished(home: Path) -> None:
    from rote.models.training.loop import read_finished

    read_finished(home / "seed-0", {"of": "a"})


def deciled(home: Path) -> None:
    scale = DecileScale(2, "rote", "ud", "idx", "sig", {"task": Deciles(tuple(range(9)), 5)})
    scale.write(home / "deciles.json")


def written(name: str, held: Any) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(json.dumps(held))

    return make


NEXT = {"": {"the": 0.5}, "the": {"hen": 1.0}}
CASES = {
    "index": Case(indexed, f"idx/{MANIFEST}", asked, listed),
    "part": Case(indexed, "idx/segments/*/documents/part.json", asked, sealed),
    "layer": Case(indexed, "idx/segments/*/lower/part.json", asked, sealed),
    "checked": Case(indexed, f"idx/{CHECKED}", asked),
    "store": Case(
        annotated, f"st/{store.MANIFEST}", lambda home: list(store.open_store(home / "st").pieces())
    ),
    "store again": Case(annotated, f"st/{store.MANIFEST}", annotated),
    "limit": Case(limited, "out/manifest.json", limited),
    "dedup": Case(working(deduplicated), "work/out/manifest.json", deduplicated),
    "dedup's ledger": Case(
        working(deduplicated), "work/out/removed.jsonl", deduplicated, first_line
    ),
    "dedup's notes": Case(
        interrupted(deduplicated), "work/.out.*/finished/*/texts.jsonl.json", deduplicated
    ),
    "decontaminate": Case(working(decontaminated), "work/out/manifest.json", decontaminated),
    "decontaminate's ledger": Case(
        working(decontaminated), "work/out/found.jsonl", decontaminated, first_line
    ),
    "decontaminate's notes": Case(
        interrupted(decontaminated), "work/.out.*/finished/texts.jsonl.json", decontaminated
    ),
    "result": Case(
        saved,
        "result.json",
        lambda home: read_results(home / "result.json", tables=True),
        named_by_user=True,
    ),
    "result as a table": Case(
        saved,
        "result.json",
        lambda home: list(_read_rows(home / "result.json")),
        named_by_user=True,
    ),
    "study": Case(kept_study, "study.json", lambda home: saved_study([home / "study.json"])),
    "study in the app": Case(kept_study, "study.json", served, named_by_user=True),
    "training": Case(trained, "seed-0/training.json", read_finished),
    "data set": Case(
        written("set/dataset_dict.json", {"splits": ["train"]}),
        "set/dataset_dict.json",
        lambda home: list(open_corpus(home / "set")),
    ),
    "config": Case(modelled, "m/config.json", opened),
    "tokenizer": Case(modelled, "m/tokenizer.json", opened),
    "tokenizer's config": Case(modelled, "m/tokenizer_config.json", opened),
    "generation": Case(modelled, "m/generation_config.json", opened),
    "deciles": Case(
        deciled,
        "deciles.json",
        lambda home: DecileScale.read(home / "deciles.json"),
        named_by_user=True,
    ),
    "next words": Case(
        written("next.json", NEXT),
        "next.json",
        lambda home: open_model(f"fake:{home / 'next.json'}", ModelOptions(), Silent()),
        named_by_user=True,
    ),
    "patterns": Case(
        written("patterns.json", {"not but": ["not [] but"], "x": "the"}),
        "patterns.json",
        lambda home: read_patterns(str(home / "patterns.json")),
        named_by_user=True,
    ),
}


def paths(held: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values in it; of a list, to the first and the last."""
    yield before
    if isinstance(held, dict):
        for name in held:
            yield from paths(held[name], (*before, name))
    elif isinstance(held, list):
        for number in sorted({0, len(held) - 1}) if held else ():
            yield from paths(held[number], (*before, number))


def changed(held: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return None if value is GONE else value
    made = copy.deepcopy(held)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_field_that_is_something_else_is_an_error_with_the_file(
    name: str, tmp_path: Path
) -> None:
    case = CASES[name]
    case.make(tmp_path)
    (file, *_) = sorted(tmp_path.glob(case.file))
    data = file.read_text()
    held = read_json(file) if file.suffix == ".json" else json.loads(data.splitlines()[0])
    every = [(path, value) for path in paths(held) for value in VALUES]
    drawn = random.Random(0).sample(every, min(TRIES, len(every)))
    refused = 0
    for path, value in drawn:
        case.write(file, changed(held, path, value))
        try:
            case.read(tmp_path)
        except RoteError as error:
            refused += 1
            shown = str(error)
            assert str(tmp_path) in shown, (path, value, shown)
        except Exception as error:
            raise AssertionError(f"{path} = {value!r}: {error!r}") from error
        if not file.exists():  # a command that went on has taken it
            break
        file.write_text(data)
    assert refused or name in ("checked", "steps of the app") or name.endswith("notes")


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_holds_no_json_at_all_is_an_error_with_the_file(
    name: str, tmp_path: Path
) -> None:
    case = CASES[name]
    case.make(tmp_path)
    (file, *_) = sorted(tmp_path.glob(case.file))
    for text in (b"", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"\x00", b"{", b"9" * 5_000):
        file.write_bytes(text)
        try:
            case.read(tmp_path)
        except RoteError as error:
            shown = str(error)
            assert str(tmp_path) in shown, (text[:20], shown)
        if not file.exists():
            return
    if case.named_by_user:
        return
    file.unlink()
    os.mkfifo(file)
    with suppress(RoteError, OSError):  # and does not wait for ever
        case.read(tmp_path)
