"""Groups over several fields, sets of texts, inputs as a source: the driver around a measure."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.compare.intervals import wilson
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.result import Result
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.measure.lexical import Options
from tests.kit import write_jsonl

WORDS = "heron water letter clock uncle rain cellar train coast orange lamp loaf".split()


def records(**fields: Any) -> list[Document]:
    """Two tasks, three sources, six texts each; the model repeats itself in stories alone."""
    rng = np.random.default_rng(5)
    found = []
    for task in ("story", "news"):
        for source in ("human", "small", "large"):
            for number in range(6):
                words = rng.choice(WORDS[:3] if (task, source) == ("story", "small") else WORDS, 30)
                meta = {"task": task, "source": source, "doc_id": f"{task}{number % 3}", **fields}
                found.append(Document(f"{task}-{source}-{number}", " ".join(words), meta))
    return found


def lexical(texts: Any, **settings: Any) -> Result:
    return compute({"lexical": Options()}, texts, settings=Settings(**settings))[0]


QUICK: dict[str, Any] = {"permutations": 19, "matched": False}


def test_each_facet_is_measured_as_if_it_stood_alone() -> None:
    both = lexical(records(), by=("task", "source"), reference="human", **QUICK)
    assert list(both.by_source) == [
        f"{t}|{s}" for t in ("story", "news") for s in ("human", "small", "large")
    ]
    for task in ("story", "news"):
        own = [document for document in records() if document.meta["task"] == task]
        alone = lexical(own, by=("task", "source"), reference=f"{task}|human", **QUICK)
        for name, found in alone.by_source.items():
            assert both.by_source[name].values == pytest.approx(found.values, nan_ok=True)
        mine = [row for row in both.comparisons if row["source"].startswith(task)]
        corrected = [row["p_corrected"] for row in alone.comparisons]
        assert [row["p_corrected"] for row in mine] == pytest.approx(corrected, nan_ok=True)


def test_a_source_is_compared_with_the_reference_of_its_own_facet() -> None:
    found = lexical(records(), by=("task", "source"), reference="human", **QUICK)
    pairs = {(row["source"], row["reference"]) for row in found.comparisons}
    assert pairs == {
        (f"{task}|{source}", f"{task}|human")
        for task in ("story", "news")
        for source in ("small", "large")
    }
    assert found.reference == "human"
    assert [facet.title for facet in found.facets()] == ["story", "news"]
    assert Result.from_json(found.to_json()).to_dict() == found.to_dict()


def test_a_whole_group_may_be_the_reference_of_all() -> None:
    found = lexical(records(), by=("task", "source"), reference="news|human", **QUICK)
    assert {row["reference"] for row in found.comparisons} == {"news|human"}
    assert len({row["source"] for row in found.comparisons}) == 5


def test_a_facet_without_the_reference_is_measured_but_not_compared() -> None:
    texts = [d for d in records() if (d.meta["task"], d.meta["source"]) != ("news", "human")]
    found = lexical(texts, by=("task", "source"), reference="human", **QUICK)
    assert {row["source"] for row in found.comparisons} == {"story|small", "story|large"}
    assert not math.isnan(found.by_source["news|small"].values["ttr"])


def test_within_is_the_mean_over_the_sets() -> None:
    texts = records()
    found = lexical(texts, by=("source",), within="doc_id", interval=0.95, **QUICK)
    for source, result in found.by_source.items():
        sets: dict[str, list[Document]] = {}
        for document in texts:
            if document.meta["source"] == source:
                sets.setdefault(document.meta["doc_id"], []).append(document)
        values = [
            lexical([d.text for d in own], **QUICK).by_source["texts"].values["ttr"]
            for own in sets.values()
        ]
        assert result.values["ttr"] == pytest.approx(np.mean(values))
        # A share: Wilson's interval at as many texts as would have this standard error.
        share, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
        as_many = share * (1 - share) / error**2
        expected = wilson(share * as_many, as_many, 0.95, len(values))
        assert result.intervals["ttr"] == pytest.approx(expected)
        assert result.texts == len(sets)
        assert result.words == 30 * 12


def test_sets_are_those_of_the_facet() -> None:
    """Texts have other numbers in a facet than among all."""
    how: dict[str, Any] = {"by": ("task", "source"), "within": "doc_id", **QUICK}
    both = lexical(records(), reference="human", **how)
    own = [document for document in records() if document.meta["task"] == "news"]
    alone = lexical(own, reference="news|human", **how)
    for name, found in alone.by_source.items():
        assert both.by_source[name].values == pytest.approx(found.values, nan_ok=True)


def test_within_calls_few_sets_what_they_are() -> None:
    found = lexical(records(), by=("source",), within="doc_id", interval=0.95, **QUICK)
    sets = found.by_source["human"].texts
    assert f"only {sets} sets: the interval is rough" in found.by_source["human"].notes


def test_within_says_which_sets_were_too_small() -> None:
    texts = [*records(), Document("alone", "one more text", {"source": "human", "doc_id": "last"})]
    found = lexical(texts, by=("source",), within="doc_id", **QUICK)
    assert "left out: 1 set of a single text" in found.by_source["human"].notes
    assert not any("single text" in note for note in found.by_source["small"].notes)


def test_a_record_without_the_field_of_the_sets_is_named(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    lines = [{"text": "one two", "doc_id": 1}, {"text": "three four"}]
    write_jsonl(file, lines)
    with pytest.raises(InputError, match=r"texts.jsonl, line 2, field 'doc_id'.*within"):
        rote.lexical(file, within="doc_id")


def test_sets_are_signed_and_listed() -> None:
    found = lexical(records(), by=("source",), within="doc_id", per_text=True, **QUICK)
    assert "within:doc_id" in str(found.signature)
    assert {row["id"] for row in found.tables["texts"]} == {
        f"{task}{number}" for task in ("story", "news") for number in range(3)
    }


def test_what_texts_were_made_from_is_a_source_of_its_facet() -> None:
    texts = records(document="The same long document about a heron and a lamp.")
    found = lexical(texts, by=("task", "source"), reference="human", **QUICK)
    assert found.by_source["story|input documents"].texts == 1
    assert found.by_source["news|input documents"].texts == 1
    by_source = lexical(texts, by=("source",), **QUICK)
    assert by_source.by_source["input documents"].texts == 1
    assert "input documents" not in lexical(texts, by=("source",), inputs="", **QUICK).by_source


def test_another_field_may_hold_the_input() -> None:
    texts = records(prompt="Write about a heron.")
    assert "input: prompt" in lexical(texts, by=("source",), inputs="prompt", **QUICK).by_source
    with pytest.raises(OptionError, match=r"--inputs names the field 'promt'.*fields: .*prompt"):
        lexical(texts, by=("source",), inputs="promt", **QUICK)


def test_what_texts_were_made_from_is_known_in_a_facet() -> None:
    """A measure that is not of inputs leaves them out there, too."""
    texts = records(document="The same long document about a heron and a lamp.")
    for by in (("source",), ("task", "source")):
        found = rote.report(texts, by=by, measures="lexical,keyness", **QUICK)
        sources = {result.measure: result.by_source for result in found.results}
        assert any("input" in name for name in sources["lexical"])
        assert not any("input" in name for name in sources["keyness"])
