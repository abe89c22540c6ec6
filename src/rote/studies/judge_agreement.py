"""Analyse judges' answers on summaries: relevance, consistency, pairwise wins, agreement.

ANSWERS are what the page of `rote judge page` gives, a file for each judge or sitting, or what
`rote judge model` writes; of what a judge judged twice the last answer counts. --key is the file
beside the page that says whose each summary is:

\b
  rote judge page summaries.jsonl -o page.html
  rote judge agreement ann.jsonl bob.jsonl --key page.key.json

Relevance is the share of a judge's own highlights that a summary covers, consistency the number of
facts that are made up. Of two systems the better one on a document is that with more highlights,
or with fewer facts made up, by the same judge. Agreement is Krippendorff's alpha of these
shares and numbers, of the counts of highlights and of summaries with nothing made up beside them,
and of which of two systems is better; its interval leaves out one document at a time. The table of
judges has that agreement for every two of them: people among themselves, a model with each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from rote.compare.clusters import clustered_mean, number_clusters, share_interval
from rote.compare.intervals import interval_from_error, left_out_error
from rote.core.arrays import Floats, Integers
from rote.core.chart import Chart, make_chart
from rote.core.errors import InputError, UnknownName
from rote.core.json_reader import JsonObject, parse_json, read_json
from rote.core.metric import OptionSet, option, unsigned_option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result, SourceResult
from rote.core.table import VALUES, FullTable, Rows, Table, estimate, make_columns
from rote.studies._items import share_cells

PLAIN_VALUE = {"higher": "neither", "length_sensitive": False}


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    """Settings of `judge agreement`."""

    key: Path | None = unsigned_option(
        None, "The key file of the page, with the source of each summary", metavar="FILE"
    )
    interval: float = option(0.95, "Confidence level of the intervals; 0: no intervals")


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
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


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Which of two summaries a model finds better: a, b, alike, inconsistent or unreadable."""

    judge: str
    doc_id: str
    of: str
    a: str
    b: str
    better: str


_PAIR_FIELDS = ("judge", "doc_id", "of", "a", "b", "better")
_BETTER = {"a": 1, "b": -1, "alike": 0, "inconsistent": 0, "unreadable": None}
Better = Mapping[tuple[str, str], int]
"""By judge and document: 1 where a is better, -1 where b is, 0 where both are alike."""
_RATED: Mapping[str, Mapping[str, Callable[[JudgeAnswer], float]]] = {
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


@dataclass(frozen=True, slots=True)
class JudgeAnswers:
    """What judges say of single summaries, and what models say of two."""

    ratings: list[JudgeAnswer]
    pairs: list[JudgePair]

    @property
    def judges(self) -> list[str]:
        rating = {answer.judge for answer in self.ratings}
        return sorted(rating | {pair.judge for pair in self.pairs})

    @property
    def sources(self) -> list[str]:
        sources = {answer.source for answer in self.ratings}
        return sorted(sources.union(*({pair.a, pair.b} for pair in self.pairs)))

    @property
    def questions(self) -> list[str]:
        """What the better of two is told of."""
        rated = list(_RATED) if self.ratings else []
        return [*rated, *sorted({pair.of for pair in self.pairs}.difference(rated))]

    def better(self, a: str, b: str, of: str) -> Better:
        """Which is better by each judge: by counts of highlights or facts, or as it says."""
        labels: dict[tuple[str, str], int] = {}
        if of in _RATED:
            labels = _better_labels(self.ratings, a, b, of)
        for pair in self.pairs:
            sign = _BETTER[pair.better]
            if pair.of == of and {pair.a, pair.b} == {a, b} and sign is not None:
                labels[pair.judge, pair.doc_id] = sign if pair.a == a else -sign
        return labels


def read_answers(
    inputs: Sequence[str | Path | Mapping[str, Any]], key: Path | None
) -> JudgeAnswers:
    """The last answer of each judge to each summary or pair, of files or records."""
    names: Mapping[str, str] = {}
    if key is not None:
        try:
            record = JsonObject.of(read_json(key, regular=False), str(key)).object("sources")
            names = {name: record.text(name) for name in record.values}
        except (OSError, InputError):
            raise InputError("it is not the key of a page", file=str(key)) from None
    answers: dict[tuple[str, str, str], JudgeAnswer] = {}
    pairs: dict[tuple[str, ...], JudgePair] = {}
    for file, number, line in _read_lines(inputs):
        try:
            record = parse_json(line) if isinstance(line, str) else line
            if record.get("kind") == "highlights":
                continue
            if record.get("kind") == "pair":
                pair = JudgePair(*map(record.__getitem__, _PAIR_FIELDS))
                texts = all(isinstance(value, str) for value in astuple(pair))
                if not texts or pair.better not in _BETTER or pair.a == pair.b:
                    raise ValueError
                both = sorted((pair.a, pair.b))
                pairs[(pair.judge, pair.doc_id, pair.of, *both)] = pair
                continue
            summary = str(record["summary"] if "summary" in record else record["source"])
            covered = record["covered"]
            answer = JudgeAnswer(
                str(record["judge"]),
                str(record["doc_id"]),
                summary,
                int(record["highlights"]),
                len(covered) if isinstance(covered, list) else int(covered),
                int(record["made_up"]),
            )
            if not 0 <= answer.covered <= answer.highlights or answer.made_up < 0:
                raise ValueError
        except (InputError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "not an answer of a judge: it needs judge, doc_id, summary, highlights, covered "
                "(at most as many), made_up; an answer of a model needs judge, doc_id, of, a, "
                f"b, better ({', '.join(_BETTER)})",
                file=file,
                line=number,
            ) from None
        if key is not None and summary not in names:
            raise UnknownName("summary", summary, names)
        source = names.get(summary, summary)
        answers[answer.judge, answer.doc_id, source] = replace(answer, source=source)
    if not answers and not pairs:
        raise InputError(
            "there are no answers", remedy="Give files of the page, or of `rote judge model`"
        )
    return JudgeAnswers(list(answers.values()), list(pairs.values()))


def _read_lines(inputs: Sequence[str | Path | Mapping[str, Any]]) -> Iterator[tuple[str, int, Any]]:
    """What may be an answer, with its place: lines of files, records as they are."""
    for place, entry in enumerate(inputs, 1):
        if isinstance(entry, Mapping):
            yield "answers", place, entry
            continue
        try:
            lines = Path(entry).read_text("utf-8").splitlines()
        except OSError as error:
            problem = str(error.strerror)
            raise InputError(problem, file=str(entry), remedy="Check the path") from None
        except UnicodeDecodeError:
            raise InputError("not UTF-8: not answers of a judge", file=str(entry)) from None
        yield from ((str(entry), n, line) for n, line in enumerate(lines, 1) if line.strip())


def run(call: Call) -> Findings:
    options: Options = call.options
    answers = read_answers(call.inputs, options.key)
    level = options.interval
    sources, judges = answers.sources, answers.judges
    results = {}
    for source in sorted({answer.source for answer in answers.ratings}):
        source_answers = [answer for answer in answers.ratings if answer.source == source]
        documents = number_clusters([answer.doc_id for answer in source_answers])
        values, reaches = {}, {}
        for name, column in (
            ("relevance", [answer.relevance for answer in source_answers]),
            ("made_up", [float(answer.made_up) for answer in source_answers]),
        ):
            average = clustered_mean(np.array(column), documents)
            values[name] = average.value
            reaches[name] = average.interval(level, share=name == "relevance")
        clean = np.array([float(answer.made_up == 0) for answer in source_answers])
        values["consistent"] = float(clean.mean())
        reaches["consistent"] = share_interval(clean, documents, level)
        clusters = int(documents.max()) + 1
        results[source] = SourceResult(
            len(source_answers), 0, values, reaches if level else {}, clusters=clusters
        )
    wins = [
        {"of": of} | win_row(labels, a, b, level)
        for a, b in combinations(sources, 2)
        for of in answers.questions
        if (labels := answers.better(a, b, of))
    ]
    notes = [] if len(judges) > 1 else ["one judge alone: no agreement"]
    if unreadable := sum(pair.better == "unreadable" for pair in answers.pairs):
        notes.append(f"{several(unreadable, 'answer')} of models cannot be read: left out")
    return Findings(
        signed={"judges": len(judges), "answers": _fingerprint(answers)},
        sources=results,
        values=[
            {"value": "relevance", "title": "highlights covered", **PLAIN_VALUE},
            {"value": "made_up", "title": "facts made up", **PLAIN_VALUE},
            {"value": "consistent", "title": "summaries with none made up", **PLAIN_VALUE},
        ],
        by=("source",),
        tables={
            "wins": wins,
            "agreement": _agreement_rows(answers, sources, level),
            "judges": _judge_rows(answers, sources, level),
        },
        method="clusters of documents",
        notes=notes,
    )


def _fingerprint(answers: JudgeAnswers) -> str:
    lines = sorted(
        repr(answer).removeprefix("Judge") for answer in (*answers.ratings, *answers.pairs)
    )
    return blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()


def _better_labels(
    answers: Sequence[JudgeAnswer], a: str, b: str, what: str
) -> dict[tuple[str, str], int]:
    counts = {
        (answer.judge, answer.doc_id, answer.source): answer.covered
        if what == "relevance"
        else -answer.made_up
        for answer in answers
    }
    return {
        (judge, document): int(np.sign(count - counts[judge, document, b]))
        for (judge, document, source), count in counts.items()
        if source == a and (judge, document, b) in counts
    }


def win_row(labels: Better, a: str, b: str, level: float) -> dict[str, Any]:
    """How often each of two systems is better, or none."""
    signs = np.array(list(labels.values()))
    documents = number_clusters([document for _, document in labels])
    row: dict[str, Any] = {"a": a, "b": b, "judgements": len(signs)}
    for name, sign in (("a_better", 1), ("b_better", -1), ("alike", 0)):
        row |= share_cells(name, (signs == sign).astype(np.float64), documents, level)
    return row


def _better_by_unit(answers: JudgeAnswers, sources: Sequence[str], of: str) -> dict[Rated, float]:
    return {
        (judge, (document, f"{a} {b}")): label
        for a, b in combinations(sources, 2)
        for (judge, document), label in answers.better(a, b, of).items()
    }


def _judge_rows(
    answers: JudgeAnswers, sources: Sequence[str], level: float
) -> list[dict[str, Any]]:
    """Which of two systems is better, by every two judges: how often the same, and alpha."""
    rows = []
    for of in answers.questions:
        by_unit = _better_by_unit(answers, sources, of)
        for a, b in combinations(answers.judges, 2):
            units = [{unit for judge, unit in by_unit if judge == name} for name in (a, b)]
            common = units[0] & units[1]
            if not common:
                continue
            both = {key: v for key, v in by_unit.items() if key[0] in (a, b) and key[1] in common}
            ratings, documents = _rating_table(both)
            same = (ratings[0] == ratings[1]).astype(np.float64)
            row: dict[str, Any] = {"of": of, "a": a, "b": b, "units": len(common)}
            row |= share_cells("same", same, documents, level)
            rows.append(row | _alpha_cells(ratings, "nominal", level, documents))
    return rows


def _agreement_rows(
    answers: JudgeAnswers, sources: Sequence[str], level: float
) -> list[dict[str, Any]]:
    """Alpha of what the table of systems shows, of the other way to see it, and of which of two
    systems is better."""
    rows = []
    for what in answers.questions:
        rated: dict[str, dict[Rated, float]] = {
            kind: {
                (answer.judge, (answer.doc_id, answer.source)): rating(answer)
                for answer in answers.ratings
            }
            for kind, rating in _RATED.get(what, {}).items()
        }
        rated["better of two"] = _better_by_unit(answers, sources, what)
        for kind, by_unit in rated.items():
            if not by_unit:
                continue
            ratings, documents = _rating_table(by_unit)
            for measured in LEVELS:
                row: dict[str, Any] = {"of": what, "what": kind, "level": measured}
                row |= {"units": ratings.shape[1], "documents": len(np.unique(documents))}
                row["judges"] = ratings.shape[0]
                rows.append(row | _alpha_cells(ratings, measured, level, documents))
    return rows


Rated = tuple[str, tuple[str, str]]
"""A judge, and the unit that was rated: a document, and which summary of it, or which two."""


def _rating_table(by_unit: Mapping[Rated, float]) -> tuple[Floats, Integers]:
    """A table of judges by units, and the document of each unit."""
    judges = {name: place for place, name in enumerate(sorted({judge for judge, _ in by_unit}))}
    units = {name: place for place, name in enumerate(sorted({unit for _, unit in by_unit}))}
    table = np.full((len(judges), len(units)), np.nan)
    for (judge, unit), rating in by_unit.items():
        table[judges[judge], units[unit]] = rating
    return table, number_clusters([document for document, _ in units])


def _chart_wins(rows: Rows, result: Result) -> list[dict[str, Any]]:
    """A bar for each of the three outcomes."""
    choices = {"a_better": "first", "b_better": "second", "alike": "alike"}
    return [
        {
            "judge": row.get("judge"),
            "of": row["of"],
            "pair": f"{row['a']} / {row['b']}",
            "who": who,
            "share": row[name],
            "low": row[f"{name}_low"],
            "high": row[f"{name}_high"],
        }
        for row in rows
        for name, who in choices.items()
    ]


def win_chart(*panel: str) -> Chart:
    """Who is better, with a panel for each value of these fields."""
    return make_chart(
        "wins",
        "Who is better",
        "wins bars x=pair y=share colour=who ends=low,high",
        panel=panel,
        share=True,
        rows=_chart_wins,
        says="How often the first, the second or neither of two systems is better.",
    )


WINS = make_columns("of a b judgements:count a_better:share~ b_better:share~ alike:share~")

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = get_args(Level)


def alpha(ratings: Floats, level: Level) -> float:
    """Krippendorff's alpha (2011) of a table of judges by units, nan where a judge said nothing:
    1 minus the disagreement within units over that expected by chance. nan where no unit has two
    judges, or where all say the same, so that nothing could be told apart."""
    return _alpha(*_value_counts(ratings), level)


def alpha_interval(
    ratings: Floats, level: Level, at: float, documents: Integers
) -> tuple[float, float]:
    """By the jackknife over documents: what judges say of two summaries of one document is no
    independent evidence. `documents` number those of the units."""
    counts, values = _value_counts(ratings)
    used = np.unique(documents[counts.sum(1) > 1])
    without = [_alpha(counts[documents != document], values, level) for document in used]
    error, estimate = left_out_error(np.array(without)), _alpha(counts, values, level)
    low, high = interval_from_error(estimate, error, at, len(used))
    return low, min(high, 1.0) if not math.isnan(high) else high


def _alpha_cells(ratings: Floats, level: Level, at: float, documents: Integers) -> dict[str, float]:
    interval = alpha_interval(ratings, level, at, documents)
    return estimate("alpha", alpha(ratings, level), interval)


def _value_counts(ratings: Floats) -> tuple[Floats, Floats]:
    """How often each value is given to each unit, and the values."""
    values = np.unique(ratings[~np.isnan(ratings)])
    return (ratings[:, :, None] == values).sum(0).astype(np.float64), values


def _alpha(counts: Floats, values: Floats, level: Level) -> float:
    judged = counts.sum(1)
    counts, judged = counts[judged > 1], judged[judged > 1]
    if not len(counts):
        return math.nan
    observed = np.zeros((len(values), len(values)))
    for judges in np.unique(judged):  # of as many judges each: sums of whole numbers
        same = counts[judged == judges]
        observed += (same.T @ same - np.diag(same.sum(0))) / (judges - 1)
    often = observed.sum(0)
    expected = (np.outer(often, often) - np.diag(often)) / (often.sum() - 1)
    apart = _squared_distances(values, often, level)
    chance = float((expected * apart).sum())
    return 1 - float((observed * apart).sum()) / chance if chance > 0 else math.nan


def _squared_distances(values: Floats, often: Floats, level: Level) -> Floats:
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values) ** 2)
    # Between two ranks: all that lie between them, and half of each.
    middle = np.cumsum(often) - often / 2
    return np.asarray((middle[:, None] - middle) ** 2)


STUDY = Study(
    name="judge-agreement",
    title="Human judgement",
    says="What judges say about summaries, and how far they agree.",
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
            make_columns(
                "source texts=judgements:count relevance=highlights_covered:share~value "
                "made_up=facts_made_up:number~value consistent=none_made_up:share~value"
            ),
        ),
        FullTable("wins", "Better of two", WINS),
        FullTable(
            "agreement",
            "Krippendorff's alpha",
            make_columns("of what level units:count documents:count judges:count alpha:number~"),
        ),
        FullTable(
            "judges",
            "Judges two by two: better of two",
            make_columns("of a=judge b=judge units:count same:share~ alpha:number~"),
        ),
    ),
    charts=(win_chart("of"),),
)
