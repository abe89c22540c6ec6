"""Originality: verdicts by hand, all windows slowly, BLEU by its definition and by sacrebleu."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.metric import Work
from rote.core.result import Result
from rote.core.sample import Need, RawText, Sample
from rote.corpus import open_corpus
from rote.index.folders.build import build_index
from rote.index.folders.options import BuildOptions
from rote.measure import Settings
from rote.measure import _originality_tables as bleus
from rote.measure import originality as measure
from rote.measure.driver.compute import compute
from rote.measure.originality import Options
from rote.search.index_language_model import BackOff
from rote.search.originality.authors import sources_of
from rote.search.originality.reach import GroundTruth
from tests.examples import lists, some
from tests.kit import write_jsonl
from tests.search import originality_twins as twins
from tests.search.originality_twins import Text

QUICK = Settings(permutations=9, per_text=True)
Truth = Sequence[Mapping[str, Any]]
# As the definition says it: any fragment of one source needs a citation.
ANY: dict[str, Any] = {"min_words": 2, "chance": 0.0}

SAYING = "Old rivers carry patient stones."
GROUND: Truth = [
    {"id": "ann-1", "author": "Ann Lee", "text": f"{SAYING} Green clocks never sleep."},
    {"id": "ann-2", "author": "LEE, Ann", "text": "Green clocks never sleep."},
    {"id": "bob", "author": "Bob", "text": SAYING},
    {"id": "nobody", "text": "Paper boats drown quietly."},
]


def written(folder: Path, records: Truth, name: str = "ground.jsonl") -> Path:
    return write_jsonl(folder / name, records)


def run(texts: Any, against: Path, settings: Settings = QUICK, **options: Any) -> Result:
    """By the definition, unless options say how long a fragment is and how rare."""
    rule = {} if options.get("variant") == "paper" or ANY.keys() & options.keys() else ANY
    chosen = Options(corpus=str(against), **rule | options)
    return compute({"originality": chosen}, texts, settings=settings)[0]


def values(result: Result, source: str = "texts") -> dict[str, float]:
    return dict(result.by_source[source].values)


def verdicts(result: Result) -> dict[str, tuple[bool, bool]]:
    """Sentence -> original, fails."""
    return {row["text"]: (row["original"], row["fails"]) for row in result.tables["sentences"]}


# By hand


def test_what_one_source_has_needs_a_citation_and_what_two_have_does_not(tmp_path: Path) -> None:
    texts = [
        f"{SAYING} Green clocks never sleep. Paper boats drown quietly.",
        "Wooden moons applaud. Green clocks never applaud.",
    ]
    found = verdicts(run(texts, written(tmp_path, GROUND)))
    assert found == {
        # Under two authors: nobody's own.
        SAYING: (False, False),
        # Two documents, but one author under two spellings.
        "Green clocks never sleep.": (False, True),
        # Of one document, whoever wrote it.
        "Paper boats drown quietly.": (False, True),
        "Wooden moons applaud.": (True, False),
        # "green clocks never" is Ann's, "never applaud" is new.
        "Green clocks never applaud.": (True, True),
    }


def test_shares_count_sentences_and_fragments(tmp_path: Path) -> None:
    text = f"{SAYING} Green clocks never applaud. The."
    result = run([text], written(tmp_path, GROUND))
    found = values(result)
    assert found["original"] == 1 / 3
    assert found["failing"] == 1 / 3
    # Ten windows of five words, all common; six of four words, three of them Ann's, three new.
    assert found["new_fragments"] == (0 / 10 + 3 / 6) / 2
    assert found["cited_fragments"] == (0 / 10 + 3 / 6) / 2
    assert result.tables["counts"] == [
        {
            "source": "texts",
            "sentences": 3,
            "original": 1,
            "failing": 1,
            "without_fragment": 1,
            "listed": 3,
            # Of the 27 words' five sentences one of Ann's and one of Bob's: each has the other's.
            "failing_by_chance": 2 * 13 / 27,
        }
    ]
    (note,) = (note for note in result.by_source["texts"].notes if "no fragment" in note)
    assert note.startswith("1 of 3 sentences")


def test_relaxed_a_fragment_of_two_sources_needs_a_citation_too(tmp_path: Path) -> None:
    result = run([SAYING], written(tmp_path, GROUND), relax=2)
    assert verdicts(result) == {SAYING: (False, True)}
    cited = [(row["document"], row["author"]) for row in result.tables["citations"]]
    assert cited == [("ann-1", "Ann Lee"), ("bob", "Bob")]
    # Three sources in all: with three allowed, nothing is common property.
    notes = run([SAYING], written(tmp_path, GROUND), relax=3).by_source["texts"].notes
    assert any("nothing is common property" in note for note in notes)


def test_documents_that_agree_in_a_field_are_one_source(tmp_path: Path) -> None:
    records = [
        {"id": "1", "book": "x", "text": "Old rivers carry stones."},
        {"id": "2", "book": "x", "text": "Old rivers carry stones."},
    ]
    path, text = written(tmp_path, records), "Old rivers carry stones."
    assert verdicts(run([text], path)) == {text: (False, False)}
    assert verdicts(run([text], path, document_field="book")) == {text: (False, True)}


def test_the_paper_counts_windows_of_different_sentences(tmp_path: Path) -> None:
    path = written(tmp_path, GROUND)
    # Equal sentences were removed, so the saying has a count of 1, and so has Ann's.
    text = f"{SAYING} Green clocks never sleep."
    found = verdicts(run([text], path, variant="paper"))
    assert found == {SAYING: (False, True), "Green clocks never sleep.": (False, True)}
    # A repeat within a sentence counts again: "red fish" has a count of 2 in one sentence.
    again = written(tmp_path, [{"id": "1", "text": "Red fish and red fish swim."}], "again.jsonl")
    assert verdicts(run(["Red fish!"], again)) == {"Red fish!": (False, True)}
    assert verdicts(run(["Red fish!"], again, variant="paper")) == {"Red fish!": (False, False)}


def test_line_12_leaves_fragments_unseen(tmp_path: Path) -> None:
    records = [{"id": "1", "text": "Blue cats sing."}, {"id": "2", "text": "Blue cats bake pies."}]
    path = written(tmp_path, records)
    # "blue cats" is known, so the other windows of two words of that sentence are never added.
    assert verdicts(run(["Cats bake!"], path)) == {"Cats bake!": (False, True)}
    assert verdicts(run(["Cats bake!"], path, variant="paper")) == {"Cats bake!": (True, False)}


def test_fragments_read_what_stands_at_their_characters(tmp_path: Path) -> None:
    text = "«Wéll»:  green   CLOCKS never\nsleep, and wooden moons applaud them."
    result = run([text], written(tmp_path, GROUND))
    (row,) = result.tables["sentences"]
    assert text[row["start"] : row["end"]] == row["text"]
    spans = [*row["original_fragments"], *row["cited_fragments"]]
    assert spans
    for span in spans:
        assert text[span["start"] : span["end"]] == span["fragment"]
    (cited,) = row["cited_fragments"]
    assert (cited["fragment"], cited["words"]) == ("green   CLOCKS never\nsleep", 4)
    (place,) = result.tables["citations"]
    assert (place["document"], place["author"], place["fragment"]) == (
        "ann-1",
        "Ann Lee",
        cited["fragment"],
    )
    held = str(GROUND[0]["text"])
    assert held[place["document_start"] : place["document_end"]] == place["match"]
    assert place["before"] + place["match"] + place["after"] == held
    assert place["match"] == "Green clocks never sleep"


def test_the_ground_truth_is_described(tmp_path: Path) -> None:
    tables = run([SAYING], written(tmp_path, GROUND)).tables
    assert tables["ground_truth"] == [
        {
            "documents": 4,
            "words": 27,
            "sources": 3,
            "authors": 2,
            "documents_without_author": 1,
            "edges": "tags",
            "held_out_sentences": 5,
            "held_out_failing": 2,
        }
    ]
    assert tables["merged_authors"] == [
        {"author": "Ann Lee", "spellings": ["Ann Lee", "LEE, Ann"], "guessed": [], "could_be": []}
    ]
    # Of four words: two windows of the saying, twice; Ann's twice; the boats once.
    four = next(row for row in tables["incompleteness"] if row["length"] == 4)
    assert (four["fragments"], four["occurrences"], four["once"]) == (4, 7, 1)
    assert four["unseen"] == 1 / 7
    total = tables["incompleteness"][-1]
    assert total["length"] is None
    assert total["occurrences"] == sum(row["occurrences"] for row in tables["incompleteness"][:-1])
    assert (
        "incompleteness"
        not in run([SAYING], written(tmp_path, GROUND), incompleteness=False).tables
    )


def test_failing_by_length_counts_the_longest_cited_fragment(tmp_path: Path) -> None:
    texts = ["Green clocks never sleep. Green clocks tick.", "Wooden moons applaud."]
    rows = run(texts, written(tmp_path, GROUND)).tables["lengths"]
    assert [row["failing"] for row in rows] == [2 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0]
    assert [row["words"] for row in rows] == [2, 3, 4, 5, 6, 7, 8]
    assert all(row["low"] <= row["failing"] <= row["high"] for row in rows)


def test_the_sentences_that_repeat_most_are_listed_and_verdicts_are_complete(
    tmp_path: Path,
) -> None:
    texts = [
        Document("a", "Green clocks tick. Green clocks never sleep. Wooden moons applaud."),
        Document("b", "Paper boats sink. Silver foxes whistle. Iron bells hum."),
    ]
    path = written(tmp_path, GROUND)
    result = run(texts, path, top=1, verdicts=True)
    listed = [row["text"] for row in result.tables["sentences"] if row["fails"]]
    assert listed == ["Green clocks never sleep."]
    assert len(result.tables["sentences"]) == 2
    assert [row["text"] for row in result.tables["verdicts"]] == [
        *("Green clocks tick.", "Green clocks never sleep.", "Wooden moons applaud."),
        *("Paper boats sink.", "Silver foxes whistle.", "Iron bells hum."),
    ]
    assert [row["sentence"] for row in result.tables["verdicts"]] == [1, 2, 3, 1, 2, 3]
    assert "verdicts" not in run(texts, path).tables
    assert str(run(texts, path).signature) == str(result.signature)
    backwards = run(texts[::-1], path, top=1)
    assert verdicts(backwards) == verdicts(run(texts, path, top=1))


# Longer than five words, and rarer than chance


def plain_texts() -> list[Document]:
    """A dozen texts by as many hands."""
    found = [text for text in open_corpus(["example:answers"]) if text.meta["source"] == "plain"]
    return [Document(f"plain {number}", text.text) for number, text in enumerate(found)]


OWN = (
    "I walked to the shop because we had no milk. The man behind the counter was out of change, "
    "so I took the bread as well.",
    "On the way back it rained. Nobody I know was in the street, and from the bridge you could see "
    "that the river was low. It was the first time in weeks that I had been out of the house.",
)


def test_a_page_with_copied_words_fails_where_they_stand_and_nowhere_else(tmp_path: Path) -> None:
    truth = plain_texts()
    path = written(tmp_path, [{"id": one.id, "text": one.text} for one in truth])
    copied = " ".join(truth[3].text.split()[:60])
    copied = copied[: copied.rindex(".") + 1]
    page = " ".join((OWN[0], copied, OWN[1]))
    result = run([page], path, min_words=5)
    failing = [row["text"] for row in result.tables["sentences"] if row["fails"]]
    assert " ".join(failing) == copied
    (counts,) = result.tables["counts"]
    assert counts["failing"] == len(failing)
    assert counts["failing_by_chance"] < 1
    # Any two words that one text alone has would flag what nobody copied.
    others = [row["text"] for row in run([page], path).tables["sentences"] if row["fails"]]
    assert set(failing) < set(others)


def test_texts_by_a_hand_that_was_held_out_hardly_fail(tmp_path: Path) -> None:
    *truth, last = plain_texts()
    path = written(tmp_path, [{"id": one.id, "text": one.text} for one in truth])
    assert values(run([last.text, *OWN], path, min_words=5))["failing"] == 0
    assert values(run([last.text, *OWN], path))["failing"] > 0.3


def test_what_chance_would_hold_is_nobodys_own(tmp_path: Path) -> None:
    """The same five words: rare ones need a citation, the commonest of a large text do not."""
    rare = "Green clocks never sleep soundly."
    often = "it was on the way"
    filler = " ".join(f"Perhaps {often} home." for _ in range(2))
    common = " ".join(
        f"It was {first} and the way on it was {second}, on the {third} of the way it was."
        for first in ("long", "wet", "cold", "dark") * 4
        for second in ("steep", "short", "old")
        for third in ("rest", "end", "side")
    )
    truth = [
        {"id": "a", "text": f"{rare} {filler}"},
        *({"id": f"b{number}", "text": common} for number in range(2)),
    ]
    text = f"{rare} Now {often} today."
    path = written(tmp_path, truth)
    assert verdicts(run([text], path, min_words=5))[rare] == (False, True)
    held = verdicts(run([text], path, min_words=5, chance=0.0))
    tested = verdicts(run([text], path, min_words=5))
    assert held[f"Now {often} today."] == (True, True)
    assert tested[f"Now {often} today."] == (True, False)


def test_marks_are_no_words_of_a_fragment(tmp_path: Path) -> None:
    text = "Yes, yes, clocks, sleep."
    path = written(tmp_path, [{"id": "1", "text": text}, {"id": "2", "text": "Iron bells hum."}])
    assert verdicts(run([text], path, min_words=4, chance=0.0)) == {text: (False, True)}
    assert verdicts(run([text], path, min_words=5, chance=0.0)) == {text: (False, False)}


# Where there is little


@pytest.mark.parametrize("text", ["Hello", "of the", "!?", "Was the, to."])
def test_sentences_without_a_fragment_are_neither_original_nor_failing(
    tmp_path: Path, text: str
) -> None:
    result = run([text], written(tmp_path, GROUND))
    assert values(result)["original"] == values(result)["failing"] == 0
    assert math.isnan(values(result)["new_fragments"])
    assert any("shares of fragments are undefined" in n for n in result.by_source["texts"].notes)


def test_an_empty_ground_truth_holds_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, [{"id": "1", "text": "\u200b"}])
    result = run(["Green clocks never sleep."], path)
    found = values(result)
    assert (found["original"], found["failing"], found["new_fragments"]) == (1, 0, 1)
    assert math.isnan(found["perplexity"])
    assert math.isnan(found["bleu"])
    assert any("the ground truth is empty" in note for note in result.by_source["texts"].notes)
    assert result.tables["incompleteness"][-1]["unseen"] is None


def test_with_one_author_whatever_is_held_needs_a_citation(tmp_path: Path) -> None:
    path = written(tmp_path, GROUND[:2])
    result = run([SAYING, "Wooden moons applaud."], path)
    assert verdicts(result) == {SAYING: (False, True), "Wooden moons applaud.": (True, False)}
    assert any("has 1 source:" in note for note in result.by_source["texts"].notes)


def test_texts_without_words_have_no_values_and_a_note(tmp_path: Path) -> None:
    result = run(["\u200b"], written(tmp_path, GROUND))
    assert all(map(math.isnan, values(result).values()))
    assert any("no sentences" in note for note in result.by_source["texts"].notes)


def test_without_a_ground_truth_nothing_is_said() -> None:
    result = compute({"originality": Options()}, [SAYING], settings=QUICK)[0]
    assert all(map(math.isnan, values(result).values()))
    assert any("--corpus" in note for note in result.by_source["texts"].notes)


def test_options_that_mean_nothing_are_refused() -> None:
    for wrong in (
        {"relax": 0},
        {"top": -1},
        {"variant": "paper", "relax": 2},
        {"variant": "paper", "document_field": "book"},
        {"variant": "paper", "min_words": 2},
        {"variant": "paper", "chance": 0.0},
        {"min_words": 1},
        {"chance": -0.1},
    ):
        with pytest.raises(OptionError):
            Options(**wrong)  # type: ignore[arg-type]


# An index and a file


def test_an_index_on_disk_and_a_file_give_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, GROUND)
    build_index(open_corpus([path]), tmp_path / "idx", BuildOptions(layers=("lower", "pos")))
    texts = [f"{SAYING} Green clocks never applaud. Wooden moons applaud.", "Old rivers sleep."]
    one, other = run(texts, path), run(texts, tmp_path / "idx")
    assert values(one) == values(other)
    assert one.tables == other.tables
    assert "idx=" in str(other.signature)


def test_an_index_without_tags_tells_edges_by_word_lists(tmp_path: Path) -> None:
    path = written(tmp_path, GROUND)
    build_index(open_corpus([path]), tmp_path / "idx", BuildOptions(layers=("lower",)))
    result = run(["Green clocks sleep on."], tmp_path / "idx")
    assert result.tables["ground_truth"][0]["edges"] == "words"
    assert any("no tags" in note for note in result.by_source["texts"].notes)
    with pytest.raises(OptionError, match="add-layer"):
        run(["Green clocks."], tmp_path / "idx", layer="lemma")


def test_lemmas_are_looked_up_but_words_make_the_edges(tmp_path: Path) -> None:
    path = written(tmp_path, [{"id": "1", "text": "The cat was chasing mice."}])
    result = run(["A mouse is hidden. Cats are chasing mice."], path, layer="lemma")
    (row,) = (row for row in result.tables["sentences"] if row["fails"])
    assert [span["fragment"] for span in row["cited_fragments"]] == ["Cats are chasing mice"]
    # "mouse is" would be a fragment if forms of be were told by their lemma.
    assert not any(
        span["fragment"].endswith((" is", " are"))
        for row in result.tables["sentences"]
        for span in row["original_fragments"]
    )


# Against slow twins


def sample_of(texts: Sequence[Sequence[twins.Sentence]]) -> Sample:
    made = twins.layers(texts)
    encoded = [" ".join(w for s in text for w in s).encode() for text in texts]
    return Sample(
        words=np.array([sum(map(len, text)) for text in texts], np.int64),
        layers={
            Need("lower", spans=True): made["lower"],
            Need("word"): made["word"],
            Need("pos"): made["pos"],
        },
        raws={
            None: RawText(
                np.frombuffer(bytearray(b"".join(encoded)), np.uint8),
                np.cumsum([len(each) for each in encoded], dtype=np.int64),
            )
        },
    )


def rows_of(
    truth: twins.Truth, texts: Sequence[Sequence[twins.Sentence]], relax: int = 1
) -> tuple[measure.Rows, Options]:
    """The rows of texts against an index in memory."""
    options, index = Options(corpus="idx", relax=relax, **ANY), twins.index_of(truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rote.measure.originality.open_reference_index", lambda *_: index)
        return measure.rows(sample_of(texts), options, Work()), options


generated = lists(twins.sentences, 4, 1)


@given(truth=twins.truths, texts=generated, relax=st.integers(1, 3))
def test_shares_are_those_of_all_windows(
    truth: twins.Truth, texts: list[list[twins.Sentence]], relax: int
) -> None:
    rows, options = rows_of(truth, texts, relax)
    by = twins.held_by(truth).sources
    everything = np.arange(len(texts))
    found = measure.reduce(rows, everything, options, np.random.default_rng(0))
    assert found == pytest.approx(shares(by, texts, relax, found), nan_ok=True)
    errors = measure.standard_errors(rows, everything, options)
    for name in ("original", "failing", "new_fragments", "cited_fragments"):
        without = [
            shares(by, texts[:i] + texts[i + 1 :], relax, found)[name] for i in range(len(texts))
        ]
        assert errors[name] == pytest.approx(jackknife(without), nan_ok=True)
    per_text = measure.per_text(rows, options)
    for i, text in enumerate(texts):
        alone = {name: column[i] for name, column in per_text.items()}
        assert alone == pytest.approx(shares(by, [text], relax, alone), nan_ok=True)


def shares(
    by: Mapping[twins.Words, set[int]],
    texts: Sequence[Sequence[twins.Sentence]],
    relax: int,
    beside: Mapping[str, float],
) -> dict[str, float]:
    """The shares by the definition; the two other columns are taken as they are."""
    sentences = [sentence for text in texts for sentence in text]
    kinds = []
    for sentence in sentences:
        counts = [len(by.get(twins.lower(sentence[a:b]), ())) for a, b in twins.windows(sentence)]
        new, cited = sum(c == 0 for c in counts), sum(1 <= c <= relax for c in counts)
        kinds.append((len(counts), new, cited))

    def mean(numbers: list[float]) -> float:
        return sum(numbers) / len(numbers) if numbers else math.nan

    return {
        "original": mean([new > 0 for _, new, _ in kinds]),
        "failing": mean([cited > 0 for _, _, cited in kinds]),
        "new_fragments": mean([new / count for count, new, _ in kinds if count]),
        "cited_fragments": mean([cited / count for count, _, cited in kinds if count]),
        "perplexity": beside["perplexity"],
        "bleu": beside["bleu"],
    }


def jackknife(without: Sequence[float]) -> float:
    n = len(without)
    if n < 2 or any(map(math.isnan, without)):
        return math.nan
    mean = sum(without) / n
    return math.sqrt((n - 1) / n * sum((value - mean) ** 2 for value in without))


@settings(max_examples=30)
@given(truth=twins.truths, texts=generated)
def test_perplexity_is_that_of_the_index_as_a_language_model(
    truth: twins.Truth, texts: list[list[twins.Sentence]]
) -> None:
    rows, options = rows_of(truth, texts)
    assert rows.ground is not None
    index = rows.ground.index
    found = measure.reduce(rows, np.arange(len(texts)), options, np.random.default_rng(0))
    if not index.items_held("lower"):
        assert math.isnan(found["perplexity"])
        return
    expected = BackOff(index, "lower").perplexity(rows.layer)
    assert found["perplexity"] == pytest.approx(expected, nan_ok=True)


# BLEU

several = lists(some("a b c the of".split(), 9, least=1), 5, least=1)


def of_sentences(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    ground, text = ground_of([[Text(None, references)]]), twins.layers([hypotheses])["lower"]
    found = bleus.match_sentences(ground, text, ground.reach(text).known)
    assert found.lengths.tolist() == [len(sentence) for sentence in hypotheses]
    sums = (found.matched.sum(0), found.total.sum(0), found.lengths.sum(0), found.nearest.sum(0))
    return float(bleus.bleu(*(np.asarray(each, np.float64) for each in sums)))


def ground_of(truth: twins.Truth) -> GroundTruth:
    index = twins.index_of(truth)
    return GroundTruth(index, "lower", sources_of(index))


def plain_bleu(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    """Papineni et al., word for word."""
    logs, length, nearest = [], 0, 0
    for n in range(1, 5):
        matched = total = 0
        for sentence in hypotheses:
            counts = Counter(grams(sentence, n))
            best: Counter[tuple[str, ...]] = Counter()
            for reference in references:
                best |= Counter(grams(reference, n))
            matched += sum((counts & best).values())
            total += sum(counts.values())
        if not total:
            return math.nan
        logs.append(math.log(matched / total) if matched else -math.inf)
    for sentence in hypotheses:
        length += len(sentence)
        nearest += min((abs(len(r) - len(sentence)), len(r)) for r in references)[1]
    return math.exp(min(0.0, 1 - nearest / length) + sum(logs) / 4)


def grams(sentence: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(sentence[i : i + n]) for i in range(len(sentence) - n + 1)]


def test_repeated_words_are_clipped_to_what_one_reference_has() -> None:
    references = [["the", "cat", "sat", "on", "the", "mat"], ["the", "dog"]]
    hypothesis = [["the", "the", "the", "cat", "sat", "on", "the", "mat"]]
    # Unigrams 6 of 8 ("the" twice); bigrams 5 of 7; trigrams 4 of 6; of four words 3 of 5.
    expected = (6 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ** 0.25
    assert of_sentences(hypothesis, references) == pytest.approx(expected)


def test_short_sentences_are_held_against_the_nearest_length() -> None:
    references = [["a", "b", "c", "d", "e", "f", "g", "h"]]
    assert of_sentences([["a", "b", "c", "d"]], references) == pytest.approx(math.exp(1 - 8 / 4))
    # Two are equally near, 3 and 5: the shorter one counts, so nothing is lost.
    near = [["a", "b", "c"], ["a", "b", "c", "d", "e"]]
    assert of_sentences([["a", "b", "c", "d"]], near) == pytest.approx(1.0)


@pytest.mark.parametrize("at_once", [1, 1 << 16])
@given(hypotheses=several, references=several)
def test_bleu_is_that_of_the_plain_definition_and_of_sacrebleu(
    at_once: int, hypotheses: list[list[str]], references: list[list[str]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bleus, "_AT_ONCE", at_once)
        found = of_sentences(hypotheses, references)
    assert found == pytest.approx(plain_bleu(hypotheses, references), nan_ok=True)
    if not math.isnan(found):
        peer = sacrebleu.corpus_bleu(
            [" ".join(sentence) for sentence in hypotheses],
            [[" ".join(reference)] * len(hypotheses) for reference in references],
            smooth_method="none",
            tokenize="none",
        )
        assert 100 * found == pytest.approx(peer.score)


@given(truth=twins.truths, hypotheses=several)
def test_bleu_takes_the_sentences_of_all_documents_and_segments_as_references(
    truth: twins.Truth, hypotheses: list[list[str]]
) -> None:
    references = [[*twins.lower(s)] for part in truth for text in part for s in text.sentences]
    ground, text = ground_of(truth), twins.layers([hypotheses])["lower"]
    found = bleus.match_sentences(ground, text, ground.reach(text).known)
    lengths = bleus.reference_lengths(ground).tolist()
    assert lengths == sorted({len(reference) for reference in references})
    sums = (found.matched.sum(0), found.total.sum(0), found.lengths.sum(0), found.nearest.sum(0))
    score = float(bleus.bleu(*(np.asarray(each, np.float64) for each in sums)))
    expected = plain_bleu(hypotheses, references) if references else math.nan
    assert score == pytest.approx(expected, nan_ok=True)
