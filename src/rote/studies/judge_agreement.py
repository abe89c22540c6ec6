"""What judges said of summaries: relevance, consistency, pairwise wins, and how far they agree.

ANSWERS are what the page of `rote judge page` gives, a file for each judge or sitting; of a summary
that a judge judged twice the last answer counts. --key is the file beside the page that says whose
each summary is:

\b
  rote judge page summaries.jsonl -o page.html
  rote judge agreement ann.jsonl bob.jsonl --key page.key.json

Relevance is the share of a judge's own highlights that a summary covers, consistency the number of
facts that are made up. Of two systems the better one on a document is that with more highlights,
or with fewer facts made up, by the same judge. Agreement is Krippendorff's alpha of these
shares and numbers, of the counts of highlights and of summaries with nothing made up beside them,
and of which of two systems is better; its interval leaves out one document at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from rote.compare.agreement import LEVELS, alpha, alpha_interval
from rote.compare.clusters import mean_of, numbered, share_interval
from rote.core.array_types import Floats, Integers
from rote.core.chart import Chart
from rote.core.errors import InputError, UnknownName
from rote.core.json_reader import JsonObject, parse_json, read_json
from rote.core.metric import check_options, option, unsigned
from rote.core.record import Call, Findings, Study
from rote.core.result import Result, SourceResult
from rote.core.table import VALUES, Column, Rows, Table, ends, value_ends

_PLAIN = {"higher": "neither", "length_sensitive": False}


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `judge agreement`."""

    key: Path | None = option(
        None,
        "The file beside the page that says whose each summary is",
        metavar="FILE",
        sign=unsigned,
    )
    interval: float = option(0.95, "Level of the intervals; 0: none")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one judge says of one summary."""

    judge: str
    doc_id: str
    source: str
    highlights: int
    covered: int
    made_up: int

    @property
    def relevance(self) -> float:
        return self.covered / self.highlights if self.highlights else float("nan")


_RATED: Mapping[str, Mapping[str, Callable[[Answer], float]]] = {
    "relevance": {
        "highlights covered": lambda answer: answer.relevance,
        "count of highlights covered": lambda answer: answer.covered,
    },
    "consistency": {
        "facts made up": lambda answer: answer.made_up,
        "none made up": lambda answer: answer.made_up == 0,
    },
}
"""What judges rate, as the table of systems shows it, and as it can be seen otherwise."""


def read_answers(given: Sequence[str | Path | Mapping[str, Any]], key: Path | None) -> list[Answer]:
    """The last answer of each judge to each summary, of files or records."""
    names: Mapping[str, str] = {}
    if key is not None:
        try:
            held = JsonObject.of(read_json(key, regular=False), str(key)).object("sources")
            names = {name: held.text(name) for name in held.values}
        except (OSError, InputError):
            raise InputError("it is no key of a page", file=str(key)) from None
    found: dict[tuple[str, str, str], Answer] = {}
    for file, number, line in _lines(given):
        try:
            held = parse_json(line) if isinstance(line, str) else line
            if held.get("kind") == "highlights":
                continue
            said = str(held["summary"] if "summary" in held else held["source"])
            covered = held["covered"]
            one = Answer(
                str(held["judge"]),
                str(held["doc_id"]),
                said,
                int(held["highlights"]),
                len(covered) if isinstance(covered, list) else int(covered),
                int(held["made_up"]),
            )
            if not 0 <= one.covered <= one.highlights or one.made_up < 0:
                raise ValueError
        except (InputError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "no answer of a judge: it needs judge, doc_id, summary, highlights, covered "
                "(at most as many), made_up",
                file=file,
                line=number,
            ) from None
        if key is not None and said not in names:
            raise UnknownName("summary", said, names)
        source = names.get(said, said)
        found[one.judge, one.doc_id, source] = Answer(
            one.judge, one.doc_id, source, one.highlights, one.covered, one.made_up
        )
    if not found:
        raise InputError("there are no answers", remedy="Give files that the page has made")
    return list(found.values())


def _lines(given: Sequence[str | Path | Mapping[str, Any]]) -> Iterator[tuple[str, int, Any]]:
    """What may be an answer, with its place: lines of files, records as they are."""
    for place, one in enumerate(given, 1):
        if isinstance(one, Mapping):
            yield "answers", place, one
            continue
        try:
            lines = Path(one).read_text("utf-8").splitlines()
        except OSError as error:
            raise InputError(str(error.strerror), file=str(one), remedy="Check the path") from None
        except UnicodeDecodeError:
            raise InputError("not UTF-8: no answers of a judge", file=str(one)) from None
        yield from ((str(one), n, line) for n, line in enumerate(lines, 1) if line.strip())


def run(call: Call) -> Findings:
    options: Options = call.options
    answers = read_answers(call.inputs, options.key)
    level = options.interval
    sources = sorted({one.source for one in answers})
    judges = sorted({one.judge for one in answers})
    found = {}
    for source in sources:
        own = [one for one in answers if one.source == source]
        documents = numbered([one.doc_id for one in own])
        values, reaches = {}, {}
        for name, column in (
            ("relevance", [one.relevance for one in own]),
            ("made_up", [float(one.made_up) for one in own]),
        ):
            made = mean_of(np.array(column), documents)
            values[name] = made.value
            reaches[name] = made.interval(level, share=name == "relevance")
        clean = np.array([float(one.made_up == 0) for one in own])
        values["consistent"] = float(clean.mean())
        reaches["consistent"] = share_interval(clean, documents, level)
        clusters = int(documents.max()) + 1
        found[source] = SourceResult(
            len(own), 0, values, reaches if level else {}, clusters=clusters
        )
    wins = [row for pair in combinations(sources, 2) for row in _wins(answers, *pair, level)]
    notes = [] if len(judges) > 1 else ["one judge alone: no agreement"]
    return Findings(
        signed={"judges": len(judges), "answers": _fingerprint(answers)},
        sources=found,
        values=[
            {"value": "relevance", "title": "highlights covered", **_PLAIN},
            {"value": "made_up", "title": "facts made up", **_PLAIN},
            {"value": "consistent", "title": "summaries with none made up", **_PLAIN},
        ],
        by=("source",),
        tables={"wins": wins, "agreement": _agreement(answers, sources, level)},
        method="clusters of documents",
        notes=notes,
    )


def _fingerprint(answers: Sequence[Answer]) -> str:
    lines = sorted(repr(one) for one in answers)
    return blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()


def _counted(one: Answer, what: str) -> int:
    """More is better."""
    return one.covered if what == "relevance" else -one.made_up


def _labels(answers: Sequence[Answer], a: str, b: str, what: str) -> dict[tuple[str, str], int]:
    """By judge and document: 1 where a is better, -1 where b is, 0 where both are alike."""
    held = {(one.judge, one.doc_id, one.source): _counted(one, what) for one in answers}
    return {
        (judge, document): int(np.sign(said - held[judge, document, b]))
        for (judge, document, source), said in held.items()
        if source == a and (judge, document, b) in held
    }


def _wins(answers: Sequence[Answer], a: str, b: str, level: float) -> list[dict[str, Any]]:
    rows = []
    for what in _RATED:
        labels = _labels(answers, a, b, what)
        if not labels:
            continue
        said = np.array(list(labels.values()))
        documents = numbered([document for _, document in labels])
        row: dict[str, Any] = {"of": what, "a": a, "b": b, "judgements": len(said)}
        for name, sign in (("a_better", 1), ("b_better", -1), ("alike", 0)):
            right = (said == sign).astype(np.float64)
            low, high = share_interval(right, documents, level)
            row |= {name: float(right.mean()), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return rows


def _agreement(
    answers: Sequence[Answer], sources: Sequence[str], level: float
) -> list[dict[str, Any]]:
    """Alpha of what the table of systems shows, of the other way to see it, and of which of two
    systems is better."""
    rows = []
    for what, kinds in _RATED.items():
        rated: dict[str, dict[Rated, float]] = {
            kind: {(one.judge, (one.doc_id, one.source)): rating(one) for one in answers}
            for kind, rating in kinds.items()
        }
        rated["better of two"] = {
            (judge, (document, f"{a} {b}")): label
            for a, b in combinations(sources, 2)
            for (judge, document), label in _labels(answers, a, b, what).items()
        }
        for kind, held in rated.items():
            if not held:
                continue
            ratings, documents = _ratings(held)
            for measured in LEVELS:
                low, high = alpha_interval(ratings, measured, level, documents)
                rows.append(
                    {
                        "of": what,
                        "what": kind,
                        "level": measured,
                        "units": ratings.shape[1],
                        "documents": len(np.unique(documents)),
                        "judges": ratings.shape[0],
                        "alpha": alpha(ratings, measured),
                        "alpha_low": low,
                        "alpha_high": high,
                    }
                )
    return rows


Rated = tuple[str, tuple[str, str]]
"""A judge, and the unit that was rated: a document, and which summary of it, or which two."""


def _ratings(held: Mapping[Rated, float]) -> tuple[Floats, Integers]:
    """A table of judges by units, and the document of each unit."""
    judges = {name: place for place, name in enumerate(sorted({judge for judge, _ in held}))}
    units = {name: place for place, name in enumerate(sorted({unit for _, unit in held}))}
    table = np.full((len(judges), len(units)), np.nan)
    for (judge, unit), rating in held.items():
        table[judges[judge], units[unit]] = rating
    return table, numbered([document for document, _ in units])


def _drawn(rows: Rows, result: Result) -> list[dict[str, Any]]:
    """A bar for each of the three outcomes."""
    named = {"a_better": "first", "b_better": "second", "alike": "alike"}
    return [
        {
            "of": row["of"],
            "pair": f"{row['a']} / {row['b']}",
            "who": who,
            "share": row[name],
            "low": row[f"{name}_low"],
            "high": row[f"{name}_high"],
        }
        for row in rows
        for name, who in named.items()
    ]


STUDY = Study(
    name="judge-agreement",
    title="Human judgement",
    says="What people said of summaries, and how far they agree.",
    takes="prompts",
    metavar="ANSWERS...",
    options=Options,
    run=run,
    section="references",
    citation=(
        "Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning, section 6; Krippendorff "
        "(2011), Computing Krippendorff's Alpha-Reliability"
    ),
    layout=(
        Table(
            VALUES,
            "Systems",
            (
                Column("source"),
                Column("texts", "judgements", "count"),
                Column("relevance", "highlights covered", "share", ends=value_ends("relevance")),
                Column("made_up", "facts made up", "number", ends=value_ends("made_up")),
                Column("consistent", "none made up", "share", ends=value_ends("consistent")),
            ),
        ),
        Table(
            "wins",
            "Better of two",
            (
                Column("of"),
                Column("a"),
                Column("b"),
                Column("judgements", kind="count"),
                *(
                    Column(name, kind="share", ends=ends(name))
                    for name in ("a_better", "b_better", "alike")
                ),
            ),
            limit=1000,
        ),
        Table(
            "agreement",
            "Krippendorff's alpha",
            (
                Column("of"),
                Column("what"),
                Column("level"),
                Column("units", kind="count"),
                Column("documents", kind="count"),
                Column("judges", kind="count"),
                Column("alpha", kind="number", ends=ends("alpha")),
            ),
            limit=1000,
        ),
    ),
    charts=(
        Chart(
            "wins",
            "Who is better",
            table="wins",
            shape="bars",
            x="pair",
            y="share",
            colour="who",
            panel=("of",),
            ends=("low", "high"),
            share=True,
            rows=_drawn,
            says="How often the first, the second or neither of two systems is better.",
        ),
    ),
)
