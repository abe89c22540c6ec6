"""The answers of a model, whether they are correct, and how groups of them are shown.

several options:  chosen = argmax of log p(option | context), the first of equal ones
                  acc: chosen is the answer; acc_norm: the same, each divided by the option's
                  characters; acc_bytes: by its bytes (UTF-8)
one option:       acc: every token of it is the likeliest one where it stands (greedy decoding
                  would write it)
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rote.compare.clusters import clustered_mean, number_clusters, safe_exp, share_interval
from rote.compare.exact_tests import mcnemar
from rote.compare.permutation import holm
from rote.core.chart import Chart
from rote.core.errors import InputError, OptionError
from rote.core.facets import JOINT
from rote.core.model import Continuation, Model, Scored
from rote.core.progress import Reporter, several
from rote.core.result import Result, Row, SourceResult
from rote.core.table import (
    VALUES,
    Column,
    FullTable,
    Rows,
    Table,
    make_columns,
    source_rows,
    value_ends,
)
from rote.corpus.items import Item, ItemRecord
from rote.corpus.items.lm_eval import requests as logged
from rote.models.answers import score_all
from rote.studies._items import group_by_fields

VERSION = "lm-evaluation-harness-0.4.13/1"
_BETWEEN = " "
"""What the harness puts between a context and an option."""
_JOINED_BY = {"cause": "because", "effect": "therefore"}
_ASKS = ("question", "asks_for")
"""The field of COPA that says what is asked for: in SuperGLUE, and in Balanced COPA."""
Fields = Mapping[str, Any]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ItemQuestion:
    """One request for each option.

    `lengths` and `sizes` are the characters and bytes of the options, by which log-likelihoods
    are divided for `acc_norm` and `acc_bytes`.
    """

    requests: tuple[Continuation, ...]
    lengths: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def last_word(self) -> bool:
        """Whether there is nothing to choose from: the text has to be the likeliest one."""
        return len(self.requests) == 1


def build_question(record: ItemRecord, examples: str = "") -> ItemQuestion:
    """What is asked about the item of a record, behind examples."""
    pairs, options = _FORMS.get(record.form, _plain_choices)(record.fields, record.item)
    return ItemQuestion(
        tuple(_move_spaces(examples + context, text) for context, text in pairs),
        tuple(len(option) for option in options),
        tuple(len(option.encode("utf-8", "surrogatepass")) for option in options),
    )


SEED = 1234
"""Of the examples, as lm-evaluation-harness has it."""
_APART = "\n\n"
"""What the harness puts behind each example."""
_ZERO_SHOT = ("blimp", "lm-eval")
"""Forms that take no examples: sentences without a context, and requests as they were logged."""


def draw_examples(
    records: Sequence[ItemRecord], pool: Sequence[ItemRecord], shots: int, seed: int
) -> list[str]:
    """What stands before each item: so many examples of its task, answered correctly, drawn anew
    for each as lm-evaluation-harness draws them. Without a pool they are other items of the same
    task."""
    same_items = not pool
    tasks: dict[tuple[str, str], list[ItemRecord]] = {}
    for record in records if same_items else pool:
        if record.form in _ZERO_SHOT:
            raise OptionError(f"items of {record.form} take no examples: use --shots 0")
        if record.item.answer is not None or len(record.item.options) == 1:
            tasks.setdefault((record.form, record.item.task), []).append(record)
    randoms = {task: random.Random(seed) for task in tasks}
    contexts = []
    for record in records:
        task = record.form, record.item.task
        if len(tasks.get(task, ())) < shots + same_items:
            raise InputError(
                f"there are {len(tasks.get(task, ()))} answered items of the task "
                f"'{record.item.task}' ({record.form}) to take {several(shots, 'example')} from",
                remedy="Give a file of the training split with --train, or fewer --shots",
            )
        drawn = randoms[task].sample(tasks[task], shots + same_items)
        if same_items:
            drawn = [example for example in drawn if example.item.id != record.item.id]
        contexts.append("".join(map(_write_example, drawn[:shots])))
    return contexts


def _write_example(record: ItemRecord) -> str:
    pairs, _ = _FORMS.get(record.form, _plain_choices)(record.fields, record.item)
    return "".join(pairs[record.item.answer or 0]) + _APART


def _move_spaces(context: str, text: str) -> Continuation:
    """Spaces at the end of a context belong to what follows: tokens begin with a space."""
    bare = context.rstrip()
    return Continuation(bare, context[len(bare) :] + text)


def _append_options(context: str, options: Sequence[str]) -> tuple[list[Pair], list[str]]:
    return [(context, _BETWEEN + option) for option in options], list(options)


def _copa(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    asks = next((fields[name] for name in _ASKS if name in fields), None)
    if asks not in _JOINED_BY:
        raise InputError(
            f"the item '{item.id}' of copa does not contain what it asks for ({asks!r})",
            field=_ASKS[0],
            remedy="It is cause or effect",
        )
    # The full stop goes, the choice begins in lower case, and its space is one of its own.
    options = [_BETWEEN + option[:1].lower() + option[1:] for option in item.options]
    return _append_options(f"{str(fields['premise']).strip()[:-1]} {_JOINED_BY[asks]}", options)


def _fill_options(context: str, options: Sequence[str], rest: str) -> tuple[list[Pair], list[str]]:
    return [(context + option, rest) for option in options], [rest] * len(options)


def _plain_choices(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    """Items of any other test, as they stand."""
    if item.ending.strip():
        return _fill_options(item.context, item.options, item.ending)
    return [(item.context, option) for option in item.options], list(item.options)


def _logged_requests(fields: Fields, item: Item) -> tuple[list[Pair], list[str]]:
    pairs = logged(fields["arguments"])
    if len(pairs) == 1 and not pairs[0][1]:  # generated then: now the target is scored
        pairs = [(item.context, item.options[0])]
    return pairs, [text.removeprefix(_BETWEEN) for _, text in pairs]


_FORMS: dict[str, Callable[[Fields, Item], tuple[list[Pair], list[str]]]] = {
    "blimp": lambda fields, item: _append_options("", item.options),
    "copa": _copa,
    "lambada": lambda fields, item: _append_options(str(fields["context"]), item.options),
    "lm-eval": _logged_requests,
    "piqa": lambda fields, item: _append_options(
        f"Question: {fields['goal']}\nAnswer:", item.options
    ),
    # Partial evaluation: the option occurs in the context, and the rest of the sentence, the same
    # for all options, is scored.
    "winogrande": lambda fields, item: _fill_options(
        item.context, item.options, _BETWEEN + item.ending.strip()
    ),
}


SOURCE = "source"
ANSWER_FIELDS = tuple(
    f"{SOURCE} model asked loglikelihoods tokens greedy chosen chosen_norm acc acc_norm acc_bytes "
    "unanswered".split()
)
"""Fields of a record that say how its item was answered."""
_BLANK = "nothing to score"
_LONG = "longer than the model reads"


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model made of an item, option by option; nothing where there is a `why`.

    `acc` and the others are None where nobody says what is right, or nobody answered.
    """

    item: Item
    question: ItemQuestion
    loglikelihoods: tuple[float, ...] = ()
    tokens: tuple[int, ...] = ()
    greedy: tuple[bool, ...] = ()
    chosen: int | None = None
    chosen_norm: int | None = None
    acc: int | None = None
    acc_norm: int | None = None
    acc_bytes: int | None = None
    why: str | None = None

    @property
    def right(self) -> float | None:
        """The log-likelihood of the right option."""
        if self.why or self.item.answer is None:
            return None
        return self.loglikelihoods[self.item.answer]


def answer_all(
    records: Sequence[ItemRecord],
    model: Model,
    reporter: Reporter,
    *,
    title: str = "answering",
    examples: Sequence[str] = (),
) -> list[ModelAnswer]:
    """An answer to each item, in their order; `examples` stand before each."""
    before = examples or [""] * len(records)
    questions = [build_question(record, text) for record, text in zip(records, before)]
    reasons = [_unanswerable(question, model) for question in questions]
    answerable = [question for question, why in zip(questions, reasons) if why is None]
    wanted = [request for question in answerable for request in question.requests]
    scores = iter(score_all(model, wanted, reporter, title=title))
    return [
        ModelAnswer(record.item, question, why=why)
        if why is not None
        else judge_answer(record.item, question, [next(scores) for _ in question.requests])
        for record, question, why in zip(records, questions, reasons)
    ]


def judge_answer(item: Item, question: ItemQuestion, scored: Sequence[Scored]) -> ModelAnswer:
    totals = np.array([score.total for score in scored])
    tokens = tuple(len(score.logprobs) for score in scored)
    greedy = tuple(bool(score.greedy.all()) for score in scored)
    likelihoods = tuple(totals.tolist())
    cells: dict[str, Any] = {"loglikelihoods": likelihoods, "tokens": tokens, "greedy": greedy}
    if not all(tokens):
        return ModelAnswer(item, question, why=_BLANK)
    if question.last_word:
        known = item.answer is not None
        return ModelAnswer(item, question, **cells, acc=int(greedy[0]) if known else None)
    divisors = {"acc": 1, "acc_norm": question.lengths, "acc_bytes": question.sizes}
    best = {name: int(np.argmax(totals / np.array(by))) for name, by in divisors.items()}
    cells |= {"chosen": best["acc"], "chosen_norm": best["acc_norm"]}
    if item.answer is not None:
        cells |= {name: int(place == item.answer) for name, place in best.items()}
    return ModelAnswer(item, question, **cells)


def answer_record(answer: ModelAnswer, source: str, signature: str) -> dict[str, Any]:
    """An answer as a record: what the item was, what was asked, what came back.

    The reader `choices` takes it for an item, so that whatever reads items reads answers.
    """
    item = answer.item
    names = ("chosen", "chosen_norm", "acc", "acc_norm", "acc_bytes")
    cells = {name: getattr(answer, name) for name in names}
    details = {name: list(getattr(answer, name)) for name in ("loglikelihoods", "tokens", "greedy")}
    return {
        "id": item.id,
        "task": item.task,
        SOURCE: source,
        "model": signature,
        "context": item.context,
        "options": list(item.options),
        "ending": item.ending,
        "answer": item.answer,
        **{k: v for k, v in item.meta.items() if k not in (*ANSWER_FIELDS, *_ITEM_FIELDS)},
        "asked": [[request.context, request.text] for request in answer.question.requests],
        **(details if answer.why is None else {"unanswered": answer.why}),
        **(cells if answer.chosen is not None else {"acc": answer.acc}),
    }


_ITEM_FIELDS = ("id", "task", "context", "options", "ending", "answer")


def _unanswerable(question: ItemQuestion, model: Model) -> str | None:
    """Why an item cannot be answered, before anybody is asked."""
    if any(not request.text.strip() for request in question.requests) or not all(question.lengths):
        return _BLANK
    longest = getattr(model, "limit", None)
    # In tokens, with the one that a text begins with.
    lengths = (model.length(request.context + request.text) + 1 for request in question.requests)
    return _LONG if longest is not None and max(lengths) > longest else None


TITLES = {
    "accuracy": "accuracy",
    "accuracy_norm": "accuracy by characters",
    "perplexity": "perplexity of the last word",
    "loglikelihood": "log-likelihood of the right option",
    "chance": "accuracy of chance",
    "majority": "accuracy of the most frequent position",
    "unanswered": "items without an answer",
}
HIGHER = {"accuracy": "up", "accuracy_norm": "up", "perplexity": "down", "loglikelihood": "up"}
_ALWAYS = "majority: the right option is always in the same position, which is uninformative"
_MIXED = "chance, majority: last words are among the items and cannot be guessed"
_ENOUGH = 20
"""Last words of which a model should have one right."""


def rows_by_group(rows: Sequence[Row], by: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each group, named by its fields."""
    groups = group_by_fields([row[field] for field in by] for row in rows)
    return {name: [rows[place] for place in places.tolist()] for name, places in groups.items()}


def source_result(rows: Sequence[Row], level: float) -> SourceResult:
    values: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    notes: list[str] = []
    bases = number_clusters([_item_base(row) for row in rows])
    for name, field in (("accuracy", "acc"), ("accuracy_norm", "acc_norm")):
        known = [row[field] for row in rows if row.get(field) is not None]
        if known or field == "acc":
            values[name] = sum(known) / len(known) if known else math.nan
        if known and level:
            answers = np.array([row.get(field) for row in rows], np.float64)
            intervals[name] = share_interval(answers, bases, level)
    if math.isnan(values["accuracy"]):
        notes.append("accuracy: no item has both an answer and a right option")
    scored = np.array([_has_score(row) for row in rows], bool)
    right = np.array([row["loglikelihoods"][row["answer"]] for row in rows if _has_score(row)])
    single = scored & np.array([len(row["options"]) == 1 for row in rows], bool)
    last = np.array([row["loglikelihoods"][0] for row, is_single in zip(rows, single) if is_single])
    if len(last):
        values["perplexity"], reach = perplexity(last, bases[single], level)
        if level:
            intervals["perplexity"] = reach
    values["loglikelihood"] = float(right.mean()) if len(right) else math.nan
    if level and len(right) > 1:
        intervals["loglikelihood"] = clustered_mean(right, bases[scored]).interval(level)
    _add_baselines(rows, values, notes)
    values["unanswered"] = float(sum("unanswered" in row for row in rows))
    tokens = sum(sum(row.get("tokens", ())) for row in rows)
    return SourceResult(len(rows), tokens, values, intervals, tuple(notes))


def _item_base(row: Row) -> str:
    """What the item of an answer was made from; its fields are in the row."""
    return Item(row["id"], row["task"], "", (), None, meta=row).base


def perplexity(
    loglikelihoods: np.ndarray, bases: np.ndarray, level: float
) -> tuple[float, tuple[float, float]]:
    """exp(- mean log-likelihood) of whole words, with the interval of the mean carried over."""
    surprise = clustered_mean(-loglikelihoods, bases)
    return safe_exp(surprise.value), surprise.exp_interval(level)


def _has_score(row: Row) -> bool:
    return row["answer"] is not None and "unanswered" not in row


def _add_baselines(rows: Sequence[Row], values: dict[str, float], notes: list[str]) -> None:
    """What those who do not read the question get: by lot, and by the most frequent place."""
    known = [row for row in rows if len(row["options"]) > 1 and row["answer"] is not None]
    if not known:
        return
    if any(len(row["options"]) == 1 for row in rows):
        values["chance"] = values["majority"] = math.nan
        notes.append(_MIXED)
        return
    values["chance"] = sum(1 / len(row["options"]) for row in known) / len(known)
    places = Counter(row["answer"] for row in known)
    values["majority"] = places.most_common(1)[0][1] / len(known) if len(places) > 1 else math.nan
    notes += [_ALWAYS] if len(places) == 1 else []


def compare_models(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """McNemar between every two models on the items of a group that both answered."""
    test_rows: list[Row] = []
    others = [field for field in by if field != SOURCE]
    models = list(dict.fromkeys(row[SOURCE] for row in rows))
    for group, group_rows in rows_by_group(rows, others).items():
        bases = number_clusters([_item_base(row) for row in group_rows if row[SOURCE] == models[0]])
        answers_by_model = {
            name: np.array([row["acc"] for row in group_rows if row[SOURCE] == name], np.float64)
            for name in models
        }
        for model, second in combinations(models, 2):
            answers = answers_by_model[model], answers_by_model[second]
            both = np.isfinite(answers[0]) & np.isfinite(answers[1])
            test = mcnemar(answers[0][both] == 1, answers[1][both] == 1, bases[both])
            row = {**dict(zip(others, group.split(JOINT))), "one": model, "other": second}
            only = {"only_one": test.lost, "only_other": test.gained}
            test_rows.append({**row, "items": int(both.sum()), **only, "p": test.p})
    corrected = holm([row["p"] for row in test_rows])
    return [{**row, "p_corrected": p} for row, p in zip(test_rows, corrected)]


def unanswered_notes(rows: Sequence[Row]) -> Iterator[str]:
    reasons = Counter((row[SOURCE], row["unanswered"]) for row in rows if "unanswered" in row)
    for (name, why), count in reasons.items():
        yield f"{name}: no answer to {several(count, 'item')}, not counted ({why})"


def notes(rows: Sequence[Row]) -> Iterator[str]:
    yield from unanswered_notes(rows)
    # A backend that does not see the likeliest token never says greedy, here or elsewhere.
    for name in dict.fromkeys(row[SOURCE] for row in rows):
        answers = [row for row in rows if row[SOURCE] == name]
        last = [row for row in answers if len(row["options"]) == 1 and "unanswered" not in row]
        if len(last) >= _ENOUGH and not any(any(row.get("greedy", ())) for row in answers):
            yield (
                f"{name}: no last word was the likeliest. Either the model is that bad, or its "
                "backend does not report the likeliest token and the accuracy is meaningless"
            )


_EVERY, _LISTED = 1000, 10
_LEGEND = {
    "accuracy": "accuracy: of the items that were answered",
    "accuracy_norm": "norm.: log-likelihoods divided by the characters of their option first",
    "perplexity": "perplexity: exp(- mean log-likelihood) of the last word as a whole",
    "majority": "chance, majority: by guessing, and by the most frequent right position",
}


def _split_groups(rows: Rows, result: Result) -> Rows:
    """The fields that name a group, in columns of their own; what nobody left out is not said."""
    known = {row["group"]: row for row in result.tables.get("groups", ())}
    lines = []
    for row in rows:
        group, parts = row["source"], row["source"].split(JOINT)
        # A result of an earlier version has nothing but the name of the group.
        if len(parts) != len(result.by):
            parts = [group]
        row_fields = known.get(group) or dict(zip(result.by, parts))
        fields = {name: row_fields[name] for name in result.by if name in row_fields}
        lines.append({**row, **fields, "unanswered": row.get("unanswered") or None})
    return lines


def _value_columns(rows: Rows, result: Result) -> list[Column]:
    return [
        *(Column(name) for name in sorted(result.by, key=lambda name: name != SOURCE)),
        *make_columns(
            "texts=items:count accuracy?:share~value accuracy_norm?=norm.:share "
            "perplexity?:number chance?:share majority?:share unanswered?:count"
        ),
    ]


def _test_columns(rows: Rows, result: Result) -> list[Column]:
    return [
        *(Column(name) for name in result.by if name in rows[0]),
        *make_columns("one other only_one:count only_other:count p:p p_corrected=p_(Holm):p"),
    ]


LAYOUT = (
    FullTable(
        VALUES,
        "Answers",
        _value_columns,
        note=lambda rows, result: "; ".join(
            note for name, note in _LEGEND.items() if any(name in row for row in rows)
        ),
        rows=_split_groups,
        by=SOURCE,
    ),
    FullTable(
        "tests", "McNemar, exact: items that only one of two models has right", _test_columns
    ),
    Table(
        "unanswered",
        "Unanswered",
        make_columns("source task id why"),
        note=lambda rows, result: f"{several(len(rows), 'item')}",
        limit=_LISTED,
    ),
)


def _chart_accuracy(rows: Rows, result: Result) -> Rows:
    drawn = []
    for row in source_rows(result):
        fields = dict(zip(result.by, row["source"].split(JOINT)))
        model = fields.pop(SOURCE, "")
        drawn.append({**row, "source": model, "name": JOINT.join(fields.values()) or "all items"})
    return drawn


CHARTS = (
    Chart(
        "accuracy",
        "Accuracy",
        x="accuracy",
        y="name",
        colour="source",
        ends=value_ends("accuracy"),
        titles={"accuracy": "accuracy"},
        share=True,
        rule="chance",
        rows=_chart_accuracy,
        says="The accuracy of each group of items, with its interval; chance is marked.",
    ),
)
