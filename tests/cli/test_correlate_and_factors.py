"""`rote correlate` and `rote factors` as a user meets them, on results that measures wrote."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest

from rote.core.errors import RoteError
from tests.kit import invoke, write_jsonl

WORDS = "the a old new house tree river runs falls sings slowly never and then under over".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two measures on made-up texts of four models and a human, at two temperatures."""
    path = tmp_path_factory.mktemp("results")
    rng = random.Random(4)
    rows = []
    for place, source in enumerate(("human", "m1", "m2", "m3", "m4")):
        for temperature in ("0.5", "1.0"):
            for number in range(6):
                known = WORDS[: 6 + place + number + (2 if temperature == "1.0" else 0)]
                text = " ".join(rng.choice(known) for _ in range(30))
                name = f"{source}-{temperature}-{number}"
                held = {"id": name, "source": source, "temperature": temperature, "text": text}
                held["doc_id"] = f"prompt {number}"
                rows.append(held)
    write_jsonl(path / "texts.jsonl", rows)
    fast = ("--permutations", "0", "--no-matched", "-q")
    for measure in ("lexical", "compression"):
        for name, by in (("", "source"), ("-t", "source,temperature")):
            out = path / f"{measure}{name}.json"
            done = invoke(
                *(measure, path / "texts.jsonl", "--by", by, "--reference", "human"),
                *("-o", out, *fast, *["--per-text"] * (measure == "lexical")),
            )
            assert done.exit_code == 0, done.output
    lines = ["source,rating", "m1,3.5", "m2,4", "m3,2", "m4,5", "human,9"]
    (path / "ratings.csv").write_text("\n".join(lines))
    return path


def test_results_and_ratings_are_correlated(folder: Path) -> None:
    results = [folder / "lexical.json", folder / "compression.json"]
    found = invoke("correlate", *results, "--quality", folder / "ratings.csv")
    assert found.exit_code == 0, found.output
    for name in ("lexical.unique", "compression.gzip", "rating", "4 sources"):
        assert name in found.output
    assert "represent their measures; --values all uses all of them" in found.output


def test_a_panel_and_standard_input_will_do(folder: Path) -> None:
    parts = [json.loads((folder / f"{m}.json").read_text()) for m in ("lexical", "compression")]
    panel = json.dumps({"schema": 1, "panel": parts})
    found = invoke("correlate", "-", "--csv", "-q", input=panel)
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    pairs = [(row["a"], row["b"]) for row in rows if row["table"] == "correlations"]
    assert pairs == [("lexical.unique", "compression.gzip")]


def test_a_mixed_model_of_texts_is_a_paired_t_test_where_two_levels_meet(folder: Path) -> None:
    from scipy.stats import ttest_rel

    asked = ("factors", folder / "lexical-t.json", "--over", "temperature", "--values", "mtld")
    more = ("--random", "doc_id", "--without", "m2,m3,m4", "--json", "-q")
    tables = json.loads(invoke(*asked, "--pair", "0.5,1.0", *more).stdout)["tables"]
    texts = json.loads((folder / "lexical-t.json").read_text())["tables"]["texts"]
    before, after = (
        [row["mtld"] for row in texts if row["source"] == f"m1|{level}"] for level in ("0.5", "1.0")
    )
    by_hand = ttest_rel(after, before)
    (row,) = tables["mixed"]
    assert (row["source"], row["level"], row["texts"]) == ("m1", "1.0", 12)
    assert row["estimate"] == pytest.approx(sum(after) / 6 - sum(before) / 6)
    assert row["p"] == pytest.approx(by_hand.pvalue, rel=1e-3)
    assert row["freedom"] == pytest.approx(5, rel=1e-3)
    ends = by_hand.confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-3)


def test_a_mixed_model_says_what_sources_share_and_whether_they_change_alike(folder: Path) -> None:
    asked = ("factors", folder / "lexical-t.json", "--over", "temperature", "--values", "all")
    found = invoke(*asked, "--random", "doc_id,doc_id:source")
    assert found.exit_code == 0, found.output
    for said in ("Mixed model of the texts", "every source", "Do all sources change alike?"):
        assert said in found.output
    assert "no mixed model of what no single text has: lexical.unique_1" in found.output
    tables = json.loads(invoke(*asked, "--random", "source,doc_id", "--json", "-q").stdout)[
        "tables"
    ]
    rows = [row for row in tables["mixed"] if row["column"] == "lexical.mtld"]
    assert [row["source"] for row in rows] == ["every source"]
    effects = {row["effect"]: row["levels"] for row in tables["random"]}
    assert effects == {"source": 4, "doc_id": 6, "residual": 48}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("correlate", "texts.jsonl"), "is not JSON"),
        (("correlate", "lexical.json"), "a correlation needs two columns"),
        (
            ("correlate", "lexical.json", "compression.json", "--values", "gzp"),
            "did you mean 'gzip'",
        ),
        (("correlate", "lexical.json", "lexical-t.json"), "needs two columns"),
        (("correlate", "lexical.json", "compression-t.json"), "no source has two of the columns"),
        (("correlate", "lexical.json", "--json", "--csv"), "choose one of --json, --csv"),
        (("correlate", "nowhere.json"), "cannot be read"),
        (("factors", "lexical.json"), "--over takes the factor"),
        (
            ("factors", "lexical-t.json", "--over", "temperature", "--random", "author"),
            "unknown random effect 'author'",
        ),
        (
            ("factors", "compression-t.json", "--over", "temperature", "--random", "doc_id"),
            "measure with --per-text",
        ),
        (
            ("factors", "lexical-t.json", *"--over temperature --values mtld --random id".split()),
            "one level per text",
        ),
        (
            ("factors", "lexical-t.json", *"--over temperature --random temperature".split()),
            "temperature is the factor",
        ),
        (("factors", "lexical.json", "--over", "temperature"), "unknown field of the sources"),
        (
            ("factors", "lexical-t.json", "--over", "temperature", "--pair", "0.5,2"),
            "unknown level of 'temperature': '2'",
        ),
    ],
)
def test_what_cannot_work_is_said(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    found = invoke(*(folder / a if a.endswith((".json", ".jsonl")) else a for a in arguments))
    assert isinstance(found.exception, RoteError)
    assert said in str(found.exception)
