"""Results of the templates measure made by hand, with as many sources as wanted."""

from __future__ import annotations

import math
from typing import Any

from rote.core.result import Interval, Result, SourceResult
from rote.core.signature import Signature

TAGS = "DT NN IN PDT JJ NNS . PRP VBZ WDT NNP TO VB , CC RB".split()
WORDS = "the end of such long days . she is which Anna to see , and now".split()
VALUES = {"cr": 6.0, "length": 150.0, "rate": 0.9, "per_token": 0.04, "distinct": 3.2}


def template(number: int) -> str:
    return _of(TAGS, number)


def match(number: int) -> str:
    return _of(WORDS, number)


def names(count: int) -> list[str]:
    return ["human", *(f"a-rather-long-model-{number}b-instruct" for number in range(1, count))]


def made(count: int = 2, *, reference: str | None = "human", measure: str = "templates") -> Result:
    """A result with all tables that the measure may have."""
    sources = names(count)
    return Result(
        measure=measure,
        signature=Signature.of({"measure": measure}),
        by=("source",),
        reference=reference,
        interval=Interval(0.95, "by hand"),
        by_source={
            name: SourceResult(texts=500, words=75_000, values=dict(VALUES)) for name in sources
        },
        tables={
            "values": [
                {"value": name, "title": name, "higher": "repetitive", "length_sensitive": False}
                for name in VALUES
            ],
            **_own(sources),
            **_in_corpora(sources),
            "sweep": [
                {
                    "source": source,
                    "over": "temperature",
                    "groups": 4,
                    "value": name,
                    "mean": mean,
                    "sd": mean / 50,
                    "range": mean / 20,
                }
                for source in sources
                for name, mean in VALUES.items()
            ],
        },
    )


def _of(items: list[str], number: int) -> str:
    """Six items, different for each number."""
    places = [number, number // 16, *(number * place for place in range(2, 6))]
    return " ".join(items[place % 16] for place in places)


def _own(sources: list[str]) -> dict[str, list[dict[str, Any]]]:
    pairs = [(a, b) for a in sources for b in sources if a != b]
    return {
        "lengths": [
            {
                "source": source,
                "n": n,
                "templates": 100,
                "rate": 1 - (n - 3) ** 2 / 60 - number / 40,
                "per_token": (9 - n) / 60 - number / 700,
                "distinct": 3.5,
            }
            for number, source in enumerate(sources)
            for n in range(4, 9)
        ],
        "templates": [
            {
                "source": source,
                "rank": rank,
                "template": template(rank),
                "count": 1300 - 50 * rank,
                "texts": 400 - 10 * rank,
                "counts": dict.fromkeys(sources, 3),
                "log_odds": None,
                "z": None,
                "p_corrected": None,
            }
            for source in sources
            for rank in range(1, 21)
        ],
        "matches": [
            {"source": source, "template": template(rank), "text": text, "count": 40 - rank}
            for source in sources
            for rank in range(1, 21)
            for text in (match(rank), "another match of the same")
        ],
        "distinctive": [
            {
                "source": source,
                "template": template(rank),
                "count": 130,
                "reference_count": 12,
                "log_odds": (12 - rank) / 4,
                "z": (12 - rank) * 1.1,
                "p_corrected": 0.001 if abs(12 - rank) > 2 else 0.4,
                "examples": [match(rank)],
            }
            for source in sources[1:]
            for rank in range(1, 21)
        ],
        "overlap": [
            {
                "source": a,
                "other": b,
                "shared": 40,
                "jaccard": 1 / (2 + abs(sources.index(a) - sources.index(b))),
            }
            for a, b in pairs
        ],
    }


def _in_corpora(sources: list[str]) -> dict[str, list[dict[str, Any]]]:
    corpora = ("pre-training", "fine-tuning", "pre-training + fine-tuning")
    kinds = {"templates": 0.9, "others": 0.4, "reference templates": 0.8}
    return {
        "coverage": [
            {
                "corpus": corpus,
                "source": source,
                "kind": kind,
                "n_grams": 100,
                "among_frequent": share - 0.2,
                "among_low": share - 0.25,
                "among_high": share - 0.15,
                "found": share,
                "low": share - 0.04,
                "high": share + 0.04,
            }
            for corpus in corpora
            for source in sources
            for kind, share in kinds.items()
            if (kind, source) != ("reference templates", sources[0])
        ],
        "ranks": [
            {
                "corpus": corpus,
                "source": source,
                "kind": kind,
                "n_gram": template(number),
                "count": 10,
                "rank": int(math.exp(number / base)) + 1,
            }
            for corpus in corpora[:1]
            for source in sources
            for kind, base in (("templates", 3.5), ("others", 2))
            for number in range(1, 25)
        ],
        "rank_tests": [
            {
                "corpus": corpus,
                "source": source,
                "n_grams": 100,
                "others": 100,
                "median": 812.5,
                "median_others": 48_211.0,
                "u": 1234.5,
                "p": 1.2e-9,
            }
            for corpus in corpora
            for source in sources
        ],
        "in_corpus": [
            {"corpus": "pre-training", "source": sources[0], "id": f"d{number}", "why": "same text"}
            for number in range(7)
        ],
    }


ASPECTS = (
    ("lexical", "unique", "diverse", 0.6),
    ("compression", "gzip", "repetitive", 2.5),
    ("compression", "gzip_pos", "repetitive", 5.0),
)


def made_panel(
    tasks: tuple[str, ...] = ("news", "tales"),
    others: tuple[str, ...] = ("one", "two"),
    *,
    inputs: bool = True,
    reference: str | None = "human",
) -> list[Result]:
    """Results of several measures over tasks and sources: each task more diverse than the last.

    The first of the other sources differs from the reference, the rest may not.
    """
    sources = ["human", *others, *(["input documents"] if inputs else [])]
    return [_aspect(tasks, sources, reference, *aspect) for aspect in ASPECTS]


def _aspect(
    tasks: tuple[str, ...],
    sources: list[str],
    reference: str | None,
    measure: str,
    value: str,
    higher: str,
    base: float,
) -> Result:
    found, comparisons, matched, curve = {}, [], [], []
    for place, task in enumerate(tasks):
        for number, source in enumerate(sources):
            group = f"{task}|{source}" if task else source
            factor = 1 + (0.1 * place if higher == "diverse" else -0.1 * place) + 0.02 * number
            number_of = base * factor
            found[group] = SourceResult(
                texts=100 + place,
                words=20_000,
                values={value: number_of},
                intervals={value: (number_of - 0.02, number_of + 0.02)},
            )
            row = {"source": group, "value": value, "words": 1000 * (place + 1)}
            ends = {"low": number_of + 0.009, "high": number_of + 0.011}
            matched.append({**row, "mean": number_of + 0.01, **ends})
            curve.append({**row, "mean": number_of, "sd": 0.01})
            if source != "human" and reference is not None:
                comparisons.append(
                    {
                        "source": group,
                        "reference": f"{task}|human" if task else "human",
                        "value": value,
                        "difference": 0.1,
                        "p": 0.01,
                        "p_corrected": 0.02 if number == 1 else 0.4,
                        "matched_difference": 0.1,
                        "matched_p_corrected": 0.02 if number == 1 else 0.4,
                    }
                )
    titles = {"value": value, "title": f"title of {value}", "higher": higher}
    return Result(
        measure=measure,
        signature=Signature.of({"measure": measure}),
        by=("task", "source"),
        reference=reference,
        interval=Interval(0.95, "by hand"),
        by_source=found,
        comparisons=comparisons,
        tables={
            "values": [{**titles, "length_sensitive": True}],
            "matched": matched,
            "curve": curve,
        },
    )
