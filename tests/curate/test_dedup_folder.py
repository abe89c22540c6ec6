"""The folder of `rote dedup`: formats, planted copies, what a second run finds."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.errors import InputError, OptionError
from rote.corpus import ReadOptions, open_corpus
from rote.corpus.items import Item
from rote.curate.corpus_reader import ShardTokenizer
from rote.curate.decontaminate import decontaminate
from rote.curate.dedup import DedupOptions
from rote.curate.dedup_folder import LEDGER, SIMILAR, dedup
from rote.curate.output_folder import MANIFEST, MadeFolder
from rote.run.serial import Serial
from tests.indexes import build_index
from tests.kit import read_jsonl, write_jsonl

from ..examples import lists, some
from ..killing import assert_whole, calls_of, kill_at, restore, states_at

RNG = random.Random(5)
WORDS = ["".join(RNG.choices("abcdefghij", k=RNG.randint(2, 7))) for _ in range(400)]


def prose(words: int, seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choices(WORDS, k=words))


PASSAGE = prose(30, 1_000)
TEXTS = [
    f"{prose(40, 1)} {PASSAGE} {prose(40, 2)}",
    f"{prose(20, 3)} {PASSAGE.upper()}",
    prose(60, 4),
    prose(60, 4) + " indeed",
    f"{PASSAGE} {prose(25, 5)}",
]
SMALL = DedupOptions(length=20, near=0.8, shingle=3)


def made(inputs: Any, folder: Path, options: DedupOptions = SMALL, **more: Any) -> MadeFolder:
    return dedup(open_corpus(inputs), folder, options, **more)


def ledger(folder: Path) -> list[dict[str, Any]]:
    return read_jsonl(folder / LEDGER)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, LEDGER)
    }


def records() -> list[dict[str, Any]]:
    return [
        {"id": f"t{n}", "text": text, "source": "ab"[n % 2], "year": 2000 + n}
        for n, text in enumerate(TEXTS)
    ]


def as_jsonl(path: Path) -> Path:
    return write_jsonl(path / "texts.jsonl", records())


def as_json(path: Path) -> Path:
    path = path / "texts.json"
    path.write_text(json.dumps(records()))
    return path


def as_gz(path: Path) -> Path:
    plain = as_jsonl(path).read_bytes()
    path = path / "texts.jsonl.gz"
    path.write_bytes(gzip.compress(plain))
    return path


def framed(rows: Any, **given: Any) -> Any:
    import polars as pl

    return pl.DataFrame(rows, **given)


def as_csv(path: Path) -> Path:
    path = path / "texts.csv"
    framed(records()).write_csv(path)
    return path


def as_tsv(path: Path) -> Path:
    path = path / "texts.tsv"
    framed(records()).write_csv(path, separator="\t")
    return path


def as_parquet(path: Path) -> Path:
    path = path / "texts.parquet"
    framed(records()).write_parquet(path)
    return path


LEFT = [TEXTS[0], prose(20, 3), TEXTS[2], prose(25, 5)]


@pytest.mark.parametrize("written", [as_jsonl, as_json, as_gz, as_csv, as_tsv, as_parquet])
def test_every_format_comes_out_as_it_came_in(
    written: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = written(tmp_path)
    result = made(path, tmp_path / "out")
    assert [each["file"] for each in result.manifest["files"]] == [path.name]
    found = list(open_corpus(tmp_path / "out" / path.name))
    assert [document.text for document in found] == LEFT
    assert [document.id for document in found] == ["t0", "t1", "t2", "t4"]
    assert [str(document.meta["year"]) for document in found] == ["2000", "2001", "2002", "2004"]


@pytest.mark.parametrize("plain", ["line", "paragraph", "file"])
def test_plain_text_comes_out_as_it_came_in(plain: Any, tmp_path: Path) -> None:
    options = ReadOptions(plain=plain)
    if plain == "file":
        path = tmp_path / "texts"
        path.mkdir()
        for number, text in enumerate(TEXTS):
            (path / f"{number}.txt").write_text(text)
    else:
        path = tmp_path / "texts.txt"
        path.write_text(("\n" if plain == "line" else "\n\n").join(TEXTS))
    dedup(open_corpus(path, options), tmp_path / "out", SMALL)
    found = open_corpus(tmp_path / "out" / path.name, options)
    assert [document.text.strip() for document in found] == LEFT


def test_the_ledger_names_what_went_and_the_copy_that_stayed(tmp_path: Path) -> None:
    made(as_jsonl(tmp_path), tmp_path / "out")
    rows = ledger(tmp_path / "out")
    assert [(row["kind"], row["id"], row["kept"]["id"]) for row in rows] == [
        ("run", "t1", "t0"),
        ("document", "t3", "t2"),
        ("run", "t4", "t0"),
    ]
    for row in rows:
        text = TEXTS[int(row["id"][1])]
        copy = TEXTS[int(row["kept"]["id"][1])]
        assert text[row["start"] : row["end"]][:299] == row["text"].rstrip("…")[:299]
        if row["kind"] == "run":
            kept = copy[row["kept"]["start"] : row["kept"]["end"]]
            assert kept.lower() == text[row["start"] : row["end"]].lower() == PASSAGE
        else:
            assert row["similarity"] == pytest.approx(58 / 59)


def test_what_was_made_is_left_alone_and_other_things_are_refused(tmp_path: Path) -> None:
    path = as_jsonl(tmp_path)
    first = made(path, tmp_path / "out")
    again = made(path, tmp_path / "out")
    assert (first.new, again.new, again.manifest) == (True, False, first.manifest)
    with pytest.raises(OptionError, match="other settings"):
        made(path, tmp_path / "out", DedupOptions(length=30, shingle=3))
    path.write_text(path.read_text() + json.dumps({"id": "new", "text": "one more"}) + "\n")
    with pytest.raises(OptionError, match="was made from other texts"):
        made(path, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_what_another_corpus_holds_goes_too(tmp_path: Path) -> None:
    other = write_jsonl(
        tmp_path / "other.jsonl", [{"id": "o", "text": f"So {PASSAGE} {prose(9, 8)}"}]
    )
    build_index(other, tmp_path / "IDX", layers=("lower",))
    path = as_jsonl(tmp_path)
    made(path, tmp_path / "a", against=str(tmp_path / "IDX"))
    made(path, tmp_path / "b", against=str(other))
    texts = [document.text for document in open_corpus(tmp_path / "a" / path.name)]
    assert texts == [f"{prose(40, 1)} {prose(40, 2)}", *LEFT[1:]]
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_what_each_source_shares_is_counted(tmp_path: Path) -> None:
    held = made(as_jsonl(tmp_path), tmp_path / "out").manifest
    assert [row["words_cut"] for row in held["sources"]] == [30, 30]
    assert [row["documents_removed"] for row in held["sources"]] == [0, 1]
    shared = {(row["source"], row["also_in"]): row["words"] for row in held["shared"]}
    # Of a: the passage twice, and the text that b has again; of b: the passage, and that text.
    assert shared == {("a", "a"): 60, ("a", "b"): 120, ("b", "a"): 90, ("b", "b"): 0}
    assert held["passages"][0]["text"] == PASSAGE
    assert held["passages"][0]["times"] == held["passages"][0]["documents"] == 3


@given(
    lists(some(["a", "b", "c", "d", "B", "a.", "b-c", "d's", "--"], 30, 1), 6, 1),
    st.sampled_from([0.0, 0.6, 1.0]),
)
def test_to_run_it_again_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], near: float
) -> None:
    folder = tmp_path_factory.mktemp("dedup")
    path = write_jsonl(folder / "texts.jsonl", ({"text": " ".join(text)} for text in texts))
    options = DedupOptions(length=4, near=near, shingle=2)
    made(path, folder / "one", options)
    again = made(folder / "one" / path.name, folder / "two", options)
    assert contents(folder / "one") == contents(folder / "two")
    assert ledger(folder / "two") == []
    assert again.manifest["passes"] == 1


@pytest.mark.usefixtures("pickling_pool")
def test_jobs_change_no_byte(tmp_path: Path) -> None:
    paths = [as_jsonl(tmp_path), as_csv(tmp_path)]
    for jobs in (1, 2):
        made(paths, tmp_path / str(jobs), jobs=jobs)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert (tmp_path / "1" / LEDGER).read_bytes() == (tmp_path / "2" / LEDGER).read_bytes()
    held = [json.loads((tmp_path / jobs / MANIFEST).read_text()) for jobs in "12"]
    assert held[0] == held[1]


@given(
    lists(some("abcd", 30, 1), 6, 1),
    st.sampled_from([0.0, 0.6]),
    st.sampled_from(["word", "sentence"]),
)
@settings(max_examples=25)
def test_memory_changes_no_byte(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], near: float, cut: Any
) -> None:
    folder = tmp_path_factory.mktemp("dedup")
    path = write_jsonl(folder / "texts.jsonl", ({"text": " ".join(text)} for text in texts))
    options = DedupOptions(length=4, near=near, shingle=2, cut=cut)
    held = [made(path, folder / str(m), options, memory=m).manifest for m in (10, 4 << 30)]
    assert held[0] == held[1]
    assert contents(folder / "10") == contents(folder / str(4 << 30))
    assert ledger(folder / "10") == ledger(folder / str(4 << 30))


def test_what_joins_at_a_cut_is_found_in_a_second_stage(tmp_path: Path) -> None:
    start, end = prose(15, 20), prose(15, 21)
    texts = [PASSAGE, f"{start} {PASSAGE} {end} {prose(12, 23)}", f"{start} {end} {prose(9, 22)}"]
    path = write_jsonl(
        tmp_path / "texts.jsonl", ({"id": n, "text": t} for n, t in enumerate(texts))
    )
    held = made(path, tmp_path / "out", DedupOptions(length=20, near=0.0, shingle=3)).manifest
    rows = ledger(tmp_path / "out")
    assert held["passes"] == 2
    assert [(row["pass"], row["id"], row["kept"]["id"]) for row in rows] == [
        (1, "1", "0"),
        (2, "2", "1"),
    ]
    assert rows[1]["text"] == rows[1]["kept"]["text"] == f"{start} {end}"
    left = [document.text for document in open_corpus(tmp_path / "out" / path.name)]
    assert left == [PASSAGE, f"{start} {end} {prose(12, 23)}", prose(9, 22)]


def test_a_killed_run_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "csv").mkdir()
    paths = [as_jsonl(tmp_path), as_csv(tmp_path / "csv")]
    whole = tmp_path / "whole"
    made(paths, tmp_path / "first")  # kernels are loaded once
    points = calls_of(lambda: made(paths, whole), tmp_path / "log")
    assert len(points) > 10
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    home = tmp_path / "home"
    run = partial(made, paths, home / "out")

    def check() -> None:
        run()
        assert_whole(home / "out", expected)

    decisive = [i for i, name in enumerate(points) if name in ("rename", "replace")]
    restore({}, home)
    kill_at(decisive[-1], run)
    check()
    restore({}, home)
    states = states_at(
        range(len(points)), lambda: made(paths, home / "out"), home, tmp_path / "states"
    )
    for state in states:
        restore(state, home)
        check()


def test_what_was_read_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [as_jsonl(tmp_path), tmp_path / "more.jsonl"]
    paths[1].write_text("no record\n")
    with pytest.raises(InputError, match=r"more.jsonl, line 1"):
        made(paths, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    write_jsonl(paths[1], [{"id": "m", "text": PASSAGE}])
    looked: list[str] = []
    real = ShardTokenizer.__call__

    def call(self: Any, shard: Any) -> Any:
        looked.append(Path(shard.origin.file).name)
        return real(self, shard)

    monkeypatch.setattr(ShardTokenizer, "__call__", call)
    made(paths, tmp_path / "out")
    # The look at the first texts, the new file, and what is left of the texts that were cut.
    assert looked == ["texts.jsonl", "more.jsonl", "texts.jsonl"]
    assert [document.text for document in open_corpus(tmp_path / "out" / "texts.jsonl")] == LEFT
    assert not list(tmp_path.glob(".out*"))


class Elsewhere(Serial):
    """Works as other machines would: all that travels is pickled, and files are cut there."""

    remote = True

    def map(self, function: Any, items: Any, **said: Any) -> Iterator[Any]:
        for item in items:
            work, given = pickle.loads(pickle.dumps((function, item)))
            yield pickle.loads(pickle.dumps(work(given)))


def test_engines_change_no_byte(tmp_path: Path) -> None:
    (tmp_path / "packed").mkdir()
    paths = [as_jsonl(tmp_path), as_csv(tmp_path), as_gz(tmp_path / "packed"), as_parquet(tmp_path)]
    made(paths, tmp_path / "here")
    made(paths, tmp_path / "there", engine=Elsewhere())
    names = [path.name for path in (tmp_path / "here").iterdir()]
    for name in names:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    again = made(paths, tmp_path / "there", engine=Elsewhere())
    assert not again.new
    items = [Item(str(n), "made", text, ("",), 0) for n, text in enumerate(TEXTS)]
    for name, engine in (("d", None), ("e", Elsewhere())):
        for policy in ("drop", "report"):
            folder = tmp_path / f"{name}-{policy}"
            decontaminate(open_corpus(paths), items, folder, policy=policy, engine=engine)  # type: ignore[arg-type]
    for policy in ("drop", "report"):
        one, other = tmp_path / f"d-{policy}", tmp_path / f"e-{policy}"
        assert len(list(one.iterdir())) == (6 if policy == "drop" else 2)
        for path in one.iterdir():
            assert path.read_bytes() == (other / path.name).read_bytes()


@pytest.mark.usefixtures("pickling_pool")
def test_parquet_of_many_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    rows = [
        {
            "id": f"p{n}",
            "text": prose(60, 500 + n),
            "year": None if n < 40 else n,
            "tags": ["a"] * (n % 3),
        }
        for n in range(80)
    ]
    path = tmp_path / "rows.parquet"
    framed(rows, infer_schema_length=None).write_parquet(path, row_group_size=10)
    monkeypatch.setattr("rote.corpus.parquet.SHARD_BYTES", 2_000)
    for jobs in (1, 2):
        made(path, tmp_path / str(jobs), jobs=jobs)
    assert pl.read_parquet(tmp_path / "1" / path.name).to_dicts() == rows
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert {each.name for each in (tmp_path / "1").iterdir()} == {path.name, LEDGER, MANIFEST}


def test_files_of_one_name_in_several_folders_are_all_written(tmp_path: Path) -> None:
    paths = []
    for number, parent in enumerate("ab"):
        folder = tmp_path / parent / "texts"
        folder.mkdir(parents=True)
        (folder / "one.txt").write_text(prose(30, 40 + number))
        (folder / "two.txt").write_text(prose(30, 50 + number))
        paths.append(folder)
    made(paths, tmp_path / "out")
    found = {path.read_text() for path in (tmp_path / "out" / "texts").iterdir()}
    assert found == {prose(30, seed) for seed in (40, 41, 50, 51)}


def written(words: int, seed: int) -> str:
    """Prose with all that people put between and into words."""
    rng = random.Random(seed)
    text = prose(words, seed).split()
    inside = ("{}'s", "{}n't", "{0}-{0}", "{}'ll", "1,000", "U.S.", "{}", "{}", "{}", "{}")
    behind = (",", ";", ":", " --", "...", '"', ")", ".", "?", "!")
    for place in range(0, words, 6):
        text[place] = rng.choice(inside).format(text[place])
    for place in range(3, words, 5):
        text[place] += rng.choice(behind)
    return " ".join(text).capitalize() + "."


def typeset(text: str) -> str:
    for plain, glyph in (("'", "’"), ('"', "”"), ("--", "—"), ("...", "…"), ("fi", "ﬁ")):
        text = text.replace(plain, glyph)
    return text


def edited(share: float) -> Callable[[str], str]:
    def edit(text: str) -> str:
        rng = random.Random(7)
        words = text.split()
        for place in rng.sample(range(len(words)), round(share * len(words))):
            words[place] = rng.choice(WORDS)
        return " ".join(words)

    return edit


def stripped(text: str) -> str:
    return re.sub(r"[^\w\s]", "", text)


COPIES: dict[str, tuple[Callable[[str], str], bool, bool | None]] = {
    "without punctuation": (stripped, True, False),
    "in capitals": (str.upper, True, False),
    "typeset": (typeset, True, None),  # of words as they are, too, where few are typeset
    "other lines": (lambda text: text.replace(" ", "\n"), True, True),
    "small edits": (edited(0.02), True, True),
    "all of it": (lambda text: stripped(edited(0.01)(typeset(text.upper()))), True, False),
    "rewritten": (edited(0.3), False, False),
    "other words": (lambda text: written(150, crc32(text.encode())), False, False),
}
"""Of each form whether its copies go, and whether they do where words count as they are."""


@pytest.mark.parametrize("form", COPIES)
def test_copies_go_whatever_their_case_and_punctuation(form: str, tmp_path: Path) -> None:
    change, folded, exact = COPIES[form]
    texts = [written(150, seed) for seed in range(60)]
    path = tmp_path / "texts.jsonl"
    rows = [
        {"id": f"{kind}{n}", "text": each(text)}
        for kind, each in (("text", str), ("copy", change))
        for n, text in enumerate(texts)
    ]
    write_jsonl(path, rows)
    for name, options, expected in (
        ("folded", DedupOptions(), folded),
        ("exact", DedupOptions(exact=True), exact),
    ):
        if expected is None:
            continue
        made(path, tmp_path / name, options)
        gone = {row["id"]: row["kept"]["id"] for row in ledger(tmp_path / name)}
        assert gone == ({f"copy{n}": f"text{n}" for n in range(60)} if expected else {})
    # Nothing depends on who does it.
    for engine, jobs in ((Elsewhere(), 1), (None, 2)):
        folder = tmp_path / f"again-{jobs}"
        made(path, folder, DedupOptions(), engine=engine, jobs=jobs, memory=1 << 16)
        for each in (tmp_path / "folded").iterdir():
            assert each.read_bytes() == (folder / each.name).read_bytes()


def test_documents_without_a_word_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    texts = ["...", "!!!", "...", "? ! ?", "yes", "Yes!", "no", "\u2764\ufe0f"]
    rows = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    write_jsonl(path, rows)
    made(path, tmp_path / "out", DedupOptions())
    assert {row["id"]: row["kept"]["id"] for row in ledger(tmp_path / "out")} == {
        "2": "0",
        "5": "4",
    }


def test_a_folder_of_another_rule_is_not_taken_for_this_one(tmp_path: Path) -> None:
    path = as_jsonl(tmp_path)
    settings = made(path, tmp_path / "out").manifest["settings"]
    assert settings["shingles"] == "folded/1 of " + settings["tokenizer"]
    changed = json.loads((tmp_path / "out" / MANIFEST).read_text())
    changed["settings"]["shingles"] = "lower"
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(changed))
    with pytest.raises(OptionError):
        made(path, tmp_path / "out")
    exact = DedupOptions(length=20, shingle=3, exact=True)
    assert made(path, tmp_path / "exact", exact).manifest["settings"]["shingles"] == "word"


REWORDED = [
    ("a", "The committee approved the new budget for the harbour on Tuesday after a long debate."),
    ("b", "She was born in 1921 in a small village near the northern lakes, a smith's daughter."),
    ("c", "Bees dance to tell each other where flowers can be found in the meadow."),
    ("d", "On Tuesday, following a lengthy debate, the committee approved a new harbour budget."),
    ("e", "A smith's daughter, born in 1912 in a little village close to the northern lakes."),
    ("f", "After a long debate on Tuesday the new harbour budget was approved by the committee."),
]


def test_of_documents_in_other_words_one_stays(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "texts.jsonl", [{"id": i, "text": t} for i, t in REWORDED])
    options = DedupOptions(meaning=True)
    manifest = made(path, tmp_path / "out", options).manifest
    assert {row["id"]: row["kept"]["id"] for row in ledger(tmp_path / "out")} == {
        "d": "a",
        "f": "a",
    }
    assert all(row["p"] <= options.chance for row in ledger(tmp_path / "out"))
    assert [row["id"] for row in read_jsonl(tmp_path / "out" / "texts.jsonl")] == list("abce")
    (similar,) = read_jsonl(tmp_path / "out" / SIMILAR)
    assert (similar["id"], similar["similar_to"]["id"]) == ("e", "b")
    assert (similar["text"], similar["similar_to"]["text"]) == (REWORDED[4][1], REWORDED[1][1])
    assert similar["differing"] == ["numbers"]
    assert manifest["similar"] == 1
    assert not made(path, tmp_path / "out", options).new
    # Nothing depends on who does it, and without it nothing goes.
    made(path, tmp_path / "elsewhere", options, engine=Elsewhere(), memory=1 << 16)
    for each in (tmp_path / "out").iterdir():
        assert each.read_bytes() == (tmp_path / "elsewhere" / each.name).read_bytes()
    assert "similar" not in made(path, tmp_path / "plain", DedupOptions()).manifest
    assert not ledger(tmp_path / "plain")
    # The copy that stays is the one that the rules say.
    last = DedupOptions(meaning=True, keep=("newest:year",))
    years = [{"id": i, "text": t, "year": n} for n, (i, t) in enumerate(REWORDED)]
    made(write_jsonl(tmp_path / "years.jsonl", years), tmp_path / "newest", last)
    assert {row["id"]: row["kept"]["id"] for row in ledger(tmp_path / "newest")} == {
        "a": "f",
        "d": "f",
    }
    with pytest.raises(OptionError, match="--meaning"):
        DedupOptions(chance=0.1)
