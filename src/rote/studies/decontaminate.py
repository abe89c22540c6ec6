"""A training corpus without the test items it holds, and a ledger of what was found and why.

Documents are streamed past the parts of the items of --test-items: question, passage, and question
with answer. A document holds an item if the rare words of a part occur there in one passage, in the
same order: word for word, with other line breaks, case or punctuation, or with some words changed.
Phrases that are common in the corpus prove nothing. Parts that are short, or made of common words,
cannot be judged, and their items are counted. `rote contamination` judges by the same rule. The
folder DIR gets the files in the formats they came in, without those documents (or only without
those sentences, --policy cut), found.jsonl with the text of both, and a manifest.json.

With --meaning also documents with sentences that say in other words what a part says, with the
probability that chance does as well; if numbers, names or negation differ, the ledger says so and
the document stays.

Where it is known which items a model answered correctly (from --answers, or from the items
themselves), a table has the accuracy with and without those that were found.


  rote decontaminate crawl/*.jsonl.zst --test-items mmlu.jsonl -o clean
  rote decontaminate train.parquet --test-items samples_*.jsonl --policy cut -o clean
  rote decontaminate train.jsonl --test-items winogrande.jsonl --policy report -o found
  rote decontaminate train.jsonl --test-items mmlu.jsonl --answers answers.jsonl -o clean
  rote decontaminate train.jsonl --test-items mmlu.jsonl --meaning --policy report -o found
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np

from rote.annotate.folded_words import fold_text
from rote.core.chart import make_chart
from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, handle, is_given, option
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import FullTable, Table, make_columns
from rote.corpus import ReadOptions, read_option
from rote.corpus.items import Item
from rote.curate.output_folder import FolderOptions, folder_findings, folder_work
from rote.search.part_matcher import MatchOptions
from rote.studies._items import Floats, Share, read_correctness

CHANCE = 2e-5
"""Twenty false matches in a million sentences; benchmarks/meaning.py saw about as many."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which items are looked for, and what becomes of documents that hold one."""

    SECTION: ClassVar[str] = "Test items"
    test_items: tuple[str, ...] = handle((), "The files of test items", "ITEMS,...", takes="items")
    test_items_read: tuple[str, ...] = read_option("the file of items")
    policy: Literal["drop", "cut", "report"] = option(
        "drop", "action: drop the document, cut the sentences, or only write the ledger"
    )
    meaning: bool = option(False, "also look for paraphrased items (extra semantic)")
    chance: float = option(
        CHANCE,
        "maximum probability of a paraphrase match by chance (in unrelated sentences)",
        above=0.0,
        most=0.2,
    )
    benchmark: str | None = option(
        None,
        "benchmark name: blimp, choices, copa, lambada, lm-eval, piqa, questions, winogrande, "
        "texts  [default: detected from the fields]",
        metavar="NAME",
    )
    answers: tuple[str, ...] = handle(
        (),
        "Answers to the items: records of `rote evaluate`, or logs of lm-evaluation-harness",
        "FILE,...",
        takes="items",
    )
    answers_read: tuple[str, ...] = read_option("what holds the answers")
    interval: float = option(0.95, "Confidence level of the intervals; 0: no intervals", least=0)

    def __post_init__(self) -> None:
        check_options(self)
        if not is_given(self.test_items):
            raise OptionError("no test items: name files of them with --test-items")
        if self.chance != CHANCE and not self.meaning:
            raise OptionError("--chance is for paraphrases: add --meaning")


def run(call: Call) -> Findings:
    """Look through the corpus, and write what is left."""
    from rote.annotate import embeddings
    from rote.curate.decontaminate import REWORDED, VERBATIM, decontaminate, kind_of_row

    options, folder = call.options, call.of(FolderOptions).folder("decontaminate")
    if options.meaning:
        embeddings.get().check()
    skipped: list[InputError] = []
    items = _read_items(call, "test_items", skipped, options.benchmark)
    answers = _read_items(call, "answers", skipped) if is_given(options.answers) else []
    right, lost = match_answers(items, answers)
    if answers and lost == len(answers):
        raise OptionError(
            f"--answers: none of {lost:,} answers contains the question of an item of --test-items"
        )
    if lost:
        call.reporter.say(f"{lost:,} of {len(answers):,} answers belong to no item: left out")
    # Items to which no source has an answer.
    missing = int(np.isnan(list(right.values())).all(axis=0).sum()) if right else 0
    if answers and missing:
        call.reporter.say(f"{missing:,} of {len(items):,} items have no answer")
    how = {"policy": options.policy, "chance": options.chance if options.meaning else None}
    how |= folder_work(call)
    result = decontaminate(call.inputs, items, folder, call.of(MatchOptions), **how)
    manifest = result.manifest
    matches = sorted(result.rows, key=lambda row: (-row["score"], -row["bits"]))
    tables: dict[str, Sequence[dict[str, Any]]] = {"tasks": manifest["items"], "found": matches}
    by_kind: dict[str, set[tuple[str, str]]] = {}
    for row in result.rows:
        by_kind.setdefault(kind_of_row(row), set()).add((row["task"], row["item"]))
    found_items, reworded = (by_kind.get(kind, set()) for kind in (VERBATIM, REWORDED))
    not_judged = {(row["task"], row["item"]) for row in manifest["not_judged"]}
    if rows := _accuracy_rows(
        items, right, found_items, reworded - found_items, not_judged, options.interval
    ):
        tables["accuracy"] = rows
    left_out = [f"left out: {problem}" for problem in (*skipped, *result.problems)]
    return folder_findings(call, folder, result, tables, left_out, method="Wilson intervals")


def _read_items(
    call: Call, role: str, skipped: list[InputError], items: str | None = None
) -> list[Item]:
    from rote.corpus.items import fulfilling, read_records

    read = call.of(ReadOptions).beside(getattr(call.options, f"{role}_read"))
    files = getattr(call.options, role)
    records = list(read_records(files, items, read=read, skipped=skipped, role=role))
    return [record.item for record in fulfilling(records, read.where)]


def _accuracy_rows(
    items: Sequence[Item],
    right: Mapping[str, Floats],
    found_items: set[tuple[str, str]],
    reworded: set[tuple[str, str]],
    not_judged: set[tuple[str, str]],
    level: float,
) -> list[dict[str, Any]]:
    """Correct answers of each source among all items of a task, those that were found, word for
    word or in other words, those that were not, and those that cannot be judged."""
    is_found, is_reworded, unknown = (
        np.array([(item.task, item.id) in chosen for item in items], np.bool_)
        for chosen in (found_items, reworded, not_judged - found_items - reworded)
    )
    tasks = np.array([item.task for item in items])
    numbers = {base: n for n, base in enumerate(dict.fromkeys(item.base for item in items))}
    bases = np.array([numbers[item.base] for item in items])
    out = []
    for source, values in right.items():
        for task in dict.fromkeys(tasks.tolist()):
            answered = (tasks == task) & ~np.isnan(values)
            if not answered.any():
                continue
            missed = answered & ~is_found & ~is_reworded & ~unknown
            groups = {"all": answered, "found": answered & is_found, "not found": missed}
            if (answered & is_reworded).any():
                groups["in other words"] = answered & is_reworded
            if (answered & unknown).any():
                groups["not judged"] = answered & unknown
            for name, which in groups.items():
                share = Share.of(values[which], bases[which])
                row: dict[str, Any] = {"source": source, "task": task, "items": name}
                row |= {"n": share.items, "accuracy": share.value}
                if level and share.items:
                    row["low"], row["high"] = share.interval(level)
                out.append(row)
    return out


def _account(result: Result, place: str) -> str:
    manifest = result.about["manifest"]
    count = sum(row["found"] for row in manifest["items"])
    total = sum(row["items"] for row in manifest["items"])
    judged = sum(row["judged"] for row in manifest["items"])
    removable = [row for row in result.tables["found"] if not row.get("differing")]
    gone = len({(row["file"], row["line"]) for row in removable})
    reworded = sum(row.get("reworded") or 0 for row in manifest["items"])
    policy = {"drop": "were dropped", "cut": "were cut", "report": "hold them, and stay"}
    which = "items" if judged == total else "items that can be judged"
    rest = f"{total - judged:,} of {total:,} are too short or too common to be judged; "
    rest = rest if judged < total else ""
    return (
        f"{place}: {count:,} of {judged:,} {which} are in the corpus"
        f"{f', {reworded:,} in other words' if reworded else ''}; {rest}{gone:,} of "
        f"{manifest['input']['texts']:,} documents {policy[manifest['settings']['policy']]} "
        "(found.jsonl lists them, ledger.html shows them)"
    )


ITEMS_SOURCE = "items"
"""The source of answers that the items hold themselves."""
_TAIL = 8


def match_answers(items: Sequence[Item], answers: Sequence[Item]) -> tuple[dict[str, Floats], int]:
    """Of each source 1, 0 or nan for every item; and how many answers belong to no item."""
    by_source: dict[str, Floats] = {}
    recorded = np.array([read_correctness(item, None) for item in items])
    if not np.isnan(recorded).all():
        by_source[ITEMS_SOURCE] = recorded
    questions = _QuestionMatcher(items)
    lost = 0
    for answer in answers:
        value, number = read_correctness(answer, None), questions.item(answer)
        if number is None:
            lost += 1
            continue
        source = str(answer.meta.get("source", answer.task))
        by_source.setdefault(source, np.full(len(items), np.nan))[number] = value
    return by_source, lost


class _QuestionMatcher:
    """Which item a text asks for."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._questions: list[tuple[str, ...]] = [()] * len(items)
        self._tails: dict[tuple[str, ...], list[int]] = {}
        for number, item in enumerate(items):
            # A sentence with a gap is asked with its gap filled.
            words = tuple(fold_text(item.question or next(iter(item.instances()), "")))
            self._questions[number] = words
            self._tails.setdefault(words[-_TAIL:], []).append(number)
        self._lengths = sorted({len(tail) for tail in self._tails if tail}, reverse=True)

    def item(self, answer: Item) -> int | None:
        """The item that is asked last; none where it cannot be told."""
        words = tuple(fold_text((answer.instances() or [answer.context])[0]))
        best: dict[int, int] = {}
        for number, end in self._ends(words):
            size = len(self._questions[number])
            if words[max(0, end - size) : end] == self._questions[number]:
                best[number] = max(best.get(number, 0), end)
        last = max(best.values(), default=0)
        # A question may end with another one: the longer one was asked.
        several = [number for number, end in best.items() if end == last]
        longest = max((len(self._questions[number]) for number in several), default=0)
        several = [n for n in several if len(self._questions[n]) == longest]
        tells: tuple[Callable[[Item], Any], ...] = (_fold_options, attrgetter("task", "id"))
        for tell in tells:
            same = [n for n in several if tell(self._items[n]) == tell(answer)]
            several = same or several
        return several[0] if len(several) == 1 else None

    def _ends(self, words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
        for length in self._lengths:
            for start in range(len(words) - length + 1):
                for number in self._tails.get(words[start : start + length], ()):
                    yield number, start + length


def _fold_options(item: Item) -> set[tuple[str, ...]]:
    return {tuple(fold_text(option)) for option in item.options}


STUDY = Study(
    name="decontaminate",
    title="Test items in training data",
    says="A training corpus without the test items it contained, and what was found.",
    takes="texts",
    metavar="CORPUS...",
    options=Options,
    more=(MatchOptions, FolderOptions, ReadOptions),
    without=("strip_prompt", "prompt_field", "seed_words", "seed_count"),
    run=run,
    output="data",
    account=_account,
    ledger="found.jsonl",
    section="corpus",
    method=lambda settings: (
        f"A document holds an item if words that have at least {float(settings['score']):.0%} of "
        "the rarity (in bits, by their share of the corpus) of its question, its passage, or its "
        "question with the answer occur there in one passage and in the same order; parts of fewer "
        f"than {settings['min_words']} words, or of only common words, were not judged"
        + (
            "; so does one with sentences that say half of a part or more in other words, as near "
            f"as chance brings at most {float(settings['chance']):g} of unrelated passages, unless "
            "numbers, names or negation differ"
            if settings.get("meaning") not in (None, "None")
            else ""
        )
    ),
    charts=(
        make_chart(
            "accuracy",
            "Correct answers with and without what was found",
            "accuracy dots x=accuracy y=items colour=source panel=task ends=low,high",
            share=True,
            says="Of each task the share of correct answers, among all items, those that were "
            "found in the corpus, those that were not, and those that cannot be judged.",
        ),
    ),
    layout=(
        FullTable(
            "tasks",
            "Items found",
            make_columns(
                "task items:count judged=can_be_judged:count found:count "
                "with_answer=with_their_answer:count reworded?=in_other_words:count "
                "other_facts?=similar,_other_facts:count documents:count"
            ),
        ),
        FullTable(
            "accuracy",
            "Correct answers with and without what was found",
            make_columns("source=answers_of task items n:count accuracy:share~low"),
        ),
        Table(
            "found",
            "Where",
            make_columns(
                "score:number.2 p?:number differing?=other_facts item part id=document "
                "text:text item_text=the_item:text"
            ),
            limit=10,
        ),
    ),
)
