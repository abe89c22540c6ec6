"""Popularity scores are those of the definition, and so are the halves that they make."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rote
from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer
from rote.core.progress import Silent
from rote.core.result import Result
from rote.corpus.items import Item
from rote.index.grams import Counts, Grams
from rote.search.backends import Backend, BackendOptions, open_backend
from rote.studies._items import HIGH, LOW, NEITHER, Share, read_correctness, split_halves
from rote.studies._memorization_scores import read_member
from rote.studies._popularity_output import accuracy_gap, split_tenths
from rote.studies._popularity_scores import Deciles, DecileScale, distinct_ngrams, score_popularity
from tests.examples import dear
from tests.indexes import build_index
from tests.studies import popularity_twin as twin


class Counting:
    """A backend over a few texts, by comparing them word for word."""

    name, tokenizer, index, count = "made", "spaces", "few", "occurrences"
    signature = "made few spaces"

    def __init__(self, *corpus: str) -> None:
        self.corpus = corpus

    def tokenize(self, texts: list[str], reporter: object) -> Layer:
        from rote.annotate import words

        return words.get("whitespace")(texts)

    def counts(self, grams: Grams, reporter: object) -> Counts:
        found = [twin.count(grams[g], self.corpus) for g in range(len(grams))]
        return np.array(found, np.int64)


def backend(*corpus: str) -> Backend:
    return Counting(*corpus)  # type: ignore[return-value]


def popularity(items: Sequence[Item], corpus: Backend, **options: Any) -> Result:
    return rote.popularity(items, corpus=corpus, **options)


WORDS = st.lists(st.sampled_from("abc"), max_size=9).map(" ".join)
ITEMS = st.lists(
    st.tuples(st.sampled_from(("x", "y")), st.lists(WORDS, min_size=1, max_size=4), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(st.lists(WORDS, min_size=1, max_size=5), st.integers(1, 8))
def test_windows_are_the_different_ngrams_of_each_text(texts: list[str], n: int) -> None:
    layer = Counting().tokenize(texts, Silent())
    numbers, held, grams = distinct_ngrams(layer, n)
    own = defaultdict(list)
    for number, gram in zip(numbers.tolist(), held.tolist()):
        own[number].append(grams[gram])
    for number, text in enumerate(texts):
        assert sorted(own[number]) == sorted(twin.ngrams(text, n))
    every = [grams[g] for g in range(len(grams))]
    assert len(set(every)) == len(every)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60))
def test_equal_counts_share_the_lowest_decile_that_holds_them(counts: list[int]) -> None:
    expected = twin.deciles(counts)
    made = Deciles.of(np.array(counts))
    assert made(np.array(counts)).tolist() == [expected[count] for count in counts]
    for other in range(15):  # counts that the task itself does not have
        below = sum(count < other for count in counts)
        assert made(np.array([other])).tolist() == [min(10, 1 + 10 * below // len(counts))]


@dear(50)
@given(ITEMS, st.lists(WORDS, min_size=1, max_size=4), st.integers(1, 4))
def test_scores_equal_the_twin(
    made: list[tuple[str, list[str], bool]], corpus: list[str], n: int
) -> None:
    items = [
        Item(str(i), task, "", tuple(options), i % len(options), meta={"right": right})
        for i, (task, options, right) in enumerate(made)
    ]
    options = {"n": n, "correct": "right", "max_undefined": 1.0}
    result = popularity(items, backend(*corpus), **options)
    for task in {item.task for item in items}:
        grams = {g for i in items if i.task == task for o in i.options for g in twin.ngrams(o, n)}
        counts = {gram: twin.count(gram, corpus) for gram in grams}
        scale = twin.deciles(list(counts.values()))
        rows = {row["id"]: row for row in result.tables["items"]}
        scores = {}
        for item in items:
            if item.task == task:
                expected = [twin.ips(option, n, counts, scale) for option in item.options]
                assert rows[item.id]["ips"] == pytest.approx(expected, nan_ok=True)
                assert item.answer is not None
                scores[item.id] = twin.score(expected, item.answer)
                assert rows[item.id]["score"] == pytest.approx(scores[item.id], nan_ok=True)
        defined = [rows[i]["score"] for i in scores if not math.isnan(scores[i])]
        middle = float(np.median(defined)) if defined else math.nan
        tenth = twin.deciles(defined)
        for i in scores:
            value = rows[i]["score"]
            low = None if math.isnan(value) else "low" if value <= middle else "high"
            assert rows[i]["popularity"] == low
            assert rows[i]["decile"] == (None if low is None else tenth[value])


def test_a_study_worked_out_by_hand() -> None:
    # Bigrams of the task: ab 3, bc 2, cd 0, bd 1, de 0 times; sorted 0 0 1 2 3, so that the
    # deciles begin at ranks 0, 0, 2, 3, 4 of 5: popularity 1, 1, 5, 7, 9.
    corpus = ("a b c", "a b c", "a b", "b d")
    items = [
        Item("one", "t", "a b ", ("c", "d"), 0, meta={"right": 1, "kind": "formal"}),
        Item("two", "t", "", ("b d e", "a b c d", "c d"), 1, meta={"right": 0, "kind": "formal"}),
        Item("three", "t", "a ", ("b",), 0, meta={"right": 1, "kind": "formal"}),
    ]
    result = popularity(items, backend(*corpus), n=2, correct="right")
    one, two, three = result.tables["items"]
    assert one["ips"] == [(9 + 7) / 2, (9 + 5) / 2]
    assert one["score"] == one["difference"] == 8 - 7
    assert two["ips"] == [3.0, (9 + 7 + 1) / 3, 1.0]
    assert two["score"] == pytest.approx(17 / 3 - 2)
    assert (three["ips"], three["score"]) == ([9.0], 9.0)
    assert [row["popularity"] for row in (one, two, three)] == ["low", "low", "high"]
    found = result.by_source["t"]
    assert found.texts == 3
    assert found.words == 3 + 3 + 3 + 4 + 2 + 2
    assert found.values["ips"] == pytest.approx((8 + 17 / 3 + 9) / 3)
    assert found.values["ips_wrong"] == (7 + 2) / 2
    assert found.values["difference"] == pytest.approx((1 + 17 / 3 - 2) / 2)
    assert found.values["ahead"] == 1.0
    assert "advantage" not in found.values
    (test,) = result.tables["tests"]
    assert (test["items"], test["ahead"], test["behind"], test["tied"]) == (2, 2, 0, 0)
    assert test["p"] == test["p_ahead"] == 0.5  # two of four choices of signs
    assert found.values["accuracy"] == pytest.approx(2 / 3)
    assert (found.values["accuracy_low"], found.values["accuracy_high"]) == (0.5, 1.0)
    assert found.values["accuracy_difference"] == 0.5
    edges = [(row["above"], row["up_to"]) for row in result.tables["deciles"]]
    assert edges[0] == (None, 0)
    assert edges[-1] == (3, None)
    assert [row["decile"] for row in result.tables["accuracy"]] == [1, 4, 7]
    assert "40.0% of 5 different 2-grams do not occur" in result.notes[0]
    assert Result.from_json(result.to_json()).to_dict() == result.to_dict()
    assert "backend:made|tokenizer:spaces|index:few" in str(result.signature)


def test_the_papers_score_divides_by_the_popularity_of_the_right_option() -> None:
    items = [
        Item("one", "t", "a b ", ("c", "d"), 0),
        Item("two", "t", "", ("b d e", "a b c d", "c d"), 1),
    ]
    corpus = backend("a b c", "a b c", "a b", "b d")
    result = popularity(items, corpus, n=2, variant="paper")
    scores = [row["score"] for row in result.tables["items"]]
    assert scores == pytest.approx([1 / 8, (17 / 3 - 2) / (17 / 3)])
    assert result.by_source["t"].values["advantage"] == pytest.approx(np.mean(scores))
    assert "variant:paper" in str(result.signature)


def mirrored(twins: int, rng: np.random.Generator) -> list[Item]:
    """Items with two options of words of chance popularity, and their mirrors: what was right is
    wrong there. Right and wrong are as popular as each other by construction."""
    found = []
    for number in range(twins):
        words = [" ".join(rng.choice(list("abcdefgh"), 6, p=POPULAR)) for _ in range(2)]
        for right in (0, 1):
            meta = {"base_id": str(number), "acc": int(rng.random() < 0.5)}
            found.append(Item(f"{number}.{right}", "t", "", tuple(words), right, meta=meta))
    return found


POPULAR = np.array([8, 6, 4, 3, 2, 1, 1, 1]) / 26


def test_where_right_and_wrong_are_alike_nothing_is_found_and_the_papers_mean_is_below_0() -> None:
    rng = np.random.default_rng(5)
    corpus = backend(*(" ".join(rng.choice(list("abcdefgh"), 400, p=POPULAR)) for _ in range(2)))
    items = mirrored(150, rng)
    found = popularity(items, corpus, n=2, max_undefined=1.0)
    values = found.by_source["t"].values
    assert values["difference"] == pytest.approx(0, abs=1e-12)
    assert values["ahead"] == 0.5
    assert found.tables["tests"][0]["p"] == 1
    assert found.tables["tests"][0]["independent"] == 150
    paper = popularity(items, corpus, n=2, max_undefined=1.0, variant="paper")
    advantage = paper.by_source["t"]
    assert advantage.values["advantage"] < 0
    assert advantage.intervals["advantage"][1] < 0  # sure of what is not there


def test_the_sign_flip_test_holds_its_level_with_twins() -> None:
    """Twins with the same difference, taken for independent, would alarm in 17 % of the cases."""
    from rote.compare.clusters import number_clusters
    from rote.compare.exact_tests import sign_flip

    rng, alarms, runs = np.random.default_rng(3), [0, 0], 300
    bases = number_clusters(np.repeat(np.arange(20), 2))
    for _ in range(runs):
        gaps = np.repeat(rng.normal(size=20), 2)
        alarms[0] += sign_flip(np.bincount(bases, gaps).tolist(), draws=199) <= 0.05
        alarms[1] += sign_flip(gaps.tolist(), draws=199) <= 0.05
    assert alarms[0] / runs <= 0.08
    assert alarms[1] / runs >= 0.1


def test_twins_are_no_two_items_in_any_interval() -> None:
    rng = np.random.default_rng(7)
    correct = (rng.random(200) < 0.6).astype(float)
    alone, twins = np.arange(200), np.repeat(np.arange(200), 2)
    once = Share.of(correct, alone).interval(0.95)
    twice = Share.of(np.repeat(correct, 2), twins).interval(0.95)
    assert twice == pytest.approx(once, rel=1e-2)
    half = rng.integers(0, 2, 200)
    narrow = accuracy_gap(correct, half, alone, 0.95)
    wide = accuracy_gap(np.repeat(correct, 2), np.repeat(half, 2), twins, 0.95)
    assert wide == pytest.approx(narrow, abs=0.01)


def test_items_made_from_one_another_share_a_base() -> None:
    def base(**meta: object) -> str:
        return Item("7", "t", "", ("a",), 0, meta=meta).base

    assert base(base_id="2", mirrored=True) == base(base_id="2", mirrored=False) != base()
    assert base(qID="3QHI-1") == base(qID="3QHI-2") != base(qID="3QHJ-2")
    assert base(qID="plain") == base()


def test_newcombes_interval_is_the_published_one() -> None:
    # Newcombe 1998, table II, method 10: 56/70 - 48/80 and 9/10 - 3/10.
    def halved(high: int, of: int, low: int, under: int) -> tuple[float, float, float]:
        correct = np.array([1.0] * high + [0.0] * (of - high) + [1.0] * low + [0.0] * (under - low))
        half = np.repeat([HIGH, LOW], [of, under])
        return accuracy_gap(correct, half, np.arange(of + under), 0.95)

    assert halved(56, 70, 48, 80) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert halved(9, 10, 3, 10) == pytest.approx((0.6, 0.1705, 0.8090), abs=5e-5)
    assert all(map(math.isnan, halved(0, 0, 1, 3)))


def test_halves_and_tenths_stay_within_a_task() -> None:
    scores = np.array([1.0, 2.0, 3.0, 10.0, 20.0, np.nan])
    tasks = np.array([0, 0, 0, 1, 1, 1])
    assert split_halves(scores, tasks).tolist() == [LOW, LOW, HIGH, LOW, HIGH, NEITHER]
    assert split_tenths(scores, tasks).tolist() == [1, 4, 7, 1, 6, 0]


def test_too_many_short_instances_stop_the_study_and_name_an_n_that_fits() -> None:
    items = [Item(str(i), "short", "", ("a b c", "a b"), 0) for i in range(9)]
    items.append(Item("9", "short", "", ("a b c d", "a b c d"), 0))
    items += [Item(str(i), "long", "", ("a b c d e f g h",), 0) for i in range(3)]
    with pytest.raises(OptionError, match=r"short 90%; at most 10% may be.*n=2 fits all") as said:
        popularity(items, backend("a b c d"), n=4)
    assert "index of subwords" in str(said.value)
    assert "long" not in str(said.value)
    result = popularity(items, backend("a b c d"), n=4, max_undefined=1.0)
    assert "9 of 13 items have no score: an instance is shorter than n" in result.notes
    assert math.isnan(result.tables["items"][0]["score"])
    with pytest.raises(OptionError, match="some texts have no tokens"):
        popularity([Item("0", "none", "", ("",), 0)], backend("a"), n=1)


def test_deciles_are_stored_and_applied_unchanged(tmp_path: Path) -> None:
    original = [Item("1", "t", "", ("a b c", "c b a"), 0), Item("2", "t", "", ("b c a", "a b"), 0)]
    corpus, path = backend("a b c a b", "b c"), tmp_path / "deciles.json"
    before = popularity(original, corpus, n=2, save_deciles=path)
    scale = DecileScale.read(path)
    assert scale.tasks["t"].grams == 5
    again = popularity(original, corpus, n=2, deciles=path)
    assert again.tables["items"] == before.tables["items"]
    # On their own these n-grams would have other deciles.
    changed = score_popularity(["a b", "c c"], ["t", "t"], corpus, 2, scale=scale)
    assert changed.ips.tolist() == [scale.of("t")(np.array([2]))[0], 1.0]
    assert score_popularity(["a b", "c c"], ["t", "t"], corpus, 2).ips.tolist() == [6.0, 1.0]
    with pytest.raises(OptionError, match="no deciles for the task 'u', only for t"):
        score_popularity(["a b"], ["u"], corpus, 2, scale=scale)
    with pytest.raises(OptionError, match="deciles are of 2-grams, not of 3-grams: give -n 2"):
        score_popularity(["a b"], ["t"], corpus, 3, scale=scale)
    other = Counting("a")
    other.signature = "made other spaces"
    with pytest.raises(OptionError, match="come from other counts"):
        score_popularity(["a b"], ["t"], other, 2, scale=scale)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"schema": 1}', '{"schema": 2, "kind": "popularity deciles"}']
)
def test_a_file_that_holds_no_deciles_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "deciles.json"
    path.write_text(content)
    with pytest.raises(InputError, match="deciles"):
        DecileScale.read(path)


def test_edges_that_do_not_rise_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deciles.json"
    popularity([Item("1", "t", "", ("a b",), 0)], backend("a"), n=1, save_deciles=path)
    held = json.loads(path.read_text())
    held["tasks"]["t"]["edges"] = [3, 2, 1, 0, 0, 0, 0, 0, 0]
    path.write_text(json.dumps(held))
    with pytest.raises(InputError, match="not a file of deciles"):
        DecileScale.read(path)


def test_groups_are_made_of_any_fields() -> None:
    items = [
        Item(f"{task}{i}", task, "", ("a b", "b a"), 0, meta={"kind": kind, "acc": i % 2})
        for task, kind in (("t", "formal"), ("u", "formal"), ("v", "functional"))
        for i in range(4)
    ]
    result = popularity(items, backend("a b"), n=1, by=("kind", "task"))
    assert list(result.by_source) == ["formal|t", "formal|u", "functional|v"]
    result = popularity(items, backend("a b"), n=1, by=("kind",))
    assert result.by_source["formal"].texts == 8
    assert result.tables["groups"][0]["kind"] == "formal"
    assert result.tables["groups"][0]["answered"] == 8
    found = result.by_source["formal"]
    assert math.isnan(found.values["accuracy_difference"])
    assert "accuracy_difference: one of the halves is empty" in found.notes
    assert any("many items are on the median" in note for note in result.notes)
    with pytest.raises(InputError, match="field 'model': the item 't0' of t has no such field"):
        popularity(items, backend("a b"), n=1, by=("model",))


def test_what_is_not_known_is_said() -> None:
    items = [
        Item("1", "t", "", ("a b", "b a"), None),
        Item("1", "t", "", ("a b", "b a"), 0, meta={"acc": True}),
    ]
    result = popularity(items, backend("a b"), n=2)
    notes = " / ".join(result.notes)
    assert "1 of 2 items have no score: no item has a recorded right option" in notes
    assert "no recorded answer: 1 item" in notes
    assert "duplicates within a group (same task and id): 1 item" in notes
    none = popularity(items[:1], backend("a b"), n=2)
    assert all(map(math.isnan, none.by_source["t"].values.values()))
    assert len(none.by_source["t"].notes) == 3
    item = Item("1", "t", "", ("a b",), 0, meta={"acc": 0.5})
    with pytest.raises(InputError, match="correct is true or 1"):
        popularity([item], backend("a b"), n=2)
    with pytest.raises(InputError, match="no input"):
        popularity([], backend("a b"))


def test_that_no_answers_are_known_is_said_once() -> None:
    result = popularity([Item("1", "t", "", ("a b", "b a"), 0)], backend("a b"), n=2)
    notes = [*result.notes, *result.by_source["t"].notes]
    assert [note for note in notes if "answered correctly" in note] == [
        "accuracy: no field says which items were answered correctly (--correct)"
    ]


@pytest.mark.parametrize("wrong", [{"interval": 1.0}, {"max_undefined": 2.0}, {"by": ()}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        popularity([Item("1", "t", "", ("a b",), 0)], backend("a b"), **wrong)


def test_an_index_gives_the_same_as_counting_by_hand(tmp_path: Path) -> None:
    corpus = ["the old man sang the old song", "the old man slept", "an old song"]
    build_index(corpus, tmp_path / "IDX", layers=("lower",))
    items = [
        Item("1", "t", "the old ", ("man sang", "song slept"), 0),
        Item("2", "t", "An old ", ("song", "man", "song song"), 1),
    ]
    by_index = popularity(items, open_backend(str(tmp_path / "IDX")), n=2)
    lower = [
        Item(i.id, i.task, i.context.lower(), tuple(o.lower() for o in i.options), i.answer)
        for i in items
    ]
    by_hand = popularity(lower, backend(*corpus), n=2)
    assert by_index.tables["items"] == by_hand.tables["items"]
    documents = open_backend(str(tmp_path / "IDX"), BackendOptions(count="documents"))
    found = score_popularity(["the old"], ["t"], documents, 2)
    assert found.counts.tolist() == [2]


@pytest.mark.parametrize("missing", [None, ""])
def test_null_and_nothing_both_mean_that_nobody_says_it(missing: Any) -> None:

    item = Item("1", "t", "", ("a",), 0, meta={"acc": missing, "member": missing})
    assert math.isnan(read_correctness(item, None))
    assert math.isnan(read_correctness(item, "acc"))
    assert math.isnan(read_member(item, "member"))
