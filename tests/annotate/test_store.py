"""A store gives back what was annotated, goes on after an interruption, and refuses to mix."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from rote.annotate import annotators, store
from rote.annotate.pieces import content_of
from rote.core.arrays import unpack
from rote.core.document import Annotation
from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer
from rote.core.locked_folder import LOCK
from rote.core.progress import Silent
from rote.corpus import open_corpus

TEXTS = {
    "human": ["The ferry was late. Nobody minded.", "Rain again!"],
    "model": ["It is a testament to rain.", "\U0001f642", "12345", "שלום עולם", "a\tb\x07c"],
}
LAYERS = ("lower", "lemma", "upos", "pos", "dep", "shape", "entity", "dep-bfs")


def make(path: Path, texts: object = TEXTS, layers: tuple[str, ...] = LAYERS) -> store.Store:
    made, _ = store.annotate(
        open_corpus(texts),  # type: ignore[arg-type]
        path,
        annotators.get("rote"),
        layers,
        jobs=1,
        reporter=Silent(),
    )
    return made


def same(a: Layer, b: Layer) -> bool:
    columns = ("ids", "starts", "ends", "text_ends", "sentence_ends")
    return tuple(a.vocabulary) == tuple(b.vocabulary) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in columns
    )


def test_what_was_annotated_comes_back(tmp_path: Path) -> None:
    made = make(tmp_path / "s")
    documents = list(open_corpus(TEXTS))
    by_document = {d.id: d for d in documents}
    assert made.documents == len(documents)
    assert made == store.open_store(tmp_path / "s")
    for batch, held in made.pieces():
        fresh: Annotation = annotators.get("rote")(batch.documents, LAYERS)
        assert [d.text for d in batch.documents] == [
            by_document[d.id].text for d in batch.documents
        ]
        assert [d.meta for d in batch.documents] == [
            by_document[d.id].meta for d in batch.documents
        ]
        assert set(held.layers) == set(fresh.layers)
        assert all(same(held.layers[name], fresh.layers[name]) for name in fresh.layers)
        assert all(same(held.trees[name], fresh.trees[name]) for name in fresh.trees)
        assert held.heads is not None
        assert fresh.heads is not None
        assert np.array_equal(held.heads, fresh.heads)


@pytest.mark.usefixtures("pickling_pool")
def test_the_number_of_jobs_changes_no_byte(tmp_path: Path) -> None:
    texts = [f"Text {n} of the ferry. It is late." for n in range(50)]
    paths = []
    for jobs in (1, 2):
        path = tmp_path / str(jobs)
        annotator = annotators.get("rote")
        store.annotate(open_corpus(texts), path, annotator, ("pos",), jobs=jobs, reporter=Silent())
        paths.append(sorted((p.name, p.read_bytes()) for p in path.iterdir()))
    assert paths[0] == paths[1]


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s"
    finished = make(path)
    (path / store.MANIFEST).unlink()
    (path / finished.files[-1]).unlink()
    kept = (path / finished.files[0]).stat().st_mtime_ns
    with pytest.raises(InputError, match="no finished store"):
        store.open_store(path)
    assert make(path) == finished
    assert (path / finished.files[0]).stat().st_mtime_ns == kept


def test_other_layers_or_annotators_are_refused(tmp_path: Path) -> None:
    make(tmp_path / "s", layers=("pos",))
    with pytest.raises(OptionError, match="cannot be mixed: choose another folder"):
        make(tmp_path / "s", layers=("pos", "lemma"))


def test_changed_input_replaces_the_pieces(tmp_path: Path) -> None:
    path = tmp_path / "s"
    old = make(path, ["One text."], ("pos",))
    new = make(path, ["Another text."], ("pos",))
    assert old.files != new.files
    assert {p.name for p in path.iterdir()} == {store.MANIFEST, LOCK, *new.files}


def test_changed_fields_replace_the_pieces(tmp_path: Path) -> None:
    source, path = tmp_path / "one.jsonl", tmp_path / "s"
    for author in ("Ada", "Bo"):
        source.write_text(f'{{"id": "1", "text": "The ferry was late.", "author": "{author}"}}')
        ((batch, _),) = make(path, source, ("pos",)).pieces()
        assert batch.documents[0].meta["author"] == author


def test_a_damaged_piece_of_an_interrupted_run_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "s"
    finished = make(path)
    place = path / finished.files[0]
    whole = place.read_bytes()
    (path / store.MANIFEST).unlink()
    place.write_bytes(whole[: len(whole) // 2])
    assert make(path) == finished
    assert place.read_bytes() == whole


def test_a_piece_is_named_after_its_content(tmp_path: Path) -> None:
    made = [make(tmp_path / name, layers=layers) for name, layers in (("a", ("pos",)), ("b", ()))]
    contents = [[content_of(file) for file in one.files] for one in made]
    assert contents[0] == contents[1]
    assert set(made[0].files).isdisjoint(made[1].files)
    with pytest.raises(InputError, match="older version of rote"):
        content_of("000000-0123456789abcdef.npz.zst")


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(OptionError, match="other files in it"):
        make(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_files_of_others_are_never_removed(tmp_path: Path) -> None:
    make(tmp_path, ["One text."], ("pos",))
    (tmp_path / "mine.npz.zst").write_text("mine")
    (tmp_path / ".notes.12345678").write_text("mine")
    make(tmp_path, ["Another text."], ("pos",))
    assert (tmp_path / "mine.npz.zst").read_text() == "mine"
    assert (tmp_path / ".notes.12345678").read_text() == "mine"
    (tmp_path / store.MANIFEST).unlink()
    with pytest.raises(OptionError, match=r"other files in it \(.notes.12345678\)"):
        make(tmp_path, ["Another text."], ("pos",))
    with pytest.raises(OptionError, match="is a file"):
        make(tmp_path / "mine.npz.zst")


def test_a_damaged_manifest_says_what_to_do_and_that_helps(tmp_path: Path) -> None:
    made = make(tmp_path / "s")
    manifest = tmp_path / "s" / store.MANIFEST
    whole = manifest.read_bytes()
    for damage in (whole[: len(whole) // 2], b"[]", b"", b"\xff"):
        manifest.write_bytes(damage)
        with pytest.raises(InputError, match="Remove this file, and run `rote annotate`"):
            make(tmp_path / "s")
    manifest.unlink()
    assert make(tmp_path / "s") == made
    assert manifest.read_bytes() == whole


def test_damage_is_noticed(tmp_path: Path) -> None:
    made = make(tmp_path / "s")
    place = tmp_path / "s" / made.files[0]
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"):
        list(made.pieces())
    place.unlink()
    with pytest.raises(InputError, match="missing"):
        list(made.pieces())


def test_a_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "s")
    manifest = tmp_path / "s" / store.MANIFEST
    manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(InputError, match="format 99"):
        store.open_store(tmp_path / "s")
    manifest.write_text("{}")
    with pytest.raises(InputError, match=r"rote-store\.json, field 'format': is missing"):
        store.open_store(tmp_path / "s")


@pytest.mark.parametrize(
    ("field", "values", "said"),
    [
        ("files", lambda held: held + held, r"field 'files\[\d\]': is '.*', as files\[0\] is"),
        # The same documents under another number.
        ("files", lambda held: [*held, f"000009{held[0][6:]}"], r"field 'files\[\d\]': is"),
        (
            "files",
            lambda held: [f"../s/{held[0]}"],
            r"field 'files\[0\]': is .* not the name of a piece",
        ),
        (
            "files",
            lambda held: [held[0], f"./{held[0]}"],
            r"field 'files\[\d\]': is .* not the name of a piece",
        ),
        (
            "layers",
            lambda held: [*held, "pos"],
            r"field 'layers\[8\]': is 'pos', as layers\[3\] is",
        ),
    ],
)
def test_a_store_names_each_thing_once_and_nothing_outside(
    tmp_path: Path, field: str, values: Callable[[list[str]], list[str]], said: str
) -> None:
    make(tmp_path / "s")
    manifest = tmp_path / "s" / store.MANIFEST
    held = json.loads(manifest.read_text())
    held[field] = values(held[field])
    manifest.write_text(json.dumps(held))
    with pytest.raises(InputError, match=said):
        store.open_store(tmp_path / "s")


def test_layers_asked_for_twice_are_made_once(tmp_path: Path) -> None:
    assert make(tmp_path / "s", layers=("pos", "lower", "pos")).layers == ("pos", "lower")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pos.ids", lambda array: array + 99),
        ("starts", lambda array: array + 999),
        ("starts", lambda array: array[1:]),
        ("lengths", lambda array: array * 0 + 255),
        ("text_ends", lambda array: array[::-1]),
        ("heads", lambda array: array + 1000),
        ("documents", lambda array: np.frombuffer(b"[" * 5000, np.uint8)),
        ("documents", lambda array: np.frombuffer(b"[1, 2]", np.uint8)),
        ("about", lambda array: np.frombuffer(b"[" * 5000, np.uint8)),
        ("about", lambda array: np.frombuffer(b'{"layers": 3}', np.uint8)),
        ("word.vocabulary", lambda array: np.frombuffer(b"{}", np.uint8)),
    ],
)
def test_a_piece_that_leads_out_of_its_texts_is_refused(
    tmp_path: Path, name: str, change: Callable[[Any], Any]
) -> None:
    made = make(tmp_path / "s", {"human": TEXTS["human"]})
    place = tmp_path / "s" / made.files[0]
    arrays, about = unpack(place.read_bytes(), "piece")
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    plain = io.BytesIO()
    np.savez(plain, **{**arrays, name: change(arrays[name])})
    place.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    with pytest.raises(InputError, match=re.escape(place.name)):
        list(made.pieces())
