"""An index holds what went in, in order, however it was built, grown, merged or extended."""

from __future__ import annotations

from pathlib import Path

import pytest

from rote.annotate import annotators, store
from rote.annotate.annotators.rote import RoteAnnotator
from rote.annotate.pieces import AnnotateShard
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.numbers import parse_memory
from rote.core.progress import Silent
from rote.index.factory import open_index
from rote.index.folders.build import QueuedPiece, SealTask, add_to_index, build_index
from rote.index.folders.folder import PIECES, verify_index
from rote.index.folders.maintenance import add_layer, merge_index
from rote.index.folders.manifest import SEGMENTS, read_manifest, recipe_of
from rote.index.folders.options import BYTES_PER_POSITION, BuildOptions, parse_layers
from rote.index.folders.source import estimate_build
from tests.index.folders import MEMORY, assert_holds, characters, corpus, options, tree, write_files
from tests.kit import Heard

LAYERS = ("lower", "pos")


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def test_an_index_holds_its_documents_in_order(tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "idx"
    written = build_index(corpus(files), path, options())
    assert_holds(path, list(corpus(files)), LAYERS)
    assert len(written.manifest.segments) > 2
    assert written.added == written.manifest.documents == 21
    assert written.manifest.fingerprint == corpus(files).fingerprint
    assert read_manifest(path) == written.manifest
    assert verify_index(path) == []
    assert {place.name for place in path.iterdir()} == {
        *("rote-index.json", "segments", "tokenizers", "lock", "checked.json")
    }


@pytest.mark.usefixtures("pickling_pool")
def test_the_number_of_jobs_changes_no_byte(tmp_path: Path, files: list[Path]) -> None:
    for jobs in (1, 2):
        path = tmp_path / str(jobs)
        build_index(corpus(files), path, options(jobs=jobs))
        add_layer(path, "lemma", jobs=jobs)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")


def test_a_failing_input_leaves_no_half_segment_and_keeps_what_is_annotated(
    tmp_path: Path, files: list[Path]
) -> None:
    """The segment is written while pieces come; one that they stop coming for is dropped."""
    bad = tmp_path / "zz.jsonl"
    bad.write_text("no JSON\n", encoding="utf-8")
    path = tmp_path / "idx"
    with pytest.raises(InputError):
        build_index(corpus([*files, bad]), path, options(memory=2**30))
    assert list((path / "segments").iterdir()) == []
    assert len(list((path / "pieces").iterdir())) == len(files)
    build_index(corpus(files), path, options(memory=2**30))
    assert_holds(path, list(corpus(files)), LAYERS)


def test_adding_and_merging_give_what_building_at_once_gives(
    tmp_path: Path, files: list[Path]
) -> None:
    path, whole = tmp_path / "idx", tmp_path / "whole"
    build_index(corpus(files[:3]), path, options())
    grown = add_to_index(path, corpus(files[3:]), memory=MEMORY)
    assert (grown.added, grown.manifest.documents, grown.manifest.generation) == (12, 21, 2)
    assert_holds(path, list(corpus(files)), LAYERS)
    before = len(grown.manifest.segments)
    some = merge_index(path, memory=2 * MEMORY)
    assert 1 < len(some.segments) < before
    assert_holds(path, list(corpus(files)), LAYERS)
    merged = merge_index(path)
    assert len(merged.segments) == 1
    assert_holds(path, list(corpus(files)), LAYERS)
    built = build_index(corpus(files), whole, options(memory=2**30)).manifest
    # To the last byte the same layers.
    both = [
        [part for part in manifest.segments[0].record.parts if part.kind == "layer"]
        for manifest in (merged, built)
    ]
    assert both[0] == both[1]
    assert merged.fingerprint == built.fingerprint
    assert verify_index(path) == []
    assert [place.name for place in (path / "segments").iterdir()] == [merged.segments[0].name]


def test_merging_what_cannot_be_joined_changes_nothing(tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files), path, options())
    before, heard = tree(path), Heard()
    merge_index(path, memory=1, reporter=heard)
    assert tree(path) == before
    assert "none of them can be merged" in heard.lines[0]


def test_layers_can_be_added_afterwards(tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files), path, options(layers=("lower",)))
    for name in ("lemma", "word", "dep-bfs", "shape"):
        add_layer(path, name)
    assert read_manifest(path).sorted_layers == ("lower", "lemma", "word", "dep-bfs", "shape")
    assert_holds(path, list(corpus(files)), ("lower", "lemma", "dep-bfs", "shape"))
    more = write_files(tmp_path / "in", 7, 9)
    add_to_index(path, corpus(more), memory=MEMORY)
    merge_index(path)
    assert_holds(path, list(corpus([*files, *more])), ("lower", "lemma", "dep-bfs", "shape"))
    before, heard = tree(path), Heard()
    add_layer(path, "lemma", reporter=heard)
    assert tree(path) == before
    assert "already has the layer lemma" in heard.lines[0]
    with pytest.raises(UnknownName, match="did you mean 'lemma'"):
        add_layer(path, "lemmas")


def test_a_store_is_an_input_too(tmp_path: Path, files: list[Path]) -> None:
    made, _ = store.annotate(
        corpus(files), tmp_path / "s", annotators.get(), ("pos",), jobs=1, reporter=Silent()
    )
    build_index(made, tmp_path / "a", options())
    assert_holds(tmp_path / "a", list(corpus(files)), LAYERS)
    assert len(list((tmp_path / "s").glob("*.npz.zst"))) == len(files)
    # The same documents, already annotated or not, are the same content.
    heard = Heard()
    assert add_to_index(tmp_path / "a", corpus(files), reporter=heard).added == 0
    assert add_to_index(tmp_path / "a", made, reporter=heard).added == 0
    assert len(heard.lines) == 2
    with pytest.raises(OptionError, match=r"no layer 'lemma' .* --layers pos,lemma"):
        build_index(made, tmp_path / "b", options(layers=("lemma",)))
    with pytest.raises(OptionError, match="contains no subwords"):
        build_index(made, tmp_path / "b", options(layers=("subwords:t.json",)))


def test_the_same_command_again_changes_nothing(tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files[:3]), path, options())
    before, heard = tree(path), Heard()
    assert build_index(corpus(files[:3]), path, options(), heard).added == 0
    assert tree(path) == before
    add_to_index(path, corpus(files[3:]), memory=MEMORY)
    before = tree(path)
    assert add_to_index(path, corpus(files[3:]), memory=10 * MEMORY, reporter=heard).added == 0
    assert tree(path) == before
    assert ["already" in line for line in heard.lines] == [True, True]
    # What is there in part is added in part.
    more = write_files(tmp_path / "in", 7, 8)
    assert add_to_index(path, corpus([*files[5:], *more]), reporter=heard).added == 3
    assert "2 pieces of the input are already in the index" in heard.lines[-1]


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, files: list[Path]) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(OptionError, match="other files in it"):
        build_index(corpus(files), tmp_path, options())
    with pytest.raises(OptionError, match="is a file"):
        build_index(corpus(files), tmp_path / "thesis.tex", options())
    with pytest.raises(UnknownName, match="layer for the annotator 'rote'"):
        build_index(corpus(files), tmp_path / "idx", options(layers=("louder",)))
    assert not (tmp_path / "idx").exists()


def test_another_annotator_is_refused_with_both_signatures(
    tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files[:2]), path, options())
    before, made_by = tree(path), read_manifest(path).signature
    monkeypatch.setattr(RoteAnnotator, "signature", "rote-en/ud99")
    for change in (
        lambda: add_to_index(path, corpus(files[2:])),
        lambda: add_layer(path, "lemma"),
        lambda: recipe_of(path, read_manifest(path)),
    ):
        with pytest.raises(OptionError) as caught:
            change()
        assert made_by in str(caught.value)
        assert "rote-en/ud99" in str(caught.value)
    assert tree(path) == before


def test_subwords_are_a_layer_with_items_of_their_own(tmp_path: Path, files: list[Path]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"[UNK]": 0, "The": 1, "ferry": 2, "was": 3}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    layer = f"subwords:{tmp_path / 'tokenizer.json'}"
    build_index(corpus(files), tmp_path / "a", options(layers=("lower", layer)))
    build_index(corpus(files), tmp_path / "b", options(layers=("lower",)))
    add_layer(tmp_path / "b", layer)
    (tmp_path / "tokenizer.json").unlink()
    for name in "ab":
        opened = open_index(tmp_path / name)
        assert opened.manifest.sorted_layers == ("lower", "subwords")
        assert recipe_of(tmp_path / name, opened.manifest).subwords[0][0] == "subwords"
        for segment in opened.segments:
            column = segment.columns["subwords"]
            expected = [segment.documents.text(i).split() for i in range(len(segment.documents))]
            assert column.items == sum(map(len, expected))
            assert set(column.vocabulary.strings()) <= {"", "[UNK]", "The", "ferry", "was"}
        assert verify_index(tmp_path / name) == []
    copy = tmp_path / "a" / read_manifest(tmp_path / "a").subwords[0].file
    copy.write_text(copy.read_text().replace("ferry", "fairy"))
    with pytest.raises(InputError, match="damaged"):
        recipe_of(tmp_path / "a", read_manifest(tmp_path / "a"))
    assert "content has changed" in verify_index(tmp_path / "a")[0]


def test_another_tokenizer_is_refused_with_both_signatures(
    tmp_path: Path, files: list[Path]
) -> None:
    path, heard = tmp_path / "idx", Heard()
    layer = characters(tmp_path / "a.json")
    build_index(corpus(files[:2]), path, options(layers=("lower", layer)))
    before = tree(path)
    add_layer(path, layer, reporter=heard)
    assert "already has the layer subwords" in heard.lines[0]
    with pytest.raises(OptionError, match=r"by subwords/\w+, and .*b.json is subwords/\w+"):
        add_layer(path, characters(tmp_path / "b.json", lowercase=True))
    assert tree(path) == before


def test_merging_counts_the_longest_layer(tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files), path, options(layers=("lower",), memory=1))
    lengths = [len(s.columns["word"].ids) for s in open_index(path).segments]
    memory = sum(lengths) * BYTES_PER_POSITION * 4 // 3 + 99
    add_layer(path, characters(tmp_path / "a.json"))
    merged = merge_index(path, memory=memory)
    assert len(merged.segments) > 1
    for segment in open_index(path).segments:
        longest = len(segment.columns["subwords"].ids)
        assert longest <= sum(lengths) + 9 or len(segment.documents) == 3


def test_annotation_that_came_with_the_input_is_indexed(tmp_path: Path) -> None:
    lines = [
        "# newdoc id = one",
        "# text = Gulls sang",
        "1\tGulls\tgull\tNOUN\tNNS\t_\t0\troot\t_\t_",
    ]
    lines += ["2\tsang\tsing\tVERB\tVBD\t_\t1\tdep\t_\t_", "", ""]
    (tmp_path / "one.conllu").write_text("\n".join(lines))
    path, given = tmp_path / "idx", options(annotator="given", layers=("lemma", "pos"))
    build_index(corpus([tmp_path / "one.conllu"]), path, given)
    (segment,) = open_index(path).segments
    assert segment.columns["lemma"].vocabulary.strings() == ["", "gull", "sing"]
    # The tags of the file are not kept as text, so there is nothing to make a layer of.
    with pytest.raises(OptionError, match="build it again with `--layers lemma,pos,upos`"):
        add_layer(path, "upos")
    add_layer(path, "word")
    assert verify_index(path) == []


def test_the_estimate_comes_near(tmp_path: Path, files: list[Path]) -> None:
    made = build_index(corpus(files), tmp_path / "idx", options()).manifest
    plan = estimate_build(corpus(files), options())
    assert 0.5 < plan.documents / made.documents < 2
    assert 0.5 < plan.tokens / made.words < 2
    assert 0 < plan.segments <= 2 * len(made.segments)
    assert "words" in plan.lines()[0]
    assert "at least about 315 MB of memory are needed, more than allowed" in plan.lines()[2]
    assert "at least" not in " ".join(estimate_build(corpus(files), BuildOptions()).lines())
    (tmp_path / "one.jsonl").write_text('{"text": "Ferry"}')
    said = estimate_build(corpus([tmp_path / "one.jsonl"]), BuildOptions()).lines()[0]
    assert said == "about 1 document and 1 word, in 1 segment"
    (tmp_path / "none.jsonl").write_text("")
    nothing = estimate_build(corpus([tmp_path / "none.jsonl"], "skip"), BuildOptions())
    assert nothing.tokens == 0
    assert nothing.lines() == ["no estimate: no text is selected at the beginning of the input"]


def test_options_are_read_as_people_write_them() -> None:
    assert [parse_memory(text) for text in ("4G", "512m", "1.5 GiB", "17", "2kb")] == [
        *(4 * 2**30, 512 * 2**20, 3 * 2**29, 17, 2048)
    ]
    for text in ("", "G", "-4G", "4X", "0"):
        with pytest.raises(OptionError, match="not an amount of memory"):
            parse_memory(text)
    assert parse_layers(["lower", "subwords:a/b:c.json"]).names == ("lower", "subwords")
    assert str(parse_layers(["subwords:a/b:c.json"]).tokenizer) == "a/b:c.json"
    for layers in ([], ["subwords"], ["subwords:a", "subwords:b"]):
        with pytest.raises(OptionError):
            parse_layers(layers)


def test_a_piece_and_a_segment_made_twice_are_made_once(tmp_path: Path) -> None:
    """As by two attempts at one task, of which the first was thought lost."""
    files, path = write_files(tmp_path / "in", 0, 4), tmp_path / "idx"
    build_index(corpus(files[:1]), path, options())
    manifest = read_manifest(path)
    (path / PIECES).mkdir(exist_ok=True)
    work = AnnotateShard(path / PIECES, recipe_of(path, manifest))
    shards = list(corpus(files[1:]).shards())
    pieces, again = ([work(shard) for shard in shards] for _ in range(2))
    assert pieces == again
    waiting = [
        QueuedPiece(path / PIECES / piece.file, piece.content, piece.words, piece.words, True)
        for piece in pieces
    ]
    sealed = [SealTask(path, manifest, 1)(waiting) for _ in range(2)]
    assert sealed[0][0] == sealed[1][0]
    assert len(list((path / SEGMENTS).iterdir())) == 2
