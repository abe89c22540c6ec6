"""Signatures, results, columns, samples and files: what goes in comes out."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rote.core.column import Column
from rote.core.result import Interval, Result, SourceResult, panel_to_json
from rote.core.sample import RawText, Sample
from rote.core.signature import Signature


def a_result() -> Result:
    return Result(
        measure="toy",
        signature=Signature.of({"measure": "toy", "codecs": ("gzip", "xz")}),
        by=("source",),
        reference="human",
        interval=Interval(0.95, "jackknife over texts"),
        sources={
            "human": SourceResult(3, 30, {"v": 0.1 + 0.2}, {"v": (0.1, np.float64(0.5))}, ("n",)),
            "model": SourceResult(1, 10, {"v": math.nan}),
        },
        comparisons=({"source": "model", "value": "v", "p": math.nan},),
        tables={"values": ({"value": "v", "n": np.int64(3)},)},
    )


def test_a_signature_reads_back() -> None:
    signature = Signature.of({"measure": "toy", "codecs": ("gzip", "xz"), "path": "a|b:c"})
    assert str(signature).startswith("measure:toy|codecs:gzip,xz|path:a/b:c|rote:")
    assert Signature.parse(str(signature)) == signature


def test_json_is_unrounded_and_has_null_for_undefined() -> None:
    data = json.loads(a_result().to_json())
    assert data["schema"] == 1
    assert data["sources"]["human"]["values"]["v"] == 0.1 + 0.2
    assert data["sources"]["model"]["values"]["v"] is None
    assert data["comparisons"][0]["p"] is None
    assert set(data) >= {"schema", "measure", "signature", "by", "reference", "interval"}
    assert set(data) >= {"sources", "comparisons", "tables"}


def test_a_result_survives_json() -> None:
    again = Result.from_json(a_result().to_json())
    assert again.to_json() == a_result().to_json()
    assert math.isnan(again.sources["model"].values["v"])


def test_a_panel_holds_every_measure() -> None:
    panel = json.loads(panel_to_json([a_result(), a_result()]))
    assert panel["schema"] == 1
    assert [part["measure"] for part in panel["panel"]] == ["toy", "toy"]


@given(
    st.lists(st.lists(st.integers(-5, 5), max_size=8), max_size=6), st.sampled_from([1, 40, 10**6])
)
def test_a_column_is_the_concatenation_in_memory_or_on_disk(
    parts: list[list[int]], limit: int
) -> None:
    column = Column(np.int32, limit)
    for part in parts:
        column.append(np.array(part, np.int32))
    assert column.finish().tolist() == [value for part in parts for value in part]


def test_a_sample_of_equal_size_has_exactly_that_many_words() -> None:
    sample = Sample(
        words=np.array([3, 5, 4]),
        layers={},
        raws={None: RawText(np.frombuffer(b"aaabbbbbcccc", np.uint8), np.array([3, 8, 12]))},
    )
    part = sample.matched(np.array([2, 0, 1]), 9)  # 4 + 3 words, then 2 of the 5
    assert part.words.tolist() == [3, 4, 2]  # input order, the cut text last
    assert [part.text().text(t) for t in range(3)] == [b"aaa", b"cccc", b"bb"]
