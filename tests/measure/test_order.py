"""Neither intervals nor tests depend on the order of the records: draws are made in another."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.core import plugins
from rote.core.document import Document
from rote.core.metric import Metric
from rote.corpus.items import Item
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.models.backends.fake import Fake
from tests.studies.test_popularity import backend

WORDS = "the a heron gull boat canal sang slept rose fell grey small never often twice".split()
_WITHOUT_TAGS = {"word", "lower", "text"}


def _of_words(name: str) -> bool:
    """Measures whose values need no more than words, and do not depend on the order by design."""
    metric: Metric = plugins.load("measure", name).METRIC
    options = metric.options()
    needs = {need.layer for need in metric.needs(options)}
    return needs <= _WITHOUT_TAGS and metric.tested and not metric.order_matters


MEASURES = [name for name in plugins.members("measure") if _of_words(name)]


def texts() -> list[Document]:
    rng = random.Random(4)
    references = [" ".join(rng.choices(WORDS, k=8)) for _ in range(24)]
    found = []
    for source, words in (("human", 14), ("model", 11)):
        for number in range(24):
            own = " ".join(rng.choices(WORDS, k=words + number % 5))
            meta = {"source": source, "doc_id": str(number), "reference": references[number]}
            meta["document"] = references[number]
            found.append(Document(f"{source}{number}", own, meta))
    return found


def numbers(result: Any) -> dict[str, Any]:
    rows = sorted(map(dict, result.comparisons), key=lambda row: (row["source"], row["value"]))
    return {
        "p": {(r["source"], r["value"]): r.get("p") for r in rows},
        "intervals": {
            (source, name): ends
            for source, found in sorted(result.by_source.items())
            for name, ends in sorted(found.intervals.items())
        },
    }


@pytest.mark.parametrize("name", MEASURES)
def test_the_order_of_texts_changes_neither_an_interval_nor_a_p(name: str, tmp_path: Path) -> None:
    options = plugins.load("measure", name).METRIC.options
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(" ".join(random.Random(5).choices(WORDS, k=300)))
    named = {"corpus": str(corpus), "train": str(corpus), "min_samples": 4, "n": 2}
    if name != "overlap":
        del named["n"]
    own = {key: value for key, value in named.items() if key in options.__dataclass_fields__}
    settings = Settings(by=("source",), reference="human", permutations=19)
    shuffled = texts()
    random.Random(1).shuffle(shuffled)
    found, other = (
        numbers(compute({name: options(**own)}, records, settings=settings)[0])
        for records in (texts(), shuffled)
    )
    assert found["intervals"] or found["p"]
    for kind, expected in found.items():
        assert other[kind].keys() == expected.keys()
        for key, value in expected.items():
            assert other[kind][key] == pytest.approx(value, nan_ok=True, rel=1e-9), (kind, key)


def items() -> list[Item]:
    rng = random.Random(6)
    return [
        Item(
            str(number),
            "t",
            "",
            tuple(" ".join(rng.choices(WORDS, k=6)) for _ in range(2)),
            number % 2,
            meta={"acc": int(rng.random() < 0.6), "base_id": str(number // 2)},
        )
        for number in range(40)
    ]


def shuffled(seed: int | None) -> list[Item]:
    own = items()
    if seed is not None:
        random.Random(seed).shuffle(own)
    return own


def results(seed: int | None) -> list[Any]:
    own, model = shuffled(seed), Fake({"": dict.fromkeys(WORDS, 1 / len(WORDS))})
    corpus = backend(" ".join(random.Random(7).choices(WORDS, k=400)))
    found = rote.popularity(own, corpus=corpus, n=2)
    recalled = rote.memorization(own, model={"m": model}, n=2, corpus=corpus)
    answered = rote.evaluate(own, model={"m": model})
    return [
        *(result.by_source for result in (found, recalled, answered)),
        found.tables["tests"],
        found.tables["groups"],
        recalled.tables["prediction"],
        recalled.tables["halves"],
    ]


def test_the_order_of_items_changes_neither_an_interval_nor_a_p() -> None:
    first, second = results(None), results(3)
    assert len(first) == len(second)
    for one, other in zip(first, second):
        assert _plain(one) == pytest.approx(_plain(other), nan_ok=True, rel=1e-9)


def _plain(value: Any) -> dict[str, float]:
    """Every number in a value, under its path."""
    found: dict[str, float] = {}

    def walk(part: Any, path: str) -> None:
        if hasattr(part, "__dataclass_fields__"):
            part = {name: getattr(part, name) for name in part.__dataclass_fields__}
        if isinstance(part, dict):
            for key, inner in part.items():
                walk(inner, f"{path}.{key}")
        elif isinstance(part, (list, tuple)):
            for key, inner in enumerate(part):
                walk(inner, f"{path}.{key}")
        elif isinstance(part, (int, float, np.number)) and not isinstance(part, bool):
            found[path] = float(part)

    walk(value, "")
    return found
