"""The measure `templates`: values worked out by hand, given sets, inputs, sweeps, highlighting."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.result import Result
from rote.measure import Settings, templates
from rote.measure.driver.compute import compute
from rote.measure.templates import Options
from tests.kit import read_jsonl

QUICK = Settings(by=("source",), interval=0, permutations=0, matched=False)


def tagged(words: str) -> str:
    """CoNLL-U whose tags are the words in upper case: what is counted is what is read.

    A bar ends a sentence.
    """
    return "\n\n".join(
        "\n".join(
            f"{i}\t{w}\t{w}\tX\t{w.upper()}\t_\t0\troot\t_\t_"
            for i, w in enumerate(sentence.split(), 1)
        )
        for sentence in words.split("|")
    )


def written(path: Path, sources: dict[str, list[str]]) -> list[str]:
    """One CoNLL-U file per source, one document per text."""
    files = []
    for source, texts in sources.items():
        blocks = [f"# newdoc id = {source}-{i}\n{tagged(text)}\n" for i, text in enumerate(texts)]
        files.append(path / f"{source}.conllu")
        files[-1].write_text("\n".join(blocks), encoding="utf-8")
    return [str(file) for file in files]


def measured(path: Path, sources: dict[str, list[str]], **options: Any) -> Result:
    settings = Settings(annotator="given", interval=0, permutations=0, matched=False)
    files = [Path(file) for file in written(path, sources)]
    return compute({"templates": Options(**options)}, files, settings=settings)[0]


def test_templates_are_found_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3) * 20:
        ids = rng.integers(0, 4, rng.integers(0, 40)).astype(np.int32)
        known = rng.permutation(np.unique(rng.integers(0, 4, (6, n)), axis=0))
        expected = [
            (place, which)
            for place in range(len(ids) - n + 1)
            for which, template in enumerate(known.tolist())
            if ids[place : place + n].tolist() == template
        ]
        assert templates._find_templates(ids, known) == expected


def test_values_by_hand(tmp_path: Path) -> None:
    # 2-grams: A B 3 times, B A 2, B C 1, C A 1. With top 1 the template is A B.
    texts = ["a b a b", "a b c", "c a"]
    result = measured(tmp_path, {"one": texts}, n=2, top=1, lengths=(2, 3))
    found = next(iter(result.by_source.values())).values
    assert found["length"] == pytest.approx(9 / 3)
    assert found["rate"] == pytest.approx(2 / 3)
    assert found["per_token"] == pytest.approx(3 / 9)
    assert found["distinct"] == pytest.approx(2 / 3)
    tags = b"A B A B\nA B C\nC A"
    assert found["cr"] == pytest.approx(len(tags) / len(gzip.compress(tags, 9)))
    templates = result.tables["templates"]
    assert [(row["template"], row["count"], row["texts"]) for row in templates] == [("A B", 3, 2)]
    # B A stands twice only in the first text: one occurrence of A B A, none of it twice.
    lengths = {row["n"]: row for row in result.tables["lengths"]}
    assert lengths[2]["templates"] == 1
    assert lengths[3]["templates"] == 0
    assert lengths[3]["rate"] == 0


def test_within_sentences_by_hand(tmp_path: Path) -> None:
    # B A stands twice in all, but once across the end of a sentence; A B stands in two texts.
    texts = ["a b | a b a", "c | a b", "c a | b"]
    within = measured(tmp_path, {"one": texts}, n=2, lengths=(2,), windows="sentence")
    found = within.by_source["one"].values
    assert [(r["template"], r["count"], r["texts"]) for r in within.tables["templates"]] == [
        ("A B", 3, 2)
    ]
    assert (found["rate"], found["distinct"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert found["per_token"] == pytest.approx(3 / 11)
    across = measured(tmp_path, {"one": texts}, n=2, lengths=(2,))
    assert [(r["template"], r["count"]) for r in across.tables["templates"]] == [
        *(("A B", 4), ("B A", 2), ("C A", 2))
    ]
    assert "windows:sentence" in str(within.signature)
    assert "windows:" not in str(across.signature)
    longer = {"n": 3, "lengths": (3,), "windows": "sentence", "min_count": 1}
    notes = measured(tmp_path, {"one": texts}, **longer).by_source["one"].notes
    assert any("2 of 3 texts have no sentence of n = 3" in note for note in notes), notes


@pytest.mark.parametrize("seed", range(8))
def test_within_sentences_as_plain_python_counts(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    texts = [
        [draw.choices("abc", k=draw.randint(1, 9)) for _ in range(draw.randint(1, 4))]
        for _ in range(12)
    ]
    n, top, least = draw.choice([1, 2, 3]), draw.choice([2, 5, 40]), draw.choice([1, 2, 3])
    given = {"one": [" | ".join(map(" ".join, text)) for text in texts]}
    options = {"n": n, "top": top, "min_count": least, "windows": "sentence"}
    result = measured(tmp_path, given, lengths=(n, n + 1), **options)
    values = result.by_source["one"].values
    for length in (n, n + 1):
        held = [
            Counter(
                " ".join(sentence[i : i + length]).upper()
                for sentence in text
                for i in range(len(sentence) - length + 1)
            )
            for text in texts
        ]
        counts = sum(held, Counter[str]())
        frequent = sorted((-count, gram) for gram, count in counts.items() if count >= least)
        chosen = [gram for _, gram in frequent[:top]]
        row = next(row for row in result.tables["lengths"] if row["n"] == length)
        rate = sum(any(text[gram] for gram in chosen) for text in held) / len(texts)
        words = sum(len(sentence) for text in texts for sentence in text)
        per_token = sum(text[gram] for text in held for gram in chosen) / words
        distinct = sum(text[gram] > 0 for text in held for gram in chosen) / len(texts)
        expected = {"rate": rate, "per_token": per_token, "distinct": distinct}
        assert {name: row[name] for name in expected} == pytest.approx(expected)
        if length == n:
            assert {name: values[name] for name in expected} == pytest.approx(expected)
            listed = {row["template"]: row["count"] for row in result.tables["templates"]}
            assert listed == {gram: counts[gram] for gram in chosen}
    # All n-grams within sentences are those that the package counts.
    every = {"n": n, "top": 1000, "lengths": (n,)}
    ours = measured(tmp_path, given, windows="sentence", min_count=1, **every)
    package = measured(tmp_path, given, variant="package", **every)
    both = [{r["template"]: r["count"] for r in m.tables["templates"]} for m in (ours, package)]
    assert both[0] == both[1]


def test_what_cannot_stay_within_sentences_is_refused() -> None:
    with pytest.raises(OptionError, match="for the variant exact"):
        Options(variant="paper", windows="sentence")
    with pytest.raises(OptionError, match="across the ends of sentences"):
        Options(windows="sentence", corpus=("IDX",))


def test_intervals_tests_and_equal_lengths_within_sentences() -> None:
    chance = random.Random(5)
    nouns, verbs = "dog cat man ship".split(), "saw took left".split()

    def text(many: int) -> str:
        said = (f"The {chance.choice(nouns)} {chance.choice(verbs)} it." for _ in range(many))
        return " ".join(said)

    records = [
        Document(f"{source}{i}", text(many), {"source": source})
        for source, many in (("human", 6), ("model", 12))
        for i in range(8)
    ]
    settings = Settings(by=("source",), reference="human", permutations=99)
    made = Options(n=4, windows="sentence", lengths=(4,))
    (result,) = compute({"templates": made}, records, settings=settings)
    # Each sentence has five tags and so two templates: both stand in every text.
    assert result.by_source["human"].values["rate"] == 1
    assert result.by_source["human"].values["per_token"] == pytest.approx(2 / 5)
    assert result.by_source["model"].values["per_token"] == pytest.approx(2 / 5)
    assert result.by_source["model"].intervals["per_token"] is not None


def test_templates_of_one_source_are_matched_on_another(tmp_path: Path) -> None:
    sources = {"one": ["a b", "a b"], "two": ["c d", "c d", "a b"]}
    result = measured(tmp_path, sources, n=2, templates_from="one")
    assert result.by_source["two"].values["rate"] == pytest.approx(1 / 3)
    listed = tmp_path / "templates.txt"
    listed.write_text("C D\nX Y\n")
    result = measured(tmp_path, sources, n=2, templates_from=str(listed))
    assert result.by_source["one"].values["rate"] == 0
    assert result.by_source["two"].values["rate"] == pytest.approx(2 / 3)
    saved = tmp_path / "result.json"
    saved.write_text(measured(tmp_path, sources, n=2).to_json())
    result = measured(tmp_path, {"one": sources["one"]}, n=2, templates_from=str(saved))
    assert result.by_source["one"].values["rate"] == 1


def test_a_given_set_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "templates.txt"
    listed.write_text("A B C\n")
    with pytest.raises(InputError, match=r"has 3 items, not 2.*-n 3"):
        measured(tmp_path, {"one": ["a b"]}, n=2, templates_from=str(listed))
    with pytest.raises(OptionError, match="no source and no file"):
        measured(tmp_path, {"one": ["a b"]}, n=2, templates_from="nobody")
    with pytest.raises(OptionError, match="exact and paper"):
        measured(tmp_path, {"one": ["a b"]}, n=2, templates_from="one", variant="package")
    listed.write_text("{}")
    with pytest.raises(InputError, match="no JSON result"):
        measured(tmp_path, {"one": ["a b"]}, n=2, templates_from=str(listed))


def test_highlighting_shows_where_templates_stand(tmp_path: Path) -> None:
    result = measured(tmp_path, {"one": ["a b a b", "c"]}, n=2, highlight="one-0")
    row = result.tables["highlight"][0]
    assert row["text"] == "a b a b"
    assert [(s["start"], s["end"], s["template"]) for s in row["spans"]] == [
        (0, 3, "A B"),
        (4, 7, "A B"),
    ]
    with pytest.raises(OptionError, match="ids are like one-0"):
        measured(tmp_path, {"one": ["a b"]}, n=2, highlight="none")


def test_a_text_that_was_not_drawn_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.measure.driver.pipeline.measure_facets", lambda *a, **k: 1 / 0)
    files = [Path(file) for file in written(tmp_path, {"one": ["a b a b"] * 9})]
    settings = Settings(annotator="given", interval=0, permutations=0, matched=False, sample=1)
    refused = []
    for number in range(9):
        options = Options(n=2, highlight=f"one-{number}")
        with pytest.raises((OptionError, ZeroDivisionError)) as stopped:
            compute({"templates": options}, files, settings=settings)
        if stopped.type is OptionError:
            refused.append(str(stopped.value))
            said = f"'one-{number}' is not among the 1 of each source that --sample drew"
            assert said in refused[-1]
    # The work began for the one that was drawn.
    assert len(refused) == 8


def test_a_text_of_one_facet_is_highlighted_there_alone() -> None:
    records = [
        Document(f"{task}{n}", f"The cat sat on the mat {n}.", {"task": task, "source": source})
        for task in ("a", "b")
        for n, source in enumerate(("human", "human", "model", "model"))
    ]
    settings = Settings(by=("task", "source"), reference="human", permutations=0, matched=False)
    (result,) = compute({"templates": Options(n=3, highlight="b2")}, records, settings=settings)
    assert [row["id"] for row in result.tables["highlight"]] == ["b2"]


RECORDS = [
    ("human", "0", "The cat sat on the mat and looked at the dog.", "A long story about a cat."),
    (
        "model",
        "0",
        "A cat looked at a dog from the old mat in the hall.",
        "A long story about a cat.",
    ),
    ("human", "1", "Rain fell on the roof.", "A report about the weather in the north."),
    (
        "model",
        "1",
        "The rain fell on the roof of the house.",
        "A report about the weather in the north.",
    ),
]


def records(path: Path, **more: list[Any]) -> Path:
    file = path / "records.jsonl"
    lines = []
    for i, (source, doc_id, text, document) in enumerate(RECORDS):
        fields = {"id": str(i), "source": source, "doc_id": doc_id, "text": text}
        fields |= {"document": document} | {name: column[i] for name, column in more.items()}
        lines.append(json.dumps(fields))
    file.write_text("\n".join(lines))
    return file


def test_the_documents_are_a_source_of_their_own(tmp_path: Path) -> None:
    file = records(tmp_path)
    result = compute({"templates": Options()}, file, settings=QUICK)[0]
    assert list(result.by_source) == ["human", "model", "input documents"]
    assert result.by_source["input documents"].texts == 2
    without = compute({"templates": Options()}, file, settings=replace(QUICK, inputs=""))[0]
    assert list(without.by_source) == ["human", "model"]
    assert without.by_source["human"].values == result.by_source["human"].values


def test_a_sweep_over_a_second_field(tmp_path: Path) -> None:
    file = records(tmp_path, temperature=[0, 0, 1, 1])
    settings = Settings(by=("source", "temperature"), interval=0, permutations=0, matched=False)
    result = compute({"templates": Options(n=2)}, file, settings=settings)[0]
    rows = {(row["source"], row["value"]): row for row in result.tables["sweep"]}
    values = [result.by_source[f"human|{t}"].values["length"] for t in (0, 1)]
    row = rows["human", "length"]
    assert (row["over"], row["groups"]) == ("temperature", 2)
    assert row["mean"] == pytest.approx(sum(values) / 2)
    assert row["range"] == pytest.approx(abs(values[0] - values[1]))
    assert row["sd"] == pytest.approx(abs(values[0] - values[1]) / math.sqrt(2))


@pytest.mark.parametrize("variant", ["exact", "paper", "package"])
def test_edges(variant: str) -> None:
    texts = {"one": ["Too short."], "same": ["The old man saw the old dog again."] * 3}
    settings = Settings(permutations=9, reference="same", matched=False)
    result = compute({"templates": Options(variant=variant)}, texts, settings=settings)[0]  # type: ignore[arg-type]
    assert any("shorter than n = 6" in note for note in result.by_source["one"].notes)
    assert result.by_source["one"].values["rate"] == 0
    assert result.by_source["same"].values["rate"] == 1
    assert Result.from_json(result.to_json()).to_json() == result.to_json()


TEXTS = [
    Document(f"{source}{task}{n}", text, {"source": source, "task": task})
    for source, task, texts in (
        ("a", "x", ["The old cat sat on the mat.", "A big dog lay by the door. Été!"]),
        ("b", "x", ["The thin owl sat in the tree.", "Who?"]),
        ("b", "y", ["The red fox ran to the den.", "The shy doe hid in the fen."]),
    )
    for n, text in enumerate(texts)
]


def test_every_place_of_every_template_is_written(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    options = Options(n=3, write=path)
    settings = Settings(by=("task", "source"), reference="b", permutations=0)
    result = compute({"templates": options}, TEXTS, settings=settings)[0]
    found = read_jsonl(path)
    assert {row["source"] for row in found} == {"x|a", "y|b"}
    texts = {(f"{d.meta['task']}|{d.meta['source']}", d.id): d.text for d in TEXTS}
    for row in found:
        assert texts[row["source"], row["id"]][row["start"] : row["end"]] == row["text"]
    counts = Counter((row["source"], row["template"]) for row in found)
    listed = {(r["source"], r["template"]): r["count"] for r in result.tables["templates"]}
    assert counts == listed
    # What is there is an input, or the result of another run.
    with pytest.raises(OptionError, match="already exists: choose another file"):
        compute({"templates": options}, TEXTS, settings=settings)
    assert len(path.read_text().splitlines()) == len(found)
    other = Options(n=3, write=tmp_path / "other.jsonl")
    with pytest.raises(OptionError, match="leave out --write"):
        compute({"templates": other}, TEXTS, settings=Settings(within="task"))
