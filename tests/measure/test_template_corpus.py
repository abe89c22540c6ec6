"""Templates in a corpus: worked tables, a slow twin, several corpora, what is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import annotators
from rote.compare.resampling import generator
from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer
from rote.core.metric import Comparison, Work
from rote.core.progress import Reporter, Silent
from rote.corpus import open_corpus
from rote.index.folders.build import build_index
from rote.index.folders.options import BuildOptions
from rote.index.index import Index
from rote.measure import _template_corpus, templates
from rote.measure._template_corpus import (
    check_corpora,
    count_of_counts,
    draw_others,
    open_corpora,
    tables_of,
)
from rote.measure._template_rows import Options, Rows
from tests.examples import dear, drawn, some
from tests.index.twins import index_layers
from tests.kit import Heard, write_jsonl

from .samples import layer_of, sample_of

SIGNATURE = annotators.get("rote").signature
FERRY = (
    "The last ferry left the harbour late, and nobody on the quay could say who had untied "
    "the rope or why the captain sang while the gulls turned back towards the town."
)
LETTER = (
    "A letter came on Tuesday. It asked for the lamp, for two pounds of nails and for an answer "
    "before the tide, which is more than anybody here has ever promised to a stranger."
)

Texts = Sequence[Sequence[str]]


def split(*texts: str) -> list[list[str]]:
    return [text.split() for text in texts]


def corpus_of(texts: Texts) -> Index:
    return index_layers({name: spanned(layer_of(texts, name)) for name in ("pos", "lower")})


def spanned(layer: Layer) -> Layer:
    """With spans, which an index asks for: every item is one character, spaces between."""
    lengths = layer.text_ends - layer.text_starts
    starts = 2 * (np.arange(len(layer.ids)) - np.repeat(layer.text_starts, lengths))
    return replace(layer, starts=starts.astype(np.int32), ends=(starts + 1).astype(np.int32))


def rows_of(texts: Texts, options: Options) -> Rows:
    return templates.rows(sample_of(texts, *templates.needs(options)), options, Work())


def comparison_of(
    groups: dict[str, list[int]], reference: str | None = None, reporter: Reporter | None = None
) -> Comparison:
    texts = sum(map(len, groups.values()))
    return Comparison(
        groups={name: np.array(take, np.int64) for name, take in groups.items()},
        reference=reference,
        ids=[f"text {number}" for number in range(texts)],
        signature=SIGNATURE,
        seed=7,
        reporter=reporter or Silent(),
    )


def tables(
    corpora: dict[str, Index],
    sources: dict[str, Texts],
    reference: str | None,
    most_frequent: int = 50_000,
    **given: Any,
) -> dict[str, list[dict[str, Any]]]:
    options = Options(**given)
    groups: dict[str, list[int]] = {}
    texts: list[Sequence[str]] = []
    for name, own in sources.items():
        groups[name] = list(range(len(texts), len(texts) + len(own)))
        texts += own
    with patch.object(_template_corpus, "MOST_FREQUENT", most_frequent):
        rows, comparison = rows_of(texts, options), comparison_of(groups, reference)
        return tables_of(corpora, rows, comparison, options)


def row(table: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    (found,) = [row for row in table if all(row[key] == wanted[key] for key in wanted)]
    return found


# ab stands 3 times, ba and bc once each.
CORPUS = split("a b a b c", "a b")
# Templates of two items. human: ab (2). model: ac, ba, ca (2 each), and ab is the only other.
HUMAN, MODEL = split("a b c", "a b x"), split("b a b a", "c a c a c")


def worked() -> dict[str, list[dict[str, Any]]]:
    sources: dict[str, Texts] = {"human": HUMAN, "model": MODEL}
    return tables({"novels": corpus_of(CORPUS)}, sources, "human", n=2, most_frequent=2)


def test_worked_coverage() -> None:
    coverage = worked()["coverage"]
    assert [(r["source"], r["kind"]) for r in coverage] == [
        ("human", "templates"),
        ("human", "others"),
        ("model", "templates"),
        ("model", "others"),
        ("model", "reference templates"),
    ]
    own = row(coverage, source="model", kind="templates")
    # Of ac, ba and ca only ba is there; among the two most frequent it comes before bc.
    assert (own["corpus"], own["n_grams"]) == ("novels", 3)
    assert own["found"] == own["among_frequent"] == pytest.approx(1 / 3)
    assert 0 < own["low"] < 1 / 3 < own["high"] < 1
    assert (own["among_low"], own["among_high"]) == (own["low"], own["high"])
    assert row(coverage, source="model", kind="others")["found"] == 1
    theirs = row(coverage, source="model", kind="reference templates")
    assert (theirs["n_grams"], theirs["found"], theirs["among_frequent"]) == (1, 1, 1)
    # bc is tied with ba but comes after it, and bx is absent: neither is among the foremost.
    others = row(coverage, source="human", kind="others")
    assert (others["n_grams"], others["among_frequent"]) == (1, 0)


def test_worked_ranks() -> None:
    found = worked()
    own = [r for r in found["ranks"] if r["source"] == "model"]
    assert [(r["kind"], r["n_gram"], r["count"], r["rank"]) for r in own] == [
        ("templates", "a c", 0, 4),
        ("templates", "b a", 1, 2),
        ("templates", "c a", 0, 4),
        ("others", "a b", 3, 1),
    ]
    test = row(found["rank_tests"], source="model")
    assert (test["n_grams"], test["others"]) == (3, 1)
    assert (test["median"], test["median_others"], test["u"]) == (4, 1, 3)
    assert test["p"] == pytest.approx(math.erfc(1 / math.sqrt(2.25)))


def test_worked_texts() -> None:
    found = worked()["found_in_texts"]
    assert [(r["id"], r["templates"], r["found"], r["share"]) for r in found] == [
        ("text 0", 1, 1, 1),
        ("text 1", 1, 1, 1),
        ("text 2", 1, 1, 1),
        ("text 3", 2, 0, 0),
    ]


def test_several_corpora_and_their_union() -> None:
    corpora = {"old": corpus_of(CORPUS), "new": corpus_of(split("b c", "b c", "c a", "b c"))}
    found = tables(corpora, {"model": MODEL}, None, n=2, most_frequent=1)
    assert list(dict.fromkeys(r["corpus"] for r in found["coverage"])) == [
        "old",
        "new",
        "old + new",
    ]
    # Together: bc 4, ab 3, ba and ca 1 each.
    own = [r for r in found["ranks"] if r["corpus"] == "old + new"]
    assert [(r["n_gram"], r["count"], r["rank"]) for r in own] == [
        ("a c", 0, 5),
        ("b a", 1, 3),
        ("c a", 1, 3),
        ("a b", 3, 2),
    ]
    others = row(found["coverage"], corpus="old + new", kind="others")
    assert (others["found"], others["among_frequent"]) == (1, 0)
    assert row(found["coverage"], corpus="old", kind="others")["among_frequent"] == 1
    share = row(found["found_in_texts"], corpus="old + new", id="text 1")
    assert (share["templates"], share["found"], share["share"]) == (2, 1, 0.5)


def test_n_grams_within_sentences_stay_there() -> None:
    # The package counts within sentences: a b | b c a b | a b. Across them stand bb and ba.
    options = Options(n=2, top=1, variant="package")
    sample = sample_of(split("a b b c a b", "a b"), *templates.needs(options))
    layers = {
        need: replace(spanned(layer), sentence_ends=np.array([2, 6, 8]))
        for need, layer in sample.layers.items()
    }
    rows = templates.rows(replace(sample, layers=layers), options, Work())
    corpora = {"novels": corpus_of(CORPUS)}
    others = set()
    for seed in range(30):
        comparison = replace(comparison_of({"model": [0, 1]}), seed=seed)
        found = tables_of(corpora, rows, comparison, options)
        assert [r["templates"] for r in found["found_in_texts"]] == [1, 1]
        assert [r["found"] for r in found["found_in_texts"]] == [1, 1]
        others |= {r["n_gram"] for r in found["ranks"] if r["kind"] == "others"}
    assert others == {"b c", "c a"}


def test_no_template_is_undefined() -> None:
    found = tables({"novels": corpus_of(CORPUS)}, {"one": split("a b c", "d")}, None, n=2)
    for kind in ("templates", "others"):
        own = row(found["coverage"], kind=kind)
        assert own["n_grams"] == 0
        keys = ("found", "low", "high", "among_frequent", "among_low", "among_high")
        assert all(math.isnan(own[key]) for key in keys)
    test = found["rank_tests"][0]
    assert all(math.isnan(test[key]) for key in ("median", "median_others", "u", "p"))
    assert all(math.isnan(r["share"]) for r in found["found_in_texts"])
    assert found["ranks"] == []


some_letters = some(some("abc", 9), 6, least=1)
letters = drawn(some_letters)


@given(letters, letters, letters, st.integers(1, 3), st.integers(1, 9))
@dear(50)
def test_agrees_with_counting_by_hand(
    measured: Texts, first: Texts, second: Texts, n: int, most: int
) -> None:
    corpora = {"a": corpus_of(first), "b": corpus_of(second)}
    found = tables(corpora, {"all": measured}, None, n=n, top=3, most_frequent=most)
    mine = grams_in(measured, n)
    chosen = [g for g, count in in_order(mine) if count >= 2][:3]
    for name, texts in (("a", first), ("b", second), ("a + b", [*first, *second])):
        counts = grams_in(texts, n)
        foremost = {gram for gram, _ in in_order(counts)[:most]}
        own = [r for r in found["ranks"] if r["corpus"] == name]
        kinds = [r["kind"] for r in own]
        grams = [tuple(r["n_gram"].split()) for r in own]
        others = grams[kinds.count("templates") :]
        assert grams[: len(chosen)] == chosen
        assert len(others) == len(set(others)) == min(len(chosen), len(mine) - len(chosen))
        assert set(others) <= set(mine) - set(chosen)
        for gram, r in zip(grams, own):
            assert r["count"] == counts[gram]
            larger = sum(count > counts[gram] for count in counts.values())
            assert r["rank"] == 1 + (larger if gram in counts else len(counts))
        for kind, asked in (("templates", chosen), ("others", others)):
            share = row(found["coverage"], corpus=name, kind=kind)
            assert share["n_grams"] == len(asked)
            if asked:
                assert share["found"] == sum(g in counts for g in asked) / len(asked)
                assert share["among_frequent"] == sum(g in foremost for g in asked) / len(asked)
        for text, r in zip(measured, [r for r in found["found_in_texts"] if r["corpus"] == name]):
            held = set(grams_in([text], n)) & set(chosen)
            assert (r["templates"], r["found"]) == (len(held), sum(g in counts for g in held))


@given(drawn(some(some_letters, 4)), st.integers(1, 3))
def test_counts_of_counts_over_several_segments(parts: list[Texts], n: int) -> None:
    segments = [segment for texts in parts for segment in corpus_of(texts).segments]
    counts = grams_in([text for texts in parts for text in texts], n)
    index = Index(segments, layers=("pos", "lower"))
    assert count_of_counts(index, "pos", n) == Counter(counts.values())


def grams_in(texts: Texts, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(t[i : i + n]) for t in texts for i in range(len(t) - n + 1))


def in_order(counts: Counter[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


# -- drawing ---------------------------------------------------------------------------------


def drawn(texts: Texts, take: list[int], wanted: int, seed: int = 0) -> list[str]:
    """Others beside so many templates of one item."""
    options = Options(n=1, top=wanted)
    rows, chosen = rows_of(texts, options), np.array(take, np.int64)
    own = templates.templates_of(rows, chosen, options)
    places = draw_others(rows.windows, rows.layer, chosen, own, generator(seed, "others"))
    return [rows.layer.vocabulary[i] for i in rows.layer.ids[places]]


def test_others_are_drawn_by_position() -> None:
    texts = [["a"] * 90 + ["b"] * 30 + ["c"] * 10]
    found = Counter(drawn(texts, [0], 1, seed)[0] for seed in range(400))
    assert set(found) == {"b", "c"}
    # 3 places in 4 are b's; four standard errors of 400 draws are 0.087.
    assert found["b"] / 400 == pytest.approx(0.75, abs=0.087)


def test_a_rare_n_gram_is_found_where_no_other_is_left() -> None:
    texts = [["a"] * 5_000 + ["b"] * 5_000, ["c"] + ["d"] * 4_999 + ["e"]]
    assert sorted(drawn(texts, [0, 1], 3)) == ["c", "e"]


# -- what is said ------------------------------------------------------------------------------


def test_what_stands_in_the_corpus_is_said_and_listed() -> None:
    heard = Heard()
    options = Options(n=2)
    rows = rows_of(split(*["a b c d e f g h"] * 2, "i j k l m n o p q"), options)
    comparison = comparison_of({"one": [0, 1], "two": [2]}, reporter=heard)
    index = corpus_of(split("x a b c d e f g h", "y"))
    found = tables_of({"novels": index, "other": corpus_of([])}, rows, comparison, options)
    assert [(r["corpus"], r["source"], r["id"]) for r in found["in_corpus"]] == [
        ("novels", "one", "text 0"),
        ("novels", "one", "text 1"),
    ]
    assert "novels: 2 of 3 measured texts occur in this corpus" in heard.lines[0]


def test_without_the_words_ids_alone_are_looked_up_and_that_is_said() -> None:
    heard = Heard()
    options = Options(n=2)
    index = index_layers({"pos": spanned(layer_of(CORPUS, "pos"))})
    tables_of(
        {"c": index}, rows_of(MODEL, options), comparison_of({"m": [0, 1]}, None, heard), options
    )
    (line,) = heard.lines
    assert "only by their ids" in line
    assert "rote index add-layer IDX lower" in line


# -- index folders ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tagged` holds one text, `words` has no tags, `odd=name` another text."""
    folder = tmp_path_factory.mktemp("corpora")
    for name, text, layers in (
        ("tagged", FERRY, ("lower", "pos")),
        ("words", FERRY, ("lower",)),
        ("odd=name", LETTER, ("pos",)),
    ):
        file = write_jsonl(folder / f"{name}.jsonl", [{"id": "1", "text": text}])
        build_index(open_corpus([file]), folder / name, BuildOptions(layers=layers))
    return folder


def test_folders_are_named_and_opened(folders: Path) -> None:
    options = Options(corpus=(f"novels={folders / 'tagged'}", str(folders / "odd=name")))
    assert list(check_corpora(options, signature=SIGNATURE)) == ["novels", "odd=name"]
    opened = open_corpora(options, signature=SIGNATURE)
    assert [index.documents_held for index in opened.values()] == [1, 1]


def test_tables_from_folders(folders: Path) -> None:
    options = Options(n=2, corpus=(str(folders / "tagged"), f"b={folders / 'odd=name'}"))
    rows = rows_of(split("DT NN DT NN", "DT NN"), options)
    comparison = comparison_of({"model": [0, 1]})
    found = tables_of(open_corpora(options, signature=SIGNATURE), rows, comparison, options)
    names = list(dict.fromkeys(r["corpus"] for r in found["coverage"]))
    assert names == ["tagged", "b", "tagged + b"]
    counts = {r["corpus"]: r["count"] for r in found["ranks"] if r["kind"] == "templates"}
    assert counts["tagged"] > 0
    assert counts["tagged + b"] == counts["tagged"] + counts["b"]


def test_a_layer_that_is_not_there_is_named(folders: Path) -> None:
    for name, layer in (("words", "pos"), ("tagged", "dep"), ("tagged", "word")):
        options = Options(corpus=(str(folders / name),), layer=layer)
        with pytest.raises(OptionError, match=f"rote index add-layer .*{name} {layer}"):
            open_corpora(options, signature=SIGNATURE)


def test_layers_of_another_annotator_are_refused(folders: Path) -> None:
    options = Options(corpus=(str(folders / "tagged"),))
    with pytest.raises(OptionError, match=r"built with rote-en/.* measured texts by spacy-1"):
        open_corpora(options, signature="spacy-1")


def test_names_must_differ_and_folders_be_indexes(folders: Path) -> None:
    twice = Options(corpus=(str(folders / "tagged"), f"tagged={folders / 'words'}"))
    with pytest.raises(OptionError, match="two corpora are called 'tagged'"):
        open_corpora(twice, signature=SIGNATURE)
    with pytest.raises(InputError, match="no index"):
        open_corpora(Options(corpus=(f"a={folders}",)), signature=SIGNATURE)
