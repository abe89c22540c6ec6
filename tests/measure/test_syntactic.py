"""Syntactic diversity: by hand, against GraKeL, and what is said of the sentences used."""

from __future__ import annotations

import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rote.annotate import annotators
from rote.annotate.trees import head_distances, head_layer
from rote.core.document import Annotation
from rote.core.errors import MissingExtra
from rote.core.metric import Work
from rote.core.result import Result
from rote.core.sample import Sample
from rote.corpus import open_corpus
from rote.measure import Settings, syntactic
from rote.measure._sentences import sentences_of
from rote.measure._tree_histograms import histograms
from rote.measure.driver.compute import compute
from rote.measure.syntactic import HEAD, UPOS, WORD, Options, distances_from, trees_of
from rote.run import get

from .trees import Tree, conllu, grown, layers_of, trees

CAT_SLEEPS: Tree = [("DET", 1), ("NOUN", 2), ("VERB", -1)]
CATS_SLEEP: Tree = [("NOUN", 1), ("VERB", -1)]
WRITTEN = [
    "The ferry was late again. Nobody on the pier seemed to mind, least of all the gulls.",
    "Did you water the ferns? I did, twice, and they still look sorry for themselves.",
    "Seven boxes came up the stairs, and one of them was ticking. We opened it last.",
]


def treebank(tmp_path: Path, *sources: list[list[Tree]]) -> list[Path]:
    """One file, and so one source, for each list of texts."""
    paths = [tmp_path / f"source{number}.conllu" for number in range(len(sources))]
    for path, texts in zip(paths, sources):
        path.write_text(conllu(texts))
    return paths


def measured(paths: Any, settings: Settings | None = None, **options: Any) -> Result:
    given = settings or Settings(annotator="given", permutations=0)
    return compute({"syntactic": Options(**options)}, paths, settings=given)[0]


def rows_of(texts: list[list[Tree]], **options: Any) -> tuple[syntactic.Rows, Options]:
    upos, head = layers_of(texts)
    words = upos.text_ends - upos.text_starts
    sample = Sample(words=words, layers={WORD: upos, UPOS: upos, HEAD: head})
    made = Options(**options)
    return syntactic.rows(sample, made, Work()), made


# The value


def test_two_sentences_worked_out_by_hand(tmp_path: Path) -> None:
    """Norms 12 and 9, product 6 (see test_histograms): k = 6 / sqrt(108)."""
    apart = measured(treebank(tmp_path, [[CAT_SLEEPS], [CATS_SLEEP]]))
    values = apart.by_source["source0"].values
    assert values["wl"] == pytest.approx(1 - 6 / math.sqrt(108), abs=1e-12)
    assert values["sentence_length"] == 2.5


def test_equal_trees_are_not_diverse_and_trees_without_a_common_label_share_the_root() -> None:
    rows, options = rows_of([[CATS_SLEEP] * 3])
    assert syntactic.reduce(rows, np.array([0]), options, None)["wl"] == pytest.approx(0, abs=1e-12)
    rows, options = rows_of([[[("X", -1)]], [[("Y", -1)]]], depth=0)
    assert syntactic.reduce(rows, np.arange(2), options, None)["wl"] == pytest.approx(0.5)


def annotation_of(texts: list[str]) -> Annotation:
    documents = list(open_corpus(texts))
    return annotators.get()(documents, ("upos", "dep"))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="GraKeL has no release for it")
def test_kernel_and_mean_are_those_of_grakel() -> None:
    from grakel import Graph
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    chapters = [document.text for document, _ in zip(open_corpus("bible:kjv"), range(3))]
    texts = [*WRITTEN, *chapters]
    annotation = annotation_of(texts)
    upos, heads = annotation.layers["upos"], annotation.heads
    assert heads is not None
    head = head_layer(annotation.word, heads)
    sentences, away = sentences_of(annotation.word), head_distances(head)
    graphs = []
    for start, end in zip(sentences.starts.tolist(), sentences.ends.tolist()):
        labels = {place: upos.vocabulary[upos.ids[place]] for place in range(start, end)}
        edges = [(p, p + int(away[p]) if away[p] else -1) for p in range(start, end)]
        both = [*edges, *((b, a) for a, b in edges)]
        graphs.append(Graph(both, node_labels={**labels, -1: "the root"}))
    kernel = WeisfeilerLehman(n_iter=2, normalize=True, base_graph_kernel=VertexHistogram)
    expected = kernel.fit_transform(graphs)

    made = histograms(upos, head, sentences)
    units = np.zeros((len(made), made.kinds))
    for number, (a, b) in enumerate(zip([0, *made.ends[:-1]], made.ends)):
        units[number, made.labels[a:b]] = made.counts[a:b] / math.sqrt(made.norms[number])
    assert len(graphs) > 80
    assert np.abs(units @ units.T - expected).max() < 1e-9

    count = len(graphs)
    mean = 1 - (expected.sum() - count) / (count * (count - 1))
    plain = Settings(permutations=0)
    found = measured(texts, plain).by_source["texts"].values["wl"]
    assert found == pytest.approx(mean, abs=1e-9)


# Intervals, values of texts, tests


def some_texts(seed: int, texts: int) -> list[list[Tree]]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, texts)
    return [[grown(rng, int(rng.integers(2, 9)), 3) for _ in range(count)] for count in counts]


def test_errors_are_those_of_leaving_out_one_text_at_a_time() -> None:
    texts = some_texts(1, 12)
    rows, options = rows_of(texts, edit_distance=100)
    take = np.array([number for number, text in enumerate(texts) if text], np.int64)
    found = syntactic.standard_errors(rows, np.arange(12), options)
    left = [
        syntactic.reduce(rows, take[take != text], options, np.random.default_rng(0))
        for text in take
    ]
    for name, error in found.items():
        column = np.array([values[name] for values in left])
        share = (len(take) - 1) / len(take)
        expected = math.sqrt(share * ((column - column.mean()) ** 2).sum())
        # A single source has no `wl_matched`; its error is tested with several.
        assert error == pytest.approx(expected, nan_ok=name == "wl_matched")
    assert set(found) == {"wl", "wl_matched", "sentence_length", "tree_edit"}


def test_a_text_has_the_diversity_of_its_own_sentences() -> None:
    texts = [[CAT_SLEEPS, CATS_SLEEP], [CATS_SLEEP], []]
    rows, options = rows_of(texts)
    found = syntactic.per_text(rows, options)
    assert found["wl"] == pytest.approx([1 - 6 / math.sqrt(108), math.nan, math.nan], nan_ok=True)
    assert found["sentence_length"] == pytest.approx([2.5, 2, math.nan], nan_ok=True)


# Which sentences


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join([*WRITTEN, "It went well. Then the lights went out and the"]))
    plain = Settings(permutations=0)
    whole = measured(path, plain)
    assert not any("sentence" in note for note in next(iter(whole.by_source.values())).notes)
    cut = measured(path, plain, drop_incomplete="last", sentences=4)
    (source,) = cut.by_source.values()
    assert source.notes[:2] == (
        "4 sentences drawn at random from 7",
        "left out: 1 sentence of truncated texts",
    )


def test_the_paper_draws_3000_sentences_of_each_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Options(variant="paper").most == 3_000
    assert Options(variant="paper", sentences=50).most == 50
    assert Options().most is None
    monkeypatch.setattr(syntactic, "PAPER_SENTENCES", 5)
    paths = treebank(tmp_path, some_texts(3, 10), some_texts(4, 10))
    result = measured(paths, variant="paper")
    notes = [source.notes[0] for source in result.by_source.values()]
    assert all(note.startswith("5 sentences drawn at random from") for note in notes)


def test_fewer_than_two_sentences_are_undefined_with_a_reason(tmp_path: Path) -> None:
    (source,) = measured(treebank(tmp_path, [[CATS_SLEEP]]), edit_distance=5).by_source.values()
    assert math.isnan(source.values["wl"])
    assert math.isnan(source.values["tree_edit"])
    assert source.values["sentence_length"] == 2
    assert "fewer than two sentences: no pairs to compare" in source.notes
    assert "tree_edit: fewer than two sentences were drawn, so it is undefined" in source.notes


def test_sentences_of_equal_length_have_a_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    texts = [[CAT_SLEEPS, CATS_SLEEP], [grown(rng, 40, 3)], [grown(rng, 36, 3)]]
    table = measured(treebank(tmp_path, texts)).tables["sentence_lengths"]
    assert [row["sentences"] for row in table] == [2, 0, 0, 0, 0, 0, 0, 2]
    assert (table[0]["from_words"], table[0]["to_words"]) == (1, 4)
    assert (table[-1]["from_words"], table[-1]["to_words"]) == (36, None)
    assert table[0]["wl"] == pytest.approx(1 - 6 / math.sqrt(108))
    assert math.isnan(table[1]["wl"])


# Tree edit distance


def edit_twin(one: Tree, other: Tree) -> int:
    """The recursion of the definition, over forests: delete, insert, or match the last roots."""

    def nested(tree: Tree, head: int) -> tuple[Any, ...]:
        below = [place for place, (_, above) in enumerate(tree) if above == head]
        return tuple((tree[place][0], nested(tree, place)) for place in below)

    def size(forest: tuple[Any, ...]) -> int:
        return sum(1 + size(children) for _, children in forest)

    @cache
    def distance(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
        if not a or not b:
            return size(a) + size(b)
        (label_a, below_a), (label_b, below_b) = a[-1], b[-1]
        return min(
            distance(a[:-1] + below_a, b) + 1,
            distance(a, b[:-1] + below_b) + 1,
            distance(a[:-1], b[:-1]) + distance(below_a, below_b) + (label_a != label_b),
        )

    return distance(nested(one, -1), nested(other, -1))


def edit_distance(one: Tree, other: Tree) -> float:
    upos, head = layers_of([[one], [other]])
    trees = get().share(trees_of(upos, head, sentences_of(upos)))
    (found,) = distances_from(trees, (0, 2))
    return found


@given(trees(), trees())
def test_edit_distances_are_those_of_the_definition(one: Tree, other: Tree) -> None:
    assert edit_distance(one, other) == edit_twin(one, other) / (len(one) + len(other))


def test_edit_distances_by_hand() -> None:
    assert edit_distance(CAT_SLEEPS, CAT_SLEEPS) == 0
    assert edit_distance(CAT_SLEEPS, CATS_SLEEP) == 1 / 5  # one word to delete
    assert edit_distance([("NOUN", -1)], [("VERB", -1)]) == 1 / 2  # one to relabel
    swapped: list[Tree] = [[("A", -1), ("B", 0), ("C", 0)], [("A", -1), ("C", 0), ("B", 0)]]
    assert edit_distance(*swapped) == 2 / 6  # the order of words counts
    before: list[Tree] = [[("A", -1), ("B", 0)], [("B", 1), ("A", -1)]]
    assert edit_distance(*before) == 0  # but not on which side of its head a word stands


@pytest.mark.usefixtures("pickling_pool")
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_mean_edit_distance_is_that_of_each_sources_own_pairs(
    tmp_path: Path, jobs: int
) -> None:
    sources = [some_texts(6, 5), [[CAT_SLEEPS], [CATS_SLEEP, CAT_SLEEPS]]]
    settings = Settings(annotator="given", reference="source1", permutations=9, jobs=jobs)
    result = measured(treebank(tmp_path, *sources), settings, edit_distance=100)
    for number, texts in enumerate(sources):
        held = [tree for text in texts for tree in text]
        pairs = [(a, b) for place, a in enumerate(held) for b in held[:place]]
        expected = np.mean([edit_twin(a, b) / (len(a) + len(b)) for a, b in pairs])
        source = result.by_source[f"source{number}"]
        assert source.values["tree_edit"] == pytest.approx(expected)
        note = f"tree_edit: {len(pairs)} pairs of {len(held)} sentences; not tested"
        assert note in source.notes
    assert {row["value"] for row in result.comparisons} == {"wl", "wl_matched", "sentence_length"}


def test_very_long_sentences_are_not_drawn_for_the_edit_distance(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    texts = [[CAT_SLEEPS, CATS_SLEEP], [grown(rng, 200, 3)]]
    (source,) = measured(treebank(tmp_path, texts), edit_distance=3).by_source.values()
    assert source.values["tree_edit"] == pytest.approx(1 / 5)
    assert "tree_edit: 1 sentence of more than 150 words could not be drawn" in source.notes


def test_the_edit_distance_asks_for_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apted", None)
    with pytest.raises(MissingExtra, match=r"\.\[tree-edit\]"):
        measured(WRITTEN, Settings(permutations=0), edit_distance=5)
    assert measured(WRITTEN, Settings(permutations=0)).by_source
