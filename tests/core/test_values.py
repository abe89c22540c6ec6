"""Signatures, results, columns, samples and files: what goes in comes out."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rote.core.arrays import GrowableArray
from rote.core.layer import Layer
from rote.core.metric import members
from rote.core.result import Interval, Result, SourceResult
from rote.core.sample import Cut, Need, RawText, Sample
from rote.core.signature import Signature


def a_result() -> Result:
    return Result(
        measure="toy",
        signature=Signature.of({"measure": "toy", "codecs": ("gzip", "xz")}),
        by=("source",),
        reference="human",
        interval=Interval(0.95, "jackknife over texts"),
        by_source={
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


@given(
    st.lists(st.lists(st.integers(-5, 5), max_size=8), max_size=6), st.sampled_from([1, 40, 10**6])
)
def test_a_column_is_the_concatenation_in_memory_or_on_disk(
    parts: list[list[int]], limit: int
) -> None:
    column = GrowableArray(np.int32, limit)
    for part in parts:
        column.append(np.array(part, np.int32))
    assert column.finish().tolist() == [value for part in parts for value in part]


def test_windows_are_cut_alike_from_every_column() -> None:
    words = Layer(
        "lower",
        np.arange(12, dtype=np.int32),
        [f"w{number}" for number in range(12)],
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.array([3, 8, 12]),
        sentence_ends=np.array([3, 5, 8, 10, 12]),
    )
    halves = replace(words, ids=np.arange(24, dtype=np.int32), text_ends=np.array([6, 16, 24]))
    halves = replace(halves, sentence_ends=None)
    raw = RawText(np.frombuffer("aaaäßbxycccc".encode(), np.uint8), np.array([3, 10, 14]))
    sample = Sample(
        words=np.array([3, 5, 4]),
        layers={Need("lower"): words, Need("word", "other"): halves},
        raws={None: raw},
    )
    cut = Cut(np.array([1, 2]), firsts=np.array([1, 2]), lengths=np.array([5, 4]), size=2)
    part = sample.windows(cut)
    assert part.words.tolist() == [2, 2]
    assert part.layer(Need("lower")).ids.tolist() == [4, 5, 10, 11]
    assert part.layer(Need("lower")).text_ends.tolist() == [2, 4]
    # The sentence that the first window cuts ends where it is cut.
    assert part.layer(Need("lower")).sentence_ends.tolist() == [1, 2, 4]  # type: ignore[union-attr]
    assert part.layer(Need("word", "other")).ids.tolist() == [8, 9, 10, 11, 20, 21, 22, 23]
    # 7 bytes, of which 7/5 to 21/5 are meant: from the middle of a character, so from its start.
    assert [part.text().text(number).decode() for number in range(2)] == ["äß", "cc"]


def test_texts_are_taken_whole_in_the_order_asked_for() -> None:
    raw = RawText(np.frombuffer(b"aaabbbbbcccc", np.uint8), np.array([3, 8, 12]))
    part = Sample(words=np.array([3, 5, 4]), layers={}, raws={None: raw}).take(np.array([2, 0]))
    assert part.words.tolist() == [4, 3]
    assert [part.text().text(number) for number in range(2)] == [b"cccc", b"aaa"]


@given(st.lists(st.lists(st.integers(0, 30), unique=True), min_size=1, max_size=6))
def test_members_are_those_of_each_group(groups: list[list[int]]) -> None:
    every, held = members([np.array(group, np.int64) for group in groups])
    assert every.tolist() == sorted({text for group in groups for text in group})
    assert held.tolist() == [[float(text in group) for group in groups] for text in every]
