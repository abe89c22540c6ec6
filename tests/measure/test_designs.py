"""Texts that belong together (answers to one prompt, texts of one author) are no independent
evidence: over the registry, copies of texts make no measure surer."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import rote
from rote.compare.intervals import wilson
from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.metric import Metric
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.measure import Settings
from rote.measure.driver import pipeline
from rote.measure.driver.compute import compute
from rote.measure.driver.resampling import BALANCED_NOTE, BORDERLINE_NOTE

from .test_contract import NAMES, StandIn, bounds, corpus_options, fields_beside, metric_of

COPIES = 4
PROMPTS = 12
WHO = ["The heron", "My uncle", "Nobody", "The old captain", "A letter", "She", "Rain"]
DID = ["waited for", "repaired", "had opened", "remembered", "never found", "slowly carried"]
WHAT = ["the shallow water", "two clocks", "the wrong train", "a loaf of bread", "the cellar"]

OVER_PROMPTS = {"distinct", "sameness"}
"""Their units are prompts, and a prompt without a second text has no value."""
LISTS = {"keyness"}
UNTESTED = {*LISTS, "precision-recall"}
WITHOUT = {
    *("compression", "homogenization", "keyness"),
    *("perplexity", "precision-recall", "self-repetition"),
}
"""No interval, no model, or values that copies themselves change."""


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rote.annotate.embeddings.get", lambda name, **_: StandIn())


def sentences(chance: random.Random) -> str:
    return " ".join(
        " ".join(map(chance.choice, (WHO, DID, WHAT))) + "." for _ in range(chance.randint(3, 6))
    )


def written(source: str, copies: int, beside: dict[str, str], field: str) -> list[Document]:
    """Texts of many prompts, each as often as asked."""
    chance, found = random.Random(source), []
    for prompt in range(PROMPTS):
        text = sentences(chance)
        meta = {**beside, field: f"{source}{prompt}"}
        found += [Document(f"{source}{prompt}:{n}", text, meta) for n in range(copies)]
    return found


def answers(counts: dict[str, Sequence[int]], beside: dict[str, str]) -> dict[str, list[Document]]:
    """So many answers of each source to the same prompts in turn, each answer another text."""
    return {
        source: [
            Document(
                f"{source}{prompt}:{number}",
                sentences(random.Random(f"{source} {prompt} {number}")),
                {**beside, "doc_id": str(prompt)},
            )
            for prompt in range(PROMPTS)
            for number in range(own[prompt % len(own)])
        ]
        for source, own in counts.items()
    }


def asked_of(name: str, corpus: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Options of a measure, and fields of its texts."""
    own = corpus_options(name)
    options = dict.fromkeys(own, str(corpus))
    return options, fields_beside(name, **options)


def run(name: str, copies: int, corpus: Path, field: str = "doc_id", **settings: Any) -> Result:
    options, beside = asked_of(name, corpus)
    texts = {source: written(source, copies, beside, field) for source in "ab"}
    asked = Settings(**{"reference": "a", "permutations": 0, "matched": False, **settings})
    # Several tests look at the same result.
    key = name, copies, field, repr(asked)
    if key not in KNOWN:
        chosen = {name: metric_of(name).options(**options)}
        KNOWN[key] = compute(chosen, texts, settings=asked)[0]
    return KNOWN[key]


KNOWN: dict[tuple[str, int, str, str], Result] = {}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("The heron waited for the shallow water. My uncle repaired two clocks.")
    return path


def watched(metric: Metric, seen: list[Any]) -> Metric:
    """The same measure, which keeps what groups it was asked for."""

    def reduce(rows: Any, take: Any, *rest: Any) -> Any:
        seen.append(take)
        return (metric.resample or metric.reduce)(rows, take, *rest)

    def many(rows: Any, takes: Sequence[Any], *rest: Any) -> Any:
        seen.extend(takes)
        assert metric.many is not None
        return metric.many(rows, takes, *rest)

    return replace(metric, resample=reduce, many=many if metric.many else None)


@pytest.mark.parametrize("name", sorted(set(NAMES) - OVER_PROMPTS))
def test_copies_of_texts_make_no_value_surer(
    name: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once, seen = run(name, 1, corpus), list[Any]()
    monkeypatch.setattr(plugins.load("measure", name), "METRIC", watched(metric_of(name), seen))
    often = run(name, COPIES, corpus, permutations=9)
    # Half-samples and permuted groups hold all copies of a text, or none.
    for take in seen:
        assert set(np.bincount(np.asarray(take) // COPIES).tolist()) <= {0, COPIES}
    own, copied = once.by_source["b"], often.by_source["b"]
    compared = 0
    for value, (low, high) in own.intervals.items():
        if high > low and copied.values[value] == pytest.approx(own.values[value], rel=0.1):
            least, most = copied.intervals[value]
            # Texts taken as independent would have about half the width.
            assert most - least >= 0.8 * (high - low), value
            compared += 1
    assert bool(compared) is (name not in WITHOUT)
    if metric_of(name).tested and often.comparisons:
        assert seen


@pytest.mark.parametrize("name", sorted(NAMES))
def test_unequal_numbers_of_answers_are_tested_on_as_many(
    name: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[Any]()
    monkeypatch.setattr(plugins.load("measure", name), "METRIC", watched(metric_of(name), seen))
    options, beside = asked_of(name, corpus)
    texts = answers({"a": [2, 3], "b": [4, 2, 3]}, beside)
    asked = Settings(reference="a", permutations=9, interval=0, matched=False)
    found = compute({name: metric_of(name).options(**options)}, texts, settings=asked)[0]
    assert bool(found.comparisons) is (name not in UNTESTED)
    if name in UNTESTED:
        said = [note for source in found.by_source.values() for note in source.notes]
        assert sum("p rests on 56 of 66 texts" in note for note in said) == (name in LISTS)
        return
    every = [document for own in texts.values() for document in own]
    prompt = np.array([int(str(document.meta["doc_id"])) for document in every])
    of_a = np.arange(len(every)) < len(texts["a"])
    fewer = [min([2, 3][number % 2], [4, 2, 3][number % 3]) for number in range(PROMPTS)]
    # Nine pairs of permuted groups, and the two that these are held against.
    tested = [take for take in map(np.asarray, seen) if len(take) == sum(fewer)]
    assert len(tested) >= 20
    for take in tested:
        assert np.bincount(prompt[take], minlength=PROMPTS).tolist() == fewer
        for number in range(PROMPTS):
            assert len(set(of_a[take[prompt[take] == number]])) == 1
    for row in found.comparisons:
        assert row["tested_texts"] == row["tested_reference_texts"] == sum(fewer)
        own, other = (found.by_source[source].values[row["value"]] for source in "ba")
        assert row["difference"] == pytest.approx(own - other, nan_ok=True)
    assert BALANCED_NOTE.format("doc_id") in found.notes


def test_what_is_tested_depends_on_neither_order_nor_jobs() -> None:
    texts, options = answers({"a": [1], "b": [5]}, {}), metric_of("lexical").options()
    turned = {source: own[::-1] for source, own in texts.items()}
    asked = Settings(reference="a", permutations=19)
    panel = {"lexical": options, "self-repetition": metric_of("self-repetition").options()}
    found = compute(panel, texts, settings=asked)
    for other in (
        compute(panel, turned, settings=asked),
        compute(panel, texts, settings=replace(asked, jobs=2)),
    ):
        for one, again in zip(found, other):
            for row, same in zip(one.comparisons, again.comparisons, strict=True):
                assert row == pytest.approx(same, nan_ok=True)
    # An arrow points to where the tested difference does, whatever five times as many texts do.
    row = next(row for row in found[0].comparisons if row["value"] == "ttr")
    assert row["difference"] < row["difference"] - row["expected"]
    assert abs(row["difference"] - row["expected"]) < 0.3 * abs(row["difference"])


def test_a_measure_that_fails_ends_the_one_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = Event(), Event()

    def measure(metric: Metric, *rest: Any, reporter: Reporter, **others: Any) -> Any:
        if metric.name == "lexical":
            assert begun.wait(30)
            raise InputError("it cannot")
        begun.set()
        with reporter.stage("without end", None) as advance:
            try:
                while True:
                    advance(1)
            except CancelledError:
                ended.set()

    monkeypatch.setattr(pipeline, "measure_facets", measure)
    panel = {name: metric_of(name).options() for name in ("lexical", "self-repetition")}
    with pytest.raises(InputError, match="it cannot"):
        compute(panel, answers({"a": [1], "b": [5]}, {}), settings=Settings(jobs=2))
    assert ended.wait(30)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        *(("style", table) for table in ("features", "apart")),
        *(("novelty", table) for table in ("novelty", "coverage")),
        ("originality", "lengths"),
    ],
)
def test_copies_of_texts_make_no_table_surer(name: str, table: str, corpus: Path) -> None:
    once, often = (run(name, copies, corpus).tables[table] for copies in (1, COPIES))
    pairs = list(zip(bounds(once), bounds(often), strict=True))
    wide = [(high - low, most - least) for (low, high), (least, most) in pairs if high > low]
    assert wide
    for own, copied in wide:
        assert copied >= 0.8 * own


def test_a_share_of_texts_is_never_surer_than_of_independent_ones() -> None:
    # Every half of these prompts has a template in all texts but those too short for one.
    (texts,) = answers({"a": [2, 3]}, {}).values()
    texts = [
        replace(text, text="She waited.") if not n % 15 else text for n, text in enumerate(texts)
    ]
    asked = Settings(permutations=0, matched=False)
    found = compute({"templates": metric_of("templates").options()}, texts, settings=asked)[0]
    (source,) = found.by_source.values()
    share = source.values["rate"]
    assert share == 28 / 30
    low, high = source.intervals["rate"]
    least, most = wilson(28, 30, 0.95)
    assert high - low >= most - least - 1e-9


def test_errors_by_type_of_entity_are_over_prompts(corpus: Path) -> None:
    once, often = (run("score", copies, corpus).tables["types"] for copies in (1, COPIES))
    errors = [
        (a["entity_precision_error"], b["entity_precision_error"]) for a, b in zip(once, often)
    ]
    known = [pair for pair in errors if not math.isnan(pair[0])]
    assert known
    for own, copied in known:
        assert copied == pytest.approx(own)


def test_another_field_says_which_texts_belong_together(corpus: Path) -> None:
    by_prompt = run("lexical", COPIES, corpus, permutations=19)
    by_author = run("lexical", COPIES, corpus, "author", permutations=19, cluster="author")
    assert by_author.by_source == by_prompt.by_source
    assert repr(by_author.comparisons) == repr(by_prompt.comparisons)
    assert by_author.interval is not None
    assert (
        "drawn as whole authors where a source has several texts of one"
        in by_author.interval.method
    )
    assert dict(by_author.signature.settings)["cluster"] == "author"
    assert "cluster" not in dict(by_prompt.signature.settings)
    alone = run("lexical", COPIES, corpus, "author")
    low, high = by_author.by_source["b"].intervals["mtld"]
    least, most = alone.by_source["b"].intervals["mtld"]
    assert most - least < 0.6 * (high - low)


def test_few_authors_are_drawn_too_and_said_to_be_few() -> None:
    def widths(authors: int, **settings: Any) -> tuple[float, tuple[str, ...]]:
        texts = [
            Document(str(n), text.text, {"author": str(n % authors)})
            for n, text in enumerate(written("a", 1, {}, "x"))
        ]
        asked = Settings(permutations=0, matched=False, **settings)
        (source,) = compute({"lexical": metric_of("lexical").options()}, texts, settings=asked)[
            0
        ].by_source.values()
        low, high = source.intervals["mtld"]
        return high - low, source.notes

    width, notes = widths(4, cluster="author")
    assert "only 4 values of author: the interval is rough" in notes
    plain, without = widths(4)
    assert width != plain
    assert not any("author" in note for note in without)
    _, one = widths(1, cluster="author")
    assert "all texts have one author: the interval does not generalize to others" in one


def test_a_field_that_is_missing_or_of_no_use_is_an_error(corpus: Path) -> None:
    with pytest.raises(InputError, match="the field that --cluster names is missing"):
        run("lexical", 1, corpus, cluster="author")
    with pytest.raises(OptionError, match="leave out --cluster"):
        Settings(within="doc_id", cluster="author")


@pytest.mark.parametrize("flag", ["by", "within", "cluster"])
def test_a_field_that_is_null_is_not_called_missing(flag: str) -> None:
    texts = [{"text": "one two", "who": "a"}, {"text": "three four", "who": None}]
    with pytest.raises(InputError, match=f"line 2.*the field that {flag} names is null") as found:
        rote.lexical(texts, **{flag: "who"})
    assert "The record has" not in str(found.value)
    with pytest.raises(InputError, match=r"line 2.*the field that the measure reads is null"):
        rote.score([{**each, "reference": each["who"]} for each in texts], scores="rouge")


def turned_around() -> dict[str, list[Document]]:
    """Answers to prompts of two kinds, `a`'s mostly to those that ask for a heron: of all texts `a`
    speaks of it more often, though to each prompt `b` does."""
    texts: dict[str, list[Document]] = {"a": [], "b": []}
    for number in range(30):
        rng = random.Random(number)
        frequent = number % 2
        for source, count, share in (("a", 8 if frequent else 1, 8), ("b", 1, 11)):
            for answer in range(count):
                told = share if frequent else share - 9
                said = [f"The heron {rng.choice(DID)} {rng.choice(WHAT)}." for _ in range(told)]
                said += ["She went very slowly to him." for _ in range(16 - len(said))]
                meta = {"source": source, "doc_id": str(number)}
                text = " ".join(rng.sample(said, 16))
                texts[source].append(Document(f"{source}{number} {answer}", text, meta))
    return texts


def test_what_turns_around_with_as_many_of_each_prompt_is_not_claimed() -> None:
    texts, names = turned_around(), ("lexical", "keyness", "templates")
    fewer = {source: [d for d in own if d.id.endswith(" 0")] for source, own in texts.items()}
    asked = Settings(reference="b", permutations=199, interval=0)
    options = {name: metric_of(name).options() for name in names}
    for given, claimed in ((texts, False), (fewer, True)):
        lexical, keyness, templates = compute(options, given, settings=asked)
        mattr = next(row for row in lexical.comparisons if row["value"] == "mattr")
        assert (mattr["difference"] > 0, mattr["matched_p"]) == (
            (False, 0.005) if claimed else (True, 1.0)
        )
        # To each prompt b speaks more of the heron, and a of her.
        hers, said = set("she went very slowly to him .".split()), set[tuple[str, bool]]()
        for row in keyness.tables["phrases"]:
            words = set(row["phrase"].split())
            if row["p_corrected"] < 0.05 and (words <= hers or not words & hers):
                said.add((row["used_more_by"], words <= hers))
        assert said <= {("a", True), ("b", False)}
        templates_found = [row["p_corrected"] for row in templates.tables["distinctive"]]
        assert (min(templates_found) < 0.05) is claimed
        assert len(said) == 2 or not claimed
        says = BORDERLINE_NOTE.format("a", "b", "mattr, mtld, hdd", "doc_id")
        assert (says in lexical.notes) is not claimed
