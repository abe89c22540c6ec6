"""Repetition-limited subsets: kernels against slow twins, small sets by hand, folders, faults."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.corpus import Problems, ReadOptions, open_corpus
from rote.curate import limit_folder
from rote.curate.corpus_reader import ShardTokenizer, TokenizedCorpus
from rote.curate.limit import (
    LimitOptions,
    RepeatedNgrams,
    choose_subsets,
    count_repeats,
    limit_texts,
    shuffle_ranks,
)
from rote.curate.limit_folder import limit
from rote.curate.output_folder import MANIFEST
from rote.curate.pairs import SubsetOptions, subset_file
from rote.run.serial import Serial
from tests.examples import lists, some
from tests.kit import read_jsonl, write_jsonl

Parts = list[list[int]]
"""A text: runs of words that no n-gram crosses."""

sets = lists(some(some(range(3), 7), 3), 12)


# Slow twins


def twin_ngrams(text: Parts, n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(p[i : i + n]) for p in text for i in range(len(p) - n + 1))


def twin_walk(texts: Sequence[Parts], n: int, most: int, order: Sequence[int]) -> list[int]:
    """The definition, word for word."""
    kept: list[int] = []
    for number in order:
        with_it = [part for other in (*kept, number) for part in texts[other]]
        if all(count <= most for count in twin_ngrams(with_it, n).values()):
            kept.append(number)
    return sorted(kept)


def twin_blocked(
    texts: Sequence[Parts], n: int, most: int, order: Sequence[int]
) -> Counter[tuple[int, ...]]:
    """For each n-gram how many texts it kept out."""
    held: Counter[tuple[int, ...]] = Counter()
    blocked: Counter[tuple[int, ...]] = Counter()
    for number in order:
        own = twin_ngrams(texts[number], n)
        over = [gram for gram in own if held[gram] + own[gram] > most]
        blocked.update(over)
        if not over:
            held += own
    return blocked


def read_of(texts: Sequence[Parts]) -> TokenizedCorpus:
    """Texts as `read` gives them; the keys are made up."""
    parts = [part for text in texts for part in text]
    return TokenizedCorpus(
        ids=np.array([word for part in parts for word in part], np.int32),
        vocabulary=("a", "b", "c"),
        part_ends=np.cumsum([len(part) for part in parts], dtype=np.int64),
        last_parts=np.cumsum([len(text) for text in texts], dtype=np.int64),
        keys=shuffle_ranks(np.arange(len(texts), dtype=np.uint64), "keys", 0),
        lines=(),
        fingerprint="",
        problems=Problems(),
    )


def walk_order(keys: Any, seed: int) -> list[int]:
    order: list[int] = np.argsort(shuffle_ranks(keys, "walk", seed), kind="stable").tolist()
    return order


def spelled(found: RepeatedNgrams, read: TokenizedCorpus, gram: int, n: int) -> tuple[int, ...]:
    place = found.places[gram]
    return tuple(read.ids[place : place + n].tolist())


@given(sets, st.integers(1, 3), st.integers(1, 4), st.integers(0, 3), st.integers(0, 9))
def test_a_walk_keeps_what_the_definition_keeps(
    texts: list[Parts], n: int, least: int, more: int, seed: int
) -> None:
    read, most = read_of(texts), least + more
    found = count_repeats(read, n, least)
    subset = limit_texts(found, read.keys, most, seed)
    order = walk_order(read.keys, seed)
    assert np.flatnonzero(subset.texts).tolist() == twin_walk(texts, n, most, order)
    blocked = twin_blocked(texts, n, most, order)
    assert subset.blocking == len(blocked)
    shown = {spelled(found, read, gram, n): texts for gram, texts in subset.blockers}
    assert all(blocked[gram] == count for gram, count in shown.items())
    assert sorted(shown.values(), reverse=True) == sorted(blocked.values(), reverse=True)[:10]


def twin_paper_walk(
    texts: Sequence[Parts], n: int, most: int, order: Sequence[int]
) -> tuple[list[int], Counter[tuple[int, ...]]]:
    """As the definition, but texts that are not kept count as well; how many texts each n-gram
    kept out."""
    kept, seen, blocked = [], Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for number in order:
        ngrams = twin_ngrams(texts[number], n)
        seen += ngrams
        over = [gram for gram in ngrams if seen[gram] > most]
        blocked.update(over)
        if not over:
            kept.append(number)
    return sorted(kept), blocked


@given(sets, st.integers(1, 3), st.integers(1, 4), st.integers(0, 3), st.integers(0, 9))
def test_the_papers_walk_counts_texts_that_it_drops(
    texts: list[Parts], n: int, least: int, more: int, seed: int
) -> None:
    read, most = read_of(texts), least + more
    counted = count_repeats(read, n, least)
    subset = limit_texts(counted, read.keys, most, seed, count_dropped=True)
    kept, blocked = twin_paper_walk(texts, n, most, walk_order(read.keys, seed))
    assert np.flatnonzero(subset.texts).tolist() == kept
    assert subset.blocking == len(blocked)
    shown = {spelled(counted, read, gram, n): texts for gram, texts in subset.blockers}
    assert all(blocked[gram] == count for gram, count in shown.items())
    assert sorted(shown.values(), reverse=True) == sorted(blocked.values(), reverse=True)[:10]


def test_the_variant_paper_drops_what_repeats_a_dropped_text(tmp_path: Path) -> None:
    """Of three texts the second repeats the first, the third only the second."""
    lines = ["a b c d", "a b c d e f g h", "e f g h"]
    path = write_jsonl(tmp_path / "train.jsonl", ({"text": line} for line in lines))
    sizes = {}
    for variant in ("exact", "paper"):
        options = LimitOptions(max=(1,), seeds=6, variant=variant)  # type: ignore[arg-type]
        manifest = limit(open_corpus(path), tmp_path / variant, options).manifest
        assert manifest["settings"]["variant"] == variant
        sizes[variant] = [subset["texts"] for subset in manifest["subsets"]]
    # The middle one first: 1 text in both. Else: it is dropped, and blocks the other only on paper.
    assert {*sizes["exact"], *sizes["paper"]} <= {1, 2}
    assert sum(sizes["paper"]) < sum(sizes["exact"])


@given(sets, st.integers(1, 3), st.integers(1, 4))
def test_frequencies_are_those_of_counting(texts: list[Parts], n: int, least: int) -> None:
    read = read_of(texts)
    found = count_repeats(read, n, least)
    own = [twin_ngrams(text, n) for text in texts]
    everywhere: Counter[tuple[int, ...]] = sum(own, Counter())
    assert found.inside.tolist() == [max(each.values(), default=0) for each in own]
    expected = [max((everywhere[gram] for gram in each), default=0) for each in own]
    assert found.everywhere.tolist() == expected
    counted = {
        spelled(found, read, gram, n): count for gram, count in enumerate(found.frequency.tolist())
    }
    assert counted == {gram: count for gram, count in everywhere.items() if count > least}


@given(sets, st.integers(1, 3), st.integers(0, 9))
def test_other_subsets_are_as_large_and_samples_lie_inside(
    texts: list[Parts], most: int, seed: int
) -> None:
    read = read_of(texts)
    found = count_repeats(read, 2, most)
    plain = limit_texts(found, read.keys, most, seed)
    sizes = tuple(size for size in (1, 2) if size <= len(plain))
    options = LimitOptions(
        (most,), n=2, seeds=1, seed=seed, random=True, most_repeated=True, sizes=sizes
    )
    subsets = {(each.kind, each.size): each for each in choose_subsets(found, read.keys, options)}
    assert len(subsets) == 3 * (1 + len(sizes))
    for kind in ("limited", "random", "most-repeated"):
        whole = subsets[kind, None]  # type: ignore[index]
        assert len(whole) == len(plain)
        smaller = np.zeros(len(texts), np.bool_)
        for size in sizes:
            sample = subsets[kind, size]  # type: ignore[index]
            assert len(sample) == size
            assert not (sample.texts & ~whole.texts).any()
            assert not (smaller & ~sample.texts).any()
            smaller = sample.texts
    chosen = subsets["most-repeated", None].texts
    assert (
        not len(plain)
        or len(plain) == len(texts)
        or (found.everywhere[chosen].min() >= found.everywhere[~chosen].max())
    )


def test_ranks_shuffle_evenly_and_differ_by_seed_and_purpose() -> None:
    keys = np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64)
    first, second = (np.argsort(np.argsort(shuffle_ranks(keys, "walk", seed))) for seed in (0, 1))
    other = np.argsort(np.argsort(shuffle_ranks(keys, "random", 0)))
    for one, two in ((first, second), (first, other), (first, np.arange(len(keys)))):
        assert abs(np.corrcoef(one, two)[0, 1]) < 0.03
    assert (shuffle_ranks(keys[::-1], "walk", 0)[::-1] == shuffle_ranks(keys, "walk", 0)).all()


# By hand


def rows(*texts: str, **meta: Any) -> list[Document]:
    return [Document(str(number), text, meta) for number, text in enumerate(texts)]


def kept(folder: Path, name: str) -> list[dict[str, Any]]:
    return read_jsonl(folder / name)


def made(texts: Sequence[Document], folder: Path, **options: Any) -> dict[str, Any]:
    return limit(open_corpus(texts), folder, LimitOptions(**options)).manifest


def test_a_text_that_repeats_itself_too_often_is_never_kept(tmp_path: Path) -> None:
    texts = rows("go on go on go on", "go on then", "something else entirely")
    held = made(texts, tmp_path / "dir", max=(1, 2, 3), n=2, seeds=4)
    for each in held["subsets"]:
        ids = {record["id"] for record in kept(tmp_path / "dir", each["file"])}
        # "go on" stands three times in the first text: with the second, four times.
        assert ids == ({"1", "2"} if each["max"] < 3 else ids)
        assert "2" in ids
        assert each["dropped"]["over_the_limit_alone"] == (1 if each["max"] < 3 else 0)
        assert each["dropped"]["texts"] == 1


def test_texts_without_n_words_are_kept_and_counted(tmp_path: Path) -> None:
    texts = rows("one two three", "four", "one two three four", "one two three four")
    held = made(texts, tmp_path / "dir", max=(1,), seeds=1)
    assert held["input"]["shorter_than_n"] == 2
    assert held["input"]["largest_frequency"] == 2
    (subset,) = held["subsets"]
    assert {"0", "1"} < {record["id"] for record in kept(tmp_path / "dir", subset["file"])}
    assert subset["texts"] == 3
    assert subset["dropped"] == {
        "texts": 1,
        "over_the_limit_alone": 0,
        "over_the_limit_with_others": 1,
        "blocking_ngrams": 1,
        "most_blocking": [{"ngram": "one two three four", "texts": 1, "frequency": 2}],
    }


def test_the_most_repeated_are_those_with_the_most_frequent_ngram(tmp_path: Path) -> None:
    texts = rows("a b", "a b c", "a b d", "c d", "c d e", "x y", "p q r")
    held = made(texts, tmp_path / "dir", max=(1,), n=2, seeds=2, most_repeated=True)
    for each in held["subsets"]:
        ids = {record["id"] for record in kept(tmp_path / "dir", each["file"])}
        if each["kind"] == "most-repeated":
            # One of each group and the last two: four texts. "a b" stands 3 times, "c d" twice.
            assert each["texts"] == 4
            assert {"0", "1", "2"} < ids
            assert ids - {"0", "1", "2"} < {"3", "4"}


def test_ngrams_do_not_cross_the_texts_of_a_list(tmp_path: Path) -> None:
    texts = [
        Document("1", "x", {"reference": ["a b", "c d"]}),
        Document("2", "y", {"reference": "b c"}),
        Document("3", "z", {"reference": ["e", "a b"]}),
    ]
    held = made(texts, tmp_path / "dir", max=(1,), n=2, seeds=1)
    assert held["settings"]["field"] == "reference"
    ids = {record["id"] for record in kept(tmp_path / "dir", held["subsets"][0]["file"])}
    assert "2" in ids
    assert len(ids) == 2


# Files


def train(folder: Path, count: int = 60) -> Path:
    rng = np.random.default_rng(0)
    path = folder / "train.jsonl"
    with path.open("w") as file:
        for number in range(count):
            words = " ".join(rng.choice(list("abcd"), 6))
            row = {"uid": number, "reference": words, "body": f"é {number}", "score": 0.1, "x": [1]}
            file.write(json.dumps(row) + "\n")
    return path


def test_records_come_out_as_they_were_read_in_the_order_of_the_input(tmp_path: Path) -> None:
    path = train(tmp_path)
    records = read_jsonl(path)
    options = LimitOptions(max=(2,), seeds=2, random=True)
    held = limit(open_corpus([path]), tmp_path / "dir", options).manifest
    assert held["settings"]["field"] == "reference"
    for each in held["subsets"]:
        found = kept(tmp_path / "dir", each["file"])
        assert len(found) == each["texts"] < len(records)
        assert found == [record for record in records if record in found]
        assert (tmp_path / "dir" / each["file"]).stat().st_size == each["bytes"]
        assert sum(len(r["reference"].split()) for r in found) == each["words"]
    assert json.loads((tmp_path / "dir" / MANIFEST).read_text()) == held


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.usefixtures("pickling_pool")
def test_the_number_of_jobs_changes_nothing(tmp_path: Path) -> None:
    corpus = open_corpus([train(tmp_path)])
    options = LimitOptions(max=(1, 3), most_repeated=True, random=True, sizes=(2,))
    for jobs in (1, 2):
        limit(corpus, tmp_path / str(jobs), options, jobs=jobs)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.parametrize(
    "options",
    [
        {"max": (1, 3), "most_repeated": True, "random": True, "sizes": (2,)},
        {"max": (2,), "n": 2, "layer": "lower"},
        {"max": (5000,), "n": 1},
        {"max": (1,), "n": 100},
    ],
)
def test_ngrams_without_room_for_all_are_the_same(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [train(tmp_path), tmp_path / "more.jsonl"]
    records = ['{"id": "0", "reference": ["a b c d e", "b c d e f"]}', '{"reference": "a A a A a"}']
    files[1].write_text("\n".join(records * 2))
    for folder in ("room", "little"):
        corpus = open_corpus(files, ReadOptions(on_error="skip"))
        limit(corpus, tmp_path / folder, LimitOptions(**options))
        monkeypatch.setattr("rote.core.ngrams.room", lambda: 5_000.0)
        monkeypatch.setattr("rote.core.arrays.room", lambda: 5_000.0)
    assert contents(tmp_path / "room") == contents(tmp_path / "little")


class Elsewhere(Serial):
    """As an engine of other machines, which are here."""

    remote = True


@pytest.mark.parametrize("hashes", [2**64, 3], ids=["all", "few"])
@pytest.mark.parametrize("parts", [10**9, 10])
@pytest.mark.parametrize(
    "options",
    [
        {"max": (1, 3), "n": 2, "seeds": 2, "most_repeated": True},
        {"max": (2,), "n": 1, "sizes": (2,)},
        {"max": (5, 9), "n": 2},
        {"max": (50,), "n": 3, "layer": "lower"},
        {"max": (1,), "n": 100},
    ],
)
def test_ngrams_counted_elsewhere_are_the_same(
    tmp_path: Path,
    options: dict[str, Any],
    parts: int,
    hashes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where most n-grams share their hash with others."""
    monkeypatch.setattr(limit_folder, "_WORDS_A_PART", parts)
    digest = limit_folder._word_digest
    monkeypatch.setattr(
        limit_folder,
        "_word_digest",
        lambda word: (int.from_bytes(digest(word), "little") % hashes).to_bytes(8, "little"),
    )
    files = [train(tmp_path), tmp_path / "more.jsonl"]
    records = ['{"id": "0", "reference": ["a b c d e", "b c d e f"]}', '{"reference": "a A a A a"}']
    chance = np.random.default_rng(3)
    records += [
        json.dumps({"reference": [" ".join(chance.choice(list("abcdefghijklmnop"), 6))] * 2})
    ]
    records += [
        json.dumps({"reference": " ".join(map(str, row))})
        for row in chance.integers(0, 40, (30, 8))
    ]
    files[1].write_text("\n".join(records * 2))
    found = []
    for folder, engine in (("here", None), ("elsewhere", Elsewhere())):
        corpus = open_corpus(files, ReadOptions(on_error="skip"))
        limit(corpus, tmp_path / folder, LimitOptions(**options), engine=engine)
        found.append(contents(tmp_path / folder))
    assert found[0] == found[1]


def test_words_that_no_repeated_ngram_holds_stay_elsewhere() -> None:
    corpus = open_corpus(["one two three four five", "six two three four", "seven. Two three six"])
    work = ShardTokenizer(None, "word", "ud", skip=False)
    thin = limit_folder.find_frequent(corpus, work, 3, 1, Elsewhere(), words=13)
    pieces = [thin(shard) for shard in corpus.shards()]
    assert {word for piece in pieces for word in piece.layer.vocabulary} == {"two", "three", "four"}
    assert [words for piece in pieces for words in piece.beside[limit_folder.WORDS]] == [5, 4, 5]


def test_a_file_that_changes_between_its_readings_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = train(tmp_path)
    first = limit_folder._count_hashes

    def changed(*given: Any) -> Any:
        yield from first(*given)
        file.write_text(file.read_text().replace("a", "b"))

    monkeypatch.setattr(limit_folder, "_count_hashes", changed)
    with pytest.raises(InputError, match="has changed since it was first read"):
        limit(open_corpus(file), tmp_path / "subsets", LimitOptions(n=2), engine=Elsewhere())


def test_the_order_of_the_texts_changes_nothing(tmp_path: Path) -> None:
    texts = rows(*("".join(w) for w in np.random.default_rng(1).choice(["a ", "b "], (40, 6))))
    options = {"max": (2,), "n": 2, "most_repeated": True, "random": True, "sizes": (1,)}
    made(texts, tmp_path / "one", **options)
    made(texts[::-1], tmp_path / "other", **options)
    for name in contents(tmp_path / "one"):
        if name != MANIFEST:
            one, other = kept(tmp_path / "one", name), kept(tmp_path / "other", name)
            assert one == other[::-1]


def test_the_field_may_be_the_one_that_holds_the_text(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"summary": "a b c d", "k": 1}\n{"summary": "a b c d", "k": 2}\n')
    for number, field in enumerate((None, "summary")):
        options = LimitOptions(max=(1,), seeds=1, field=field)
        held = limit(open_corpus([path]), tmp_path / str(number), options).manifest
        assert held["settings"]["field"] == "summary"
        (record,) = kept(tmp_path / str(number), "max-1.seed-0.jsonl")
        assert record == {"summary": "a b c d", "k": record["k"]}


def test_the_same_run_again_writes_nothing_and_any_other_is_refused(tmp_path: Path) -> None:
    path, folder, options = train(tmp_path), tmp_path / "dir", LimitOptions(max=(2,), seeds=1)
    first = limit(open_corpus([path]), folder, options)
    before = {place: place.stat().st_mtime_ns for place in folder.iterdir()}
    again = limit(open_corpus([path]), folder, options)
    assert (first.new, again.new) == (True, False)
    assert again.manifest == first.manifest
    assert {place: place.stat().st_mtime_ns for place in folder.iterdir()} == before
    with pytest.raises(OptionError, match=r"other settings \(max \[2\], not \[3\]\)"):
        limit(open_corpus([path]), folder, LimitOptions(max=(3,), seeds=1))
    path.write_text(path.read_text().replace('00e9 7"', '00e8 7"'))
    with pytest.raises(OptionError, match="was made from other texts"):
        limit(open_corpus([path]), folder, options)
    (folder / "max-2.seed-0.jsonl").write_text("")
    with pytest.raises(OptionError, match="missing or changed"):
        limit(open_corpus([path]), folder, options)


@pytest.mark.parametrize("name", ["notes.txt", MANIFEST])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / name).write_text("[]")
    with pytest.raises(OptionError, match="not made by this command"):
        limit(open_corpus([train(tmp_path)]), tmp_path / "dir")
    assert [place.name for place in (tmp_path / "dir").iterdir()] == [name]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held["subsets"].append(held["subsets"][0]), r"subsets\[3\]\.file': is .* as"),
        (lambda held: held["subsets"][1].update(file="../train.jsonl"), r"subsets\[1\]\.file"),
        (lambda held: held["subsets"][1].update(file="/etc/passwd"), r"subsets\[1\]\.file"),
        (lambda held: held["subsets"][1].update(texts="5"), r"subsets\[1\]\.texts': is a string"),
        (lambda held: held["subsets"][1].update(sample=0), r"subsets\[1\]\.sample': is a number"),
        (lambda held: held.update(input=[]), "input': is a list, not an object"),
        (lambda held: held.update(settings=None), "settings': is null, not an object"),
        (lambda held: held.update(subsets={}), "subsets': is an object, not a list"),
    ],
)
def test_a_manifest_names_each_subset_once_and_nothing_outside(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    path, folder = train(tmp_path), tmp_path / "dir"
    options = LimitOptions(max=(2,), seeds=3)
    limit(open_corpus([path]), folder, options)
    held = json.loads((folder / MANIFEST).read_text())
    change(held)
    (folder / MANIFEST).write_text(json.dumps(held))
    with pytest.raises(InputError, match=rf"manifest\.json, field '{said}"):
        limit(open_corpus([path]), folder, options)
    with pytest.raises(InputError, match=rf"manifest\.json, field '{said}"):
        subset_file(SubsetOptions(folder, theta=2), 1)


# Faults


def nothing_left(folder: Path) -> bool:
    return not [place for place in folder.iterdir() if place.suffix != ".jsonl"]


def test_a_missing_field_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(
        '{"text": "t", "reference": "a b"}\n{"text": "t"}\n{"text": "t", "reference": 3}\n'
    )
    with pytest.raises(InputError, match=r"line 2, field 'reference': the field is missing"):
        limit(open_corpus([path]), tmp_path / "dir")
    with pytest.raises(InputError, match=r"line 1, field 'summary'.*record has: reference"):
        limit(open_corpus([path]), tmp_path / "dir", LimitOptions(field="summary"))
    null = [{"text": "t", "reference": "a b"}, {"text": "t", "reference": None}]
    with pytest.raises(InputError, match=r"line 2, field 'reference': the field is null"):
        limit(open_corpus(null), tmp_path / "dir")
    assert nothing_left(tmp_path)
    lenient = open_corpus([path], ReadOptions(on_error="skip"))
    found = limit(lenient, tmp_path / "dir", LimitOptions(max=(1,), seeds=1))
    assert len(found.problems) == found.manifest["input"]["skipped"] == 2
    (record,) = kept(tmp_path / "dir", "max-1.seed-0.jsonl")
    assert record == {"text": "t", "reference": "a b"}


def test_the_same_id_in_two_files_is_refused_or_skipped(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"id": "7", "text": "in {name}"}}\n')
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    with pytest.raises(InputError, match="'7', in another file"):
        limit(open_corpus(paths), tmp_path / "dir")
    lenient = open_corpus(paths, ReadOptions(on_error="skip"))
    limit(lenient, tmp_path / "dir", LimitOptions(max=(1,), seeds=1))
    assert kept(tmp_path / "dir", "max-1.seed-0.jsonl") == [{"id": "7", "text": "in one"}]


def test_sizes_that_cannot_be_drawn_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    texts = rows("a b", "a b", "c d")
    with pytest.raises(OptionError, match="needs 4 texts, but the input has 3"):
        made(texts, tmp_path / "dir", max=(1,), n=2, sizes=(4,))
    with pytest.raises(OptionError, match="has 2 of 3 texts, so no 3 can be drawn"):
        made(texts, tmp_path / "dir", max=(1,), n=2, sizes=(3,))
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"max": (0,)},
        {"max": ()},
        {"max": (2, 2)},
        {"n": 0},
        {"seeds": 0},
        {"seed": -1},
        {"sizes": (0,)},
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        made(rows("a"), tmp_path / "dir", **options)


def test_input_without_a_usable_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text("broken\n")
    corpus = open_corpus([path], ReadOptions(on_error="skip", text_field="text"))
    with pytest.raises(InputError, match="no usable text"):
        limit(corpus, tmp_path / "dir")
    assert nothing_left(tmp_path)


def test_an_interrupted_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Iterator[list[bytes]]:
        raise KeyboardInterrupt

    monkeypatch.setattr("rote.curate.corpus_reader.read_lines_at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made(rows("a b c d"), tmp_path / "dir")
    assert nothing_left(tmp_path)


def test_a_file_that_changes_while_it_is_read_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = train(tmp_path)
    monkeypatch.setattr(
        "rote.curate.limit_folder.choose_subsets",
        lambda *given, **more: (
            path.write_text(path.read_text()[:900]),
            choose_subsets(*given, **more),
        )[1],
    )
    with pytest.raises(InputError, match="has changed since"):
        limit(open_corpus([path]), tmp_path / "dir")
    shutil.rmtree(tmp_path / "dir", ignore_errors=True)
    assert nothing_left(tmp_path)
