"""Change one fact in a document: does the summary follow, or does the model say what it learned?

Entities that training summaries often mention and a test reference mentions too are replaced in the
test document by another of the same type, or, where the document does not hold them, a fact with
another is added at its end, in the words of the reference. A summary of the edited document is
correct (the new fact, not the old), skipped (neither) or incorrect (it keeps the old one):


  rote train intervene pairs.jsonl --model all=all/seed-0,2=theta-2/seed-0 -o edited.jsonl

NAME=MODEL gives a model a name; models with the same name are taken together (several seeds).
Choubey et al. (2023), appendix C, where people made the edits.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from rote.compare.clusters import number_clusters
from rote.core.chart import make_chart
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import read_json_lines
from rote.core.metric import check_options, lines_option, option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.table import FullTable, make_columns
from rote.corpus import ReadOptions
from rote.curate.pairs import (
    VALIDATION,
    PairOptions,
    TrainingPair,
    pairs_fingerprint,
    read_pairs,
    select_split,
)
from rote.models.options import ModelOptions
from rote.studies import _training
from rote.studies._items import share_cells

_ENTITIES, _EDITS = 2000, 2
"""The most frequent entities of the training summaries; edits of each document."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which facts are changed, and who summarizes."""

    SECTION: ClassVar[str] = "Edits and models"
    model: tuple[str, ...] = option(
        (),
        "Models, each NAME=FOLDER or a folder; none: the edits alone are written",
        metavar="MODEL,...",
    )
    output: Path = lines_option(
        Path("edited.jsonl"), "The edited documents, with the summaries", short="-o"
    )
    test: str = option("", "Split to edit; default: test, else validation", metavar="NAME")
    sample: int = option(50, "Number of documents to edit, drawn at random", least=1)
    seed: int = option(0, "The seed of the draws", least=0)
    beams: int = option(4, "Beams for generating summaries", least=1, most=1_000)
    longest: int = _training.longest_option()
    max_tokens: int = _training.max_tokens_option()
    interval: float = option(0.95, "Confidence level of the intervals; 0: no intervals")

    def __post_init__(self) -> None:
        check_options(self)
        if any(not model.partition("=")[2] for model in self.model if "=" in model):
            raise OptionError("--model takes NAME=FOLDER, or a folder")


def run(call: Call) -> Findings:
    from rote.curate.corpus_reader import write_lines

    options: Options = call.options
    pairs = call.of(PairOptions)
    every = read_pairs(call.inputs, pairs, call.reporter)
    names = {pair.fields.get("split") for pair in every}
    wanted = [options.test] if options.test else ["test", *VALIDATION]
    split = next((name for name in wanted if name in names), None)
    training = select_split(every, pairs.split)
    if split is None or not training:
        raise InputError(
            f"no pairs of the split {' or '.join(wanted)} besides those of '{pairs.split}'",
            field="split",
        )
    with call.reporter.stage("finding entities", None):
        known = frequent_entities([pair.reference for pair in training], _ENTITIES)
        edited = edit_documents(
            select_split(every, split), known, options.sample, _EDITS, options.seed
        )
    if not edited:
        raise InputError("no test reference contains a frequent entity of the training references")
    summaries = _write_summaries(edited, options, call)
    records = [
        {**edit.record, "summaries": {name: texts[place] for name, texts in summaries.items()}}
        for place, edit in enumerate(edited)
    ]
    write_lines(options.output, records)
    rows = outcome_rows(edited, summaries, options.interval)
    return Findings(
        signed={"pairs": pairs_fingerprint(every), "models": sorted(summaries)},
        tables={"outcomes": rows},
        about={"file": str(options.output), "edits": len(edited), "outcomes": rows},
    )


def _write_summaries(
    edited: Sequence[Edit], options: Options, call: Call
) -> dict[str, list[list[str]]]:
    """By name of a model the summaries of each edit, one for each model of that name."""
    from rote.curate.generate import parse_record
    from rote.models.training.summarizer import Searching

    how = Searching(options.beams, options.max_tokens, options.longest)
    summaries: dict[str, list[list[str]]] = {}
    for number, model_name in enumerate(options.model):
        name, is_named, place = model_name.rpartition("=")
        loaded = _training.open_trainable(place, call.of(ModelOptions), call.reporter)
        writer = f"{loaded.signature} {how}"
        path = options.output.with_suffix(f".{number}.summaries.jsonl")
        _training.write_resumed(
            loaded,
            [edit.document for edit in edited],
            how,
            path,
            call.of(ModelOptions).batch * 4,
            lambda i, texts, writer=writer: {
                "id": edited[i].record["id"],
                "by": writer,
                "new": edited[i].new,
                "text": texts[0],
            },
            lambda i, line, writer=writer: (
                None
                if parse_record(line).get("by") == writer
                and parse_record(line).get("new") == edited[i].new
                else "another model or edit"
            ),
            call.reporter,
        )
        texts = [row.text("text") for _, row in read_json_lines(path)]
        model_texts = summaries.setdefault(name if is_named else place, [[] for _ in edited])
        for place_of, text in enumerate(texts):
            model_texts[place_of].append(text)
    return summaries


def outcome_rows(
    edited: Sequence[Edit], summaries: Mapping[str, Sequence[Sequence[str]]], level: float
) -> list[dict[str, Any]]:
    """Shares of the outcomes for each model and kind of edit; documents are clusters."""
    rows = []
    for name, texts in summaries.items():
        for how in ("all", "substituted", "added"):
            cases = [
                (edit.pair.id, judge_outcome(text, edit.old, edit.new))
                for edit, edit_texts in zip(edited, texts)
                for text in edit_texts
                if how in ("all", edit.how)
            ]
            if not cases:
                continue
            documents = number_clusters([document for document, _ in cases])
            for what in OUTCOMES:
                right = np.array([float(verdict == what) for _, verdict in cases])
                row = {"source": name, "edit": how, "outcome": what, "cases": len(cases)}
                rows.append(row | share_cells("share", right, documents, level))
    return rows


Outcome = Literal["correct", "skipped", "incorrect"]
OUTCOMES: tuple[Outcome, ...] = ("correct", "skipped", "incorrect")
_BEFORE, _AFTER = 4, 3
"""Words of the reference around a fact that is added."""
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a text."""

    type: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A test pair whose document says something else now."""

    pair: TrainingPair
    number: int
    how: Literal["substituted", "added"]
    type: str
    old: str
    new: str
    document: str

    @property
    def record(self) -> dict[str, Any]:
        return {
            "id": f"{self.pair.id}/{self.number}",
            "doc_id": self.pair.id,
            "document": self.document,
            "text": self.document,
            "original": self.pair.document,
            "reference": self.pair.reference,
            **{name: getattr(self, name) for name in ("how", "type", "old", "new")},
        }


def find_mentions(texts: Sequence[str]) -> Iterator[list[Mention]]:
    """The entities of each text, by rote's own annotator."""
    from rote.annotate import annotators

    annotate = annotators.get("rote")
    for first in range(0, len(texts), _AT_ONCE):
        some = texts[first : first + _AT_ONCE]
        annotation = annotate([Document(str(i), text) for i, text in enumerate(some)], ("entity",))
        word, entity = annotation.word, annotation.layers["entity"]
        begin = 0
        for text, end in zip(some, word.text_ends.tolist()):
            entities: list[Mention] = []
            for at in range(begin, end):
                mark, _, kind = entity.vocabulary[entity.ids[at]].partition("-")
                a, b = int(word.starts[at]), int(word.ends[at])
                if mark == "B":
                    entities.append(Mention(kind, text[a:b], a, b))
                elif mark == "I" and entities:
                    last = entities[-1]
                    entities[-1] = Mention(last.type, text[last.start : b], last.start, b)
            yield entities
            begin = end


def frequent_entities(references: Sequence[str], most: int) -> dict[str, str]:
    """The entities that most training references mention, each with its usual type."""
    often: Counter[str] = Counter()
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for entities in find_mentions(references):
        for name in {entity.text for entity in entities}:
            often[name] += 1
        for entity in entities:
            types[entity.text][entity.type] += 1
    return {name: types[name].most_common(1)[0][0] for name, _ in often.most_common(most)}


def edit_documents(
    test: Sequence[TrainingPair], known: dict[str, str], items: int, each: int, seed: int
) -> list[Edit]:
    """So many documents, each edited so often, in an order drawn by the seed."""
    random = np.random.default_rng(seed)
    by_type: dict[str, list[str]] = defaultdict(list)
    for name, kind in known.items():
        by_type[kind].append(name)
    all_edits: list[Edit] = []
    count = 0
    mentions = list(find_mentions([pair.reference for pair in test]))
    for place in random.permutation(len(test)).tolist():
        if count == items:
            break
        pair = test[place]
        candidates = [
            mention
            for mention in dict.fromkeys(mentions[place])
            if known.get(mention.text) == mention.type
        ]
        if not candidates:
            continue
        count += 1
        for number in range(each):
            old = candidates[int(random.integers(len(candidates)))]
            both = f"{pair.document} {pair.reference}".lower()
            others = [name for name in by_type[old.type] if name.lower() not in both]
            if not others:
                continue
            new = others[int(random.integers(len(others)))]
            all_edits.append(_edit(pair, number, old, new))
    return all_edits


def _edit(pair: TrainingPair, number: int, old: Mention, new: str) -> Edit:
    pattern = _as_words(old.text)
    if pattern.search(pair.document):
        document = pattern.sub(lambda _: new, pair.document)
        return Edit(pair, number, "substituted", old.type, old.text, new, document)
    before = pair.reference[: old.start].split()[-_BEFORE:]
    after = pair.reference[old.end :].split()[:_AFTER]
    fact = " ".join([*before, new, *after]).strip()
    document = f"{pair.document.rstrip()} {fact[:1].upper()}{fact[1:].rstrip('.,;:')}."
    return Edit(pair, number, "added", old.type, old.text, new, document)


def judge_outcome(summary: str, old: str, new: str) -> Outcome:
    """Incorrect if the old fact is there, correct if only the new one is, else skipped."""
    if _as_words(old).search(summary):
        return "incorrect"
    return "correct" if _as_words(new).search(summary) else "skipped"


def _as_words(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)


STUDY = Study(
    name="train-intervene",
    title="Interventions",
    says="Whether summaries follow a document whose facts are changed.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(PairOptions, ModelOptions, ReadOptions),
    without=_training.NOT_OF_TRAINING,
    run=run,
    output="data",
    account=lambda result, place: f"{place}: {several(result.about['edits'], 'edited document')}",
    citation="Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning, appendix C",
    layout=(
        FullTable(
            "outcomes", "Outcomes", make_columns("source edit outcome cases:count share:share~")
        ),
    ),
    charts=(
        make_chart(
            "outcomes",
            "What happens to a changed fact",
            "outcomes bars x=source y=share colour=outcome ends=share_low,share_high",
            share=True,
            rows=lambda rows, result: [row for row in rows if row["edit"] == "all"],
        ),
    ),
)
